package standin

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

//go:embed testdata/standin.h
var header string

// Library builds libraries for the time of the test, of C files by the paths that the
// libraries have, "lib/libamdhip64.so.6", and returns the folder that these are in. Where
// that is impossible for lack of a C compiler, the reason is returned instead.
func Library(t testing.TB, sources map[string]string) (root, missing string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return "", "the driver is for Linux"
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Sprintf("the stand-in for a vendor's library needs a C compiler: %v", err)
	}
	root = t.TempDir()
	write(t, filepath.Join(root, "standin.h"), header)
	for file, source := range sources {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		stem, _, _ := strings.Cut(filepath.Base(path), ".")
		file := filepath.Join(root, stem+".c")
		write(t, file, source)
		// Without a soname no other test's library is found as the loader's own.
		compile := exec.Command(cc, "-Wall", "-Werror", "-Wno-unused-function", "-O1", "-shared", "-fPIC", "-o", path, file)
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compile, err, out)
		}
	}
	return root, ""
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Plugin builds a driver plugin, as make build does, and returns its folder. root is that
// of the repository, program the driver's package there, and dirs are the folders of which
// the driver is made beside the SDK.
func Plugin(t testing.TB, root, program string, dirs ...string) string {
	t.Helper()
	for _, dir := range append(dirs, "plugin-sdk") {
		if err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), seen); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "./"+program)
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
