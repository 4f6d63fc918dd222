package ncu

import (
	"math"
	"os"
	"strings"
	"testing"
)

func parseFile(t *testing.T, name string) []Launch {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParse(t *testing.T) {
	const ld, st, missing = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
	for _, c := range []struct {
		file     string
		launches int
	}{{"raw.csv", 3}, {"details.csv", 2}} {
		l := parseFile(t, c.file)
		if len(l) != c.launches {
			t.Fatalf("%s: %d launches, want %d", c.file, len(l), c.launches)
		}
		if l[0].Kernel != "add" || l[0].Grid != [3]int{4, 1, 1} || l[0].Block != [3]int{128, 1, 1} || l[1].Kernel != "softmax" || l[1].Grid != [3]int{3, 2, 1} {
			t.Errorf("%s: launches are %+v", c.file, l)
		}
		if l[0].Values[ld] != 1024 || l[0].Values[st] != 128 || l[1].Values[ld] != 96 {
			t.Errorf("%s: metrics are %v and %v", c.file, l[0].Values, l[1].Values)
		}
		if _, ok := l[0].Values[missing]; ok {
			t.Errorf("%s: a metric that ncu did not get has a value", c.file)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "no table begins",
		"==ERROR== no permission\n": "no table begins",
		"\"ID\",\"Kernel Name\"\n":  "no column \"Block Size\"",
		"\"ID\",\"Kernel\nName":     "",
		"\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\"\n\"0\",\"k\",\"(1, 1, 1)\",\"12\"\n":        "not a shape",
		"\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\"\n\"0\",\"k\",\"(1, 1, x)\",\"(1, 1, 1)\"\n": "not a shape",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q", text, err, want)
		}
	}
}

func counted(kernel string, grid, block [3]int, ld, st, waves float64) Launch {
	return Launch{kernel, "", grid, block, map[string]float64{SectorsRead: ld, SectorsWritten: st, WavefrontsRead: waves}}
}

func TestCompare(t *testing.T) {
	gpu := parseFile(t, "raw.csv")
	sim := []Launch{
		counted("add", [3]int{4, 1, 1}, [3]int{128, 1, 1}, 1024, 120, 0),
		counted("softmax", [3]int{3, 2, 1}, [3]int{256, 1, 1}, 95, 96, 640),
		counted("softmax", [3]int{3, 2, 1}, [3]int{256, 1, 1}, 96, 96, 700),
	}
	rows, err := Compare(sim, gpu, Checks)
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{
		{"add", SectorsRead, 1, 1024, 1024, 0, false},
		{"add", SectorsWritten, 1, 120, 128, -0.0625, true},
		{"softmax", SectorsRead, 2, 191, 192, -1 / 192.0, false},
		{"softmax", SectorsWritten, 2, 192, 192, 0, false},
		{"softmax", WavefrontsRead, 2, 1340, 1280, 60 / 1280.0, false},
		{"softmax", Conflicts, 2, 0, 200, -1, false},
	}
	if len(rows) != len(want) {
		t.Fatalf("rows are %+v", rows)
	}
	for i, r := range rows {
		if math.Abs(r.Diff-want[i].Diff) > 1e-12 {
			t.Errorf("row %d: difference %v, want %v", i, r.Diff, want[i].Diff)
		}
		r.Diff = want[i].Diff
		if r != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, r, want[i])
		}
	}
	var b strings.Builder
	bad, err := WriteTable(&b, rows)
	if err != nil || bad != 1 {
		t.Errorf("%d rows are bad (%v), want 1", bad, err)
	}
	for _, line := range []string{
		"| add | 1 | global sectors written | 120 | 128 | -6.2% **too much** |\n",
		"| softmax | 2 | shared wavefronts read | 1340 | 1280 | +4.7% |\n",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("the table has no line %q:\n%s", line, b.String())
		}
	}
	// Cases of one kernel have a row each.
	for i := range sim {
		sim[i].Case = []string{"", "first", "second"}[i]
	}
	if rows, err = Compare(sim, gpu, Checks); err != nil || len(rows) != 10 || rows[2].Kernel != "first" || rows[6].Kernel != "second" {
		t.Errorf("rows of cases are %+v (%v)", rows, err)
	}
	// What only one of the two saw is infinitely wrong.
	sim[0].Values[WavefrontsRead] = 5 // more than the slack
	rows, _ = Compare(sim, gpu, Checks)
	if r := rows[2]; r.Counter != WavefrontsRead || !r.Bad || !math.IsInf(r.Diff, 1) {
		t.Errorf("5 wavefronts of none are %+v", r)
	}
}

func TestCompareErrors(t *testing.T) {
	gpu := parseFile(t, "details.csv")
	sim := []Launch{
		counted("add", [3]int{4, 1, 1}, [3]int{128, 1, 1}, 1024, 128, 0),
		counted("softmax", [3]int{3, 2, 1}, [3]int{128, 1, 1}, 96, 96, 0),
	}
	if _, err := Compare(sim[:1], gpu, Checks); err == nil || !strings.Contains(err.Error(), "counted 1 launches, ncu 2") {
		t.Errorf("error is %v", err)
	}
	if _, err := Compare(sim, gpu, Checks); err == nil || !strings.Contains(err.Error(), "launch 2 is of softmax") {
		t.Errorf("error is %v", err)
	}
}

func TestMetrics(t *testing.T) {
	got := Metrics(map[string]bool{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared": true, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": true, "other": true})
	if strings.Join(got, ",") != "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum" {
		t.Errorf("metrics are %v", got)
	}
}
