package span

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Attr is a fact about a span.
type Attr = attribute.KeyValue

// String, Int and Bool make facts.
func String(name, value string) Attr        { return attribute.String(name, value) }
func Int(name string, value int) Attr       { return attribute.Int(name, value) }
func Bool(name string, value bool) Attr     { return attribute.Bool(name, value) }
func Float(name string, value float64) Attr { return attribute.Float64(name, value) }

// Kind says how a span stands to others.
type Kind = trace.SpanKind

// The kinds. Client waits for a Server of another process, and what a Producer queues a
// Consumer takes later.
const (
	Internal = trace.SpanKindInternal
	Client   = trace.SpanKindClient
	Server   = trace.SpanKindServer
	Producer = trace.SpanKindProducer
	Consumer = trace.SpanKindConsumer
)

type tracerKey struct{}

// With returns a context whose spans t makes.
func With(ctx context.Context, t trace.Tracer) context.Context {
	return context.WithValue(ctx, tracerKey{}, t)
}

// Like returns ctx with the tracer of another context, if that has one.
func Like(ctx, other context.Context) context.Context {
	if t, _ := other.Value(tracerKey{}).(trace.Tracer); t != nil {
		return With(ctx, t)
	}
	return ctx
}

// On reports whether spans are recorded.
func On(ctx context.Context) bool { return ctx.Value(tracerKey{}) != nil }

// Span is something that takes time. A zero Span records nothing.
type Span struct{ s trace.Span }

// Start begins a span below that of ctx; its own context is for what happens in it. The
// caller ends it.
func Start(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return StartKind(ctx, Internal, name, attrs...)
}

// StartKind is Start for another kind than Internal.
func StartKind(ctx context.Context, kind Kind, name string, attrs ...Attr) (context.Context, Span) {
	return start(ctx, kind, time.Time{}, name, attrs)
}

// StartAt is Start for what began earlier.
func StartAt(ctx context.Context, began time.Time, name string, attrs ...Attr) (context.Context, Span) {
	return start(ctx, Internal, began, name, attrs)
}

func start(ctx context.Context, kind Kind, began time.Time, name string, attrs []Attr) (context.Context, Span) {
	t, _ := ctx.Value(tracerKey{}).(trace.Tracer)
	if t == nil {
		return ctx, Span{}
	}
	opts := []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attrs...)}
	if !began.IsZero() {
		opts = append(opts, trace.WithTimestamp(began))
	}
	ctx, s := t.Start(ctx, name, opts...)
	return ctx, Span{s}
}

// Of is the span of a context.
func Of(ctx context.Context) Span {
	if !On(ctx) {
		return Span{}
	}
	return Span{trace.SpanFromContext(ctx)}
}

// Set adds facts.
func (s Span) Set(attrs ...Attr) {
	if s.s != nil {
		s.s.SetAttributes(attrs...)
	}
}

// Event notes something that happens in a moment.
func (s Span) Event(name string, attrs ...Attr) {
	if s.s != nil {
		s.s.AddEvent(name, trace.WithAttributes(attrs...))
	}
}

// Fail says that the span failed.
func (s Span) Fail(why string) {
	if s.s != nil {
		s.s.SetStatus(codes.Error, why)
	}
}

// End ends the span, which failed if err is not nil.
func (s Span) End(err error) { s.EndAt(time.Time{}, err) }

// maxWhy bounds what a span says of an error, in bytes.
const maxWhy = 512

// EndAt is End for what ended earlier.
func (s Span) EndAt(ended time.Time, err error) {
	if s.s == nil {
		return
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		s.Fail(strings.ToValidUTF8(why[:min(len(why), maxWhy)], ""))
	}
	if ended.IsZero() {
		s.s.End()
	} else {
		s.s.End(trace.WithTimestamp(ended))
	}
}

// ParentHeader names the span that another process is to go on from: W3C's header, which is
// also that of a message of NATS. ParentVar is the variable.
const (
	ParentHeader = "traceparent"
	ParentVar    = "TRACEPARENT"
)

// Inject is the value of ParentHeader for the span of ctx; empty where nothing is recorded.
func Inject(ctx context.Context) string {
	if !On(ctx) {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[ParentHeader]
}

// Extract returns a context whose spans are below the one that parent names. A parent that
// is not one is left out, as W3C has it.
func Extract(ctx context.Context, parent string) context.Context {
	if parent == "" || !On(ctx) {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{ParentHeader: parent})
}
