package lower

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Triton's language has no subscript for a tensor in registers, so kernels write
// x[i, :] as sum(where(arange(0, N)[:, None] == i, x, 0), 0). Of such a sum one term is
// left, which lanes ask the one lane for that has it: a shuffle in the place of a
// butterfly.

// oneTerm is a reduction of which at most one term is not 0.
type oneTerm struct {
	*axisInWarp
	x     *ir.Value // has the term
	index *ir.Value // is where it is: a scalar, start where it is the first
	start int64
	size  int64
}

// planOneTerm is nil for other reductions, and for those that leave a warp.
func (m *module) planOneTerm(op *ir.Operation, p *reducePlan) *oneTerm {
	switch single(op) {
	case arith.AddF, arith.AddI, arith.OrI, arith.XorI:
	default:
		return nil
	}
	if p.indirect != nil || len(p.laneBits) == 0 || len(p.warpBits) > 0 || len(p.blockBits) > 0 {
		return nil
	}
	chosen := tt.AsReduce(op).SrcsAt(0)
	if !chosen.DefIs(arith.Select) {
		return nil
	}
	choice := arith.AsSelect(chosen.Def())
	cond, axis := alongAxis(choice.Condition(), p.axis)
	if !arith.IsZero(choice.FalseValue()) || !cond.DefIs(arith.CmpI) || arith.AsCmpI(cond.Def()).Predicate() != arith.EQ {
		return nil
	}
	cmp := arith.AsCmpI(cond.Def())
	for _, sides := range [][2]*ir.Value{{cmp.Lhs(), cmp.Rhs()}, {cmp.Rhs(), cmp.Lhs()}} {
		at, d := alongAxis(sides[0], axis)
		index, _ := alongAxis(sides[1], -1)
		if !at.DefIs(tt.MakeRange) || d != 0 || !index.DefIs(tt.Splat) {
			continue
		}
		r := tt.AsMakeRange(at.Def())
		t := &oneTerm{
			axisInWarp: m.axisInWarp(p.src, p.axis), x: choice.TrueValue(), index: tt.AsSplat(index.Def()).Src(),
			start: r.Start(), size: p.src.shape[p.axis],
		}
		if t.axisInWarp != nil && r.End()-t.start == t.size {
			return t
		}
	}
	return nil
}

// alongAxis is the value of whose elements along an axis v has copies: v without what
// repeats it along others, extends or moves it; and which axis of it that is, or -1.
func alongAxis(v *ir.Value, axis int) (*ir.Value, int) {
	for {
		switch {
		case v.DefIs(tt.Broadcast):
			src := tt.AsBroadcast(v.Def()).Src()
			if axis >= 0 && src.Type().(*ir.TensorType).Shape[axis] != v.Type().(*ir.TensorType).Shape[axis] {
				return v, axis
			}
			v = src
		case v.DefIs(tt.ExpandDims):
			e := tt.AsExpandDims(v.Def())
			switch at := int(e.Axis()); {
			case at == axis:
				return v, axis
			case at < axis:
				axis--
			}
			v = e.Src()
		case v.DefIs(ttg.ConvertLayout):
			v = ttg.AsConvertLayout(v.Def()).Src()
		case v.DefIs(arith.ExtSI):
			v = arith.AsCast(v.Def()).In()
		default:
			return v, axis
		}
	}
}

// reduceOneTerm carries the plan out.
func (e *emitter) reduceOneTerm(op *ir.Operation, p *reducePlan, t *oneTerm) error {
	b, m := e.b, e.m.llvm
	index := e.scalar(t.index)
	if llir.Width(index.Type()) < 32 {
		index = b.Resize(index, llir.I32, true)
	}
	width := llir.IntN(llir.Width(index.Type()))
	at := b.Sub(index, m.Int(width, t.start))
	held := b.ICmp(enum.IPredULT, at, m.Int(width, t.size))
	at = b.Resize(at, llir.I32, false)
	lane := b.Or(b.And(e.tid, m.I32(t.keep)), e.linearSum(at, t.lane))
	x := e.value(t.x)
	zero := m.Zero(x[0].Type())
	found := make([]llir.Value, len(p.regGroups))
	for g, regs := range p.regGroups {
		all := make([]llir.Value, 1<<len(t.choices)) // of which the index chooses
		for i := range all {
			r := regs[0]
			for k, c := range t.choices {
				r = r&^(1<<c.register) | i>>k&1<<c.register
			}
			all[i] = x[r]
		}
		for k := len(t.choices) - 1; k >= 0; k-- {
			set := b.ICmp(ipredNE, b.And(at, m.I32(1<<t.choices[k].index)), m.I32(0))
			for i := range 1 << k {
				all[i] = b.Select(set, all[i+1<<k], all[i])
			}
		}
		v := b.Select(held, e.shuffleIndex(all[0], lane), zero)
		sum, err := e.combine(op, partial{v}, partial{zero}) // -0.0 becomes 0.0
		if err != nil {
			return err
		}
		found[g] = sum[0]
	}
	out := make([]llir.Value, len(p.outGroup))
	for i, g := range p.outGroup {
		out[i] = found[g]
	}
	e.set(op.OneResult(), out)
	return nil
}
