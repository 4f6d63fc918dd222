package nvidia

import (
	"bytes"
	"math"
	"testing"

	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestLLVMTable: the table that is built in has the choices that the option
// offers, the first of which all others are relative to.
func TestLLVMTable(t *testing.T) {
	rows := llvmChoices()
	if len(rows) != len(llvmChoiceNames) {
		t.Fatalf("%d choices, the option offers %v", len(rows), llvmChoiceNames)
	}
	for i, r := range rows {
		if r.Name != llvmChoiceNames[i] {
			t.Errorf("choice %d is %s, the option offers %s", i, r.Name, llvmChoiceNames[i])
		}
	}
	if r := rows[0]; r.Passes != "" || r.SASS != 1 || r.Warp != 1 || r.Compile != 1 {
		t.Errorf("the first choice is %+v", r)
	}
	for _, bad := range []string{"none\t-\t1\n", "none\t-\tx\t1\t-\t1\n"} {
		if _, err := readLLVMTable(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestBestLLVMChoice: the fastest compile of what is as good as the best, by the
// time of kernels once that is known.
func TestBestLLVMChoice(t *testing.T) {
	for _, tt := range []struct{ name, table, want string }{
		{"as good", "none\t-\t1\t1\t-\t1\nO3\tp\t0.99\t0.985\t-\t1.3\n", "none"},
		{"worse code", "none\t-\t1\t1\t-\t1\nO3\tp\t0.95\t1\t-\t1.3\n", "O3"},
		{"more executed", "none\t-\t1\t1\t-\t1\nshort\tp\t0.99\t0.96\t-\t1.2\nO3\tp\t0.99\t0.95\t-\t1.3\n", "short"},
		{"each worse in something", "none\t-\t1\t1\t-\t1\nO3\tp\t0.9\t1.1\t-\t1.3\n", "none"},
		{"time is what counts", "none\t-\t1\t1\t1\t1\nO3\tp\t1.2\t1.2\t0.9\t1.3\n", "O3"},
		{"times of some are not enough", "none\t-\t1\t1\t-\t1\nO3\tp\t1.2\t1.2\t0.9\t1.3\n", "none"},
	} {
		rows, err := readLLVMTable(tt.table)
		if err != nil {
			t.Fatal(err)
		}
		if got := bestLLVMChoice(rows).Name; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestLLVMPasses: the option has opt run, and the table of passes says what runs
// and why.
func TestLLVMPasses(t *testing.T) {
	needTools(t, llvm.Opt)
	c := sdktest.Start(t, New())
	made := map[string][]byte{}
	for _, name := range append([]string{"auto"}, llvmChoiceNames...) {
		req := request(t, "80", stageTTIR, "scale.ttir", scaleTTIR(t), `{"llvm_passes":"`+name+`"}`)
		req.Last, req.Want = stageLLIR, []string{stageLLIR}
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = resp.Artifact(stageLLIR)
		choice := llvmChoiceFor(name)
		if ran := len(resp.Tools) > 0; ran != (choice.Passes != "") {
			t.Errorf("%s: tools %v", name, resp.Tools)
		}
		stages, _, err := c.AddStages(t.Context(), sdk.AddStagesRequest{Target: req.Target, OptionsJSON: req.OptionsJSON})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stages {
			if s.Name != stageLLIR {
				continue
			}
			row := s.Passes[len(s.Passes)-1]
			if row.Name != "llvm-passes" || choice.Passes != "" && row.Options != choice.Passes {
				t.Errorf("%s: rows %+v", name, s.Passes)
			}
			if asked := row.Why == "asked for"; asked != (name != "auto") {
				t.Errorf("%s: why: %s", name, row.Why)
			}
		}
	}
	if !bytes.Equal(made["auto"], made[bestLLVMChoice(llvmChoices()).Name]) {
		t.Error("auto is not the choice of the table")
	}
	if bytes.Equal(made["none"], made["O3"]) {
		t.Error("O3 changes nothing")
	}
	if r := llvmChoiceFor("auto"); math.IsNaN(r.Compile) {
		t.Errorf("%+v", r)
	}
}
