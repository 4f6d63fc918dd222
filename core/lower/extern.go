package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Extern is a function of a device library that the module calls and nothing
// here defines: it is declared, and whoever asked for the lowering links it.
type Extern struct {
	// Symbol is the function's name, and Library what the call says of where it
	// is, often nothing.
	Symbol, Library string

	call *ir.Operation // the first one
}

// Errorf makes a diagnostic about the function at the line that first calls it.
func (x Extern) Errorf(format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(position(x.call.Loc()), "%s: %s", x.call.Name(), fmt.Sprintf(format, args...))
	addCallers(d, x.call.Loc())
	return d
}

// extern applies a function of a device library to each element: the target's
// own where it has one, else a declared one.
func (e *emitter) extern(op tt.ExternElementwiseOp) error {
	t, err := scalarType(op.Result().Type())
	if err != nil {
		return err
	}
	n, err := e.m.regsOf(op.Result().Type())
	if err != nil {
		return err
	}
	operands := op.Srcs()
	all := make([][]llir.Value, len(operands))
	for i, v := range operands {
		all[i] = spread(e.value(v), n)
	}
	out := e.m.caps.Math.Elements(e.b, op.Op, all)
	if out != nil {
		if got := out[0].Type(); !got.Equal(t) {
			return wrongResult(op, got, t)
		}
		e.set(op.Result(), out)
		return nil
	}
	out = make([]llir.Value, n)
	args := make([]llir.Value, len(operands))
	for r := range out {
		for i := range args {
			args[i] = all[i][r]
		}
		if out[r] = e.m.caps.Math.Elementwise(e.b, op.Op, t, args); out[r] != nil {
			if got := out[r].Type(); !got.Equal(t) {
				return wrongResult(op, got, t)
			}
			continue
		}
		if out[r], err = e.callExtern(op, t, args); err != nil {
			return err
		}
	}
	e.set(op.Result(), out)
	return nil
}

// wrongResult says that a call takes a function's result for another type than it has.
func wrongResult(op tt.ExternElementwiseOp, got, taken llir.Type) error {
	return fmt.Errorf("the function '%s' gives %v, and the call takes it for %v", op.Symbol(), got, taken)
}

// callExtern calls a function that is defined elsewhere.
func (e *emitter) callExtern(op tt.ExternElementwiseOp, result llir.Type, args []llir.Value) (llir.Value, error) {
	x := Extern{Symbol: op.Symbol(), Library: op.Libname(), call: op.Op}
	if x.Symbol == "" || e.m.funcs[x.Symbol] != nil {
		return nil, x.Errorf("%q is not a name for a function of a library", x.Symbol)
	}
	if err := tt.CheckFuncName(x.Symbol, true); err != nil {
		return nil, x.Errorf("%v", err)
	}
	effects := llir.Pure
	if !op.Pure() {
		effects = llir.HasEffects
	}
	types := make([]llir.Type, len(args))
	for i, a := range args {
		types[i] = a.Type()
	}
	f := e.m.llvm.Declare(x.Symbol, effects, result, types...)
	if f.Sig.RetType != result || !slices.Equal(f.Sig.Params, types) {
		return nil, x.Errorf("the function '%s' is called with other types elsewhere in the kernel", x.Symbol)
	}
	if !slices.ContainsFunc(e.m.externs, func(y Extern) bool { return y.Symbol == x.Symbol }) {
		e.m.externs = append(e.m.externs, x)
	}
	return e.b.Call(f, args...), nil
}
