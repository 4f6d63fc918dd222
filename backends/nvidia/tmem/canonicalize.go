package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/rewrite"
)

// Patterns are the canonical forms of stores to tensor memory, for use with
// std.NewCanonicalize: a tensor that can be stored as it is needs no conversion.
func Patterns() []rewrite.Pattern {
	return []rewrite.Pattern{{Name: "tmem-store-of-convert", RootName: ttng.Name + ".tmem_store", Apply: storeOfConvert}}
}

func storeOfConvert(rw *rewrite.Rewriter, op *ir.Operation) bool {
	v := ttng.AsTmemStore(op)
	if !v.Src().DefIs(ttg.ConvertLayout) {
		return false
	}
	src := ttg.AsConvertLayout(v.Src().Def()).Src()
	if !fits(src.Type().(*ir.TensorType), v.Dst().Type().(*ttg.MemDescType)) {
		return false
	}
	cvt := v.Src().Def()
	v.SetSrc(src)
	rw.Modified(op)
	if rewrite.IsDead(cvt) {
		rw.Erase(cvt)
	}
	return true
}
