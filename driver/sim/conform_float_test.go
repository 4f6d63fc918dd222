package sim

import (
	"math"
	"math/big"
)

// floatFormat is a binary format for the references, which compute exactly with
// math/big and round once by their own code.
type floatFormat struct {
	mant, exp uint
	nan       uint64 // what instructions return
	noInf     bool
}

var floatFormats = map[string]*floatFormat{
	"f16":  {10, 5, 0x7fff, false},
	"bf16": {7, 8, 0x7fff, false},
	"f32":  {23, 8, 0x7fffffff, false},
	"f64":  {52, 11, 0xfff8000000000000, false},
	"e4m3": {3, 4, 0x7f, true},
	"e5m2": {2, 5, 0x7f, false},
}

func (f *floatFormat) bias() int { return 1<<(f.exp-1) - 1 }

func (f *floatFormat) isNaN(v uint64) bool {
	v &= 1<<(f.mant+f.exp) - 1
	if f.noInf {
		return v == f.nan
	}
	return v > (1<<f.exp-1)<<f.mant
}

func (f *floatFormat) isInf(v uint64) bool {
	return !f.noInf && v&(1<<(f.mant+f.exp)-1) == (1<<f.exp-1)<<f.mant
}

func (f *floatFormat) neg(v uint64) bool { return v>>(f.mant+f.exp)&1 == 1 }

func (f *floatFormat) zero(v uint64) bool { return v&(1<<(f.mant+f.exp)-1) == 0 }

func (f *floatFormat) subnormal(v uint64) bool {
	return !f.zero(v) && v>>f.mant&(1<<f.exp-1) == 0
}

// value is the number as float64, which holds all formats.
func (f *floatFormat) value(v uint64) float64 {
	if f.isNaN(v) {
		return math.NaN()
	}
	s := 1.0
	if f.neg(v) {
		s = -1
	}
	if f.isInf(v) {
		return math.Inf(int(s))
	}
	e, m := int(v>>f.mant&(1<<f.exp-1)), float64(v&(1<<f.mant-1))
	if e == 0 {
		return s * math.Ldexp(m, 1-f.bias()-int(f.mant))
	}
	return s * math.Ldexp(m+float64(uint64(1)<<f.mant), e-f.bias()-int(f.mant))
}

// distance counts the representable values between a and b.
func (f *floatFormat) distance(a, b uint64) float64 {
	if f.isNaN(a) || f.isNaN(b) {
		if f.isNaN(a) && f.isNaN(b) {
			return 0
		}
		return math.Inf(1)
	}
	pos := func(v uint64) float64 {
		p := float64(v & (1<<(f.mant+f.exp) - 1))
		if f.neg(v) {
			p = -p
		}
		return p
	}
	return math.Abs(pos(a) - pos(b))
}

// round rounds an exact value; a zero gets the sign of neg.
func (f *floatFormat) round(x *big.Float, mode string, neg bool) uint64 {
	sign := uint64(0)
	if x.Sign() < 0 || x.Sign() == 0 && neg {
		sign = 1 << (f.mant + f.exp)
	}
	if x.Sign() == 0 {
		return sign
	}
	a := new(big.Float).Abs(x)
	// Scale so that one unit of the last place is 1.
	e := max(a.MantExp(nil)-1, 1-f.bias())
	scaled := new(big.Float).SetPrec(a.Prec()).SetMantExp(a, int(f.mant)-e)
	q, acc := scaled.Int(nil)
	if acc != big.Exact {
		rest := new(big.Float).SetPrec(a.Prec()).Sub(scaled, new(big.Float).SetInt(q))
		half := rest.Cmp(big.NewFloat(0.5))
		up := false
		switch mode {
		case "rn":
			up = half > 0 || half == 0 && q.Bit(0) == 1
		case "rna":
			up = half >= 0
		case "rp":
			up = sign == 0
		case "rm":
			up = sign != 0
		}
		if up {
			q.Add(q, big.NewInt(1))
		}
	}
	v := q.Uint64()
	if v>>f.mant != 0 {
		v += uint64(e+f.bias()-1) << f.mant
	}
	inf := uint64(1<<f.exp-1) << f.mant
	if v >= inf {
		if mode == "rz" || mode == "rp" && sign != 0 || mode == "rm" && sign == 0 {
			return sign | inf - 1
		}
		return sign | inf
	}
	return sign | v
}

