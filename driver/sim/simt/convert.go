package simt

import (
	"math"
	"math/bits"
)

// chooseCvt executes cvt. Values travel as int64/uint64 or as float64, which
// holds every narrower format exactly; each conversion rounds once.
func chooseCvt(in *Inst) (execFunc, Class) {
	if fn, class := chooseCvtFast(in); fn != nil {
		return fn, class
	}
	to, from := in.Type, in.From
	switch {
	case in.Op == OpCvtPack:
		return chooseCvtPack(in)
	case to == F16x2 || to == BF16x2 || to == E4M3x2 || to == E5M2x2:
		return chooseCvtPair(in)
	case to.Float() && from.Float():
		return cvtLanes(in, floatToFloat(in))
	case to.Float():
		return cvtLanes(in, intToFloat(in))
	case from.Float():
		return cvtLanes(in, floatToInt(in))
	}
	return cvtLanes(in, intToInt(in))
}

// cvtLanes lifts a conversion of one value to a warp; registers of either class
// are read and written as uint64.
func cvtLanes(in *Inst, f func(uint64) uint64) (execFunc, Class) {
	if f == nil {
		return nil, ClassNone
	}
	src64 := in.A.Class() == Class64
	if in.D.Class() == Class64 {
		if src64 {
			return wide1(f)
		}
		return lanes1to64(func(a uint32) uint64 { return f(uint64(a)) })
	}
	if src64 {
		return wide1to32(func(a uint64) uint32 { return uint32(f(a)) })
	}
	return lanes1(func(a uint32) uint32 { return uint32(f(uint64(a))) })
}

// chooseCvtFast has loops for the conversions that kernels make all the time.
func chooseCvtFast(in *Inst) (execFunc, Class) {
	if in.Flags != 0 || in.Round != RoundNearest {
		return nil, ClassNone
	}
	d64, s64 := in.D.Class() == Class64, in.A.Class() == Class64
	switch {
	case in.Type.Bits() == 64 && !in.Type.Float() && in.From == S32 && d64 && !s64:
		return func(w *warp, s *step) {
			d, a := w.d64(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = uint64(int64(int32(a[i])))
			}
		}, Class64
	case in.Type.Bits() == 64 && !in.Type.Float() && in.From == U32 && d64 && !s64:
		return func(w *warp, s *step) {
			d, a := w.d64(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = uint64(a[i])
			}
		}, Class64
	case in.Type.Bits() == 32 && !in.Type.Float() && !in.From.Float() && in.From.Bits() == 64 && s64:
		return func(w *warp, s *step) {
			d, a := w.d32(s), w.u64(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = uint32(a[i])
			}
		}, Class32
	case in.Type == F32 && in.From == F16:
		return func(w *warp, s *step) {
			d, a := w.d32(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = canon(f16to32(a[i] & 0xffff))
			}
		}, Class32
	case in.Type == F32 && in.From == BF16 && !d64:
		return func(w *warp, s *step) {
			d, a := w.d32(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = a[i] << 16 // a NaN keeps its bits
			}
		}, Class32
	case in.Type == F16 && in.From == F32:
		return func(w *warp, s *step) {
			d, a := w.d32(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = f32to16(f32(a[i]))
			}
		}, Class32
	case in.Type == F16x2 && in.From == F32 && in.B != 0:
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = f32to16(f32(a[i]))<<16 | f32to16(f32(b[i]))
			}
		}, Class32
	case in.Type == BF16x2 && in.From == F32 && in.B != 0:
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = f32toBF16(f32(a[i]))<<16 | f32toBF16(f32(b[i]))
			}
		}, Class32
	case in.Type == F32 && in.From == S32:
		return func(w *warp, s *step) {
			d, a := w.d32(s), w.u32(s.a)
			a = a[:len(d)]
			for i := range d {
				d[i] = math.Float32bits(float32(int32(a[i])))
			}
		}, Class32
	}
	return nil, ClassNone
}

// readInt widens an integer operand of type t.
func readInt(t Type, v uint64) uint64 {
	n := uint(t.Bits())
	if n == 64 {
		return v
	}
	v &= 1<<n - 1
	if t.Signed() {
		return uint64(int64(v<<(64-n)) >> (64 - n))
	}
	return v
}

// writeInt cuts a result to type t and extends it again to a register of
// regBits.
func writeInt(t Type, v uint64, regBits int) uint64 {
	v = readInt(t, v)
	if regBits < 64 {
		v &= 1<<regBits - 1
	}
	return v
}

// regBits is the width of the destination register as PTX sees it: what a
// narrow signed result is extended to.
func regBits(in *Inst) int {
	if in.D.Class() == Class64 {
		return 64
	}
	if in.Size != 0 {
		return in.Size
	}
	return 32
}

