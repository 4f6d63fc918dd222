package amd

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const tooLarge = `import triton
import triton.language as tl

@triton.jit
def k(a, c, B: tl.constexpr):
    i = tl.arange(0, B)
    o = i[:, None] * B + i[None, :]
    x = tl.load(a + o)
    tl.store(c + o, tl.dot(x, tl.trans(x) * 2))
`

// TestRefusedEarly: where the host takes only a kernel that can be launched, the stages end with
// the one that finds too much LDS, before LLVM's tools; else they go on, and warn.
func TestRefusedEarly(t *testing.T) {
	k, err := compile(t, "gfx942", "k.py", []byte(tooLarge), "k", "*fp32:16, *fp32:16, B=256", stageTTGIR, nil)
	if err != nil {
		t.Fatal(err)
	}
	target := sdk.Target{Backend: backendName, Arch: "gfx942"}
	parsed, err := local.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	req := sdk.RunStagesRequest{
		Target: target, OptionsJSON: parsed.OptionsJSON, First: stageLLIR, InputName: "k.ttgir", Input: k.Artifact(stageTTGIR).Data,
	}
	const says = "of shared memory, and a block may have 65536 on hip:gfx942"

	req.Last = stageLLIR
	resp, err := local.RunStages(t.Context(), req)
	if d := resp.Diagnostics; err != nil || len(d) != 1 || d[0].Severity != sdk.Warning || !d[0].Unlaunchable || !strings.Contains(d[0].Message, says) {
		t.Errorf("it warns: %v, %v", d, err)
	}
	req.Last, req.Launchable = stageAMDGCN, true
	resp, err = local.RunStages(t.Context(), req)
	var list diag.List
	if !errors.As(err, &list) || len(list) != 1 || list[0].Severity != diag.Error || !list[0].Unlaunchable || !strings.Contains(list[0].Message, says) || len(resp.Diagnostics) > 0 {
		t.Errorf("it refuses: %v, %v", err, resp.Diagnostics)
	}
	for _, step := range resp.Timings {
		if step.Stage != stageLLIR {
			t.Errorf("it ran the stage %s", step.Stage)
		}
	}
}
