package main

import (
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestPlan holds that each pass has what it needs, whatever the options.
func TestPlan(t *testing.T) {
	b := newBackend()
	target := sdk.Target{Backend: "gcn", Arch: "gfx90a"}
	for _, given := range []string{`{}`, `{"num_warps":1}`, `{"num_warps":16,"num_stages":3}`} {
		options, err := b.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: given})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := b.Plan(target, options.OptionsJSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Check(); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
	for _, wrong := range []string{`{"num_warps":3}`, `{"num_warps":32}`, `{"warps":4}`, `{"num_warps":"four"}`} {
		if _, err := b.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: wrong}); err == nil {
			t.Errorf("the options %s are taken", wrong)
		}
	}
}
