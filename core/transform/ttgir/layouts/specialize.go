package layouts

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// SpecializePatterns are the canonical forms of ttg.warp_specialize, for use with
// std.NewCanonicalize: it gives no result that nobody uses, and hands nothing to
// partitions that none of them uses, nor anything twice.
func SpecializePatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "specialize-unused-results", Root: ttg.WarpSpecialize, Apply: specializeUnusedResults},
		{Name: "specialize-unused-captures", Root: ttg.WarpSpecialize, Apply: specializeUnusedCaptures},
	}
}

func specializeUnusedResults(rw *rewrite.Rewriter, op *ir.Operation) bool {
	var types []ir.Type
	for _, r := range op.Results() {
		if r.HasUses() {
			types = append(types, r.Type())
		}
	}
	if len(types) == op.NumResults() {
		return false
	}
	n := rw.Create(op.Def(), ir.State{
		Operands: op.OperandValues(), Types: types, Attrs: op.Attrs(), Regions: op.NumRegions(), Segments: op.Segments(),
	})
	for i, r := range op.Regions() {
		n.Region(i).TakeBody(r)
	}
	for b := range ttg.AsWarpSpecialize(n).DefaultRegion().Blocks() {
		end := b.Terminator()
		if !end.Is(ttg.WarpYield) {
			continue
		}
		for i := op.NumResults() - 1; i >= 0; i-- {
			if !op.Result(i).HasUses() {
				end.EraseOperand(i)
			}
		}
		rw.Modified(end)
	}
	kept := 0
	for _, r := range op.Results() {
		if r.HasUses() {
			r.ReplaceAllUsesWith(n.Result(kept))
			kept++
		}
	}
	rw.Erase(op)
	rw.Modified(n)
	return true
}

func specializeUnusedCaptures(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := ttg.AsWarpSpecialize(op)
	partitions := v.PartitionOpHolder().First().Terminator().Regions()
	changed := false
	for i := len(v.ExplicitCaptures()) - 1; i >= 0; i-- {
		used := false
		if first := slices.Index(v.ExplicitCaptures(), v.ExplicitCapturesAt(i)); first < i {
			for _, r := range partitions {
				r.First().Arg(i).ReplaceAllUsesWith(r.First().Arg(first))
			}
		}
		for _, r := range partitions {
			used = used || r.First().Arg(i).HasUses()
		}
		if used {
			continue
		}
		for _, r := range partitions {
			r.First().EraseArg(i)
		}
		v.EraseExplicitCapturesAt(i)
		changed = true
	}
	if changed {
		rw.Modified(op)
	}
	return changed
}
