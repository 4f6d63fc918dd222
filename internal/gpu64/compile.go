package gpu64

import (
	"context"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttir"
)

// facts are what kernels may ask of the target. Dots need no least size, and are
// computed in the accumulator's type, whatever less their kernel allows.
var facts = &frontend.Facts{
	Backend: "gpu64", Arch: "gfx942", WarpSize: Lanes,
	FP8:           []string{"fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"},
	DotPrecisions: []string{"ieee", "tf32", "tf32x3"}, DefaultDotPrecision: "ieee",
	MinDot: []frontend.MinDot{{M: 1, N: 1, K: 1}},
}

// Options of a compile.
type Options struct {
	// Warps is the number of warps of a program, Stages how many stages loops are
	// pipelined in.
	Warps, Stages int
	// Debug keeps device assertions.
	Debug bool
}

var canonicalize = std.NewCanonicalize(ttgir.ConvertPatterns())

// rows are the passes, in the order of Triton's pipeline for CUDA. Without a
// matrix unit, accelerate-matmul only widens operands and decomposes scaled dots.
// Loops are pipelined even though copies are made at once, so that the tests see
// copies.
func rows(o Options) []pass.Row {
	stages := []pass.Setting{{Name: "num-stages", Value: o.Stages}}
	return []pass.Row{
		{Pass: std.Inline},
		{Pass: ttir.RewriteTensorPointer},
		{Pass: ttir.RewriteTensorDescriptor},
		{Pass: canonicalize},
		{Pass: ttir.Combine},
		{Pass: ttir.ReorderBroadcast},
		{Pass: std.CSE},
		{Pass: std.SymbolDCE},
		{Pass: ttir.LoopUnroll},
		{Pass: ttgir.Convert, With: []pass.Setting{
			{Name: "target", Value: facts.Backend + ":" + facts.Arch},
			{Name: "num-warps", Value: o.Warps},
			{Name: "threads-per-warp", Value: Lanes},
			{Name: "num-ctas", Value: 1},
		}},
		{Pass: ttgir.Coalesce},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.OptimizeThreadLocality},
		{Pass: ttgir.AccelerateMatmul},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.OptimizeDotOperands},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: ttgir.SplitOffsets},
		{Pass: ttgir.BoundMasks},
		{Pass: ttgir.LICM},
		{Pass: ttgir.FuseNestedLoops},
		{Pass: canonicalize},
		{Pass: ttgir.LICM},
		{Pass: canonicalize},
		{Pass: ttgir.CombineSelectAndIf},
		{Pass: ttgir.AssignLatencies, With: stages},
		{Pass: ttgir.ScheduleLoops},
		{Pass: ttgir.Pipeline, With: stages},
		{Pass: canonicalize},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: ttgir.Prefetch},
		{Pass: ttgir.OptimizeDotOperands},
		{Pass: ttgir.CoalesceAsyncCopy},
		{Pass: ttgir.RemoveConversions},
		{Pass: ttgir.ReduceDataDuplication},
		{Pass: ttgir.ReorderInstructions},
		{Pass: ttgir.LoopAwareCSE},
		{Pass: std.SymbolDCE},
		{Pass: std.SCCP},
		{Pass: ttgir.BoundMasks},
		{Pass: std.CSE},
		{Pass: canonicalize},
		{Pass: ttgir.CombineSelectAndIf},
		{Pass: ttgir.ReduceEarly},
	}
}

// Compile takes a kernel of a Python file to LLVM IR. The signature is that of
// the flag -s of tritonc. A mistake is a *diag.Diagnostic.
func Compile(ctx context.Context, name string, source []byte, kernel, signature string, o Options) (*lower.Result, error) {
	file, err := frontend.Parse(name, name, source)
	if err != nil {
		return nil, err
	}
	program := file.In(frontend.Environment{Facts: func(context.Context) (*frontend.Facts, error) { return facts, nil }})
	variants, err := program.Variants(ctx, &frontend.Request{Kernel: kernel, Signature: signature})
	if err != nil {
		return nil, err
	}
	m, err := program.Build(ctx, dialect.NewContext(), variants[0], &frontend.Options{
		NumWarps: o.Warps, NumStages: o.Stages, NumCTAs: 1, Debug: o.Debug, SanitizeOverflow: true,
	})
	if err != nil {
		return nil, err
	}
	return Lower(m, o)
}

// Lower takes a module of ttir, which it changes, to LLVM IR.
func Lower(m *ir.Operation, o Options) (*lower.Result, error) {
	runner := pass.Runner{VerifyEach: true}
	if _, err := runner.Run(m, rows(o), nil); err != nil {
		return nil, err
	}
	return lower.Module(m, Target{}, lower.Options{Producer: "tritonc", LineInfo: true})
}
