package text_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestLaw parses, verifies and prints every IR file below a folder: the bytes
// must be the same. The folder is testdata, or that of TRITONC_LAW_DIR
// (make law DIR=…).
func TestLaw(t *testing.T) {
	dir := os.Getenv("TRITONC_LAW_DIR")
	if dir == "" {
		dir = "testdata/law"
	}
	checked, failed := 0, 0
	for _, path := range irFiles(t, dir) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range sections(path, src) {
			checked++
			if err := law(part); err != nil {
				failed++
				t.Errorf("%s: %v", part.name, err)
			}
		}
	}
	if checked == 0 {
		t.Fatalf("no .ttir, .ttgir or .mlir file below %s", dir)
	}
	t.Logf("%d texts checked, %d failing", checked, failed)
}

// irFiles lists the IR files below dir.
func irFiles(tb testing.TB, dir string) []string {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".ttir", ".ttgir", ".mlir", ".source":
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// part is one text of a file: the whole, or a section of a record of passes.
type part struct {
	name string
	src  []byte
	opt  text.Options
}

// sections cuts a record of passes, in which each text follows a comment line
// with the pass's name, into its texts. Those have no locations, and the
// pipeliner's own dumps have no aliases.
func sections(path string, src []byte) []part {
	if filepath.Ext(path) != ".mlir" {
		return []part{{path, src, text.Options{Locations: bytes.Contains(src, []byte("loc("))}}}
	}
	var parts []part
	line, start := 1, 1
	var cur []byte
	name, local := "", false
	flush := func() {
		if body := bytes.TrimSpace(cur); len(body) > 0 {
			parts = append(parts, part{fmt.Sprintf("%s:%d %s", path, start, name), append(body, '\n'), text.Options{Local: local, Locations: bytes.Contains(body, []byte("loc("))}})
		}
		cur = nil
	}
	for l := range bytes.Lines(src) {
		if s := string(l); strings.HasPrefix(s, "// =====") || strings.HasPrefix(s, "// -----") {
			flush()
			name, local, start = strings.TrimSpace(s), strings.HasPrefix(s, "// -----"), line
		} else {
			cur = append(cur, l...)
		}
		line++
	}
	flush()
	return parts
}

// law checks one text and says what is wrong.
func law(p part) error {
	f, err := text.ParseFile(newContext(), p.name, p.src)
	if err != nil {
		return err
	}
	if err := f.Verify(); err != nil {
		return err
	}
	return sameBytes(p.src, text.Append(nil, f.Op, p.opt))
}

func sameBytes(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := 0; ; i++ {
		switch {
		case i >= len(w):
			return fmt.Errorf("line %d: too much: %q", i+1, g[i])
		case i >= len(g):
			return fmt.Errorf("line %d: missing: %q", i+1, w[i])
		case w[i] != g[i]:
			return fmt.Errorf("line %d:\n  want %s\n  got  %s", i+1, w[i], g[i])
		}
	}
}

// newContext has core's dialects and those that the tree's backends declare.
func newContext() *ir.Context { return dialect.NewContext(declared()...) }

var declared = sync.OnceValue(func() (ds []*ir.Dialect) {
	files, err := filepath.Glob("../../../backends/*/*/*.json")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		d, err := decl.Load(data, dialect.All()...)
		if err != nil {
			panic(f + ": " + err.Error())
		}
		ds = append(ds, d)
	}
	return ds
})
