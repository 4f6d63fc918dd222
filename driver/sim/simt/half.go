package simt

// halfKind gathers what differs between f16 and bf16.
type halfKind struct {
	f     *format
	widen func(uint32) float32
	round func(float32) uint32
	sign  uint32
	inf   uint32
	min   uint32 // the smallest normal number
	one   uint32
}

var (
	kindF16  = &halfKind{fmtF16, f16to32, f32to16, 0x8000, 0x7c00, 0x0400, 0x3c00}
	kindBF16 = &halfKind{fmtBF16, bf16to32, f32toBF16, 0x8000, 0x7f80, 0x0080, 0x3f80}
)

// tiny reports whether x rounds to less than the smallest normal number where
// exponents have no bound: what .ftz flushes.
func (k *halfKind) tiny(x float64) bool {
	const scale = 8
	r := roundTo(x*(1<<scale), k.f, RoundNearest)
	return r&^k.sign < k.min+scale<<k.f.mant
}

const nan16 = 0x7fff

// chooseHalf executes f16 and bf16 arithmetic, also on packed pairs. Sums and
// products of two values are exact in float64, and so is, rounded to odd, a
// fused product and sum.
func chooseHalf(in *Inst) (execFunc, Class) {
	k := kindF16
	if in.Type == BF16 || in.Type == BF16x2 {
		k = kindBF16
	}
	pair := in.Type == F16x2 || in.Type == BF16x2
	flags := in.Flags
	arg := func(v uint32) float64 {
		if flags&FlagFTZ != 0 && v&^k.sign < k.min {
			v &= k.sign
		}
		return float64(k.widen(v))
	}
	finish := func(x float64) uint32 {
		r := roundTo(x, k.f, RoundNearest)
		if flags&FlagFTZ != 0 && r&^k.sign <= k.min && k.tiny(x) {
			r &= k.sign
		}
		if flags&FlagSat != 0 {
			switch {
			case r == nan16 || r&k.sign != 0:
				r = 0
			case r > k.one:
				r = k.one
			}
		}
		if flags&FlagRelu != 0 && r&k.sign != 0 {
			r = 0
		}
		return r
	}
	one := func(f func(a uint32) uint32) (execFunc, Class) {
		if pair {
			return lanes1(func(a uint32) uint32 { return f(a&0xffff) | f(a>>16)<<16 })
		}
		return lanes1(f)
	}
	two := func(f func(a, b uint32) uint32) (execFunc, Class) {
		if pair {
			return lanes2(func(a, b uint32) uint32 { return f(a&0xffff, b&0xffff) | f(a>>16, b>>16)<<16 })
		}
		return lanes2(f)
	}
	three := func(f func(a, b, c uint32) uint32) (execFunc, Class) {
		if pair {
			return lanes3(func(a, b, c uint32) uint32 {
				return f(a&0xffff, b&0xffff, c&0xffff) | f(a>>16, b>>16, c>>16)<<16
			})
		}
		return lanes3(f)
	}
	switch in.Op {
	case OpAdd:
		return two(func(a, b uint32) uint32 { return finish(addOdd(arg(a), arg(b))) })
	case OpSub:
		return two(func(a, b uint32) uint32 { return finish(addOdd(arg(a), -arg(b))) })
	case OpMul:
		return two(func(a, b uint32) uint32 { return finish(arg(a) * arg(b)) })
	case OpFma, OpMad:
		return three(func(a, b, c uint32) uint32 {
			p := arg(a) * arg(b)
			return finish(addOdd(p, arg(c)))
		})
	case OpAbs:
		return one(func(a uint32) uint32 { return a &^ k.sign })
	case OpNeg:
		return one(func(a uint32) uint32 { return a ^ k.sign })
	case OpMin, OpMax:
		return two(minMax16(k, in.Op == OpMax, flags))
	case OpMin3, OpMax3:
		pick := minMax16(k, in.Op == OpMax3, flags)
		return three(func(a, b, c uint32) uint32 { return pick(pick(a, b), c) })
	}
	return nil, ClassNone
}

func minMax16(k *halfKind, wantMax bool, flags Flag) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 {
		if flags&FlagFTZ != 0 {
			if a&^k.sign < k.min {
				a &= k.sign
			}
			if b&^k.sign < k.min {
				b &= k.sign
			}
		}
		sign := (a ^ b) & k.sign
		if flags&FlagAbs != 0 {
			a, b = a&^k.sign, b&^k.sign
		}
		nanA, nanB := a&^k.sign > k.inf, b&^k.sign > k.inf
		var r uint32
		switch {
		case nanA && nanB, flags&FlagNaN != 0 && (nanA || nanB):
			return nan16
		case nanA:
			r = b
		case nanB:
			r = a
		default:
			x, y := k.widen(a), k.widen(b)
			r = a
			if less := x < y || x == y && a > b; less == wantMax {
				r = b
			}
		}
		if flags&FlagXorSign != 0 {
			r = r&^k.sign | sign
		}
		return r
	}
}

// halfValue widens one element for comparisons.
func halfValue(t Type, v uint32) float32 {
	if t == BF16 || t == BF16x2 {
		return bf16to32(v & 0xffff)
	}
	return f16to32(v & 0xffff)
}
