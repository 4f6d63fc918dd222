package amdgcn

import (
	"math"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// scaledDot is a matrix instruction of gfx950 whose operands are floats of 8 or 4 bits, in
// a format each, of which 32 along K may have a scale, a power of two.
type scaledDot struct {
	side, k int
	a, b, c source // first registers; C may be a constant
	dst     int
	formats [2]narrowFormat
	scaled  bool
	scales  [2]source // constants where there are none
	// bytes is which byte of a scale's register is the exponent.
	bytes [2]int
}

// narrowFormat is a format of operands, by the number that the instruction has for it.
type narrowFormat struct {
	bits  int
	value func(x uint64) float64
	// run is how many neighbours along K a lane holds side by side.
	run int
}

// scaleBlock is how many elements along K have one scale.
const scaleBlock = 32

// narrowFormats lacks the formats of 6 bits, 2 and 3.
var narrowFormats = map[int64]narrowFormat{
	0: {8, e4m3.value, 16},
	1: {8, e5m2.value, 16},
	4: {4, func(x uint64) float64 {
		v := [8]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}[x&7]
		if x&8 != 0 {
			v = math.Copysign(v, -1)
		}
		return v
	}, 32},
}

// regs is how many registers 32 elements take.
func (f *narrowFormat) regs() int { return f.bits }

// scaledMatrix decodes v_mfma_f32_16x16x128_f8f6f4 and the like; ok is false for other
// names.
func (d *decoder) scaledMatrix() (simt.Inst, bool) {
	name, scaled := strings.CutPrefix(d.name, "v_mfma_scale_")
	if !scaled {
		name = strings.TrimPrefix(name, "v_mfma_")
	}
	p := &scaledDot{scaled: scaled}
	switch name {
	case "f32_16x16x128_f8f6f4":
		p.side, p.k = 16, 128
	case "f32_32x32x64_f8f6f4":
		p.side, p.k = 32, 64
	}
	if p.side == 0 || !d.g.gfx950 {
		return simt.Inst{}, false
	}
	count := 4
	if scaled {
		count = 6
	}
	d.count(count)
	for i, name := range [...]string{"cbsz", "blgp"} {
		f, ok := narrowFormats[d.number(name)]
		if !ok {
			d.fail(0, "the format %s:%d of %s is not supported", name, d.number(name), d.in.Op)
		}
		p.formats[i] = f
	}
	p.a = source{where: fromV, reg: d.vreg(d.operand(1), p.formats[0].regs())}
	p.b = source{where: fromV, reg: d.vreg(d.operand(2), p.formats[1].regs())}
	p.c = d.accumulator(d.operand(3), p.regsD())
	p.dst = d.vreg(d.operand(0), p.regsD())
	if scaled {
		for i := range p.scales {
			p.scales[i] = d.source(d.operand(4+i), dU32)
			p.bytes[i] = d.list("op_sel", i, 0) | d.list("op_sel_hi", i, 1)<<1
		}
	}
	return whole(p.do, simt.ClassMatrix), true
}

// accumulator is C, of n registers or a constant.
func (d *decoder) accumulator(o *Operand, n int) source {
	if o.Kind != KindReg {
		return d.source(o, dF32)
	}
	return source{where: fromV, reg: d.vreg(o, n)}
}

func (p *scaledDot) regsD() int { return p.side * p.side / 64 }

// element is element k of row i (or column) of an operand. Each group of side lanes holds
// a run along K, then the next group; after the last group the first one goes on.
func (p *scaledDot) element(v *simt.Wavefront, f *narrowFormat, reg, i, k int) float64 {
	groups := v.Lanes / p.side
	lane := k/f.run%groups*p.side + i
	at := k/(f.run*groups)*f.run + k%f.run
	return f.value(element32(v, reg, lane, at, f.bits))
}

// scale is the scale of row i (or column) of an operand for the elements from k on: the
// group of lanes with the number of the block has it, whoever holds the elements.
func (p *scaledDot) scale(v *simt.Wavefront, operand, i, k int) float64 {
	if !p.scaled {
		return 1
	}
	s := &p.scales[operand]
	return exponentScale(s.raw(v, k/scaleBlock*p.side+i) >> (8 * p.bytes[operand]) & 0xff)
}

// exponentScale is the power of two of an exponent of 8 bits.
func exponentScale(x uint64) float64 {
	if x == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(x)-127)
}

// operand are the rows (or columns) of an operand times their scales.
func (p *scaledDot) operand(v *simt.Wavefront, operand, reg int) []float64 {
	f := &p.formats[operand]
	list := make([]float64, p.side*p.k)
	for i := range p.side {
		for k := range p.k {
			list[i*p.k+k] = p.element(v, f, reg, i, k) * p.scale(v, operand, i, k)
		}
	}
	return list
}

func (p *scaledDot) do(v *simt.Wavefront) {
	v.UseV(p.a.reg, p.formats[0].regs())
	v.UseV(p.b.reg, p.formats[1].regs())
	if p.c.where == fromV {
		v.UseV(p.c.reg, p.regsD())
	}
	for i := range p.scales {
		p.scales[i].use(v)
	}
	v.UseV(p.dst, p.regsD())
	undef := uint32(0)
	if p.undefined(v) {
		undef = ^uint32(0)
	}
	a, b := p.operand(v, 0, p.a.reg), p.operand(v, 1, p.b.reg)
	d := dot{dotShape: dotShape{m: p.side, n: p.side, k: p.k, blocks: 1, a: &element{chain: 4}, d: &element{bits: 32, encode: dF32.encode}}}
	results := make([]uint64, p.side*p.side)
	for m := range p.side {
		for n := range p.side {
			c := p.c.value
			if p.c.where == fromV {
				lane, e := d.placeD(0, m, n)
				c = element32(v, p.c.reg, lane, e, 32)
			}
			results[m*p.side+n] = d.sum(a[m*p.k:(m+1)*p.k], b[n*p.k:(n+1)*p.k], dF32.value(c))
		}
	}
	for m := range p.side {
		for n := range p.side {
			lane, e := d.placeD(0, m, n)
			v.SetV(p.dst+e, lane, uint32(results[m*p.side+n]), undef)
		}
	}
	v.Matrix(uint64(2 * p.side * p.side * p.k))
}

// undefined reports whether an operand has undefined bits.
func (p *scaledDot) undefined(v *simt.Wavefront) bool {
	if v.Lost == nil {
		return false
	}
	for i := range p.scales {
		for l := range v.Lanes {
			if p.scales[i].undef(v, l)>>(8*p.bytes[i])&0xff != 0 {
				return true
			}
		}
	}
	for _, x := range [...]struct {
		s *source
		n int
	}{{&p.a, p.formats[0].regs()}, {&p.b, p.formats[1].regs()}, {&p.c, p.regsD()}} {
		for r := range x.n {
			if x.s.where == fromV && v.Lost[x.s.reg+r] != 0 {
				return true
			}
		}
	}
	return false
}
