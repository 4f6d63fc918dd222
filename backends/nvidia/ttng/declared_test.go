package ttng

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tritonc/tritonc/core/ir/decl"
)

// TestDeclared: what is compiled in is what the JSON declares, which core reads.
func TestDeclared(t *testing.T) {
	want, err := decl.Parse([]byte(Declaration))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*want, declared, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("declared is another (-JSON +declared):\n%s", d)
	}
}
