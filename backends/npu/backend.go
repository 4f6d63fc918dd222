package npu

import (
	"fmt"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Names of the stages.
const (
	stageTTIR      = "ttir"
	stageTTAdapter = "ttadapter"
	stageNPUIR     = "npuir"
	stageNPUSim    = "npusim"
	stageNPUBin    = "npubin"
)

// New makes the backend. It reads nothing yet.
func New() *backend.Backend {
	return backend.New(backend.Definition{
		Facts:   describe(),
		Passes:  passes(),
		Modules: modules,
		Tools:   []*backend.ToolKind{compilerKind},
		Dialects: []backend.Dialect{
			{Name: npuir.Name, Declaration: npuir.Declaration(), Make: func() *ir.Dialect { return npuir.Dialect }},
			{Name: hivm.Name, Declaration: hivm.Declaration, Make: func() *ir.Dialect { return hivm.Dialect }},
		},
		ParseOptions: func(t sdk.Target, given string) (string, error) {
			c, err := chipOf(t)
			if err != nil {
				return "", err
			}
			return parseOptions(c, given)
		},
		Plan: func(t sdk.Target, options string) (*backend.Plan, error) {
			c, err := chipOf(t)
			if err != nil {
				return nil, err
			}
			o, err := readOptions(options)
			if err != nil {
				return nil, err
			}
			return plan(c, o), nil
		},
		PassPlan: func(t sdk.Target) (*backend.Plan, error) {
			c, err := chipOf(t)
			if err != nil {
				return nil, err
			}
			return &backend.Plan{Device: device(c)}, nil
		},
	})
}

// describe answers Describe.
func describe() sdk.Facts {
	f := sdk.Facts{
		Name:     "npu",
		Version:  backend.Version(),
		Options:  optionSpecs,
		Settings: settings,
		// A tensor is a buffer and a loop, not a number of registers for each thread.
		Capabilities: []string{sdk.CapAnyBlockSizes, sdk.CapHalfMath},
		Specialization: sdk.Specialization{
			IntDivisor: 16, PointerDivisor: 16, IntOneIsConstexpr: true,
			Attributes: []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
		},
		BinaryEnding: stageNPUBin,
	}
	for _, c := range chip.All() {
		f.Targets = append(f.Targets, targetFacts(c.Target(), int64(c.UB), "Ascend, cores "+c.Arch))
	}
	f.Targets = append(f.Targets, targetFacts(chip.Backend+":Ascend*", 0, "the same chips as the vendor spells them"))
	return f
}

// The warp of a machine without threads: what triton-ascend has for it.
const (
	warpSize = 32
	maxWarps = 64
)

func targetFacts(pattern string, ub int64, doc string) sdk.TargetFacts {
	return sdk.TargetFacts{
		Pattern: pattern, WarpSize: warpSize,
		Limits: sdk.DeviceLimits{
			MaxThreadsPerBlock: warpSize * maxWarps, MaxSharedMemory: ub, StaticSharedMemory: ub, MaxCTAsPerCluster: 1,
		},
		MinDotSizes:              []sdk.MinDotSize{{M: 1, N: 1, K: 1}},
		FP8Kinds:                 fp8Kinds,
		DotInputPrecisions:       dotPrecisions,
		DefaultDotInputPrecision: "ieee",
		Doc:                      doc,
	}
}

func device(c *chip.Chip) backend.Device {
	return backend.Device{WarpSize: warpSize, MaxWarps: maxWarps, SharedMemory: int64(c.UB)}
}

// chipOf is the chip of a target that the backend supports, in the spelling of targets
// or the vendor's.
func chipOf(t sdk.Target) (*chip.Chip, error) {
	if c := chip.Of(t.Arch); t.Backend == chip.Backend && c != nil {
		if t.Arch != c.Name && t.Arch != c.Vendor {
			return nil, sdk.Errorf("the npu backend does not compile for %s", t).WithHelp("that chip is %s", c.Target())
		}
		return c, nil
	}
	return nil, sdk.Errorf("the npu backend does not compile for %s", t).WithHelp("its targets are those of tritonc backend describe npu, such as npu:ascend910b3")
}

// plan is how a kernel is compiled for a chip.
func plan(c *chip.Chip, o options) *backend.Plan {
	p := &backend.Plan{
		Stages: []backend.Stage{
			{Name: stageTTIR, Doc: "Triton IR, inlined and simplified", Needs: facts.TTIR, Passes: ttirRows()},
			{
				Name: stageTTAdapter, Doc: "MLIR: memory copied in blocks, computations on tensors (linalg)",
				Needs: facts.SimpleTTIR, Passes: adapterRows(o.MLIR), MLIR: o.MLIR, Run: func(k *backend.Compilation) error {
					warnOfArch(k, c)
					warnOfSettings(k)
					warnOfSlices(k)
					warnOfCubes(k)
					one := 1 // as triton-ascend says: UB is not a launch's to give
					k.Meta.Shared = &one
					return k.RunPasses(adapterRows(o.MLIR), k.Plan.Facts)
				},
			},
			{
				Name: stageNPUIR, Doc: "the program of a core: buffers with addresses, DMA, vector and cube instructions, flags",
				Passes: npuirRows(c, o.Multibuffer), Run: func(k *backend.Compilation) error {
					return k.RunPasses(npuirRows(c, o.Multibuffer), k.Plan.Facts)
				},
			},
			{
				Name: stageNPUSim, Doc: "the program as the simulated NPU executes it", Run: func(k *backend.Compilation) error {
					return makeNPUSim(k, c)
				},
			},
			{
				Name: stageNPUBin, From: stageTTAdapter, Binary: true, Doc: "machine code, by the vendor's " + compilerName, Run: func(k *backend.Compilation) error {
					return makeNPUBin(k, c)
				},
			},
		},
		Facts:    pass.Facts{},
		Device:   device(c),
		NumWarps: o.NumWarps, NumCTAs: 1,
	}
	if o.IROverride != nil {
		p.IROverride = *o.IROverride
	}
	return p
}

// warnOfArch tells of another chip that the environment of triton-ascend names.
func warnOfArch(k *backend.Compilation, c *chip.Chip) {
	named := k.Request.Settings[settingArch.Name]
	if other := chip.Of(named); named == "" || other != nil && other.Name == c.Name {
		return
	}
	k.Warn(sdk.Diagnostic{
		Severity: sdk.Warning, Message: fmt.Sprintf("%s is %s; the kernel is compiled for %s", settingArch.Env[0], named, c.Target()),
		Help: "--target chooses the chip",
	})
}

// canonicalize has no patterns but core's own.
var canonicalize = std.NewCanonicalize()

// ttirRows are the passes of the stage ttir, in triton-ascend's order.
func ttirRows() []pass.Row {
	return []pass.Row{
		{Pass: std.LiftCFToSCF, Why: "an NPU's program has no branches, and functions of one block can be inlined everywhere", Needed: true},
		{Pass: std.InlineAll, Why: "an NPU has no calls", Needed: true},
		{Pass: ttir.RewriteTensorPointer, Why: "block pointers become tensors of pointers and masks", Needed: true},
		{Pass: ttir.RewriteTensorDescriptor, Why: "descriptors become tensors of pointers and masks", Needed: true},
		{Pass: ttir.Combine, Why: "masks and address arithmetic are still visible"},
		{Pass: canonicalize, Why: "forms of addresses are simple"},
		{Pass: ttir.ReorderBroadcast, Why: "elementwise work is done before values are repeated"},
		{Pass: std.CSE, Why: "address arithmetic repeats between accesses"},
		{Pass: std.SymbolDCE, Why: "functions that were inlined are gone"},
		{Pass: ttir.LoopUnroll, Why: "tl.range(loop_unroll_factor=…)"},
	}
}

// adapterRows are the passes of the stage ttadapter in the syntax of a version of MLIR, of
// which 19 is the vendor's compiler's.
func adapterRows(mlir int) []pass.Row {
	rows := []pass.Row{
		{Pass: adapter.TritonToLinalg, Why: "an NPU has no pointers in tensors", Needed: true},
		{Pass: canonicalize, Why: "much of the arithmetic of addresses is on constants"},
		{Pass: std.CSE, Why: "accesses repeat the arithmetic of their addresses"},
	}
	if mlir == vendorMLIR {
		rows = append(rows, pass.Row{Pass: adapter.ToHIVM, Why: "MLIR has no operation by which programs wait for one another", Needed: true})
	}
	return rows
}

// npuirRows are the passes of the stage npuir for a chip, with two of each buffer of a
// transfer or one.
func npuirRows(c *chip.Chip, multibuffer bool) []pass.Row {
	sizes := []pass.Setting{
		{Name: string(npuir.UB), Value: c.UB},
		{Name: string(npuir.L1), Value: c.L1},
		{Name: string(npuir.L0A), Value: c.L0A},
		{Name: string(npuir.L0B), Value: c.L0B},
		{Name: string(npuir.L0C), Value: c.L0C},
	}
	rows := []pass.Row{
		{Pass: npuir.LinalgToNPUIR, With: sizes, Why: "a core computes on buffers", Needed: true},
		{Pass: npuir.ForwardCopies, Why: "what loops carry is computed in place"},
		{Pass: npuir.AlignOperands, Why: "instructions begin at multiples of 32 bytes", Needed: true},
		{Pass: npuir.MapBlocks, Why: "a grid has more programs than a chip has cores", Needed: true},
		{Pass: std.CSE, Why: "views and addresses repeat"},
	}
	if multibuffer {
		rows = append(rows, pass.Row{Pass: npuir.Multibuffer, With: sizes, Why: "transfers run beside the units"})
	}
	return append(rows,
		pass.Row{Pass: npuir.PlanBuffers, With: sizes, Why: "instructions name addresses", Needed: true},
		pass.Row{Pass: npuir.InsertFlags, Why: "pipes run beside one another", Needed: true},
	)
}

// passes are those that tritonc opt knows by name.
func passes() []*pass.Pass {
	var list []*pass.Pass
	for _, rows := range [][]pass.Row{ttirRows(), adapterRows(vendorMLIR), npuirRows(chip.All()[0], true)} {
		for _, r := range rows {
			known := false
			for _, p := range list {
				known = known || p == r.Pass
			}
			if !known {
				list = append(list, r.Pass)
			}
		}
	}
	return list
}
