package simt

import "math"

// stepK is the depth of one aligned sum; shallower dots are filled up with
// zeros.
const stepK = 16

// zeroExp is the exponent of a zero, below all others.
const zeroExp = -1 << 12

// A fragment is an operand of mma as the registers hold it, and its elements.
// Fragments are kept from one dot to the next, for one operand takes part in
// many: raw tells whether the registers still hold what was decoded.
//
// Element k of a line (a row of A, a column of B) is at k·width + line of a step,
// where the width is 16 for A and 8 for B: so that sixteen rows or eight columns
// are one vector.
type fragment struct {
	ty   Type
	regs int
	raw  [4][mmaLanes]uint32
	// special says that it has an infinity or a NaN, wide that some product of its
	// elements may leave the range in which a float32 is exact.
	special, wide bool
	steps         [2]elements
}

// elements are the values of a step, and the exponents of their encodings: a
// subnormal number has that of the normal ones next to it.
type elements struct {
	val [16 * stepK]float32
	exp [16 * stepK]int32
}

const (
	widthA = 16
	widthB = 8
)

// Exponents in this range keep the product of two elements, and the scale of the
// sum of such products, within those of normal float32 numbers.
const (
	leastExp    = -51
	greatestExp = 62
)

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

// decode fills the steps from raw; k is the depth of the dot, width that of
// the operand.
func (f *fragment) decode(width, k int) {
	if k < stepK {
		f.steps[0] = elements{}
		for i := range f.steps[0].exp {
			f.steps[0].exp[i] = zeroExp
		}
	}
	if f.decodeInVectors(width) {
		return
	}
	f.decodeOneByOne(width)
}

func (f *fragment) decodeOneByOne(width int) {
	format, shift := mmaFormat(f.ty)
	size := f.ty.Bits()
	per := 32 / size
	mask := uint32(math.MaxUint32) >> (32 - size)
	top, mant := uint32(1)<<format.exp-1, format.mant
	bias := int32(1<<(format.exp-1) - 1)
	f.special = false
	least, greatest := int32(0), int32(0) // of the exponents
	for r := range f.regs {
		line, col := 0, 4*per*r
		if width == widthA {
			line, col = 8*(r&1), 4*per*(r>>1)
		}
		raw := &f.raw[r]
		for t := range 4 {
			for j := range per {
				k := col + per*t + j
				if size == 8 {
					// The lower halves of the registers make the first step.
					k = k>>2<<1 | k&1 | k&2<<3
				}
				el, at := &f.steps[k/stepK], k%stepK*width+line
				val, exp := (*[8]float32)(el.val[at:]), (*[8]int32)(el.exp[at:])
				for g := range val {
					x := raw[4*g+t] >> (j * size) & mask >> shift
					e := x >> mant & top
					if e-1 < top-1 { // a normal number
						exp[g] = int32(e) - bias
						val[g] = f32(x>>(mant+format.exp)<<31 | (e-uint32(bias)+127)<<23 | x&(1<<mant-1)<<(23-mant))
					} else {
						val[g], exp[g] = float32(widen(x, format)), max(int32(e), 1)-bias
						f.special = f.special || val[g]-val[g] != 0
						if val[g] == 0 {
							exp[g] = zeroExp
							continue
						}
					}
					least, greatest = min(least, exp[g]), max(greatest, exp[g])
				}
			}
		}
	}
	f.wide = least < leastExp || greatest > greatestExp
}

// slot spreads fragments, by their first registers, over a table of n places.
func slot(r Reg, n int) int { return int(uint32(r.Index())*2654435769>>16) % n }

// operandA returns the decoded A of a dot.
func (st *mmaState) operandA(w *warp, m *Mma) *fragment {
	f := &st.a[slot(m.ARegs[0], len(st.a))]
	if !f.same(w, m.AType, m.ARegs) {
		f.decode(widthA, m.K)
	}
	return f
}

// operandB returns the decoded B.
func (st *mmaState) operandB(w *warp, m *Mma) *fragment {
	f := &st.b[slot(m.BRegs[0], len(st.b))]
	if !f.same(w, m.BType, m.BRegs) {
		f.decode(widthB, m.K)
	}
	return f
}
