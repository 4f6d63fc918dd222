package mma

import (
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// Buffer permutes rows so that the eight rows that ldmatrix reads at once are in
// different banks. ldmatrix cannot transpose elements of every width while it reads;
// of a transposed buffer the two directions exchange their roles.
func (Unit) Buffer(operand *layout.DotOp, b dots.Buffer) layout.Shared {
	if _, ok := operand.Parent.(*layout.NvidiaMMA); !ok {
		return dots.Plain(b.Order)
	}
	// A row of shared memory is lineBits wide: what all banks serve at once.
	const lineBits, matrixRows = 1024, 8
	k := len(b.Shape) - 1 - operand.OpIdx
	perPhase := max(lineBits/(b.Bits*int(b.Shape[b.Order[0]])), 1)
	vec, stride := 4*operand.KWidth, matrixRows
	if b.Transposed {
		vec, stride = stride, vec
	}
	if b.Order[0] != k {
		vec, stride = stride, vec
	}
	maxPhase := max(max(min(stride, lineBits/(vec*b.Bits)), 1)/perPhase, 1)
	return &layout.SwizzledShared{Vec: vec, PerPhase: perPhase, MaxPhase: maxPhase, Order: b.Order}
}
