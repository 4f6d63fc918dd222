package gpu64

import (
	"encoding/json"
	"slices"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
	"github.com/tritonc/tritonc/core/transform/ttgir/loops"
	"github.com/tritonc/tritonc/core/transform/ttgir/matrix"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
	"github.com/tritonc/tritonc/core/transform/ttir"
	"github.com/tritonc/tritonc/internal/gpu64/mfma"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// The one target.
const (
	backendName = "gpu64"
	arch        = "gfx942"
)

// Names of the stages.
const (
	StageTTIR     = "ttir"
	StageTTGIR    = "ttgir"
	StageLLIR     = "llir"
	StageAssembly = "amdgcn"
)

// device has the limits of a work-group.
var device = backend.Device{WarpSize: Lanes, MaxWarps: 16, SharedMemory: 64 << 10}

var described = sdk.Facts{
	Name: backendName, Version: "1",
	Targets: []sdk.TargetFacts{{
		Pattern: backendName + ":" + arch, WarpSize: Lanes, Doc: "64 lanes per warp, for tests",
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock: Lanes * device.MaxWarps, MaxThreadsPerMultiprocessor: 2048,
			MaxRegistersPerThread: 512, RegistersPerMultiprocessor: 128 << 10,
			MaxSharedMemory: device.SharedMemory, StaticSharedMemory: device.SharedMemory, MaxCTAsPerCluster: 1,
		},
		MinDotSizes: []sdk.MinDotSize{{M: 1, N: 1, K: 1}},
		FP8Kinds:    []string{"fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16"},
		// Dots are computed in the accumulator's type, whatever less a kernel allows.
		DotInputPrecisions: []string{"ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"}, DefaultDotInputPrecision: "ieee",
	}},
	Options: []sdk.OptionSpec{
		{Name: "num_warps", Type: sdk.Int, Default: "4", Doc: "warps of a program"},
		{Name: "num_stages", Type: sdk.Int, Default: "2", Doc: "stages of software pipelining"},
		{Name: "debug", Type: sdk.Bool, Default: "false", Doc: "keep device_assert"},
		{Name: "mfma", Type: sdk.Bool, Default: "false", Doc: "compute dots by matrix instructions"},
		{Name: "allocator", Type: sdk.String, Default: `"greedy"`, Choices: []string{"greedy", "basic"}, Doc: "LLVM's allocator of vector registers"},
	},
	Specialization: sdk.Specialization{
		IntDivisor: 16, PointerDivisor: 16, IntOneIsConstexpr: true,
		Attributes: []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
	},
	BinaryEnding: StageAssembly,
}

// options are the values of described.Options.
type options struct {
	NumWarps  int    `json:"num_warps"`
	NumStages int    `json:"num_stages"`
	MFMA      bool   `json:"mfma"`
	Allocator string `json:"allocator"`
}

// New makes the backend. What is lowered is shown to lowered, unless it is nil,
// with its text.
func New(lowered func(llir []byte, r *lower.Result)) *backend.Backend {
	return backend.New(backend.Definition{
		Facts: described,
		Tools: []*backend.ToolKind{llvm.LLC},
		Passes: slices.Concat(
			[]*pass.Pass{std.Inline, canonicalize, std.CSE, std.SCCP, std.SymbolDCE},
			[]*pass.Pass{ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor, ttir.Combine, ttir.ReorderBroadcast, ttir.LoopUnroll},
			ttgir.Passes(), // without the matrix unit
		),
		ParseOptions: func(_ sdk.Target, given string) (string, error) {
			values, err := sdk.ParseOptions(described.Options, given)
			if err != nil {
				return "", err
			}
			if n, _ := values["num_warps"].(int); n < 1 || n > device.MaxWarps || n&(n-1) != 0 {
				return "", sdk.Errorf("option num_warps: %d is not a power of two between 1 and %d", n, device.MaxWarps)
			}
			return values.JSON(), nil
		},
		Plan: func(_ sdk.Target, text string) (*backend.Plan, error) {
			var o options
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				return nil, err
			}
			return &backend.Plan{
				Stages: o.stages(lowered), Allocate: llvm.Allocator(newTarget(o.MFMA)), LayoutTarget: backendName + ":" + arch, Device: device,
				NumWarps: o.NumWarps, NumCTAs: 1,
			}, nil
		},
		PassPlan: func(sdk.Target) (*backend.Plan, error) {
			return &backend.Plan{Allocate: llvm.Allocator(newTarget(false)), Device: device}, nil
		},
	})
}

