package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// sameAsTriton are the lines of the library, beside the heads of functions, that equal
// one of Triton's language package, with the reason.
var sameAsTriton = map[string]string{
	"return (x + (div - 1)) // div":  "the order of operations is in the IR",
	"x = tl.where(x < 0, -x - 1, x)": "the order of operations and the name are in the IR",
	"size_gj = size_g * size_j":      "locations name the variable",
	"group_id = ij // size_gj":       "locations name the variable",
	"off_i = group_id * size_g":      "locations name the variable",
}

// The library is our own text. What IR shows of it, names and the order of
// operations, is Triton's, so heads of functions are; of other lines of some length
// only those listed. The table is made by scripts/triton_lines.py.
func TestOwnWords(t *testing.T) {
	const least = 24 // as in the script
	table, err := os.ReadFile("testdata/triton_lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if !strings.HasPrefix(line, "#") {
			theirs[strings.TrimSpace(line)] = true
		}
	}
	if len(theirs) < 3000 {
		t.Fatalf("testdata/triton_lines.txt has %d hashes, too few", len(theirs))
	}
	heads, used := 0, map[string]bool{}
	err = fs.WalkDir(os.DirFS("lib"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		text, err := os.ReadFile("lib/" + path)
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.Join(strings.Fields(line), " ")
			sum := sha256.Sum256([]byte(line))
			if len(line) < least || !theirs[hex.EncodeToString(sum[:5])] {
				continue
			}
			switch {
			case strings.HasPrefix(line, "def "):
				heads++
			case sameAsTriton[line] != "":
				used[line] = true
			default:
				t.Errorf("lib/%s:%d: equals a line of Triton's: %s", path, n, line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if heads < 20 {
		t.Errorf("%d heads of functions equal Triton's, fewer than there were: does the table fit the files?", heads)
	}
	for line := range sameAsTriton {
		if !used[line] {
			t.Errorf("sameAsTriton: no line is %q", line)
		}
	}
}
