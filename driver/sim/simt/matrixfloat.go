package simt

import "math"

// The sum of a floating-point matrix product, as established on an H200 by
// fitting its results (all of some hundred thousand random sums agree to the
// bit):
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

// element is a matrix element decoded to mag × 2^(exp - its format's bits), with
// mag signed; a zero has an exponent below all others. The elements of A are
// scaled up, so that the product's last bit weighs 2^(exp - alignBits).
type element struct{ mag, exp int32 }

const zeroExp = -1 << 12

// stepK is the greatest depth of one aligned sum.
const stepK = 16

// A fragment is an operand of mma as the registers hold it, decoded. Fragments
// are kept from one product to the next, for one operand takes part in many:
// raw tells whether the registers still hold what was decoded.
//
// el holds mag and exp of every element, in the order that mmaRows reads: for A
// one after the other, row after row; for B, k after k, the mags of all columns
// and then their exps.
type fragment struct {
	ty      Type
	regs    int
	raw     [4][mmaLanes]uint32
	special bool // it has an infinity or a NaN
	el      [2 * stepWords]int32
}

// stepWords is the room that a step of A takes in el; B needs half of it.
const stepWords = 16 * stepK * 2

// mmaOrder says where a fragment's elements are: at step·stepWords + line·line +
// k·k, the exponent exp words further. A line is a row of A or a column of B.
type mmaOrder struct{ line, k, exp int }

func orderA(depth int) mmaOrder { return mmaOrder{line: 2 * depth, k: 2, exp: 1} }

var orderB = mmaOrder{line: 1, k: 16, exp: 8}

// mmaState is what a warp keeps between products.
type mmaState struct {
	a [16]fragment
	b [32]fragment
	// desc are operands out of shared memory, A and B.
	desc [2]fragment
	// rows are the arguments of mmaRows.
	rows mmaArgs
	c    [4][mmaLanes]uint32 // the accumulators
	d    [4][mmaLanes]uint32 // the results
	part [4][mmaLanes]uint32 // the first step of two
	zero [4][mmaLanes]uint32
}

// mmaArgs describes one aligned sum for a 16×8 tile.
type mmaArgs struct {
	a   *int32           // a step of A
	b   *int32           // a step of B
	c   *uint32          // 4 registers of 32 lanes
	d   *uint32          // likewise
	k   int64            // depth, at most stepK
	bad int64            // set to nonzero where a result is subnormal or overflows
	_   [8 * stepK]int32 // scratch
}

// same reports whether f decodes what the registers hold now, and takes their
// contents over if not.
func (f *fragment) same(w *warp, ty Type, regs []Reg) bool {
	same := f.ty == ty && f.regs == len(regs)
	f.ty, f.regs = ty, len(regs)
	for i, r := range regs {
		now := (*[mmaLanes]uint32)(w.r32[r.Index()*mmaLanes:])
		if !same || f.raw[i] != *now {
			same = false
			f.raw[i] = *now
		}
	}
	return same
}

