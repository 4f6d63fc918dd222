package sdk

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoBuildID: the ID is that which the go command reads, in every format.
func TestGoBuildID(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux", "windows", "darwin"} {
		file := filepath.Join(dir, system)
		cmd := exec.Command("go", "build", "-ldflags", "-buildid=some/"+system, "-o", file, "main.go")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
		if testing.Short() && system != "linux" {
			continue // builds the runtime anew
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if id := string(bytes.TrimRight(goBuildID(f), "\x00")); !strings.HasPrefix(id, "some/"+system) {
			t.Errorf("%s: build ID %q", system, id)
		}
	}
}

func TestFileIdentity(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := fileIdentity(path)
		if err != nil || len(h) != 64 {
			t.Fatalf("%q, %v", h, err)
		}
		return h
	}
	if write("a", "one") == write("b", "two") {
		t.Error("two files have one identity")
	}
	if write("a", "one") != write("c", "one") {
		t.Error("equal files have two identities")
	}
	if len(ProgramHash()) != 64 {
		t.Errorf("program hash %q", ProgramHash())
	}
}
