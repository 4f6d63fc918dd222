package inspect_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/inspect"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	all := inspect.Passes()
	passtest.Run(t, "testdata", all, all...)
}

// TestScratchOption refuses what is neither of the choices.
func TestScratchOption(t *testing.T) {
	rows, err := pass.Parse(inspect.Passes(), "test-print-allocation{get-scratch-size-function=Some}")
	if err != nil {
		t.Fatal(err)
	}
	m := passtest.Module(t, "m.mlir", "module {}")
	if _, err := new(pass.Runner).Run(m, rows, nil); err == nil || !strings.Contains(err.Error(), `None and ValidConstant, not "Some"`) {
		t.Errorf("got %v", err)
	}
}
