package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/plugin/conform"
)

// What the two forms that init writes lack, so that it is not checked.
var (
	acmeLacks = []string{"dialects", "modules", "stage by stage", "dialect text", "passes"}
	gcnLacks  = []string{"dialects", "modules", "dialect text"}
)

// TestBackendCheck: the tree's backends pass every check of what they have.
func TestBackendCheck(t *testing.T) {
	if !haveToolchain() {
		t.Skip("llc or ptxas is not there")
	}
	gcn := t.TempDir()
	if err := buildInto(gcn, "examples/backends/gcn/main.go"); err != nil {
		t.Fatal(err)
	}
	backends := buildBackends(t)
	for _, c := range []struct {
		dir, name, target string
		lacks             []string
	}{
		{backends, "acme", "acme:v1", acmeLacks},
		{gcn, "gcn", "gcn:gfx90a", gcnLacks},
		{backends, "nvidia", "cuda:90", nil},
		{backends, "amd", "hip:gfx942", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(c.dir, "tritonc-backend-"+c.name)
			if runtime.GOOS == "windows" {
				program += ".exe"
			}
			out, err := exec.CommandContext(t.Context(), "tritonc", "backend", "check", "--json", "--target", c.target, program).Output()
			if err != nil {
				t.Errorf("tritonc backend check: %v", err)
			}
			noneFails(t, string(out), c.lacks...)
		})
	}
}

// TestBackendCheckWithoutLLVM: without LLVM's tools the backend of NVIDIA's devices passes as
// well, though one stage is not entered with LLVM IR from a file.
func TestBackendCheckWithoutLLVM(t *testing.T) {
	if !haveToolchain() {
		t.Skip("ptxas is not there")
	}
	program := filepath.Join(buildBackends(t), "tritonc-backend-nvidia")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "tritonc", "backend", "check", "--json", "--target", "cuda:90", program)
	none := filepath.Join(t.TempDir(), "none")
	cmd.Env = append(os.Environ(), "TRITONC_LLC="+none, "TRITONC_LLVM_LINK="+none, "TRITONC_OPT="+none)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("tritonc backend check: %v", err)
	}
	noneFails(t, string(out))
	if !strings.Contains(string(out), "ttgir llir cubin; backend nvidia: the llc that the environment names cannot be used") {
		t.Errorf("it does not say which stage llc is for:\n%s", out)
	}
}

// noneFails reads what `tritonc backend check --json` printed: every check must be ok, or
// skipped where it is one of skips.
func noneFails(t *testing.T, out string, skips ...string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(out) {
		var r conform.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		n++
		wanted := conform.OK
		if slices.Contains(skips, r.Check) {
			wanted = conform.Skipped
		}
		if r.Status != wanted && (r.Check != "orphans" || runtime.GOOS == "linux") {
			t.Errorf("%s, want %s", strings.TrimSpace(line), wanted)
		}
	}
	if n < 20 {
		t.Errorf("%d checks:\n%s", n, out)
	}
}
