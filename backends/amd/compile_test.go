package amd

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/internal/inprocess"
	"github.com/tritonc/tritonc/internal/kerneltest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// local is the backend without a process around it.
var local = inprocess.Backend{Kit: New(), Settings: map[string]string{"verify_passes": "1"}}

// compile takes a kernel of a Python file to a stage, the whole way through core.
// Signature is that of the flag -s of tritonc.
func compile(t *testing.T, chip, path string, source []byte, kernel, signature, stage string, values map[string]any) (*core.Kernel, error) {
	t.Helper()
	a, err := archOf(sdk.Target{Backend: backendName, Arch: chip})
	if err != nil {
		return nil, err
	}
	target := core.Target{Backend: backendName, Arch: chip, WarpSize: a.chip.Lanes}
	opts := &core.Options{
		Select: func(context.Context, core.Target) (core.Backend, core.Target, error) { return local, target, nil },
		Values: values, Stages: []string{stage}, AllowUnlaunchable: true,
	}
	variants, err := core.Variants(t.Context(), &core.Source{Path: path, Text: source}, target, opts, core.Want{Kernel: kernel, Signature: signature})
	if err != nil {
		return nil, err
	}
	return core.Compile(t.Context(), variants[0], target, opts)
}

// kernelDir holds the reference kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// runFrom runs stages on a text.
func runFrom(t *testing.T, chip, first, last, name, text string) (sdk.RunStagesResponse, error) {
	t.Helper()
	target := sdk.Target{Backend: backendName, Arch: chip}
	parsed, err := local.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	return local.RunStages(t.Context(), sdk.RunStagesRequest{
		Target: target, OptionsJSON: parsed.OptionsJSON, First: first, Last: last, Want: []string{last}, InputName: name, Input: []byte(text),
	})
}

// needTools skips a test where tools of LLVM are missing.
func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"llc-22", "llvm-mc-22", "ld.lld-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: there is nothing to make code objects with", tool)
		}
	}
}

// TestPingpong: a matmul for gfx942 is scheduled by block-pingpong, as by Triton with its
// default options; one for other chips is not.
func TestPingpong(t *testing.T) {
	d := kerneltest.Dot{A: "fp16", B: "fp16", Acc: "float32", M: 128, N: 128, Block: 64}
	for _, a := range archs {
		k, err := compile(t, a.chip.Name, "k.py", []byte(d.Source()), "k", "*fp16:16, *fp16:16, *fp32:16, i32:16, M=128, N=128, B=64", stageTTGIR, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(string(k.Artifact(stageTTGIR).Data), "rocdl.s.setprio"), a.chip == &chip.GFX942; got != want {
			t.Errorf("%s: setprio in the stage ttgir: %v", a.chip.Name, got)
		}
	}
}
