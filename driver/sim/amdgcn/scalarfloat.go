package amdgcn

import (
	"math"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// scalarFloats are the instructions of gfx12's scalar unit on floats. Those of halves
// write zero above.
func scalarFloats() (rows []scalarRow) {
	for _, f := range [...]struct {
		suffix string
		t      dtype
	}{{"_f32", dF32}, {"_f16", dF16}} {
		t, bits := f.t, uint8(f.t.bits())
		two := func(name string, g func(a, b uint64) uint64) {
			rows = append(rows, scalarRow{name: name + f.suffix, dst: bits, a: bits, b: bits, fn: func(a, b uint64, _ bool) (uint64, bool) { return g(a, b), false }})
		}
		exact := func(g func(x, y float64) float64) func(a, b uint64) uint64 {
			return func(a, b uint64) uint64 { return t.encode(g(t.value(a), t.value(b))) }
		}
		// Sums and products of two floats of these types are exact in a double, or far
		// enough from a tie that rounding them twice is rounding once.
		two("s_add", exact(func(x, y float64) float64 { return x + y }))
		two("s_sub", exact(func(x, y float64) float64 { return x - y }))
		two("s_mul", exact(func(x, y float64) float64 { return x * y }))
		least := func(a, b uint64) uint64 { return choose(t, a, b, false) }
		most := func(a, b uint64) uint64 { return choose(t, a, b, true) }
		two("s_min_num", least)
		two("s_max_num", most)
		two("s_minimum", func(a, b uint64) uint64 { return propagate(t, a, b, least) })
		two("s_maximum", func(a, b uint64) uint64 { return propagate(t, a, b, most) })
		for name, g := range map[string]func(x float64) float64{"s_floor": math.Floor, "s_ceil": math.Ceil, "s_trunc": math.Trunc, "s_rndne": math.RoundToEven} {
			rows = append(rows, scalarRow{name: name + f.suffix, dst: bits, a: bits, fn: func(a, _ uint64, _ bool) (uint64, bool) { return t.encode(g(t.value(a))), false }})
		}
		for name, holds := range map[string]func(x, y float64) bool{
			"lt": func(x, y float64) bool { return x < y }, "le": func(x, y float64) bool { return x <= y }, "eq": func(x, y float64) bool { return x == y },
			"gt": func(x, y float64) bool { return x > y }, "ge": func(x, y float64) bool { return x >= y }, "lg": func(x, y float64) bool { return x < y || x > y },
			"nlt": func(x, y float64) bool { return !(x < y) }, "nle": func(x, y float64) bool { return !(x <= y) }, "neq": func(x, y float64) bool { return x != y },
			"ngt": func(x, y float64) bool { return !(x > y) }, "nge": func(x, y float64) bool { return !(x >= y) }, "nlg": func(x, y float64) bool { return !(x < y || x > y) },
			"o": func(x, y float64) bool { return x == x && y == y }, "u": func(x, y float64) bool { return x != x || y != y },
		} {
			rows = append(rows, scalarRow{
				name: "s_cmp_" + name + f.suffix, a: bits, b: bits, sets: true,
				fn: func(a, b uint64, _ bool) (uint64, bool) { return 0, holds(t.value(a), t.value(b)) },
			})
		}
	}
	convert := func(name string, dst, src uint8, g func(a uint64) uint64) {
		rows = append(rows, scalarRow{name: name, dst: dst, a: src, fn: func(a, _ uint64, _ bool) (uint64, bool) { return g(a), false }})
	}
	convert("s_cvt_f32_i32", 32, 32, func(a uint64) uint64 { return u32(float32(int32(a))) })
	convert("s_cvt_f32_u32", 32, 32, func(a uint64) uint64 { return u32(float32(uint32(a))) })
	convert("s_cvt_i32_f32", 32, 32, func(a uint64) uint64 { return toInt(float64(f32(a)), -1<<31, 1<<31-1) })
	convert("s_cvt_u32_f32", 32, 32, func(a uint64) uint64 { return toInt(float64(f32(a)), 0, 1<<32-1) })
	convert("s_cvt_f32_f16", 32, 16, func(a uint64) uint64 { return u32(float32(halfOf(a))) })
	convert("s_cvt_hi_f32_f16", 32, 32, func(a uint64) uint64 { return u32(float32(halfOf(a >> 16))) })
	convert("s_cvt_f16_f32", 16, 32, func(a uint64) uint64 { return uint64(toHalf(float64(f32(a)))) })
	return append(rows, scalarRow{name: "s_cvt_pk_rtz_f16_f32", dst: 32, a: 32, b: 32, fn: func(a, b uint64, _ bool) (uint64, bool) { return packRTZ(a, b), false }})
}

// floatSum decodes the multiply-adds of the scalar unit: s_fmac adds to the destination.
func (d *decoder) floatSum() (simt.Inst, bool) {
	base, suffix := d.name, uint8(32)
	if i := strings.LastIndexByte(base, '_'); i > 0 && base[i:] == "_f16" {
		base, suffix = base[:i], 16
	} else {
		base = strings.TrimSuffix(base, "_f32")
	}
	order := [...]int{1, 2, 3}
	switch base {
	case "s_fmac":
		d.count(3)
		order[2] = 0
	case "s_fmaak", "s_fmamk": // the operands are in the order in which they are written
		d.count(4)
	default:
		return simt.Inst{}, false
	}
	fma := fma32
	if suffix == 16 {
		fma = fma16
	}
	dst := d.sdst(d.operand(0), 1)
	var src [3]source
	for i, o := range order {
		src[i] = d.ssource(d.operand(o), suffix)
	}
	return once(func(v *simt.Wavefront) {
		var x [3]uint64
		undef := uint64(0)
		for i := range src {
			src[i].use(v)
			x[i] = src[i].mod(src[i].raw(v, 0))
			undef |= src[i].undef(v, 0)
		}
		if undef != 0 {
			undef = math.MaxUint32
		}
		dst.set(v, fma(x[0], x[1], x[2]), undef)
	}, simt.ClassFloat), true
}

// scalarSpecial decodes the functions of the vector unit on scalars, such as v_s_sqrt_f32.
func (d *decoder) scalarSpecial() (simt.Inst, bool) {
	rest, ok := strings.CutPrefix(d.name, "v_s_")
	r := d.vector["v_"+rest]
	if !ok || r == nil || r.fn == nil || len(r.src) != 1 {
		return simt.Inst{}, false
	}
	d.count(2)
	dst, src := d.sdst(d.operand(0), 1), d.source(d.operand(1), r.src[0])
	return once(func(v *simt.Wavefront) {
		src.use(v)
		undef := src.undef(v, 0)
		if undef != 0 {
			undef = math.MaxUint32
		}
		dst.set(v, r.fn(src.mod(src.raw(v, 0)), 0, 0), undef)
	}, r.class), true
}
