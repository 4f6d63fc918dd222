package npu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/refkernels"
)

// opt19 are the programs that mlir-opt of LLVM 19 may be.
var opt19 = []string{"mlir-opt-19", "/usr/lib/llvm-19/bin/mlir-opt"}

// TestMLIR19: MLIR 19 verifies what comes out in its syntax, which it does not where the
// option has its default.
func TestMLIR19(t *testing.T) {
	var opt string
	for _, name := range opt19 {
		if path, err := exec.LookPath(name); err == nil {
			opt = path
			break
		}
	}
	if opt == "" {
		t.Skip("skipped: mlir-opt-19 is not installed (Debian's package mlir-19-tools)")
	}
	older := 0
	for _, j := range refkernels.Jobs(t, kernelDir) {
		if refused[j.Name] != "" {
			continue
		}
		path := filepath.Join(kernelDir, j.File)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []int64{19, 22} {
			artifact, err := compile(t, path, src, j.Kernel, j.Signature, map[string]any{"mlir": version})
			if err != nil {
				t.Fatal(err)
			}
			input := filepath.Join(t.TempDir(), j.Name+".mlir")
			if err := os.WriteFile(input, artifact, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(opt, "-o", os.DevNull, input).CombinedOutput()
			switch {
			case version == 19 && err != nil:
				t.Errorf("%s: mlir-opt-19: %v\n%s", j.Name, err, out)
			case version == 22 && err != nil && strings.Contains(string(out), "bufferization.to_tensor"):
				older++
			case version == 22 && err != nil:
				t.Errorf("%s: mlir-opt-19 refuses something else than to_tensor: %v\n%s", j.Name, err, out)
			}
		}
	}
	if older == 0 {
		t.Error("mlir-opt-19 takes the syntax of MLIR 22, too")
	}
}
