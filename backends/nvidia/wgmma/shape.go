package wgmma

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
)

// Columns of one instruction: multiples of eight up to 256, of integers multiples
// of sixteen up to 224 and eight.
const (
	mostN    = 256
	mostIntN = 224
	stepN    = 8
)

// instrShape is the rows of a warp, the columns and the depth of the instructions
// that compute d: as many columns as there are, unless there are more warps than
// rows for them, which then divide the columns.
func instrShape(d dots.Dot) []int {
	shape := d.Shape()
	a, _, _ := d.Elems()
	rowWarps := max(int(shape[0])/warpRows, 1)
	most := max(int(shape[1])/max(d.Warps/rowWarps, 1), stepN)
	for n := mostN; n >= stepN; n -= stepN {
		if n <= most && int(shape[1])%n == 0 && hasN(a, n) {
			return []int{warpRows, n, kBits / ir.BitWidth(a)}
		}
	}
	panic("BUG: wgmma: no instruction for a dot that it takes")
}

// hasN reports whether there are instructions of n columns for such operands.
func hasN(a ir.Type, n int) bool {
	return !ir.IsInt(a, 8) || n == stepN || n <= mostIntN && n%16 == 0
}

// warps is how many warps are side by side along each dimension of d's result. Those
// of a dot that another one uses, however remotely, are all below one another, so
// that what is between the two, such as a softmax, stays within a warp. Others have
// rows first, groups of four at a time, and then columns.
func (u Unit) warps(d dots.Dot, instr []int) []int {
	if u.feedsDot(d) {
		return []int{d.Warps, 1}
	}
	rows := d.Shape()[0]
	w := []int{groupWarps, 1}
	for w[0]*w[1] < d.Warps {
		if rows > int64(instr[0]*w[0]) {
			w[0] *= 2
		} else {
			w[1] *= 2
		}
	}
	return w
}

// feedsDot reports whether a dot depends on d's result, not counting what loops carry
// to their next iteration. What is inside an operation that uses the result counts.
func (u Unit) feedsDot(d dots.Dot) bool {
	seen := make(map[*ir.Operation]bool)
	var feeds func(op *ir.Operation) bool
	users := func(v *ir.Value) bool {
		for user := range v.Users() {
			if !seen[user] && feeds(user) {
				return true
			}
		}
		return false
	}
	feeds = func(op *ir.Operation) bool {
		seen[op] = true
		if op.Is(tt.DotScaled) || dots.IsDot(u, op) {
			return true
		}
		for _, r := range op.Regions() {
			for b := range r.Blocks() {
				for o := range b.Ops() {
					if !seen[o] && feeds(o) {
						return true
					}
				}
			}
		}
		for _, v := range op.Results() {
			if users(v) {
				return true
			}
		}
		return false
	}
	return users(d.Result())
}
