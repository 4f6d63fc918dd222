package llir

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
)

// What does not change in a loop is computed before it, before the outermost loop
// in which it does not change; divisions and what depends on the loop stay.
func TestLoopInvariants(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I32, I1)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	outer := fn.NewBlock(entry)
	b.Br(outer)
	b.SetBlock(outer)
	b.EnterLoop(entry)
	i := b.Phi(I32)
	row := b.Add(i, m.I32(1))
	inner := fn.NewBlock(outer)
	b.Br(inner)
	b.SetBlock(inner)
	b.EnterLoop(outer)
	j := b.Phi(I32)
	x := b.And(fn.Param(0), m.I32(12))     // of the function
	y := b.Mul(row, x)                     // of the outer loop
	z := b.Xor(y, j)                       // of the inner one
	q := b.Binary(UDiv, x, fn.Param(1), 0) // by what may be zero
	again := b.And(fn.Param(0), m.I32(12)) // the same as x
	b.LeaveLoop()
	w := b.Sub(j, x) // after the inner loop, in the outer one
	b.LeaveLoop()
	for what, c := range map[string]struct {
		v    Value
		want *Block
	}{"x": {x, entry}, "y": {y, outer}, "z": {z, inner}, "q": {q, inner}, "again": {again, entry}, "w": {w, inner}} {
		var at *Block
		for _, blk := range fn.IR.Blocks {
			for _, inst := range blk.Insts {
				if inst.(Value) == c.v {
					at = blk
				}
			}
		}
		if at != c.want {
			t.Errorf("%s is computed in another block", what)
		}
	}
	if again != x {
		t.Error("an equal computation is not shared")
	}
}

// A loop may need a number of results of what is placed before it; those that only
// others before it are computed of do not count, until the loop needs them, too.
func TestMostMoved(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	body := fn.NewBlock(entry)
	b.Br(body)
	b.SetBlock(body)
	b.EnterLoop(entry)
	i := b.Phi(I32)
	before := func() int { return len(entry.Insts) }
	v := fn.Param(0)
	var chain []Value
	for k := range 3 * mostMoved { // each of the one before
		v = b.Xor(b.Mul(v, m.I32(3)), m.I32(k+1))
		chain = append(chain, v)
	}
	if got, want := before(), 6*mostMoved; got != want {
		t.Errorf("%d of a chain's %d computations are moved", got, want)
	}
	for _, v := range chain { // all of them are needed
		b.Add(v, i)
	}
	at := before()
	if b.Mul(fn.Param(0), m.I32(77)); before() != at {
		t.Error("more than the most is moved")
	}
	b.LeaveLoop()

	next := fn.NewBlock(body)
	b.SetBlock(next)
	b.EnterLoop(body)
	at = len(body.Insts)
	for k := range 2 * mostMoved { // each for itself
		b.Add(b.Mul(fn.Param(0), m.I32(100+k)), b.Phi(I32))
	}
	if got := len(body.Insts) - at; got != mostMoved {
		t.Errorf("%d computations are moved that the loop needs, want %d", got, mostMoved)
	}
	b.LeaveLoop()
}

// What does not change in a loop is added first to the other part of a pointer
// that does not, before the loop.
func TestGEPEarly(t *testing.T) {
	m := NewModule("test", "", "")
	global := PtrIn(1)
	fn := m.NewFunc("f", false, Void, global, I32, I32)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	base := fn.Param(0)
	column := b.SExt(fn.Param(1), I64)
	body := fn.NewBlock(entry)
	b.Br(body)
	b.SetBlock(body)
	b.EnterLoop(entry)
	i := b.Phi(I32)
	row := b.GEP(F32, base, b.SExt(b.Mul(i, fn.Param(2)), I64))
	early := b.GEPEarly(F32, b.PtrAdd(row, 64), b.Add(column, m.I64(2)))
	late := b.GEPEarly(F32, row, b.SExt(b.Add(i, fn.Param(1)), I64))
	fixed := b.GEPEarly(F32, b.GEP(F32, base, column), column)
	b.LeaveLoop()

	sum, off := SplitPtr(early)
	if off != 64+2*4 {
		t.Errorf("the constant of the early sum is %d", off)
	}
	outer := sum.(*ir.InstGetElementPtr)
	inner, ok := outer.Src.(*ir.InstGetElementPtr)
	if !ok || inner.Src != base || inner.Indices[0] != fn.Param(1) || fn.home[b.id(inner)] != entry {
		t.Errorf("the column is added late: %s", outer.Src.(ir.Instruction).LLString())
	}
	if fn.home[b.id(outer)] != body || outer.Indices[0] != row.(*ir.InstGetElementPtr).Indices[0] {
		t.Errorf("the row is not added in the loop: %s", outer.LLString())
	}
	if g := late.(*ir.InstGetElementPtr); g.Src != row {
		t.Errorf("what changes is added early: %s", g.LLString())
	}
	if g := fixed.(*ir.InstGetElementPtr); g.Src.(*ir.InstGetElementPtr).Src != base {
		t.Errorf("a sum of which nothing changes is another one: %s", g.LLString())
	}
}

