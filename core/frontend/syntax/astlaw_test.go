package syntax

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
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
	cmd := exec.Command(py.path, args...)
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := comparison{t: t, blur: blur}
	c.run(bufio.NewReaderSize(out, 1<<20))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("compared %d files, %d statements: %d differ; both refuse %d, only CPython %d, only we %d",
		c.files, c.statements, c.differ, c.bothRefuse, c.onlyTheirs, c.onlyOurs)
	if c.files != len(files) {
		t.Errorf("CPython answered for %d of %d files", c.files, len(files))
	}
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

func pythonFiles(t *testing.T, roots []string) []string {
	t.Helper()
	var files []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
	t    *testing.T
	blur bool

	files, statements, differ        int
	bothRefuse, onlyTheirs, onlyOurs int
}

// run reads what dump_ast.py prints.
func (c *comparison) run(r *bufio.Reader) {
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
	src, err := os.ReadFile(name)
	if err != nil {
		c.t.Error(err)
		return
	}
	m, err := Parse(name, src)
	switch {
	case err != nil && refusal != "":
		c.bothRefuse++
		c.t.Logf("both refuse %s\n  theirs %s\n  ours   %v", name, refusal, err)
		return
	case err != nil:
		c.onlyOurs++
		c.t.Errorf("only we refuse: %v", err)
		return
	case refusal != "" && knownRefusal(name) != "":
		c.t.Logf("only CPython refuses %s, as known: %s", name, knownRefusal(name))
		return
	case refusal != "":
		c.onlyTheirs++
		c.t.Errorf("only CPython refuses %s: %s", name, refusal)
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
		if ours != trees[i] {
			c.differ++
			c.t.Errorf("%s:%d: %s", name, s.Loc().Line, firstDifference(ours, trees[i]))
			return
		}
	}
}

// knownRefusal is why CPython alone refuses a file of its library.
func knownRefusal(name string) string {
	if strings.HasSuffix(name, "/tokenizedata/bad_coding2.py") {
		return "after a byte order mark it takes the spelling utf8 for another encoding than utf-8"
	}
	return ""
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
