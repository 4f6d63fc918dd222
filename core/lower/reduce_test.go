package lower

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestSingle: a reduction's region is known by its one operation only where that
// combines the region's two arguments and is what the region gives.
func TestSingle(t *testing.T) {
	for _, c := range []struct {
		body string
		want *ir.OpDef
	}{
		{"%r = arith.addi %a, %b : i32\n tt.reduce.return %r : i32", arith.AddI},
		{"%r = arith.maxsi %b, %a : i32\n tt.reduce.return %r : i32", arith.MaxSI},
		{"%r = arith.addi %a, %a : i32\n tt.reduce.return %r : i32", nil},
		{"%r = arith.addi %a, %s : i32\n tt.reduce.return %r : i32", nil},
		{"%r = arith.addi %a, %b : i32\n tt.reduce.return %a : i32", nil},
		{"%q = arith.addi %a, %b : i32\n %r = arith.addi %q, %b : i32\n tt.reduce.return %r : i32", nil},
		{"tt.reduce.return %b : i32", nil},
	} {
		src := `tt.func @f(%x: tensor<8xi32>, %s: i32) -> i32 {
  %y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    ` + c.body + `
  }) : (tensor<8xi32>) -> i32
  tt.return %y : i32
}`
		file, err := text.ParseFile(dialect.NewContext(), "f.ttir", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var reduce *ir.Operation
		ir.WalkPost(file.Op, func(op *ir.Operation) {
			if op.Is(tt.Reduce) {
				reduce = op
			}
		})
		if got := single(reduce); got != c.want {
			t.Errorf("%s: got %v, want %v", c.body, got, c.want)
		}
	}
}
