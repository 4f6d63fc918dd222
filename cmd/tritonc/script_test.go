package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tritonc/tritonc/driver/bench/plot"
	"github.com/tritonc/tritonc/driver/bench/table"
	"github.com/tritonc/tritonc/internal/ascendstandin"
	"github.com/tritonc/tritonc/internal/cudastandin"
	"github.com/tritonc/tritonc/internal/hipstandin"
)

func TestMain(m *testing.M) {
	if os.Getenv(deafVar) != "" {
		deaf()
	}
	if os.Getenv(sourceVar) == "" {
		if dir, err := os.Getwd(); err == nil {
			os.Setenv(sourceVar, dir)
		}
	}
	testscript.Main(removing{m}, map[string]func(){"tritonc": fromHere, table.PlotProgram: drawPicture})
}

// sourceVar tells the program tritonc where its source is, which make test has it forget.
const sourceVar = "TRITONC_TEST_SOURCE"

// fromHere is the program tritonc, built in this folder.
func fromHere() {
	builtIn = func() string { return os.Getenv(sourceVar) }
	main()
}

// drawPicture is the program tritonc-plot.
func drawPicture() {
	if err := plot.Filter(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// removing runs the tests and removes what buildBackends built.
type removing struct{ *testing.M }

func (m removing) Run() int {
	code := m.M.Run()
	os.RemoveAll(built.dir)
	return code
}

// built is the folder of buildBackends, for all tests.
var built struct {
	sync.Once
	dir string
	err error
}

// TestScript runs the command as users do: testdata/script/*.txtar.
func TestScript(t *testing.T) { runScripts(t, serverOff, nil) }

// runScripts runs scripts, or all without files, for which a server listens at socket.
func runScripts(t *testing.T, socket string, files []string) {
	backends := buildBackends(t)
	standin, missing := cudastandin.Build(t, filepath.Join("..", ".."))
	if missing != "" {
		t.Log(missing)
	}
	rocm, missingHIP := hipstandin.Library(t)
	hipPlugin := ""
	if missingHIP == "" {
		hipPlugin = hipstandin.Plugin(t, filepath.Join("..", ".."))
	} else {
		t.Log(missingHIP)
	}
	cann, missingCANN := ascendstandin.Library(t)
	ascendPlugin, bishengir := "", ""
	if missingCANN == "" {
		bishengir, _ = ascendstandin.Compiler(t)
		ascendPlugin = ascendstandin.Plugin(t, filepath.Join("..", ".."))
	} else {
		t.Log(missingCANN)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scriptDir(files),
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("TRITONC_UPDATE") == "1",
		Setup: func(env *testscript.Env) error {
			// The user's tools, but not their backends.
			if cache, err := os.UserCacheDir(); err == nil {
				env.Setenv("XDG_CACHE_HOME", cache)
			}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv(cacheDirVar, filepath.Join(env.WorkDir, ".kernels"))
			// For scripts that take PATH away.
			if path, err := exec.LookPath("tritonc"); err == nil {
				env.Setenv("TRITONC", path)
			}
			env.Setenv(sourceVar, os.Getenv(sourceVar))
			env.Setenv(socketVar, socket)
			env.Setenv(backendPathVar, backends)
			env.Setenv("BACKENDS", backends) // for scripts that take the variable away
			env.Setenv("STANDIN_PLUGINS", standin.Plugins)
			env.Setenv("STANDIN_LIBRARY", standin.Library)
			env.Setenv("HIP_PLUGIN", hipPlugin)
			env.Setenv("HIP_LIBRARY", rocm)
			env.Setenv("ASCEND_PLUGIN", ascendPlugin)
			env.Setenv("ASCEND_LIBRARY", cann)
			env.Setenv("ASCEND_COMPILER", bishengir)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "standin":
				return missing == "", nil
			case "hipstandin":
				return missingHIP == "", nil
			case "ascendstandin":
				return missingCANN == "", nil
			}
			return condition(name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code":      exitCode,
			"jsonlines": jsonLines,
			"lists":     lists,
		},
	})
}

// scriptDir is where scripts are whom nobody names.
func scriptDir(files []string) string {
	if files != nil {
		return ""
	}
	return filepath.Join("testdata", "script")
}

// condition adds to testscript's conditions
//
//	cgo        tritonc was built with cgo
//	root       permissions do not bind
//	toolchain  llc and ptxas are there; make test sees to it
//	standin    so is the driver for NVIDIA GPUs, over a stand-in for CUDA
//	hipstandin that for AMD GPUs is, over a stand-in for HIP
//	ascendstandin that for Ascend NPUs is, over a stand-in for CANN
//	tmpfs      a process can have a small disk of its own
func condition(name string) (bool, error) {
	switch name {
	case "cgo":
		info, _ := debug.ReadBuildInfo()
		return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}), nil
	case "root":
		return os.Geteuid() == 0, nil
	case "toolchain":
		return haveToolchain(), nil
	case "tmpfs":
		return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

var haveToolchain = sync.OnceValue(func() bool {
	return exec.Command("sh", filepath.Join("..", "..", "scripts", "toolchain.sh"), "--check").Run() == nil
})

// buildBackends builds the tree's backends and the smallest example, as make build
// does, and returns the folder that holds them, which tests share.
func buildBackends(tb testing.TB) string {
	tb.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "tritonc-backends"); built.err == nil {
			built.err = buildInto(built.dir, "backends/*/cmd/*/main.go", "examples/backends/minimal/main.go", "examples/backends/acme/main.go")
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return built.dir
}

// buildInto builds the tree's programs whose main.go patterns match.
func buildInto(dir string, patterns ...string) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		mains, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, main := range mains {
			build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", dir+"/", ".")
			build.Dir = filepath.Dir(main)
			build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
			if out, err := build.CombinedOutput(); err != nil {
				return fmt.Errorf("go build in %s: %w\n%s", build.Dir, err, out)
			}
		}
	}
	return nil
}

