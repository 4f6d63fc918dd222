package nvidia

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/backends/nvidia/instrument"
	"github.com/tritonc/tritonc/backends/nvidia/tma"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Names of the stages.
const (
	stageTTIR  = "ttir"
	stageTTGIR = "ttgir"
	stageLLIR  = "llir"
	stagePTX   = "ptx"
	stageCubin = "cubin"
)

// stages of a compile, in order.
func (j *job) stages() []backend.Stage {
	return []backend.Stage{
		{
			Name: stageTTIR, Doc: "Triton IR, inlined and simplified", Needs: facts.TTIR,
			Passes: ttirRows(j.early, j.opts),
		},
		{
			Name: stageTTGIR, Doc: "Triton GPU IR: every tensor with the layout that it has on the device",
			Needs: facts.SimpleTTIR, Passes: ttgirRows(j.early, j.opts), Run: j.makeTTGIR,
		},
		{
			Name: stageLLIR, Doc: "LLVM IR for one thread", Needs: facts.Lowerable,
			Tools: llirTools(j.early), Run: j.makeLLIR,
		},
		{
			Name: stagePTX, Doc: j.ptxDoc(),
			Run: j.makePTX, Describe: describePTX,
		},
		{
			Name: stageCubin, Binary: true, Doc: "machine code, by NVIDIA's ptxas",
			Run: j.makeCubin,
		},
	}
}

// ptxDoc says what writes PTX.
func (j *job) ptxDoc() string {
	if j.opts.PTX == ptxDirect {
		return "PTX assembly, by LLVM's llc where the LLVM IR is not the stage's before"
	}
	return "PTX assembly, by LLVM's llc"
}

func (j *job) makeTTGIR(c *backend.Compilation) error {
	if n := j.opts.MaxNReg; n != nil {
		c.Module.SetAttr(ttg.MaxNRegAttr, c.Module.Context().I32Attr(int64(*n)))
	}
	marked := warpspec.MarkedLoops(c.Module)
	if err := c.RunPasses(ttgirRows(j.early, j.opts), c.Plan.Facts); err != nil {
		return err
	}
	j.warnOfWarpSpecialization(c, marked)
	c.Meta.Descriptors = tma.HostMaps(c.Module)
	return nil
}

// warnOfWarpSpecialization tells of loops that asked for it in vain.
func (j *job) warnOfWarpSpecialization(c *backend.Compilation, marked []ir.Location) {
	if len(marked) == 0 || hasPartitions(c.Module) {
		return
	}
	why := "the passes removed the loop or fused it with another"
	switch {
	case j.early.cc/10 != 9:
		why = c.Request.Target.String() + " has no warpgroups that give registers to one another"
	case !withWarpGroups.Holds(c.Plan.Facts):
		why = "it divides warps between copies by TMA and dots by wgmma, and an option turned one of them off"
	}
	for _, r := range c.Meta.Remarks {
		if r.Subject == warpspec.RemarkSubject {
			why = r.Why
		}
	}
	told := map[string]bool{} // inlined twice, it is one loop
	for _, loc := range marked {
		d := sdk.Diagnostic{
			Severity: sdk.Warning,
			Message:  "warp_specialize has no effect on this loop: " + why,
			Help:     "the result is the same; without warp_specialize=True the warning goes away",
		}
		if strings.Contains(why, warpspec.LoadedByPointers) {
			d.Notes = descriptorsByPointers(c.Meta.Remarks)
		}
		if at := ir.FileLocOf(loc); at != nil {
			d.File, d.Line, d.Column = at.File, at.Line, at.Col+1
		}
		if !told[d.Error()] {
			told[d.Error()] = true
			c.Warn(d)
		}
	}
}

// descriptorsByPointers are notes on the descriptors that TMA does not copy through.
func descriptorsByPointers(remarks []backend.Remark) (notes []sdk.Diagnostic) {
	for _, r := range remarks {
		if r.Subject == ttir.RemarkSubject && r.Decision == ttir.ByPointers {
			notes = append(notes, sdk.Diagnostic{
				Severity: sdk.Note, File: r.File, Line: r.Line, Column: r.Column,
				Message: "this descriptor goes by pointers: " + r.Why,
			})
		}
	}
	return notes
}

// makeLLIR lowers the module, and links libraries where it calls them.
func (j *job) makeLLIR(c *backend.Compilation) error {
	if c.Request.Last != stageLLIR {
		c.FindAhead(ptxasKind) // which the stage ptx asks for
	}
	if f := llirFacts(c.Module, j.opts); len(f) > 0 {
		if err := c.RunPasses(llirRows(j.early), f); err != nil {
			return err
		}
		warnOfUnchecked(c)
	}
	if len(c.Meta.Descriptors) == 0 { // a file of ttgir has not been through the stage before
		if err := tma.CheckDescriptors(c.Module); err != nil {
			return err
		}
		c.Meta.Descriptors = tma.HostMaps(c.Module)
	}
	res, err := llvm.LowerInMemory(c, j.early.target(), func(res *lower.Result) {
		if j.opts.EnableReflectFTZ { // what functions of libraries ask for
			res.LLVM.AddFlag(llir.FlagOverride, "nvvm-reflect-ftz", 1)
		} else { // and what stands for them here
			res.LLVM.Rename(gpu.KeepDenormals)
		}
	})
	if err != nil {
		return err
	}
	if len(res.Externs) > 0 {
		c.Text() // which LLVM's tools take
		return j.link(c, res.Externs)
	}
	j.lowered = res.LLVM
	return nil
}

// warnOfUnchecked tells of accesses that the concurrency sanitizer leaves unchecked.
func warnOfUnchecked(c *backend.Compilation) {
	for _, r := range c.Meta.Remarks {
		if r.Subject == instrument.RemarkSubject {
			c.Warn(sdk.Diagnostic{Severity: sdk.Warning, Message: r.Why, Help: "checks of other buffers are there", File: r.File, Line: r.Line, Column: r.Column})
		}
	}
}

// hasPartitions reports whether a module has groups of warps with code of their own.
func hasPartitions(m *ir.Operation) bool {
	found := false
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if found = op.Is(ttg.WarpSpecialize); found {
			return ir.Stop
		}
		return ir.Advance
	})
	return found
}

// reserved says why a function cannot have a name on NVIDIA's devices, or "".
func reserved(name string, entry bool) string {
	switch {
	case slices.Contains(deviceFunctions, name):
		return "CUDA's function of that name exists in every kernel"
	case strings.HasPrefix(name, "__nv_"):
		return "names that begin with __nv_ are those of libdevice"
	case name == sharedSymbol:
		return "the kernel's shared memory has that name"
	case entry && (name == "_" || name == "$" || name == "WARP_SZ"):
		return "PTX takes it for a word of its own"
	}
	return ""
}

// sharedSymbol is what the lowering calls shared memory.
const sharedSymbol = "global_smem"
