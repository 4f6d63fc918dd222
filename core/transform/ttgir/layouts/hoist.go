package layouts

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// hoistAboveWidening moves the conversions that remain above an operation that
// makes more bytes of its operand (an extension, a broadcast), where fewer have
// to move. It reports whether one moved.
func (r *remat) hoistAboveWidening(f *ir.Operation) (changed bool) {
	for _, cvt := range tensors.Conversions(f) {
		if !isDotOperand(cvt) && cvt.HasUses() && r.hoistOne(cvt) {
			r.count("hoisted", 1)
			changed = true
		}
	}
	return changed
}

// widens reports whether op's result has more bytes than its operand.
func widens(op *ir.Operation) bool {
	switch op.Def() {
	case arith.ExtSI, arith.ExtUI, arith.ExtF, tt.Broadcast, tt.ExpandDims:
		return true
	case tt.FpToFp:
		v := tt.AsFpToFp(op)
		return ir.BitWidth(ir.ElemOf(v.Src().Type())) < ir.BitWidth(ir.ElemOf(v.Result().Type()))
	}
	return false
}

// widened is what op, which widens, makes more bytes of.
func widened(op *ir.Operation) *ir.Use {
	if arith.IsCast(op) {
		return arith.AsCast(op).InUse()
	}
	return tt.AsUnary(op).SrcUse()
}

func (r *remat) hoistOne(cvt *ir.Operation) bool {
	s, ok := r.take(ttg.AsConvertLayout(cvt).SrcUse(), tensors.Encoding(cvt.OneResult()), widens)
	if !ok {
		return false
	}
	// Of the widening operations at which the slice stops, those whose operand
	// can be computed again join it; exactly one may remain, above which the
	// conversion goes.
	var above *ir.Operation
	for i := 0; i < len(s.values); i++ {
		v := s.values[i]
		op := v.Def()
		if op == nil || !widens(op) || s.given[v] != nil {
			continue
		}
		src, in := backward(op, s.enc[v]), widened(op)
		if src == nil {
			return false
		}
		if tensors.Encoding(in.Value()) == src {
			continue
		}
		if t, ok := r.take(in, src, nil); ok && s.join(t) {
			continue
		}
		if above != nil {
			return false
		}
		above = op
	}
	if above == nil {
		return false
	}
	v, in := above.OneResult(), widened(above).Value()
	r.b.SetBefore(above)
	r.b.Loc = cvt.Loc()
	narrow := ttg.NewConvertLayout(r.b, in, backward(above, s.enc[v]))
	m := ir.NewMapping()
	m.Map(in, narrow)
	wide := above.Clone(m)
	wide.OneResult().SetType(tensors.WithEncoding(r.b.Context(), tensors.Type(v), s.enc[v]))
	r.b.Insert(wide)
	s.remove(v)
	r.replace(cvt, r.rebuild(s, map[*ir.Value]*ir.Value{v: wide.OneResult()}, ttg.AsConvertLayout(cvt).Src()))
	return true
}

// hoistIntoConditions moves a conversion of a condition's result into the
// branch that needs it, when the other branch can compute its value in the
// layout wanted. It does so inside loops only, where a branch is likely taken
// in some of the iterations.
func (r *remat) hoistIntoConditions(f *ir.Operation) (changed bool) {
	for _, cvt := range tensors.Conversions(f) {
		if cvt.HasUses() && r.hoistIntoCondition(cvt) {
			r.count("hoisted", 1)
			changed = true
		}
	}
	return changed
}

func (r *remat) hoistIntoCondition(cvt *ir.Operation) bool {
	isIf := func(op *ir.Operation) bool { return op.Is(scf.If) }
	s, ok := r.take(ttg.AsConvertLayout(cvt).SrcUse(), tensors.Encoding(cvt.OneResult()), isIf)
	if !ok {
		return false
	}
	type edge struct {
		u   *ir.Use
		enc ir.Attribute
	}
	var edges []edge
	var ends []*ir.Value // results of conditions after which nothing can be done
	for i := 0; i < len(s.values); i++ {
		v := s.values[i]
		if op := v.Def(); op == nil || !op.Is(scf.If) || s.given[v] != nil {
			continue
		}
		enc := s.enc[v]
		var branch [2]*ir.Use
		var parts [2]*slice
		var can [2]bool
		for k, region := range v.Def().Regions() {
			branch[k] = region.First().Terminator().OperandUse(v.Index())
			if tensors.Encoding(branch[k].Value()) == enc {
				parts[k], can[k] = newSlice(), true
			} else {
				parts[k], can[k] = r.take(branch[k], enc, isIf)
			}
		}
		inLoop := v.Def().Parent() != nil && v.Def().Parent().Is(scf.For)
		switch {
		case can[0] && can[1]:
			if !s.join(parts[0]) || !s.join(parts[1]) {
				return false
			}
		case !can[0] && !can[1] || !inLoop:
			ends = append(ends, v)
		default:
			k := 0
			if can[0] {
				k = 1
			}
			if !s.join(parts[1-k]) {
				return false
			}
			edges = append(edges, edge{branch[k], enc})
		}
	}
	if len(edges) == 0 {
		return false
	}
	rb := &rebuild{remat: r, s: s, done: make(map[*ir.Value]*ir.Value), edges: make(map[*ir.Use]*ir.Value)}
	r.b.Loc = cvt.Loc()
	for _, v := range ends {
		r.b.SetAfterValue(v)
		rb.done[v] = ttg.NewConvertLayout(r.b, v, s.enc[v])
		s.remove(v)
	}
	for _, e := range edges {
		r.b.SetBefore(e.u.Owner())
		rb.edges[e.u] = ttg.NewConvertLayout(r.b, e.u.Value(), e.enc)
	}
	r.replace(cvt, rb.value(ttg.AsConvertLayout(cvt).Src()))
	return true
}
