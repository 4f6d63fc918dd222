package sass_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/sass"
)

// TestPrepared: no machine code that scripts/device-tests.sh prepared has a fault.
// The folder is that of TRITONC_KERNELS, the architecture TRITONC_KERNELS_CODE.
func TestPrepared(t *testing.T) {
	dir := os.Getenv(kerneltest.StoreEnv)
	if dir == "" {
		t.Skipf("%s names no folder of kernels to check", kerneltest.StoreEnv)
	}
	tool, err := sass.Nvdisasm()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := kerneltest.StoredBinaries(dir)
	if err != nil {
		t.Fatal(err)
	}
	var cubins []sass.Cubin
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		cubins = append(cubins, sass.Cubin{name, stored[name]})
	}
	arch := os.Getenv(kerneltest.StoreCodeEnv)
	if arch == "" {
		arch = "90"
	}
	arch = sass.Arch(arch)
	t.Logf("%d kernels for %s", len(cubins), arch)
	for part := range slices.Chunk(cubins, 200) {
		faults, err := sass.Check(t.Context(), tool, arch, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults {
			t.Error(f)
		}
	}
}
