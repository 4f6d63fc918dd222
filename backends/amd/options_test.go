package amd

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func parse(chip, given string) (map[string]any, error) {
	resp, err := local.Kit.ParseOptions(context.Background(), sdk.ParseOptionsRequest{Target: sdk.Target{Backend: backendName, Arch: chip}, OptionsJSON: given})
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, json.Unmarshal([]byte(resp.OptionsJSON), &values)
}

// TestDefaults: what differs from one target to the other.
func TestDefaults(t *testing.T) {
	for _, c := range []struct{ chip, option, want string }{
		{"gfx942", "warp_size", `64`},
		{"gfx1100", "warp_size", `32`},
		{"gfx942", "arch", `"gfx942"`},
		{"gfx942", "num_stages", `2`},
		{"gfx942", "kpack", `1`},
		{"gfx942", "default_dot_input_precision", `"tf32"`},
		{"gfx950", "default_dot_input_precision", `"ieee"`},
		{"gfx942", "allowed_dot_input_precisions", `["ieee","bf16x3","bf16x6","tf32"]`},
		{"gfx90a", "allowed_dot_input_precisions", `["ieee","bf16x3","bf16x6"]`},
		{"gfx950", "deprecated_fp8_dot_operand_dtypes", `["fp8e4b8","fp8e5b16"]`},
		{"gfx1200", "supported_fp8_dtypes", `["fp8e4b8","fp8e4nv","fp8e5","fp8e5b16"]`},
	} {
		values, err := parse(c.chip, "{}")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(values[c.option]); string(got) != c.want {
			t.Errorf("%s: %s is %s, want %s", c.chip, c.option, got, c.want)
		}
	}
}

// TestRefusedOptions: values of the right type that are wrong, and targets that are not there.
func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct{ chip, given, want string }{
		{"gfx942", `{"num_warps":32}`, "option num_warps: 32 is not a power of two between 1 and 16"},
		{"gfx1100", `{"num_warps":12}`, "option num_warps: 12 is not a power of two between 1 and 32"},
		{"gfx942", `{"num_ctas":2}`, "hip:gfx942 has no clusters"},
		{"gfx942", `{"warp_size":32}`, "on hip:gfx942 it is 64"},
		{"gfx942", `{"matrix_instr_nonkdim":4}`, "4 is none of 0, 16, 32"},
		{"gfx942", `{"kpack":4}`, "4 is neither 1 nor 2"},
		{"gfx942", `{"waves_per_eu":-1}`, "-1 is not between 0 and 16"},
		{"gfx942", `{"schedule_hint":"attention,fast"}`, `"fast" is none of none, attention`},
		{"gfx90a", `{"default_dot_input_precision":"tf32"}`, "default_dot_input_precision"},
		{"gfx90a", `{"use_async_copy":true}`, "hip:gfx90a has no instructions that copy to LDS"},
		{"gfx1100", `{"use_block_pingpong":true}`, "hip:gfx1100 has no MFMA"},
		{"gfx942", `{"kpakc":2}`, "did you mean kpack"},
		{"gfx906", `{}`, "its targets are hip:gfx90a, hip:gfx942, hip:gfx950, hip:gfx1100, hip:gfx1200"},
		{"gfx942", `{"skip_passes":["convert-triton-to-tritongpu"]}`, "option skip_passes"},
	} {
		_, err := parse(c.chip, c.given)
		var d *sdk.Diagnostic
		text := ""
		if err != nil {
			text = err.Error()
			if list, ok := err.(sdk.Diagnostics); ok {
				d = &list[0]
			} else {
				d, _ = err.(*sdk.Diagnostic)
			}
		}
		if d != nil {
			text += " " + d.Help
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %q does not contain %q", c.chip, c.given, text, c.want)
		}
	}
}

// TestPlan: each pass has what it needs.
func TestPlan(t *testing.T) {
	b := New()
	for _, a := range archs {
		target := sdk.Target{Backend: backendName, Arch: a.chip.Name}
		for _, given := range []string{`{}`, `{"num_stages":1}`, `{"num_stages":4,"num_warps":8}`} {
			parsed, err := b.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: given})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := b.Plan(target, parsed.OptionsJSON)
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Check(); err != nil {
				t.Errorf("%s: %s: %v", target, given, err)
			}
		}
	}
}
