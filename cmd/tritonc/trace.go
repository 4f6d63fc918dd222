package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/cmd/tritonc/serve"
	"github.com/tritonc/tritonc/cmd/tritonc/tracing"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/span"
)

// traced is what a process tells OpenTelemetry of a command.
type traced struct {
	*tracing.Tracing
	span span.Span // of the command, as far as it is one for a trace
}

// Verbs that work for others, whose spans belong to those, and verbs of which there is
// nothing to see.
var (
	servingVerbs  = []string{"serve", "worker"}
	untracedVerbs = []string{"help", "version", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}
)

// startTrace begins the span of a command, if the environment wants one.
func (env *environment) startTrace(cmd *cobra.Command) {
	if env.call != nil || slices.Contains(untracedVerbs, cmd.Name()) {
		return // a server traces what it is asked for
	}
	service := "tritonc"
	serves := slices.Contains(servingVerbs, cmd.Name())
	if serves {
		service += "-" + cmd.Name()
	}
	t, err := tracing.Start(tracing.Config{
		Service: service, Version: version(), Variable: func(name string) string { return variable(env, name) },
		Console: env.stderr, Warn: env.untraced,
	})
	if err != nil {
		env.untraced(err)
	}
	if t == nil {
		return
	}
	env.traced = &traced{Tracing: t}
	ctx := t.Context(cmd.Context(), variable(env, span.ParentVar))
	if !serves {
		ctx, env.traced.span = span.Start(ctx, cmd.CommandPath())
	}
	cmd.SetContext(ctx)
}

// endTrace ends the span of a command with its exit code.
func (env *environment) endTrace(code int) {
	if env.traced != nil {
		endSpan(env.traced.span, code)
		env.traced.End()
	}
}

func endSpan(s span.Span, code int) {
	s.Set(span.Int("process.exit.code", code))
	if code != exitOK {
		s.Fail(fmt.Sprintf("exit code %d", code))
	}
	s.End(nil)
}

// untraced warns that there is no trace.
func (env *environment) untraced(err error) {
	d := diag.Errorf(diag.Pos{}, "no trace is sent, or a part of it alone: %v", err)
	d.Severity = diag.Warning
	env.report.aside(d.WithHelp("the OTEL_ variables say where to; OTEL_TRACES_EXPORTER=none sends nothing (docs/scale.md)"))
}

// withParent returns an environment for another process, whose spans are below that of ctx.
func withParent(ctx context.Context, environ []string) []string {
	parent := span.Inject(ctx)
	if parent == "" {
		return environ
	}
	return append(withoutParent(environ), span.ParentVar+"="+parent)
}

// withoutParent returns an environment without the variable of a parent.
func withoutParent(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, span.ParentVar+"=") })
}

// traceCall begins the span of a client's command line. Of server is the context of the
// server. What the client says of its own span goes no further: backends are kept for all
// whose environment is the same.
func traceCall(ctx, server context.Context, call *serve.Call) (context.Context, span.Span) {
	parent := ""
	for _, kv := range call.Env {
		if v, ok := strings.CutPrefix(kv, span.ParentVar+"="); ok {
			parent = v
			break
		}
	}
	call.Env = withoutParent(call.Env)
	return span.StartKind(span.Extract(span.Like(ctx, server), parent), span.Server, "serve")
}
