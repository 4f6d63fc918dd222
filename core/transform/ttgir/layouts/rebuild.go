package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// A rebuild computes the values of a slice again, each in its encoding. Copies
// are just before their originals; a loop that carries a value of the slice
// carries its copy too, and a condition gives a copy of its result.
type rebuild struct {
	*remat
	s    *slice
	done map[*ir.Value]*ir.Value // copies by original
	// edges are what conditions are to yield in place of a copy of what they
	// yield now.
	edges map[*ir.Use]*ir.Value
}

// rebuild computes v again as the slice says and returns the copy. done has the
// copies that exist already; it may be nil.
func (r *remat) rebuild(s *slice, done map[*ir.Value]*ir.Value, v *ir.Value) *ir.Value {
	if done == nil {
		done = make(map[*ir.Value]*ir.Value, len(s.values))
	}
	rb := &rebuild{remat: r, s: s, done: done}
	return rb.value(v)
}

// value is the copy of v, or v itself where it need not be computed again.
func (rb *rebuild) value(v *ir.Value) *ir.Value {
	if w := rb.done[v]; w != nil {
		return w
	}
	enc, ok := rb.s.enc[v]
	if !ok {
		return v // it has the encoding that is wanted, or is not a tensor
	}
	if w := rb.s.given[v]; w != nil {
		rb.done[v] = w
		return w
	}
	op := v.Def()
	switch {
	case op == nil:
		rb.carried(v)
	case op.Is(scf.If):
		rb.condition(v)
	case rb.s.through[v]:
		rb.done[v] = rb.value(ttg.AsConvertLayout(op).Src())
	default:
		n := rb.again(op, enc)
		for i, old := range op.Results() {
			rb.done[old] = n.Result(i)
			if tensors.Type(old) != nil {
				rb.copies.add(conversion{old, rb.s.enc[old]}, n.Result(i))
			}
		}
	}
	return rb.done[v]
}

// again makes op once more, with its results in their encodings.
func (rb *rebuild) again(op *ir.Operation, enc ir.Attribute) *ir.Operation {
	rb.b.Loc = op.Loc()
	if endsSlice(op, enc) {
		t := tensors.WithEncoding(rb.b.Context(), tensors.Type(op.OneResult()), enc)
		if op.Is(arith.Constant) && !madeInAnyLayout(op, enc) {
			rb.b.SetAfter(op)
			return rb.b.Op(ttg.ConvertLayout, []*ir.Value{op.OneResult()}, t)
		}
		rb.b.SetBefore(op)
		return remade(rb.b, op, t)
	}
	m := ir.NewMapping()
	src := backward(op, enc)
	for _, w := range op.Operands() {
		if src != nil && tensors.Encoding(w) == src {
			m.Map(w, w) // another use of w may be what it is in the slice for
			continue
		}
		m.Map(w, rb.value(w))
	}
	n := op.Clone(m)
	rb.b.SetBefore(op)
	rb.b.Insert(n)
	for i, old := range op.Results() {
		if t := tensors.Type(old); t != nil {
			n.Result(i).SetType(tensors.WithEncoding(rb.b.Context(), t, rb.s.enc[old]))
		}
	}
	return n
}

// carried gives the loop of a block argument one more carried value. What is
// yielded for it may come from the value itself and lead to further carried
// values, so its place among the operands is taken before.
func (rb *rebuild) carried(v *ir.Value) {
	i, loop := scf.CarriedIndex(v), v.Block().Parent()
	init := rb.value(scf.AsFor(loop).InitArgsAt(i))
	loop.AppendOperand(init)
	arg, result := v.Block().AddArg(init.Type(), v.Loc()), loop.AddResult(init.Type())
	rb.done[v] = arg
	rb.copies.add(conversion{v, rb.s.enc[v]}, arg)
	rb.copies.add(conversion{loop.Result(i), rb.s.enc[v]}, result)
	yield := v.Block().Terminator()
	slot := yield.NumOperands()
	yield.AppendOperand(arg)
	yield.SetOperand(slot, rb.value(yield.Operand(i)))
}

// condition gives a condition one more result; its places among the operands
// of the yields are taken before they are computed, as for loops.
func (rb *rebuild) condition(v *ir.Value) {
	op, i, enc := v.Def(), v.Index(), rb.s.enc[v]
	w := op.AddResult(tensors.WithEncoding(rb.b.Context(), tensors.Type(v), enc))
	rb.done[v] = w
	rb.copies.add(conversion{v, enc}, w)
	var yields [2]*ir.Operation
	slot := 0
	for k, region := range op.Regions() {
		yields[k] = region.First().Terminator()
		slot = yields[k].NumOperands()
		yields[k].AppendOperand(yields[k].Operand(i))
	}
	for _, yield := range yields {
		if w := rb.edges[yield.OperandUse(i)]; w != nil {
			yield.SetOperand(slot, w)
		} else {
			yield.SetOperand(slot, rb.value(yield.Operand(i)))
		}
	}
}
