package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// crashing are passes with mistakes.
var crashing = []*pass.Pass{
	{
		Name: "panics", Doc: "panic", Options: []pass.Option{{Name: "at", Default: 0}},
		Run: func(r *pass.Run) error { return []error{}[r.Int("at")] },
	},
	{Name: "breaks", Doc: "leave what does not verify", Run: func(r *pass.Run) error {
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Name() == "tt.return" {
				op.Erase()
				return ir.Stop
			}
			return ir.Advance
		})
		return nil
	}},
}

// opt runs the opt verb with the crashing passes beside the others.
func opt(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"opt"}, args...), &environment{
		stdout: &out, stderr: &errs, lookupEnv: func(string) (string, bool) { return "", false },
		passes: append(neutralPasses(), crashing...),
	})
	return code, out.String(), errs.String()
}

// TestReproducer: what a crash leaves behind shows the crash again, by the
// command in its first line, and holds the module before the pass alone.
func TestReproducer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "k.ttir")
	const src = "module {\n  tt.func public @k(%n: i32) {\n    %0 = arith.addi %n, %n : i32\n    %1 = arith.addi %n, %n : i32\n    tt.return\n  }\n}\n"
	if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ passes, again, says string }{
		{"cse,panics{at=3},cse", "panics{at=3}", "BUG: pass panics: runtime error: index out of range [3]"},
		{"cse,breaks,symbol-dce", "breaks", "BUG: pass breaks: the module does not verify after it"},
	} {
		t.Run(c.again, func(t *testing.T) {
			code, stdout, stderr := opt(t, "--passes", c.passes, file)
			if code != exitError || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Fatalf("code %d, %s\n%s", code, stdout, stderr)
			}
			command := regexp.MustCompile(`(?m)^  run it again: tritonc opt --passes '(.*)' (.*)$`).FindStringSubmatch(stderr)
			if command == nil || command[1] != c.again {
				t.Fatalf("no command in\n%s", stderr)
			}
			text, err := os.ReadFile(command[2])
			if err != nil {
				t.Fatal(err)
			}
			first, module, _ := strings.Cut(string(text), "\n")
			if want := "// tritonc opt --passes '" + c.again + "' " + command[2]; first != want {
				t.Errorf("the first line is %q, want %q", first, want)
			}
			if !strings.Contains(module, "@k") || strings.Contains(module, "%1 =") {
				t.Errorf("this is not the module before cse:\n%s", module)
			}
			if code, _, again := opt(t, "--passes", command[1], command[2]); code != exitError || !strings.Contains(again, c.says) {
				t.Errorf("a second time: code %d\n%s", code, again)
			}
		})
	}
}

// With --verify-each it is the pass itself that fails, and what ran before it is
// shown.
func TestVerifyEach(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "k.ttir")
	if err := os.WriteFile(file, []byte("module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := opt(t, "--passes", "cse,breaks,canonicalize", "--verify-each", "--dump-after", "--time", file)
	if !strings.Contains(stderr, "IR Dump After cse") || strings.Contains(stderr, "IR Dump After breaks") || strings.Contains(stderr, "ms  canonicalize") {
		t.Errorf("got\n%s", stderr)
	}
}

func TestReproducerWithoutName(t *testing.T) {
	if _, _, err := writeReproducer("", "// tritonc opt k.ttir\nmodule {}"); err == nil || !strings.Contains(err.Error(), "does not name the file") {
		t.Errorf("got %v", err)
	}
}
