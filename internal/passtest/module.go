package passtest

import (
	"errors"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

// Module parses and verifies src; name stands for it in messages.
func Module(t testing.TB, name, src string) *ir.Operation {
	t.Helper()
	m, err := text.Parse(dialect.NewContext(), name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// Apply runs rows on m and verifies it after each.
func Apply(t testing.TB, m *ir.Operation, rows ...pass.Row) {
	t.Helper()
	r := pass.Runner{VerifyEach: true}
	if _, err := r.Run(m, rows, nil); err != nil {
		var c *pass.Crash
		if errors.As(err, &c) {
			t.Fatalf("%v\n%s", err, c.Stack)
		}
		t.Fatal(err)
	}
}
