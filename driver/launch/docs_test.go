package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/nvidiaplugin"
)

// TestDocs compiles and runs the program of docs/launch.md, which says what it prints.
func TestDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "launch.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```go\n")
	program, rest, closed := strings.Cut(rest, "\n```\n")
	_, prints, said := strings.Cut(rest, "go run .\n    ")
	prints, _, _ = strings.Cut(prints, "\n")
	if !found || !closed || !said {
		t.Fatal("the page has no program, or does not say what it prints")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", file)
	run.Dir = root
	run.Env = append(os.Environ(), "TRITONC_BACKEND_PATH="+nvidiaplugin.Dir())
	out, err := run.CombinedOutput()
	if err != nil || string(out) != prints+"\n" {
		t.Errorf("it prints %q, and the page says %q: %v", out, prints, err)
	}
}
