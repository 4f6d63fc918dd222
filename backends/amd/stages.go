package amd

import (
	"maps"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// Names of the stages.
const (
	stageTTIR   = "ttir"
	stageTTGIR  = "ttgir"
	stageLLIR   = "llir"
	stageAMDGCN = "amdgcn"
	stageHSACO  = "hsaco"
)

// stages of a compile, in order.
func (j *job) stages() []backend.Stage {
	return []backend.Stage{
		{
			Name: stageTTIR, Doc: "Triton IR, inlined and simplified", Needs: facts.TTIR,
			Passes: ttirRows(j.opts),
		},
		{
			Name: stageTTGIR, Doc: "Triton GPU IR: every tensor with the layout that it has on the device",
			Needs: append(slices.Clone(facts.SimpleTTIR), facts.NoDescriptors), Passes: ttgirRows(j.arch, j.opts),
		},
		{
			Name: stageLLIR, Doc: "LLVM IR for one thread", Needs: facts.Lowerable,
			Tools: llirTools(j.arch), Run: j.makeLLIR,
		},
		{
			Name: stageAMDGCN, Doc: "assembly, by LLVM's llc",
			Run: j.makeAMDGCN, Describe: describeAMDGCN,
		},
		{
			Name: stageHSACO, Binary: true, Doc: "a code object, by LLVM's llc and ld.lld",
			Run: j.makeHSACO,
		},
	}
}

// codeObjectVersion is the version of the ABI of code objects, times 100, as LLVM's module
// flag has it.
const codeObjectVersion = 500

// makeLLIR lowers the module, and links libraries where it calls them.
func (j *job) makeLLIR(c *backend.Compilation) error {
	if f := llirFacts(j.arch, c.Module); len(f) > 0 {
		if err := c.RunPasses(llirRows(), f); err != nil {
			return err
		}
	}
	res, err := llvm.Lower(c, j.target(), func(res *lower.Result) {
		res.LLVM.AddFlag(llir.FlagError, "amdhsa_code_object_version", codeObjectVersion)
		res.LLVM.MergeGuards()
		res.LLVM.SinkConditions(2 * manyBranches)
		if len(res.Externs) == 0 { // what is linked may read anything
			j.target().MarkUnused(res.LLVM)
		}
		gpu.KeepCopiesInFlight(res.LLVM)
	})
	if err != nil {
		return err
	}
	if len(res.Externs) == 0 {
		return nil
	}
	return j.link(c, res.Externs)
}

// link defines the kernel's external functions by the libraries of option extern_libs.
func (j *job) link(c *backend.Compilation, externs []lower.Extern) error {
	var libs []llvm.Library
	for _, name := range slices.Sorted(maps.Keys(j.opts.ExternLibs)) {
		libs = append(libs, llvm.Library{Name: name, Path: j.opts.ExternLibs[name]})
	}
	return llvm.Link(c, externs, "", &llvm.Linking{
		Libraries: libs,
		ReadHelp:  func(l llvm.Library) string { return "see --extern-lib " + l.Name + "=PATH (option extern_libs)" },
		Help: func(string, string) string {
			return "give a library of LLVM IR that defines it, such as ROCm's ocml.bc, with --extern-lib NAME=PATH (option extern_libs)"
		},
	})
}

// hints reports whether the option schedule_hint lists a hint.
func (o options) hints(name string) bool {
	return slices.Contains(strings.Split(o.ScheduleHint, ","), name)
}

// sharedSymbol is what the lowering calls LDS.
const sharedSymbol = "global_smem"

// reserved says why a function cannot have a name on AMD's devices, or "".
func reserved(name string, _ bool) string {
	switch {
	case strings.HasPrefix(name, "__ocml_"), strings.HasPrefix(name, "__ockl_"), strings.HasPrefix(name, "__oclc_"):
		return "names that begin with __oc are those of ROCm's device libraries"
	case name == sharedSymbol:
		return "the kernel's shared memory has that name"
	}
	return ""
}
