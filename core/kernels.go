package core

import "github.com/tritonc/tritonc/core/frontend"

// Kernels lists the kernels of a Python file with their parameters.
func Kernels(src *Source) ([]frontend.KernelInfo, error) {
	p, err := src.parsed()
	if err != nil {
		return nil, err
	}
	imports := importer{python: p, load: src.Import}
	infos, err := frontend.Kernels(p.file, &frontend.Options{Open: imports.open, Define: src.Define})
	if imports.err != nil {
		return nil, imports.err
	}
	return infos, err
}
