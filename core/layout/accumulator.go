package layout

// Accumulator is the encoding of the result of a matrix instruction, and of the
// accumulator that it adds to. As the parent of a DotOp it says which operands the
// instruction reads from registers.
type Accumulator interface {
	Encoding
	// Warps is the number of warps side by side along each dimension of the tensor.
	// It must not be changed.
	Warps() []int
}

// Warps is e.WarpsPerCTA.
func (e *NvidiaMMA) Warps() []int { return e.WarpsPerCTA }

// Warps is e.WarpsPerCTA.
func (e *AMDMFMA) Warps() []int { return e.WarpsPerCTA }

// Warps is e.WarpsPerCTA.
func (e *AMDWMMA) Warps() []int { return e.WarpsPerCTA }
