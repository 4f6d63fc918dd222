package ptx

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/testseed"
)

// assembled is how many random functions ptxas assembles at once.
const assembled = 60

// TestAssembles has ptxas take what random functions become.
func TestAssembles(t *testing.T) {
	ptxas := findPtxas()
	if ptxas == "" {
		t.Skip("ptxas is not installed (scripts/toolchain.sh provides it)")
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	for cc, sm := range map[int]string{80: "sm_80", 90: "sm_90a"} {
		m := llir.NewModule("", "nvptx64-nvidia-cuda", layout)
		shared := m.AddGlobal("smem", m.Array(0, llir.I8), 3, 16, nil)
		for i := range assembled {
			f := m.NewFunc(fmt.Sprintf("k%d", i), false, llir.Void, llir.PtrIn(1), llir.PtrIn(1))
			f.SetCallingConv(ptxKernel)
			g := &generator{r: rand.New(rand.NewPCG(seed, uint64(i))), b: llir.NewBuilder(f), f: f, shared: shared}
			g.b.SetBlock(f.NewBlock(nil))
			g.function()
		}
		m.Sweep()
		m.Number()
		text, err := Translate(m, Options{CC: cc, SM: sm, Version: 80, Fusion: true})
		if err != nil {
			t.Fatal(err)
		}
		in := filepath.Join(t.TempDir(), "k.ptx")
		if err := os.WriteFile(in, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(ptxas, "-O0", "-arch="+sm, "-o", os.DevNull, in).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", sm, err, out)
		}
	}
}

// findPtxas looks where scripts/toolchain.sh puts it, too.
func findPtxas() string {
	if path, err := exec.LookPath("ptxas"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(cache, "tritonc", "toolchain", "bin", "ptxas")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
