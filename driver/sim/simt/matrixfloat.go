package simt

import "math"

// The sum of a floating-point dot, as established on an H200 by
// fitting its results (all of some hundred thousand random sums agree to the
// bit):
//
// The products of one output element, of all of k, and the accumulator are
// aligned to the greatest exponent among them (a product's exponent is the sum
// of its factors', whatever its significand), each cut toward zero to 25 bits
// below that exponent's, and added exactly. The sum is cut toward zero to f32;
// for an f16 accumulator it is rounded to nearest even once.
//
// fp8 dots are summed so from zero in two steps, first the lower and then the
// upper halves of all registers, as if the elements had been widened to f16 for
// two dots of half the depth; the accumulator is added at the end with a
// rounding to nearest.
const alignBits = 25

// mmaState is what the warps of a block keep between dots. They share it, for
// they run one at a time, and a warp uses an operand several times in its turn or
// not at all.
type mmaState struct {
	a [16]fragment
	b [32]fragment
	// desc are operands out of shared memory, A and B.
	desc [2]fragment
	args mmaArgs             // of the vector code
	c    [4][mmaLanes]uint32 // the accumulators
	d    [4][mmaLanes]uint32 // the results
	part [4][mmaLanes]uint32 // the first step of two
	zero [4][mmaLanes]uint32
}

// accumulator is where the elements of C or D are: element i of every lane.
type accumulator [4]*[mmaLanes]uint32

func inMemory(c *[4][mmaLanes]uint32) accumulator {
	return accumulator{&c[0], &c[1], &c[2], &c[3]}
}

// mmaArgs describes one aligned sum for a 16×8 tile; the assembly knows where its
// fields are.
type mmaArgs struct {
	aVal *[widthA * stepK]float32
	aExp *[widthA * stepK]int32
	bVal *[widthA * stepK]float32
	bExp *[widthA * stepK]int32
	c, d accumulator
	bad  int64
	// odd, where not zero, asks for results rounded to odd, not toward zero.
	odd int64
	_   [2 * widthB * widthA]int32 // scratch
}

// inRegisters is an accumulator of four registers.
func (w *warp) inRegisters(regs []Reg) (c accumulator) {
	for i := range c {
		c[i] = (*[mmaLanes]uint32)(w.r32[regs[i].Index()*mmaLanes:])
	}
	return c
}

// fill sets the elements; t is not part of c.
func (c *accumulator) fill(t *[4][mmaLanes]uint32) {
	for i := range c {
		*c[i] = t[i]
	}
}

// execMmaFloat multiplies f16, bf16, tf32 and fp8 matrices.
func execMmaFloat(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.countDot(m)
	st := w.matrixState()
	a, b := st.operandA(w, m), st.operandB(w, m)
	if m.CType == F32 {
		c, d := w.inRegisters(m.CRegs), w.inRegisters(m.DRegs)
		st.product(m, a, b, &c, &d)
		return
	}
	st.c = w.accumulators(m)
	st.float(m, a, b)
	for i, reg := range m.DRegs {
		copy(w.r32[reg.Index()*mmaLanes:], st.d[i][:])
	}
}

// matrixState makes the block's state at its first dot.
func (w *warp) matrixState() *mmaState {
	if w.cta.mma == nil {
		w.cta.mma = new(mmaState)
	}
	return w.cta.mma
}

// float computes the state's d from its c.
func (st *mmaState) float(m *Mma, a, b *fragment) {
	if m.CType == F16 {
		st.half(m, a, b, &st.c, &st.d)
		return
	}
	c, d := inMemory(&st.c), inMemory(&st.d)
	st.product(m, a, b, &c, &d)
}

