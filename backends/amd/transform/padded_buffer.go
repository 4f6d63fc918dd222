package transform

import (
	"slices"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// padded is the layout of a buffer of a tensor of type t, in the given order, that copies
// fill on gfx950 and from which matrix cores read an operand of 16 bits; nil where none is
// known. A wave copies 1024 bytes to one place, so that nothing can be permuted within them:
// padding follows them instead. They have rows that are 16 apart, and rows side by side,
// which lanes read at once, are in other places.
func padded(operand *layout.DotOp, t *ir.TensorType, order []int) layout.Shared {
	const placeBytes, elemBytes, rows = 1024, 2, 16
	mfma, ok := operand.Parent.(*layout.AMDMFMA)
	switch {
	case !ok, len(t.Shape) != 2, ir.BitWidth(t.Elem) != 8*elemBytes, operand.OpIdx > 1,
		tensors.Elements(t)*elemBytes < rows*placeBytes, min(t.Shape[0], t.Shape[1]) < rows,
		operand.KWidth != 4 && operand.KWidth != 8:
		return nil
	}
	side := mfma.InstrShape[operand.OpIdx]
	if side != 16 && side != 32 {
		return nil
	}
	fast, slow := order[0], order[1]
	basis := func(d int, n int32) []int32 {
		v := make([]int32, 2)
		v[d] = n
		return v
	}
	const place = placeBytes / elemBytes
	length := min(place, int(t.Shape[fast]))
	var bases layout.Bases
	for n := 1; n < length; n *= 2 {
		bases = append(bases, basis(fast, int32(n)))
	}
	apart := len(bases) // where rows that are apart begin
	for n := rows; length < place; n, length = 2*n, 2*length {
		bases = append(bases, basis(slow, int32(n)))
	}
	full := len(bases)
	for n := 1; n < rows; n *= 2 {
		bases = append(bases, basis(slow, int32(n)))
	}
	wide := operand.KWidth == 8
	padding := 8
	alongK := fast == 1-operand.OpIdx
	switch {
	case alongK && side == 16 && wide:
		padding = 32
	case alongK && side == 32:
		// Row 16 goes where lanes that read at once find other banks.
		other := 7
		if wide {
			padding, other = 16, 8
		}
		if apart < full {
			bases[other], bases[apart] = bases[apart], bases[other]
		}
	case !alongK && side == 16:
		padding = 32
		if wide { // lanes go on with row 8 after row 3
			last := len(bases) - 1
			bases[last], bases[last-1] = bases[last-1], bases[last]
		}
	case !alongK:
		padding = 64
	}
	return &layout.PaddedShared{Intervals: []int{place}, Paddings: []int{padding / elemBytes}, Offset: spread(bases, t.Shape), Block: layout.Bases{}}
}

// spread repeats a tile, dimension by dimension, until it covers the shape; what goes beyond
// it is left out.
func spread(tile layout.Bases, shape []int64) layout.Bases {
	covered := slices.Repeat([]int64{1}, len(shape))
	var bases layout.Bases
	for _, v := range tile {
		for d, n := range v {
			if n > 0 && int64(n) < shape[d] {
				bases = append(bases, v)
				covered[d] *= 2
			}
		}
	}
	for d := range shape {
		for ; covered[d] < shape[d]; covered[d] *= 2 {
			v := make([]int32, len(shape))
			v[d] = int32(covered[d])
			bases = append(bases, v)
		}
	}
	return bases
}
