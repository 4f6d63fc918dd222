package layout

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Dim names one input or output dimension of a Layout.
type Dim uint8

// The hardware dimensions. A distributed layout has the inputs Register, Lane,
// Warp, Block; a shared one Offset, Block.
const (
	Register Dim = iota // index of a value within one thread's slice
	Lane                // thread within the warp
	Warp                // warp within the CTA
	Block               // CTA within the cluster
	Offset              // element offset within a CTA's shared memory
	dim0                // the tensor dimensions follow
)

// TensorDim is the name of dimension i of a tensor.
func TensorDim(i int) Dim { return dim0 + Dim(i) }

func (d Dim) String() string {
	if d < dim0 {
		return [...]string{"register", "lane", "warp", "block", "offset"}[d]
	}
	return fmt.Sprintf("dim%d", d-dim0)
}

// Axis is a dimension of 2^Bits indices.
type Axis struct {
	Dim  Dim
	Bits int
}

// Size is the number of indices of the axis.
func (a Axis) Size() int { return 1 << a.Bits }

// Layout is a linear map over F₂ from the bits of its input dimensions to the
// bits of its output dimensions. Adding is XOR, so the image of an index is
// the XOR of the images of its bits; those images are the basis vectors.
//
// Indices of several dimensions are packed into one integer, the first
// dimension in the lowest bits; at most 64 bits of either side. A Layout is a
// value and never changes; every operation makes a new one.
type Layout struct {
	ins  []Axis
	outs []Axis
	cols []uint64 // image of each input bit, packed
}

// Input is an input dimension with its basis vectors, for New.
type Input struct {
	Dim   Dim
	Bases Bases // coordinates in the order of the output axes
}

// New makes a layout from basis vectors. It panics when a vector has another
// length than outs, or a coordinate outside its axis.
func New(outs []Axis, ins ...Input) Layout {
	l := Layout{outs: slices.Clone(outs)}
	for _, in := range ins {
		l.ins = append(l.ins, Axis{in.Dim, len(in.Bases)})
		for _, v := range in.Bases {
			if len(v) != len(outs) {
				panic(fmt.Sprintf("BUG: basis %v of %v does not have %d coordinates", v, in.Dim, len(outs)))
			}
			var col uint64
			shift := 0
			for i, o := range outs {
				if v[i] < 0 || v[i] >= 1<<o.Bits {
					panic(fmt.Sprintf("BUG: basis %v of %v is outside %v of size %d", v, in.Dim, o.Dim, o.Size()))
				}
				col |= uint64(v[i]) << shift
				shift += o.Bits
			}
			l.cols = append(l.cols, col)
		}
	}
	return l
}

// Identity maps index i of in to index i of out; size is a power of two.
func Identity(in, out Dim, size int) Layout {
	n := log2(size)
	l := Layout{ins: []Axis{{in, n}}, outs: []Axis{{out, n}}, cols: make([]uint64, n)}
	for i := range l.cols {
		l.cols[i] = 1 << i
	}
	return l
}

// Zeros maps every index of in to index 0 of out, an axis of size 1: what is
// replicated along in.
func Zeros(in, out Dim, size int) Layout {
	n := log2(size)
	return Layout{ins: []Axis{{in, n}}, outs: []Axis{{out, 0}}, cols: make([]uint64, n)}
}

// IdentityND counts through a box of the given shape (dimension i is
// TensorDim(i)), the dimension order[0] fastest. Its outputs are in order.
func IdentityND(in Dim, shape, order []int) Layout {
	l := Layout{ins: []Axis{{in, 0}}}
	for _, d := range order {
		l = Product(l, Identity(in, TensorDim(d), shape[d]))
	}
	return l
}

// Ins lists the input axes. The caller must not change it.
func (l Layout) Ins() []Axis { return l.ins }

// Outs lists the output axes. The caller must not change it.
func (l Layout) Outs() []Axis { return l.outs }

// InBits is log2 of the size of input d, 0 when it is absent.
func (l Layout) InBits(d Dim) int { return axisBits(l.ins, d) }

// OutBits is log2 of the size of output d, 0 when it is absent.
func (l Layout) OutBits(d Dim) int { return axisBits(l.outs, d) }

// InSize is the number of indices of input d, 1 when it is absent.
func (l Layout) InSize(d Dim) int { return 1 << l.InBits(d) }

// OutSize is the number of indices of output d, 1 when it is absent.
func (l Layout) OutSize(d Dim) int { return 1 << l.OutBits(d) }

