package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// UpdateEnv names the environment variable that, when "1", has expected
// sections rewritten instead of compared.
const UpdateEnv = "TRITONC_UPDATE"

// Case is one archive while its test runs.
type Case struct {
	testing.TB
	// Path is the archive's path and Name its base name without .txtar.
	Path, Name string

	archive *txtar.Archive
	read    map[string]bool
	wanted  map[string]bool
	update  bool
	changed bool
}

// Run runs test once for each *.txtar file of dir, as a subtest named after the
// file, and fails when there is none.
func Run(t *testing.T, dir string, test func(c *Case)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no *.txtar file in %s", dir)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			c := open(t, path, os.Getenv(UpdateEnv) == "1")
			test(c)
			c.finish()
		})
	}
}

func open(t testing.TB, path string, update bool) *Case {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &Case{
		TB: t, Path: path, Name: strings.TrimSuffix(filepath.Base(path), ".txtar"),
		archive: archive, read: map[string]bool{}, wanted: map[string]bool{}, update: update,
	}
	if c.Why() == "" {
		t.Errorf("%s: the first line must say why the test exists", path)
	}
	seen := map[string]bool{}
	for _, f := range archive.Files {
		if seen[f.Name] {
			t.Fatalf("%s: two sections %q", path, f.Name)
		}
		seen[f.Name] = true
	}
	return c
}

// Why returns the archive's first line without comment marks.
func (c *Case) Why() string {
	line, _, _ := strings.Cut(string(c.archive.Comment), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "#/ "))
}

// Flag returns the value of a comment line "name: value" after the first line,
// or "" when there is none: how an archive sets options of its test.
func (c *Case) Flag(name string) string {
	_, rest, _ := strings.Cut(string(c.archive.Comment), "\n")
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(strings.TrimLeft(key, "#/ ")) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Input returns the section name, which must be there.
func (c *Case) Input(name string) string {
	c.Helper()
	text, ok := c.Lookup(name)
	if !ok {
		c.Fatalf("%s: no section %q", c.Path, name)
	}
	return text
}

// Lookup returns the section name and whether it is there.
func (c *Case) Lookup(name string) (string, bool) {
	c.read[name] = true
	if i := c.index(name); i >= 0 {
		return string(c.archive.Files[i].Data), true
	}
	return "", false
}

// Want compares got with the section name, or makes it that section's text when
// expectations are being rewritten. A final newline is added where got has none.
func (c *Case) Want(name, got string) {
	c.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	c.wanted[name] = true
	i := c.index(name)
	if c.update {
		switch {
		case i < 0:
			c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(got)})
		case string(c.archive.Files[i].Data) != got:
			c.archive.Files[i].Data = []byte(got)
		default:
			return
		}
		c.changed = true
		return
	}
	if i < 0 {
		c.Errorf("%s: no section %q; %s=1 go test writes it:\n%s", c.Path, name, UpdateEnv, got)
		return
	}
	if want := string(c.archive.Files[i].Data); want != got {
		c.Errorf("%s: %s differs (-want +got); %s=1 go test rewrites it:\n%s",
			c.Path, name, UpdateEnv, cmp.Diff(strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")))
	}
}

func (c *Case) index(name string) int {
	return slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

// finish reports or drops stale sections and writes what changed.
func (c *Case) finish() {
	c.Helper()
	stale := func(f txtar.File) bool { return !c.read[f.Name] && !c.wanted[f.Name] }
	if !c.update {
		for _, f := range c.archive.Files {
			if stale(f) {
				c.Errorf("%s: the test does not use section %q", c.Path, f.Name)
			}
		}
		return
	}
	if c.Failed() {
		return // what a failing test saw is not an expectation
	}
	before := len(c.archive.Files)
	c.archive.Files = slices.DeleteFunc(c.archive.Files, stale)
	if !c.changed && before == len(c.archive.Files) {
		return
	}
	text := txtar.Format(c.archive)
	if old, err := os.ReadFile(c.Path); err == nil && bytes.Equal(old, text) {
		return
	}
	if err := os.WriteFile(c.Path, text, 0o644); err != nil {
		c.Error(err)
	}
}
