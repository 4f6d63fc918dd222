package simt

import "math"

// The sum of a floating-point matrix product, as established on an H200 by
// fitting its results (all of some thousand random sums agree to the bit):
//
// The products of one output element, of all of k, and the accumulator are
// aligned to the greatest exponent among them (a product's exponent is the sum
// of its factors', whatever its significand), each cut toward zero to 25 bits
// behind that exponent's, and added exactly. The sum is cut toward zero to f32;
// for an f16 accumulator it is rounded to nearest even once.
//
// fp8 products are summed so from zero in two steps, first the lower and then the
// upper halves of all registers, as if the elements had been widened to f16 for
// two products of half the depth; the accumulator is added at the end with a
// rounding to nearest.
const alignBits = 25

// element is a matrix element decoded to ±mag × 2^(exp - its format's bits); sign
// is 0 or -1, and zeros have an exponent below all others.
type element struct {
	mag  uint32
	exp  int16
	sign int16
}

const zeroExp = -1 << 12

// mmaTile holds the operands of a product: A m×k and B n×k, row by row, and
// whether any of them is infinite or a NaN.
type mmaTile struct {
	a, b    [16 * 32]element
	special bool
}

// decodeElement cuts an encoding of format f into an element.
func decodeElement(v uint32, f *format) (el element, special bool) {
	top := uint32(1)<<f.exp - 1
	e := v >> f.mant & top
	m := v & (1<<f.mant - 1)
	bias := int16(1<<(f.exp-1) - 1)
	sign := -int16(v >> (f.mant + f.exp) & 1)
	if e-1 < top-1 { // a normal number
		return element{m | 1<<f.mant, int16(e) - bias, sign}, false
	}
	switch {
	case e != 0:
		return element{m | 1<<f.mant, int16(e) - bias, sign}, !f.noInf || m == 1<<f.mant-1
	case m == 0:
		return element{0, zeroExp, sign}, false
	}
	return element{m, 1 - bias, sign}, false
}

// mmaFormat is the format of a type of matrix elements, and how far its encoding
// lies above bit 0 of its field.
func mmaFormat(t Type) (f *format, shift uint) {
	switch t {
	case F16:
		return fmtF16, 0
	case BF16:
		return fmtBF16, 0
	case TF32:
		return fmtTF32, 13
	case E4M3:
		return fmtE4M3, 0
	case E5M2:
		return fmtE5M2, 0
	}
	panic("BUG: no matrix element type: " + t.String())
}

// loadElements decodes one operand into dst.
func (t *mmaTile) loadElements(w *warp, m *Mma, ty Type, regs []Reg, isA bool, dst []element) {
	f, shift := mmaFormat(ty)
	bits := ty.Bits()
	per := 32 / bits
	mask := uint32(math.MaxUint32)
	if bits < 32 {
		mask = 1<<bits - 1
	}
	for r, reg := range regs {
		src := w.r32[reg.Index()*w.n : reg.Index()*w.n+w.n]
		for lane, v := range src {
			g, tt := lane/4, lane%4
			line, col := g, 4*per*r+per*tt
			if isA {
				line, col = g+8*(r&1), 4*per*(r>>1)+per*tt
			}
			for j := range per {
				el, special := decodeElement(v>>(j*bits)&mask>>shift, f)
				at := col + j
				if bits == 8 {
					at = (at&2)<<3 | at>>2<<1 | at&1 // lower halves of registers first
				}
				dst[line*m.K+at] = el
				t.special = t.special || special
			}
		}
	}
}

// execMmaFloat multiplies f16, bf16, tf32 and fp8 matrices.
func execMmaFloat(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.cta.stats.flops += m.flops()
	if w.tile == nil {
		w.tile = new(mmaTile)
	}
	t := w.tile
	t.special = false
	t.loadElements(w, m, m.AType, m.ARegs, true, t.a[:])
	t.loadElements(w, m, m.BType, m.BRegs, false, t.b[:])
	fa, _ := mmaFormat(m.AType)
	fb, _ := mmaFormat(m.BType)
	// scale is the weight of a product's last bit below its exponent.
	scale := int32(fa.mant + fb.mant)
	fp8 := m.AType.Bits() == 8
	acc := w.accumulators(m)
	for i, reg := range m.DRegs {
		c, d := &acc[i], w.r32[reg.Index()*w.n:]
		for lane := range mmaLanes {
			if m.CType == F16 {
				row, col := lane/4+8*i, lane%4*2
				lo := t.element(m, row, col, scale, float64(f16to32(c[lane]&0xffff)), false, true)
				hi := t.element(m, row, col+1, scale, float64(f16to32(c[lane]>>16)), false, true)
				d[lane] = lo | hi<<16
				continue
			}
			row, col := cPlace(lane, i)
			d[lane] = t.element(m, row, col, scale, float64(f32(c[lane])), fp8, false)
		}
	}
}

