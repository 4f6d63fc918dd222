package core

import (
	"context"
	"time"

	"github.com/tritonc/tritonc/core/plugin/wire"
)

// Cached returns the kernel that Compile would take from a cache, or nil where it would
// compile.
func Cached(ctx context.Context, src *Source, target Target, opts *Options) (*Kernel, error) {
	src, err := src.toCompile(ctx, target, opts)
	if err != nil {
		return nil, err
	}
	t := &trip{src: src, opts: opts}
	cached := t.openCache(wire.WithKernel(ctx, src.kernel()), target)
	k := cached.kernel(ctx)
	if k == nil {
		if shared := cached.share(ctx); shared != nil {
			k = shared.traced(ctx, func(ctx context.Context) *Kernel { return shared.lookUp(ctx, time.Now()) })
		}
	}
	if k == nil {
		return nil, nil
	}
	return k.launchable(opts)
}
