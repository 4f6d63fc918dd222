package gpu

import (
	"errors"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// A matrix in shared memory is described to wgmma by 64 bits: where it starts, how
// its 16-byte pieces are permuted, and two strides. What is contiguous is K, or the
// lines (the rows of A, the columns of B). With swizzles of w bytes, a row of w bytes
// holds contiguous elements, eight rows are an atom, and the pieces of a row are
// permuted by bits of their addresses; without, a row has 16 bytes.
//
//	                     a step of 8 lines    a step along K
//	K contiguous         stride               within the row; without swizzle, of 16 bytes: leading
//	lines contiguous     within the row, then leading         of 8: stride
//	the same, no swizzle stride               of 8: leading
type matrixOperand struct {
	buf             *lower.Buffer
	lineDim         int
	linesContiguous bool
	static          int64 // the descriptor less its start
	// base is the start, in units of 16 bytes; with words it is static, too.
	base  llir.Value
	words bool
}

// unit is what addresses and strides of a descriptor are counted in, in bytes.
const unit = 16

// addressBits are those of an address in shared memory.
const addressBits = 18

// descriptorModes are the numbers of the permutations, by the bytes of a row.
var descriptorModes = []struct{ width, mode int }{{128, 1}, {64, 2}, {32, 3}, {0, 0}}

// newMatrixOperand describes a buffer of which an instruction reads so many lines and
// depth elements along K at a time.
func newMatrixOperand(buf *lower.Buffer, lineDim, lines, depth int) (*matrixOperand, error) {
	o := &matrixOperand{buf: buf, lineDim: lineDim}
	origin, err := o.place(0, 0)
	if err != nil {
		return nil, err
	}
	// Places are XORs of what each bit of a coordinate adds.
	bits := func(n int, at func(i int) (int64, error)) ([]int64, error) {
		var list []int64
		for i := 1; i < n; i *= 2 {
			p, err := at(i)
			if err != nil {
				return nil, err
			}
			list = append(list, p^origin)
		}
		return list, nil
	}
	line, err := bits(lines, func(i int) (int64, error) { return o.place(i, 0) })
	if err != nil {
		return nil, err
	}
	along, err := bits(depth, func(i int) (int64, error) { return o.place(0, i) })
	if err != nil {
		return nil, err
	}
	for _, s := range descriptorModes {
		a := arrangement{width: int64(s.width), line: unswizzled(line, s.width), along: unswizzled(along, s.width), size: int64(buf.Bytes)}
		for _, contiguous := range []bool{false, true} {
			leading, stride, ok := a.strides(contiguous)
			if !ok || !disjoint(origin, a) {
				continue
			}
			o.linesContiguous = contiguous
			o.static = leading/unit<<16 | stride/unit<<32 | int64(s.mode)<<62
			return o, nil
		}
	}
	return nil, errors.New("the buffer is not arranged as the instruction reads matrices")
}

// leadingBits are those of a descriptor that hold the leading stride.
const leadingBits = (1<<14 - 1) << 16

// markUnusedLeading sets the leading stride to 1 where the instruction does not read it,
// as a row holds all that is contiguous. B gets it where A is in registers, since ptxas
// 12.4 gives such an instruction the wrong B if its descriptor is, bit for bit, that of A
// of another instruction: it takes B of that one. A whose leading stride is read, and
// none is 0 or 1 then, needs more than one row of 64 lines: no encoding that the
// compiler makes.
func (o *matrixOperand) markUnusedLeading() {
	if o.static&leadingBits == 0 {
		o.static |= 1 << 16
	}
}

// place is how many bytes after the start of the buffer an element lies.
func (o *matrixOperand) place(line, k int) (int64, error) {
	at := make([]int64, 2)
	at[o.lineDim], at[1-o.lineDim] = int64(line), int64(k)
	return o.buf.Place(at)
}

// unswizzled undoes the permutation of pieces in places.
func unswizzled(places []int64, width int) []int64 {
	mask := int64(max(width/unit, 1) - 1)
	list := make([]int64, len(places))
	for i, p := range places {
		list[i] = p ^ (p >> 7 & mask << 4)
	}
	return list
}

// arrangement is what the bits of line and k add to the place of an element, the
// permutation undone.
type arrangement struct {
	width, size int64
	line, along []int64
}

// strides are those of the descriptor, if the arrangement is one that it can
// describe.
func (a arrangement) strides(linesContiguous bool) (leading, stride int64, ok bool) {
	row := max(a.width, unit)
	near, far := a.along, a.line // contiguous, and row by row
	if linesContiguous {
		near, far = a.line, a.along
		if a.size != 2 {
			return 0, 0, false
		}
	}
	next := fits(near, a.size, row)
	rows := fits(far, row, 8*row)
	if next == nil || rows == nil {
		return 0, 0, false
	}
	switch {
	case a.width == 0 && linesContiguous: // the two change places
		return *rows, *next, true
	case !linesContiguous && a.width > 0 && *next != 0:
		return 0, 0, false // K never leaves a row
	}
	return *next, *rows, true
}

// fits reports whether the first bits add from, 2·from and so on up to end, and those
// after them multiples, by powers of two, of one stride, which it returns: 0 if there
// are none.
func fits(bits []int64, from, end int64) *int64 {
	for len(bits) > 0 && from < end {
		if bits[0] != from {
			return nil
		}
		bits, from = bits[1:], 2*from
	}
	var stride int64
	for i, x := range bits {
		if i == 0 {
			stride = x
		}
		if x != stride<<i || x%unit != 0 {
			return nil
		}
	}
	return &stride
}

// disjoint reports whether places are sums, too, of what the bits add: no two of them
// have a bit in common.
func disjoint(origin int64, a arrangement) bool {
	seen := origin
	for _, list := range [][]int64{a.line, a.along} {
		for _, x := range list {
			if seen&x != 0 {
				return false
			}
			seen |= x
		}
	}
	return true
}

// locate computes where the part of the operand begins that the thread's warpgroup
// reads.
func (o *matrixOperand) locate(w *wgmma) error {
	b := w.s.B
	at := b.Cast(llir.PtrToInt, o.buf.Ptr, llir.I32, 0)
	at = b.LShr(b.And(at, b.M.I32(1<<addressBits-1)), 4)
	// Groups are below one another first, then side by side.
	down := w.warps[0] / groupWarps
	of := [2]struct{ first, count, size, lines int }{
		{1, down, groupRows, w.m},
		{down, w.warps[1], w.instrN, w.n},
	}[o.lineDim]
	if of.count > 1 {
		group := (*Target)(nil).ShuffleIndex(b, b.LShr(w.s.Thread, 7), b.M.I32(0))
		origin, err := o.place(0, 0)
		if err != nil {
			return err
		}
		for i := 1; i < of.count && i*of.size < of.lines; i *= 2 {
			p, err := o.place(i*of.size, 0)
			if err != nil {
				return err
			}
			on := b.And(b.LShr(group, bitsBelow(of.first*i)), b.M.I32(1))
			at = b.Add(at, b.Mul(on, b.M.I32(int(p-origin)/unit)))
		}
	}
	o.base = b.Outside(at, func() llir.Value {
		if !o.words {
			return b.ZExt(at, llir.I64)
		}
		low := b.Or(at, b.M.I32(int(o.static&leadingBits)))
		return b.BitCast(b.Vector(low, b.M.I32(int(int32(o.static>>32)))), llir.I64)
	})
	return nil
}

// bitsBelow is the number of the bit that a power of two sets.
func bitsBelow(n int) int {
	i := 0
	for n > 1 {
		n, i = n/2, i+1
	}
	return i
}

// descriptor describes the matrix from a line and a position along K on, which are
// multiples of what an instruction reads.
func (o *matrixOperand) descriptor(b *llir.Builder, line, k int) llir.Value {
	p, err := o.place(line, k)
	if err != nil {
		panic("BUG: gpu: a matrix of a buffer lies outside of it: " + err.Error())
	}
	// A descriptor of a buffer that stays the same is computed before the loop. Computed
	// in two loops one after another, ptxas 12.8 takes it from the first one alone, of
	// which there may be no iteration.
	rest := p / unit
	if !o.words {
		rest |= o.static
	}
	return b.Outside(o.base, func() llir.Value { return b.Add(o.base, b.M.I64(rest)) })
}
