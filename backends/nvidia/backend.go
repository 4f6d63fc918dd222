package nvidia

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/dialects"
	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// New makes the backend. It reads nothing yet.
func New() *backend.Backend {
	return backend.New(backend.Definition{
		Facts:   describe(),
		Modules: modules,
		Dialects: []backend.Dialect{
			{Name: ttng.Name, Declaration: ttng.Declaration, Make: func() *ir.Dialect { return ttng.Dialect() }},
			{Name: nvws.Name, Declaration: nvws.Declaration, Make: func() *ir.Dialect { return nvws.Dialect() }},
			{Name: "nvg", Declaration: dialects.NVGDeclaration, Make: func() *ir.Dialect { return dialects.NVG() }},
			{Name: "nvvm", Declaration: dialects.NVVMDeclaration, Make: func() *ir.Dialect { return dialects.NVVM() }},
			{Name: "proton", Declaration: dialects.ProtonDeclaration, Make: func() *ir.Dialect { return dialects.Proton() }},
			{Name: "proton_gpu", Declaration: dialects.ProtonGPUDeclaration, Make: func() *ir.Dialect { return dialects.ProtonGPU() }},
			{Name: tti.Name, Declaration: tti.Declaration, Make: func() *ir.Dialect { return tti.Dialect() }},
		},
		Tools:   []*backend.ToolKind{ptxasKind, llvm.LLC, llvm.LinkTool, llvm.Opt},
		WhenRun: []*backend.ToolKind{llvm.LLC, llvm.LinkTool, llvm.Opt},
		Files:   libdevicesOf,
		Passes:  passes,
		ParseOptions: func(t sdk.Target, given string) (string, error) {
			a, err := archOf(t)
			if err != nil {
				return "", err
			}
			return parseOptions(a, given)
		},
		Plan: func(t sdk.Target, options string) (*backend.Plan, error) {
			k, err := readRequest(t, options)
			if err != nil {
				return nil, err
			}
			return k.plan(), nil
		},
		PassFor: passFor,
		PassPlan: func(t sdk.Target) (*backend.Plan, error) {
			a, err := passArchOf(t)
			if err != nil {
				return nil, err
			}
			return &backend.Plan{Facts: passFacts(a, options{NumCTAs: 1}), Allocate: llvm.Allocator(a.target()), Device: backend.Device{WarpSize: warpSize}}, nil
		},
	})
}

// describe answers Describe.
func describe() sdk.Facts {
	f := sdk.Facts{
		Name:     "nvidia",
		Version:  backend.Version(),
		Options:  optionSpecs,
		Settings: settings,
		Specialization: sdk.Specialization{
			IntDivisor:        16,
			PointerDivisor:    16,
			IntOneIsConstexpr: true,
			Attributes:        []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
		},
		BinaryEnding: stageCubin,
	}
	for _, a := range archs {
		f.Targets = append(f.Targets, a.facts())
	}
	return f
}

// job is what one compile is asked to do.
type job struct {
	arch  arch // of the target
	early arch // that the stages before ptx compile for: option arch
	opts  options

	// lowered is the LLVM IR that the stage llir made, where no tool changed it.
	lowered *llir.Module
}

// readRequest reads what each request about a compile has: the target and the
// options.
func readRequest(t sdk.Target, optionsJSON string) (*job, error) {
	a, err := archOf(t)
	if err != nil {
		return nil, err
	}
	o, err := readOptions(optionsJSON)
	if err != nil {
		return nil, err
	}
	early, err := archOf(sdk.Target{Backend: backendName, Arch: strings.TrimPrefix(o.Arch, "sm")})
	return &job{arch: a, early: early, opts: o}, err
}

// plan is how the job is done.
func (j *job) plan() *backend.Plan {
	p := &backend.Plan{
		Stages:       j.stages(),
		Facts:        passFacts(j.early, j.opts),
		Allocate:     llvm.Allocator(j.early.target()),
		LayoutTarget: backendName + ":" + strconv.Itoa(j.early.cc),
		Device:       backend.Device{WarpSize: warpSize, MaxWarps: maxWarps, SharedMemory: j.arch.sharedMemory},
		NumWarps:     j.opts.NumWarps, NumCTAs: j.opts.NumCTAs,
		Reserved: reserved,
		Place:    kernelPlace,
	}
	if path := j.opts.IROverride; path != nil {
		p.IROverride = *path
	}
	return p
}
