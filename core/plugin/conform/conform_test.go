package conform

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// build builds a backend of this tree.
func build(t *testing.T, name, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tritonc-backend-"+name)
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", file, ".")
	cmd.Dir = filepath.FromSlash(dir)
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOPROXY=off", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, text)
	}
	return file
}

func run(t *testing.T, program string) []Result {
	t.Helper()
	results, err := Run(t.Context(), Options{Program: program, LookupEnv: os.LookupEnv, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestGood(t *testing.T) {
	for _, name := range []string{"minimal", "acme"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range run(t, build(t, name, "../../../examples/backends/"+name)) {
				mayLack := r.Check == "dialects" || r.Check == "dialect text" || r.Check == "modules" || r.Check == "passes" || r.Check == "stage by stage" || r.Check == "orphans" && runtime.GOOS != "linux"
				if r.Status == Failed || r.Status == Skipped && !mayLack {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestNoEnvironment: without LookupEnv programs get no variables of the host's.
func TestNoEnvironment(t *testing.T) {
	results, err := Run(t.Context(), Options{Program: build(t, "minimal", "../../../examples/backends/minimal"), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if got := failures(t, results); len(got) > 0 {
		t.Error(got)
	}
}

// TestBad: each fault of testdata/backend is found, and nothing else.
func TestBad(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it leaves a process, which only Linux finds")
	}
	got := failures(t, run(t, build(t, "bad", "testdata/backend")))
	if text := got["host's death"]; text != "" { // the rest of it has times and numbers
		got["host's death"] = strings.Join(strings.Fields(text)[:2], " ")
	}
	want := map[string]string{
		"describe":        "the target bad:v1",
		"stable facts":    "its hash is",
		"wrong options":   "it takes the",
		"dialects":        "dialect declaration: invalid",
		"modules":         `GetModule("bad.empty") answers the`,
		"passes":          "the passes of",
		"determinism":     "vector_add gives other",
		"concurrency":     "vector_add gives other",
		"cancellation":    "vector_add gives other",
		"malformed input": "it must compile",
		"huge input":      "it must compile",
		"crash":           "vector_add gives other",
		"cut tools":       "200ms after a",
		"standard output": "after the handshake",
		"host's death":    "the backend:",
		"orphans":         "it left processes:",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// failures are the first words of the checks that failed.
func failures(t *testing.T, results []Result) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, r := range results {
		if r.Status == Failed {
			words := strings.Fields(r.Text)
			got[r.Check] = strings.Join(words[:min(3, len(words))], " ")
		}
		if (r.Status == Failed) != (r.Section != "") {
			t.Errorf("section of %+v", r)
		}
	}
	return got
}

// TestStaleLock: a backend whose next process fails for what a killed one left.
func TestStaleLock(t *testing.T) {
	want := map[string]string{"crash": "vector_add compiles, but"}
	got := failures(t, run(t, build(t, "locks", "testdata/locks")))
	for _, after := range []string{"cut tools", "host's death"} { // processes end there, too
		delete(got, after)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestKilled: a backend that cannot be asked to end is killed, which the protocol's page
// allows.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the backend has a Unix socket")
	}
	for _, r := range run(t, build(t, "killed", "testdata/killed")) {
		if r.Status == Failed || r.Check == "shutdown" && r.Status != OK {
			t.Errorf("%+v", r)
		}
	}
}

// TestWrongDevice: a device that takes any code and any arguments, and computes wrong
// numbers.
func TestWrongDevice(t *testing.T) {
	want := map[string]string{
		"stable facts":   "two processes describe",
		"dialects":       "LoadDialects answers another",
		"dialect text":   "vector_add.ir:2:3: error: unknown",
		"loading":        "it takes a",
		"launches":       "vector_add gives wrong",
		"wrong launches": "it takes a",
		"sessions":       "where 4 sessions",
		"cut calls":      "after calls that",
	}
	if diff := cmp.Diff(want, failures(t, run(t, build(t, "wrong", "testdata/driver")))); diff != "" {
		t.Error(diff)
	}
}

// TestRoundTrip: what a declaration does not say as the stage prints it is shown.
func TestRoundTrip(t *testing.T) {
	d, err := decl.Load([]byte(`{"name": "toy", "ops": [
		{"name": "toy.add", "operands": [{"name": "a", "type": "i32"}, {"name": "b", "type": "i32"}],
		 "results": [{"name": "sum", "type": "i32"}], "resultTypes": "like a", "asm": "$a `+"`,`"+` $b attr-dict"}]}`), dialect.All()...)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{declared: map[string]*ir.Dialect{"toy": d}}
	for op, want := range map[string]string{
		"toy.add %0, %0":                        "",
		"toy.add %0,%0":                         "tritonc prints line 3 of k.ir in another way: declare the form that the stage prints\nstage     %1 = toy.add %0,%0\ntritonc   %1 = toy.add %0, %0",
		"toy.add %0":                            "k.ir:4:1: error: expected ',', found",
		"toy.sub %0, %0":                        "k.ir:3:8: error: unknown operation 'toy.sub'",
		"other.add %0, %0":                      "the dialect 'other' is not declared: name it in the facts",
		`"toy.add"(%0, %0) : (i32, i32) -> i32`: "tritonc prints line 3",
	} {
		text := "module {\n  %0 = ub.poison : i32\n  %1 = " + op + "\n}\n"
		got := ""
		if err := s.roundTrip("k.ir", []byte(text)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %s, want %s", op, got, want)
		}
	}
}

// TestMetadata: a field may be absent, but not wrong.
func TestMetadata(t *testing.T) {
	for metadata, want := range map[string]string{
		"":                           "",
		"{}":                         "",
		`{"name": "k", "shared": 8}`: "",
		`{"num_warps": 4}`:           "",
		`{"name": "other"}`:          `the name "other"`,
		`{"name": 7}`:                "another type",
		`{"num_warps": "4"}`:         "another type",
		`{"shared": -1}`:             "below 0",
		"[]":                         "not a JSON object",
		"null":                       "not a JSON object",
	} {
		got := ""
		if err := checkMetadata(metadata, "k"); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %s, want %s", metadata, got, want)
		}
	}
}

func TestNoBackend(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is a shell script")
	}
	file := filepath.Join(t.TempDir(), "tritonc-backend-talks")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	results := run(t, file)
	if r := results[0]; r.Status != Failed || !strings.Contains(r.Text, `printed "hello"`) {
		t.Errorf("%+v", r)
	}
	for _, r := range results[1:] {
		if r.Check != "orphans" && r.Status != Skipped {
			t.Errorf("not skipped: %+v", r)
		}
	}
	if _, err := Run(t.Context(), Options{Program: filepath.Join(t.TempDir(), "other"), TempDir: t.TempDir()}); err == nil {
		t.Error("a program that is not there was checked")
	}
}
