package tma_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/mma"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/passtest"
)

var (
	canonicalize = std.NewCanonicalize(layouts.ConvertPatterns())
	pipelineTMA  = pipeline.New(mma.Unit{}, tma.Copies{})
	lowerLoop    = pipeline.NewTestLowerLoop(mma.Unit{}, tma.Copies{})
	latencies    = pipeline.NewAssignLatencies(mma.Unit{}, nil)
	rewrite      = ttir.NewRewriteTensorDescriptor(tma.Unit{})
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{tma.OptimizeDescriptorEncoding, tma.PipelineStores, tma.BufferDescriptors, tma.Lower, tma.GroupMaps, tma.ProxyFences}
	also := []*pass.Pass{rewrite, pipelineTMA, lowerLoop, latencies, pipeline.ScheduleLoops, canonicalize, std.CSE}
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", append(ours, also...), append(ours, rewrite, latencies, pipelineTMA, lowerLoop)...)
}

// The archives of testdata/steps come from Triton and are never rewritten. Each
// pass makes of Triton's input what Triton makes of it, apart from what
// canonicalize and cse remove.
func TestStepsAgainstTriton(t *testing.T) {
	paths, err := filepath.Glob("testdata/steps/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	passes := []*pass.Pass{tma.OptimizeDescriptorEncoding, tma.Lower}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for _, f := range a.Files {
			sections[f.Name] = string(f.Data)
		}
		for line := range strings.Lines(string(a.Comment)) {
			step, ok := strings.CutPrefix(strings.TrimSpace(line), "step: ")
			if !ok {
				continue
			}
			part := strings.Fields(step)
			t.Run(part[2], func(t *testing.T) {
				rows, err := pass.Parse(passes, part[2])
				if err != nil {
					t.Fatal(err)
				}
				ours, theirs := parse(t, sections[part[0]]), parse(t, sections[part[1]])
				run(t, ours, rows)
				tidy := []pass.Row{{Pass: canonicalize}, {Pass: std.CSE}, {Pass: canonicalize}, {Pass: std.CSE}}
				run(t, ours, tidy)
				run(t, theirs, tidy)
				if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

func parse(t *testing.T, src string) *ir.Operation {
	t.Helper()
	m, err := text.Parse(ir.NewContext(append(dialect.All(), ttng.Dialect())...), "triton.ttgir", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t *testing.T, m *ir.Operation, rows []pass.Row) {
	t.Helper()
	if _, err := (&pass.Runner{VerifyEach: true}).Run(m, rows, nil); err != nil {
		t.Fatal(err)
	}
}

// TestDescriptorsInOtherLayouts: what TMA does not know is a mistake, not a crash.
func TestDescriptorsInOtherLayouts(t *testing.T) {
	for layout, want := range map[string]string{
		"#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>": "in a layout that TMA does not know",
		"#x.y<{vec = 1}>": "in a layout that TMA does not know",
		"#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8, CGALayout = [[0, 1]]}>": "do not fit their layout: encoding nvmma_shared: swizzlingByteWidth 32 needs 32 elements",
		"#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>":                       "",
	} {
		src := `#layout = ` + layout + `
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<i8>, %m: i32, %n: i32, %s: i64) -> !tt.tensordesc<tensor<8x32xi8, #layout>> {
    %one = arith.constant 1 : i64
    %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, %one] : !tt.ptr<i8>, !tt.tensordesc<tensor<8x32xi8, #layout>>
    tt.return %d : !tt.tensordesc<tensor<8x32xi8, #layout>>
  }
}
`
		_, err := new(pass.Runner).Run(parse(t, src), []pass.Row{{Pass: tma.Lower}}, nil)
		var d *diag.Diagnostic
		if want == "" && err != nil || want != "" && (!errors.As(err, &d) || !strings.Contains(d.Message, want)) {
			t.Errorf("%s: %v, want %q", layout, err, want)
		}
	}
}

// TestTakenDescriptorInOtherLayout: the layout of a descriptor that a kernel takes is what
// its loads end up in, not what TMA writes.
func TestTakenDescriptorInOtherLayout(t *testing.T) {
	const src = `#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%d: !tt.tensordesc<tensor<64x64xf32, #shared>>, %i: i32) -> tensor<64x64xf32, #blocked> {
    %x = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<64x64xf32, #shared>> -> tensor<64x64xf32, #blocked>
    tt.return %x : tensor<64x64xf32, #blocked>
  }
}
`
	if _, err := (&pass.Runner{VerifyEach: true}).Run(parse(t, src), []pass.Row{{Pass: tma.Lower}}, nil); err != nil {
		t.Error(err)
	}
}
