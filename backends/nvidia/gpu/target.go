package gpu

import (
	"strconv"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Target is one compute capability.
type Target struct {
	// CC is the compute capability, 90 for 9.0.
	CC int
	// Shared and Threads are what a multiprocessor holds: bytes of shared memory,
	// and resident threads. Zero where code is not a kernel's.
	Shared, Threads int
}

var _ lower.Target = (*Target)(nil)

// Capabilities are all: PTX has an instruction for each of them. Clusters and tensor maps
// came with compute capability 9.0.
func (t *Target) Capabilities() lower.Capabilities {
	c := lower.Capabilities{
		Memory: t, Warp: t, Matrix: t, Tiles: t, Copies: t, Atomics: t,
		Math: t, NarrowFloats: t, Asm: t, Reports: t, VendorOps: t, Groups: t, Residents: t,
	}
	if t.CC >= firstCC {
		c.Descriptors = t
		c.Clusters = clusters{}
	}
	return c
}

// Triple is LLVM's name of the target.
func (*Target) Triple() string { return "nvptx64-nvidia-cuda" }

// DataLayout is LLVM's own for the triple, with 32-bit pointers to shared and
// constant memory.
func (*Target) DataLayout() string {
	return "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
}

// Banks describes shared memory: 32 banks of 4 bytes.
func (*Target) Banks() layout.Banks { return layout.Banks{WordBytes: 4, Words: 32, VecBytes: 16} }

// ptxKernel is LLVM's number of the calling convention of entry functions.
const ptxKernel = 71

// DefineKernel marks an entry function and bounds its launch.
func (t *Target) DefineKernel(f *llir.Func, k lower.Kernel) {
	f.SetCallingConv(ptxKernel)
	f.AddAttr(llir.StringAttr("nvvm.reqntid", strconv.Itoa(k.Threads)))
	if k.MaxRegs > 0 {
		f.AddAttr(llir.StringAttr("nvvm.maxnreg", strconv.Itoa(k.MaxRegs)))
	} else if n := t.blocks(k); n > 0 {
		f.AddAttr(llir.StringAttr("nvvm.minctasm", strconv.Itoa(n)))
	}
	if k.NumCTAs > 1 {
		f.AddAttr(llir.StringAttr("nvvm.cluster_dim", strconv.Itoa(k.NumCTAs)))
	}
}

func sreg(b *llir.Builder, name string) llir.Value {
	return b.Call(b.M.Declare("llvm.nvvm.read.ptx.sreg."+name, llir.Pure, llir.I32))
}

// ThreadID is tid.x: blocks are one-dimensional.
func (*Target) ThreadID(b *llir.Builder, threads int) llir.Value {
	tid := sreg(b, "tid.x")
	b.F.AssumeZeroBits(tid, ^uint64(threads-1))
	return tid
}

var axes = [...]string{"x", "y", "z"}

// gridBits bounds the size of the grid along each axis: 2^31 - 1, 65535, 65535.
var gridBits = [...]int{31, 16, 16}

func gridReg(b *llir.Builder, name string, axis int) llir.Value {
	v := sreg(b, name+axes[axis])
	b.F.AssumeZeroBits(v, ^uint64(0)<<gridBits[axis])
	return v
}

// ProgramID is the block's index.
func (*Target) ProgramID(b *llir.Builder, axis int) llir.Value { return gridReg(b, "ctaid.", axis) }

// NumPrograms is the size of the grid.
func (*Target) NumPrograms(b *llir.Builder, axis int) llir.Value { return gridReg(b, "nctaid.", axis) }

// Barrier is bar.sync 0.
func (*Target) Barrier(b *llir.Builder) {
	b.Call(b.M.Declare("llvm.nvvm.barrier.cta.sync.aligned.all", llir.HasEffects, llir.Void, llir.I32), b.M.I32(0))
}

const allLanes = -1

// ShuffleXor is shfl.sync.bfly.
func (*Target) ShuffleXor(b *llir.Builder, v llir.Value, mask int) llir.Value {
	f := b.M.Declare("llvm.nvvm.shfl.sync.bfly.i32", llir.HasEffects, llir.I32, llir.I32, llir.I32, llir.I32, llir.I32)
	return b.Call(f, b.M.I32(allLanes), v, b.M.I32(mask), b.M.I32(31))
}

// ShuffleIndex is shfl.sync.idx.
func (*Target) ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value {
	f := b.M.Declare("llvm.nvvm.shfl.sync.idx.i32", llir.HasEffects, llir.I32, llir.I32, llir.I32, llir.I32, llir.I32)
	return b.Call(f, b.M.I32(allLanes), v, lane, b.M.I32(31))
}

// ReduceWarp is redux.sync, which compute capability 8.0 brought.
func (t *Target) ReduceWarp(b *llir.Builder, combine *ir.OpDef, v llir.Value) llir.Value {
	if t.CC < 80 {
		return nil
	}
	var name string
	switch combine {
	case arith.AddI:
		name = "add"
	case arith.MinSI:
		name = "min"
	case arith.MaxSI:
		name = "max"
	case arith.MinUI:
		name = "umin"
	case arith.MaxUI:
		name = "umax"
	case arith.AndI:
		name = "and"
	case arith.OrI:
		name = "or"
	case arith.XorI:
		name = "xor"
	default:
		return nil
	}
	f := b.M.Declare("llvm.nvvm.redux.sync."+name, llir.HasEffects, llir.I32, llir.I32, llir.I32)
	// The ptxas of CUDA 12.4 takes redux.sync for the work of single lanes: of two
	// results between which lanes choose, it may make one in those lanes alone
	// that choose it, of their values alone. A shuffle it leaves to the whole
	// warp, so the result goes through one, from each lane to itself. Those of 12.8
	// and 13.0 are right, and drop the shuffle: all lanes have the same.
	return t.ShuffleXor(b, b.Call(f, v, b.M.I32(allLanes)), 0)
}
