package llir

import (
	"math"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// Registers of one thread hold neighbours: which comes first is known, whatever
// the thread.
func TestCompareNeighbours(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x := b.Shl(fn.Param(0), 2)
	one, three := b.Or(x, m.I32(1)), b.Xor(x, m.I32(3))
	for _, c := range []struct {
		pred enum.IPred
		x, y Value
		want Value
	}{
		{enum.IPredSLT, one, three, m.Bool(true)},
		{enum.IPredULT, three, one, m.Bool(false)},
		{enum.IPredSGT, one, x, m.Bool(true)},
		{enum.IPredEQ, x, three, m.Bool(false)},
		{enum.IPredNE, one, three, m.Bool(true)},
	} {
		if got := b.ICmp(c.pred, c.x, c.y); got != c.want {
			t.Errorf("%s %s, %s is %s", c.pred, c.x, c.y, got)
		}
	}
	// The sum may wrap around, and another base says nothing.
	for _, y := range []Value{b.Add(fn.Param(0), m.I32(1)), fn.Param(1)} {
		if got := b.ICmp(enum.IPredSLT, fn.Param(0), y); IsConst(got) {
			t.Errorf("%s < %s is taken for %s", fn.Param(0), y, got)
		}
	}
}

// What compares 0 or 1 with a truth value made wider combines truth values.
func TestCompareTruths(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, F32, F32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	p := b.FCmp(enum.FPredOGT, fn.Param(0), fn.Param(1))
	wide, bit := b.ZExt(p, I32), b.And(fn.Param(2), m.I32(1))
	isSet := b.ICmp(enum.IPredNE, bit, m.I32(0))
	for _, c := range []struct {
		pred enum.IPred
		x, y Value
		want Value
	}{
		{enum.IPredNE, wide, bit, b.Xor(p, isSet)},
		{enum.IPredNE, bit, wide, b.Xor(p, isSet)},
		{enum.IPredEQ, wide, bit, b.Not(b.Xor(p, isSet))},
		{enum.IPredNE, wide, m.I32(0), p},
		{enum.IPredEQ, wide, m.I32(1), p},
		{enum.IPredEQ, wide, m.I32(0), b.FCmp(enum.FPredULE, fn.Param(0), fn.Param(1))},
		{enum.IPredNE, wide, m.I32(2), m.Bool(true)},
		{enum.IPredNE, wide, b.ZExt(isSet, I32), b.Xor(p, isSet)},
	} {
		if got := b.ICmp(c.pred, c.x, c.y); got != c.want {
			t.Errorf("%s %s, %s is %s", c.pred, c.x, c.y, got)
		}
	}
	// Another bit may be set, and an order is not an equality.
	for _, v := range []Value{b.ICmp(enum.IPredNE, wide, fn.Param(2)), b.ICmp(enum.IPredULT, wide, bit)} {
		if _, ok := v.(*ir.InstICmp); !ok {
			t.Errorf("%s is not a comparison", v)
		}
	}
}

// Few truth values made of numbers before a load are used after it; those made
// after it are free until the next one.
func TestTruthsOverLoads(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, F32, F32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	wide := b.ZExt(b.FCmp(enum.FPredOGT, fn.Param(0), fn.Param(1)), I32)
	bit := func(n int) Value { return b.And(b.LShr(fn.Param(2), n), m.I32(1)) }
	folded := func(n int) bool {
		_, compares := b.ICmp(enum.IPredNE, wide, bit(n)).(*ir.InstICmp)
		return !compares
	}
	for n := range 5 {
		for range 2 { // the second time it is shared
			if !folded(n) {
				t.Errorf("bit %d is not a truth value before the first load", n)
			}
		}
	}
	for range 2 {
		b.CountLoad()
		for n := range 5 {
			if want := n < mostKept; folded(n) != want {
				t.Errorf("after a load bit %d is a truth value: %t", n, !want)
			}
		}
	}
	for range 2 {
		if !folded(7) {
			t.Error("a bit that is new after a load is not a truth value")
		}
	}
}

// A number that was made wider stays in the range that it came from, whatever is
// done to it bit by bit; a sum leaves it by one bit.
func TestCompareRange(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	wide := b.SExt(fn.Param(0), I64)
	lane := b.And(b.ZExt(fn.Param(1), I64), m.I64(127))
	blocks := b.SExt(b.Shl(fn.Param(0), 7), I64)
	sum := b.Add(wide, b.SExt(fn.Param(1), I64))
	yes, no := Value(m.Bool(true)), Value(m.Bool(false))
	for i, c := range []struct {
		pred enum.IPred
		x    Value
		c    int64
		want Value // nil: not known
	}{
		{enum.IPredSLE, wide, math.MaxInt32, yes},
		{enum.IPredSLT, wide, math.MaxInt32, nil},
		{enum.IPredSLT, wide, math.MaxInt32 + 1, yes},
		{enum.IPredSGT, wide, math.MaxInt32, no},
		{enum.IPredSGE, wide, math.MaxInt32, nil},
		{enum.IPredSGE, wide, math.MaxInt32 + 1, no},
		{enum.IPredSGE, wide, math.MinInt32, yes},
		{enum.IPredSGT, wide, math.MinInt32, nil},
		{enum.IPredSGT, wide, math.MinInt32 - 1, yes},
		{enum.IPredSLT, wide, math.MinInt32, no},
		{enum.IPredSLE, wide, math.MinInt32, nil},
		{enum.IPredSLE, wide, math.MinInt32 - 1, no},
		{enum.IPredSLE, b.Or(blocks, lane), math.MaxInt32, yes},
		{enum.IPredSGE, b.Or(blocks, lane), math.MinInt32, yes},
		{enum.IPredSGE, b.Xor(wide, m.I64(-1)), math.MinInt32, yes},
		{enum.IPredSLE, sum, math.MaxInt32, nil},
		{enum.IPredSLE, sum, 2 * math.MaxInt32, nil},
		{enum.IPredSLE, sum, 2*math.MaxInt32 + 1, yes},
		{enum.IPredSGE, b.Select(b.ICmp(enum.IPredEQ, wide, m.I64(3)), sum, m.I64(5)), 2 * math.MinInt32, yes},
		{enum.IPredSLT, m.I64(7), 8, yes},
	} {
		got := b.ICmp(c.pred, c.x, m.I64(c.c))
		if c.want == nil && IsConst(got) || c.want != nil && got != c.want {
			t.Errorf("%d: x %v %d is %v", i, c.pred, c.c, got)
		}
	}
}

// A number or, if it is negative, its complement takes no comparison.
func TestSignSelect(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I32)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x, y := fn.Param(0), fn.Param(1)
	sign := b.Xor(x, b.Binary(AShr, x, m.I32(31), 0))
	turned := b.Xor(x, m.I32(5))
	below, above := b.ICmp(enum.IPredSLT, x, m.I32(0)), b.ICmp(enum.IPredSGT, x, m.I32(-1))
	for _, c := range []struct {
		what string
		v    Value
		fold bool
	}{
		{"if negative", b.Select(below, b.Not(x), x), true},
		{"its negative less one", b.Select(below, b.Sub(b.Sub(m.I32(0), x), m.I32(1)), x), true},
		{"unless it is not", b.Select(above, x, b.Not(x)), true},
		{"the other way round", b.Select(below, x, b.Not(x)), false},
		{"by another's sign", b.Select(b.ICmp(enum.IPredSLT, y, m.I32(0)), b.Not(x), x), false},
		{"below one", b.Select(b.ICmp(enum.IPredSLT, x, m.I32(1)), b.Not(x), x), false},
		{"another's complement", b.Select(below, b.Not(y), x), false},
	} {
		if (c.v == sign) != c.fold {
			t.Errorf("%s: %s", c.what, c.v.(ir.LLStringer).LLString())
		}
	}
	v := b.Select(b.ICmp(enum.IPredSLT, turned, m.I32(0)), b.Not(turned), turned)
	if w := b.Xor(turned, b.Binary(AShr, turned, m.I32(31), 0)); v != w {
		t.Errorf("beside a constant: %s", v.(ir.LLStringer).LLString())
	}
}

