package amd

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// New makes the backend. It reads nothing yet.
func New() *backend.Backend {
	return backend.New(backend.Definition{
		Facts:   describe(),
		Modules: modules,
		Dialects: []backend.Dialect{
			{Name: amdg.Name, Declaration: amdg.Declaration, Make: func() *ir.Dialect { return amdg.Dialect() }},
			{Name: amdg.ROCDLName, Declaration: amdg.ROCDLDeclaration, Make: func() *ir.Dialect { return amdg.ROCDL() }},
		},
		Tools:  []*backend.ToolKind{llvm.LLC, llvm.MC, llvm.LLD, llvm.LinkTool, llvm.Opt},
		Passes: passes,
		ParseOptions: func(t sdk.Target, given string) (string, error) {
			a, err := archOf(t)
			if err != nil {
				return "", err
			}
			return parseOptions(a, given)
		},
		Plan: func(t sdk.Target, options string) (*backend.Plan, error) {
			j, err := readRequest(t, options)
			if err != nil {
				return nil, err
			}
			return j.plan(), nil
		},
		PassPlan: func(t sdk.Target) (*backend.Plan, error) {
			a, err := passArch(t)
			if err != nil {
				return nil, err
			}
			return &backend.Plan{Allocate: llvm.Allocator(&gpu.Target{Chip: a.chip}), Device: backend.Device{WarpSize: a.chip.Lanes}}, nil
		},
	})
}

// describe answers Describe.
func describe() sdk.Facts {
	f := sdk.Facts{
		Name:    "amd",
		Version: backend.Version(),
		Options: optionSpecs,
		Specialization: sdk.Specialization{
			IntDivisor:        16,
			PointerDivisor:    16,
			IntOneIsConstexpr: true,
			Attributes:        []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}, {Key: "S", Name: "tt.pointer_range", Value: 32}},
		},
		BinaryEnding: stageHSACO,
	}
	for _, a := range archs {
		f.Targets = append(f.Targets, a.facts())
	}
	return f
}

// job is what one compile is asked to do.
type job struct {
	arch arch
	opts options
}

// readRequest reads what each request about a compile has: the target and the
// options.
func readRequest(t sdk.Target, optionsJSON string) (*job, error) {
	a, err := archOf(t)
	if err != nil {
		return nil, err
	}
	o, err := readOptions(optionsJSON)
	return &job{arch: a, opts: o}, err
}

// target is what the job's code is lowered for.
func (j *job) target() *gpu.Target {
	return &gpu.Target{
		Chip: j.arch.chip, WavesPerEU: j.opts.WavesPerEU, FlushDenormals: j.opts.AllowFlushDenorm,
		IterativeILP: j.opts.hints(hintMemoryBound),
	}
}

// plan is how the job is done.
func (j *job) plan() *backend.Plan {
	p := &backend.Plan{
		Stages:       j.stages(),
		Facts:        pass.Facts{"stages": j.opts.NumStages},
		Allocate:     llvm.Allocator(j.target()),
		LayoutTarget: j.arch.chip.Target(),
		Device:       backend.Device{WarpSize: j.arch.chip.Lanes, MaxWarps: j.arch.maxWarps(), SharedMemory: j.arch.sharedMemory},
		NumWarps:     j.opts.NumWarps, NumCTAs: 1,
		Reserved: reserved,
	}
	if path := j.opts.IROverride; path != nil {
		p.IROverride = *path
	}
	return p
}
