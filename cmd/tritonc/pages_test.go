package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elided stands in a page for lines of output that it leaves out.
const elided = "…"

// TestPages runs the commands that documents show and compares what they print with
// what the documents say. In an indented block a command is a line that begins with
// "$ ", its continuations included; its output follows. Commands run at the root
// of a copy, so that what they write does not change the repository. TRITONC_UPDATE=1
// runs them in the repository and rewrites the output.
func TestPages(t *testing.T) {
	if !haveToolchain() {
		t.Skip("llc or ptxas is not there")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "examples", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	env := append(os.Environ(), backendPathVar+"="+buildBackends(t), cacheDirVar+"="+t.TempDir())
	if os.Getenv("TRITONC_UPDATE") != "1" {
		root = copyOf(t, root, "examples/*.py", "examples/tuned/*", "docs/examples/first/*")
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			checkPage(t, root, page, env)
		})
	}
}

// TestBackendPage runs the commands of docs/add-a-backend.md, and holds the code that it
// shows to that of the examples.
func TestBackendPage(t *testing.T) {
	if !haveToolchain() {
		t.Skip("llc or ptxas is not there")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "add-a-backend.md")
	checkCode(t, page, filepath.Join(root, "examples", "backends", "*", "*.go"))
	copied := copyOf(t, root, "examples/*.py", "examples/backends/acme/*", "examples/backends/gcn/*")
	for _, module := range []string{"acme", "gcn"} {
		// The module's replace line leads out of the copy.
		replace := exec.CommandContext(t.Context(), "go", "mod", "edit", "-replace=github.com/tritonc/tritonc="+root)
		replace.Dir = filepath.Join(copied, "examples", "backends", module)
		if out, err := replace.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	env := append(os.Environ(), backendPathVar+"="+filepath.Join(copied, "backends"), cacheDirVar+"="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(),
		"GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0")
	checkPage(t, copied, page, env)
}

// checkCode holds that each block of Go in a page is part of one of the files.
func checkCode(t *testing.T, page, pattern string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(source))
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Errorf("%s shows no code", page)
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```\n")
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, code) }) {
			t.Errorf("%s: no file of %s has:\n%s", page, pattern, code)
		}
	}
}

// copyOf returns a folder with the files of a repository that match.
func copyOf(t *testing.T, root string, patterns ...string) string {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil { // names of files are relative to it
		t.Fatal(err)
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range files {
			to := filepath.Join(dir, strings.TrimPrefix(from, root))
			data, err := os.ReadFile(from)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(to), 0o755)
			}
			if err == nil {
				err = os.WriteFile(to, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func checkPage(t *testing.T, root, page string, env []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	var out []string
	for i := 0; i < len(lines); {
		if !strings.HasPrefix(lines[i], shellPrompt) {
			out = append(out, lines[i])
			i++
			continue
		}
		var s shown
		start := i
		s, i = readShown(lines, i)
		got := runShown(t, root, s, env)
		out = append(out, lines[start:start+s.commandLines]...)
		fixed, err := s.fit(got)
		if err != nil && os.Getenv("TRITONC_UPDATE") != "1" {
			t.Errorf("%s:%d: %s\n%v\nit prints:\n%s", page, start+1, s.command, err, strings.Join(got, "\n"))
		}
		for _, line := range fixed {
			out = append(out, strings.TrimRight("    "+line, " ")+"\n")
		}
	}
	if updated := strings.Join(out, ""); os.Getenv("TRITONC_UPDATE") == "1" && updated != string(text) {
		if err := os.WriteFile(page, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExampleFiles compiles every example as the comments in it say, for both kinds of dots.
func TestExampleFiles(t *testing.T) {
	if !haveToolchain() {
		t.Skip("llc or ptxas is not there")
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tritonc", append([]string{"-t", "cuda:80", "-t", "cuda:90", "--emit", "ptx", "-o", dir}, files...)...)
	cmd.Env = append(os.Environ(), backendPathVar+"="+buildBackends(t), cacheDirVar+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.cuda_90.ptx"))
	if err != nil || len(made) < len(files) {
		t.Errorf("%d kernels of %d files: %v", len(made), len(files), err)
	}
}

const shellPrompt = "    $ "

// shown is a command of a page and the output that the page has for it.
type shown struct {
	command      string
	commandLines int
	output       []string
}

// readShown reads the command at a line, and returns the line after its output.
func readShown(lines []string, i int) (shown, int) {
	var s shown
	for {
		line := strings.TrimSpace(lines[i])
		i++
		s.commandLines++
		more := strings.TrimSuffix(line, `\`)
		s.command += strings.TrimPrefix(more, "$ ")
		if more == line {
			break
		}
	}
	for ; i < len(lines) && strings.HasPrefix(lines[i], "    ") && !strings.HasPrefix(lines[i], "    $ "); i++ {
		s.output = append(s.output, strings.TrimRight(lines[i][4:], "\n"))
	}
	return s, i
}

// runShown returns the lines that a command prints. It must fail if the page shows an
// error, and else it must not.
func runShown(t *testing.T, root string, s shown, env []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", s.command)
	cmd.Dir, cmd.Env = root, env
	raw, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(s.output, "\n"), "error: ") != (err != nil) {
		t.Errorf("%s: %v\n%s", s.command, err, raw)
	}
	if len(raw) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// fit holds the output that a page shows to what the command prints. It returns what the
// page should show: its own lines, those that are no longer printed replaced by
// the most similar ones that are.
func (s shown) fit(got []string) ([]string, error) {
	if !slices.Contains(s.output, elided) {
		if slices.EqualFunc(s.output, got, sameWords) {
			return s.output, nil
		}
		return got, errors.New("the page shows other output")
	}
	var fixed []string
	var err error
	at, gap := 0, false
	for _, line := range s.output {
		if line == elided {
			fixed, gap = append(fixed, line), true
			continue
		}
		n := slices.IndexFunc(got[at:], func(g string) bool { return sameWords(g, line) })
		if n < 0 || n > 0 && !gap {
			err = errors.Join(err, fmt.Errorf("the page shows: %s", line))
			if n = similar(got[at:], line); n < 0 {
				continue
			}
			line = got[at+n]
		}
		fixed, gap = append(fixed, line), false
		at += n + 1
	}
	if at < len(got) && !gap {
		err = errors.Join(err, errors.New("the page shows less, with no … at its end"))
		fixed = append(fixed, elided)
	}
	return fixed, err
}

// sameWords reports whether two lines differ in how their columns are aligned at most.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// similar returns the line that has most of the beginning of another, or -1 if none
// has its first word.
func similar(lines []string, like string) int {
	best, most := -1, len(strings.SplitAfterN(like, " ", 2)[0])-1
	for i, line := range lines {
		n := 0
		for n < min(len(line), len(like)) && line[n] == like[n] {
			n++
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

func TestPageFit(t *testing.T) {
	got := []string{"kernel  k", "sectors  4 (2 needed)", "atomics  0", "k ran"}
	for _, c := range []struct{ output, want, err string }{
		{"kernel  k|sectors  4 (2 needed)|atomics  0|k ran", "", ""},
		{"…|sectors  4 (2 needed)|…|k ran", "", ""},
		{"…|atomics  0|…", "", ""},
		{"…|sectors      4 (2 needed)|…|k ran", "", ""},
		{"…|sectors  3 (2 needed)|…|k ran", "…|sectors  4 (2 needed)|…|k ran", "the page shows: sectors  3 (2 needed)"},
		{"…|sectors  4 (2 needed)|k ran", "…|sectors  4 (2 needed)|k ran", "the page shows: k ran"},
		{"…|k walked|…", "…|k ran|…", "the page shows: k walked"},
		{"…|loads  4|…", "…|…", "the page shows: loads  4"},
		{"…|atomics  0", "…|atomics  0|…", "the page shows less, with no … at its end"},
		{"kernel  k", "kernel  k|sectors  4 (2 needed)|atomics  0|k ran", "the page shows other output"},
	} {
		if c.want == "" {
			c.want = c.output
		}
		fixed, err := shown{output: strings.Split(c.output, "|")}.fit(got)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if strings.Join(fixed, "|") != c.want || text != c.err {
			t.Errorf("%s:\n%s, %s\nwant\n%s, %s", c.output, strings.Join(fixed, "|"), text, c.want, c.err)
		}
	}
}
