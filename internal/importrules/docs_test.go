package importrules

import (
	"os"
	"path/filepath"
	"regexp"
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
