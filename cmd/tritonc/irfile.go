package main

import (
	"context"
	"fmt"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/plugin"
)

// readFileOrInput reads a file, or standard input for -. The name is the one for
// diagnostics.
func readFileOrInput(env *environment, path string) (name string, src []byte, err error) {
	if path != "-" {
		src, err = env.dir.read(path)
		return path, src, err
	}
	if env.inputRead {
		return standardInput, nil, usagef("standard input can be read once")
	}
	env.inputRead = true
	src, err = env.readInput()
	return standardInput, src, unreadable(standardInput, err)
}

// inputText is what standard input has, or why it cannot be read.
type inputText struct {
	text []byte
	err  error
}

// readInput reads standard input, once: a server may have had it in vain.
func (env *environment) readInput() ([]byte, error) {
	if env.input == nil {
		env.input = &inputText{}
		env.input.text, env.input.err = input.Read(standardInput, env.stdin, input.Text)
	}
	return env.input.text, env.input.err
}

// targetBackend is the backend for a target as written on the command line,
// and the target completed. An empty target gives nil.
func targetBackend(ctx context.Context, host *plugin.Host, s string) (*plugin.Backend, core.Target, error) {
	if s == "" {
		return nil, core.Target{}, nil
	}
	target, err := parseTarget(s)
	if err != nil {
		return nil, target, err
	}
	return host.SelectBackend(ctx, target)
}

// passBackend is targetBackend for a run of single passes, which backends may do for more
// targets than they compile for.
func passBackend(ctx context.Context, host *plugin.Host, s string) (*plugin.Backend, core.Target, error) {
	if s == "" {
		return nil, core.Target{}, nil
	}
	target, err := parseTarget(s)
	if err != nil {
		return nil, target, err
	}
	return host.SelectForPasses(ctx, target)
}

// newIRContext makes a context for IR. Dialects that core lacks come from the
// backends here that declare them, that of target first.
func newIRContext(ctx context.Context, host *plugin.Host, target core.Target) *ir.Context {
	c := dialect.NewContext()
	c.SetLoader(func(name string) (*ir.Dialect, error) {
		backend, declaration, err := host.Dialect(ctx, name, target)
		switch {
		case backend == nil && err != nil:
			return nil, fmt.Errorf("no backend that can be used declares the dialect '%s': %w", name, err)
		case backend == nil:
			return nil, fmt.Errorf("no backend here declares the dialect '%s'", name)
		}
		loaded, err := decl.Load([]byte(declaration), dialect.All()...)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", backend.Name(), err)
		}
		return loaded, nil
	})
	return c
}

// parseIR parses MLIR text. target is that of the command line; without one, the
// one that the module names decides which backend's dialects go first.
func parseIR(ctx context.Context, host *plugin.Host, target core.Target, name string, src []byte) (*text.File, error) {
	if target == (core.Target{}) {
		target = namedTarget(src)
	}
	file, err := text.ParseFile(newIRContext(ctx, host, target), name, src)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return file, err
}

var targetAttr = lazily(`\bttg\.target"?\s*=\s*"([^"]*)"`)

// namedTarget finds the target that a module's text says it is for; the zero one
// if there is none.
func namedTarget(src []byte) core.Target {
	var target core.Target
	if m := targetAttr().FindSubmatch(src); m != nil {
		target, _ = core.ParseTarget(string(m[1]))
	}
	return target
}
