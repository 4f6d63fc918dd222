package memory_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/memory"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	all := []*pass.Pass{memory.AllocateShared, memory.AllocateGlobal}
	passtest.Run(t, "testdata", all, all...)
}

// TestErrors: the memory of a function that calls itself has no bound.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		pass      *pass.Pass
		src, want string
	}{
		{memory.AllocateGlobal, "module { tt.func public @k() { tt.call @k() : () -> () tt.return }}", `function "k" calls itself`},
		{memory.AllocateShared, "module { module { tt.func public @k() { tt.call @k() : () -> () tt.return }}}", `function "k" calls itself`},
		{memory.AllocateShared, `module { tt.func public @k(%x: tensor<8xi32>) { %y = tt.histogram %x : tensor<8xi32> -> tensor<8xi32>
			"tt.reduce"(%y) <{axis = 0 : i32}> ({
			^bb0(%a: i32, %b: i32):
				tt.reduce.return %a : i32
			}) : (tensor<8xi32>) -> i32
			tt.return }}`, "tt.reduce has a tensor without a layout"},
	} {
		m := passtest.Module(t, "m.mlir", c.src)
		r := pass.Runner{CheckNeeds: true}
		if _, err := r.Run(m, []pass.Row{{Pass: c.pass}}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.pass.Name, err, c.want)
		}
	}
}
