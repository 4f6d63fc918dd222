package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/tune"
)

// TestTuneStopped: a signal ends tuning; what was measured is shown, and written.
func TestTuneStopped(t *testing.T) {
	needSignals(t)
	if !haveToolchain() {
		t.Skip("no llc or ptxas")
	}
	dir := t.TempDir()
	file, times := filepath.Join(dir, "k.py"), filepath.Join(dir, "t.json")
	if err := os.WriteFile(file, []byte(slowBench), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable() // which is tritonc where it is called so
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "tune", "--target", "cuda:90", "--device", "sim", "--grid", "cdiv(n, B)", "--arg", "n=4096",
		"--arg", "out=empty:fp32[n]", "--space", "B=16:1024:x2", "--space", "maxnreg=32:255", "--search", "random", "--points", "1000",
		"-j", "1", "--write", times, file)
	cmd.Args[0] = "tritonc"
	cmd.Env = append(os.Environ(), backendPathVar+"="+buildBackends(t), "TRITON_PRINT_AUTOTUNING=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tried, shown := 0, ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "Autotuning kernel fill with config B: ") {
			if tried++; tried == 3 {
				cmd.Process.Signal(os.Interrupt)
			}
		} else {
			shown += line + "\n"
		}
	}
	if code := cmd.Wait(); code == nil || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("it ends with %v, and says %q", code, &said)
	}
	if !strings.Contains(shown, " of 1568 configurations in ") || !strings.Contains(shown, "  0.0%  B=") {
		t.Errorf("shown is\n%s", shown)
	}
	text, err := os.ReadFile(times)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tune.Read(times, text)
	if err != nil || len(f.Entries) != 1 || len(f.Entries[0].Configs) < 3 || len(f.Entries[0].Configs) > tried {
		t.Errorf("written is %s, %v", text, err)
	}
}
