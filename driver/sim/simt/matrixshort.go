package simt

import "math"

// shortBits is alignBits of a warpgroup's dots of fp8 elements: all products of
// an output element and the accumulator are cut so far below the greatest exponent,
// and the sum keeps as many bits below its first, also cut toward zero. Established
// on an H200, as the sums of the others.
const shortBits = 13

// short computes d from a, b and c by that rule.
func (st *mmaState) short(m *Mma, a, b *fragment, c, d *accumulator) {
	var t [4][mmaLanes]uint32
	for row := range widthA {
		for col := range widthB {
			i, lane := cElement(row, col)
			t[i][lane] = math.Float32bits(shortSum(m.K, a, b, row, col, float64(f32(c[i][lane]))))
		}
	}
	if a.special || b.special || c.special() {
		eachSpecial(m, a, b, func(row, col int) float64 {
			i, lane := cElement(row, col)
			return float64(f32(c[i][lane]))
		}, func(row, col int, v float64) {
			i, lane := cElement(row, col)
			t[i][lane] = canon(float32(v))
		})
	}
	d.fill(&t)
}

// shortHalf is short with f16 accumulators. How the hardware rounds them was not
// measured: the sum is rounded to nearest.
func (st *mmaState) shortHalf(m *Mma, a, b *fragment) {
	wide := &st.part
	for i := range 2 {
		for l, v := range st.c[i] {
			wide[2*i][l], wide[2*i+1][l] = math.Float32bits(f16to32(v&0xffff)), math.Float32bits(f16to32(v>>16))
		}
	}
	part := inMemory(wide)
	st.short(m, a, b, &part, &part)
	for i := range 2 {
		for l := range st.d[i] {
			st.d[i][l] = f32to16(f32(wide[2*i][l])) | f32to16(f32(wide[2*i+1][l]))<<16
		}
	}
}

// shortSum is one element; its terms are finite, or its value is not used.
func shortSum(depth int, a, b *fragment, row, col int, c float64) float32 {
	top := int32(zeroExp)
	if c != 0 {
		top = exponent32(c)
	}
	for k := range depth {
		x, y := &a.steps[k/stepK], &b.steps[k/stepK]
		top = max(top, x.exp[k%stepK*widthA+row]+y.exp[k%stepK*widthB+col])
	}
	if top <= zeroExp/2 {
		return 0 // all terms are
	}
	lsb := int(top) - shortBits
	scale := math.Float64frombits(uint64(1023-lsb) << 52)
	sum := int64(c * scale)
	for k := range depth {
		x, y := &a.steps[k/stepK], &b.steps[k/stepK]
		sum += int64(float64(x.val[k%stepK*widthA+row]) * float64(y.val[k%stepK*widthB+col]) * scale)
	}
	const cut = 52 - shortBits // bits of a double that the result does not keep
	kept := math.Float64bits(float64(sum)) >> cut << cut
	return cut32(int64(math.Float64frombits(kept)), lsb)
}
