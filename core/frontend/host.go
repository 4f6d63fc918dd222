package frontend

import (
	"context"
	"math"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/work"
)

// Host is what runs the file's other half: the Python around its kernels, which
// allocates and launches.
type Host interface {
	// Import finds a module for host code, or nil where what kernels see of it will
	// do; load finds that. Both return as eval.Session's Import does.
	Import(name string, load func(name string) any) any
	// Kernel is what host code sees of a kernel.
	Kernel(fn *eval.Function) any
}

// Host has do work with a fresh evaluation of the file whose functions may launch
// kernels. What ends in a failure is an error with its place in the file; print
// receives what the code prints.
func (p *Program) Host(ctx context.Context, host Host, print func(string), do func(m *eval.Module) error) error {
	e := p.start()
	load := e.session.Import
	e.session.Import = func(name string) any {
		if v := host.Import(name, load); v != nil {
			return v
		}
		return load(name)
	}
	e.session.Kernel = host.Kernel
	e.session.MaxSteps = math.MaxInt             // it may run for as long as the user likes
	meter := work.Start(work.WithMemory(ctx, 0)) // arrays are not what a compile takes
	defer meter.End()
	return e.use(ctx, meter, print, func(e *evaluation) (err error) {
		if fail := eval.Try(func() { err = do(e.module) }); fail != nil {
			return fail.Diagnostic()
		}
		return err
	})
}
