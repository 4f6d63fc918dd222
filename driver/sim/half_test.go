package sim

import "math"

// Half-precision conversions for the references, written from the definition of
// the format and apart from the simulator's own.

func fromHalf(h uint16) float32 {
	e, m := int(h>>10&31), float64(h&1023)
	v := 0.0
	switch {
	case e == 31 && m == 0:
		v = math.Inf(1)
	case e == 31:
		v = math.NaN()
	case e == 0:
		v = math.Ldexp(m, -24)
	default:
		v = math.Ldexp(1024+m, e-25)
	}
	if h>>15 != 0 {
		v = -v
	}
	return float32(v)
}

func toHalf(f float32) uint16 {
	x := float64(f)
	sign := uint16(0)
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	switch {
	case x != x:
		return 0x7fff
	case x >= 65520:
		return sign | 0x7c00
	case x < math.Ldexp(1, -14):
		return sign | uint16(math.RoundToEven(x*math.Ldexp(1, 24)))
	}
	_, e := math.Frexp(x) // x in [2^(e-1), 2^e)
	m := math.RoundToEven(math.Ldexp(x, 11-e))
	return sign | uint16(int(m)-1024+(e+14)<<10)
}

// fromBF16 widens a bfloat16; toBF16 rounds to the nearest, ties to even.
func fromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

func toBF16(f float32) uint16 {
	if f != f {
		return 0x7fff
	}
	x := float64(f)
	b := math.Float32bits(f)
	lo := math.Float32frombits(b &^ 0xffff)
	hi := math.Float32frombits((b &^ 0xffff) + 0x10000)
	a, c := math.Abs(x-float64(lo)), math.Abs(float64(hi)-x)
	if math.IsInf(float64(hi), 0) {
		c = math.Abs(math.Copysign(math.Ldexp(1, 128), x) - x)
	}
	if a < c || a == c && b>>16&1 == 0 {
		return uint16(b >> 16)
	}
	return uint16(b>>16) + 1
}
