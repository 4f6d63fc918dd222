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
