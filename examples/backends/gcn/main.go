// Tritonc-backend-gcn compiles kernels to assembly of a GPU, over tritonc's kit
// core/backend. It is the least that such a backend is, and its chip AMD's gfx90a: what
// differs on another one is in target.go, and here the processor, the limits of a program
// and the facts. docs/add-a-backend.md leads through it.
package main

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
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeBackend(newBackend()) }

const (
	processor = "gfx90a" // as LLVM calls it
	lanes     = 64       // of a warp
)

// device has the limits of a program.
var device = backend.Device{WarpSize: lanes, MaxWarps: 16, SharedMemory: 64 << 10}

// described is what tritonc knows of the backend: data, which "--describe" prints.
var described = sdk.Facts{
	Name: "gcn", Version: "0.1.0",
	Targets: []sdk.TargetFacts{
		targetFacts("gcn:gfx90a"),
	},
	Options: []sdk.OptionSpec{
		{Name: "num_warps", Type: sdk.Int, Default: "4", Doc: "warps of a program"},
		{Name: "num_stages", Type: sdk.Int, Default: "1", Doc: "taken, as kernels set it; loops are not pipelined"},
	},
	Specialization: sdk.Specialization{
		IntDivisor: 16, PointerDivisor: 16, IntOneIsConstexpr: true,
		Attributes: []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
	},
	BinaryEnding: "s",
}

func targetFacts(pattern string) sdk.TargetFacts {
	return sdk.TargetFacts{
		Pattern: pattern, WarpSize: lanes, Doc: "AMD Instinct MI200",
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock: lanes * device.MaxWarps, MaxThreadsPerMultiprocessor: 2048,
			MaxRegistersPerThread: 512, RegistersPerMultiprocessor: 128 << 10,
			MaxSharedMemory: device.SharedMemory, StaticSharedMemory: device.SharedMemory, MaxCTAsPerCluster: 1,
		},
		MinDotSizes:        []sdk.MinDotSize{{M: 1, N: 1, K: 1}},
		DotInputPrecisions: []string{"ieee"}, DefaultDotInputPrecision: "ieee",
	}
}

func newBackend() *backend.Backend {
	return backend.New(backend.Definition{
		Facts:        described,
		Tools:        []*backend.ToolKind{llvm.LLC},
		Passes:       slices.Concat([]*pass.Pass{std.Inline, canonicalize, std.CSE, std.SymbolDCE, ttir.RewriteTensorPointer, ttir.RewriteTensorDescriptor}, ttgir.Passes()),
		ParseOptions: parseOptions,
		Plan:         plan,
		PassPlan: func(sdk.Target) (*backend.Plan, error) {
			return &backend.Plan{Allocate: llvm.Allocator(target{}), Device: device}, nil
		},
	})
}

// parseOptions checks values, whose types the SDK has checked.
func parseOptions(_ sdk.Target, given string) (string, error) {
	values, err := sdk.ParseOptions(described.Options, given)
	if err != nil {
		return "", err
	}
	if n, _ := values["num_warps"].(int); n < 1 || n > device.MaxWarps || n&(n-1) != 0 {
		return "", sdk.Errorf("option num_warps: %d is not a power of two between 1 and %d", n, device.MaxWarps)
	}
	return values.JSON(), nil
}

// plan says how a kernel is compiled with options that parseOptions returned.
func plan(t sdk.Target, options string) (*backend.Plan, error) {
	var o struct {
		NumWarps int `json:"num_warps"`
	}
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return nil, err
	}
	name := t.Backend + ":" + t.Arch
	return &backend.Plan{
		Stages: []backend.Stage{
			{Name: "ttir", Doc: "Triton IR, inlined and simplified", Needs: facts.TTIR, Passes: ttirRows},
			{Name: "ttgir", Doc: "Triton GPU IR", Needs: append([]*pass.Fact{facts.NoDescriptors}, facts.SimpleTTIR...), Passes: ttgirRows(name, o.NumWarps)},
			{Name: "llir", Doc: "LLVM IR for one thread", Needs: facts.Lowerable, Run: func(c *backend.Compilation) error {
				_, err := llvm.Lower(c, target{}, func(*lower.Result) {})
				return err
			}},
			{Name: "s", Doc: "assembly, by LLVM's llc", Run: func(c *backend.Compilation) (err error) {
				c.Artifact, err = llvm.GenerateCode(c, target{}, []string{"-mtriple=" + target{}.Triple(), "-mcpu=" + processor}, c.Artifact)
				return err
			}},
		},
		Allocate: llvm.Allocator(target{}), LayoutTarget: name, Device: device, NumWarps: o.NumWarps, NumCTAs: 1,
	}, nil
}

var canonicalize = std.NewCanonicalize(layouts.ConvertPatterns())

var ttirRows = []pass.Row{
	{Pass: std.Inline, Why: "the lowering takes kernels without calls"},
	{Pass: ttir.RewriteTensorPointer, Needed: true, Why: "only pointers to elements are lowered"},
	{Pass: ttir.RewriteTensorDescriptor, Needed: true, Why: "the chip has no descriptors"},
	{Pass: canonicalize},
	{Pass: std.CSE},
	{Pass: std.SymbolDCE, Why: "functions that were inlined are left"},
}

// ttgirRows are the passes that kernels need, and three that make accesses wide.
func ttgirRows(target string, warps int) []pass.Row {
	return []pass.Row{
		{Pass: layouts.Convert, Needed: true, Why: "every later pass needs layouts", With: []pass.Setting{
			{Name: "target", Value: target},
			{Name: "num-warps", Value: warps},
			{Name: "threads-per-warp", Value: lanes},
			{Name: "num-ctas", Value: 1},
		}},
		{Pass: layouts.Coalesce, Why: "accesses become wide and contiguous"},
		{Pass: matrix.NewAccelerateMatmul(dots.MultiplyAdd{}), Why: "scaled dots become dots, which are multiply-adds"},
		{Pass: layouts.RemoveConversions, Why: "removes conversions between the new layouts"},
		{Pass: loops.LICM, Why: "addresses that do not change leave loops"},
		{Pass: canonicalize},
		{Pass: std.CSE},
	}
}
