package syntax

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestASTLaw compares our trees with those of CPython's own parser, positions
// included, over its whole standard library. It needs python3.12 (python3 or
// the one that TRITONC_PYTHON names does too) and takes minutes, so it runs
// only when TRITONC_AST_LAW=1.
func TestASTLaw(t *testing.T) {
	if os.Getenv("TRITONC_AST_LAW") != "1" {
		t.Skip("set TRITONC_AST_LAW=1 to compare with CPython's ast over its standard library")
	}
	py := findPython(t)
	roots := strings.Fields(os.Getenv("TRITONC_AST_ROOTS"))
	if len(roots) == 0 {
		roots = []string{py.stdlib}
	}
	files := pythonFiles(t, roots)
	t.Logf("%s (%s), %d files under %s", py.path, py.version, len(files), strings.Join(roots, " "))

	args := []string{"testdata/dump_ast.py"}
	blur := py.version < "3.12"
	if blur {
		t.Log("this CPython is older than 3.12: positions inside f-strings are not compared")
		args = append(args, "--no-fstring-positions")
	}
	c := comparison{t: t, blur: blur, read: os.ReadFile}
	c.run(py.path, args, files)
}

// TestMutantLaw changes tokens of valid statements at random and compares what
// CPython accepts of that, and the trees, with ours.
func TestMutantLaw(t *testing.T) {
	if os.Getenv("TRITONC_AST_LAW") != "1" {
		t.Skip("set TRITONC_AST_LAW=1 to compare with CPython's ast over mutated statements")
	}
	py := findPython(t)
	if py.version != "3.12" {
		t.Skipf("needs CPython 3.12, since what is refused changes between versions; %s is %s", py.path, py.version)
	}
	seeds := mutantSeeds(t)
	var sources []string
	seed := uint64(1)
	if s := os.Getenv("TRITONC_AST_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 2))
	for range 40000 {
		sources = append(sources, hex.EncodeToString([]byte(mutate(rnd, seeds[rnd.IntN(len(seeds))]))))
	}
	c := comparison{t: t, read: hexSource, quiet: true}
	c.run(py.path, []string{"testdata/dump_ast.py", "--hex"}, sources)
}

func hexSource(name string) ([]byte, error) { return hex.DecodeString(name) }

// mutantSeeds are the statements of the constructs, each cut into tokens.
func mutantSeeds(t *testing.T) [][]string {
	t.Helper()
	var seeds [][]string
	for _, c := range readCases(t, "testdata/constructs.txt") {
		m, err := Parse(c.name, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Body {
			if parts := cut(m.Source, s.Loc()); len(parts) < 60 {
				seeds = append(seeds, parts)
			}
		}
	}
	return seeds
}

// cut splits the text of sp at its tokens; what lies between two belongs to the
// second.
func cut(src string, sp Span) []string {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	from, to := starts[sp.Line-1]+int(sp.Col), starts[sp.EndLine-1]+int(sp.EndCol)
	var l lexer
	l.init("", src[:to]+"\n", nil)
	var parts []string
	at := from
	for {
		l.fill()
		for _, tok := range l.toks {
			if tok.kind >= tName && int(tok.off) >= from {
				parts = append(parts, src[at:tok.end])
				at = int(tok.end)
			}
		}
		if last := l.toks[len(l.toks)-1].kind; last == tEOF || last == tError {
			return parts
		}
	}
}

// spares are the tokens that a mutation may put in.
var spares = strings.Fields("( ) [ ] { } , : ; = == := + - * ** / // . ... @ ~ ! < -> a b _ 1 2j 's' f'{a}' b'b' " +
	"if else for in not is and or lambda async await yield from import as with def class return None True " +
	"print match case type except finally try while del global raise assert += \\\n \n pass")

// mutate changes one or two tokens.
func mutate(rnd *rand.Rand, parts []string) string {
	p := slices.Clone(parts)
	for range 1 + rnd.IntN(2) {
		i := rnd.IntN(len(p))
		spare := " " + spares[rnd.IntN(len(spares))]
		switch rnd.IntN(6) {
		case 0:
			p = slices.Delete(p, i, i+1)
		case 1:
			p = slices.Insert(p, i, p[i])
		case 2:
			j := rnd.IntN(len(p))
			p[i], p[j] = p[j], p[i]
		case 3:
			p[i] = spare
		case 4:
			p = slices.Insert(p, i, spare)
		case 5:
			p = slices.Insert(p, i, p[rnd.IntN(len(p))])
		}
		if len(p) == 0 {
			return ""
		}
	}
	return mutateBytes(rnd, strings.TrimLeft(strings.Join(p, ""), " "))
}

// mutateBytes changes a byte of one source in four.
func mutateBytes(rnd *rand.Rand, s string) string {
	const bytes = "\"'\\\n\t \f#{}()[]!:=.0_9xejbrfuN\r$?`\xc3"
	if len(s) == 0 || rnd.IntN(4) != 0 {
		return s
	}
	i := rnd.IntN(len(s))
	c := bytes[rnd.IntN(len(bytes))]
	switch rnd.IntN(3) {
	case 0:
		return s[:i] + s[i+1:]
	case 1:
		return s[:i] + string([]byte{c}) + s[i+1:]
	}
	return s[:i] + string([]byte{c}) + s[i:]
}

type python struct{ path, version, stdlib string }

func findPython(t *testing.T) python {
	t.Helper()
	for _, name := range []string{os.Getenv("TRITONC_PYTHON"), "python3.12", "python3"} {
		if name == "" {
			continue
		}
		out, err := exec.Command(name, "-c",
			"import sys, os; print('%d.%02d' % sys.version_info[:2], os.path.dirname(os.__file__), sep='\\n')").Output()
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) == 2 {
			return python{name, lines[0], lines[1]}
		}
	}
	t.Skip("no python3 to compare with")
	return python{}
}

func pythonFiles(t testing.TB, roots []string) []string {
	t.Helper()
	var files []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && path != root && (d.Name() == "site-packages" || d.Name() == "dist-packages") {
				return fs.SkipDir // what others installed is not of the standard library
			}
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".py") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sort.Strings(files)
	return files
}

