package buffers

import (
	"fmt"

	"github.com/tritonc/tritonc/core/analysis/ranges"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// TestRangeAnalysis tells in remarks the range of each integer, which of them are not
// negative, comparisons that always hold, and how often a loop's body is executed in all.
var TestRangeAnalysis = &pass.Pass{
	Name:    "test-tritonamdgpu-range-analysis",
	Doc:     "tell the ranges of integers in remarks",
	Example: testRangeAnalysisExample,
	Run: func(r *pass.Run) error {
		known := ranges.Analyze(r.Module, views()...)
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Func) && op.Body() != nil {
				tellRanges(r, known, op, "arg", op.Body().Args())
			}
			tellRanges(r, known, op, "result", op.Results())
			if op.Is(arith.CmpI) {
				c := arith.AsCmpI(op)
				if holds, decided := known.Of(c.Lhs()).Compare(c.Predicate(), known.Of(c.Rhs())); decided && holds {
					r.Say(op, "result is true")
				}
			}
			if op.Is(scf.For) {
				if n, ok := totalTrips(known, op); ok {
					r.Say(op, "inferred total trip count: %d", n)
				}
			}
			return ir.Advance
		})
		return nil
	},
}

// tellRanges tells of values of op, arguments or results, by their number if there are
// several.
func tellRanges(r *pass.Run, known *ranges.Result, op *ir.Operation, what string, values []*ir.Value) {
	for i, v := range values {
		if !isInteger(v.Type()) {
			continue
		}
		name := ""
		if len(values) > 1 {
			name = fmt.Sprintf("%s %d: ", what, i)
		}
		x := known.Of(v)
		low, high := x.Unsigned(v.Type())
		r.Say(op, "%sunsigned : [%d, %d] signed : [%d, %d]", name, low, high, x.Low, x.High)
		if what == "result" && x.Low >= 0 {
			r.Say(op, "%snon-neg", name)
		}
	}
}

// isInteger reports whether t is an integer, or a tensor of integers.
func isInteger(t ir.Type) bool {
	if tensor, ok := t.(*ir.TensorType); ok {
		t = tensor.Elem
	}
	switch t.(type) {
	case *ir.IntegerType, *ir.IndexType:
		return true
	}
	return false
}

// totalTrips is how often the body of a loop is executed at most, in all iterations of the
// loops around it.
func totalTrips(known *ranges.Result, loop *ir.Operation) (n int64, ok bool) {
	n = 1
	for ; loop != nil; loop = loop.ParentOf(scf.For) {
		trips, ok := known.Trips(loop)
		if !ok || trips > 0 && n > (1<<62)/trips {
			return 0, false
		}
		n *= trips
	}
	return n, true
}
