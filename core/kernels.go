package core

import (
	"context"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/work"
)

// Kernels lists the kernels of a Python file with their parameters. Evaluating
// the file ends with ctx.
func Kernels(ctx context.Context, src *Source) ([]frontend.KernelInfo, error) {
	p, err := src.parsed()
	if err != nil {
		return nil, err
	}
	meter := work.Start(ctx)
	defer meter.End()
	imports := importer{python: p, load: src.Import}
	infos, err := frontend.Kernels(p.file, &frontend.Options{Open: imports.open, Define: src.Define, Meter: meter})
	if imports.err != nil {
		return nil, imports.err
	}
	return infos, overMemory(src.Path, err)
}
