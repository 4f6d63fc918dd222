package std

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
)

// Canonicalize folds, erases what is dead, and brings operations into their one
// canonical form: constants on the right, nested conversions and sums joined,
// control flow that is known resolved.
var Canonicalize = NewCanonicalize()

// NewCanonicalize makes the pass with further patterns, for dialects that this
// package does not know.
func NewCanonicalize(more ...[]rewrite.Pattern) *pass.Pass {
	set := rewrite.NewSet(append([][]rewrite.Pattern{arithPatterns(), sumPatterns(), ttPatterns(), scfPatterns()}, more...)...)
	return &pass.Pass{
		Name:    "canonicalize",
		Doc:     "fold operations, erase dead ones, and bring the others into canonical form",
		Example: canonicalizeExample,
		Run: func(r *pass.Run) error {
			o := rewrite.Options{Count: func(name string) { r.Count(name, 1) }}
			for {
				changed := rewrite.Greedy(r.Module, set, o)
				for _, region := range Branching(r.Module) {
					if simplifyCFG(region, r) {
						changed = true
					}
				}
				if !changed {
					return nil
				}
			}
		},
	}
}

// Branching are the regions inside a module that have several blocks.
func Branching(module *ir.Operation) []*ir.Region {
	var regions []*ir.Region
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		for _, r := range op.Regions() {
			if r.First() != r.Last() {
				regions = append(regions, r)
			}
		}
		return ir.Advance
	})
	return regions
}