// exitCode is the script command "code N COMMAND…": the command must end with
// exit code N. Its output is there for stdout and stderr, as after exec.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = strconv.Itoa(exit.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// lists is the script command "lists VERB N ARGS…": with --json, the verb must write N
// objects to standard output, a line each, or some where N is "+". Their fields must be
// those that docs/diagnostics.md has for it.
func lists(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lists VERB N ARGS...")
	}
	verb, want := args[0], args[1]
	fields := documentedFields(ts, verb)
	words := append(strings.Fields(verb), args[2:]...)
	ts.Check(ts.Exec("tritonc", append(words, "--json")...))
	n := 0
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("line %d: %v: %s", n, err, line)
		}
		for field := range object {
			if !slices.Contains(fields, field) {
				ts.Fatalf("line %d: docs/diagnostics.md does not have %s for %s: %s", n, field, verb, line)
			}
		}
	}
	if want == "+" && n == 0 || want != "+" && strconv.Itoa(n) != want {
		ts.Fatalf("%d objects, want %s", n, want)
	}
}

// documentedFields are those of the verb's row among the lists of docs/diagnostics.md.
func documentedFields(ts *testscript.TestScript, verb string) (fields []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "diagnostics.md"))
	ts.Check(err)
	_, table, _ := strings.Cut(string(text), "### Lists")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) == 5 && slices.Contains(strings.Split(strings.TrimSpace(cells[1]), ", "), "`"+verb+"`") {
			for i, word := range strings.Split(cells[3], "`") {
				if i%2 == 1 {
					fields = append(fields, word)
				}
			}
		}
	}
	if len(fields) == 0 {
		ts.Fatalf("docs/diagnostics.md has no list of %s", verb)
	}
	return fields
}

// jsonLines is the script command "jsonlines FILE N": each of the N lines of the
// file, which may be stdout or stderr, must be a JSON object of a known kind with
// the fields that its kind always has.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jsonlines FILE N")
	}
	always := map[string][]string{
		"diagnostic": {"severity", "category", "message", "notes"},
		"print":      {"text"}, "log": {"text"}, "output": {"text"}, "note": {"text"}, "dump": {"pass", "text"}, "timing": {"milliseconds"},
		"built":    {"name", "size"},
		"artifact": {"file", "target", "kernel", "stage", "name", "size"},
	}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("line %d: %v: %s", n, err, line)
		}
		kind, _ := object["kind"].(string)
		if always[kind] == nil {
			ts.Fatalf("line %d is of no known kind: %s", n, line)
		}
		for _, field := range always[kind] {
			if object[field] == nil {
				ts.Fatalf("line %d has no %s: %s", n, field, line)
			}
		}
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d lines, want %s", n, args[1])
	}
}
