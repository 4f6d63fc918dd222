package buffers

import (
	"github.com/tritonc/tritonc/core/analysis/ranges"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// FoldTrueCmpI replaces comparisons of scalars that the ranges of their operands decide,
// those that tl.assume states included:
//
//	%p = tt.get_program_id x
//	%c = arith.cmpi sge, %p, 0      →   %c = true
//
// It runs where assumptions have served their purpose.
var FoldTrueCmpI = &pass.Pass{
	Name:    "tritonamdgpu-fold-true-cmpi",
	Doc:     "replace comparisons that ranges of integers decide",
	Example: foldTrueCmpIExample,
	Run: func(r *pass.Run) error {
		known := ranges.Analyze(r.Module, views()...)
		var decided []arith.CmpIOp
		var as []int64
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if !op.Is(arith.CmpI) || isTensor(arith.AsCmpI(op).Result()) {
				return ir.Advance
			}
			c := arith.AsCmpI(op)
			if holds, ok := known.Of(c.Lhs()).Compare(c.Predicate(), known.Of(c.Rhs())); ok {
				v := int64(0)
				if holds {
					v = 1
				}
				decided, as = append(decided, c), append(as, v)
			}
			return ir.Advance
		})
		b := ir.NewBuilder(r.Module.Context())
		for i, c := range decided {
			b.At(c.Op)
			c.Result().ReplaceAllUsesWith(arith.Int(b, c.Result().Type(), as[i]))
			c.Op.Erase()
		}
		r.Count("comparisons", len(decided))
		return nil
	},
}
