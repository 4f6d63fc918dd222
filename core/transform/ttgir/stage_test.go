package ttgir_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
)

// The archives of testdata/steps and testdata/stage come from Triton and are
// never rewritten.

var splitF32 = ttgir.NewF32DotTC(ttgir.TF32Rounding{Asm: "cvt.rna.tf32.f32 $0, $1;", Constraints: "=r,r"})

// Each pass makes of Triton's input what Triton makes of it, apart from what
// canonicalize and cse remove.
func TestStepsAgainstTriton(t *testing.T) {
	paths, err := filepath.Glob("testdata/steps/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for _, f := range a.Files {
			sections[f.Name] = string(f.Data)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		for line := range strings.Lines(string(a.Comment)) {
			step, ok := strings.CutPrefix(strings.TrimSpace(line), "step: ")
			if !ok {
				continue
			}
			part := strings.Fields(step)
			t.Run(name+"/"+part[2], func(t *testing.T) {
				rows, err := pass.Parse(ttgir.Passes(), part[2])
				if err != nil {
					t.Fatal(err)
				}
				ours, theirs := parse(t, path, sections[part[0]]), parse(t, path, sections[part[1]])
				run(t, ours, rows...)
				tidy := []pass.Row{{Pass: canonicalize}, {Pass: std.CSE}, {Pass: canonicalize}, {Pass: std.CSE}}
				run(t, ours, tidy...)
				run(t, theirs, tidy...)
				if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// stage is the whole stage ttgir for a GPU with matrix instructions of version 2
// and asynchronous copies.
func stage(t *testing.T, sections map[string]string) []pass.Row {
	stages, err := strconv.Atoi(sections["num-stages"])
	if err != nil {
		t.Fatal(err)
	}
	depth := []pass.Setting{{Name: "num-stages", Value: stages}}
	return []pass.Row{
		convertFor(t, sections),
		{Pass: ttgir.Coalesce},
		{Pass: splitF32},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.OptimizeThreadLocality},
		{Pass: ttgir.AccelerateMatmul, With: []pass.Setting{{Name: "mma-version", Value: 2}, {Name: "mma-f64", Value: true}}},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.OptimizeDotOperands},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: ttgir.FuseNestedLoops},
		{Pass: canonicalize},
		{Pass: ttgir.LICM},
		{Pass: canonicalize},
		{Pass: ttgir.CombineSelectAndIf},
		{Pass: ttgir.AssignLatencies, With: depth},
		{Pass: ttgir.ScheduleLoops},
		{Pass: ttgir.Pipeline, With: depth},
		{Pass: canonicalize},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: ttgir.OptimizeDotOperands},
		{Pass: ttgir.CoalesceAsyncCopy},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.ReduceDataDuplication},
		{Pass: ttgir.ReorderInstructions},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: std.SymbolDCE},
		{Pass: std.SCCP},
		{Pass: std.CSE},
		{Pass: canonicalize},
	}
}

// From Triton's ttir of a kernel, the whole stage makes Triton's ttgir, and makes
// it again to the letter.
func TestStageAgainstTriton(t *testing.T) {
	all := archives(t, "testdata/stage")
	for _, name := range names(all) {
		t.Run(name, func(t *testing.T) {
			s := all[name]
			ours, theirs := parse(t, name, s["ttir.mlir"]), parse(t, name, s["ttgir.mlir"])
			run(t, ours, stage(t, s)...)
			again := parse(t, name, s["ttir.mlir"])
			run(t, again, stage(t, s)...)
			if text.String(ours) != text.String(again) {
				t.Error("two runs differ")
			}
			if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
				t.Error(d)
			}
		})
	}
}

func BenchmarkWholeStage(b *testing.B) {
	for _, name := range []string{"matmul_fp16", "flash_fwd_causal"} {
		b.Run(name, func(b *testing.B) {
			t := &testing.T{}
			s := archives(t, "testdata/stage")[name]
			rows := stage(t, s)
			for b.Loop() {
				b.StopTimer()
				m := parse(t, name, s["ttir.mlir"])
				b.StartTimer()
				if _, err := (&pass.Runner{}).Run(m, rows, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
