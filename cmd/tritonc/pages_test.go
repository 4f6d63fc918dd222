package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elided stands in a page for lines of output that it leaves out.
const elided = "…"

// TestPages runs the commands that documents show and compares what they print with
// what the documents say. In an indented block a command is a line that begins with
// "$ ", its continuations included; its output follows. Commands run in one shell, which
// starts at the root of a copy, so that what they write does not change the repository. TRITONC_UPDATE=1
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
		root = copyOf(t, root, "examples/*.py", "examples/npu/*.py", "examples/tuned/*", "docs/examples/first/*")
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			checkPage(t, root, page, env)
		})
	}
}

// TestBackendPage runs the commands of docs/add-a-backend.md, from tritonc backend init on,
// and holds the code that it shows to that of the examples, which init writes.
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
	env := append(os.Environ(), backendPathVar+"=", cacheDirVar+"="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(),
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0")
	checkPage(t, copyOf(t, root, "examples/*.py"), page, env)
}

// TestReadme runs the commands of README.md that begin with bin/tritonc.
func TestReadme(t *testing.T) {
	if !haveToolchain() {
		t.Skip("llc or ptxas is not there")
	}
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("tritonc")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyOf(t, root, "examples/*.py")
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "tritonc")); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^    bin/tritonc (.*\\\n)*.*$`).FindAllString(string(text), -1)
	if len(commands) < 6 {
		t.Fatalf("%d commands", len(commands))
	}
	env := append(os.Environ(), backendPathVar+"="+buildBackends(t), cacheDirVar+"="+t.TempDir())
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
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
	commands := readPage(lines)
	outputs := runPage(t, root, commands, env)
	var out []string
	at := 0
	for n, s := range commands {
		out = append(out, lines[at:s.line+s.commandLines]...)
		at = s.line + s.commandLines + len(s.output)
		fixed, err := s.fit(outputs[n])
		if err != nil && os.Getenv("TRITONC_UPDATE") != "1" {
			t.Errorf("%s:%d: %s\n%v\nit prints:\n%s", page, s.line+1, s.command, err, strings.Join(outputs[n], "\n"))
		}
		for _, line := range fixed {
			out = append(out, strings.TrimRight("    "+line, " ")+"\n")
		}
	}
	out = append(out, lines[at:]...)
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
	line         int // from 0
	commandLines int
	output       []string
}

// readPage lists the commands of a page.
func readPage(lines []string) (list []shown) {
	for i := 0; i < len(lines); {
		if !strings.HasPrefix(lines[i], shellPrompt) {
			i++
			continue
		}
		s := shown{line: i}
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
		for ; i < len(lines) && strings.HasPrefix(lines[i], "    ") && !strings.HasPrefix(lines[i], shellPrompt); i++ {
			s.output = append(s.output, strings.TrimRight(lines[i][4:], "\n"))
		}
		list = append(list, s)
	}
	return list
}

// commandEnd is printed after each command, with its exit code.
var commandEnd = regexp.MustCompile("\x01(\\d+)\x02")

// runPage runs the commands of a page in one shell, as a reader would, and returns the
// lines that each prints. Where the page shows an error the command must fail, else it
// must not.
func runPage(t *testing.T, root string, commands []shown, env []string) [][]string {
	t.Helper()
	var script strings.Builder
	for _, s := range commands {
		fmt.Fprintf(&script, "%s\nprintf '\\001%%d\\002' $?\n", s.command)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir, cmd.Env = root, env
	raw, err := cmd.CombinedOutput()
	ends := commandEnd.FindAllSubmatchIndex(raw, -1)
	if err != nil || len(ends) != len(commands) {
		t.Fatalf("%d of %d commands ran: %v\n%s", len(ends), len(commands), err, raw)
	}
	outputs := make([][]string, len(commands))
	from := 0
	for n, end := range ends {
		text, code := string(raw[from:end[0]]), string(raw[end[2]:end[3]])
		from = end[1]
		if strings.Contains(strings.Join(commands[n].output, "\n"), "error: ") != (code != "0") {
			t.Errorf("%s: exit code %s\n%s", commands[n].command, code, text)
		}
		if text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			outputs[n] = append(outputs[n], strings.TrimRight(line, " "))
		}
	}
	return outputs
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