// Which of two equal integers is chosen does not matter: a select between x and y by an
// order of y and x uses that of x and y, if it was there before, also where it is turned by
// another truth value, or by a number that is 0 or 1.
func TestExchange(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I64, I64, I64, I32, I1)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x, y, z, turn := fn.Param(0), fn.Param(1), fn.Param(2), fn.Param(4)
	bit := func(n int) Value { return b.And(b.LShr(fn.Param(3), n), m.I32(1)) }
	want := func(what string, v, cond, first, second Value) {
		t.Helper()
		if s, ok := v.(*ir.InstSelect); !ok || s.Cond != cond || s.ValueTrue != first || s.ValueFalse != second {
			t.Errorf("%s: %s", what, v.(ir.LLStringer).LLString())
		}
	}
	for _, pred := range []enum.IPred{enum.IPredSGT, enum.IPredSLE, enum.IPredULT, enum.IPredUGE} {
		b.ICmp(pred, z, y)
		one, other := b.ICmp(pred, x, y), b.ICmp(pred, y, x)
		want("the first", b.Select(one, x, y), one, x, y)
		want("the second", b.Select(other, x, y), one, y, x)
		want("the second, exchanged", b.Select(other, y, x), one, x, y)
		want("turned", b.Select(b.Xor(other, turn), x, y), b.Xor(one, b.Not(turn)), x, y)
		want("of others", b.Select(other, x, z), other, x, z)
	}
	one, other := b.ICmp(enum.IPredSGT, x, y), b.ICmp(enum.IPredSGT, y, x)
	for n := range mostKept + 1 { // so that the last bit stays a number over the load
		b.ICmp(enum.IPredNE, b.ZExt(one, I32), bit(n))
	}
	b.CountLoad()
	for n := range mostKept {
		b.ICmp(enum.IPredNE, b.ZExt(one, I32), bit(n))
	}
	want("by a number", b.Select(b.ICmp(enum.IPredNE, b.ZExt(other, I32), bit(mostKept)), x, y),
		b.ICmp(enum.IPredEQ, b.ZExt(one, I32), bit(mostKept)), x, y)
	want("beside any number", b.Select(b.ICmp(enum.IPredNE, b.ZExt(other, I32), fn.Param(3)), x, y),
		b.ICmp(enum.IPredNE, b.ZExt(other, I32), fn.Param(3)), x, y)
	b.ICmp(enum.IPredEQ, y, x)
	equal := b.ICmp(enum.IPredEQ, x, y)
	want("by equality", b.Select(equal, x, y), equal, x, y)
}

