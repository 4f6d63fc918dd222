package gpu64

import (
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/internal/gpu64/mfma"
)

// Lanes is the size of a warp.
const Lanes = 64

// Target implements lower.Target with the methods of the backend for AMD's GPUs, but
// with none of its capabilities.
type Target struct {
	gpu.Target
	// MFMA says that dots are computed by matrix instructions, else by multiply-adds.
	MFMA bool
}

var _ lower.Target = (*Target)(nil)

// newTarget returns the target, of gfx942.
func newTarget(mfma bool) *Target {
	return &Target{gpu.Target{Chip: &chip.GFX942}, mfma}
}

// Capabilities are none but the names of scopes, and matrix instructions if they are
// asked for: package lower does the rest.
func (t *Target) Capabilities() lower.Capabilities {
	c := lower.Capabilities{Atomics: t.Target.Capabilities().Atomics}
	if t.MFMA {
		c.Matrix = mfma.Instructions{}
	}
	return c
}
