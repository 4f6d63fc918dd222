package gpu

import (
	"strconv"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Target is one architecture, with what options say of kernels.
type Target struct {
	*chip.Chip
	// WavesPerEU is how many warps each SIMD is to hold; 0: LLVM decides.
	WavesPerEU int
	// FlushDenormals: f32 denormals are zero.
	FlushDenormals bool
	// IterativeILP: LLVM's scheduler of that name, for loops that wait for memory.
	IterativeILP bool
}

var _ lower.Target = (*Target)(nil)

// workgroup and agent are LLVM's names of the synchronization scopes of a program and of
// a device.
const (
	workgroup = "workgroup"
	agent     = "agent"
)

// Capabilities are those for which the package has instructions.
func (t *Target) Capabilities() lower.Capabilities {
	return lower.Capabilities{Copies: copies{t}, Warp: t, Matrix: t, Math: t, NarrowFloats: t, Asm: t, VendorOps: t, Reports: t, Atomics: lower.LLVMAtomics{GPU: agent, CTA: workgroup}}
}

// Triple is LLVM's name of the target.
func (*Target) Triple() string { return "amdgcn-amd-amdhsa" }

// DataLayout is LLVM's own for the triple.
func (*Target) DataLayout() string {
	return "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-" +
		"i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
}

// Banks describes LDS: 32 banks of 4 bytes, of gfx950 64.
func (t *Target) Banks() layout.Banks {
	return layout.Banks{WordBytes: 4, Words: t.LDSBanks, VecBytes: 16}
}

// kernelConvention is LLVM's number of amdgpu_kernel.
const kernelConvention = 91

// DefineKernel marks an entry function, bounds its launch, and has its arguments in
// registers when it starts where the chip can.
func (t *Target) DefineKernel(f *llir.Func, k lower.Kernel) {
	f.SetCallingConv(kernelConvention)
	f.AddAttr(
		llir.StringAttr("amdgpu-flat-work-group-size", "1,"+strconv.Itoa(k.Threads)),
		llir.StringAttr("uniform-work-group-size", "true"),
		llir.StringAttr("target-cpu", t.Name),
	)
	if n := strconv.Itoa(t.WavesPerEU); t.WavesPerEU > 0 {
		f.AddAttr(llir.StringAttr("amdgpu-waves-per-eu", n+", "+n))
	}
	denormals := "ieee"
	if t.FlushDenormals {
		denormals = "preserve-sign"
	}
	f.AddAttr(llir.StringAttr("denormal-fp-math-f32", denormals))
	if t.IterativeILP {
		f.AddAttr(llir.StringAttr("amdgpu-sched-strategy", "iterative-ilp"))
	}
	for i := range f.IR.Params {
		f.AddParamAttr(i, "inreg")
	}
}

var axes = [...]string{"x", "y", "z"}

// ThreadID is the work-item's number: groups are one-dimensional.
func (*Target) ThreadID(b *llir.Builder, threads int) llir.Value {
	id := b.Call(b.M.Declare("llvm.amdgcn.workitem.id.x", llir.Pure, llir.I32))
	b.F.AssumeZeroBits(id, ^uint64(threads-1))
	return id
}

// ProgramID is the work-group's number.
func (*Target) ProgramID(b *llir.Builder, axis int) llir.Value {
	return b.Call(b.M.Declare("llvm.amdgcn.workgroup.id."+axes[axis], llir.Pure, llir.I32))
}

// globalSpace and constantSpace are the address spaces of memory and of constant data.
const (
	globalSpace   = 1
	constantSpace = 4
)

// NumPrograms is one of hidden_block_count_x, _y and _z, the first of the hidden
// arguments from version 5 of the code object on.
func (*Target) NumPrograms(b *llir.Builder, axis int) llir.Value {
	args := b.Call(b.M.Declare("llvm.amdgcn.implicitarg.ptr", llir.Pure, llir.PtrIn(constantSpace)))
	return b.Load(llir.I32, b.PtrAdd(args, int64(4*axis)), 4, false)
}
