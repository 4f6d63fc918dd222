package ptx

import (
	"math/bits"
	"math/rand/v2"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// sharedBytes of shared memory are each thread's.
const sharedBytes = 32

// place is memory that each thread has for itself.
type place struct {
	p     llir.Value
	bytes int
}

// findPlaces gives a thread its part of the buffer out, and of shared memory.
func (g *generator) findPlaces() {
	b := g.b
	own := b.GEP(llir.I8, g.f.Param(1), b.Add(b.Mul(g.tid, b.M.I32(outBytes)), b.M.I32(outBytes-scratchBytes)))
	if g.r.IntN(3) == 0 {
		own = b.Cast(llir.AddrSpaceCast, own, llir.PtrIn(0), 0)
	}
	shared := b.GEP(llir.I8, g.shared, b.Mul(g.tid, b.M.I32(sharedBytes)))
	for at := 0; at < sharedBytes; at += 16 { // what nobody wrote is undefined
		b.Store(b.M.Zero(b.M.Vec(4, llir.I32)), b.PtrAdd(shared, int64(at)), 16, false)
	}
	g.places = []place{{own, scratchBytes - floatBytes}, {shared, sharedBytes}}
	g.floats = b.PtrAdd(own, scratchBytes-floatBytes)
}

// floatBytes of a thread's memory hold finite numbers, which atomic operations change.
const floatBytes = 16

// atomicFloat adds a number to one in memory, or takes the lesser or greater.
func (g *generator) atomicFloat() {
	b := g.b
	k := g.r.IntN(4)
	t, at := []llir.Type{llir.Half, llir.BF16, llir.F32, llir.F64}[k], []int64{0, 2, 4, 8}[k]
	x := b.Cast(llir.SIToFP, g.as(llir.I8), t, 0)
	ops := []enum.AtomicOp{enum.AtomicOpFAdd, enum.AtomicOpXChg, llir.AtomicOpFMin, llir.AtomicOpFMax}
	n := 1 // the addition of doubles is an instruction
	if k < 3 {
		n = len(ops)
	}
	old := b.AtomicRMW(ops[g.r.IntN(n)], b.PtrAdd(g.floats, at), x, enum.AtomicOrderingMonotonic, "")
	if g.r.IntN(2) == 0 {
		g.values = append(g.values, old)
	}
}

// cluster reads elements at distances from a place that is computed, as a thread does that
// has several of a tile.
func (g *generator) cluster() {
	b := g.b
	t := stored[g.r.IntN(len(stored))]
	size := int(t.BitSize) / 8
	n := inBytes / size / 2
	i := b.And(g.as(llir.I32), b.M.I32(n-1))
	for range 2 + g.r.IntN(4) {
		k := g.r.IntN(n)
		var p llir.Value
		switch g.r.IntN(4) {
		case 0: // as lowering adds offsets to indices
			p = b.GEP(t, g.in, b.Binary(llir.Add, i, b.M.I32(k), llir.NSW))
		case 1:
			p = b.GEP(t, g.in, b.Add(b.SExt(i, llir.I64), b.M.I64(int64(k))))
		case 2:
			p = b.PtrAdd(b.GEP(t, g.in, i), int64(k*size))
		default: // disjoint bits
			p = b.GEP(t, g.in, b.Or(b.And(i, b.M.I32(^1)), b.M.I32(k&1)))
		}
		align := size
		if g.r.IntN(8) == 0 { // less is known at times
			align = 1 << g.r.IntN(bits.TrailingZeros(uint(size))+1)
		}
		g.values = append(g.values, b.Load(t, p, align, false))
	}
}

// at is the address of an element of some bytes in a place, computed at times.
func (g *generator) addressOf(size int) llir.Value {
	b, p := g.b, g.places[g.r.IntN(len(g.places))]
	n := p.bytes / size
	if g.r.IntN(3) == 0 {
		i := b.And(g.as(llir.I32), b.M.I32(n-1))
		if g.r.IntN(2) == 0 {
			i = b.SExt(i, llir.I64)
		}
		return b.GEP(llir.IntN(8*size), p.p, i)
	}
	return b.PtrAdd(p.p, int64(g.r.IntN(n)*size))
}

// stored are the integers that memory holds; a NaN there would have bits of its own.
var stored = []*types.IntType{llir.I8, llir.I16, llir.I32, llir.I64}

// store writes one element, or several.
func (g *generator) store() {
	b := g.b
	t := stored[g.r.IntN(len(stored))]
	size := int(t.BitSize) / 8
	volatile := g.r.IntN(8) == 0
	if n := []int{1, 2, 4}[g.r.IntN(3)]; n > 1 && n*size <= 16 {
		elems := make([]llir.Value, n)
		for i := range elems {
			elems[i] = g.as(t)
		}
		b.Store(b.Vector(elems...), g.addressOf(n*size), n*size, volatile)
		return
	}
	b.Store(g.as(t), g.addressOf(size), size, volatile)
}

// reload reads what may have been written.
func (g *generator) reload() llir.Value {
	b := g.b
	t := stored[g.r.IntN(len(stored))]
	size := int(t.BitSize) / 8
	if n := []int{1, 2, 4}[g.r.IntN(3)]; n > 1 && n*size <= 16 {
		v := b.Load(b.M.Vec(n, t), g.addressOf(n*size), n*size, false)
		g.values = append(g.values, b.ExtractElement(v, g.r.IntN(n)))
		return b.ExtractElement(v, g.r.IntN(n))
	}
	return b.Load(t, g.addressOf(size), size, g.r.IntN(8) == 0)
}

// atomic changes memory and may use what it held.
func (g *generator) atomic() {
	b := g.b
	t := []*types.IntType{llir.I32, llir.I64}[g.r.IntN(2)]
	p := g.addressOf(int(t.BitSize) / 8)
	scope := []string{"", "block"}[g.r.IntN(2)]
	order := []enum.AtomicOrdering{enum.AtomicOrderingMonotonic, enum.AtomicOrderingAcquireRelease}[g.r.IntN(2)]
	if g.r.IntN(5) == 0 {
		old := b.CmpXchg(p, g.as(t), g.as(t), order, enum.AtomicOrderingMonotonic, scope)
		g.values = append(g.values, b.ExtractValue(old, g.r.IntN(2)))
		return
	}
	op := []enum.AtomicOp{
		enum.AtomicOpAdd, enum.AtomicOpAnd, enum.AtomicOpOr, enum.AtomicOpXor, enum.AtomicOpXChg,
		enum.AtomicOpMax, enum.AtomicOpMin, enum.AtomicOpUMax, enum.AtomicOpUMin,
	}[g.r.IntN(9)]
	old := b.AtomicRMW(op, p, g.as(t), order, scope)
	if g.r.IntN(2) == 0 {
		g.values = append(g.values, old)
	}
}

// walk is a loop over memory at equal distances: by a pointer that it carries, by its counter
// times a stride, or by an offset that it carries.
func (g *generator) walk(depth int) {
	b := g.b
	t := stored[g.r.IntN(len(stored))]
	size := int(t.BitSize) / 8
	from := place{g.in, inBytes}
	if g.r.IntN(3) == 0 {
		from = g.places[g.r.IntN(len(g.places))]
	}
	n := from.bytes / size
	trips := 1 + g.r.IntN(min(4, n))
	step := 1 + g.r.IntN(max(1, n/trips-1))
	if step*trips > n {
		step = 1
	}
	// The number of steps is known, or at most that; so is the stride.
	count, stride := llir.Value(b.M.I32(trips)), llir.Value(b.M.I32(step))
	if g.r.IntN(2) == 0 {
		count = b.Call(b.M.Declare("llvm.umin.i32", llir.Pure, llir.I32, llir.I32, llir.I32), g.as(llir.I32), count)
	}
	if g.r.IntN(2) == 0 {
		stride = b.Call(b.M.Declare("llvm.umin.i32", llir.Pure, llir.I32, llir.I32, llir.I32), g.as(llir.I32), stride)
	}
	wide := g.r.IntN(2) == 0
	if wide {
		stride = b.ZExt(stride, llir.I64)
	}
	index := stride.Type().(*types.IntType)
	start := g.r.IntN(n - step*(trips-1))
	base := b.PtrAdd(from.p, int64(start*size))
	before := b.Block()
	head := g.f.NewBlock(before)
	after := g.f.NewBlock(head)
	b.Br(head)
	b.SetBlock(head)
	g.f.MoveToEnd(head)
	i, offset := b.Phi(llir.I32), b.Phi(index)
	pointer, sum := b.Phi(base.Type()), b.Phi(t)
	outside := len(g.values)
	g.values = append(g.values, i, sum)
	total := llir.Value(sum)
	for range 1 + g.r.IntN(2) {
		at := llir.Value(pointer)
		switch g.r.IntN(3) {
		case 0:
			at = b.GEP(t, base, offset)
		case 1:
			at = b.GEP(t, base, b.Mul(b.Resize(i, index, false), stride))
		}
		if g.r.IntN(3) == 0 && from.p != g.in {
			b.Store(b.Add(g.as(t), total), at, size, false)
		}
		total = b.Binary([]llir.Op{llir.Add, llir.Xor, llir.Sub}[g.r.IntN(3)], total, b.Load(t, at, size, false), 0)
		g.values = append(g.values, total)
	}
	if g.r.IntN(2) == 0 {
		g.statements(1+g.r.IntN(4), depth)
	}
	next := b.Add(i, b.M.I32(1))
	nextOffset := b.Add(offset, stride)
	nextPointer := b.GEP(t, pointer, stride)
	end := b.Block()
	for _, p := range []struct {
		phi         *ir.InstPhi
		first, next llir.Value
	}{{i, b.M.I32(0), next}, {offset, b.M.Int(index, 0), nextOffset}, {pointer, base, nextPointer}, {sum, b.M.Int(t, 0), total}} {
		llir.AddIncoming(p.phi, p.first, before)
		llir.AddIncoming(p.phi, p.next, end)
	}
	// Steps are at least one, as the body comes first.
	b.CondBr(b.ICmp([]enum.IPred{enum.IPredSLT, enum.IPredULT}[g.r.IntN(2)], next, count), head, after)
	g.values = g.values[: outside+2 : outside+2]
	g.values = append(g.values, total)
	b.SetBlock(after)
	g.f.MoveToEnd(after)
	g.f.SetIDom(after, end)
}

// while tests before its body, and may leave in the middle of it.
func (g *generator) while(depth int) {
	b := g.b
	limit := b.And(g.as(llir.I32), b.M.I32(3))
	v0 := g.pick()
	before := b.Block()
	head := g.f.NewBlock(before)
	body := g.f.NewBlock(head)
	after := g.f.NewBlock(head)
	b.Br(head)
	b.SetBlock(head)
	g.f.MoveToEnd(head)
	i, v := b.Phi(llir.I32), b.Phi(v0.Type())
	g.values = append(g.values, i, v)
	outside := len(g.values)
	b.CondBr(b.ICmp(enum.IPredULT, i, limit), body, after)
	b.SetBlock(body)
	g.f.MoveToEnd(body)
	g.statements(1+g.r.IntN(4), depth)
	if g.r.IntN(2) == 0 {
		rest := g.f.NewBlock(b.Block())
		b.CondBr(g.cond(), after, rest)
		b.SetBlock(rest)
		g.f.MoveToEnd(rest)
		g.statements(1+g.r.IntN(3), depth)
	}
	var carried llir.Value = v
	for range 8 {
		if x := g.pick(); x.Type() == v.Typ {
			carried = x
		}
	}
	next := b.Add(i, b.M.I32(1))
	end := b.Block()
	b.Br(head)
	llir.AddIncoming(i, b.M.I32(0), before)
	llir.AddIncoming(i, next, end)
	llir.AddIncoming(v, v0, before)
	llir.AddIncoming(v, carried, end)
	g.values = g.values[:outside:outside]
	b.SetBlock(after)
	g.f.MoveToEnd(after)
}

// choose is a switch, whose ways join.
func (g *generator) choose(depth int) {
	b := g.b
	x := g.as([]*types.IntType{llir.I32, llir.I64, llir.I8}[g.r.IntN(3)])
	if g.r.IntN(2) == 0 {
		x = b.And(x, b.M.Int(x.Type().(*types.IntType), 3))
	}
	before := b.Block()
	n := 1 + g.r.IntN(3)
	var to []*ir.Block
	var cases []int64
	for i := range n {
		to = append(to, g.f.NewBlock(before))
		cases = append(cases, int64(i)-int64(g.r.IntN(2)*i*2))
	}
	def, join := g.f.NewBlock(before), g.f.NewBlock(before)
	b.Switch(x, def, cases, to)
	outside := len(g.values)
	t := []llir.Type{llir.I32, llir.I64, llir.F32, llir.I1}[g.r.IntN(4)]
	var ends []*ir.Block
	var values []llir.Value
	for _, at := range append(to, def) {
		b.SetBlock(at)
		g.f.MoveToEnd(at)
		g.statements(1+g.r.IntN(3), depth)
		var v llir.Value
		if it, ok := t.(*types.IntType); ok {
			v = g.as(it)
		} else {
			v = g.number(t)
		}
		values, ends = append(values, v), append(ends, b.Block())
		b.Br(join)
		g.values = g.values[:outside:outside]
	}
	b.SetBlock(join)
	g.f.MoveToEnd(join)
	p := b.Phi(t)
	for i := range ends {
		llir.AddIncoming(p, values[i], ends[i])
	}
	g.values = append(g.values, p)
}

// newHelper defines a function of several arguments and results.
func newHelper(m *llir.Module, r *rand.Rand) *ir.Func {
	f := m.NewFunc("helper", true, m.Struct(llir.I32, llir.F32, llir.I1, llir.I64), llir.I32, llir.I1, llir.I8, llir.F32, llir.I64)
	f.AddAttr(llir.Attr("noinline"))
	g := &generator{r: r, b: llir.NewBuilder(f), f: f}
	g.b.SetBlock(f.NewBlock(nil))
	for i := range 5 {
		g.values = append(g.values, f.Param(i))
	}
	for range 2 + r.IntN(6) {
		if r.IntN(2) == 0 {
			g.values = append(g.values, g.float())
			continue
		}
		g.values = append(g.values, g.integer())
	}
	out := m.Poison(f.IR.Sig.RetType)
	for i, v := range []llir.Value{g.as(llir.I32), g.number(llir.F32), g.as(llir.I1), g.as(llir.I64)} {
		out = g.b.InsertValue(out, v, i)
	}
	g.b.Ret(out)
	return f.IR
}

// callHelper calls it.
func (g *generator) callHelper() {
	b := g.b
	out := b.Call(g.helper, g.as(llir.I32), g.as(llir.I1), g.as(llir.I8), g.number(llir.F32), g.as(llir.I64))
	for i := range 4 {
		g.values = append(g.values, b.ExtractValue(out, i))
	}
}