func intToInt(in *Inst) func(uint64) uint64 {
	to, from := in.Type, in.From
	rb := regBits(in)
	if in.Flags&FlagSat == 0 {
		return func(a uint64) uint64 { return writeInt(to, readInt(from, a), rb) }
	}
	lo, hi := intRange(to)
	return func(a uint64) uint64 {
		v := readInt(from, a)
		neg := from.Signed() && int64(v) < 0
		switch {
		case neg && int64(v) < lo:
			v = uint64(lo)
		case !neg && v > hi:
			v = hi
		}
		return writeInt(to, v, rb)
	}
}

// intRange returns the least and the greatest value of an integer type.
func intRange(t Type) (lo int64, hi uint64) {
	n := uint(t.Bits())
	if t.Signed() {
		return -1 << (n - 1), 1<<(n-1) - 1
	}
	return 0, ^uint64(0) >> (64 - n)
}

// readFloat widens a floating-point operand.
func readFloat(t Type, v uint64, flags Flag) float64 {
	switch t {
	case F16:
		return float64(f16to32(uint32(v) & 0xffff))
	case BF16:
		return float64(bf16to32(uint32(v) & 0xffff))
	case F32, TF32:
		return in32(uint32(v), flags)
	case F64:
		return f64(v)
	case E4M3:
		return widen(uint32(v)&0xff, fmtE4M3)
	case E5M2:
		return widen(uint32(v)&0xff, fmtE5M2)
	}
	panic("BUG: not a floating-point type: " + t.String())
}

// writeFloat rounds an exact or odd-rounded value to type t.
func writeFloat(t Type, x float64, mode Round, flags Flag) uint64 {
	switch t {
	case F16:
		return uint64(finishNarrow(roundTo(x, fmtF16, mode), fmtF16, flags))
	case BF16:
		return uint64(finishNarrow(roundTo(x, fmtBF16, mode), fmtBF16, flags))
	case TF32:
		return uint64(finishNarrow(roundTo(x, fmtTF32, mode), fmtTF32, flags)) << 13
	case F32:
		return uint64(finish32(x, mode, flags))
	case F64:
		if flags&FlagSat != 0 {
			x = min(max(x, 0), 1)
			if x != x {
				x = 0
			}
		}
		return canon64(x)
	case E4M3:
		return uint64(finishNarrow(roundTo(x, fmtE4M3, mode), fmtE4M3, flags))
	case E5M2:
		return uint64(finishNarrow(roundTo(x, fmtE5M2, mode), fmtE5M2, flags))
	}
	panic("BUG: not a floating-point type: " + t.String())
}

// finishNarrow applies .relu and .satfinite (FlagSat) to an encoding: a value
// beyond the finite range becomes the greatest finite one of its sign. For f16
// and bf16 .sat is the clamp to [0, 1] instead.
func finishNarrow(r uint32, f *format, flags Flag) uint32 {
	sign := uint32(1) << (f.mant + f.exp)
	isNaN := r&^sign > f.infBits || f.noInf && r&^sign == f.nan
	if flags&FlagRelu != 0 && !isNaN && r&sign != 0 {
		r = 0
	}
	if flags&FlagFinite != 0 && !isNaN && r&^sign > f.maxFin {
		r = r&sign | f.maxFin
	}
	if flags&FlagSat != 0 {
		one := uint32(1<<(f.exp-1)-1) << f.mant
		switch {
		case isNaN || r&sign != 0:
			r = 0
		case r > one:
			r = one
		}
	}
	return r
}