// decodeElement cuts an encoding of format f into an element scaled by 2^up.
func decodeElement(v uint32, f *format, up uint) (el element, special bool) {
	top := uint32(1)<<f.exp - 1
	e := v >> f.mant & top
	m := v & (1<<f.mant - 1)
	exp := int32(e) - (1<<(f.exp-1) - 1)
	switch {
	case e == 0 && m == 0:
		return element{0, zeroExp}, false
	case e == 0:
		exp++
	default:
		if e == top {
			special = !f.noInf || m == 1<<f.mant-1
		}
		m |= 1 << f.mant
	}
	mag := int32(m << up)
	if v>>(f.mant+f.exp)&1 != 0 {
		mag = -mag
	}
	return element{mag, exp}, special
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

// decode fills el from raw.
func (f *fragment) decode(isA bool, order mmaOrder, up uint) {
	format, shift := mmaFormat(f.ty)
	bits := f.ty.Bits()
	per := 32 / bits
	mask := uint32(math.MaxUint32)
	if bits < 32 {
		mask = 1<<bits - 1
	}
	f.special = false
	top, mant := uint32(1)<<format.exp-1, format.mant
	bias := int32(1<<(format.exp-1) - 1)
	for r := range f.regs {
		rowBase, colBase := 0, 4*per*r
		if isA {
			rowBase, colBase = 8*(r&1), 4*per*(r>>1)
		}
		for lane, v := range &f.raw[r] {
			at := (rowBase + lane/4) * order.line
			col := colBase + lane%4*per
			for j := range per {
				k := col + j
				if bits == 8 {
					// The lower halves of the registers make the first step.
					k = k>>2<<1 | k&1 | k&2<<3
				}
				p := at + k%stepK*order.k + k/stepK*stepWords
				x := v >> (j * bits) & mask >> shift
				if e := x >> mant & top; e-1 < top-1 { // a normal number
					s := -int32(x >> (mant + format.exp))
					m := int32((x&(1<<mant-1) | 1<<mant) << up)
					f.el[p], f.el[p+order.exp] = (m^s)-s, int32(e)-bias
					continue
				}
				el, special := decodeElement(x, format, up)
				f.special = f.special || special
				f.el[p], f.el[p+order.exp] = el.mag, el.exp
			}
		}
	}
}

// at is one element.
func (f *fragment) at(order mmaOrder, step, line, k int) element {
	p := step*stepWords + line*order.line + k*order.k
	return element{f.el[p], f.el[p+order.exp]}
}

// slot spreads fragments, by their first registers, over a table of n places.
func slot(r Reg, n int) int { return int(uint32(r.Index())*2654435769>>16) % n }

// operandA returns the decoded A of a product.
func (st *mmaState) operandA(w *warp, m *Mma) *fragment {
	f := &st.a[slot(m.ARegs[0], len(st.a))]
	if !f.same(w, m.AType, m.ARegs) {
		f.decode(true, orderA(min(m.K, stepK)), m.up())
	}
	return f
}

// operandB returns the decoded B.
func (st *mmaState) operandB(w *warp, m *Mma) *fragment {
	f := &st.b[slot(m.BRegs[0], len(st.b))]
	if !f.same(w, m.BType, m.BRegs) {
		f.decode(false, orderB, 0)
	}
	return f
}

// up is by how many bits the elements of A are scaled.
func (m *Mma) up() uint {
	fa, _ := mmaFormat(m.AType)
	fb, _ := mmaFormat(m.BType)
	return alignBits - fa.mant - fb.mant
}

// execMmaFloat multiplies f16, bf16, tf32 and fp8 matrices.
func execMmaFloat(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.cta.stats.flops += m.flops()
	st := w.matrixState()
	a, b := st.operandA(w, m), st.operandB(w, m)
	st.c = w.accumulators(m)
	st.product(m, a, b)
	for i, reg := range m.DRegs {
		copy(w.r32[reg.Index()*mmaLanes:], st.d[i][:])
	}
}

// matrixState makes the warp's state at its first product.
func (w *warp) matrixState() *mmaState {
	if w.mma == nil {
		w.mma = new(mmaState)
	}
	return w.mma
}

// product computes d from a, b and c.
func (st *mmaState) product(m *Mma, a, b *fragment) {
	c, d := &st.c, &st.d
	switch {
	case a.special || b.special || specialC(m, c):
		st.special(m, a, b, c, d)
	case m.CType == F16:
		st.half(m, a, b, c, d)
	case m.K > stepK:
		st.sum(a, b, 0, stepK, &st.zero, &st.part)
		st.sum(a, b, 1, stepK, &st.part, d)
		for i := range d {
			for l := range d[i] {
				d[i][l] = canon(f32(d[i][l]) + f32(c[i][l]))
			}
		}
	default:
		st.sum(a, b, 0, m.K, c, d)
	}
}

// sum computes one step for f32 accumulators.
func (st *mmaState) sum(a, b *fragment, step, k int, c, d *[4][mmaLanes]uint32) {
	r := &st.rows
	r.a, r.b, r.c, r.d = &a.el[step*stepWords], &b.el[step*stepWords], &c[0][0], &d[0][0]
	r.k, r.bad = int64(k), 0
	if haveRows {
		mmaRows(r)
		if r.bad == 0 {
			return
		}
	}
	for i := range d {
		for lane := range mmaLanes {
			row, col := cPlace(lane, i)
			d[i][lane] = math.Float32bits(cut32(alignedSum(a, b, step, row, col, k, float64(f32(c[i][lane])))))
		}
	}
}

// half computes a product with f16 accumulators.
func (st *mmaState) half(m *Mma, a, b *fragment, c, d *[4][mmaLanes]uint32) {
	for i := range 2 {
		for lane := range mmaLanes {
			row, col := lane/4+8*i, lane%4*2
			var v [2]uint32
			for j := range v {
				sum, lsb := alignedSum(a, b, 0, row, col+j, m.K, float64(f16to32(c[i][lane]>>(16*j)&0xffff)))
				v[j] = roundTo(math.Ldexp(float64(sum), lsb), fmtF16, RoundNearest)
			}
			d[i][lane] = v[0] | v[1]<<16
		}
	}
}

// alignedSum returns the sum of the products of a row of A and a column of B, of
// depth n, and of c, each cut to a multiple of 2^lsb.
func alignedSum(a, b *fragment, step, row, col, n int, c float64) (sum int64, lsb int) {
	top := int32(zeroExp)
	cb := math.Float64bits(c)
	if c != 0 {
		// A subnormal f32 has the exponent of the normal ones next to it.
		top = max(int32(cb>>52&0x7ff)-1023, -126)
	}
	as := a.el[step*stepWords+row*2*n:][:2*n]
	bs := b.el[step*stepWords+col:][:16*(n-1)+9]
	for k := range n {
		top = max(top, as[2*k+1]+bs[16*k+8])
	}
	if top <= zeroExp/2 {
		return 0, 0
	}
	for k := range n {
		p := int64(as[2*k]) * int64(bs[16*k])
		// Shifting the magnitude cuts toward zero.
		s := p >> 63
		q := ((p ^ s) - s) >> (uint(min(top-as[2*k+1]-bs[16*k+8], 63)) & 63)
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
	return f32(roundTo(math.Ldexp(float64(sum), lsb), fmtF32, RoundZero))
}

// specialC reports whether an accumulator is infinite or a NaN.
func specialC(m *Mma, c *[4][mmaLanes]uint32) bool {
	for i := range m.CRegs {
		for _, v := range c[i] {
			if m.CType == F16 {
				if v&0x7c00 == 0x7c00 || v>>16&0x7c00 == 0x7c00 {
					return true
				}
			} else if v&0x7f800000 == 0x7f800000 {
				return true
			}
		}
	}
	return false
}

// special computes a product some of whose terms are infinite or NaNs.
func (st *mmaState) special(m *Mma, a, b *fragment, c, d *[4][mmaLanes]uint32) {
	fa, _ := mmaFormat(m.AType)
	fb, _ := mmaFormat(m.BType)
	order := orderA(min(m.K, stepK))
	one := func(row, col int, c float64) float64 {
		sum := c
		for k := range m.K {
			x := elementValue(a.at(order, k/stepK, row, k%stepK), fa, m.up())
			sum += x * elementValue(b.at(orderB, k/stepK, col, k%stepK), fb, 0)
		}
		return sum
	}
	for i := range m.DRegs {
		for lane := range mmaLanes {
			if m.CType == F16 {
				row, col := lane/4+8*i, lane%4*2
				lo := roundTo(one(row, col, float64(f16to32(c[i][lane]&0xffff))), fmtF16, RoundNearest)
				hi := roundTo(one(row, col+1, float64(f16to32(c[i][lane]>>16))), fmtF16, RoundNearest)
				d[i][lane] = lo | hi<<16
				continue
			}
			row, col := cPlace(lane, i)
			d[i][lane] = canon(float32(one(row, col, float64(f32(c[i][lane])))))
		}
	}
}

// elementValue is the number that an element stands for, infinities and NaNs
// among them.
func elementValue(e element, f *format, up uint) float64 {
	mag := float64(e.mag)
	if e.mag != 0 && e.exp == 1<<(f.exp-1) {
		m := max(e.mag, -e.mag) >> up
		switch {
		case f.noInf && m == 1<<(f.mant+1)-1, !f.noInf && m != 1<<f.mant:
			return math.NaN()
		case !f.noInf:
			return math.Inf(int(e.mag))
		}
	}
	return math.Ldexp(mag, int(e.exp)-int(f.mant)-int(up))
}
