package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// eachPlan calls f with every kind of compile for every architecture: with and without
// TMA, clusters and each pass that users may leave out, and with none of these passes.
func eachPlan(t *testing.T, f func(what string, j *job)) {
	t.Helper()
	for _, a := range archs {
		base := options{NumWarps: 4, NumCTAs: 1, NumStages: 3, Arch: fmt.Sprint("sm", a.cc)}
		var skips []string
		for _, r := range slices.Concat(ttirRows(a, base), ttgirRows(a, base)) {
			if !r.Needed && !slices.Contains(skips, r.Pass.Name) {
				skips = append(skips, r.Pass.Name)
			}
		}
		for _, tma := range []string{tmaAuto, tmaAlways, tmaNever} {
			for _, ctas := range []int{1, 2} {
				for _, prefetch := range []bool{false, true} {
					for i := -1; i <= len(skips); i++ {
						o := base
						o.TMA, o.NumCTAs, o.PrefetchOperands = tma, ctas, prefetch
						switch {
						case i == len(skips):
							o.SkipPasses = skips
						case i >= 0:
							o.SkipPasses = skips[i : i+1]
						}
						if checkSkipped(a, o.SkipPasses) != nil {
							continue // one of its rows is needed
						}
						f(fmt.Sprintf("cuda:%d, tma=%s, num_ctas=%d, prefetch=%v, skip_passes=%v", a.cc, tma, ctas, prefetch, o.SkipPasses), &job{arch: a, early: a, opts: o})
					}
				}
			}
		}
	}
}

