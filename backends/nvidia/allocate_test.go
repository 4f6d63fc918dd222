package nvidia

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestAllocateShared(t *testing.T) {
	passtest.Run(t, "testdata", passes, allocateShared)
	rows, err := pass.Parse(passes, "allocate-shared-memory-nv{compute-capability=70}")
	if err != nil {
		t.Fatal(err)
	}
	m := passtest.Module(t, "m.mlir", emptyFor4Warps)
	if _, err := new(pass.Runner).Run(m, rows, nil); err == nil || !strings.Contains(err.Error(), "80 or more, not 70") {
		t.Errorf("got %v", err)
	}
}

const emptyFor4Warps = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
}`
