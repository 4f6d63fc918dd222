package simt

import "math"

// chooseF32 executes single-precision arithmetic. What kernels do most, round to
// nearest without .ftz or .sat, has loops of its own; a NaN result is always the
// canonical one. Explicit conversions keep the compiler from fusing a product
// and a sum.
func chooseF32(in *Inst) (execFunc, Class) {
	plain := in.Round == RoundNearest && in.Flags&(FlagFTZ|FlagSat|FlagRelu) == 0
	switch in.Op {
	case OpAdd, OpSub, OpMul, OpFma, OpMad:
		if plain {
			return chooseF32Plain(in)
		}
		return chooseF32Mode(in)
	case OpDiv:
		return chooseF32Div(in)
	case OpAbs:
		if in.Flags&FlagFTZ != 0 {
			return lanes1(func(a uint32) uint32 { return flush32(a) & 0x7fffffff })
		}
		return lanes1(func(a uint32) uint32 { return a & 0x7fffffff })
	case OpNeg:
		if in.Flags&FlagFTZ != 0 {
			return lanes1(func(a uint32) uint32 { return flush32(a) ^ 0x80000000 })
		}
		return lanes1(func(a uint32) uint32 { return a ^ 0x80000000 })
	case OpMin, OpMax:
		return chooseF32MinMax(in)
	case OpMin3, OpMax3:
		pick := minMax32(in.Op == OpMax3, in.Flags)
		return lanes3(func(a, b, c uint32) uint32 { return pick(pick(a, b), c) })
	case OpCopysign:
		return lanes2(func(a, b uint32) uint32 { return a&0x80000000 | b&0x7fffffff })
	case OpTestp:
		return chooseTestp(in), ClassNone
	}
	return nil, ClassNone
}

func chooseF32Plain(in *Inst) (execFunc, Class) {
	switch in.Op {
	case OpAdd:
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = canon(f32(a[i]) + f32(b[i]))
			}
		}, Class32
	case OpSub:
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = canon(f32(a[i]) - f32(b[i]))
			}
		}, Class32
	case OpMul:
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = canon(float32(f32(a[i]) * f32(b[i])))
			}
		}, Class32
	}
	return func(w *warp, s *step) {
		d, a, b, c := w.d32(s), w.u32(s.a), w.u32(s.b), w.u32(s.c)
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = fma32(f32(a[i]), f32(b[i]), f32(c[i]))
		}
	}, Class32
}

// finish32 rounds an exact or odd-rounded value and applies .ftz, .sat, .relu.
// What .ftz flushes is what would be subnormal had the exponent no bound.
func finish32(x float64, mode Round, flags Flag) uint32 {
	var r uint32
	if mode == RoundNearest {
		r = canon(float32(x))
	} else {
		r = roundTo(x, fmtF32, mode)
	}
	if flags&FlagFTZ != 0 {
		if r&0x7fffffff <= 0x00800000 && tiny32(x, mode) {
			r &= 0x80000000
		}
	}
	if flags&FlagSat != 0 {
		r = sat32(r)
	}
	if flags&FlagRelu != 0 && (r>>31 != 0 && r != nan32) {
		r = 0
	}
	return r
}

// tiny32 reports whether x rounds to less than the smallest normal number where
// exponents have no bound.
func tiny32(x float64, mode Round) bool {
	r := roundTo(x*0x1p64, fmtF32, mode)
	return r&0x7fffffff < (127-126+64)<<23
}

func in32(v uint32, flags Flag) float64 {
	if flags&FlagFTZ != 0 {
		v = flush32(v)
	}
	return float64(f32(v))
}

