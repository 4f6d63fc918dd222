package main

import (
	"strconv"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// target is the lowering target: what LLVM IR of the chip looks like where it differs
// from that of others.
type target struct{}

var _ lower.Target = target{}

// workgroup is LLVM's name of the scope of a program's threads.
const workgroup = "workgroup"

// Capabilities are none but the names of scopes: package lower does the rest with the
// methods below.
func (target) Capabilities() lower.Capabilities {
	return lower.Capabilities{Atomics: lower.LLVMAtomics{GPU: "agent", CTA: workgroup}}
}

func (target) Triple() string { return "amdgcn-amd-amdhsa" }

// DataLayout is LLVM's own for the triple: clang -print-target-triple has it, or llc's
// message about another.
func (target) DataLayout() string {
	return "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-" +
		"i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
}

// Banks are those of the shared memory: 32 of 4 bytes.
func (target) Banks() layout.Banks { return layout.Banks{WordBytes: 4, Words: 32, VecBytes: 16} }

// kernelConvention is LLVM's number of the calling convention amdgpu_kernel.
const kernelConvention = 91

func (target) DefineKernel(f *llir.Func, k lower.Kernel) {
	f.SetCallingConv(kernelConvention)
	n := strconv.Itoa(k.Threads)
	f.AddAttr(llir.StringAttr("amdgpu-flat-work-group-size", n+","+n), llir.StringAttr("uniform-work-group-size", "true"))
}

var axes = [...]string{"x", "y", "z"}

func (target) ThreadID(b *llir.Builder, threads int) llir.Value {
	id := b.Call(b.M.Declare("llvm.amdgcn.workitem.id.x", llir.Pure, llir.I32))
	b.F.AssumeZeroBits(id, ^uint64(threads-1))
	return id
}

func (target) ProgramID(b *llir.Builder, axis int) llir.Value {
	return b.Call(b.M.Declare("llvm.amdgcn.workgroup.id."+axes[axis], llir.Pure, llir.I32))
}

// NumPrograms is one of the first hidden arguments, which are in address space 4.
func (target) NumPrograms(b *llir.Builder, axis int) llir.Value {
	args := b.Call(b.M.Declare("llvm.amdgcn.implicitarg.ptr", llir.Pure, llir.PtrIn(4)))
	return b.Load(llir.I32, b.PtrAdd(args, int64(4*axis)), 4, false)
}

func (target) Barrier(b *llir.Builder) {
	b.Fence(enum.AtomicOrderingRelease, workgroup)
	b.Call(b.M.Declare("llvm.amdgcn.s.barrier", llir.HasEffects, llir.Void))
	b.Fence(enum.AtomicOrderingAcquire, workgroup)
}

// ShuffleIndex is ds_bpermute, which numbers lanes by bytes.
func (target) ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value {
	f := b.M.Declare("llvm.amdgcn.ds.bpermute", llir.HasEffects, llir.I32, llir.I32, llir.I32)
	return b.Call(f, b.Shl(lane, 2), v)
}
