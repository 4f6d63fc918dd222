package amdgcn

import (
	"math"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// dtype is the type of an operand of a vector instruction, by the letter that the tables
// have for it.
type dtype byte

const (
	dF32  dtype = 'f'
	dF64  dtype = 'd'
	dF16  dtype = 'h'
	dBF16 dtype = 'e'
	dU32  dtype = 'u'
	dU16  dtype = 's'
	dU64  dtype = 'q'
	// dAcc, as a source, is the destination's old value, of the destination's type.
	dAcc dtype = '+'
)

func (t dtype) bits() uint {
	switch t {
	case dF64, dU64:
		return 64
	case dF16, dU16, dBF16:
		return 16
	}
	return 32
}

func (t dtype) float() bool { return t == dF32 || t == dF64 || t == dF16 || t == dBF16 }

// sign is the bit of a float's sign.
func (t dtype) sign() uint64 { return 1 << (t.bits() - 1) }

// value is the number that a float's bits stand for.
func (t dtype) value(x uint64) float64 {
	switch t {
	case dF64:
		return f64(x)
	case dF16:
		return halfOf(x)
	case dBF16:
		return simt.FloatOf(uint32(x&0xffff), simt.BF16)
	}
	return float64(f32(x))
}

// encode rounds a number to the nearest float.
func (t dtype) encode(x float64) uint64 {
	switch t {
	case dF64:
		return u64(x)
	case dF16:
		return uint64(toHalf(x))
	case dBF16:
		return uint64(simt.RoundFloat(x, simt.BF16, simt.RoundNearest))
	}
	return u32(float32(x))
}

// least is the least normal number.
func (t dtype) least() float64 {
	switch t {
	case dF64:
		return 0x1p-1022
	case dF16:
		return 0x1p-14
	}
	return 0x1p-126
}

// flush makes zero of a subnormal number.
func (t dtype) flush(x uint64) uint64 {
	if v := t.value(x); v != 0 && math.Abs(v) < t.least() {
		return x & t.sign()
	}
	return x
}

// row is one instruction of a table.
type row struct {
	name string
	dst  dtype
	src  []dtype
	// One of these is the function of a lane: of up to three sources; with the mode
	// register, too; with a bit of a mask in and out; of a comparison.
	fn    func(a, b, c uint64) uint64
	modal func(a, b, c uint64, mode uint32) uint64
	carry func(a, b, c uint64, in bool) (uint64, bool)
	cmp   func(a, b uint64) bool
	// sat clamps the result of an integer instruction with clamp, before it is cut to
	// the type's width.
	sat func(y uint64) uint64
	// masks says which masks the operands have: 'o' after the destination, 'i' last.
	masks string
	// byteOfWord: the first two bits of op_sel number the byte of the first source.
	byteOfWord bool
	class      simt.InstClass
	flops      uint64
}

// The bits of the mode register.
const (
	modeDenorm32 = 3 << 4
	modeDenorm16 = 3 << 6 // and of doubles
	modeOverflow = 1 << 23
)

// flushes reports whether the mode has the instruction flush subnormal numbers.
func (r *row) flushes(mode uint32) bool {
	if mode&(modeDenorm32|modeDenorm16) == modeDenorm32|modeDenorm16 {
		return false
	}
	return r.class == simt.ClassFloat || r.class == simt.ClassHalf || r.class == simt.ClassDouble || r.class == simt.ClassConvert
}

// denorms are the two bits of the mode for a type: inputs keep subnormal numbers with
// the lower one, results with the upper one.
func denorms(t dtype, mode uint32) uint32 {
	if t == dF32 {
		return mode >> 4 & 3
	}
	return mode >> 6 & 3
}

func (r *row) flushIn(mode uint32, a *[3]uint64) {
	for i, t := range r.src {
		if t == dAcc {
			t = r.dst
		}
		if t.float() && denorms(t, mode)&1 == 0 {
			a[i] = t.flush(a[i])
		}
	}
}

func flushOut(t dtype, mode uint32, y uint64) uint64 {
	if t.float() && denorms(t, mode)&2 == 0 {
		return t.flush(y)
	}
	return y
}

// sig reads a signature of the tables: the destination, "=", the sources, and after a
// blank the masks.
func sig(r row, s string) row {
	types, masks, _ := strings.Cut(s, " ")
	dst, src, _ := strings.Cut(types, "=")
	if dst != "" {
		r.dst = dtype(dst[0])
	}
	for i := range len(src) {
		r.src = append(r.src, dtype(src[i]))
	}
	r.masks = masks
	if r.class == simt.ClassInteger {
		for _, t := range append([]dtype{r.dst}, r.src...) {
			switch t {
			case dF64:
				r.class = simt.ClassDouble
			case dF16, dBF16:
				r.class = simt.ClassHalf
			case dF32:
				r.class = simt.ClassFloat
			default:
				continue
			}
			break
		}
	}
	return r
}

// op1 to op3 make rows of plain instructions.
func op1(name, s string, f func(a uint64) uint64) row {
	return sig(row{name: name, fn: func(a, _, _ uint64) uint64 { return f(a) }}, s)
}

func op2(name, s string, f func(a, b uint64) uint64) row {
	return sig(row{name: name, fn: func(a, b, _ uint64) uint64 { return f(a, b) }}, s)
}

func op3(name, s string, f func(a, b, c uint64) uint64) row {
	return sig(row{name: name, fn: f}, s)
}

// float1 to float3 make rows whose function is one of numbers; the exact result, or one
// rounded to odd, is rounded once.
func float1(name, s string, f func(a float64) float64) row {
	t, d := dtype(s[2]), dtype(s[0])
	return op1(name, s, func(a uint64) uint64 { return d.encode(f(t.value(a))) })
}

func special1(name, s string, f func(a float64) float64) row {
	r := float1(name, s, f)
	t := dtype(s[2])
	if t == dF32 {
		// The unit flushes subnormal numbers, whatever the mode.
		g := r.fn
		r.fn = func(a, _, _ uint64) uint64 { return t.flush(g(t.flush(a), 0, 0)) }
	}
	r.class = simt.ClassSpecial
	return r
}

// flops says that the rows do n operations on floats in each lane.
func withFLOPs(n uint64, rows ...row) []row {
	for i := range rows {
		rows[i].flops = n
	}
	return rows
}

func withClass(c simt.InstClass, rows ...row) []row {
	for i := range rows {
		rows[i].class = c
	}
	return rows
}
