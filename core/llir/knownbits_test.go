package llir

import (
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// places builds what a thread computes of the columns of a block: (pid << 4) | k,
// in 64 bits, for a program id of 31.
func places(t *testing.T) (b *Builder, cols []Value) {
	t.Helper()
	m := NewModule("test", "", "")
	f := m.NewFunc("f", false, Void, I32, I64)
	b = NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	pid := f.Param(0)
	f.AssumeZeroBits(pid, ^lowMask(31))
	base := b.Shl(b.ZExt(pid, I64), 4)
	for k := range int64(16) {
		cols = append(cols, b.Add(base, m.I64(k)))
	}
	return b, cols
}

// Columns from the second on are never below 1: loads that this masks vanish.
func TestColumnsBeyondOne(t *testing.T) {
	b, cols := places(t)
	for k, x := range cols {
		below := b.ICmp(enum.IPredSLT, x, b.M.I64(1))
		if _, ok := ConstInt(below); ok != (k > 0) {
			t.Errorf("column %d < 1 is %v", k, below)
		}
		if k > 0 && below != Value(b.M.Bool(false)) {
			t.Errorf("column %d < 1 is %v, want false", k, below)
		}
	}
}

// The columns of a thread have one base, and a constant bound two comparisons with
// it at most: of those before its remainder and those from there on.
func TestColumnsShareComparisons(t *testing.T) {
	for _, bound := range []int64{1, 5, 16, 100, 1000} {
		b, _ := places(t)
		base := b.Shl(b.F.Param(1), 4) // of any sign
		seen := map[Value]bool{}
		for k := range int64(16) {
			seen[b.ICmp(enum.IPredSLT, b.Add(base, b.M.I64(k)), b.M.I64(bound))] = true
		}
		if len(seen) > 2 {
			t.Errorf("bound %d: %d comparisons", bound, len(seen))
		}
	}
}

// Every comparison of base | off with a constant holds for what it held, whatever
// bits of base are known to be zero.
func TestPlaceComparisons(t *testing.T) {
	preds := []enum.IPred{
		enum.IPredSLT, enum.IPredSLE, enum.IPredSGT, enum.IPredSGE, enum.IPredULT, enum.IPredULE,
		enum.IPredUGT, enum.IPredUGE, enum.IPredEQ, enum.IPredNE,
	}
	narrowed := 0
	for _, zero := range []uint64{0b1111, 0b11, 0b1100, 0b110110, 0b10001100, 0b11111110, 0b100} {
		m := NewModule("test", "", "")
		f := m.NewFunc("f", false, Void, I8)
		b := NewBuilder(f)
		b.SetBlock(f.NewBlock(nil))
		x := f.Param(0)
		f.AssumeZeroBits(x, zero)
		for off := range uint64(256) {
			if off&^zero != 0 {
				continue
			}
			place := b.Add(x, m.uint(I8, off))
			for c := range uint64(256) {
				for _, pred := range preds {
					got := b.ICmp(pred, place, m.uint(I8, c))
					if i, ok := got.(*ir.InstICmp); ok && i.X == x && off != 0 {
						narrowed++
					}
					for v := range uint64(256) {
						if v&zero != 0 {
							continue
						}
						want := evalICmp(pred, m.uint(I8, v|off), m.uint(I8, c))
						if holds(t, m, got, x, v) != want {
							t.Fatalf("x without %#b, x = %d: (x | %d) %v %d is %v, folded to %v",
								zero, v, off, pred, c, want, got)
						}
					}
				}
			}
		}
	}
	if narrowed == 0 {
		t.Error("no comparison was made one of the base")
	}
}

// holds evaluates a truth value of x alone, by the definitions of the operations.
func holds(t *testing.T, m *Module, truth, x Value, v uint64) bool {
	t.Helper()
	if c, ok := ConstInt(truth); ok {
		return c != 0
	}
	i, ok := truth.(*ir.InstICmp)
	if !ok {
		t.Fatalf("%v is neither a constant nor a comparison", truth)
	}
	return evalICmp(i.Pred, eval8(t, m, i.X, x, v), eval8(t, m, i.Y, x, v))
}

func eval8(t *testing.T, m *Module, value, x Value, v uint64) *Int {
	t.Helper()
	switch i := value.(type) {
	case *Int:
		return i
	case *Or:
		return m.uint(I8, eval8(t, m, i.X, x, v).Bits|eval8(t, m, i.Y, x, v).Bits)
	}
	if value != x {
		t.Fatalf("unknown value %v", value)
	}
	return m.uint(I8, v)
}

// Divisions of numbers that are not negative are unsigned, those by a power of two
// shifts and masks, and those of short numbers are done in 32 bits.
func TestDivisions(t *testing.T) {
	m := NewModule("test", "", "")
	f := m.NewFunc("f", false, Void, I32, I32, I1, I64)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	for i := range 2 {
		f.AssumeZeroBits(f.Param(i), ^lowMask(31))
	}
	x, y := b.ZExt(f.Param(0), I64), b.ZExt(f.Param(1), I64)
	if v, ok := b.Binary(SDiv, x, y, 0).(*ZExt); !ok {
		t.Errorf("a quotient of short numbers is not one of 32 bits: %v", v)
	} else if _, ok := v.From.(*ir.InstUDiv); !ok {
		t.Errorf("a quotient of numbers that are not negative is %v", v.From)
	}
	group := b.Select(f.Param(2), b.And(y, m.I64(1)), m.I64(2))
	if v, ok := b.Binary(SDiv, x, group, 0).(*ir.InstLShr); !ok {
		t.Errorf("a quotient by 1 or 2 is %v", v)
	}
	if v, ok := b.Binary(SRem, x, group, 0).(*ir.InstAnd); !ok {
		t.Errorf("a remainder by 1 or 2 is %v", v)
	}
	if v, ok := b.Binary(SDiv, f.Param(3), y, 0).(*ir.InstSDiv); !ok {
		t.Errorf("a quotient of a number of any sign is %v", v)
	}
}

// Signed divisions of 64 bits are done in 32 where both numbers fit and so does the
// quotient; remainders are known to be short.
func TestShortSignedDivisions(t *testing.T) {
	m := NewModule("test", "", "")
	f := m.NewFunc("f", false, Void, I32, I32, I16, I64)
	b := NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	x, y, short, long := b.SExt(f.Param(0), I64), b.SExt(f.Param(1), I64), b.SExt(f.Param(2), I64), f.Param(3)
	index := b.ZExt(b.Binary(LShr, f.Param(0), m.I32(1), 0), I64)
	rem := b.Binary(SRem, long, x, 0)
	for _, c := range []struct {
		name   string
		v      Value
		narrow bool
	}{
		{"the least number of 32 bits by -1", b.Binary(SDiv, x, y, 0), false},
		{"a remainder of the least number", b.Binary(SRem, x, y, 0), false},
		{"a number of 16 bits", b.Binary(SDiv, short, y, 0), true},
		{"its remainder", b.Binary(SRem, short, y, 0), true},
		{"a number of 64 bits", b.Binary(SDiv, long, y, 0), false},
		{"a remainder by a short number", b.Binary(SRem, rem, y, 0), true},
		{"a quotient of that", b.Binary(SDiv, rem, y, 0), true},
		{"a number that is not negative", b.Binary(SDiv, index, y, 0), true},
		{"by a number of 64 bits", b.Binary(SRem, index, long, 0), false},
		{"a quotient of a number that is not negative", b.Binary(SDiv, b.Binary(SDiv, index, y, 0), x, 0), true},
		{"a quotient of such a quotient", b.Binary(SDiv, b.Binary(SDiv, b.Binary(SDiv, index, y, 0), x, 0), y, 0), true},
		{"a quotient of any number of 32 bits", b.Binary(SDiv, b.SExt(b.Binary(SDiv, f.Param(0), f.Param(1), 0), I64), y, 0), false},
		{"a quotient of its remainder", b.Binary(SDiv, b.SExt(b.Binary(SRem, f.Param(0), f.Param(1), 0), I64), y, 0), true},
		{"of two remainders", b.Binary(SRem, b.Binary(SRem, index, y, 0), x, 0), true},
	} {
		e, ok := c.v.(*ir.InstSExt)
		if z, zero := c.v.(*ZExt); zero {
			ok = Width(z.From.Type()) == 32
		} else if ok {
			ok = Width(e.From.Type()) == 32
		}
		if ok != c.narrow {
			t.Errorf("%s: %v, of 32 bits: %v", c.name, c.v, ok)
		}
	}
	if n := b.signBits(b.Binary(SRem, long, short, 0)); n != 49 {
		t.Errorf("a remainder by a number of 16 bits has %d bits of sign, want 49", n)
	}
	if zero := b.zeroBits(b.Binary(SRem, b.Binary(LShr, long, m.I64(1), 0), short, 0)); zero != ^lowMask(15) {
		t.Errorf("a remainder that is not negative has the zeros %#x", zero)
	}
}
