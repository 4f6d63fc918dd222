package npu

import (
	"context"
	"os/exec"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/internal/inprocess"
)

// local is the backend without a process around it.
var local = inprocess.Backend{Kit: New(), Settings: map[string]string{"verify_passes": "1"}}

// compile takes a kernel of a Python file to the stage ttadapter. Signature is that of the
// flag -s of tritonc.
func compile(t *testing.T, path string, source []byte, kernel, signature string, values map[string]any) ([]byte, error) {
	t.Helper()
	return compileTo(t, stageTTAdapter, path, source, kernel, signature, values)
}

// compileTo takes it to any stage.
func compileTo(t *testing.T, stage, path string, source []byte, kernel, signature string, values map[string]any) ([]byte, error) {
	t.Helper()
	target := core.Target{Backend: "npu", Arch: "ascend910b3", WarpSize: warpSize}
	opts := &core.Options{
		Select: func(context.Context, core.Target) (core.Backend, core.Target, error) { return local, target, nil },
		Values: values, Stages: []string{stage}, AllowUnlaunchable: true,
	}
	variants, err := core.Variants(t.Context(), &core.Source{Path: path, Text: source}, target, opts, core.Want{Kernel: kernel, Signature: signature})
	if err != nil {
		return nil, err
	}
	k, err := core.Compile(t.Context(), variants[0], target, opts)
	if err != nil {
		return nil, err
	}
	return k.Artifacts[len(k.Artifacts)-1].Data, nil
}

// needMLIR skips a test where MLIR's tools are missing, and returns their paths.
func needMLIR(t *testing.T) (opt, runner string) {
	t.Helper()
	for tool, path := range map[string]*string{"mlir-opt-22": &opt, "mlir-runner-22": &runner} {
		found, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("skipped: %s is not installed (LLVM's package mlir-22-tools)", tool)
		}
		*path = found
	}
	return opt, runner
}