// TestPlans: in every plan each pass has what it needs, whatever users leave out. The
// stage llir does, too, but for scaled dots, which only accelerate-matmul takes away:
// for compiles without it, the stage looks at the module (TestLeftOut).
func TestPlans(t *testing.T) {
	n := 0
	eachPlan(t, func(what string, j *job) {
		n++
		err := j.plan().Check()
		if slices.Contains(j.opts.SkipPasses, "tritongpu-accelerate-matmul") {
			if err == nil || !strings.HasPrefix(err.Error(), "the stage llir needs no-scaled-dots") {
				t.Errorf("%s: %v", what, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	if n < 1000 {
		t.Errorf("only %d plans", n)
	}
}

// TestMisplaced: passes in a wrong place are found without a kernel.
func TestMisplaced(t *testing.T) {
	a := archs[slices.IndexFunc(archs, func(a arch) bool { return a.cc == 90 })]
	o := options{NumWarps: 4, NumCTAs: 1, NumStages: 3, TMA: tmaAuto}
	rows := ttgirRows(a, o)
	at := func(p *pass.Pass) int { return slices.IndexFunc(rows, func(r pass.Row) bool { return r.Pass == p }) }
	named := func(name string) *pass.Pass {
		i := slices.IndexFunc(rows, func(r pass.Row) bool { return r.Pass.Name == name })
		if i < 0 {
			t.Fatalf("there is no pass %s", name)
		}
		return rows[i].Pass
	}
	for _, test := range []struct{ pass, before, want string }{
		{"tritongpu-coalesce", "convert-triton-to-tritongpu", "tritongpu-coalesce, needs machine"},
		{"tritongpu-accelerate-matmul", "tritongpu-optimize-thread-locality", "tritongpu-optimize-thread-locality, needs no-matrix-layouts"},
		{"tritongpu-accelerate-matmul", "tritongpu-F32DotTC", "tritongpu-F32DotTC, needs no-matrix-layouts"},
		{"canonicalize", "tritongpu-pipeline", "tritongpu-pipeline, needs scheduled"},
		{"tritongpu-pipeline", "tritongpu-schedule-loops", ""}, // then there is nothing to pipeline
		{"tritongpu-schedule-loops", "tritongpu-assign-latencies", "tritongpu-assign-latencies, breaks"},
		{"triton-nvidia-tma-lowering", "triton-nvidia-optimize-descriptor-encoding", "triton-nvidia-tma-lowering, needs encoded-descriptors"},
		{"triton-nvidia-tma-lowering", "convert-triton-to-tritongpu", "triton-nvidia-tma-lowering, needs machine"},
		{"convert-triton-to-tritongpu", "triton-rewrite-tensor-descriptor-to-pointer", "triton-rewrite-tensor-descriptor-to-pointer, needs no-layouts"},
	} {
		moved := rows[at(named(test.pass))]
		mutant := slices.Delete(slices.Clone(rows), at(moved.Pass), at(moved.Pass)+1)
		i := slices.IndexFunc(mutant, func(r pass.Row) bool { return r.Pass.Name == test.before })
		mutant = slices.Insert(mutant, i, moved)
		_, err := pass.Check(pass.Effective(mutant, passFacts(a, o)), facts.SimpleTTIR)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s before %s: %v, want %q", test.pass, test.before, err, test.want)
		}
	}
}

// TestLeftOut: where users leave out the pass that gives what a stage needs, the stage
// says so at the operation, if it is there.
func TestLeftOut(t *testing.T) {
	const scaled = `#loc = loc("k.py":7:9)
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %to = tt.splat %p : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    %a = arith.constant dense<0.0> : tensor<32x64xf8E5M2>
    %s = arith.constant dense<0> : tensor<32x2xi8>
    %b = arith.constant dense<0.0> : tensor<64x32xf8E5M2>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    %d = tt.dot_scaled %a scale %s, %b, %c lhs = e5m2 rhs = e5m2 {fastMath = false} : tensor<32x64xf8E5M2>, tensor<32x2xi8> * tensor<64x32xf8E5M2> -> tensor<32x32xf32> loc(#loc)
    tt.store %to, %d : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}
`
	const plain = "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"
	for text, want := range map[string]string{
		scaled: "k.py:7:10: error: the stage llir needs a module without tt.dot_scaled: here is one\n  help: tritongpu-accelerate-matmul makes dots of them",
		plain:  "",
	} {
		req := request(t, "80", stageTTGIR, "k.ttir", []byte(text), `{"skip_passes":["tritongpu-accelerate-matmul"]}`)
		req.Last = stageLLIR
		_, err := sdktest.Start(t, New()).RunStages(t.Context(), req)
		if got := errorText(err); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFilesOfStages: a user's file that lacks what the next stage needs is refused with
// the line that does.
func TestFilesOfStages(t *testing.T) {
	const blockPointer = `module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i64) {
    %c0 = arith.constant 0 : i32
    %b = tt.make_tensor_ptr %p, [%n], [%n], [%c0] {order = array<i32: 0>} : <tensor<16xf32>>
    tt.return
  }
}
`
	const scheduled = `module {
  tt.func public @k(%n: i32) {
    %c0 = arith.constant 0 : i32
    scf.for %i = %c0 to %n step %n  : i32 {
      %x = arith.addi %i, %n {loop.cluster = 0 : i32, loop.stage = 0 : i32} : i32
    } {tt.scheduled_max_stage = 1 : i32}
    tt.return
  }
}
`
	const noLayout = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k() {
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    tt.return
  }
}
`
	for _, test := range []struct{ file, text, first, want string }{
		{"k.ttir", blockPointer, stageTTGIR, "k.ttir:4:10: error: the stage ttgir needs a module without block pointers: the result of tt.make_tensor_ptr is a block pointer"},
		{"k.ttir", scheduled, stageTTGIR, "k.ttir:4:5: error: the stage ttgir needs a module in which no loop has a schedule: scf.for has the attribute tt.scheduled_max_stage"},
		{"k.ttgir", noLayout, stageLLIR, "k.ttgir:3:10: error: the stage llir needs a module in which every tensor has a layout: the result of tt.make_range has no layout"},
	} {
		req := request(t, "80", test.first, test.file, []byte(test.text), "")
		req.Last = stageLLIR
		_, err := sdktest.Start(t, New()).RunStages(t.Context(), req)
		if got := errorText(err); !strings.HasPrefix(got, test.want) || !strings.Contains(got, "help: ") {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// errorText is an error as the user sees it, or "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	var list sdk.Diagnostics
	if !errors.As(err, &list) {
		var d *sdk.Diagnostic
		if !errors.As(err, &d) {
			return fmt.Sprint(err)
		}
		list = sdk.Diagnostics{*d}
	}
	d := list[0]
	return fmt.Sprintf("%s:%d:%d: error: %s\n  help: %s", d.File, d.Line, d.Column, d.Message, d.Help)
}
