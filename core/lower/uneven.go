package lower

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// uneven reports whether the innermost loop around op runs more often in some programs
// than in others: one of its bounds depends on which program it is, as in causal attention.
// Where both do, a program has its own part of a range, and the parts are taken as equal.
func uneven(op *ir.Operation) bool {
	loop := op.ParentOf(scf.For)
	if loop == nil {
		return false
	}
	f := scf.AsFor(loop)
	return ofProgram(f.LowerBound()) != ofProgram(f.UpperBound())
}

// ofProgram reports whether a scalar is computed from the program's number. What is
// loaded, or carried by a loop, is taken not to be.
func ofProgram(v *ir.Value) bool {
	seen := make(map[*ir.Value]bool)
	todo := []*ir.Value{v}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		def := v.Def()
		if seen[v] || def == nil || def.Is(tt.Load) {
			continue
		}
		seen[v] = true
		if def.Is(tt.GetProgramID) {
			return true
		}
		todo = append(todo, def.OperandValues()...)
	}
	return false
}