// product computes d from a, b and c, all of f32; registers of d may be some of
// c's.
func (st *mmaState) product(m *Mma, a, b *fragment, c, d *accumulator) {
	special := a.special || b.special
	if !special && m.K <= stepK && st.sumInVectors(&a.steps[0], &b.steps[0], a.wide || b.wide, false, c, d) {
		return
	}
	var was [4][mmaLanes]uint32 // c, where d needs mending
	if special = special || c.special(); special {
		for i := range c {
			was[i] = *c[i]
		}
	}
	if m.K <= stepK {
		sum(&a.steps[0], &b.steps[0], c, d)
	} else {
		zero, part := inMemory(&st.zero), inMemory(&st.part)
		for i := range a.steps {
			x, y := &a.steps[i], &b.steps[i]
			if special || !st.sumInVectors(x, y, a.wide || b.wide, false, &zero, &part) {
				sum(x, y, &zero, &part)
			}
			zero = part
		}
		for i := range d {
			for l := range d[i] {
				d[i][l] = canon(f32(part[i][l]) + f32(c[i][l]))
			}
		}
	}
	if special {
		from := inMemory(&was)
		eachSpecial(m, a, b, func(row, col int) float64 {
			i, lane := cElement(row, col)
			return float64(f32(from[i][lane]))
		}, func(row, col int, v float64) {
			i, lane := cElement(row, col)
			d[i][lane] = canon(float32(v))
		})
	}
}

// sumInVectors is sum by the vector code of this machine. It reports whether d
// is done: not where that code is wanting, or an operand is wide, or the
// accumulator special, or where some result is subnormal or the greatest of all.
// With odd the last bit of a result is set where something was cut (see addOdd).
func (st *mmaState) sumInVectors(a, b *elements, wide, odd bool, c, d *accumulator) bool {
	if wide || !haveSums {
		return false
	}
	r := &st.args
	r.aVal, r.aExp, r.bVal, r.bExp = &a.val, &a.exp, &b.val, &b.exp
	r.c, r.d, r.bad, r.odd = *c, *d, 0, int64(bit(odd))
	mmaSums(r)
	return r.bad == 0
}

// sum computes one step.
func sum(a, b *elements, c, d *accumulator) {
	var t [4][mmaLanes]uint32
	for row := range widthA {
		var from [widthB]float64
		for col := range from {
			i, lane := cElement(row, col)
			from[col] = float64(f32(c[i][lane]))
		}
		sums, lsbs := alignedSums(a, b, row, &from)
		for col := range sums {
			i, lane := cElement(row, col)
			t[i][lane] = math.Float32bits(cut32(sums[col], lsbs[col]))
		}
	}
	d.fill(&t)
}

// half computes a dot with f16 accumulators.
func (st *mmaState) half(m *Mma, a, b *fragment, c, d *[4][mmaLanes]uint32) {
	special := a.special || b.special || specialHalves(c)
	was := *c
	wide := &st.part
	for i := range 2 {
		for l, v := range c[i] {
			wide[2*i][l], wide[2*i+1][l] = math.Float32bits(f16to32(v&0xffff)), math.Float32bits(f16to32(v>>16))
		}
	}
	part := inMemory(wide)
	if !special && st.sumInVectors(&a.steps[0], &b.steps[0], false, true, &part, &part) {
		for i := range 2 {
			for l := range d[i] {
				d[i][l] = f32to16(f32(wide[2*i][l])) | f32to16(f32(wide[2*i+1][l]))<<16
			}
		}
		return
	}
	for row := range widthA {
		var from [widthB]float64
		for col := range from {
			i, lane := cElement(row, col)
			from[col] = float64(f16to32(c[i/2][lane] >> (16 * (i % 2)) & 0xffff))
		}
		sums, lsbs := alignedSums(&a.steps[0], &b.steps[0], row, &from)
		for col := 0; col < widthB; col += 2 {
			i, lane := cElement(row, col)
			var v [2]uint32
			for j := range v {
				v[j] = roundTo(float64(sums[col+j])*math.Float64frombits(uint64(1023+lsbs[col+j])<<52), fmtF16, RoundNearest)
			}
			d[i/2][lane] = v[0] | v[1]<<16
		}
	}
	if special {
		eachSpecial(m, a, b, func(row, col int) float64 {
			i, lane := cElement(row, col)
			return float64(f16to32(was[i/2][lane] >> (16 * (i % 2)) & 0xffff))
		}, func(row, col int, v float64) {
			i, lane := cElement(row, col)
			shift := 16 * (i % 2)
			d[i/2][lane] = d[i/2][lane]&^(0xffff<<shift) | roundTo(v, fmtF16, RoundNearest)<<shift
		})
	}
}

