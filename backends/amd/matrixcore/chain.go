package matrixcore

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// maxSlice is how many operations the search for chained dots looks at, each way.
const maxSlice = 1024

// chained reports whether the result of dot becomes operand A of another dot of the same
// iteration, and whether its own operand A comes of another dot's result.
func chained(dot *ir.Operation) (head, tail bool) {
	region := dot.Block().Region()
	before := map[*ir.Operation]bool{}
	for list := []*ir.Value{leftOf(dot)}; len(list) > 0 && len(before) < maxSlice; list = list[1:] {
		op := list[0].Def()
		if op == nil || before[op] || op.Block().Region() != region {
			continue
		}
		before[op] = true
		if isDot(op) {
			tail = true
			break
		}
		list = append(list, op.OperandValues()...)
	}
	return IsChainHead(dot), tail
}

// isDot reports whether op is a dot, with scales or without.
func isDot(op *ir.Operation) bool { return op.Is(tt.Dot) || op.Is(tt.DotScaled) }

// leftOf is operand A of a dot.
func leftOf(dot *ir.Operation) *ir.Value {
	if dot.Is(tt.DotScaled) {
		return tt.AsDotScaled(dot).A()
	}
	return tt.AsDot(dot).A()
}

// IsChainHead reports whether the result of a dot becomes operand A of another one of the
// same iteration.
func IsChainHead(dot *ir.Operation) bool {
	region := dot.Block().Region()
	after := map[*ir.Operation]bool{dot: true}
	for list := []*ir.Operation{dot}; len(list) > 0 && len(after) < maxSlice; list = list[1:] {
		for _, r := range list[0].Results() {
			for u := range r.Users() {
				if !after[u] && u.Block().Region() == region {
					after[u] = true
					list = append(list, u)
				}
			}
		}
	}
	for op := range after {
		if op != dot && isDot(op) && after[leftOf(op).Def()] {
			return true
		}
	}
	return false
}

// spreadWarps is how many warps are side by side along each dimension of a dot's result of
// a shape; tile is the rows and columns of an instruction. Batches have a warp each. Of
// two dots that feed one another the first has whole rows in a warp, so that none crosses
// warps; the second has as many rows as there are tiles. Else the part of each warp is
// about as high as wide.
func spreadWarps(shape []int64, warps int, tile [2]int, head, tail bool) []int {
	if len(shape) == 3 {
		return []int{warps, 1, 1}
	}
	rows, columns := max(int(shape[0])/tile[0], 1), max(int(shape[1])/tile[1], 1)
	switch {
	case head:
		return []int{warps, 1}
	case tail:
		n := min(warps, rows)
		return []int{n, warps / n}
	}
	m, n := 1, 1
	for m*n < warps {
		if rows/2/m >= columns/n && m < rows {
			m *= 2
		} else {
			n *= 2
		}
	}
	if n > columns {
		m, n = n, m
	}
	return []int{m, n}
}
