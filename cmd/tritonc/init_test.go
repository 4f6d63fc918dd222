package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackendInit: what init writes builds, passes its own test and the suite.
func TestBackendInit(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(in string, fails string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if (err != nil) != (fails != "") || !strings.Contains(string(out), fails) {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	module := filepath.Join(dir, "tritonc-backend-mine")
	run(dir, "", "tritonc", "backend", "init", "mine", "--sdk", root)
	run(module, "", "go", "build", "-o", "bin/tritonc-backend-mine", ".")
	run(module, "", "go", "test", ".")
	run(module, "", "tritonc", "backend", "check", "bin/tritonc-backend-mine")
	run(dir, "is not empty", "tritonc", "backend", "init", "mine", "--sdk", root)
	run(dir, "cannot be the name of a backend", "tritonc", "backend", "init", "../x", "--sdk", root)
	run(dir, "is not the folder of tritonc's source", "tritonc", "backend", "init", "other", "--sdk", dir)
}
