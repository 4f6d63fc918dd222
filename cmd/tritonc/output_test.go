package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	if err := writeFiles(dir, []outFile{{"a", []byte("1")}, {"b", []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, []outFile{{"b", []byte("3")}}); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"a": "1", "b": "3"})
}

func TestWriteFilesAllOrNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, []outFile{{"a", []byte("new")}, {"b", []byte("new")}}); err == nil {
		t.Fatal("wrote a file over a folder")
	}
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	// A name with a slash cannot be written, whatever the permissions.
	if err := writeFiles(dir, []outFile{{"a", []byte("new")}, {"c/d", nil}}); err == nil {
		t.Fatal("wrote into a folder that is not there")
	}
	wantFiles(t, dir, map[string]string{"a": "old"})
}

// TestWriteFilesNames: no name leads out of the folder, whoever made it up.
func TestWriteFilesNames(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "out")
	for _, name := range []string{"", ".", "..", "../a", "x/../../a", "/a", filepath.Join(root, "a"), "b/c", "a\n", "a\x00b", strings.Repeat("a", 256)} {
		err := writeFiles(dir, []outFile{{"good", []byte("new")}, {name, []byte("1")}})
		if err == nil || len(err.Error()) > 600 {
			t.Errorf("%q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 1 {
		t.Errorf("%v, %v", entries, err)
	}
	long := strings.Repeat("я", 127)
	if err := writeFiles(dir, []outFile{{long, []byte("1")}}); err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, map[string]string{long: "1"})
}

// wantFiles checks that dir holds these files and nothing else.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := want[e.Name()]; !ok || text != string(data) {
			t.Errorf("%s holds %q, want %q", e.Name(), data, text)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d", len(entries), len(want))
	}
}

func TestSourceName(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"repo/.git", "repo/pkg/sub", "plain"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ file, root, want string }{
		{"repo/pkg/sub/k.py", "", "pkg/sub/k.py"},
		{"repo/k.py", "", "k.py"},
		{"repo/pkg/sub/k.py", "repo/pkg", "sub/k.py"},
		{"repo/pkg/sub/k.py", "repo/pkg/sub/", "k.py"},
		{"plain/k.py", "", "k.py"},
		{"plain/k.py", "repo", ""},
	}
	for _, tt := range tests {
		root := tt.root
		if root != "" {
			root = filepath.Join(dir, root)
		}
		got, err := folder("").sourceName(filepath.Join(dir, tt.file), root)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s below %q: %q, %v; want %q", tt.file, tt.root, got, err, tt.want)
		}
	}
}