// The other of two numbers, written as one of them and their XOR.
func TestOther(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I64, I64)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	x, y := fn.Param(0), fn.Param(1)
	both := b.Xor(x, y)
	for _, v := range []struct{ got, want Value }{
		{b.Xor(x, both), y},
		{b.Xor(both, x), y},
		{b.Xor(y, both), x},
		{b.Xor(both, y), x},
	} {
		if v.got != v.want {
			t.Errorf("%s, want %s", v.got, v.want)
		}
	}
}

// TestJoinedComparisons: two comparisons of the same numbers, joined, are one with the
// same result, whatever their order and whether the numbers are NaN.
func TestJoinedComparisons(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, F32, F32, I8, I8)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	join := func(op Op, x, y bool) bool { return op == And && x && y || op == OrOp && (x || y) }
	truthOf := func(v Value, of func(i ir.Instruction) bool) bool {
		if c, ok := ConstInt(v); ok {
			return c != 0
		}
		return of(v.(ir.Instruction))
	}
	for _, op := range []Op{And, OrOp} {
		for _, p := range fpreds[1:15] {
			for _, q := range fpreds[1:15] {
				for _, swapped := range []bool{false, true} {
					x, y := fn.Param(0), fn.Param(1)
					left, u, v := b.FCmp(p, x, y), x, y
					if swapped {
						u, v = v, u
					}
					got := b.Binary(op, left, b.FCmp(q, u, v), 0)
					nan := math.NaN()
					for _, c := range [][2]float64{{1, 2}, {2, 1}, {2, 2}, {nan, 1}, {1, nan}, {nan, nan}} {
						d := c
						if swapped {
							d[0], d[1] = d[1], d[0]
						}
						have := truthOf(got, func(i ir.Instruction) bool {
							cmp, ok := i.(*ir.InstFCmp)
							if !ok {
								t.Fatalf("%v %v %v is %v", p, op, q, i)
							}
							if cmp.X == x {
								return evalFCmp(cmp.Pred, c[0], c[1])
							}
							return evalFCmp(cmp.Pred, c[1], c[0])
						})
						if want := join(op, evalFCmp(p, c[0], c[1]), evalFCmp(q, d[0], d[1])); have != want {
							t.Errorf("%v, %v swapped %v of %v: %v, want %v", p, q, swapped, c, have, want)
						}
					}
				}
			}
		}
		for _, preds := range [][8]enum.IPred{signedPreds, unsignedPreds} {
			for _, p := range preds[1:7] {
				for _, q := range preds[1:7] {
					x, y := fn.Param(2), fn.Param(3)
					got := b.Binary(op, b.ICmp(p, x, y), b.ICmp(q, y, x), 0)
					for _, c := range [][2]int64{{1, 2}, {2, 1}, {2, 2}, {-1, 1}, {1, -1}} {
						u, v := m.Int(I8, c[0]), m.Int(I8, c[1])
						have := truthOf(got, func(i ir.Instruction) bool {
							cmp := i.(*ir.InstICmp)
							if cmp.X == x {
								return evalICmp(cmp.Pred, u, v)
							}
							return evalICmp(cmp.Pred, v, u)
						})
						if want := join(op, evalICmp(p, u, v), evalICmp(q, v, u)); have != want {
							t.Errorf("%v, %v of %v: %v, want %v", p, q, c, have, want)
						}
					}
				}
			}
		}
	}
	if v := b.Or(b.ICmp(enum.IPredSLT, fn.Param(2), fn.Param(3)), b.ICmp(enum.IPredULT, fn.Param(2), fn.Param(3))); IsConst(v) {
		t.Errorf("a signed and an unsigned comparison join to %v", v)
	} else if _, ok := v.(*Or); !ok {
		t.Errorf("a signed and an unsigned comparison join to %v", v)
	}
}

