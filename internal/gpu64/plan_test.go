package gpu64

import (
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestPlan: each pass has what it needs.
func TestPlan(t *testing.T) {
	b := New(nil)
	target := sdk.Target{Backend: backendName, Arch: arch}
	for _, given := range []string{`{}`, `{"num_stages":1}`, `{"num_stages":4,"num_warps":8}`, `{"mfma":true}`} {
		parsed, err := b.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: given})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := b.Plan(target, parsed.OptionsJSON)
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Check(); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
}
