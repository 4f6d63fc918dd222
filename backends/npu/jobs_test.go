package npu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/mlircpu"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// refused are the reference kernels that have no form for NPUs, and why.
var refused = map[string]string{
	"inline_asm": "tt.elementwise_inline_asm has no form for NPUs",
	"debugging":  "tt.print has no form for NPUs",
}

// TestReferenceKernels compiles every reference kernel. MLIR verifies what comes out, and
// lowers it to LLVM's dialect by passes of its own.
func TestReferenceKernels(t *testing.T) {
	opt, _ := needMLIR(t)
	jobs := refkernels.Jobs(t, kernelDir)
	for _, j := range jobs {
		t.Run(j.Name, func(t *testing.T) {
			path := filepath.Join(kernelDir, j.File)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{}
			if _, debug := j.Options["debug"]; debug {
				values["debug"] = true
			}
			artifact, err := compile(t, path, src, j.Kernel, j.Signature, values)
			if why := refused[j.Name]; why != "" {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Fatalf("error %v, want %q", err, why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			input := filepath.Join(t.TempDir(), j.Name+".mlir")
			if err := os.WriteFile(input, artifact, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(opt, append([]string{"-o", os.DevNull, input}, mlircpu.Pipeline(string(artifact))...)...).CombinedOutput(); err != nil {
				t.Fatalf("mlir-opt-22: %v\n%s", err, out)
			}
		})
	}
	if len(jobs)-len(refused) < 45 {
		t.Errorf("%d of %d reference kernels have a form for NPUs", len(jobs)-len(refused), len(jobs))
	}
}
