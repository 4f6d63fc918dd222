package std

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// SymbolDCE erases private functions that nothing refers to.
var SymbolDCE = &pass.Pass{
	Name:    "symbol-dce",
	Doc:     "erase private functions that are never called",
	Example: symbolDCEExample,
	Run: func(r *pass.Run) error {
		r.Count("erased", eraseDead(r.Module, func(string) bool { return true }))
		return nil
	},
}

// eraseDead erases the private functions that no public one, and nothing else in the module, leads to, of those
// that may go, and says how many.
func eraseDead(module *ir.Operation, mayGo func(name string) bool) int {
	funcs := Functions(module)
	live := make(map[string]bool)
	var work []*ir.Operation
	for op := range module.Body().Ops() {
		if !op.Is(tt.Func) || !isPrivate(op) || !mayGo(tt.AsFunc(op).SymName()) {
			work = append(work, op)
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			for _, a := range op.Attrs() {
				if s, ok := a.Attr.(*ir.SymbolRefAttr); ok && !live[s.Root] && funcs[s.Root] != nil {
					live[s.Root] = true
					work = append(work, funcs[s.Root])
				}
			}
			return ir.Advance
		})
	}
	erased := 0
	for op := range module.Body().Ops() {
		if !op.Is(tt.Func) || !isPrivate(op) {
			continue
		}
		if name := tt.AsFunc(op).SymName(); mayGo(name) && !live[name] {
			op.Erase()
			erased++
		}
	}
	return erased
}