// Shape is the size of each output axis, in the order of Outs.
func (l Layout) Shape() []int64 {
	s := make([]int64, len(l.outs))
	for i, o := range l.outs {
		s[i] = 1 << o.Bits
	}
	return s
}

// Columns returns the packed images of the bits of input d, lowest first. The
// caller must not change them.
func (l Layout) Columns(d Dim) []uint64 {
	lo, n := axisRange(l.ins, d)
	return l.cols[lo : lo+n : lo+n]
}

// BasesOf returns the basis vectors of input d, one coordinate per output
// axis.
func (l Layout) BasesOf(d Dim) Bases {
	cols := l.Columns(d)
	b := make(Bases, len(cols))
	for i, c := range cols {
		b[i] = make([]int32, len(l.outs))
		for j, o := range l.outs {
			b[i][j] = int32(c & mask(o.Bits))
			c >>= o.Bits
		}
	}
	return b
}

// Apply returns the output coordinates, in the order of Outs, of the input
// coordinates, in the order of Ins.
func (l Layout) Apply(in ...int) []int {
	return l.UnpackOut(l.ApplyPacked(l.PackIn(in...)))
}

// ApplyPacked maps a packed input to a packed output.
func (l Layout) ApplyPacked(x uint64) uint64 {
	var y uint64
	for ; x != 0; x &= x - 1 {
		y ^= l.cols[bits.TrailingZeros64(x)]
	}
	return y
}

// PackIn packs input coordinates, given in the order of Ins.
func (l Layout) PackIn(in ...int) uint64 { return pack(l.ins, in) }

// PackOut packs output coordinates, given in the order of Outs.
func (l Layout) PackOut(out ...int) uint64 { return pack(l.outs, out) }

// UnpackIn is the inverse of PackIn.
func (l Layout) UnpackIn(x uint64) []int { return unpack(l.ins, x) }

// UnpackOut is the inverse of PackOut.
func (l Layout) UnpackOut(x uint64) []int { return unpack(l.outs, x) }

// Equal reports whether l and m are the same map with the same axes in the
// same order.
func (l Layout) Equal(m Layout) bool {
	return slices.Equal(l.ins, m.ins) && slices.Equal(l.outs, m.outs) && slices.Equal(l.cols, m.cols)
}

// String is one line an input: its name and its basis vectors.
func (l Layout) String() string {
	var b strings.Builder
	for _, in := range l.ins {
		fmt.Fprintf(&b, "%v=%v ", in.Dim, l.BasesOf(in.Dim))
	}
	b.WriteString("->")
	for _, o := range l.outs {
		fmt.Fprintf(&b, " %v:%d", o.Dim, o.Size())
	}
	return b.String()
}

func (l Layout) outBits() int { return totalBits(l.outs) }

func totalBits(axes []Axis) int {
	n := 0
	for _, a := range axes {
		n += a.Bits
	}
	return n
}

func axisBits(axes []Axis, d Dim) int {
	for _, a := range axes {
		if a.Dim == d {
			return a.Bits
		}
	}
	return 0
}

// axisRange returns the position of the lowest bit of d and its bit count.
func axisRange(axes []Axis, d Dim) (lo, n int) {
	for _, a := range axes {
		if a.Dim == d {
			return lo, a.Bits
		}
		lo += a.Bits
	}
	return lo, 0
}

func hasAxis(axes []Axis, d Dim) bool {
	return slices.ContainsFunc(axes, func(a Axis) bool { return a.Dim == d })
}

func pack(axes []Axis, idx []int) uint64 {
	if len(idx) != len(axes) {
		panic(fmt.Sprintf("BUG: %d coordinates for %d axes", len(idx), len(axes)))
	}
	var x uint64
	shift := 0
	for i, a := range axes {
		if idx[i] < 0 || idx[i] >= a.Size() {
			panic(fmt.Sprintf("BUG: index %d is outside %v of size %d", idx[i], a.Dim, a.Size()))
		}
		x |= uint64(idx[i]) << shift
		shift += a.Bits
	}
	return x
}

func unpack(axes []Axis, x uint64) []int {
	idx := make([]int, len(axes))
	for i, a := range axes {
		idx[i] = int(x & mask(a.Bits))
		x >>= a.Bits
	}
	return idx
}

func mask(n int) uint64 { return 1<<n - 1 }

// log2 of a power of two; anything else is our own mistake, since encodings
// are checked before they become layouts.
func log2(n int) int {
	if n <= 0 || n&(n-1) != 0 {
		panic(fmt.Sprintf("BUG: %d is not a power of two", n))
	}
	return bits.TrailingZeros(uint(n))
}
