package transform

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// SlicePatterns fold concat and extract_slice: one tensor alone, and a part that is one of
// the tensors put together. canonicalize has them.
func SlicePatterns() []rewrite.Pattern {
	return []rewrite.Pattern{
		{Name: "concat-of-one", Root: amdg.Dialect().Op("amdg.concat"), Apply: concatOfOne},
		{Name: "slice-of-concat", Root: amdg.Dialect().Op("amdg.extract_slice"), Apply: sliceOfConcat},
	}
}

func concatOfOne(rw *rewrite.Rewriter, op *ir.Operation) bool {
	sources := amdg.AsConcat(op).Sources()
	if len(sources) != 1 || sources[0].Type() != op.OneResult().Type() {
		return false
	}
	rw.Replace(op, sources[0])
	return true
}

func sliceOfConcat(rw *rewrite.Rewriter, op *ir.Operation) bool {
	slice := amdg.AsExtractSlice(op)
	def := slice.Source().Def()
	if def == nil || def.Def() != amdg.Dialect().Op("amdg.concat") {
		return false
	}
	sources := amdg.AsConcat(def).Sources()
	if sources[0].Type() != op.OneResult().Type() {
		return false
	}
	part, whole := ttg.ShapeOf(sources[0].Type()), ttg.ShapeOf(def.OneResult().Type())
	n := int64(0)
	for i, at := range slice.StaticOffsets() {
		if at%part[i] != 0 {
			return false
		}
		n = n*(whole[i]/part[i]) + at/part[i]
	}
	rw.Replace(op, sources[n])
	return true
}
