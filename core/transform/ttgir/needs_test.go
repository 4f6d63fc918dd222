package ttgir_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

// Users order passes as they like. On ttir, on ttgir, and between any two passes of a
// stage, each pass takes the module, keeps its facts, or says at which operation it
// lacks what.
func TestAnyPassAnywhere(t *testing.T) {
	all := slices.Concat(
		[]*pass.Pass{std.Inline, std.Canonicalize, std.CSE, std.SCCP, std.SymbolDCE, std.ConvertSCFToCF},
		[]*pass.Pass{ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll},
		withTensorCores(),
	)
	taken, refused := 0, 0
	try := func(where string, m *ir.Operation) {
		for _, p := range all {
			row := pass.Row{Pass: p}
			if p.Name == "convert-triton-to-tritongpu" {
				row.With = []pass.Setting{{Name: "threads-per-warp", Value: 32}}
			}
			_, err := (&pass.Runner{VerifyEach: true}).Run(m.Clone(ir.NewMapping()), []pass.Row{row}, nil)
			var d *diag.Diagnostic
			switch {
			case err == nil:
				taken++
			case !errors.As(err, &d):
				t.Errorf("%s: %s: %v", where, p.Name, err)
			case d.Help == "":
				t.Errorf("%s: %s: %v has no next step", where, p.Name, err)
			default:
				refused++
			}
		}
	}
	modules := archives(t, "testdata/stage")
	for _, name := range []string{"block_ptrs", "control_flow", "descriptors", "dot_chain", "flash_fwd_causal", "matmul_fp16", "reductions"} {
		m := passtest.Module(t, name, modules[name]["ttir.mlir"])
		try(name+".ttir", m)
		for _, row := range stage(t, modules[name], passesFor(mma.Unit{})) {
			passtest.Apply(t, m, row)
			switch row.Pass.Name {
			case "convert-triton-to-tritongpu", "tritongpu-accelerate-matmul", "tritongpu-assign-latencies", "tritongpu-schedule-loops", "tritongpu-pipeline":
				try(name+" after "+row.Pass.Name, m)
			}
		}
		try(name+".ttgir", m)
	}
	t.Logf("%d taken, %d refused", taken, refused)
	if taken < 800 || refused < 200 {
		t.Error("too few on one side")
	}
}

// TestStrangeLayouts: layouts of which nothing is known, or that fit no tensor, are refused
// before a pass asks them.
func TestStrangeLayouts(t *testing.T) {
	for enc, want := range map[string]string{
		"#gluon.auto_encoding": "has a layout that no dialect declares",
		"i32":                  "has a layout that no dialect declares",
		"#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 4], instrShape = [99, 8]}>, kWidth = 2}>": "has a layout that does not fit it: ",
	} {
		m := passtest.Module(t, "k.ttgir", "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 4 : i32, \"ttg.threads-per-warp\" = 32 : i32} {\ntt.func public @k(%x: tensor<16x16xf16, "+enc+">) {\ntt.return\n}\n}")
		_, err := (&pass.Runner{CheckNeeds: true}).Run(m, []pass.Row{{Pass: layouts.RemoveConversions}}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", enc, err)
		}
	}
}
