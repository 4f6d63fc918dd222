package lower

import (
	"fmt"
	"math"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func foreignHandlers(h map[*ir.OpDef]handler) {
	h[tt.Print] = on(tt.AsPrint, (*emitter).print)
	h[tt.Assert] = on(tt.AsAssert, (*emitter).assert)
	h[tt.ExternElementwise] = on(tt.AsExternElementwise, (*emitter).extern)
	h[tt.InlineAsm] = on(tt.AsInlineAsm, (*emitter).inlineAsm)
}

// print writes a line for each element of each operand, in Triton's form:
// program, index, prefix, value. As there, every thread writes what it holds: of
// replicas each.
func (e *emitter) print(op tt.PrintOp) error {
	prefix, args, signed := op.Prefix(), op.Args(), op.IsSigned()
	pid := []PrintPart{{Text: "pid ("}}
	for axis := range 3 {
		if axis > 0 {
			pid = append(pid, PrintPart{Text: ", "})
		}
		pid = append(pid, PrintPart{Value: e.programAt(axis)})
	}
	pid = append(pid, PrintPart{Text: ")"})
	if len(args) == 0 {
		return e.m.caps.Reports.Print(e.b, append(pid, PrintPart{Text: prefix + "\n"}))
	}
	for i, v := range args {
		index, width, err := e.printIndex(v)
		if err != nil {
			return err
		}
		which := ""
		if len(args) > 1 {
			which = fmt.Sprintf("(operand %d) ", i)
		}
		for r, x := range e.value(v) {
			parts := append([]PrintPart(nil), pid...)
			parts = append(parts, PrintPart{Text: " idx ("})
			for d := range index {
				if d > 0 {
					parts = append(parts, PrintPart{Text: ", "})
				}
				parts = append(parts, PrintPart{Value: index[d][r], Width: width[d]})
			}
			isSigned := i < len(signed) && signed[i] != 0
			parts = append(parts, PrintPart{Text: ")" + prefix + which},
				PrintPart{Value: x, Signed: isSigned, Hex: op.Hex()}, PrintPart{Text: "\n"})
			if err := e.m.caps.Reports.Print(e.b, parts); err != nil {
				return err
			}
		}
	}
	return nil
}

// printIndex gives the coordinates of each register's element and the number
// of digits of each.
func (e *emitter) printIndex(v *ir.Value) ([][]llir.Value, []int, error) {
	if _, ok := v.Type().(*ir.TensorType); !ok {
		return nil, nil, nil
	}
	l, err := e.layout(v)
	if err != nil {
		return nil, nil, err
	}
	index, width := make([][]llir.Value, len(l.shape)), make([]int, len(l.shape))
	for d, n := range l.shape {
		index[d] = e.coords(l, d)
		width[d] = int(math.Ceil(math.Log10(float64(n))))
	}
	return index, width, nil
}

// assert stops the program where any element of the condition is false.
func (e *emitter) assert(op tt.AssertOp) error {
	var all llir.Value = e.m.llvm.Bool(true)
	for _, c := range e.value(op.Condition()) {
		if c.Type() != llir.I1 {
			c = e.b.ICmp(ipredNE, c, e.m.llvm.Zero(c.Type()))
		}
		all = e.b.And(all, c)
	}
	pos := position(op.Op.Loc())
	e.m.caps.Reports.Assert(e.b, all, Assertion{
		Message: op.Message(), File: pos.File, Line: pos.Line, Function: e.fn.name,
	})
	return nil
}
