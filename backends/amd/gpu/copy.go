package gpu

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Instructions of CDNA 3 and 4 copy from memory to LDS: lane l of a wave writes at a
// place that all share, + l times the size. A wave's counter of accesses to vector memory
// says when they have ended.

// copies is lower.AsyncCopies.
type copies struct{ *Target }

// CopyAsync copies by an instruction where one can, and through registers elsewhere. Lanes
// that are off leave what was there, so masked copies go through registers.
func (t copies) CopyAsync(b *llir.Builder, c *lower.Copy) error {
	if c.From.Mask != nil || !t.toLDS(c) {
		return lower.CopyAtOnce(b, c)
	}
	f := b.M.Declare("llvm.amdgcn.load.to.lds.p1", llir.HasEffects, llir.Void, llir.PtrIn(globalSpace), llir.PtrIn(ldsSpace), llir.I32, llir.I32, llir.I32)
	b.Call(f, b.PtrAdd(c.From.Ptr, c.From.Offset), firstPlace(b, c), b.M.I32(copySize(c)), b.M.I32(0), b.M.I32(t.policy(c.From.Cache, true)))
	return nil
}

// CommitCopies does nothing: there are no groups.
func (copies) CommitCopies(*llir.Builder) {}

// WaitCopies waits for all: how many instructions a group has is not known here.
func (t copies) WaitCopies(b *llir.Builder, _ int) { t.waitForCopies(b, 0) }

// asyncWait waits until at most so many instructions have not ended.
func (t *Target) asyncWait(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsAsyncWait(op)
	t.waitForCopies(s.B, int(v.NumInst()))
	s.Set(v.RetToken())
	return nil
}

// mostInFlight is how high the counter of accesses to vector memory goes.
const mostInFlight = 63

// waitForCopies waits until at most n accesses to vector memory have not ended, on chips
// that have instructions that copy to LDS: they end in order. Bits 3:0 and 15:14 of the
// operand are the number.
func (t *Target) waitForCopies(b *llir.Builder, n int) {
	if t.MFMA >= 3 {
		n = min(n, mostInFlight)
		b.Call(b.M.Declare("llvm.amdgcn.s.waitcnt", llir.HasEffects, llir.Void, llir.I32), b.M.I32(gfx9Memory|n&15|n>>4<<14))
	}
}

// bufferToLDS starts a copy from a buffer, whose masked lanes write zeros: they are beyond
// its records. It reports whether an instruction does it.
func (t *Target) bufferToLDS(b *llir.Builder, c *lower.Copy, rsrc, offset llir.Value, cache int64) bool {
	if !t.toLDS(c) || c.From.Mask != nil && c.From.Other != nil && !isZero(c.From.Other) {
		return false
	}
	f := b.M.Declare("llvm.amdgcn.raw.ptr.buffer.load.lds", llir.HasEffects, llir.Void, rsrc.Type(), llir.PtrIn(ldsSpace), llir.I32, llir.I32, llir.I32, llir.I32, llir.I32)
	at := byteOffset(b, offset, c.From.Mask, llir.Width(c.From.Elem)/8)
	b.Call(f, rsrc, firstPlace(b, c), b.M.I32(copySize(c)), at, b.M.I32(0), b.M.I32(0), b.M.I32(t.policy(cache, true)))
	return true
}

// toLDS reports whether an instruction does a copy.
func (t *Target) toLDS(c *lower.Copy) bool {
	if !c.Consecutive || c.Owner != nil {
		return false
	}
	size := copySize(c)
	return size == 4 && t.MFMA >= 3 || size == 16 && t.MFMA >= 4
}

// copySize is how many bytes each lane copies.
func copySize(c *lower.Copy) int { return llir.Width(c.From.Elem) / 8 * c.From.Count }

// ldsSpace is the address space of LDS.
const ldsSpace = 3

// firstPlace is where the first lane of a wave writes.
func firstPlace(b *llir.Builder, c *lower.Copy) llir.Value {
	p := b.PtrAdd(c.To, c.ToOffset)
	first := b.M.Declare("llvm.amdgcn.readfirstlane.i32", llir.Pure, llir.I32, llir.I32)
	return b.Cast(llir.IntToPtr, b.Call(first, b.Cast(llir.PtrToInt, p, llir.I32, 0)), p.Type(), 0)
}
