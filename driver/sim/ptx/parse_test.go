package ptx

import (
	"os"
	"testing"
)

func TestParseKernel(t *testing.T) {
	text, err := os.ReadFile("../testdata/row_softmax.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse("row_softmax.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	if m.Major != 8 || m.Minor != 7 || m.Target != "sm_80" || len(m.Funcs) != 1 {
		t.Errorf("module is %d.%d %s with %d functions", m.Major, m.Minor, m.Target, len(m.Funcs))
	}
	f := m.Funcs[0]
	if !f.Entry || f.Name != "row_softmax" || len(f.Params) != 7 || f.ReqNTid != [3]int{256, 1, 1} {
		t.Errorf("kernel is %+v", f)
	}
}
