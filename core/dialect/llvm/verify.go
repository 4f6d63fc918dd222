package llvm

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
)

// verifyFunc checks that the entry block has the arguments of the function's type.
func verifyFunc(op *ir.Operation) error {
	t, ok := AsFunc(op).FunctionType().(*FuncType)
	if !ok {
		return fmt.Errorf("function_type must be a function of LLVM")
	}
	body := op.Body()
	if body == nil {
		return nil
	}
	in := t.Signature.In
	if body.NumArgs() != len(in) {
		return fmt.Errorf("entry block must have %s, but has %d", diag.Count(len(in), "argument"), body.NumArgs())
	}
	for i, a := range body.Args() {
		if a.Type() != in[i] {
			return fmt.Errorf("entry block argument #%d must have the type of the function's argument", i)
		}
	}
	return nil
}

// verifyGetElementPtr checks that each operand has its place among the indices.
func verifyGetElementPtr(op *ir.Operation) error {
	g := AsGetElementPtr(op)
	n := 0
	for _, i := range g.RawConstantIndices() {
		if i == dynamicIndex {
			n++
		}
	}
	if n != len(g.DynamicIndices()) {
		return fmt.Errorf("has %s for operands, and %s", diag.Count(n, "index"), diag.Count(len(g.DynamicIndices()), "operand"))
	}
	return nil
}
