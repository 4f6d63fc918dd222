package dots

import (
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// SpreadWarps is how many warps are side by side along each dimension of d's
// result; tile is the rows and columns that one instruction of a warp computes.
// Dots that feed one another keep rows within a warp, so that the result
// of one is the operand of the next without crossing warps, unless results are
// wider than tall: those of the first dot, or, as in Triton, of the last where
// there are too few rows for all warps to have some of their own. Dots that the unit does
// not take do not count, nor, as in Triton, do those after d that another unit will
// multiply, of which apart, unless it is nil, holds. Batches have a warp each; else the
// tile of a warp is made as square as it can be, in units of the instruction's tile.
func SpreadWarps(d Dot, tile [2]int, takes, apart func(Dot) bool) []int {
	warps, shape := d.Warps, d.Shape()
	if len(shape) == 3 {
		return []int{warps, 1, 1}
	}
	chained, last := false, d.Result()
	short := int(shape[0]) < warps*tile[0]
	for other := range d.Chain(takes) {
		t := tensors.Type(other)
		if len(t.Shape) != len(shape) || apart != nil && d.isBefore(other) && apart(d.other(other.Def())) {
			continue
		}
		if e, ok := encoding.Get(t).(layout.Accumulator); ok {
			return e.Warps()
		}
		chained = true
		short = short || int(tensors.PerCTA(t)[0]) < warps*tile[0]
		if d.order[other.Def()] > d.order[last.Def()] {
			last = other
		}
	}
	if chained {
		if short {
			shape = tensors.PerCTA(tensors.Type(last))
		}
		if shape[0] >= shape[1] {
			return []int{warps, 1}
		}
		return []int{1, warps}
	}
	return SquareWarps(shape, warps, tile)
}

// SquareWarps is how many warps are side by side along the rows and columns of a result
// of that shape so that the part of each is as square as can be, in units of tile.
func SquareWarps(shape []int64, warps int, tile [2]int) []int {
	spread := []int{1, 1}
	left := [2]int{(int(shape[0]) + tile[0] - 1) / tile[0], (int(shape[1]) + tile[1] - 1) / tile[1]}
	for spread[0]*spread[1] < warps {
		dim := 0
		if left[0] < left[1] {
			dim = 1
		}
		spread[dim] *= 2
		left[dim] = max(left[dim]/2, 1)
	}
	return spread
}

// isBefore reports whether another dot, by its result, is a later one of those listed with
// d, and has no matrix unit yet.
func (d Dot) isBefore(other *ir.Value) bool {
	at, listed := d.order[other.Def()]
	return listed && at > d.order[d.Op]
}