// A closed loop keeps what does not change in it, also from the loop around it,
// and LLVM is told by the branch that goes back.
func TestClosedLoop(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I1)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	outer := fn.NewBlock(entry)
	b.Br(outer)
	b.SetBlock(outer)
	b.EnterLoop(entry)
	inner := fn.NewBlock(outer)
	b.Br(inner)
	b.SetBlock(inner)
	b.EnterClosedLoop(outer)
	kept := b.And(fn.Param(0), m.I32(12))
	next := fn.NewBlock(inner)
	b.CondBr(fn.Param(1), inner, next)
	m.ForbidLICM(inner)
	b.LeaveLoop()
	b.SetBlock(next)
	moved := b.Or(fn.Param(0), m.I32(12))
	exit := fn.NewBlock(next)
	b.CondBr(fn.Param(1), outer, exit)
	b.LeaveLoop()
	b.SetBlock(exit)
	b.Ret(nil)
	if fn.home[b.id(kept)] != inner || fn.home[b.id(moved)] != entry {
		t.Error("the closed loop does not keep its own code, or the one around it does")
	}
	text := string(m.Print())
	for _, want := range []string{
		"br i1 %1, label %4, label %5, !llvm.loop !1\n",
		"br i1 %1, label %3, label %6\n",
		"!0 = !{!\"llvm.licm.disable\"}\n!1 = distinct !{!1, !0}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Outside places what depends on one value before all loops in which that is fixed, but
// for closed ones.
func TestOutside(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I1)
	b := NewBuilder(fn)
	entry := fn.NewBlock(nil)
	b.SetBlock(entry)
	outer := fn.NewBlock(entry)
	b.Br(outer)
	b.SetBlock(outer)
	b.EnterLoop(entry)
	in := b.Cast(PtrToInt, b.Alloca(I32, 4), I64, 0) // of the outer loop
	inner := fn.NewBlock(outer)
	b.Br(inner)
	b.SetBlock(inner)
	b.EnterLoop(outer)
	wide := func(v Value) Value { return b.Add(v, m.I64(1<<40)) }
	first := b.Outside(fn.Param(0), func() Value { return b.ZExt(fn.Param(0), I64) })
	far, near := b.Outside(first, func() Value { return wide(first) }), b.Outside(in, func() Value { return wide(in) })
	place := wide(b.ZExt(b.Call(m.Declare("x", HasEffects, I32)), I64))
	here := b.Outside(place, func() Value { return wide(place) })
	b.LeaveLoop()
	next := fn.NewBlock(inner)
	b.CondBr(fn.Param(1), inner, next)
	b.SetBlock(next)
	b.EnterClosedLoop(next)
	kept := b.Outside(fn.Param(0), func() Value { return b.Xor(fn.Param(0), m.I32(5)) })
	b.LeaveLoop()
	b.LeaveLoop()
	for name, c := range map[string]struct {
		v    Value
		want any
	}{"far": {far, entry}, "near": {near, outer}, "here": {here, inner}, "kept": {kept, next}} {
		if got := fn.home[b.id(c.v)]; any(got) != c.want {
			t.Errorf("%s lies in another block", name)
		}
	}
}
