package pipeline

import (
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// NewLiteral is New, with loops lowered as NewTestLowerLoop does.
func NewLiteral(unit dots.MatrixUnit, blocks BlockCopies) *pass.Pass {
	return newPipeline(unit, blocks, true)
}
