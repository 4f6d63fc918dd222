package cudastandin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeader: CUDA_HOME goes first, and the header there is taken if the driver
// can be built with it.
func TestHeader(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for version, good := range map[int]bool{11080: true, 12040: true, 12090: true, 10020: false, 13000: false} {
		home := t.TempDir()
		include := filepath.Join(home, "include")
		if err := os.Mkdir(include, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("#ifndef cuda_h\n#define CUDA_VERSION %d\n#endif\n", version)
		if err := os.WriteFile(filepath.Join(include, "cuda.h"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		check := exec.Command("sh", filepath.Join("..", "..", "scripts", "device-cuda.sh"), "--check")
		// An empty cache, so that what was fetched before is not found.
		check.Env = append(os.Environ(), "CUDA_HOME="+home, "XDG_CACHE_HOME="+t.TempDir())
		out, err := check.CombinedOutput()
		said := string(out)
		switch {
		case good:
			if err != nil || strings.TrimSpace(said) != include {
				t.Errorf("CUDA_VERSION %d: %v\n%s", version, err, said)
			}
		case err == nil: // this machine has a good one
			if strings.TrimSpace(said) == include {
				t.Errorf("CUDA_VERSION %d is taken", version)
			}
		case !strings.Contains(said, "cannot be built") || !strings.Contains(said, include+"/cuda.h") || !strings.Contains(said, "set CUDA_HOME"):
			t.Errorf("CUDA_VERSION %d: %v\n%s", version, err, said)
		}
	}
}
