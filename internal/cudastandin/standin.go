// Package cudastandin lets tests use the driver of NVIDIA GPUs on a machine that
// has none: it builds the driver plugin, and a library that takes the place of
// libcuda.so.1 (testdata/libcuda.c says what it does). What only a GPU can show,
// that code runs and gives right results, it cannot.
package cudastandin

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/libcuda.c
var source string

// Standin is where the two programs lie.
type Standin struct {
	// Plugins is the folder of tritonc-device-cuda.
	Plugins string
	// Library is the folder of libcuda.so.1, for LD_LIBRARY_PATH.
	Library string
}

// Build builds both for the time of the test. root is the folder of the
// repository. Where that is impossible for lack of cuda.h, a C compiler or the
// driver's modules, the reason is returned instead.
func Build(t testing.TB, root string) (s Standin, missing string) {
	t.Helper()
	script := filepath.Join(root, "scripts", "device-cuda.sh")
	out, err := exec.Command("sh", script, "--check").CombinedOutput()
	if err != nil {
		return s, string(out)
	}
	include := strings.TrimSpace(string(out))
	cc, err := exec.LookPath("gcc")
	if err != nil {
		return s, err.Error()
	}
	modules := exec.Command("go", "list", "-deps", "./cmd/tritonc-device-cuda") // downloads what it names
	modules.Dir = filepath.Join(root, "driver", "cuda")
	if out, err := modules.CombinedOutput(); err != nil {
		return s, "the modules of driver/cuda are not here: " + string(out)
	}
	s = Standin{Plugins: t.TempDir(), Library: t.TempDir()}
	if out, err := exec.Command("sh", script, s.Plugins).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	file := filepath.Join(t.TempDir(), "libcuda.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command(cc, "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-I"+include,
		"-Wl,-soname,libcuda.so.1", "-o", filepath.Join(s.Library, "libcuda.so.1"), file)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	return s, ""
}
