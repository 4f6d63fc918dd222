package simt

import "math"

// chooseApprox executes the functions that the hardware approximates. The
// results here are rounded from double precision: they lie within the bounds
// that the PTX manual gives, and need not have the hardware's bits.
func chooseApprox(in *Inst) (execFunc, Class) {
	if in.Type == F64 {
		return chooseApprox64(in)
	}
	mode, flags := in.Round, in.Flags
	var f func(float64) float64
	switch in.Op {
	case OpEx2:
		f = math.Exp2
	case OpLg2:
		f = math.Log2
	case OpRcp:
		f = func(x float64) float64 { return divOdd(1, x) }
	case OpSqrt:
		f = sqrtOdd
	case OpRsqrt:
		f = func(x float64) float64 { return 1 / math.Sqrt(x) }
	case OpSin:
		f = math.Sin
	case OpCos:
		f = math.Cos
	case OpTanh:
		f = math.Tanh
	}
	switch in.Type {
	case F32:
		if in.Op == OpEx2 {
			return chooseExp2(flags), Class32
		}
		return lanes1(func(a uint32) uint32 { return finish32(f(in32(a, flags)), mode, flags) })
	case F16, BF16, F16x2, BF16x2:
		k := kindF16
		if in.Type == BF16 || in.Type == BF16x2 {
			k = kindBF16
		}
		one := func(a uint32) uint32 {
			r := roundTo(f(float64(k.widen(a))), k.f, RoundNearest)
			if flags&FlagFTZ != 0 && r&^k.sign < k.min {
				r &= k.sign
			}
			return r
		}
		if in.Type.Bits() == 32 {
			return lanes1(func(a uint32) uint32 { return one(a&0xffff) | one(a>>16)<<16 })
		}
		return lanes1(one)
	}
	return nil, ClassNone
}

// chooseExp2 executes ex2.approx.f32, the function that softmax and attention
// spend their time in.
func chooseExp2(flags Flag) execFunc {
	ftz := flags&FlagFTZ != 0
	return func(w *warp, s *step) {
		d, a := w.d32(s), w.u32(s.a)
		a = a[:len(d)]
		for i := range d {
			v := a[i]
			if ftz {
				v = flush32(v)
			}
			r := exp2(f32(v))
			if ftz {
				r = flush32(r)
			}
			d[i] = r
		}
	}
}

// exp2Table holds 2^(k/64).
var exp2Table = func() (t [64]float64) {
	for k := range t {
		t[k] = math.Exp2(float64(k) / 64)
	}
	return t
}()

// exp2 is 2^x rounded once from an error below 2^-45: x is cut to a multiple of
// 1/64, looked up, and a remainder of at most 1/128, whose series ends early.
func exp2(x float32) uint32 {
	switch {
	case x != x:
		return nan32
	case x >= 128:
		return 0x7f800000
	case x <= -151:
		return 0
	}
	y := float64(x)
	n := math.Floor(y*64 + 0.5)
	r := (y - n/64) * math.Ln2
	k := int(n)
	p := 1 + r*(1+r*(1.0/2+r*(1.0/6+r*(1.0/24+r*(1.0/120)))))
	v := exp2Table[k&63] * p
	e := k >> 6
	return math.Float32bits(float32(v * math.Float64frombits(uint64(e+1023)<<52)))
}

func chooseApprox64(in *Inst) (execFunc, Class) {
	mode := in.Round
	if in.Flags&FlagApprox != 0 {
		if in.Op == OpRsqrt && in.Flags&FlagFTZ == 0 {
			return wide1(func(a uint64) uint64 { return canon64(1 / math.Sqrt(f64(a))) })
		}
		// The gross approximations of double precision see the upper word of
		// their operand and give that of the result; the lower one is zero.
		var f func(float64) float64
		switch in.Op {
		case OpRcp:
			f = func(x float64) float64 { return 1 / x }
		case OpRsqrt:
			f = func(x float64) float64 { return 1 / math.Sqrt(x) }
		default:
			return nil, ClassNone
		}
		return wide1(func(a uint64) uint64 {
			a &^= 1<<32 - 1
			if a>>52&0x7ff == 0 {
				a &= 1 << 63
			}
			r := canon64(f(f64(a))) &^ (1<<32 - 1)
			if r>>52&0x7ff == 0 {
				r &= 1 << 63
			}
			return r
		})
	}
	switch in.Op {
	case OpRcp:
		return wide1(func(a uint64) uint64 { return canon64(div64(1, f64(a), mode)) })
	case OpSqrt:
		return wide1(func(a uint64) uint64 { return canon64(sqrt64(f64(a), mode)) })
	}
	return nil, ClassNone
}
