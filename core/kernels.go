package core

import "github.com/tritonc/tritonc/core/frontend"

// Kernels lists the kernels of a Python file with their parameters.
func Kernels(src *Source) ([]frontend.KernelInfo, error) {
	file, err := frontend.ParseModule(src.Path, src.Name, src.Module, src.Text)
	if err != nil {
		return nil, err
	}
	imports := importer{python: &python{file: file, imported: map[string]imported{}}, load: src.Import}
	infos, err := frontend.Kernels(file, &frontend.Options{Open: imports.open, Define: src.Define})
	if imports.err != nil {
		return nil, imports.err
	}
	return infos, err
}
