package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that keeps failures instead of failing.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Error(args ...any)         { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) Fatal(args ...any)         { r.Error(args...); panic(r) }

// try runs test on an archive with the given text and returns the failures and
// the archive's text afterwards.
func try(t *testing.T, text string, update bool, test func(c *Case)) ([]string, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "case.txtar")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	func() {
		defer func() {
			if e := recover(); e != nil && e != r {
				panic(e)
			}
		}()
		c := open(r, path, update)
		test(c)
		c.finish()
	}()
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return r.errors, string(after)
}

func upper(c *Case) { c.Want("out", strings.ToUpper(c.Input("in"))) }

func TestCompare(t *testing.T) {
	tests := []struct {
		name, text string
		wants      []string // parts of the failures, in order; none: the test passes
	}{
		{"same", "why\n-- in --\nab\n-- out --\nAB\n", nil},
		{"differs", "why\n-- in --\nab\n-- out --\nAC\n", []string{"out differs"}},
		{"no expectation", "why\n-- in --\nab\n", []string{`no section "out"`}},
		{"no input", "why\n-- out --\nAB\n", []string{`no section "in"`}},
		{"stale", "why\n-- in --\nab\n-- out --\nAB\n-- old --\nx\n", []string{`does not use section "old"`}},
		{"no reason", "-- in --\nab\n-- out --\nAB\n", []string{"must say why"}},
		{"twice", "why\n-- in --\nab\n-- in --\nAB\n", []string{"two sections"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs, after := try(t, tt.text, false, upper)
			if len(errs) != len(tt.wants) {
				t.Fatalf("got %d failures, want %d: %q", len(errs), len(tt.wants), errs)
			}
			for i, want := range tt.wants {
				if !strings.Contains(errs[i], want) {
					t.Errorf("failure %q does not say %q", errs[i], want)
				}
			}
			if after != tt.text {
				t.Errorf("the archive was rewritten without being asked:\n%s", after)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	errs, after := try(t, "why\n-- in --\nab\n-- old --\nx\n-- out --\nAC\n", true, upper)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if want := "why\n-- in --\nab\n-- out --\nAB\n"; after != want {
		t.Errorf("got %q, want %q", after, want)
	}

	const text = "why\n-- in --\nab\n-- out --\nAC\n"
	_, after = try(t, text, true, func(c *Case) {
		upper(c)
		c.Errorf("failed for another reason")
	})
	if after != text {
		t.Errorf("a failing test rewrote its archive to %q", after)
	}
}

func TestFlag(t *testing.T) {
	errs, _ := try(t, "# why: this\n# target: gpu:80\n-- in --\n-- out --\n", false, func(c *Case) {
		upper(c)
		if got := c.Flag("target"); got != "gpu:80" {
			t.Errorf("target is %q", got)
		}
		if got := c.Flag("why"); got != "" {
			t.Errorf("the first line was taken for a flag: %q", got)
		}
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txtar"), []byte("why\n-- in --\na\n-- out --\nA\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	Run(t, dir, func(c *Case) { n++; upper(c) })
	if n != 1 {
		t.Errorf("ran %d cases", n)
	}
}