// element computes one element of D.
func (t *mmaTile) element(m *Mma, row, col int, scale int32, c float64, fp8, half bool) uint32 {
	a, b := t.a[row*m.K:(row+1)*m.K], t.b[col*m.K:(col+1)*m.K]
	if t.special || math.IsInf(c, 0) || c != c {
		return specialSum(m, a, b, c, half)
	}
	if fp8 {
		sum := float64(0)
		for k := 0; k < len(a); k += 16 {
			sum = float64(cut32(alignedSum(a[k:k+16], b[k:k+16], scale, sum)))
		}
		return canon(float32(sum) + float32(c))
	}
	sum, lsb := alignedSum(a, b, scale, c)
	if half {
		return roundTo(math.Ldexp(float64(sum), lsb), fmtF16, RoundNearest)
	}
	return math.Float32bits(cut32(sum, lsb))
}

// alignedSum returns the sum of the products of a and b and of c, each cut to a
// multiple of 2^lsb.
func alignedSum(a, b []element, scale int32, c float64) (sum int64, lsb int) {
	var exps [32]int32
	b = b[:len(a)]
	es := exps[:len(a)]
	top := int32(zeroExp)
	cb := math.Float64bits(c)
	if c != 0 {
		// A subnormal f32 has the exponent of the normal ones next to it.
		top = max(int32(cb>>52&0x7ff)-1023, -126)
	}
	for k := range a {
		e := int32(a[k].exp) + int32(b[k].exp)
		es[k] = e
		top = max(top, e)
	}
	if top <= zeroExp/2 {
		return 0, 0
	}
	up := uint(alignBits-scale) & 63
	for k := range a {
		// Shifting the magnitude cuts toward zero.
		p := uint64(a[k].mag) * uint64(b[k].mag) << up
		q := int64(p >> (uint(min(top-es[k], 63)) & 63))
		s := int64(a[k].sign ^ b[k].sign)
		sum += (q ^ s) - s
	}
	lsb = int(top) - alignBits
	if c != 0 {
		// c is q × 2^(e-52).
		q := int64(cb&(1<<52-1) | 1<<52)
		n := lsb - (int(cb>>52&0x7ff) - 1023 - 52)
		q >>= uint(min(n, 63))
		if cb>>63 != 0 {
			q = -q
		}
		sum += q
	}
	return sum, lsb
}

// cut32 is sum × 2^lsb, rounded toward zero.
func cut32(sum int64, lsb int) float32 {
	e := lsb + 1023
	if e > 300 && e < 1900 {
		// The sum has fewer than 53 bits: the conversion and the scaling are exact.
		x := float64(sum) * math.Float64frombits(uint64(e)<<52)
		b := math.Float64bits(x)
		if be := b >> 52 & 0x7ff; be > 1023-126 && be < 1023+127 || sum == 0 {
			return float32(math.Float64frombits(b &^ (1<<29 - 1)))
		}
	}
	return f32(roundTo(math.Ldexp(float64(sum), lsb), fmtF32, RoundZero))
}

// specialSum is a sum with infinities or NaNs among its terms.
func specialSum(m *Mma, a, b []element, c float64, half bool) uint32 {
	sum := c
	for k := range a {
		x, y := elementValue(a[k], m.AType), elementValue(b[k], m.BType)
		sum += float64(x) * float64(y)
	}
	if half {
		return roundTo(sum, fmtF16, RoundNearest)
	}
	return canon(float32(sum))
}

// elementValue is the number that an element stands for, infinities and NaNs
// among them.
func elementValue(e element, t Type) float64 {
	f, _ := mmaFormat(t)
	sign := 1 + 2*float64(e.sign)
	if e.mag != 0 && e.exp == 1<<(f.exp-1) {
		switch {
		case f.noInf && e.mag == 1<<(f.mant+1)-1, !f.noInf && e.mag != 1<<f.mant:
			return math.NaN()
		case !f.noInf:
			return math.Inf(int(sign))
		}
	}
	return sign * math.Ldexp(float64(e.mag), int(e.exp)-int(f.mant))
}