func (o *options) stages(lowered func(llir []byte, r *lower.Result)) []backend.Stage {
	return []backend.Stage{
		{Name: StageTTIR, Doc: "Triton IR, inlined and simplified", Needs: facts.TTIR, Passes: ttirRows},
		{Name: StageTTGIR, Doc: "Triton GPU IR", Needs: append([]*pass.Fact{facts.NoDescriptors}, facts.SimpleTTIR...), Passes: o.ttgirRows()},
		{Name: StageLLIR, Doc: "LLVM IR for one thread", Needs: facts.Lowerable, Run: func(c *backend.Compilation) error {
			res, err := llvm.Lower(c, newTarget(o.MFMA), func(*lower.Result) {})
			if err == nil && lowered != nil {
				lowered(c.Artifact, res)
			}
			return err
		}},
		{Name: StageAssembly, Doc: "assembly, by LLVM's llc", Run: func(c *backend.Compilation) (err error) {
			args := []string{"-mtriple=" + newTarget(false).Triple(), "-mcpu=" + arch}
			if o.Allocator == "basic" {
				args = append(args, "-vgpr-regalloc=basic")
			}
			c.Artifact, err = llvm.GenerateCode(c, newTarget(o.MFMA), args, c.Artifact)
			return err
		}},
	}
}

var canonicalize = std.NewCanonicalize(layouts.ConvertPatterns())

var ttirRows = []pass.Row{
	{Pass: std.Inline},
	{Pass: ttir.RewriteTensorPointer, Needed: true},
	{Pass: ttir.RewriteTensorDescriptor, Needed: true},
	{Pass: canonicalize},
	{Pass: ttir.Combine},
	{Pass: ttir.ReorderBroadcast},
	{Pass: std.CSE},
	{Pass: std.SymbolDCE},
	{Pass: ttir.LoopUnroll},
}

// ttgirRows are the passes in the order of Triton's pipeline for CUDA. Without the
// matrix unit, accelerate-matmul only widens operands and decomposes scaled dots.
// Loops are pipelined even though copies are made at once, so that the tests see
// copies.
func (o *options) ttgirRows() []pass.Row {
	stages := []pass.Setting{{Name: "num-stages", Value: o.NumStages}}
	var unit dots.MatrixUnit = dots.MultiplyAdd{}
	if o.MFMA {
		unit = mfma.Unit{Target: backendName + ":" + arch}
	}
	optimizeOperands := matrix.NewOptimizeDotOperands(unit)
	return []pass.Row{
		{Pass: layouts.Convert, Needed: true, With: []pass.Setting{
			{Name: "target", Value: backendName + ":" + arch},
			{Name: "num-warps", Value: o.NumWarps},
			{Name: "threads-per-warp", Value: Lanes},
			{Name: "num-ctas", Value: 1},
		}},
		{Pass: layouts.Coalesce},
		{Pass: layouts.RemoveConversions},
		{Pass: layouts.OptimizeThreadLocality},
		{Pass: matrix.NewAccelerateMatmul(unit)},
		{Pass: layouts.RemoveConversions},
		{Pass: optimizeOperands},
		{Pass: loops.LoopAwareCSE},
		{Pass: loops.SplitOffsets},
		{Pass: loops.BoundMasks},
		{Pass: loops.LICM},
		{Pass: loops.FuseNestedLoops},
		{Pass: canonicalize},
		{Pass: loops.LICM},
		{Pass: canonicalize},
		{Pass: loops.CombineSelectAndIf},
		{Pass: pipeline.NewAssignLatencies(unit, nil), With: stages},
		{Pass: pipeline.ScheduleLoops},
		{Pass: pipeline.New(unit, nil), With: stages},
		{Pass: canonicalize},
		{Pass: loops.LoopAwareCSE},
		{Pass: pipeline.NewPrefetch(unit), With: []pass.Setting{{Name: "carry-buffers", Value: o.MFMA}}},
		{Pass: optimizeOperands},
		{Pass: pipeline.CoalesceAsyncCopy},
		{Pass: layouts.RemoveConversions},
		{Pass: layouts.SpreadReplicas},
		{Pass: matrix.NewReduceDataDuplication(unit)},
		{Pass: loops.ReorderInstructions},
		{Pass: loops.LoopAwareCSE},
		{Pass: std.SymbolDCE},
		{Pass: std.SCCP},
		{Pass: loops.BoundMasks},
		{Pass: std.CSE},
		{Pass: canonicalize},
		{Pass: loops.CombineSelectAndIf},
		{Pass: loops.ReduceEarly},
	}
}
