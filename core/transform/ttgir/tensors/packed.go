package tensors

import (
	"slices"

	"github.com/tritonc/tritonc/core/layout"
)

// Unpacked is the layout of what a tensor of packed pairs becomes when
// each thread unpacks its own: twice as long along axis, the two of a pair in
// neighbouring registers.
func Unpacked(e layout.Encoding, shape []int64, axis int) layout.Encoding {
	switch e := e.(type) {
	case *layout.Blocked:
		if e.Order[0] == axis {
			n := *e
			n.SizePerThread = slices.Clone(e.SizePerThread)
			n.SizePerThread[axis] *= 2
			return &n
		}
	case *layout.DotOp:
		if e.KWidth > 0 && axis == len(shape)-1-e.OpIdx {
			n := *e
			n.KWidth *= 2
			return &n
		}
	}
	l, err := e.Linear(shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	pair := layout.Identity(layout.Register, layout.TensorDim(axis), 2)
	order := make([]layout.Dim, len(shape))
	for i := range order {
		order[i] = layout.TensorDim(i)
	}
	return layout.FromLayout(layout.Product(pair, l).TransposeOuts(order...))
}

// Packed is the layout of packed pairs from which each thread unpacks what
// it holds of a tensor of the given shape with the layout e; nil when the two of
// a pair are not in neighbouring registers. It undoes Unpacked.
func Packed(e layout.Encoding, shape []int64, axis int) layout.Encoding {
	switch e := e.(type) {
	case *layout.Blocked:
		if e.Order[0] == axis && e.SizePerThread[axis] > 1 {
			n := *e
			n.SizePerThread = slices.Clone(e.SizePerThread)
			n.SizePerThread[axis] /= 2
			return &n
		}
	case *layout.DotOp:
		if e.KWidth > 1 && axis == len(shape)-1-e.OpIdx {
			n := *e
			n.KWidth /= 2
			return &n
		}
	}
	l, err := e.Linear(shape)
	if err != nil {
		panic("BUG: ttgir: " + err.Error())
	}
	halved := func(in layout.Dim) layout.Bases {
		bases := make(layout.Bases, 0, l.InBits(in))
		for _, v := range l.BasesOf(in) {
			v = slices.Clone(v)
			v[axis] /= 2
			bases = append(bases, v)
		}
		return bases
	}
	first := make([]int32, len(shape))
	first[axis] = 1
	registers := l.BasesOf(layout.Register)
	if len(registers) == 0 || !slices.Equal(registers[0], first) {
		return nil
	}
	return &layout.Linear{
		Register: halved(layout.Register)[1:], Lane: halved(layout.Lane), Warp: halved(layout.Warp), Block: halved(layout.Block),
	}
}
