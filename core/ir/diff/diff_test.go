package diff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/golden"
)

func parse(t testing.TB, name, src string) *ir.Operation {
	t.Helper()
	m, err := text.Parse(dialect.NewContext(), name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDiff compares a.ttir and b.ttir of each archive; the section diff is empty
// for what is apart from the comparison.
func TestDiff(t *testing.T) {
	golden.Run(t, "testdata", func(c *golden.Case) {
		a, b := parse(c.TB, "a", c.Input("a.ttir")), parse(c.TB, "b", c.Input("b.ttir"))
		got := diff.Modules("a", a, "b", b)
		c.Want("diff", got)
		if (got == "") != (diff.Normal(a) == diff.Normal(b)) {
			t.Error("Modules and Normal do not agree")
		}
	})
}

// A module differs from what it becomes when one operation is repeated, and
// nothing but that operation is shown as new.
func TestOneMoreOperation(t *testing.T) {
	const lines = 60
	var ops []string
	for i := range lines {
		ops = append(ops, fmt.Sprintf("%%v%d = ", i)+"arith.addi %p, %p : i32")
	}
	text := func(ops []string) string {
		return "module {\n tt.func public @k(%p: i32) {\n" + strings.Join(ops, "\n") + "\n%last = arith.muli %v0, %v59 : i32\n tt.return\n}\n}\n"
	}
	a := parse(t, "a", text(ops))
	for range 20 {
		i := rand.IntN(lines)
		more := append(append(append([]string{}, ops[:i]...), "%new = arith.subi %p, %p : i32"), ops[i:]...)
		var changed []string
		for line := range strings.Lines(diff.Modules("a", a, "b", parse(t, "b", text(more)))) {
			if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "---") {
				changed = append(changed, strings.TrimSpace(line))
			}
		}
		if len(changed) != 1 || !strings.HasPrefix(changed[0], "+        %b0 = arith.subi") {
			t.Errorf("operation put in at %d: changed lines %q", i, changed)
		}
	}
}
