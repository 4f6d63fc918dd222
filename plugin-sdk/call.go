package sdk

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/metadata"
)

// call is what a context of a method's call carries for its author.
type call struct {
	log      hclog.Logger
	progress func(Progress) // nil: nobody asks

	mu     sync.Mutex
	warned Diagnostics
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// within makes the context of a call whose warnings are collected. It has the logger
// of ctx.
func within(ctx context.Context, progress func(Progress)) (context.Context, *call) {
	c := &call{progress: progress}
	if outer := callOf(ctx); outer != nil {
		c.log = outer.log
	}
	return context.WithValue(ctx, callKey{}, c), c
}

// Logger returns the logger of a call. Its lines reach the user under -v.
func Logger(ctx context.Context) hclog.Logger {
	if c := callOf(ctx); c != nil && c.log != nil {
		return c.log
	}
	return hclog.NewNullLogger()
}

// TraceParent is the span of the host that a call belongs to, as W3C's header traceparent
// has it; empty where nothing is traced. A backend need not look at it: the host makes
// spans of the rows of Timings.
func TraceParent(ctx context.Context) string {
	if list := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(list) > 0 {
		return list[0]
	}
	return ""
}

// ReportProgress tells the user what the RunStages call of ctx is about to do. It may
// be called from several goroutines. That a stage begins the SDK says by itself,
// unless the backend is a StageRunner.
func ReportProgress(ctx context.Context, p Progress) {
	if c := callOf(ctx); c != nil && c.progress != nil {
		c.progress(p)
	}
}

// Warn tells the user of something that does not end the call of ctx: a warning or
// a note. It may be called from several goroutines.
func Warn(ctx context.Context, d *Diagnostic) {
	c := callOf(ctx)
	if c == nil {
		return
	}
	told := *d
	if told.Severity == Error {
		told.Severity = Warning
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warned = append(c.warned, told)
}

// warnings are those of Warn.
func (c *call) warnings() Diagnostics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.warned)
}