func chooseF32Mode(in *Inst) (execFunc, Class) {
	mode, flags := in.Round, in.Flags
	switch in.Op {
	case OpAdd:
		return lanes2(func(a, b uint32) uint32 {
			return finish32(addMode(in32(a, flags), in32(b, flags), mode), mode, flags)
		})
	case OpSub:
		return lanes2(func(a, b uint32) uint32 {
			return finish32(addMode(in32(a, flags), -in32(b, flags), mode), mode, flags)
		})
	case OpMul:
		return lanes2(func(a, b uint32) uint32 {
			return finish32(in32(a, flags)*in32(b, flags), mode, flags)
		})
	}
	return lanes3(func(a, b, c uint32) uint32 {
		p := in32(a, flags) * in32(b, flags)
		return finish32(addMode(p, in32(c, flags), mode), mode, flags)
	})
}

// addMode is addOdd with the sign that an exact zero sum has in a rounding mode:
// negative when rounding down.
func addMode(a, b float64, mode Round) float64 {
	s := addOdd(a, b)
	if s == 0 && mode == RoundDown && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return s
}

func chooseF32Div(in *Inst) (execFunc, Class) {
	mode, flags := in.Round, in.Flags
	if flags&FlagApprox != 0 {
		// div.approx multiplies by the reciprocal, which is zero for |b| in
		// (2^126, 2^128).
		return lanes2(func(a, b uint32) uint32 {
			x, y := in32(a, flags), in32(b, flags)
			if m := math.Abs(y); m > 1<<126 && !math.IsInf(y, 0) {
				if math.IsInf(x, 0) || x != x {
					return nan32
				}
				return (b ^ a) & 0x80000000
			}
			return finish32(divOdd(x, y), RoundNearest, flags)
		})
	}
	if flags&FlagFull != 0 || mode == RoundNearest && flags&FlagFTZ == 0 {
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			if flags&FlagFTZ == 0 {
				for i := range d {
					d[i] = canon(f32(a[i]) / f32(b[i]))
				}
				return
			}
			for i := range d {
				d[i] = finish32(divOdd(in32(a[i], flags), in32(b[i], flags)), RoundNearest, flags)
			}
		}, Class32
	}
	return lanes2(func(a, b uint32) uint32 {
		return finish32(divOdd(in32(a, flags), in32(b, flags)), mode, flags)
	})
}

// divOdd divides two float32 values, rounding to odd.
func divOdd(a, b float64) float64 {
	q := a / b
	if q == 0 || q != q || math.IsInf(q, 0) {
		return q
	}
	r := math.FMA(-q, b, a)
	if r == 0 {
		return q
	}
	if b < 0 {
		r = -r
	}
	return odd(q, r)
}

// sqrtOdd takes the square root of a float32 value, rounding to odd.
func sqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	if q == 0 || q != q || math.IsInf(q, 0) {
		return q
	}
	r := math.FMA(-q, q, a)
	if r == 0 {
		return q
	}
	return odd(q, r)
}

// minMax32 orders -0 before +0; a NaN loses to a number unless FlagNaN is set.
func minMax32(wantMax bool, flags Flag) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 {
		if flags&FlagFTZ != 0 {
			a, b = flush32(a), flush32(b)
		}
		sign := (a ^ b) & 0x80000000
		if flags&FlagAbs != 0 {
			a, b = a&0x7fffffff, b&0x7fffffff
		}
		r := order32(a, b, wantMax, flags&FlagNaN != 0)
		if flags&FlagXorSign != 0 && r != nan32 {
			r = r&0x7fffffff | sign
		}
		return r
	}
}

func order32(a, b uint32, wantMax, nan bool) uint32 {
	x, y := f32(a), f32(b)
	switch {
	case x != x && y != y, nan && (x != x || y != y):
		return nan32
	case x != x:
		return b
	case y != y:
		return a
	}
	less := x < y || x == y && a>>31 > b>>31
	if less == wantMax {
		return b
	}
	return a
}

