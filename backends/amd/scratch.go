package amd

import (
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// paddedScratch marks conversions whose scratch memory has padded rows in Triton's lowering.
// The lowering here permutes elements of rows instead, and converts part by part, marked or
// not.
const paddedScratch = "amdg.use_padded_scratch_shmem"

// lowered is the option by which a pass counts scratch memory.
var lowered = pass.Option{Name: "lowered", Doc: "count scratch memory as the lowering takes it, with large conversions part by part; else as Triton's passes report it", Default: false}

// scratchOf tells how much scratch memory operations of a module need: with the option
// lowered on the chip, else by Triton's count.
func scratchOf(r *pass.Run, m *ir.Operation, c *chip.Chip) (allocation.Scratch, error) {
	if r.Bool(lowered.Name) {
		return lower.Scratch(m, &gpu.Target{Chip: c})
	}
	neutral := allocation.Neutral(r.Place)
	return func(op *ir.Operation) (size, align int, err error) {
		size, align, err = neutral(op)
		if err == nil && size > 0 && op.HasAttr(paddedScratch) {
			v := ttg.AsConvertLayout(op)
			size = paddedBytes(tensors.Type(v.Src()), tensors.Type(v.Result()))
		}
		return size, align, err
	}, nil
}

// mostBits is what a thread moves to or from LDS at once.
const mostBits = 128

// paddedBytes is the scratch memory of a conversion in Triton's padded way: the smallest
// tile that both sides repeat, its rows longer by what a thread moves at once.
func paddedBytes(src, dst *ir.TensorType) int {
	from, to := tensors.Linear(src), tensors.Linear(dst)
	tile := repeatedTile(from)
	for d, n := range repeatedTile(to) {
		tile[d] = max(tile[d], n)
	}
	row, inner := to.Order()[0], len(tile)-1
	write, read := 1, 1
	if row == inner {
		read = to.Contig(layout.TensorDim(row))
		if from.Order()[0] == inner {
			write = from.Contig(layout.TensorDim(row))
		}
	}
	size := 1
	for _, n := range tile {
		size *= n
	}
	width := ir.BitWidth(src.Elem)
	if size != tile[row] {
		size += size / tile[row] * min(max(write, read), tile[row], mostBits/width)
	}
	return size * width / 8
}

// repeatedTile is the shape of what registers repeat: the last of them move by half of the
// tensor along a dimension, then by half of that half, and then along another one.
func repeatedTile(l layout.Layout) []int {
	shape := make([]int, len(l.Outs()))
	for d, n := range l.Shape() {
		shape[d] = int(n)
	}
	registers := l.BasesOf(layout.Register)
	done := make([]bool, len(shape))
	last := -1
	for _, v := range slices.Backward(registers) {
		d := slices.IndexFunc(v, func(x int32) bool { return x != 0 })
		if d < 0 || done[d] || bits.OnesCount32(uint32(v[d])) != 1 || 2*int(v[d]) != shape[d] {
			break
		}
		if last >= 0 && last != d {
			done[last] = true
		}
		last = d
		shape[d] /= 2
	}
	return shape
}
