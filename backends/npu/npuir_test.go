package npu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/refkernels"
)

// refusedCode are the reference kernels that have a form for NPUs and no program, and why.
var refusedCode = map[string]string{
	"dot_fp64_float64_None": "the cube unit of an NPU does not multiply matrices of f64",
}

// TestReferencePrograms compiles the reference kernels to programs of a core.
func TestReferencePrograms(t *testing.T) {
	for _, j := range refkernels.Jobs(t, kernelDir) {
		if refused[j.Name] != "" {
			continue
		}
		t.Run(j.Name, func(t *testing.T) {
			path := filepath.Join(kernelDir, j.File)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = compileTo(t, stageNPUIR, path, src, j.Kernel, j.Signature, nil)
			if why := refusedCode[j.Name]; why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
				t.Errorf("error %v, want %q", err, why)
			}
		})
	}
}