type comparison struct {
	t     *testing.T
	blur  bool
	quiet bool // do not log what both refuse
	read  func(name string) ([]byte, error)

	files, statements, differ        int
	bothRefuse, onlyTheirs, onlyOurs int
	// stricter counts what ast.parse accepts and CPython's compiler refuses,
	// as we do.
	stricter int
	known    int // differences that are CPython's mistakes
}

// run gives the names to dump_ast.py and compares what it prints.
func (c *comparison) run(path string, args, names []string) {
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.readTrees(bufio.NewReaderSize(out, 1<<20))
	if err := cmd.Wait(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Logf("compared %d sources, %d statements: %d differ; both refuse %d, only CPython %d, only we %d, we as its compiler would %d; known %d",
		c.files, c.statements, c.differ, c.bothRefuse, c.onlyTheirs, c.onlyOurs, c.stricter, c.known)
	if c.files != len(names) {
		c.t.Errorf("CPython answered for %d of %d sources", c.files, len(names))
	}
}

func (c *comparison) readTrees(r *bufio.Reader) {
	name, refusal := "", ""
	var trees []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		switch line[0] {
		case 'F':
			name, refusal, trees = line[2:], "", trees[:0]
		case 'S':
			trees = append(trees, line[2:])
		case 'E':
			refusal = line[2:]
		case '.':
			c.file(name, trees, refusal)
		}
	}
}

func (c *comparison) file(name string, trees []string, refusal string) {
	c.files++
	src, err := c.read(name)
	if err != nil {
		c.t.Error(err)
		return
	}
	m, err := Parse(name, src)
	switch {
	case err != nil && refusal != "":
		c.bothRefuse++
		if c.quiet {
			return
		}
		c.t.Logf("both refuse %s\n  theirs %s\n  ours   %v", name, refusal, err)
		return
	case err != nil && refusedLater(err):
		c.stricter++
		return
	case err != nil && c.quiet && !utf8.Valid(src):
		c.known++ // CPython looks for bad UTF-8 in a comment only when it reads a file
		return
	case err != nil:
		c.onlyOurs++
		c.t.Errorf("only we refuse: %v\n%s", err, c.show(src))
		return
	case refusal != "" && knownRefusal(name, refusal) != "":
		c.known++
		c.t.Logf("only CPython refuses %s, as known: %s", name, knownRefusal(name, refusal))
		return
	case refusal != "":
		c.onlyTheirs++
		c.t.Errorf("only CPython refuses %.80s: %s\n%s", name, refusal, c.show(src))
		return
	}
	c.statements += len(trees)
	if len(trees) != len(m.Body) {
		c.differ++
		c.t.Errorf("%s: %d statements, CPython has %d", name, len(m.Body), len(trees))
		return
	}
	for i, s := range m.Body {
		ours := Dump(s)
		if c.blur {
			ours = blurFStrings(ours)
		}
		if ours != trees[i] && debugNotEqual(ours) {
			c.known++
			continue
		}
		if ours != trees[i] {
			c.differ++
			c.t.Errorf("%.80s:%d: %s\n%s", name, s.Loc().Line, firstDifference(ours, trees[i]), c.show(src))
			return
		}
	}
}

// show is the source of a mutant; that of a file is in the file.
func (c *comparison) show(src []byte) string {
	if !c.quiet {
		return ""
	}
	return string(src)
}

// refusedLater reports whether err is one that CPython finds only after
// parsing.
func refusedLater(err error) bool {
	return strings.Contains(err.Error(), "keyword argument repeated: ") ||
		strings.Contains(err.Error(), "duplicate argument '") ||
		strings.Contains(err.Error(), "patterns may only match literals and attribute lookups")
}

// knownRefusal is why CPython alone refuses a source, where it should not.
func knownRefusal(name, refusal string) string {
	switch {
	case strings.HasSuffix(name, "/bad_coding2.py"):
		return "after a byte order mark it takes the spelling utf8 for another encoding than utf-8"
	case strings.Contains(refusal, "field 'value' is required for Constant"):
		return "it fails on a {x=} within a format spec"
	}
	return ""
}

// debugNotEqual reports whether tree may hold a f'{a != b = }', of whose text
// CPython 3.12 keeps only what comes before the !.
func debugNotEqual(tree string) bool {
	return strings.Contains(tree, "JoinedStr@") && strings.Contains(tree, "!=")
}

func firstDifference(ours, theirs string) string {
	i := 0
	for i < len(ours) && i < len(theirs) && ours[i] == theirs[i] {
		i++
	}
	from := max(i-60, 0)
	return fmt.Sprintf("\n  ours   …%.160s\n  theirs …%.160s", ours[from:], theirs[from:])
}

// blurFStrings replaces the positions inside a JoinedStr by *.
func blurFStrings(s string) string {
	const open = "JoinedStr@"
	var b strings.Builder
	for {
		i := strings.Index(s, open)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		i += len(open)
		i += strings.IndexByte(s[i:], '(')
		b.WriteString(s[:i])
		s = s[i:]
		depth, quoted := 0, false
		for i = 0; i < len(s); i++ {
			c := s[i]
			switch {
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == '@':
				b.WriteString("@*")
				i += strings.IndexByte(s[i:], '(') - 1
				continue
			}
			b.WriteByte(c)
			if depth == 0 {
				break
			}
		}
		s = s[i+1:]
	}
}
