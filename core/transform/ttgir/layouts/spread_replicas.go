package layouts

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// SpreadReplicas divides work that lanes would repeat. The lanes that a reduction
// combined all have its result; where much is computed of it and each has several
// elements, as in the steps of a top-k after the first, each lane goes on with some of
// them:
//
//	%r = tt.reduce(%x)     // lanes l and l^4 have the same eight elements
//
// becomes
//
//	%r = tt.reduce(%x)
//	%s = ttg.convert_layout %r    // each has four of them, a select an element
//
// and what follows takes the layout of %s, up to the next conversion.
var SpreadReplicas = &pass.Pass{
	Name:    "tritongpu-spread-replicas",
	Doc:     "divide the result of a reduction among the lanes that have all of it, before exchanges between lanes",
	Example: spreadReplicasExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		m := machine.Of(r.Module)
		for f := range r.Module.Body().Ops() {
			if f.Is(tt.Func) && f.Body() != nil {
				r.Count("spread", spreadReplicas(f, m, r.Count))
			}
		}
		return nil
	},
}

// spreadReplicas puts a conversion after each reduction that is worth one, carries the
// layouts on from there, and returns how many conversions it put.
func spreadReplicas(f *ir.Operation, m machine.Machine, count func(string, int)) (n int) {
	s := &spreading{propagation: newPropagation(f, m), cheap: make(map[*ir.Value]bool)}
	b := ir.NewBuilder(s.ctx)
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		s.ctx.Meter().Visit()
		s.carry(op)
		if op.Is(tt.Reduce) && op.NumResults() == 1 && tensorResult(op) != nil && s.spreadResult(b, op) {
			n++
		}
		return ir.Advance
	})
	if n == 0 {
		return 0
	}
	s.retype(f)
	rm := newRemat(f, m, count)
	for _, cvt := range tensors.Conversions(f) {
		if s.isCheap(ttg.AsConvertLayout(cvt).Src()) {
			rm.try(cvt)
		}
	}
	foldConverts(f)
	return n
}

// spreading is one run for a function.
type spreading struct {
	*propagation
	// cheap says of values whether they are made of constants and indices alone.
	cheap map[*ir.Value]bool
}

// spreadResult puts a conversion after the reduction op if that is worth while.
func (s *spreading) spreadResult(b *ir.Builder, op *ir.Operation) bool {
	v := op.OneResult()
	enc := s.exchanged(op)
	if enc == nil {
		return false
	}
	b.After(op)
	b.Loc = op.Loc()
	w := ttg.NewConvertLayout(b, v, enc)
	v.ReplaceUsesIf(w, func(u *ir.Use) bool { return u.Owner() != w.Def() })
	s.reach(w, enc)
	s.was[w] = tensors.Encoding(v) // its users have it until they are retyped
	return true
}

const (
	// mostFollowed is how many operations after a reduction are looked at.
	mostFollowed = 64
	// fewExchanges is how many exchanges between lanes have to follow. A step of a
	// sort is an exchange, a comparison and a select, for each element; to divide the
	// elements between two lanes takes one select for each that is left.
	fewExchanges = 2
)

// exchanged is the layout that spreads the result of the reduction op, nil for none: if
// lanes have replicas, threads several elements, and the operations to come exchange
// them between lanes, along other dimensions than those of the elements that are
// divided. Among these operations is none that would have its operand converted back.
func (s *spreading) exchanged(op *ir.Operation) ir.Attribute {
	v := op.OneResult()
	shape, enc := tensors.Type(v).Shape, s.picked(v)
	if len(spreadBits(shape, enc, 0)) == 0 {
		return nil
	}
	of := map[*ir.Value]*dimensions{v: {list: counting(len(shape))}}
	kept, exchanges := uint64(0), 0
	for n := 0; n < mostFollowed; n++ {
		if op = op.Next(); op == nil {
			break
		}
		s.ctx.Meter().Visit()
		along := func(o *ir.Value) bool { return of[o] != nil }
		from := of[operandOf(op, along)]
		switch {
		case from == nil, op.Is(ttg.ConvertLayout), op.Is(scf.For), op.Is(scf.Yield):
			continue
		case !s.carries(op, along):
			return nil
		case op.Is(tt.Reduce):
			axis := axisOf(op)
			kept |= 1 << from.list[axis]
			if tensors.Linear(tensors.Type(firstTensor(op))).Along(layout.Lane, layout.TensorDim(axis)) > 1 {
				exchanges++
			}
			from = &dimensions{slices.Delete(slices.Clone(from.list), axis, axis+1), axis, from}
		case op.Is(tt.ExpandDims):
			if from.whole == nil || from.axis != axisOf(op) {
				return nil // its layout is not a part of one that is known
			}
			from = from.whole
		case op.Is(tt.Reshape):
			continue
		}
		for _, r := range op.Results() {
			if tensors.Type(r) != nil {
				of[r] = from
			}
		}
	}
	if exchanges < fewExchanges {
		return nil
	}
	return s.spreadOver(shape, enc, kept)
}

// dimensions are those of a value computed of another: list has the numbers that they
// have there.
type dimensions struct {
	list []int
	// axis is the dimension that a reduction took from whole, if it came from one.
	axis  int
	whole *dimensions
}

