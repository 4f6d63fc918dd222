package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/span"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// span begins one of a call to a process, which gets to know of it.
func (b *Backend) span(ctx context.Context, p *process.Process, method string) (context.Context, span.Span) {
	if !span.On(ctx) {
		return ctx, span.Span{}
	}
	ctx, s := span.StartKind(ctx, span.Client, b.found.Name+" "+method,
		span.String("rpc.system", "grpc"), span.String("rpc.service", "tritonc.backend.v1.Backend"), span.String("rpc.method", method),
		span.String("tritonc.backend", b.found.Name), span.Int("tritonc.backend.pid", p.PID()))
	return metadata.AppendToOutgoingContext(ctx, span.ParentHeader, span.Inject(ctx)), s
}

// startSpan begins one of the start of a process.
func (b *Backend) startSpan(ctx context.Context) (context.Context, span.Span) {
	return span.Start(ctx, "start backend", span.String("tritonc.backend", b.found.Name))
}

// steps makes spans of the stages and tools of a call that began at began. A backend is
// not asked to send spans itself: it may be confined, and reach nobody. Passes are too many
// and too short.
func steps(ctx context.Context, began time.Time, rows []sdk.Timing, err error) {
	if !span.On(ctx) {
		return
	}
	now := time.Now()
	last := -1
	for i, row := range rows {
		if row.Name == "" {
			last = i
		}
	}
	next, inner, within := began, began, ctx // where a row begins that does not say when
	for i, row := range rows {
		took := time.Duration(row.Nanoseconds)
		start := inner
		if row.Name == "" {
			start = next
		}
		if row.Start > 0 {
			start = began.Add(time.Duration(row.Start))
		}
		end := start.Add(took)
		if end.After(now) {
			end = now
		}
		switch {
		case row.Name == "":
			var s span.Span
			within, s = span.StartAt(ctx, start, "stage "+row.Stage, span.String("tritonc.stage", row.Stage))
			var why error
			if i == last && err != nil {
				why = err
				if took == 0 {
					end = now // it did not come to say
				}
			}
			s.EndAt(end, why)
			next, inner = end, start
			continue
		case row.Tool != nil:
			_, s := span.StartAt(within, start, row.Name, span.String("tritonc.tool", row.Name), span.Int("process.exit.code", row.Tool.ExitCode))
			s.EndAt(end, ended(row.Tool))
		}
		inner = end
	}
}

// ended is the error of a tool that did not end well.
func ended(t *sdk.ToolRun) error {
	switch {
	case t.Signal != "":
		return errors.New("signal: " + t.Signal)
	case t.ExitCode != 0:
		return fmt.Errorf("exit status %d", t.ExitCode)
	}
	return nil
}