func chooseF32MinMax(in *Inst) (execFunc, Class) {
	if in.Flags&(FlagFTZ|FlagNaN|FlagAbs|FlagXorSign) != 0 {
		return lanes2(minMax32(in.Op == OpMax, in.Flags))
	}
	wantMax := in.Op == OpMax
	return func(w *warp, s *step) {
		d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
		a, b = a[:len(d)], b[:len(d)]
		for i, x := range a {
			y := b[i]
			if x&0x7fffffff > 0x7f800000 || y&0x7fffffff > 0x7f800000 {
				d[i] = order32(x, y, wantMax, false)
				continue
			}
			// Signed integers in the order of the numbers, -0 before 0.
			m, n := int32(x)^int32(x)>>31&math.MaxInt32, int32(y)^int32(y)>>31&math.MaxInt32
			if m < n == wantMax {
				x = y
			}
			d[i] = x
		}
	}, Class32
}

// Testp classes of OpTestp's Imm.
const (
	TestFinite = iota
	TestInfinite
	TestNumber
	TestNotANumber
	TestNormal
	TestSubnormal
)

func chooseTestp(in *Inst) execFunc {
	kind := in.Imm
	wide := in.Type == F64
	test := func(x float64, subnormal bool) bool {
		inf, nan := math.IsInf(x, 0), x != x
		switch kind {
		case TestFinite:
			return !inf && !nan
		case TestInfinite:
			return inf
		case TestNumber:
			return !nan
		case TestNotANumber:
			return nan
		case TestNormal: // zeros among them
			return !inf && !nan && !subnormal
		}
		return subnormal
	}
	return func(w *warp, s *step) {
		var v uint64
		for i := range w.n {
			var ok bool
			if wide {
				b := w.r64[int(s.a)+i]
				ok = test(f64(b), b<<1 != 0 && b>>52&0x7ff == 0)
			} else {
				b := w.r32[int(s.a)+i]
				ok = test(float64(f32(b)), b<<1 != 0 && b>>23&0xff == 0)
			}
			if ok {
				v |= 1 << i
			}
		}
		w.setP(s.d, v)
	}
}

// chooseF64 executes double-precision arithmetic. NaN operands pass their
// payload on as the host's arithmetic does.
func chooseF64(in *Inst) (execFunc, Class) {
	mode := in.Round
	wrap2 := func(f func(x, y float64) float64) (execFunc, Class) {
		return wide2(func(a, b uint64) uint64 { return canon64(f(f64(a), f64(b))) })
	}
	switch in.Op {
	case OpAdd:
		return wrap2(func(x, y float64) float64 { return add64(x, y, mode) })
	case OpSub:
		return wrap2(func(x, y float64) float64 { return add64(x, -y, mode) })
	case OpMul:
		return wrap2(func(x, y float64) float64 { return fma64(x, y, 0, mode, true) })
	case OpFma, OpMad:
		return wide3(func(a, b, c uint64) uint64 {
			return canon64(fma64(f64(a), f64(b), f64(c), mode, false))
		})
	case OpDiv:
		return wrap2(func(x, y float64) float64 { return div64(x, y, mode) })
	case OpAbs:
		return wide1(func(a uint64) uint64 { return a &^ (1 << 63) })
	case OpNeg:
		return wide1(func(a uint64) uint64 { return a ^ 1<<63 })
	case OpMin, OpMax:
		wantMax := in.Op == OpMax
		return wide2(func(a, b uint64) uint64 { return order64(a, b, wantMax) })
	case OpCopysign:
		return wide2(func(a, b uint64) uint64 { return a&(1<<63) | b&^(1<<63) })
	case OpTestp:
		return chooseTestp(in), ClassNone
	}
	return nil, ClassNone
}

// nan64 is the NaN that double-precision instructions make.
const nan64 = 0xfff8000000000000

func canon64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

func order64(a, b uint64, wantMax bool) uint64 {
	x, y := f64(a), f64(b)
	switch {
	case x != x && y != y:
		return nan64
	case x != x:
		return b
	case y != y:
		return a
	}
	less := x < y || x == y && a>>63 > b>>63
	if less == wantMax {
		return b
	}
	return a
}