func counting(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// spreadBits pairs bits of the lane's index that lead to replicas with bits of the
// register's. No register along a dimension in kept is among them; those along the
// first dimensions, which vary slowest, come first.
func spreadBits(shape []int64, enc ir.Attribute, kept uint64) (pairs [][2]int) {
	l := linearOf(shape, enc)
	if l.FreeMask(layout.Register) != 0 || l.FreeMask(layout.Lane) != l.ZeroMask(layout.Lane) ||
		l.FreeMask(layout.Warp) != l.ZeroMask(layout.Warp) {
		return nil
	}
	type basis struct{ bit, dim int }
	var regs []basis
	for i, v := range l.BasesOf(layout.Register) {
		along := func(x int32) bool { return x != 0 }
		d := slices.IndexFunc(v, along)
		if kept>>d&1 == 0 && !slices.ContainsFunc(v[d+1:], along) {
			regs = append(regs, basis{i, d})
		}
	}
	slices.SortStableFunc(regs, func(a, b basis) int { return cmp.Compare(a.dim, b.dim) })
	for m := l.ZeroMask(layout.Lane); m != 0 && len(regs) > 0; m &= m - 1 {
		pairs = append(pairs, [2]int{bits.TrailingZeros64(m), regs[0].bit})
		regs = regs[1:]
	}
	return pairs
}

// spreadOver is enc with elements of a thread in the lanes that have replicas of them;
// nil where that changes nothing.
func (s *spreading) spreadOver(shape []int64, enc ir.Attribute, kept uint64) ir.Attribute {
	pairs := spreadBits(shape, enc, kept)
	if len(pairs) == 0 {
		return nil
	}
	e := layout.FromLayout(linearOf(shape, enc))
	moved := make(map[int]bool)
	for _, p := range pairs {
		e.Lane[p[0]] = e.Register[p[1]]
		moved[p[1]] = true
	}
	var left layout.Bases
	for i, v := range e.Register {
		if !moved[i] {
			left = append(left, v)
		}
	}
	e.Register = left
	return encoding.Of(s.ctx, e)
}

func linearOf(shape []int64, enc ir.Attribute) layout.Layout {
	l, err := enc.(*encoding.Attr).Linear(shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	return l
}

// carry gives the results of op the layout of an operand that was reached.
func (s *spreading) carry(op *ir.Operation) {
	first := operandOf(op, s.isReached)
	switch {
	case first == nil:
	case op.Is(scf.For), op.Is(scf.Yield) && op.Parent().Is(scf.If):
		for i, v := range op.Operands() {
			if s.isReached(v) {
				for _, w := range flowsTo(op.OperandUse(i)) {
					s.reachFirst(w, s.picked(v))
				}
			}
		}
	case s.carries(op, s.isReached):
		enc := forward(op, s.picked(first))
		for _, r := range op.Results() {
			s.reachFirst(r, enc)
		}
	}
}

func (s *spreading) isReached(v *ir.Value) bool { return s.reached[v] != nil }

// reachFirst notes enc for v if it is the first to arrive.
func (s *spreading) reachFirst(v *ir.Value, enc ir.Attribute) {
	if !s.isReached(v) {
		s.reach(v, enc)
	}
}

// carries reports whether op can take the layout of those of its operands that come
// along: the others are cheap to make in any layout.
func (s *spreading) carries(op *ir.Operation, along func(*ir.Value) bool) bool {
	return (op.Is(tt.Reduce) || tensorResult(op) != nil && rearranges(op)) &&
		operandOf(op, func(v *ir.Value) bool {
			return tensors.Type(v) != nil && !along(v) && !s.isReached(v) && !s.isCheap(v)
		}) == nil
}

// operandOf is the first operand of op that is so; nil for none.
func operandOf(op *ir.Operation, is func(*ir.Value) bool) *ir.Value {
	for _, v := range op.Operands() {
		if is(v) {
			return v
		}
	}
	return nil
}

// rearranges reports whether op computes each element of its result of one element of
// each operand, in whatever layout that is.
func rearranges(op *ir.Operation) bool {
	switch op.Def() {
	case tt.ExpandDims:
		return true
	case tt.Reshape:
		return !tt.AsReshape(op).AllowReorder()
	case tt.Scan:
		return false
	}
	return isUniform(op) && op.NumRegions() == 0
}

// isCheap reports whether v is computed of constants and indices by a few operations on
// integers.
func (s *spreading) isCheap(v *ir.Value) bool {
	cheap, known := s.cheap[v]
	if known {
		return cheap
	}
	s.cheap[v] = false
	switch op := v.Def(); {
	case op == nil:
	case op.Is(arith.Constant), op.Is(tt.MakeRange), op.Is(tt.Splat):
		cheap = true
	case op.Is(tt.Broadcast), op.Is(tt.ExpandDims), op.Is(tt.Reshape), op.Def().Dialect() == "arith" && !ir.IsFloat(ir.ElemOf(v.Type())):
		cheap = operandOf(op, func(o *ir.Value) bool { return !s.isCheap(o) }) == nil
	}
	s.cheap[v] = cheap
	return cheap
}