func roundIntegral(x float64, mode Round) float64 {
	switch mode {
	case RoundZero:
		return math.Trunc(x)
	case RoundDown:
		return math.Floor(x)
	case RoundUp:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

func floatToFloat(in *Inst) func(uint64) uint64 {
	to, from, mode, flags := in.Type, in.From, in.Round, in.Flags
	if to == E4M3 || to == E5M2 {
		return func(a uint64) uint64 { return writeFP8(to, readFloat(from, a, flags), flags) }
	}
	return func(a uint64) uint64 {
		x := readFloat(from, a, flags)
		if x != x && from == F64 && to != F64 && flags&(FlagSat|FlagRelu) == 0 {
			return narrowNaN(to, a)
		}
		if x != x && to == TF32 && mode == RoundAway {
			return a &^ 0x1fff // cut, even where that leaves an infinity
		}
		if flags&FlagRound != 0 {
			x = roundIntegral(x, mode)
			return writeFloat(to, x, RoundNearest, flags)
		}
		return writeFloat(to, x, mode, flags)
	}
}

// narrowNaN converts a double-precision NaN as the hardware does: the sign and
// the top of the payload stay, and the NaN becomes quiet.
func narrowNaN(to Type, a uint64) uint64 {
	sign, payload := a>>63, a&(1<<52-1)
	switch to {
	case F32:
		return sign<<31 | 0x7fc00000 | payload>>29
	case F16:
		return sign<<15 | 0x7e00 | payload>>42
	}
	return nan16
}

// writeFP8 rounds to an 8-bit format; values beyond its range saturate, a NaN
// stays one.
func writeFP8(t Type, x float64, flags Flag) uint64 {
	f := fmtE4M3
	if t == E5M2 {
		f = fmtE5M2
	}
	if x != x {
		return uint64(f.nan)
	}
	if flags&FlagRelu != 0 && (x < 0 || x == 0) {
		return 0
	}
	r := roundTo(x, f, RoundNearest)
	if r&0x7f > f.maxFin {
		r = r&0x80 | f.maxFin
	}
	return uint64(r)
}

func floatToInt(in *Inst) func(uint64) uint64 {
	to, from, mode, flags := in.Type, in.From, in.Round, in.Flags
	rb := regBits(in)
	lo, hi := intRange(to)
	nan := uint64(0)
	if from == F64 || to.Bits() == 64 {
		nan = 1 << (to.Bits() - 1)
	}
	flo, fhi := float64(lo), float64(hi)
	return func(a uint64) uint64 {
		x := readFloat(from, a, flags)
		if x != x {
			return writeInt(to, nan, rb)
		}
		x = roundIntegral(x, mode)
		var v uint64
		switch {
		case x <= flo:
			v = uint64(lo)
		case x >= fhi:
			v = hi
		case x < 0:
			v = uint64(int64(x))
		default:
			v = uint64(x)
		}
		return writeInt(to, v, rb)
	}
}

func intToFloat(in *Inst) func(uint64) uint64 {
	to, from, mode, flags := in.Type, in.From, in.Round, in.Flags
	return func(a uint64) uint64 {
		v := readInt(from, a)
		neg := from.Signed() && int64(v) < 0
		if neg {
			v = -v
		}
		if to == F64 {
			return canon64(intToDouble(v, neg, mode))
		}
		x := intOdd(v)
		if neg {
			x = -x
		}
		return writeFloat(to, x, mode, flags)
	}
}

// intOdd converts with rounding to odd.
func intOdd(v uint64) float64 {
	k := bits.Len64(v) - 53
	if k <= 0 {
		return float64(v)
	}
	top := v >> k
	if v&(1<<k-1) != 0 {
		top |= 1
	}
	return math.Ldexp(float64(top), k)
}

func intToDouble(v uint64, neg bool, mode Round) float64 {
	sign := 1.0
	if neg {
		sign = -1
	}
	k := bits.Len64(v) - 53
	if mode == RoundNearest || k <= 0 {
		return sign * float64(v)
	}
	top := v >> k
	if v&(1<<k-1) != 0 && (mode == RoundUp && !neg || mode == RoundDown && neg) {
		top++
	}
	return sign * math.Ldexp(float64(top), k)
}

// chooseCvtPair executes conversions to two packed values: from two f32 (A the
// upper, B the lower) or from a packed pair A.
func chooseCvtPair(in *Inst) (execFunc, Class) {
	elem, width := F16, 16
	switch in.Type {
	case BF16x2:
		elem = BF16
	case E4M3x2:
		elem, width = E4M3, 8
	case E5M2x2:
		elem, width = E5M2, 8
	}
	mode, flags := in.Round, in.Flags
	put := func(x float64) uint32 {
		if width == 8 {
			return uint32(writeFP8(elem, x, flags))
		}
		return uint32(writeFloat(elem, x, mode, flags))
	}
	if in.B != 0 {
		if in.From != F32 {
			return nil, ClassNone
		}
		return lanes2(func(a, b uint32) uint32 {
			return put(in32(a, flags))<<width | put(in32(b, flags))
		})
	}
	part, from := 16, F16
	switch in.From {
	case F16x2:
	case BF16x2:
		from = BF16
	case E4M3x2:
		part, from = 8, E4M3
	case E5M2x2:
		part, from = 8, E5M2
	default:
		return nil, ClassNone
	}
	return lanes1(func(a uint32) uint32 {
		hi := readFloat(from, uint64(a>>part)&(1<<part-1), 0)
		lo := readFloat(from, uint64(a)&(1<<part-1), 0)
		return put(hi)<<width | put(lo)
	})
}

// chooseCvtPack executes cvt.pack.sat: A and B are saturated to Type and packed
// below the low bits of C.
func chooseCvtPack(in *Inst) (execFunc, Class) {
	to := in.Type
	n := uint(to.Bits())
	lo, hi := intRange(to)
	sat := func(v uint32) uint32 {
		x := int64(int32(v))
		if x > int64(hi) {
			x = int64(hi)
		}
		return uint32(max(x, lo)) & (1<<n - 1)
	}
	if in.C == 0 {
		return lanes2(func(a, b uint32) uint32 { return sat(a)<<n | sat(b) })
	}
	return lanes3(func(a, b, c uint32) uint32 { return c<<(2*n) | sat(a)<<n | sat(b) })
}