// alignedSums returns the sums of the products of a row of A with each column of B
// and of c, each cut to a multiple of 2^lsb.
func alignedSums(a, b *elements, row int, c *[widthB]float64) (sums [widthB]int64, lsbs [widthB]int) {
	var tops [widthB]int32
	for col, v := range c {
		tops[col] = zeroExp
		if v != 0 {
			tops[col] = exponent32(v)
		}
	}
	for k := range stepK {
		e := a.exp[k*widthA+row]
		exps := (*[widthB]int32)(b.exp[k*widthB:])
		for col := range exps {
			tops[col] = max(tops[col], e+exps[col])
		}
	}
	var scales [widthB]float64
	for col, top := range tops {
		if top > zeroExp/2 { // else all terms are zero
			lsbs[col] = int(top) - alignBits
			scales[col] = math.Float64frombits(uint64(1023-lsbs[col]) << 52)
		}
		sums[col] = int64(c[col] * scales[col])
	}
	// Doubles hold the products, and these at any scale; the conversion cuts toward
	// zero.
	for k := range stepK {
		v := float64(a.val[k*widthA+row])
		vals := (*[widthB]float32)(b.val[k*widthB:])
		for col := range vals {
			sums[col] += int64(v * float64(vals[col]) * scales[col])
		}
	}
	return sums, lsbs
}

// exponent32 is the exponent of a number of f32's, not zero; a subnormal one has
// that of the normal ones next to it.
func exponent32(v float64) int32 {
	return max(int32(math.Float64bits(v)>>52&0x7ff)-1023, -126)
}

// cut32 is sum × 2^lsb, rounded toward zero; but what is too great is infinite.
func cut32(sum int64, lsb int) float32 {
	x := float64(sum) * math.Float64frombits(uint64(1023+lsb)<<52)
	bits := math.Float64bits(x)
	if e := bits >> 52 & 0x7ff; e > 1023-127 && e < 1023+127 {
		return float32(math.Float64frombits(bits &^ (1<<29 - 1))) // a normal number's 24 bits
	}
	if math.Abs(x) >= 0x1p128 {
		return float32(math.Copysign(math.Inf(1), x))
	}
	return f32(roundTo(x, fmtF32, RoundZero))
}

// special reports whether an accumulator is infinite or a NaN.
func (c *accumulator) special() bool {
	for i := range c {
		for _, v := range c[i] {
			if v&0x7f800000 == 0x7f800000 {
				return true
			}
		}
	}
	return false
}

func specialHalves(c *[4][mmaLanes]uint32) bool {
	for i := range 2 {
		for _, v := range c[i] {
			if v&0x7c00 == 0x7c00 || v>>16&0x7c00 == 0x7c00 {
				return true
			}
		}
	}
	return false
}

// eachSpecial calls put with the sum of every element some of whose terms is
// infinite or a NaN; c returns what is added to its products.
func eachSpecial(m *Mma, a, b *fragment, c func(row, col int) float64, put func(row, col int, v float64)) {
	notFinite := func(v float64) bool { return v-v != 0 }
	for row := range widthA {
		for col := range widthB {
			v := c(row, col)
			special := notFinite(v)
			for k := range m.K {
				x := float64(a.steps[k/stepK].val[k%stepK*widthA+row])
				y := float64(b.steps[k/stepK].val[k%stepK*widthB+col])
				special = special || notFinite(x) || notFinite(y)
				v += x * y
			}
			if special {
				put(row, col, v)
			}
		}
	}
}
