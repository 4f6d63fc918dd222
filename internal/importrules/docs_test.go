package importrules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	// code holds text that is not a link: blocks, fenced or indented, and spans.
	code = regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|`[^`\n]*`")
)

// TestLinks: what the documents link to in this repository is there.
func TestLinks(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	docs = append(docs, "../../README.md")
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", filepath.Base(doc), m[1])
			}
		}
	}
}

// block is a fenced block of Go.
var block = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestAddAnOpCode: each block of Go in the page on adding an operation is code of a
// file that the page links to, where the compiler and tests see it.
func TestAddAnOpCode(t *testing.T) {
	page, err := os.ReadFile("../../docs/add-an-op.md")
	if err != nil {
		t.Fatal(err)
	}
	trimmed := func(text string) string {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return strings.Join(lines, "\n")
	}
	var sources []string
	for _, m := range link.FindAllStringSubmatch(string(page), -1) {
		if strings.HasSuffix(m[1], ".go") {
			src, err := os.ReadFile(filepath.Join("../../docs", filepath.FromSlash(m[1])))
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, trimmed(string(src)))
		}
	}
	blocks := block.FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Error("there are no blocks")
	}
	for _, m := range blocks {
		if !slices.ContainsFunc(sources, func(src string) bool { return strings.Contains(src, trimmed(m[1])) }) {
			t.Errorf("no file that the page links to has\n%s", m[1])
		}
	}
}
