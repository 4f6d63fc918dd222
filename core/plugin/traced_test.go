package plugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tritonc/tritonc/core/span"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestCallSpans: a process learns of the span of each call, which says who it is and, of a
// process that died, how; without a trace it does not.
func TestCallSpans(t *testing.T) {
	_, b := testHost(t, "works", Options{})
	if got := mustRun(t, b, "parent", ""); got != "" {
		t.Errorf("without a trace a call is of %q", got)
	}
	made := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(made))
	ctx, outer := span.Start(span.With(t.Context(), provider.Tracer("test")), "compile")
	got, err := run(ctx, b, "parent", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, b, "panic", ""); err == nil {
		t.Error("a call that panics has no error")
	}
	outer.End(nil)
	spans := made.GetSpans()
	var calls []tracetest.SpanStub
	for _, s := range spans {
		if s.Name == "works RunStages" {
			calls = append(calls, s)
		}
	}
	if len(calls) != 2 || !strings.Contains(got, calls[0].SpanContext.SpanID().String()) || !strings.Contains(got, calls[0].SpanContext.TraceID().String()) {
		t.Fatalf("the process says %q, spans %+v", got, calls)
	}
	if c := calls[0]; c.SpanKind != span.Client || c.Parent.SpanID() != spans[len(spans)-1].SpanContext.SpanID() || c.Status.Description != "" {
		t.Errorf("the call is %+v", c)
	}
	if why := calls[1].Status.Description; why == "" {
		t.Error("the call that failed does not say so")
	}
}

// TestSteps: stages and tools stand where they say, or one after the other; passes are left
// out, and what failed says so.
func TestSteps(t *testing.T) {
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	for name, tt := range map[string]struct {
		rows []sdk.Timing
		err  error
		want string // name, begin, end in milliseconds, parent, status
	}{
		"told": {
			[]sdk.Timing{
				{Stage: "a", Nanoseconds: ms(10), Start: ms(1)},
				{Stage: "a", Name: "pass", Nanoseconds: ms(3)},
				{Stage: "b", Nanoseconds: ms(20), Start: ms(12)},
				{Stage: "b", Name: "tool", Nanoseconds: ms(5), Start: ms(14), Tool: &sdk.ToolRun{ExitCode: 1}},
				{Stage: "b", Name: "tool", Nanoseconds: ms(5), Start: ms(20), Tool: &sdk.ToolRun{ExitCode: -1, Signal: "killed"}},
			},
			errors.New("wrong\nas a whole"),
			"stage a 1 11 call; stage b 12 32 call wrong; tool 14 19 stage b exit status 1; tool 20 25 stage b signal: killed",
		},
		"not told": {
			[]sdk.Timing{
				{Stage: "a", Nanoseconds: ms(10)},
				{Stage: "a", Name: "pass", Nanoseconds: ms(3)},
				{Stage: "a", Name: "tool", Nanoseconds: ms(4), Tool: &sdk.ToolRun{}},
				{Stage: "b", Nanoseconds: ms(20)},
			},
			nil,
			"stage a 0 10 call; tool 3 7 stage a; stage b 10 30 call",
		},
		"nothing": {nil, errors.New("wrong"), ""},
		"beyond now": {
			[]sdk.Timing{{Stage: "a", Nanoseconds: ms(3_600_000)}},
			nil,
			"stage a 0 now call",
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(made))
			ctx, call := span.Start(span.With(t.Context(), provider.Tracer("test")), "call")
			began := time.Now().Add(-time.Minute)
			steps(ctx, began, tt.rows, tt.err)
			call.End(nil)
			spans := made.GetSpans()
			var got []string
			for _, s := range spans[:len(spans)-1] {
				end := fmt.Sprint(s.EndTime.Sub(began).Milliseconds())
				if s.EndTime.Sub(began) >= time.Minute {
					end = "now"
				}
				parent := ""
				for _, p := range spans {
					if p.SpanContext.SpanID() == s.Parent.SpanID() {
						parent = p.Name
					}
				}
				got = append(got, strings.TrimSpace(fmt.Sprint(s.Name, " ", s.StartTime.Sub(began).Milliseconds(), " ", end, " ", parent, " ", s.Status.Description)))
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}
