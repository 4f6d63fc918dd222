package importrules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A usage is wording that this repository does not use, and what to write instead.
// Patterns are matched against prose in which line breaks are single spaces.
type usage struct {
	pattern *regexp.Regexp
	but     *regexp.Regexp // matches that are fine; nil for none
	write   string
}

// usages is the list of words. A pattern must have no false positive: narrow it, or
// add to but, rather than bending a sentence that reads well.
var usages = []usage{
	{
		wordsPattern(`(each|every|next|one|per|two|all|old|a|pipelined) turns?|(last|later|previous) turns|turn to turn|turns? (ahead|of (a|the) loop)`),
		nil,
		"iteration",
	},
	{
		wordsPattern(`([\w']+ )?(is|are|was|were) no \w+`),
		wordsPattern(`(there|here) (is|are|was|were) no \w+|(is|are|was|were) no (better|fewer|later|less|longer|more|other|such|wider|way|need)`),
		`"is not a …", "is not an …", "are not …"`,
	},
	{
		regexp.MustCompile(`\b(has|have) not( (a|an|the|one|are|is|enough)\b|[.,;:)])`),
		nil,
		`"lacks …", "does not have …"`,
	},
	{
		wordsPattern(`(\w+[ -]){0,4}behind( the interface)?`),
		wordsPattern(`(leav(e|es|ing)|left)[ -](\w+ ){0,3}behind|behind the interface|iterations? behind`),
		`"after", of time and order; "below", of digits; "in a branch"`,
	},
	{
		wordsPattern(`matrix products?|products? of (matrices|tensors|tiles|warpgroups?)|warpgroup's products?`),
		nil,
		`"dot"`,
	},
	{
		wordsPattern(`rests of|rests? of (a )?divisions?`),
		nil,
		`"remainder"`,
	},
	{
		wordsPattern(`one a \w+|one \w{3,} a (commit|dimension|element|lane|line|pass|register|thread)|once a (block|call|compile|file|kernel|launch|layout|module|name|process|region|session|type)( \w+)?`),
		wordsPattern(`once a \w+ (is|has|was|does|needs)`),
		`"one per …", "once per …"`,
	},
	{
		wordsPattern(`(bytes|elements|lanes|registers|threads|warps) a (block|lane|program|thread|warp)( \w+)?`),
		wordsPattern(`a \w+ (brings|executed|had|has|have|holds|may|moves|of)`),
		`"… per thread"`,
	},
	{
		wordsPattern(`goes from \S+ over|does without|do without`),
		nil,
		`"moves from … to …", "lacks", "skips"`,
	},
	{
		wordsPattern(`let \w+ give what`),
		nil,
		"what the pass does to which operation",
	},
}

// otherSense lists the places where such words mean something else.
var otherSense = []struct {
	path, match, why string
}{
	{"driver/sim/simt/", " turn", "warps and blocks take turns on the simulated device"},
	{"internal/importrules/words_test.go", "", "the list itself"},
}

// wordsPattern compiles a pattern of whole words.
func wordsPattern(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + s + `)\b`) }

// A misuse is one use of listed wording in a text.
type misuse struct {
	offset       int
	match, write string
}

var lineBreak = regexp.MustCompile(`\n[ \t]*(?://|\*|#|>)?[ \t]*`)

// misuses finds listed wording in prose, also across its lines. The offsets are of
// bytes of text.
func misuses(text string) []misuse {
	// Line breaks and the marks of comments become spaces of the same length, of which
	// patterns see one.
	flat := make([]byte, 0, len(text))
	var at []int // at[i] is the offset in text of flat[i]
	add := func(c byte, offset int) {
		if c == ' ' && len(flat) > 0 && flat[len(flat)-1] == ' ' {
			return
		}
		flat, at = append(flat, c), append(at, offset)
	}
	breaks := lineBreak.FindAllStringIndex(text, -1)
	for i := 0; i < len(text); i++ {
		if len(breaks) > 0 && i == breaks[0][0] {
			end := breaks[0][1]
			if strings.Count(text[i:], "\n") > 0 && end < len(text) && text[end] == '\n' {
				add('.', i) // the end of a paragraph
			}
			add(' ', i)
			i, breaks = end-1, breaks[1:]
			continue
		}
		add(text[i], i)
	}
	var found []misuse
	for _, u := range usages {
		for _, m := range u.pattern.FindAllIndex(flat, -1) {
			s := string(flat[m[0]:m[1]])
			if u.but == nil || !u.but.MatchString(s) {
				found = append(found, misuse{at[m[0]], s, u.write})
			}
		}
	}
	return found
}

