package ptx

import (
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// What implies says holds for all numbers: x is any, y is not negative.
func TestImplies(t *testing.T) {
	f := converted(t, func(b *llir.Builder, x, p llir.Value) { b.Ret(nil) })
	x := f.params[0]
	y := f.newValue(opAnd, tB32, r32, f.newValue(opAdd, tS32, r32, x, x), f.constant(r32, 7))
	holds := func(v *value, n [2]int64) bool {
		number := func(a *value) int64 {
			switch {
			case a.isConst():
				return a.imm
			case a == x:
				return n[0]
			}
			return n[1]
		}
		a, b := number(v.args[0]), number(v.args[1])
		switch v.cmp {
		case cmpEQ:
			return a == b
		case cmpNE:
			return a != b
		case cmpLT:
			return a < b
		case cmpLE:
			return a <= b
		case cmpGT:
			return a > b
		}
		return a >= b
	}
	text := func(v *value) string {
		name := func(a *value) string {
			switch {
			case a.isConst():
				return itoa(int(a.imm))
			case a == x:
				return "x"
			}
			return "y"
		}
		return name(v.args[0]) + " " + cmpNames[v.cmp] + " " + name(v.args[1])
	}
	var all []*value
	operands := []*value{x, y, f.constant(r32, -1), f.constant(r32, 0), f.constant(r32, 2), f.constant(r32, 9)}
	for _, k := range []cmp{cmpEQ, cmpNE, cmpLT, cmpLE, cmpGT, cmpGE} {
		for i, a := range operands[:2] {
			for j, b := range operands {
				if i != j {
					v := f.newValue(opSetp, tS32, pred, a, b)
					v.cmp = k
					all = append(all, v)
				}
			}
		}
	}
	said := 0
	for _, a := range all {
		for _, b := range all {
			if a == b || !implies(a, b) {
				continue
			}
			said++
			for n := int64(-4); n < 12; n++ {
				for k := int64(0); k < 8; k++ {
					if at := [2]int64{n, k}; holds(a, at) && !holds(b, at) {
						t.Fatalf("%s does not imply %s where x is %d and y is %d", text(a), text(b), n, k)
					}
				}
			}
		}
	}
	if said < 50 {
		t.Errorf("of %d comparisons only %d pairs are known", len(all), said)
	}
	more, positive := f.newValue(opSetp, tS32, pred, y, x), f.newValue(opSetp, tS32, pred, x, f.constant(r32, 0))
	more.cmp, positive.cmp = cmpLT, cmpGT
	if !implies(more, positive) || implies(positive, more) {
		t.Error("what is above a number that is not negative is positive, and what is positive need not be above it")
	}
}

// A number that a branch says is positive is the larger of it and one.
func TestExtremesBehindBranches(t *testing.T) {
	for _, c := range []struct {
		is    enum.IPred
		than  int
		holds bool
		max   int
		want  string
	}{
		{enum.IPredSGT, 0, true, 1, "st.global.b32 \t[%rd1], %r1;"},
		{enum.IPredSGT, 0, true, 2, "max.s32 \t%r2, %r1, 2;"},
		{enum.IPredSLT, 1, false, 1, "st.global.b32 \t[%rd1], %r1;"},
		{enum.IPredSLT, 1, true, 0, "st.global.b32 \t[%rd1], 0;"},
		{enum.IPredSLT, 1, true, 1, "st.global.b32 \t[%rd1], 1;"},
		{enum.IPredSGT, 0, false, 0, "st.global.b32 \t[%rd1], 0;"},
	} {
		text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
			ways := [2]*llir.Block{b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())}
			b.CondBr(b.ICmp(c.is, x, b.M.I32(c.than)), ways[0], ways[1])
			for i, way := range ways {
				b.SetBlock(way)
				if c.holds == (i == 0) {
					b.Store(b.Call(b.M.Declare("llvm.smax.i32", llir.Pure, llir.I32, llir.I32, llir.I32), x, b.M.I32(c.max)), p, 4, false)
				}
				b.Ret(nil)
			}
		})
		has(t, text, c.want)
	}
}

// What a comparison with a minimum or a maximum of the same number decides holds for all numbers.
func TestDecidedByExtreme(t *testing.T) {
	f := converted(t, func(b *llir.Builder, x, p llir.Value) { b.Ret(nil) })
	x, y := f.params[0], f.newValue(opAdd, tS32, r32, f.params[0], f.params[0])
	decided := 0
	for _, typ := range []typ{tS32, tU32} {
		for _, o := range []op{opMin, opMax} {
			e := f.newValue(o, typ, r32, x, y)
			for _, k := range []cmp{cmpEQ, cmpNE, cmpLT, cmpLE, cmpGT, cmpGE} {
				for _, args := range [][]*value{{x, e}, {y, e}, {e, x}, {e, y}} {
					v := f.newValue(opSetp, typ, pred, args...)
					v.cmp = k
					holds, known := decidedByExtreme(v)
					if !known {
						continue
					}
					decided++
					for _, n := range [][2]int64{{-1, -1}, {-1, 3}, {3, -1}, {4, 3}, {3, 4}} {
						of := map[*value]*value{x: f.constant(r32, n[0]), y: f.constant(r32, n[1])}
						less := compare(cmpLT, typ, of[x], of[y])
						if of[e] = of[y]; less == (o == opMin) {
							of[e] = of[x]
						}
						if compare(k, typ, of[args[0]], of[args[1]]) != holds {
							t.Errorf("%s %v %s of %d, %d: not %t", opTable[o].name, typ, cmpNames[k], n[0], n[1], holds)
						}
					}
				}
			}
		}
	}
	if decided != 32 {
		t.Errorf("%d comparisons are decided, want 32", decided)
	}
	v := f.newValue(opSetp, tU32, pred, x, f.newValue(opMin, tS32, r32, x, y)) // of another order
	if v.cmp = cmpGE; f.simplify(v) != nil {
		t.Error("a comparison without signs is decided by a minimum of signed numbers")
	}
}
