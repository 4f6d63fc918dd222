// Package hipstandin lets tests use the driver of AMD GPUs on a machine that has none: it
// builds the driver plugin, and a library that takes the place of libamdhip64.so
// (testdata/libamdhip64.c says what it does). What only a GPU can show, that code runs and
// gives right results, it cannot.
package hipstandin

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

//go:embed testdata/libamdhip64.c
var source string

// Library builds the library for the time of the test and returns a folder for ROCM_PATH.
// Where that is impossible for lack of a C compiler, the reason is returned instead.
func Library(t testing.TB) (rocm, missing string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return "", "the driver is for Linux"
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Sprintf("the stand-in for HIP's library needs a C compiler: %v", err)
	}
	rocm = t.TempDir()
	lib, file := filepath.Join(rocm, "lib"), filepath.Join(rocm, "libamdhip64.c")
	if err := os.Mkdir(lib, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command(cc, "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-Wl,-soname,libamdhip64.so.6",
		"-o", filepath.Join(lib, "libamdhip64.so.6"), file)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	return rocm, ""
}

// Plugin builds the driver, as make build does, and returns its folder. root is that of
// the repository.
func Plugin(t testing.TB, root string) string {
	t.Helper()
	for _, dir := range []string{"driver/hip", "driver/image", "plugin-sdk"} {
		if err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), seen); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "./driver/hip/cmd/tritonc-device-hip")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return dir
}

// seen has "go test" know that the result depends on a file, which other processes read.
func seen(path string, _ fs.DirEntry, err error) error {
	if err == nil {
		_, err = os.Stat(path)
	}
	return err
}