// TestCompareSpans: the index that a reduction within a thread has found is one of those
// before, so it is less than all to come.
func TestCompareSpans(t *testing.T) {
	m := NewModule("test", "", "")
	fn := m.NewFunc("f", false, Void, I32, I1)
	b := NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	lane := b.And(fn.Param(0), m.I32(31))
	place := func(n int) Value { return b.Or(lane, m.I32(32*n)) }
	found := place(0)
	for n := 1; n < 200; n++ {
		next := place(n)
		for _, c := range []struct {
			pred enum.IPred
			want bool
		}{
			{enum.IPredSLT, true},
			{enum.IPredULE, true},
			{enum.IPredSGE, false},
			{enum.IPredUGT, false},
			{enum.IPredEQ, false},
			{enum.IPredNE, true},
		} {
			if v, ok := ConstInt(b.ICmp(c.pred, found, next)); !ok || (v != 0) != c.want {
				t.Fatalf("found %v %d: %v, want %v", c.pred, n, b.ICmp(c.pred, found, next), c.want)
			}
			if v, ok := ConstInt(b.ICmp(swapIPred(c.pred), next, found)); !ok || (v != 0) != c.want {
				t.Fatalf("%d %v found: want %v", n, swapIPred(c.pred), c.want)
			}
		}
		if v := b.ICmp(enum.IPredSLT, place(n-1), b.Select(fn.Param(1), place(n-1), next)); IsConst(v) {
			t.Fatalf("%d is %v one of itself and the next", n-1, v)
		}
		found = b.Select(fn.Param(1), next, found)
	}
}
