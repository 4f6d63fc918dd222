package main

import (
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestCompile asks as tritonc does.
func TestCompile(t *testing.T) {
	c := sdktest.Start(t, backend{})
	req := sdk.RunStagesRequest{
		Target: sdk.Target{Backend: "acme", Arch: "v1", WarpSize: 1}, OptionsJSON: `{"num_warps":1}`,
		First: "vasm", Last: "vasm", InputName: "k.ttir",
		Input: []byte("tt.func public @k(%x: !tt.ptr<f32>) {\n  %0 = tt.load %x : !tt.ptr<f32>\n"),
	}
	resp, err := c.RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(resp.Artifact("vasm")), ".kernel k %x\nload %0 %x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	req.Input = []byte("  %0 = math.exp %x : f32\n")
	if _, err := c.RunStages(t.Context(), req); err == nil || !strings.Contains(err.Error(), "no math.exp") {
		t.Errorf("an operation that the machine does not have: %v", err)
	}
}