// proseOf returns the comments and string literals of a Go file by their offsets.
func proseOf(path string, src []byte) (map[int]string, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	prose := make(map[int]string)
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	for _, group := range f.Comments {
		prose[offset(group.Pos())] = string(src[offset(group.Pos()):offset(group.End())])
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			prose[offset(lit.Pos())] = lit.Value
		}
		return true
	})
	return prose, nil
}

// wordsIn reports listed wording of one file, whose path is given from the root.
func wordsIn(path string, src []byte) ([]string, error) {
	prose := map[int]string{0: string(src)}
	switch filepath.Ext(path) {
	case ".txtar":
		prose[0], _, _ = strings.Cut(string(src), "\n-- ") // what comes before its files
	case ".go":
		var err error
		if prose, err = proseOf(path, src); err != nil {
			return nil, err
		}
	}
	var out []string
	for start, text := range prose {
	next:
		for _, m := range misuses(text) {
			for _, o := range otherSense {
				if strings.HasPrefix(path, o.path) && strings.Contains(m.match, o.match) {
					continue next
				}
			}
			line := 1 + strings.Count(string(src[:start+m.offset]), "\n")
			out = append(out, fmt.Sprintf("%s:%d: %q: write %s", path, line, m.match, m.write))
		}
	}
	return out, nil
}

// isProse reports whether people read what is in a file: Go that is no test data,
// the documents, and the examples that tritonc passes prints.
func isProse(path string) bool {
	switch filepath.Ext(path) {
	case ".go":
		return !strings.Contains(path, "/testdata/")
	case ".md":
		return strings.HasPrefix(path, "docs/") || !strings.Contains(path, "/")
	}
	return strings.HasPrefix(path, "core/transform/") && strings.HasSuffix(path, "/example.txtar")
}

// TestWords reads the comments and strings of every Go file that no program wrote,
// the documents, and the examples of passes.
func TestWords(t *testing.T) {
	root := filepath.Join("..", "..")
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !d.Type().IsRegular() || !isProse(rel) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		uses, err := wordsIn(rel, src)
		for _, use := range uses {
			t.Error(use)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 100 {
		t.Fatalf("read %d files, which is not the repository", n)
	}
}

func TestMisuses(t *testing.T) {
	bad := []string{
		"// carried from turn to turn",
		"// the value that every\n// turn computes",
		"`%s is no number`",
		"// a Source that is no\n// Python file",
		"// a type which sm80 has not, and",
		"// runs behind the\n// fence",
		"// A matrix product of tiles",
		"// rests of divisions",
		"// the slice has one a register",
		"// called once a module.",
		"// two elements a thread along the axis",
		"// goes from a over b to c",
		"The loop does without\nmasks.",
	}
	for _, text := range bad {
		if len(misuses(text)) == 0 {
			t.Errorf("nothing found in %q", text)
		}
	}
	good := []string{
		"// in turn, which turns it off; blocks take turns",
		"// there is no number; is no longer there; was no better",
		"// a kernel that has not run",
		"// leaves no folder behind",
		"// a sum of products; the dot product of rows",
		"// the rest of the loop",
		"// once a module is loaded",
		"// how many threads a block may have",
		"// it is\n//\n// no more",
	}
	for _, text := range good {
		for _, m := range misuses(text) {
			t.Errorf("%q in %q", m.match, text)
		}
	}
	use, err := wordsIn("core/a.go", []byte("package a\n\n// A is a number.\n// It is no name.\nvar A = 1\n"))
	if err != nil || len(use) != 1 || !strings.HasPrefix(use[0], "core/a.go:4: ") {
		t.Errorf("got %q, %v", use, err)
	}
}
