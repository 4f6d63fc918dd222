package amdgcn

import (
	"fmt"
	"math"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// convertRows are the conversions. The processor decides which formats of 8 bits it has.
func convertRows(g gen) []row {
	rows := []row{
		op1("v_cvt_f32_f16", "f=h", func(a uint64) uint64 { return u32(float32(halfOf(a))) }),
		op1("v_cvt_f64_f32", "d=f", func(a uint64) uint64 { return u64(float64(f32(a))) }),
		op1("v_cvt_f32_f64", "f=d", func(a uint64) uint64 { return u32(float32(f64(a))) }),
		op1("v_cvt_f32_i32", "f=u", func(a uint64) uint64 { return u32(float32(int32(a))) }),
		op1("v_cvt_f32_u32", "f=u", func(a uint64) uint64 { return u32(float32(uint32(a))) }),
		op1("v_cvt_f64_i32", "d=u", func(a uint64) uint64 { return u64(float64(int32(a))) }),
		op1("v_cvt_f64_u32", "d=u", func(a uint64) uint64 { return u64(float64(uint32(a))) }),
		op1("v_cvt_f16_i16", "h=s", func(a uint64) uint64 { return uint64(toHalf(float64(int16(a)))) }),
		op1("v_cvt_f16_u16", "h=s", func(a uint64) uint64 { return uint64(toHalf(float64(uint16(a)))) }),
		op1("v_cvt_i32_f32", "u=f", func(a uint64) uint64 { return toInt(float64(f32(a)), -1<<31, 1<<31-1) }),
		op1("v_cvt_u32_f32", "u=f", func(a uint64) uint64 { return toInt(float64(f32(a)), 0, 1<<32-1) }),
		op1("v_cvt_i32_f64", "u=d", func(a uint64) uint64 { return toInt(f64(a), -1<<31, 1<<31-1) }),
		op1("v_cvt_u32_f64", "u=d", func(a uint64) uint64 { return toInt(f64(a), 0, 1<<32-1) }),
		op1("v_cvt_i16_f16", "s=h", func(a uint64) uint64 { return toInt(halfOf(a), -1<<15, 1<<15-1) }),
		op1("v_cvt_u16_f16", "s=h", func(a uint64) uint64 { return toInt(halfOf(a), 0, 1<<16-1) }),
		op1("v_cvt_flr_i32_f32", "u=f", func(a uint64) uint64 { return toInt(math.Floor(float64(f32(a))), -1<<31, 1<<31-1) }),
		op1("v_cvt_floor_i32_f32", "u=f", func(a uint64) uint64 { return toInt(math.Floor(float64(f32(a))), -1<<31, 1<<31-1) }),
		op1("v_cvt_rpi_i32_f32", "u=f", func(a uint64) uint64 { return toInt(math.Floor(float64(f32(a))+0.5), -1<<31, 1<<31-1) }),
		op1("v_cvt_nearest_i32_f32", "u=f", func(a uint64) uint64 { return toInt(math.Floor(float64(f32(a))+0.5), -1<<31, 1<<31-1) }),
		sig(row{name: "v_cvt_f16_f32", modal: func(a, _, _ uint64, mode uint32) uint64 { return halfByMode(a, mode) }}, "h=f"),
		sig(row{name: "v_cvt_pk_f16_f32", modal: func(a, b, _ uint64, mode uint32) uint64 {
			return halfByMode(a, mode) | halfByMode(b, mode)<<16
		}}, "u=ff"),
		op2("v_cvt_pkrtz_f16_f32", "u=ff", packRTZ), op2("v_cvt_pk_rtz_f16_f32", "u=ff", packRTZ),
		op2("v_cvt_pk_i16_i32", "u=uu", func(a, b uint64) uint64 {
			return toInt(float64(int32(a)), -1<<15, 1<<15-1)&0xffff | toInt(float64(int32(b)), -1<<15, 1<<15-1)<<16
		}),
		op2("v_cvt_pk_u16_u32", "u=uu", func(a, b uint64) uint64 { return min(a, 0xffff) | min(b, 0xffff)<<16 }),
		op2("v_cvt_pk_i16_f32", "u=ff", func(a, b uint64) uint64 {
			return toInt(float64(f32(a)), -1<<15, 1<<15-1)&0xffff | toInt(float64(f32(b)), -1<<15, 1<<15-1)<<16
		}),
		op2("v_cvt_pk_u16_f32", "u=ff", func(a, b uint64) uint64 {
			return toInt(float64(f32(a)), 0, 1<<16-1) | toInt(float64(f32(b)), 0, 1<<16-1)<<16
		}),
		op2("v_cvt_pk_bf16_f32", "u=ff", func(a, b uint64) uint64 {
			return dBF16.encode(float64(f32(a))) | dBF16.encode(float64(f32(b)))<<16
		}),
		op3("v_cvt_pk_u8_f32", "u=fuu", func(a, b, c uint64) uint64 {
			at := 8 * (b & 3)
			return c&^(0xff<<at) | toInt(float64(f32(a)), 0, 255)<<at
		}),
	}
	for i := range 4 {
		rows = append(rows, op1(fmt.Sprintf("v_cvt_f32_ubyte%d", i), "f=u", func(a uint64) uint64 { return u32(float32(a >> (8 * i) & 0xff)) }))
	}
	for _, t := range [...]struct {
		name string
		f    *small
	}{{"fp8", g.fp8()}, {"bf8", g.bf8()}} {
		if t.f == nil {
			continue
		}
		rows = append(rows,
			op1("v_cvt_f32_"+t.name, "f=u", func(a uint64) uint64 { return u32(float32(t.f.value(a))) }),
			op1("v_cvt_pk_f32_"+t.name, "q=s", func(a uint64) uint64 {
				return u32(float32(t.f.value(a))) | u32(float32(t.f.value(a>>8)))<<32
			}),
			sig(row{name: "v_cvt_pk_" + t.name + "_f32", modal: func(a, b, _ uint64, mode uint32) uint64 {
				clamp := mode&modeOverflow != 0
				return t.f.encode(float64(f32(a)), clamp) | t.f.encode(float64(f32(b)), clamp)<<8
			}}, "s=ff"),
		)
	}
	if g.gfx950 {
		rows = append(rows, scaledRows()...)
	}
	return withClass(simt.ClassConvert, rows...)
}

// scaledRows widen two elements of 8 or 4 bits, times the power of two that has the
// exponent of an f32.
func scaledRows() (rows []row) {
	for _, to := range [...]struct {
		name string
		t    dtype
	}{{"f16", dF16}, {"bf16", dBF16}} {
		for _, from := range [...]struct {
			name   string
			number int64 // of narrowFormats
		}{{"fp8", 0}, {"bf8", 1}, {"fp4", 4}} {
			f := narrowFormats[from.number]
			types := "u=sf"
			if f.bits == 4 {
				types = "u=uf"
			}
			r := op2("v_cvt_scalef32_pk_"+to.name+"_"+from.name, types, func(a, b uint64) uint64 {
				scale := exponentScale(b >> 23 & 0xff)
				return to.t.encode(f.value(a)*scale) | to.t.encode(f.value(a>>f.bits)*scale)<<16
			})
			r.byteOfWord = f.bits == 4
			rows = append(rows, r)
		}
	}
	return rows
}

// halfByMode rounds a float to a half as the mode says.
func halfByMode(a uint64, mode uint32) uint64 {
	x := float64(f32(a))
	h := simt.RoundFloat(x, simt.F16, rounding(mode>>2))
	if mode&modeOverflow != 0 && h&0x7fff == 0x7c00 && !math.IsInf(x, 0) {
		h = h&0x8000 | 0x7bff
	}
	return uint64(h)
}

// rounding is the direction of two bits of the mode.
func rounding(mode uint32) simt.Round {
	return [...]simt.Round{simt.RoundNearest, simt.RoundUp, simt.RoundDown, simt.RoundZero}[mode&3]
}

// toInt cuts x toward zero and clamps it to a range; a NaN becomes zero.
func toInt(x, lo, hi float64) uint64 {
	switch x = math.Trunc(x); {
	case x != x:
		return 0
	case x < lo:
		x = lo
	case x > hi:
		x = hi
	}
	return uint64(int64(x))
}

func packRTZ(a, b uint64) uint64 {
	return uint64(simt.RoundFloat(float64(f32(a)), simt.F16, simt.RoundZero)) |
		uint64(simt.RoundFloat(float64(f32(b)), simt.F16, simt.RoundZero))<<16
}

// small is a format of 8 bits.
type small struct {
	mant uint
	bias int
	// most is the greatest finite number's encoding, over what one beyond becomes.
	most, over, nan uint64
	fnuz            bool // no infinities, no negative zero: its encoding is the NaN
}

// The formats of OCP's specification, and those of gfx940 with another bias.
var (
	e4m3     = &small{mant: 3, bias: 7, most: 0x7e, over: 0x7f, nan: 0x7f}
	e5m2     = &small{mant: 2, bias: 15, most: 0x7b, over: 0x7c, nan: 0x7f}
	e4m3fnuz = &small{mant: 3, bias: 8, most: 0x7f, over: 0x80, nan: 0x80, fnuz: true}
	e5m2fnuz = &small{mant: 2, bias: 16, most: 0x7f, over: 0x80, nan: 0x80, fnuz: true}
)

func (f *small) value(a uint64) float64 {
	a &= 0xff
	mag := a & 0x7f
	switch {
	case f.fnuz && a == 0x80, !f.fnuz && mag > f.over, !f.fnuz && mag == f.nan:
		return math.NaN()
	case !f.fnuz && mag == f.over:
		return math.Copysign(math.Inf(1), 1-2*float64(a>>7))
	}
	e, m := int(mag>>f.mant), float64(mag&(1<<f.mant-1))/float64(int(1)<<f.mant)
	x := math.Ldexp(m, 1-f.bias)
	if e > 0 {
		x = math.Ldexp(1+m, e-f.bias)
	}
	if a>>7 != 0 {
		x = -x
	}
	return x
}

// encode rounds to nearest, ties to even; clamp says that what is too large becomes the
// greatest finite number.
func (f *small) encode(x float64, clamp bool) uint64 {
	if x != x {
		return f.nan
	}
	sign := uint64(0)
	if math.Signbit(x) {
		sign = 0x80
	}
	x = math.Abs(x)
	code := uint64(0)
	switch {
	case math.IsInf(x, 1):
		code = f.most + 1
	case x != 0:
		_, e := math.Frexp(x)
		e = max(e-1, 1-f.bias) // of the unit before the point
		q := math.RoundToEven(math.Ldexp(x, int(f.mant)-e))
		code = uint64(q) + uint64(e-1+f.bias)<<f.mant
	}
	switch {
	case code > f.most && clamp:
		return sign | f.most
	case code > f.most && f.fnuz:
		return f.nan
	case code > f.most:
		return sign | f.over
	case code == 0 && f.fnuz:
		return 0
	}
	return sign | code
}
