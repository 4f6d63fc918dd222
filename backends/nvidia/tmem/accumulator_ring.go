package tmem

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// accumulatorRing are several buffers in the place of one accumulator. A store to it, and a
// multiplication that does not add to it, begin a sum, in the next buffer:
//
//	ttng.tmem_store %v, %m, %p
//
// becomes
//
//	%j = select %p, %i + 1 or 0, %i
//	ttng.tmem_store %v, %m[%j], %p
//
// where %i, which the loop carries, is the number of the buffer.
type accumulatorRing struct {
	alloc  ttng.TmemAllocOp
	inside []*ir.Operation // uses in the loop, in the order of the program
	before []*ir.Operation // stores
	after  []*ir.Operation // loads

	asScheduled bool // see Unit
}

// isShared reports whether several multiplications of the loop use the accumulator.
func (r *accumulatorRing) isShared() bool {
	n := 0
	for _, op := range r.inside {
		if ttng.AsMMA(op) != nil {
			n++
		}
	}
	return n > 1
}

// newRing is the ring for the accumulator of a loop; nil if the loop does not begin a sum,
// may read one to which it then adds, or uses the accumulator in other ways. With asScheduled
// it is not asked whether one is read to which the loop then adds.
func newRing(alloc, loop *ir.Operation, asScheduled bool) *accumulatorRing {
	r := &accumulatorRing{alloc: ttng.AsTmemAlloc(alloc), asScheduled: asScheduled}
	if alloc.Block() != loop.Block() || r.alloc.Src() != nil {
		return nil
	}
	begins := false
	for use := range r.alloc.Result().Uses() {
		u := use.Owner()
		m := ttng.AsMMA(u)
		switch {
		case m != nil && m.D() != use.Value(), m == nil && !ttng.IsTmemLoad(u) && !ttng.IsTmemStore(u):
			return nil
		case loop.IsAncestorOf(u):
			if !ttng.IsTmemLoad(u) && u.Block() != loop.Body() {
				return nil
			}
			r.inside = append(r.inside, u)
			if m != nil {
				n, known := arith.ConstantInt(m.UseD())
				begins = begins || !known || n&1 == 0
			}
			begins = begins || ttng.IsTmemStore(u)
		case ttng.IsTmemStore(u) && u.Block() == loop.Block() && u.IsBeforeInBlock(loop):
			r.before = append(r.before, u)
		case ttng.IsTmemLoad(u) && u.Block() == loop.Block() && loop.IsBeforeInBlock(u):
			r.after = append(r.after, u)
		default:
			return nil
		}
	}
	if !begins {
		return nil
	}
	order := make(map[*ir.Operation]int)
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		order[op] = len(order)
		return ir.Advance
	})
	slices.SortFunc(r.inside, func(a, b *ir.Operation) int { return order[a] - order[b] })
	for i, op := range r.inside {
		if ttng.IsTmemLoad(op) && !asScheduled && !r.leaves(i, loop) {
			return nil
		}
	}
	return r
}

// leaves reports whether the multiplication after load number i of the loop surely has
// another buffer, so that it may be executed first: whenever the load is executed, a sum
// begins between the two, or with the multiplication.
func (r *accumulatorRing) leaves(i int, loop *ir.Operation) bool {
	var cond *ir.Value // under which the load is executed; nil: always
	if load := r.inside[i]; load.Block() != loop.Body() {
		branch := load.Parent()
		if !branch.Is(scf.If) || branch.Block() != loop.Body() || load.Block() != scf.AsIf(branch).ThenRegion().First() {
			return false
		}
		cond = scf.AsIf(branch).Condition()
	}
	for k := range r.inside {
		op := r.inside[(i+1+k)%len(r.inside)]
		again := i+1+k >= len(r.inside) // of the next iteration
		switch m := ttng.AsMMA(op); {
		case m != nil:
			use := m.UseD()
			if next := forloop.Next(loop, use); next != nil && again {
				return isFalse(next) || negates(next, cond)
			}
			return isFalse(use)
		case ttng.IsTmemStore(op):
			pred := ttng.AsTmemStore(op).Pred()
			if n, ok := arith.ConstantInt(pred); ok && n&1 == 1 || pred == cond && !again {
				return true
			}
		}
	}
	return false
}

func isFalse(v *ir.Value) bool {
	n, ok := arith.ConstantInt(v)
	return ok && n&1 == 0
}

