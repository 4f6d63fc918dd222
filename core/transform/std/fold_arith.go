package std

import (
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
)

// FoldArith folds operations, erases dead ones, and brings those of arith into canonical
// form, as pipelining wants it between its steps.
var FoldArith = &pass.Pass{
	Name:    "fold-arith",
	Doc:     "fold operations and bring those of arith into canonical form",
	Example: foldArithExample,
	Run: func(r *pass.Run) error {
		set := rewrite.NewSet(arithPatterns(), sumPatterns())
		rewrite.Greedy(r.Module, set, rewrite.Options{BottomUp: true, Count: func(name string) { r.Count(name, 1) }})
		return nil
	},
}