// exact is a finite value as a big.Float that keeps sums and products exact.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(x) }

// mods of a floating-point reference.
type fmods struct {
	mode string // rn, rz, rm, rp
	ftz  bool
	sat  bool
	relu bool
}

func (f *floatFormat) in(v uint64, m fmods) uint64 {
	if m.ftz && f.subnormal(v) {
		return v & (1 << (f.mant + f.exp))
	}
	return v
}

// tiny reports whether x, rounded with unbounded exponent, is below the normal
// numbers: what .ftz flushes.
func (f *floatFormat) tiny(x *big.Float, mode string) bool {
	if x.Sign() == 0 {
		return false
	}
	wide := *f
	wide.exp = f.exp + 3
	v := wide.value(wide.round(x, mode, false))
	return math.Abs(v) < math.Ldexp(1, 1-f.bias())
}

// finish rounds an exact result and applies the modifiers.
func (f *floatFormat) finish(x *big.Float, m fmods, neg bool) uint64 {
	if m.ftz && f.exp <= 8 && f.tiny(x, m.mode) {
		return f.out(f.round(exact(0), "rn", x.Sign() < 0), m)
	}
	return f.out(f.round(x, m.mode, neg), m)
}

func (f *floatFormat) out(v uint64, m fmods) uint64 {
	if m.ftz && f.subnormal(v) {
		v &= 1 << (f.mant + f.exp)
	}
	if m.sat {
		switch x := f.value(v); {
		case x != x || x <= 0:
			v = 0
		case x > 1:
			v = uint64(f.bias()) << f.mant
		}
	}
	if m.relu && !f.isNaN(v) && f.neg(v) {
		v = 0
	}
	return v
}

// special computes with infinities and NaNs, whose results float64 arithmetic
// gives as well; ok is false for finite operands.
func (f *floatFormat) special(x float64, operands ...float64) (uint64, bool) {
	for _, o := range operands {
		if math.IsInf(o, 0) || o != o {
			if x != x {
				return f.nan, true
			}
			return f.round2(x), true
		}
	}
	return 0, false
}

// round2 encodes an infinity, a zero or a value of the format.
func (f *floatFormat) round2(x float64) uint64 {
	if math.IsInf(x, 0) {
		v := uint64(1<<f.exp-1) << f.mant
		if x < 0 {
			v |= 1 << (f.mant + f.exp)
		}
		return v
	}
	return f.round(exact(x), "rn", math.Signbit(x))
}

func (f *floatFormat) refFma(m fmods, mul bool) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		a, b := f.value(f.in(v[0], m)), f.value(f.in(v[1], m))
		c := 0.0
		if mul {
			c = math.Copysign(0, -1) // x + -0 is x
		} else {
			c = f.value(f.in(v[2], m))
		}
		if r, ok := f.special(a*b+c, a, b, c); ok {
			return f.out(r, m)
		}
		p := new(big.Float).SetPrec(5000).Mul(exact(a), exact(b))
		neg := math.Signbit(a) != math.Signbit(b)
		s := new(big.Float).SetPrec(5000).Add(p, exact(c))
		return f.finish(s, m, f.zeroSign(neg, math.Signbit(c), p.Sign() == 0 && c == 0, m, mul))
	}
}

// zeroSign is the sign of a sum of zero: that of the addends where they agree
// and are zeros, else plus, or minus when rounding down.
func (f *floatFormat) zeroSign(a, b, zeros bool, m fmods, mul bool) bool {
	if mul {
		return a
	}
	if zeros && a == b {
		return a
	}
	return m.mode == "rm"
}

func (f *floatFormat) refAdd(m fmods, sub bool) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		a, b := f.value(f.in(v[0], m)), f.value(f.in(v[1], m))
		if sub {
			b = -b
		}
		if r, ok := f.special(a+b, a, b); ok {
			return f.out(r, m)
		}
		s := new(big.Float).SetPrec(5000).Add(exact(a), exact(b))
		return f.finish(s, m, f.zeroSign(math.Signbit(a), math.Signbit(b), a == 0 && b == 0, m, false))
	}
}

func (f *floatFormat) refDiv(m fmods) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		a, b := f.value(f.in(v[0], m)), f.value(f.in(v[1], m))
		if r, ok := f.special(a/b, a, b); ok {
			return f.out(r, m)
		}
		if b == 0 || a == 0 {
			if a == 0 && b == 0 {
				return f.out(f.nan, m)
			}
			return f.out(f.round2(a/b), m)
		}
		// Three hundred bits tell every quotient from the rounding boundaries.
		q := new(big.Float).SetPrec(300).SetMode(big.ToNearestAway).Quo(exact(a), exact(b))
		return f.finish(q, m, false)
	}
}

