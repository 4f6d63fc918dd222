package text_test

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestInferAgrees: where a table has a rule for the result types, it gives the
// types that Triton's own files have.
func TestInferAgrees(t *testing.T) {
	dir := os.Getenv("TRITONC_LAW_DIR")
	if dir == "" {
		dir = "testdata/law"
	}
	checked, failed := 0, 0
	for _, path := range irFiles(t, dir) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sections(path, src) {
			f := mustParse(t, string(p.src))
			ir.Walk(f.Op, func(op *ir.Operation) ir.WalkResult {
				infer := op.Def().Infer
				if infer == nil || failed > 20 {
					return ir.Advance
				}
				checked++
				got, err := infer(&ir.State{Ctx: op.Context(), Operands: op.OperandValues(), Attrs: op.Attrs(), Segments: op.Segments()})
				same := err == nil && len(got) == op.NumResults()
				for i := 0; same && i < len(got); i++ {
					same = got[i] == op.Result(i).Type()
				}
				if !same {
					failed++
					s := ""
					for _, g := range got {
						s += " " + text.TypeString(op.Context(), g)
					}
					t.Errorf("%s:%d: %s: %v%s", p.name, f.Pos(op).Line, op.Name(), err, s)
				}
				return ir.Advance
			})
		}
	}
	t.Logf("%d operations checked", checked)
}
