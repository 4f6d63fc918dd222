package ttgir_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/passtest"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// The archives of testdata/steps and testdata/stage come from Triton and are
// never rewritten.

var splitF32 = matrix.NewF32DotTC(matrix.TF32Rounding{Asm: "cvt.rna.tf32.f32 $0, $1;", Constraints: "=r,r"})

// unitPasses are those that ask a matrix unit.
type unitPasses struct {
	accelerate, optimizeOperands, assignLatencies, pipeline, prefetch, reduceDuplication *pass.Pass
}

func passesFor(unit dots.MatrixUnit) unitPasses {
	return unitPasses{
		matrix.NewAccelerateMatmul(unit), matrix.NewOptimizeDotOperands(unit), pipeline.NewAssignLatencies(unit, nil),
		pipeline.New(unit, nil), pipeline.NewPrefetch(unit), matrix.NewReduceDataDuplication(unit),
	}
}

// withTensorCores are all passes, as for a GPU with mma.sync, for which Triton
// compiled.
func withTensorCores() []*pass.Pass {
	list, p := ttgir.Passes(), passesFor(mma.Unit{})
	for _, p := range []*pass.Pass{splitF32, p.accelerate, p.optimizeOperands, p.assignLatencies, p.pipeline, p.prefetch, p.reduceDuplication} {
		list[slices.IndexFunc(list, func(q *pass.Pass) bool { return q.Name == p.Name })] = p
	}
	return list
}

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
				rows, err := pass.Parse(withTensorCores(), part[2])
				if err != nil {
					t.Fatal(err)
				}
				ours, theirs := passtest.Module(t, path, sections[part[0]]), passtest.Module(t, path, sections[part[1]])
				passtest.Apply(t, ours, rows...)
				tidy := []pass.Row{{Pass: canonicalize}, {Pass: std.CSE}, {Pass: canonicalize}, {Pass: std.CSE}}
				passtest.Apply(t, ours, tidy...)
				passtest.Apply(t, theirs, tidy...)
				if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// stage is the whole stage ttgir for a GPU with asynchronous copies and the unit of
// p.
func stage(t *testing.T, sections map[string]string, p unitPasses) []pass.Row {
	stages, err := strconv.Atoi(sections["num-stages"])
	if err != nil {
		t.Fatal(err)
	}
	depth := []pass.Setting{{Name: "num-stages", Value: stages}}
	return []pass.Row{
		convertFor(t, sections),
		{Pass: layouts.Coalesce},
		{Pass: splitF32},
		{Pass: layouts.RemoveConversions},
		{Pass: layouts.OptimizeThreadLocality},
		{Pass: p.accelerate},
		{Pass: layouts.RemoveConversions},
		{Pass: p.optimizeOperands},
		{Pass: loops.LoopAwareCSE},
		{Pass: loops.FuseNestedLoops},
		{Pass: canonicalize},
		{Pass: loops.LICM},
		{Pass: canonicalize},
		{Pass: loops.CombineSelectAndIf},
		{Pass: p.assignLatencies, With: depth},
		{Pass: pipeline.ScheduleLoops},
		{Pass: p.pipeline, With: depth},
		{Pass: canonicalize},
		{Pass: loops.LoopAwareCSE},
		{Pass: p.optimizeOperands},
		{Pass: pipeline.CoalesceAsyncCopy},
		{Pass: layouts.RemoveConversions},
		{Pass: p.reduceDuplication},
		{Pass: loops.ReorderInstructions},
		{Pass: loops.LoopAwareCSE},
		{Pass: std.SymbolDCE},
		{Pass: std.SCCP},
		{Pass: std.CSE},
		{Pass: canonicalize},
	}
}

// From Triton's ttir of a kernel, the whole stage makes Triton's ttgir, and makes
// it again to the letter.
func TestStageAgainstTriton(t *testing.T) {
	all, tensorCores := archives(t, "testdata/stage"), passesFor(mma.Unit{})
	for _, name := range names(all) {
		t.Run(name, func(t *testing.T) {
			s := all[name]
			ours, theirs := passtest.Module(t, name, s["ttir.mlir"]), passtest.Module(t, name, s["ttgir.mlir"])
			passtest.Apply(t, ours, stage(t, s, tensorCores)...)
			again := passtest.Module(t, name, s["ttir.mlir"])
			passtest.Apply(t, again, stage(t, s, tensorCores)...)
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
			rows := stage(t, s, passesFor(mma.Unit{}))
			for b.Loop() {
				b.StopTimer()
				m := passtest.Module(t, name, s["ttir.mlir"])
				b.StartTimer()
				if _, err := (&pass.Runner{}).Run(m, rows, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
