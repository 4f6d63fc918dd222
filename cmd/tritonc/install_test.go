package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGoInstall compiles with what "go install" puts into a folder, from another folder:
// the backend beside tritonc is found, through whichever links tritonc is started.
func TestGoInstall(t *testing.T) {
	top := t.TempDir()
	gobin := filepath.Join(top, "go", "bin")
	install := exec.CommandContext(t.Context(), "go", "install", "./cmd/tritonc", "./backends/nvidia/cmd/tritonc-backend-nvidia")
	install.Dir = filepath.Join("..", "..")
	// A checkout of another user's has no revision to stamp.
	install.Env = append(os.Environ(), "GOBIN="+gobin, "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	installed := filepath.Join(gobin, "tritonc")
	ways := map[string]string{"path": installed}
	if runtime.GOOS == "windows" {
		ways["path"] += ".exe" // links need a privilege
	} else {
		// As many systems make folders for a user's own group.
		if err := os.Chmod(gobin, 0o775); err != nil {
			t.Fatal(err)
		}
		ways["linked folder"] = filepath.Join(top, "bin", "tritonc")
		ways["linked program"] = filepath.Join(top, "local", "tritonc")
		ways["link to a link"] = filepath.Join(top, "local", "triton")
		ways["relative link"] = filepath.Join(top, "local", "t")
		for _, link := range []struct{ target, name string }{
			{gobin, filepath.Join(top, "bin")},
			{installed, ways["linked program"]},
			{ways["linked program"], ways["link to a link"]},
			{filepath.Join("..", "go", "bin", "tritonc"), ways["relative link"]},
		} {
			if err := os.MkdirAll(filepath.Dir(link.name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(link.target, link.name); err != nil {
				t.Fatal(err)
			}
		}
	}
	source, err := filepath.Abs(filepath.Join("..", "..", "examples", "vector_add.py"))
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range ways {
		t.Run(name, func(t *testing.T) {
			elsewhere := t.TempDir()
			compile := exec.CommandContext(t.Context(), program, "--target", "cuda:80", "--emit", "ttgir", "--no-cache", "-o", "-", source)
			compile.Dir = elsewhere
			compile.Env = append(os.Environ(), backendPathVar+"=", "HOME="+elsewhere, "XDG_DATA_HOME=")
			out, err := compile.CombinedOutput()
			if err != nil || !strings.Contains(string(out), `ttg.target = "cuda:80"`) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
