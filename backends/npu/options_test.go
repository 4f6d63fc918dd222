package npu

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func parse(t *testing.T, arch, given string) (map[string]any, error) {
	t.Helper()
	resp, err := local.Kit.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: sdk.Target{Backend: "npu", Arch: arch}, OptionsJSON: given})
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, json.Unmarshal([]byte(resp.OptionsJSON), &values)
}

// TestDefaults: triton-ascend's, and what differs from one chip to the other.
func TestDefaults(t *testing.T) {
	for _, tt := range []struct{ arch, option, want string }{
		{"ascend910b3", "num_warps", "32"},
		{"ascend910b3", "warp_size", "32"},
		{"ascend910b3", "num_stages", "1"},
		{"ascend910b3", "multibuffer", "true"},
		{"ascend950pr_9579", "multibuffer", "false"},
		{"ascend910b3", "arch", `"Ascend910B3"`},
		{"Ascend910B3", "arch", `"Ascend910B3"`},
		{"ascend910b3", "default_dot_input_precision", `"ieee"`},
		{"ascend910b3", "allowed_dot_input_precisions", `["ieee","hf32","tf32","tf32x3"]`},
	} {
		values, err := parse(t, tt.arch, "{}")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(values[tt.option]); string(got) != tt.want {
			t.Errorf("%s: %s is %s, want %s", tt.arch, tt.option, got, tt.want)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, tt := range []struct{ arch, given, want string }{
		{"ascend910b3", `{"num_warps": 3}`, "3 is not a power of two between 1 and 64"},
		{"ascend910b3", `{"warp_size": 64}`, "64; on npu:ascend910b3 it is 32"},
		{"ascend910b3", `{"num_ctas": 2}`, "npu:ascend910b3 has no clusters, so it must be 1, not 2"},
		{"ascend910b3", `{"num_stages": -1}`, "-1 is negative"},
		{"ascend910b3", `{"default_dot_input_precision": "bf16x3"}`, "tf32"},
		{"ascend910b3", `{"ir_override": "k.ttgir"}`, "does not end in .ttir"},
		{"ascend910b3", `{"kpack": 2}`, "kpack"},
		{"ascend910b5", `{}`, "the npu backend does not compile for npu:ascend910b5"},
		{"ASCEND910B3", `{}`, "that chip is npu:ascend910b3"},
	} {
		_, err := parse(t, tt.arch, tt.given)
		if err == nil {
			t.Errorf("%s %s: no error", tt.arch, tt.given)
			continue
		}
		text, _ := json.Marshal(err)
		if !strings.Contains(err.Error()+string(text), tt.want) {
			t.Errorf("%s %s: %v (%s), want %q", tt.arch, tt.given, err, text, tt.want)
		}
	}
}

// TestStages: each stage has what its passes need of the one before.
func TestStages(t *testing.T) {
	c, err := chipOf(sdk.Target{Backend: "npu", Arch: "ascend910b3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan(c, options{NumWarps: 32}).Check(); err != nil {
		t.Error(err)
	}
}
