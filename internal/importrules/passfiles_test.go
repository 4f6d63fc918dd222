package importrules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fileOf is the file of a pass: its name without the prefixes that Triton has for a
// kind of passes, in the notation of files.
func fileOf(pass string) string {
	for _, prefix := range []string{"tritonamdgpu-", "triton-amdgpu-", "triton-nvidia-gpu-", "triton-nvidia-", "tritongpu-", "triton-"} {
		if rest, ok := strings.CutPrefix(pass, prefix); ok {
			pass = rest
			break
		}
	}
	return strings.ToLower(strings.ReplaceAll(pass, "-", "_")) + ".go"
}

// passesIn lists the names of the pass.Pass literals of a Go file.
func passesIn(path string, src any) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if t, ok := lit.Type.(*ast.SelectorExpr); !ok || fmt.Sprint(t.X, ".", t.Sel) != "pass.Pass" {
			return true
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "Name" {
				if text, ok := kv.Value.(*ast.BasicLit); ok {
					name, err := strconv.Unquote(text.Value)
					if err != nil {
						continue
					}
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names, nil
}

// TestPassFiles: one file is named as its pass, in every room, and beside it lies the
// example that explains the pass.
func TestPassFiles(t *testing.T) {
	found := 0
	for _, room := range []string{"core", "backends"} {
		err := filepath.WalkDir(filepath.Join("..", "..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			names, err := passesIn(path, nil)
			for _, name := range names {
				found++
				if want := fileOf(name); filepath.Base(path) != want {
					t.Errorf("the pass %s is in %s; its file is %s", name, path, want)
				}
				example := filepath.Join(filepath.Dir(path), "testdata", name, "example.txtar")
				if _, err := os.Stat(example); err != nil {
					t.Errorf("the pass %s has no example: %v", name, err)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 30 {
		t.Errorf("only %d passes were found", found)
	}
}

func TestFileOf(t *testing.T) {
	for pass, want := range map[string]string{
		"tritongpu-foo-bar": "foo_bar.go", "tritongpu-F32DotTC": "f32dottc.go", "triton-licm": "licm.go", "cse": "cse.go",
		"triton-nvidia-tma-lowering": "tma_lowering.go", "triton-nvidia-gpu-plan-cta": "plan_cta.go",
	} {
		if got := fileOf(pass); got != want {
			t.Errorf("%s: %s, want %s", pass, got, want)
		}
	}
	names, err := passesIn("x.go", `package x
var P = &pass.Pass{Name: "tritongpu-foo-bar"}
func New() *pass.Pass { return &pass.Pass{Doc: "d", Name: "cse"} }
`)
	if err != nil || strings.Join(names, ",") != "tritongpu-foo-bar,cse" {
		t.Errorf("got %q, %v", names, err)
	}
}
