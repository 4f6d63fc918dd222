package gpu

import (
	"bytes"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// Barrier is s_barrier between fences, with what keeps llc 22 from moving accesses past it:
//
//   - Its pass machine-sink takes a load to the only block that uses the value, past fences
//     and s_barrier, and another warp may store before it (llvm-project, issue 181708).
//     Inline assembly that accesses memory holds the load back; it needs no instruction.
//   - At the beginning of a loop it drops the waits of a fence where nothing is waited for
//     before the loop, though an iteration ends with stores: they are asked for as such.
func (t *Target) Barrier(b *llir.Builder) {
	b.Fence(enum.AtomicOrderingRelease, workgroup)
	b.Asm(t.globalWait(), "~{memory}", true, llir.Void)
	t.waitForLDS(b)
	b.Call(b.M.Declare(barrierName, llir.HasEffects, llir.Void))
	b.Fence(enum.AtomicOrderingAcquire, workgroup)
}

// barrierName is the intrinsic of the instruction.
const barrierName = "llvm.amdgcn.s.barrier"

// What waits for stores to global memory, on chips whose stores have a counter of their own.
const (
	gfx11Stores = "s_waitcnt_vscnt null, 0x0"
	gfx12Stores = "s_wait_storecnt 0x0"
)

// globalWait waits for stores to global memory. On GFX9 nothing does: warps of a program see
// each other's in order.
func (t *Target) globalWait() string {
	switch {
	case t.GFX9:
		return ""
	case t.GFX12:
		return gfx12Stores
	}
	return gfx11Stores
}

// WithoutMarks returns llc's code without the marks that inline assembly of barriers is
// between, which would pass for the kernel's own.
func WithoutMarks(code []byte) []byte {
	for _, wait := range []string{"", "\t" + gfx11Stores + "\n", "\t" + gfx12Stores + "\n"} {
		code = bytes.ReplaceAll(code, []byte("\t;;#ASMSTART\n"+wait+"\t;;#ASMEND\n"), []byte(wait))
	}
	return code
}

// The operands of s_waitcnt that wait for LDS alone: lgkmcnt(0), and the greatest counts of
// the rest, where gfx9 and gfx11 have them; gfx9Memory waits for vector memory alone.
const (
	gfx9LDS    = 0xC07F
	gfx9Memory = 0x0F70
	gfx11LDS   = 0xFC07
)

// waitForLDS waits until the lane's accesses to LDS are done.
func (t *Target) waitForLDS(b *llir.Builder) {
	switch {
	case t.GFX9:
		b.Call(b.M.Declare("llvm.amdgcn.s.waitcnt", llir.HasEffects, llir.Void, llir.I32), b.M.I32(gfx9LDS))
	case t.GFX12:
		b.Call(b.M.Declare("llvm.amdgcn.s.wait.dscnt", llir.HasEffects, llir.Void, llir.I16), b.M.Int(llir.I16, 0))
	default:
		b.Call(b.M.Declare("llvm.amdgcn.s.waitcnt", llir.HasEffects, llir.Void, llir.I32), b.M.I32(gfx11LDS))
	}
}
