package span

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestOff: without With nothing is recorded and nothing crosses.
func TestOff(t *testing.T) {
	ctx := t.Context()
	in, s := Start(ctx, "x", Int("n", 1))
	s.Set(String("a", "b"))
	s.Event("e")
	s.Fail("f")
	s.End(errors.New("x"))
	Of(in).End(nil)
	if in != ctx || Inject(in) != "" || Extract(ctx, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") != ctx || On(in) {
		t.Error("something is recorded")
	}
}

// TestSpans: parents, across processes too, times and errors.
func TestSpans(t *testing.T) {
	made := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(made))
	ctx := With(t.Context(), provider.Tracer("test"))
	if Extract(ctx, "nonsense") == nil || Inject(ctx) != "" {
		t.Error("there is a parent where there is no span")
	}
	parent := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	outer, o := StartKind(Extract(ctx, parent), Client, "outer")
	far, f := StartKind(Extract(With(context.Background(), provider.Tracer("far")), Inject(outer)), Server, "far")
	_, n := Start(far, "near", Bool("b", true), Float("f", 0.5))
	n.End(errors.New("first\nsecond"))
	f.End(nil)
	began := time.Now().Add(-time.Hour)
	_, e := StartAt(outer, began, "earlier")
	e.EndAt(began.Add(time.Minute), errors.New(strings.Repeat("é", maxWhy)))
	o.End(nil)
	byName := map[string]tracetest.SpanStub{}
	for _, s := range made.GetSpans() {
		byName[s.Name] = s
	}
	for name, want := range map[string]string{"far": "outer", "near": "far", "earlier": "outer"} {
		if byName[name].Parent.SpanID() != byName[want].SpanContext.SpanID() {
			t.Errorf("%s is not below %s", name, want)
		}
	}
	if top := byName["outer"]; top.Parent.SpanID().String() != "b7ad6b7169203331" || top.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || top.SpanKind != Client {
		t.Errorf("outer is %+v", top)
	}
	if s := byName["near"].Status; s.Code != codes.Error || s.Description != "first" {
		t.Errorf("near ended as %+v", s)
	}
	if s := byName["earlier"]; !s.StartTime.Equal(began) || s.EndTime.Sub(s.StartTime) != time.Minute || len(s.Status.Description) > maxWhy {
		t.Errorf("earlier is %+v", s)
	}
	if byName["far"].Status.Code != codes.Unset {
		t.Errorf("far ended as %+v", byName["far"].Status)
	}
}
