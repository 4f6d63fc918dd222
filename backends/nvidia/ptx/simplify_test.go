package ptx

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Numbers are chosen by selp of their type, bits by selp.b32.
func TestChoiceOfNumbers(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		c := b.ICmp(enum.IPredSLT, x, b.M.I32(3))
		n := number(b, p, 0)
		storeAll(b, p, b.Select(c, n, b.M.Float(llir.F32, -1)), b.Select(c, x, b.M.I32(-1)))
	})
	has(t, text, "selp.f32 \t%r3, %r2, 0fBF800000, %p1;", "selp.b32 \t%r4, %r1, -1, %p1;")
}

// Comparisons with constants are strict.
func TestStrictComparisons(t *testing.T) {
	f := converted(t, func(b *llir.Builder, x, p llir.Value) { b.Ret(nil) })
	const least, most = -1 << 31, 1<<31 - 1
	for _, c := range []struct {
		typ  typ
		cmp  cmp
		with int64
		want cmp
		than int64
	}{
		{tS32, cmpGE, 0, cmpGT, -1},
		{tS32, cmpLE, 7, cmpLT, 8},
		{tU32, cmpGE, least, cmpGT, most},
		{tU32, cmpLE, most, cmpLT, least},
		{tS32, cmpGT, 4, cmpGT, 4},
	} {
		v := f.newValue(opSetp, c.typ, pred, f.params[0], f.constant(r32, c.with))
		v.cmp = c.cmp
		if s := f.simplify(v); s != nil || v.cmp != c.want || v.args[1].imm != c.than {
			t.Errorf("%v %s %d: got %s %d, want %s %d", c.typ, cmpNames[c.cmp], c.with, cmpNames[v.cmp], v.args[1].imm, cmpNames[c.want], c.than)
		}
	}
}

// Shifts there and back are one where the bits that they lose are zeros.
func TestShiftsBack(t *testing.T) {
	for _, c := range []struct {
		mask, right, left int
		want              string
	}{
		{224, 5, 2, "shr.u32 \t%r3, %r2, 3;"},
		{224, 2, 5, "shl.b32 \t%r3, %r2, 3;"},
		{224, 5, 5, "st.global.b32 \t[%rd1], %r2;"},
		{240, 5, 2, "shl.b32 \t%r3, "}, // a bit is lost
	} {
		text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
			b.Store(b.Shl(b.LShr(b.And(x, b.M.I32(c.mask)), c.right), c.left), p, 4, false)
			b.Ret(nil)
		})
		has(t, text, c.want)
	}
	// A sign that comes in goes out again.
	has(t, kernel(t, func(b *llir.Builder, x, p llir.Value) {
		block := b.Shl(x, 5)
		storeAll(b, p, b.Shl(b.Binary(llir.AShr, block, b.M.I32(5), 0), 5), b.Shl(b.Binary(llir.AShr, x, b.M.I32(4), 0), 4))
	}), "shl.b32 \t%r2, %r1, 5;", "and.b32 \t%r3, %r1, -16;")
}

// What joins other bits with those that a mask keeps is not computed for it, and a number of
// which the sign is zero is widened as one without a sign.
func TestKnownZeros(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		row := b.Or(b.Shl(x, 4), b.LShr(x, 28))
		block := b.Call(b.M.Declare("llvm.nvvm.read.ptx.sreg.ctaid.x", llir.Pure, llir.I32))
		storeAt(b, p, b.And(row, b.M.I32(1)), b.And(row, b.M.I32(31)))
		b.Store(x, b.GEP(llir.I32, p, b.SExt(block, llir.I64)), 4, false)
		b.Store(x, b.GEP(llir.I32, p, b.SExt(x, llir.I64)), 4, false)
		b.Ret(nil)
	})
	has(t, text, "shl.b32 \t%r2, %r1, 4;\n\tshr.u32 \t%r3, %r1, 28;\n\tor.b32 \t%r4, %r2, %r3;", "bfe.u32 \t%r6, %r1, 28, 1;", "and.b32 \t%r7, %r4, 31;",
		"mad.wide.u32 \t%rd2, %r5, 4, %rd1;", "mad.wide.s32 \t%rd3, %r1, 4, %rd1;")
}

// A number that is zero or y, and is compared with zero to choose zero or y, is that number.
func TestChoosesAgain(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		zero, y := b.M.I32(0), b.Load(llir.I32, p, 4, false)
		slot := b.Select(b.ICmp(enum.IPredEQ, x, b.M.I32(7)), zero, y)
		storeAll(b, p, slot, b.Select(b.ICmp(enum.IPredEQ, slot, zero), zero, y), b.Select(b.ICmp(enum.IPredNE, slot, zero), y, zero))
	})
	has(t, text, "st.global.b32 \t[%rd1], %r3;", "st.global.b32 \t[%rd1+4], %r3;", "st.global.b32 \t[%rd1+8], %r3;")
}

