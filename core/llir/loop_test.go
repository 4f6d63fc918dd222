package llir

import "testing"

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
	w := b.Sub(j, x) // behind the inner loop, of the outer one
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
