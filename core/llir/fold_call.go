package llir

import (
	"math"
	"math/big"
	"strings"

	"github.com/llir/llvm/ir"
)

// foldCall computes calls of LLVM's intrinsics on constants, or returns nil.
// Approximate instructions of a device are never computed here.
func (b *Builder) foldCall(f *ir.Func, args []Value) Value {
	name, ok := strings.CutPrefix(f.GlobalName, "llvm.")
	if !ok || len(args) == 0 {
		return nil
	}
	name, _, _ = strings.Cut(name, ".")
	switch f.Sig.RetType {
	case Half, BF16, F32, F64:
		return b.foldFloatCall(name, f.Sig.RetType, args)
	case I8, I16, I32, I64:
		return b.foldIntCall(name, args)
	}
	return nil
}

func (b *Builder) foldFloatCall(name string, t Type, args []Value) Value {
	var x [3]float64
	if len(args) > len(x) {
		return nil
	}
	for i, a := range args {
		c, ok := a.(*Float)
		if !ok || c.Typ != t {
			return nil
		}
		x[i] = c.Value()
	}
	var r float64
	switch name {
	case "fma":
		bits, ok := fma(t, x[0], x[1], x[2])
		if !ok {
			return nil
		}
		return b.M.FloatBits(t, bits)
	case "rint", "roundeven":
		r = math.RoundToEven(x[0])
	case "floor":
		r = math.Floor(x[0])
	case "ceil":
		r = math.Ceil(x[0])
	case "trunc":
		r = math.Trunc(x[0])
	case "fabs":
		r = math.Abs(x[0])
	case "copysign":
		r = math.Copysign(x[0], x[1])
	case "sqrt":
		r = math.Sqrt(x[0])
	case "minnum", "maxnum", "minimum", "maximum":
		if math.IsNaN(x[0]) || math.IsNaN(x[1]) || x[0] == 0 && x[1] == 0 {
			return nil // NaNs, and zeros of different signs, are the device's
		}
		if r = min(x[0], x[1]); name[1] == 'a' {
			r = max(x[0], x[1])
		}
	default:
		return nil
	}
	if math.IsNaN(r) {
		return nil
	}
	return b.M.FloatBits(t, floatBits(t, r))
}

// fma is x·y + z rounded once in the format of t; ok is false for a NaN.
func fma(t Type, x, y, z float64) (bits uint64, ok bool) {
	r := math.FMA(x, y, z)
	switch {
	case math.IsNaN(r):
		return 0, false
	case t == F64, math.IsInf(r, 0), r == 0:
		return floatBits(t, r), true
	}
	// The double is rounded already. To round once more would round twice; so
	// it is moved off a tie in the direction of what it lost.
	exact := new(big.Float).SetPrec(2200).SetFloat64(x)
	exact.Mul(exact, new(big.Float).SetFloat64(y))
	exact.Add(exact, new(big.Float).SetFloat64(z))
	if c := exact.Cmp(new(big.Float).SetFloat64(r)); c != 0 && math.Float64bits(r)&1 == 0 {
		toward := math.Inf(c)
		r = math.Nextafter(r, toward)
	}
	return floatBits(t, r), true
}

func (b *Builder) foldIntCall(name string, args []Value) Value {
	x, ok := args[0].(*Int)
	if !ok || len(args) < 2 {
		return nil
	}
	if name == "fshl" {
		return b.foldFunnel(x, args[1], args[2])
	}
	y, ok := args[1].(*Int)
	if !ok || y.Typ != x.Typ {
		return nil
	}
	var first bool
	switch name {
	case "smin":
		first = x.Signed() <= y.Signed()
	case "smax":
		first = x.Signed() >= y.Signed()
	case "umin":
		first = x.Bits <= y.Bits
	case "umax":
		first = x.Bits >= y.Bits
	default:
		return nil
	}
	if first {
		return x
	}
	return y
}

// foldFunnel is the high half of x:y shifted left by n modulo the width.
func (b *Builder) foldFunnel(x *Int, y, n Value) Value {
	lo, ok := y.(*Int)
	if !ok {
		return nil
	}
	by, ok := n.(*Int)
	if !ok {
		return nil
	}
	w := x.Typ.BitSize
	s := by.Bits % w
	if s == 0 {
		return x
	}
	return b.M.uint(x.Typ, x.Bits<<s|lo.Bits>>(w-s))
}
