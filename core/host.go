package core

import (
	"context"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Host runs host code of a Python file: what allocates memory and launches the
// file's kernels. The host gives it the modules that it needs for that.
func Host(ctx context.Context, src *Source, target Target, opts *Options, host frontend.Host, do func(m *eval.Module) error) error {
	p, err := src.open(target, opts)
	if err != nil {
		return err
	}
	return overMemory(src.Path, p.program.Host(ctx, host, opts.Print, do))
}
