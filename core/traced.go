package core

import (
	"context"

	"github.com/tritonc/tritonc/core/span"
)

// Facts about spans, and their values.
const (
	localResult  = "tritonc.cache.local"
	sharedResult = "tritonc.cache.shared"

	cacheHit  = "hit"
	cacheMiss = "miss"
	cacheOff  = "off"
)

// Span begins one about what is done with the source for a target.
func (s *Source) Span(ctx context.Context, what string, target Target) (context.Context, span.Span) {
	if !span.On(ctx) {
		return ctx, span.Span{}
	}
	attrs := []span.Attr{span.String("tritonc.file", s.Path), span.String("tritonc.target", target.String())}
	if s.variant != nil {
		what += " " + s.variant.Kernel
		attrs = append(attrs, span.String("tritonc.kernel", s.variant.Kernel), span.String("tritonc.variant", s.Variant))
	}
	return span.Start(ctx, what, attrs...)
}