// negates reports whether v is false where cond is true.
func negates(v, cond *ir.Value) bool {
	if cond == nil || v.Def() == nil {
		return false
	}
	switch {
	case v.DefIs(arith.XorI):
		x := arith.AsXorI(v.Def())
		n, ok := arith.ConstantInt(x.Rhs())
		return x.Lhs() == cond && ok && n&1 == 1
	case v.DefIs(arith.Select):
		x := arith.AsSelect(v.Def())
		return x.Condition() == cond && isFalse(x.TrueValue())
	case v.DefIs(arith.CmpI) && cond.DefIs(arith.CmpI):
		x, y := arith.AsCmpI(v.Def()), arith.AsCmpI(cond.Def())
		return x.Lhs() == y.Lhs() && x.Rhs() == y.Rhs() && x.Predicate() == std.Inverse(y.Predicate())
	}
	return false
}

// start is the number before the first: that of a buffer that holds a value already, else
// one that the first sum follows.
func (r *accumulatorRing) start(b *ir.Builder) *ir.Value {
	n := int64(-1)
	if len(r.before) > 0 && !r.asScheduled && !r.beginsAtOnce() {
		n = 0
	}
	return arith.Int(b, b.Context().I32(), n)
}

// beginsAtOnce reports whether the first iteration begins a sum before it reads one.
func (r *accumulatorRing) beginsAtOnce() bool {
	first := r.inside[0]
	if ttng.IsTmemStore(first) {
		n, ok := arith.ConstantInt(ttng.AsTmemStore(first).Pred())
		return ok && n&1 == 1
	}
	m := ttng.AsMMA(first)
	if m == nil {
		return false
	}
	use := m.UseD()
	if loop := use.Block().Parent(); use.IsArgument() && loop.Is(scf.For) && scf.CarriedIndex(use) >= 0 {
		use = scf.Inits(loop)[scf.CarriedIndex(use)]
	}
	return isFalse(use)
}

// multiply puts n buffers in the place of the accumulator; carried is the number that loop
// carries. What orders the accesses by tokens is gone afterwards.
func (r *accumulatorRing) multiply(b *ir.Builder, p places, loop *ir.Operation, carried, zero, one *ir.Value, n int64) {
	c := b.Context()
	b.At(r.alloc.Op)
	t := *r.alloc.Result().Type().(*ttg.MemDescType)
	t.Shape, t.AllocShape = append([]int64{n}, t.Shape...), nil
	buffers := ttng.NewTmemAlloc(b, ttg.MemDesc(c, t), nil, r.alloc.Token() != nil).Result()
	token := ub.NewPoison(b, ttg.AsyncToken(c))
	first, count := arith.Int(b, c.I32(), 0), arith.Int(b, c.I32(), n)
	t.Shape = t.Shape[1:]
	at := func(index *ir.Value) *ir.Value {
		return b.Op(ttg.MemDescIndex, []*ir.Value{buffers, index}, ttg.MemDesc(c, t)).OneResult()
	}
	visit := func(op *ir.Operation, index *ir.Value) *ir.Value {
		b.At(op)
		if op.Block() == loop.Body() {
			b.OnInsert = p.like(op)
		}
		defer func() { b.OnInsert = nil }()
		switch {
		case ttng.IsTmemLoad(op):
			v := ttng.AsTmemLoad(op)
			v.SetDep(nil)
			v.SetSrc(at(index))
		case ttng.IsTmemStore(op):
			v := ttng.AsTmemStore(op)
			if loop.IsAncestorOf(op) {
				next, _ := increment(b, index, zero, one, count)
				index = arith.NewSelect(b, v.Pred(), next, index)
			}
			v.SetDep(nil)
			v.SetDst(at(index))
		default:
			m := ttng.AsMMA(op)
			next, _ := increment(b, index, zero, one, count)
			index = arith.NewSelect(b, m.UseD(), index, next)
			m.SetAccDep(nil)
			m.SetD(at(index))
		}
		for _, v := range op.Results() {
			if v.Type() == token.Type() {
				v.ReplaceAllUsesWith(token)
			}
		}
		return index
	}
	for _, op := range r.before {
		visit(op, first)
	}
	index := carried
	for _, op := range r.inside {
		index = visit(op, index)
	}
	yield := forloop.Yield(loop)
	yield.AppendOperand(index)
	for _, op := range r.after {
		visit(op, loop.Result(yield.NumOperands()-1))
	}
	if v := r.alloc.Token(); v != nil {
		v.ReplaceAllUsesWith(token)
	}
	r.alloc.Op.Erase()
}
