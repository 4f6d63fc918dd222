package builtin

import "github.com/tritonc/tritonc/core/ir"

// Modules lists a module and those inside it, each before what it contains. A file with
// several modules is one of them.
func Modules(m *ir.Operation) []*ir.Operation {
	list := []*ir.Operation{m}
	for op := range m.Body().Ops() {
		if op.Is(Module) {
			list = append(list, Modules(op)...)
		}
	}
	return list
}
