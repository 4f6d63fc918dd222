package importrules

import (
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hostRooms are the folders of programs that must serve every vendor's dialects by
// their declarations alone.
var hostRooms = []string{"core", "driver", "cmd", "plugin-sdk"}

// declaredDialects are the names of the dialects that backends declare as data.
func declaredDialects(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(root, "backends"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".json" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var declaration struct {
			Name string            `json:"name"`
			Ops  []json.RawMessage `json:"ops"`
		}
		if json.Unmarshal(src, &declaration) == nil && len(declaration.Ops) > 0 {
			names = append(names, declaration.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// dialectUses lists the string literals of a Go file that are the name of one of the
// dialects, or name something of it: "ttng", "ttng.wait", "#amdg.layout".
func dialectUses(path string, src []byte, dialects []string) []string {
	named := regexp.MustCompile(`(^|[^\w.])(` + strings.Join(dialects, "|") + `)(\.\w|["` + "`" + `]$)`)
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	var uses []string
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return uses
		}
		if tok == token.STRING && named.MatchString(lit) {
			uses = append(uses, fmt.Sprintf("%s: %s", files.Position(pos), lit))
		}
	}
}

// TestHostKnowsNoDialectOfAVendor: what a backend declares is known from the declaration
// and from nowhere else, to the compiler, the drivers and the command.
func TestHostKnowsNoDialectOfAVendor(t *testing.T) {
	root := filepath.Join("..", "..")
	dialects := declaredDialects(t, root)
	for _, want := range []string{"ttng", "nvws", "amdg"} {
		if !slices.Contains(dialects, want) {
			t.Fatalf("the declared dialects are %q, without %s", dialects, want)
		}
	}
	for _, room := range hostRooms {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			below, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			for _, use := range dialectUses(filepath.ToSlash(below), src, dialects) {
				t.Error(use)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDialectUses(t *testing.T) {
	dialects := []string{"ttng", "nvvm"}
	for src, want := range map[string]int{
		`package p; const op = "ttng.wait"`:           1,
		`package p; const d = "ttng"`:                 1,
		"package p; const d = `  %0 = ttng.wait`":     1,
		`package p; const d = "#ttng.layout"`:         1,
		`package p; const d = "ttngx.wait ttg.wait"`:  0,
		`package p // ttng.wait`:                      0,
		`package p; const d = "declares ttng, nvvm "`: 0,
	} {
		if got := dialectUses("core/a.go", []byte(src), dialects); len(got) != want {
			t.Errorf("%s: %v, want %d", src, got, want)
		}
	}
}
