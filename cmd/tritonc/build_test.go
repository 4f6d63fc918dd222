package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/bundle"
)

// TestBuildGo: a Go package that tritonc build has made compiles without cgo, in a
// module of its own, and its kernels run on a simulated device, each launch with the
// variant for its arguments.
func TestBuildGo(t *testing.T) {
	if !haveToolchain() {
		t.Skip("no llc or ptxas")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(path ...string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(name string, text []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("add.py", read("testdata", "build", "add.py"))
	write("main.go", read("testdata", "build", "main.go.txt"))
	write("go.sum", read(root, "go.sum"))
	const module = "module github.com/tritonc/tritonc\n"
	mod := string(read(root, "go.mod"))
	if !strings.Contains(mod, module) {
		t.Fatalf("go.mod does not say %q", module)
	}
	write("go.mod", []byte(strings.Replace(mod, module, "module example\n\nrequire github.com/tritonc/tritonc v0.0.0\n\nreplace github.com/tritonc/tritonc => "+root+"\n", 1)))

	vars := map[string]string{backendPathVar: buildBackends(t), cacheDirVar: filepath.Join(dir, "cache"), "PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "XDG_CACHE_HOME": os.Getenv("XDG_CACHE_HOME")}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{
		"build", "--go", filepath.Join(dir, "kernels"), "-t", "cuda:80", "-t", "cuda:90", "--emit", "ptx", "--grid", "cdiv(n, BLOCK)", filepath.Join(dir, "add.py"),
	}, &environment{stdout: &out, stderr: &errs, lookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok && v != "" }})
	if code != exitOK || out.Len()+errs.Len() > 0 {
		t.Fatalf("code %d: %s%s", code, &out, &errs)
	}
	if text, err := exec.Command("gofmt", "-l", filepath.Join(dir, "kernels")).CombinedOutput(); err != nil || len(text) > 0 {
		t.Errorf("gofmt: %s, %v", text, err)
	}
	goRun := exec.Command("go", "run", ".")
	goRun.Dir = dir
	goRun.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	text, err := goRun.CombinedOutput()
	const want = `simulated A100: odd number 4 multiple of 16 8 one 2 small blocks 1
simulated H200: odd number 4 multiple of 16 8 one 2 small blocks 1
add has no code for the simulated A10, which takes ptx for cuda:86; it has ptx for cuda:80, ptx for cuda:90
`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// The name of a kernel tells the types in which it differs, with the blocks of descriptors.
func TestNameByTypes(t *testing.T) {
	list := []*buildKernel{
		{Kernel: bundle.Kernel{Name: "mul"}, function: "mul", types: []string{"*fp16", "tensordesc<fp16[64, 32]>", "i32"}},
		{Kernel: bundle.Kernel{Name: "mul"}, function: "mul", types: []string{"*fp16", "tensordesc<fp16[6, 432]>", "i32"}},
		{Kernel: bundle.Kernel{Name: "mul"}, function: "mul", types: []string{"*fp16", "tensordesc<bf16[6, 432]>", "i32"}},
		{Kernel: bundle.Kernel{Name: "one"}, function: "one", types: []string{"*fp16"}},
	}
	nameByTypes(list)
	for i, want := range []string{"mul_fp16_64x32", "mul_fp16_6x432", "mul_bf16_6x432", "one"} {
		if list[i].Name != want {
			t.Errorf("kernel %d is %s, not %s", i, list[i].Name, want)
		}
	}
}