// Comparisons that the known bits of a number decide are truth values.
func TestDecidedComparisons(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *llir.Builder, x llir.Value) llir.Value
		pred  enum.IPred
		with  int
		want  string // what is stored: 1, 0, or "" where it is compared
	}{
		{"the least number", whole, enum.IPredSGE, -1 << 31, "1"},
		{"the greatest number", whole, enum.IPredSLE, 1<<31 - 1, "1"},
		{"below zero without a sign", whole, enum.IPredULT, 0, "0"},
		{"any number", whole, enum.IPredSGE, 0, ""},
		{"a bit that is set", func(b *llir.Builder, x llir.Value) llir.Value { return b.Or(x, b.M.I32(4)) }, enum.IPredEQ, 3, "0"},
		{"a bit that is not set", func(b *llir.Builder, x llir.Value) llir.Value { return b.And(x, b.M.I32(3)) }, enum.IPredNE, 4, "1"},
		{"a bit that may be set", func(b *llir.Builder, x llir.Value) llir.Value { return b.And(x, b.M.I32(3)) }, enum.IPredNE, 2, ""},
		{"few bits", func(b *llir.Builder, x llir.Value) llir.Value { return b.And(x, b.M.I32(7)) }, enum.IPredSLT, 8, "1"},
		{"few bits, one less", func(b *llir.Builder, x llir.Value) llir.Value { return b.And(x, b.M.I32(7)) }, enum.IPredSLT, 7, ""},
		{"a sign that is set", func(b *llir.Builder, x llir.Value) llir.Value { return b.Or(x, b.M.I32(-1<<31)) }, enum.IPredSGT, -1, "0"},
		{"a remainder's low bits", func(b *llir.Builder, x llir.Value) llir.Value {
			return b.Binary(llir.SRem, b.Add(b.And(x, b.M.I32(-12)), b.M.I32(-8)), b.M.I32(16), 0)
		}, enum.IPredEQ, 0, "0"},
		{"a remainder's sign", func(b *llir.Builder, x llir.Value) llir.Value {
			return b.Binary(llir.SRem, b.Shl(x, 1), b.M.I32(16), 0)
		}, enum.IPredSGE, 0, ""},
	} {
		text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
			yes := b.ICmp(c.pred, c.build(b, x), b.M.I32(c.with))
			storeAll(b, p, b.Select(yes, b.M.I32(1), b.M.I32(0)))
		})
		if c.want == "" {
			has(t, text, "setp.")
		} else if !strings.Contains(text, "[%rd1], "+c.want+";") {
			t.Errorf("%s: it does not store %s:\n%s", c.name, c.want, text)
		}
	}
}

func whole(_ *llir.Builder, x llir.Value) llir.Value { return x }

// A bit of a number that becomes a number again is masked, and of two bits that are chosen from
// the numbers are.
func TestBitsOfNumbers(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		bit, other := b.Trunc(x, llir.I1), b.Trunc(y, llir.I1)
		either := b.Select(b.ICmp(enum.IPredSLT, x, y), bit, other)
		storeAt(b, p, b.ZExt(bit, llir.I32), b.ZExt(either, llir.I32))
		b.Store(b.ZExt(other, llir.I16), b.PtrAdd(p, 8), 2, false)
		b.Ret(nil)
	})
	has(t, text, "and.b32 \t%r3, %r1, 1;", "selp.b32 \t%r5, %r1, %r2, %p1;\n\tand.b32 \t%r6, %r5, 1;", "cvt.u16.u32 \t%rs1, %r4;")
	if strings.Contains(text, "setp.ne") {
		t.Errorf("a bit is compared:\n%s", text)
	}
}

// The sign of a row's number is that of the tile's first row, and the maximum with a constant
// is taken once.
func TestSimplerNumbers(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		sign := func(c int) llir.Value {
			return b.Binary(llir.AShr, b.Or(b.And(x, b.M.I32(-16)), b.M.I32(c)), b.M.I32(31), 0)
		}
		storeAll(b, p, sign(2), sign(9))
	})
	if n := strings.Count(text, "shr.s32"); n != 1 || strings.Contains(text, "or.b32") {
		t.Errorf("%d shifts to one sign:\n%s", n, text)
	}
	text = kernel(t, func(b *llir.Builder, x, p llir.Value) {
		zero := b.M.Float(llir.F32, 0)
		most := func(x llir.Value) llir.Value {
			return b.Call(b.M.Declare("llvm.maxnum.f32", llir.Pure, llir.F32, llir.F32, llir.F32), x, zero)
		}
		storeAll(b, p, most(most(most(number(b, p, 0)))), most(most(zero)))
	})
	if n := strings.Count(text, "max.f32"); n != 1 {
		t.Errorf("%d maxima with one constant:\n%s", n, text)
	}
}

// A comparison with one of two constants that both decide it is the truth value that chooses.
func TestComparisonsWithChoices(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		inside := b.ICmp(enum.IPredSLT, x, b.M.I32(3))
		end := b.Select(inside, b.M.I64(64), b.M.I64(0))
		column := func(most int) llir.Value { return b.ZExt(b.And(x, b.M.I32(most)), llir.I64) }
		storeAll(b, p, b.Select(b.ICmp(enum.IPredULT, column(63), end), x, b.M.I32(7)), b.Select(b.ICmp(enum.IPredULT, column(127), end), x, b.M.I32(9)))
	})
	has(t, text, "selp.b32 \t%r2, %r1, 7, %p1;", "setp.lt.u64 \t%p2, ")
}

// What a mask keeps of a word is cut off again.
func TestCutMask(t *testing.T) {
	text := kernel(t, func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I64, p, 8, false)
		storeAll(b, p, b.Trunc(b.And(y, b.M.I64(1<<32-1)), llir.I32), b.Trunc(b.And(y, b.M.I64(1<<31)), llir.I32))
	})
	if n := strings.Count(text, "and.b"); n != 1 {
		t.Errorf("%d masks, want 1:\n%s", n, text)
	}
}
