package report_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/golden"
)

// place gives reductions 64 bytes.
func place(m *ir.Operation) (*allocation.Result, membar.Foreign, error) {
	alloc, err := allocation.Analyze(m, func(op *ir.Operation) (int, int, error) {
		if op.Is(tt.Reduce) {
			return 64, 0, nil
		}
		return 0, 0, nil
	}, 0)
	return alloc, nil, err
}

// TestReports prints every analysis of each archive's module.
func TestReports(t *testing.T) {
	golden.Run(t, "testdata", func(c *golden.Case) {
		m, err := text.Parse(dialect.NewContext(), c.Name+".ttgir", []byte(c.Input("in.ttgir")))
		if err != nil {
			c.Fatal(err)
		}
		for _, name := range report.Names {
			p := place
			if !report.NeedsPlace(name) {
				p = nil
			}
			out, err := report.Text(name, m, p)
			if err != nil {
				c.Fatal(err)
			}
			c.Want(name, out)
		}
	})
}

func TestErrors(t *testing.T) {
	m, err := text.Parse(dialect.NewContext(), "k.ttir", []byte("module {\n tt.func public @k() {\n tt.call @k() : () -> ()\n tt.return }}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Text("range", m, place); err == nil || !strings.Contains(err.Error(), `no analysis "range"; there are: axis-info, alias, liveness, allocation, membar`) {
		t.Errorf("got %v", err)
	}
	if _, err := report.Text(report.Allocation, m, place); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("got %v", err)
	}
}
