package cudastandin

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestInProcess runs the tests of module driver/cuda, in which the driver is a part of
// the program, and its measurement of launches, with the stand-in for CUDA's library.
func TestInProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the driver is built for Linux")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	library, missing := Library(t, root)
	if missing != "" {
		t.Skip(missing)
	}
	test := exec.Command("sh", "-c", `eval "$(scripts/device-cuda.sh --env)" && cd driver/cuda && go test ./... &&
		go run ./cmd/launchcost -bursts 3 -burst 10 -launches 100 -limit 1s`)
	test.Dir = root
	test.Env = append(os.Environ(), "LD_LIBRARY_PATH="+library, "STANDIN_LOG="+filepath.Join(t.TempDir(), "log"))
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
