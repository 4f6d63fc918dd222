package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
		attrs = append(attrs, span.String("tritonc.kernel", s.variant.Kernel), span.String("tritonc.variant", s.Variant), span.String("tritonc.config", s.config()))
	}
	return span.Start(ctx, what, attrs...)
}

// config is what tells a variant from others of its kernel, for people: "B=64 num_warps=4".
func (s *Source) config() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.variant.Constants)) {
		switch v := s.variant.Constants[name].(type) {
		case nil:
			parts = append(parts, name+"=None")
		case bool, int64, float64, string:
			parts = append(parts, fmt.Sprintf("%s=%v", name, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, s.Options[name]))
	}
	return strings.Join(parts, " ")
}