func (f *floatFormat) refSqrt(m fmods) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		a := f.value(f.in(v[0], m))
		switch {
		case a != a || a < 0:
			return f.out(f.nan, m)
		case a == 0 || math.IsInf(a, 1):
			return f.round2(a)
		}
		q := new(big.Float).SetPrec(300).Sqrt(exact(a))
		return f.finish(q, m, false)
	}
}

func (f *floatFormat) refMinMax(wantMax, nan, xorsign bool, m fmods) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		a, b := f.in(v[0], m), f.in(v[1], m)
		signBit := uint64(1) << (f.mant + f.exp)
		sign := (a ^ b) & signBit
		if xorsign {
			a, b = a&^signBit, b&^signBit
		}
		var r uint64
		switch {
		case f.isNaN(a) && f.isNaN(b), nan && (f.isNaN(a) || f.isNaN(b)):
			return f.nan
		case f.isNaN(a):
			r = b
		case f.isNaN(b):
			r = a
		default:
			x, y := f.value(a), f.value(b)
			less := x < y || x == y && f.neg(a) && !f.neg(b)
			r = a
			if less == wantMax {
				r = b
			}
		}
		if xorsign {
			r = r&^signBit | sign
		}
		return r
	}
}

// refFunc is the reference of an approximation: the function in double
// precision, rounded.
func (f *floatFormat) refFunc(fn func(float64) float64, m fmods) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		x := fn(f.value(f.in(v[0], m)))
		if x != x {
			return f.nan
		}
		if math.IsInf(x, 0) {
			return f.round2(x)
		}
		return f.out(f.round(exact(x), "rn", math.Signbit(x)), m)
	}
}

// refFloatCvt converts between formats.
func refFloatCvt(to, from *floatFormat, m fmods, integral string) func(v []uint64) uint64 {
	return func(v []uint64) uint64 {
		x := from.value(from.in(v[0], m))
		if x != x {
			if p, ok := keepNaN(to, from, v[0]); ok && !m.sat && integral == "" {
				return p
			}
			return to.out(to.nan, m)
		}
		switch integral {
		case "rni":
			x = math.RoundToEven(x)
		case "rzi":
			x = math.Trunc(x)
		case "rmi":
			x = math.Floor(x)
		case "rpi":
			x = math.Ceil(x)
		}
		if math.IsInf(x, 0) {
			return to.out(to.round2(x), m)
		}
		return to.out(to.round(exact(x), m.mode, math.Signbit(x)), m)
	}
}

// refFP8 rounds to nearest with saturation.
func refFP8(to *floatFormat, x float64) uint64 {
	if x != x {
		return to.nan
	}
	top := 448.0
	if !to.noInf {
		top = 57344
	}
	x = min(max(x, -top), top)
	if x == 0 {
		return to.round(exact(0), "rn", math.Signbit(x))
	}
	if to.noInf {
		return roundE4M3(x)
	}
	return to.round(exact(x), "rn", math.Signbit(x))
}

// roundE4M3 rounds a value of at most 448 by trying all encodings.
func roundE4M3(x float64) uint64 {
	f := floatFormats["e4m3"]
	best, bestD := uint64(0), math.Inf(1)
	for v := range uint64(0x7f) {
		d := math.Abs(f.value(v) - math.Abs(x))
		if d < bestD || d == bestD && v&1 == 0 {
			best, bestD = v, d
		}
	}
	if math.Signbit(x) {
		best |= 0x80
	}
	return best
}

// keepNaN gives the NaN of conversions that keep the operand's sign and the top
// of its payload: those from f64, and from bf16 to f32.
func keepNaN(to, from *floatFormat, v uint64) (uint64, bool) {
	sign := v >> (from.mant + from.exp) << (to.mant + to.exp)
	payload := v & (1<<from.mant - 1)
	switch {
	case from.mant == 7 && to.mant == 23:
		return v << 16, true
	case from.mant == 52 && to.mant < 52:
		return sign | (1<<to.exp-1)<<to.mant | 1<<(to.mant-1) | payload>>(52-to.mant), true
	}
	return 0, false
}
