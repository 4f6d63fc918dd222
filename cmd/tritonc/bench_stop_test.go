package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// slowBench says on standard error when each of its points is measured.
const slowBench = `import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"B": b}, num_warps=1) for b in (32, 64)], key=["n"])
@triton.jit
def fill(out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 1.0, mask=i < n)
`

// TestBenchStopped: a signal ends a benchmark, and what was measured is shown.
func TestBenchStopped(t *testing.T) {
	needSignals(t)
	if !haveToolchain() {
		t.Skip("no llc or ptxas")
	}
	file := filepath.Join(t.TempDir(), "k.py")
	if err := os.WriteFile(file, []byte(slowBench), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable() // which is tritonc where it is called so
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "bench", "--target", "cuda:90", "--sweep", "n=1000:100000:1",
		"--grid", "cdiv(n, B)", "--arg", "out=empty:fp32[n]", file)
	cmd.Args[0] = "tritonc"
	cmd.Env = append(os.Environ(), backendPathVar+"="+buildBackends(t))
	var out bytes.Buffer
	cmd.Stdout = &out
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	last := ""
	for n := 0; lines.Scan(); n++ {
		if last = lines.Text(); n == 2 {
			cmd.Process.Signal(os.Interrupt)
		}
	}
	if code := cmd.Wait(); code == nil || !strings.Contains(last, "interrupted") {
		t.Errorf("it ends with %v, and says %q", code, last)
	}
	if rows := strings.Count(out.String(), "\n") - 2; rows < 2 || !strings.Contains(out.String(), "\n0  1000  ") {
		t.Errorf("%d rows are shown:\n%s", rows, out.String())
	}
}
