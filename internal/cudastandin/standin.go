// Package cudastandin lets tests use the driver of NVIDIA GPUs on a machine that
// has none: it builds the driver plugin, and a library that takes the place of
// libcuda.so.1 (testdata/libcuda.c says what it does). What only a GPU can show,
// that code runs and gives right results, it cannot.
package cudastandin

import (
	_ "embed"
	"io/fs"
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
	if s.Library, missing = Library(t, root); missing != "" {
		return s, missing
	}
	s.Plugins = t.TempDir()
	if out, err := exec.Command("sh", script, s.Plugins).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return s, ""
}

// Library builds the library alone and returns its folder.
func Library(t testing.TB, root string) (dir, missing string) {
	t.Helper()
	for _, dir := range []string{"driver", "scripts", "plugin-sdk"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), seen); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("sh", filepath.Join(root, "scripts", "device-cuda.sh"), "--check").CombinedOutput()
	if err != nil {
		return "", string(out)
	}
	include := strings.TrimSpace(string(out))
	cc, err := exec.LookPath("gcc")
	if err != nil {
		return "", err.Error()
	}
	modules := exec.Command("go", "list", "-deps", "./cmd/tritonc-device-cuda") // downloads what it names
	modules.Dir = filepath.Join(root, "driver", "cuda")
	if out, err := modules.CombinedOutput(); err != nil {
		return "", "the modules of driver/cuda are not here: " + string(out)
	}
	dir = t.TempDir()
	file := filepath.Join(t.TempDir(), "libcuda.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command(cc, "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-I"+include,
		"-Wl,-soname,libcuda.so.1", "-o", filepath.Join(dir, "libcuda.so.1"), file)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	return dir, ""
}

// seen has "go test" know that the result depends on a file, which other processes read.
func seen(path string, _ fs.DirEntry, err error) error {
	if err == nil {
		_, err = os.Stat(path)
	}
	return err
}
