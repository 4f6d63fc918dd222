package llirsim

import (
	"math"
	"math/bits"

	"github.com/llir/llvm/ir/types"

	coreir "github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// value is what a register holds: the bits of a scalar of up to 128 bits, those
// beyond its width zero, or the elements of a vector or struct.
type value struct {
	lo, hi uint64
	elems  []value
	poison bool
}

// floatKinds are LLVM's types of floats.
var floatKinds = map[llir.Type]coreir.FloatKind{
	llir.Half: coreir.F16, llir.BF16: coreir.BF16, llir.F32: coreir.F32, llir.F64: coreir.F64,
}

func width(t llir.Type) int {
	if llir.IsPtr(t) {
		return 64
	}
	return llir.Width(t)
}

// size is how many bytes a value takes in memory.
func size(t llir.Type) int {
	switch t := t.(type) {
	case *types.VectorType:
		return int(t.Len) * size(t.ElemType)
	case *llir.Ptr:
		if t == llir.PtrIn(sharedSpace) || t == llir.PtrIn(privateSpace) {
			return 4
		}
		return 8
	}
	return (llir.Width(t) + 7) / 8
}

func cut(v value, w int) value {
	switch {
	case w < 64:
		v.lo &= 1<<w - 1
		v.hi = 0
	case w == 64:
		v.hi = 0
	case w < 128:
		v.hi &= 1<<(w-64) - 1
	}
	return v
}

// signed is a scalar of up to 64 bits as a signed number.
func signed(v value, w int) int64 { return int64(v.lo<<(64-w)) >> (64 - w) }

func asFloat(t llir.Type, v value) float64 {
	if t == llir.F64 {
		return math.Float64frombits(v.lo)
	}
	if t == llir.F32 {
		return float64(math.Float32frombits(uint32(v.lo)))
	}
	return coreir.BitsToFloat(floatKinds[t], v.lo)
}

// ofFloat rounds to nearest even.
func ofFloat(t llir.Type, f float64) value {
	switch t {
	case llir.F64:
		return value{lo: math.Float64bits(f)}
	case llir.F32:
		return value{lo: uint64(math.Float32bits(float32(f)))}
	}
	return value{lo: coreir.FloatToBits(floatKinds[t], f)}
}

// fma is x·y + z rounded once. Of types narrower than f64 the product is exact in
// f64, and the sum is rounded there to odd, so that the second rounding is right.
func fma(t llir.Type, x, y, z float64) value {
	if t == llir.F64 {
		return ofFloat(t, math.FMA(x, y, z))
	}
	return ofFloat(t, addToOdd(x*y, z))
}

func addToOdd(p, z float64) float64 {
	s := p + z
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	back := s - p
	lost := (p - (s - back)) + (z - back)
	if b := math.Float64bits(s); lost != 0 && b&1 == 0 {
		if (lost > 0) == (s > 0) {
			b++
		} else {
			b--
		}
		s = math.Float64frombits(b)
	}
	return s
}

func flag(b bool) value {
	if b {
		return value{lo: 1}
	}
	return value{}
}

// integer computes a binary operation on integers of w bits.
func integer(op string, x, y value, w int) value {
	if w > 64 {
		return wideInteger(op, x, y)
	}
	a, b := x.lo, y.lo
	sa, sb := signed(x, w), signed(y, w)
	if (op == "shl" || op == "lshr" || op == "ashr") && b >= uint64(w) {
		return value{poison: true}
	}
	if (op == "udiv" || op == "sdiv" || op == "urem" || op == "srem") && b == 0 {
		return value{poison: true} // where LLVM lets anything happen
	}
	var r uint64
	switch op {
	case "add":
		r = a + b
	case "sub":
		r = a - b
	case "mul":
		r = a * b
	case "and":
		r = a & b
	case "or":
		r = a | b
	case "xor":
		r = a ^ b
	case "shl":
		r = a << b
	case "lshr":
		r = a >> b
	case "ashr":
		r = uint64(sa >> b)
	case "udiv":
		r = a / b
	case "urem":
		r = a % b
	case "sdiv":
		r = uint64(sa / sb)
	case "srem":
		r = uint64(sa % sb)
	case "umin":
		r = min(a, b)
	case "umax":
		r = max(a, b)
	case "smin":
		r = uint64(min(sa, sb))
	case "smax":
		r = uint64(max(sa, sb))
	default:
		fail("no operation %s of integers", op)
	}
	return cut(value{lo: r}, w)
}

// wideInteger is what 64-bit products need of 128 bits.
func wideInteger(op string, x, y value) value {
	switch op {
	case "mul":
		hi, lo := bits.Mul64(x.lo, y.lo)
		return value{lo: lo, hi: hi + x.hi*y.lo + x.lo*y.hi}
	case "add":
		lo, c := bits.Add64(x.lo, y.lo, 0)
		hi, _ := bits.Add64(x.hi, y.hi, c)
		return value{lo: lo, hi: hi}
	case "lshr":
		switch n := y.lo; {
		case n >= 64:
			return value{lo: x.hi >> (n - 64)}
		case n > 0:
			return value{lo: x.lo>>n | x.hi<<(64-n), hi: x.hi >> n}
		}
		return x
	}
	fail("no operation %s of 128 bits", op)
	return value{}
}

// float computes a binary operation on floats: in f64, where sums, products and
// quotients of narrower formats round as they do in one step.
func float(op string, t llir.Type, x, y value) value {
	a, b := asFloat(t, x), asFloat(t, y)
	switch op {
	case "fadd":
		return ofFloat(t, a+b)
	case "fsub":
		return ofFloat(t, a-b)
	case "fmul":
		return ofFloat(t, a*b)
	case "fdiv":
		return ofFloat(t, a/b)
	case "frem":
		return ofFloat(t, math.Mod(a, b))
	}
	fail("no operation %s of floats", op)
	return value{}
}

// flatten appends the bytes of a value.
func flatten(b []byte, t llir.Type, v value) []byte {
	if vec, ok := t.(*types.VectorType); ok {
		for i := range v.elems {
			b = flatten(b, vec.ElemType, v.elems[i])
		}
		return b
	}
	for i := range size(t) {
		x := v.lo
		if i >= 8 {
			x = v.hi
		}
		b = append(b, byte(x>>(8*(i%8))))
	}
	return b
}

// unflatten is the value of a type that bytes hold.
func unflatten(b []byte, t llir.Type) value {
	var v value
	if vec, ok := t.(*types.VectorType); ok {
		n := size(vec.ElemType)
		for i := range int(vec.Len) {
			v.elems = append(v.elems, unflatten(b[i*n:], vec.ElemType))
		}
		return v
	}
	for i := range size(t) {
		if i < 8 {
			v.lo |= uint64(b[i]) << (8 * i)
		} else {
			v.hi |= uint64(b[i]) << (8 * (i - 8))
		}
	}
	return v
}
