package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// threadLocal reports whether each thread has, of A and B, all of K for the rows
// and columns of its part of the result.
func threadLocal(a, b, c *tensorLayout) bool {
	row, col := len(c.shape)-2, len(c.shape)-1
	at, bt := slices.Concat(a.thread, a.block), slices.Concat(b.thread, b.block)
	for i, v := range slices.Concat(c.thread, c.block) {
		if at[i][col] != 0 || bt[i][row] != 0 {
			return false
		}
		for d, x := range v {
			if d != col && at[i][d] != x || d != row && bt[i][d] != x {
				return false
			}
		}
	}
	return true
}

// multiplyAdd computes a dot that each thread can compute alone: one
// multiply-add for each k, in ascending order.
func (e *emitter) multiplyAdd(op tt.DotOp, a, b, c *tensorLayout) error {
	row, col := len(c.shape)-2, len(c.shape)-1
	x, y := e.value(op.A()), e.value(op.B())
	acc := append([]llir.Value(nil), e.value(op.C())...)
	xAt, yAt := a.registersAt(), b.registersAt()
	t := acc[0].Type()
	wideX, wideY := make([]llir.Value, len(x)), make([]llir.Value, len(y))
	for k := range int32(a.shape[col]) {
		for r := range acc {
			if c.canonical(r) != r {
				continue
			}
			at := c.regCoords(r)
			n := at[col]
			at[col] = k
			i, ok := xAt[coordKey(at)]
			at[row], at[col] = k, n
			j, ok2 := yAt[coordKey(at)]
			if !ok || !ok2 {
				return fmt.Errorf("the operands' layouts do not hold what the result's needs")
			}
			p, err := e.widen(op.Op, 0, x[i], t, &wideX[i])
			if err != nil {
				return err
			}
			q, err := e.widen(op.Op, 1, y[j], t, &wideY[j])
			if err != nil {
				return err
			}
			if llir.IsFloat(t) {
				acc[r] = e.intrinsic("fma", t, p, q, acc[r])
			} else {
				acc[r] = e.b.Add(e.b.Mul(p, q), acc[r])
			}
			e.b.MarkCombined(acc[r : r+1])
		}
	}
	for r := range acc {
		acc[r] = acc[c.canonical(r)]
	}
	e.set(op.Result(), acc)
	return nil
}

// registersAt finds the first register by the coordinates that it adds.
func (l *tensorLayout) registersAt() map[string]int {
	at := make(map[string]int, l.regs)
	for r := l.regs - 1; r >= 0; r-- {
		at[coordKey(l.regCoords(r))] = r
	}
	return at
}

// widen brings an element of operand i to the type of the accumulator, once.
func (e *emitter) widen(op *ir.Operation, i int, v llir.Value, to llir.Type, wide *llir.Value) (llir.Value, error) {
	from := v.Type()
	if from == to {
		return v, nil
	}
	if *wide != nil {
		return *wide, nil
	}
	elem := ir.ElemOf(op.Operand(i).Type())
	switch {
	case ir.IsFloat(elem) && llir.IsFloat(from) && llir.IsFloat(to) && llir.Width(from) < llir.Width(to):
		*wide = e.b.Cast(llir.FPExt, v, to, 0)
	case !ir.IsFloat(elem) && !llir.IsFloat(to) && llir.Width(from) < llir.Width(to):
		*wide = e.b.SExt(v, to)
	default:
		return nil, fmt.Errorf("operand %s that no multiply-add takes", diag.Count(i, "has element"))
	}
	return *wide, nil
}
