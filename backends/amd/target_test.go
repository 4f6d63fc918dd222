package amd

import (
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// TestPassArch: passes run on modules for chips that nothing is compiled for.
func TestPassArch(t *testing.T) {
	for arch, want := range map[string]string{
		"gfx90a": "gfx90a", "gfx942": "gfx942", "gfx1130": "gfx1100", "gfx1250": "gfx1200", "gfx1201": "gfx1200", "gfx940": "gfx950",
		"gfx803": "", "90": "", "gfx": "",
	} {
		a, err := passArch(sdk.Target{Backend: backendName, Arch: arch})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: %s, want none", arch, a.chip.Name)
		case want != "" && (err != nil || a.chip.Name != want):
			t.Errorf("%s: %v, %v, want %s", arch, a.chip, err, want)
		}
	}
	if _, err := passArch(sdk.Target{Backend: "cuda", Arch: "gfx942"}); err == nil {
		t.Error("a target of another backend is taken")
	}
}
