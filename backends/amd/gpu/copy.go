package gpu

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/ttg"
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
	f := b.M.Declare(loadToLDS, llir.HasEffects, llir.Void, llir.PtrIn(globalSpace), llir.PtrIn(ldsSpace), llir.I32, llir.I32, llir.I32)
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
	f := b.M.Declare(bufferLoadToLDS, llir.HasEffects, llir.Void, rsrc.Type(), llir.PtrIn(ldsSpace), llir.I32, llir.I32, llir.I32, llir.I32, llir.I32)
	at := byteOffset(b, offset, c.From.Mask, llir.Width(c.From.Elem)/8)
	b.Call(f, rsrc, firstPlace(b, c), b.M.I32(copySize(c)), at, b.M.I32(0), b.M.I32(0), b.M.I32(t.policy(cache, true)))
	return true
}

// toLDS reports whether an instruction does a copy.
func (t *Target) toLDS(c *lower.Copy) bool {
	return t.copiesTo(lower.CopyShape{Bytes: copySize(c), Consecutive: c.Consecutive, Shared: c.Owner != nil})
}

// copiesTo reports whether the chip has an instruction for the accesses of a copy.
func (t *Target) copiesTo(c lower.CopyShape) bool {
	return c.Consecutive && !c.Shared && (c.Bytes == 4 && t.MFMA >= 3 || c.Bytes == 16 && t.MFMA >= 4)
}

// copySize is how many bytes each lane copies.
func copySize(c *lower.Copy) int { return llir.Width(c.From.Elem) / 8 * c.From.Count }

// CopyInstructions tells how many instructions a wave surely has on their way after an
// operation of a module that copies to LDS: none after one that goes through registers,
// since it has waited for its loads, and all before.
func (t *Target) CopyInstructions(mod *ir.Operation) (func(*ir.Operation) int, error) {
	shapes, err := lower.CopyShapes(mod, t)
	if err != nil {
		return nil, err
	}
	count := func(from lower.CopySource, buffer *ir.Value) int {
		if c, ok := shapes(from, buffer); ok && t.copiesTo(c) {
			return c.Accesses
		}
		return 0
	}
	return func(op *ir.Operation) int {
		switch op.Def() {
		case ttg.AsyncCopy:
			v := ttg.AsAsyncCopy(op)
			if v.Mask() == nil {
				return count(lower.CopySource{Place: lower.Place{Offsets: v.Src()}, Contiguity: v.Contiguity()}, v.Result())
			}
		case amdg.Dialect().Op("amdg.buffer_load_to_local"):
			v := amdg.AsBufferLoadToLocal(op)
			if v.Mask() == nil || v.Other() == nil || arith.IsZero(v.Other()) {
				at := lower.Place{Base: v.Ptr(), Offsets: v.Offsets(), Mask: v.Mask()}
				return count(lower.CopySource{Place: at, Contiguity: v.Contiguity()}, v.Dest())
			}
		}
		return 0
	}, nil
}

// ldsSpace is the address space of LDS.
const ldsSpace = 3

// firstPlace is where the first lane of a wave writes.
func firstPlace(b *llir.Builder, c *lower.Copy) llir.Value {
	p := b.PtrAdd(c.To, c.ToOffset)
	first := b.M.Declare("llvm.amdgcn.readfirstlane.i32", llir.Pure, llir.I32, llir.I32)
	return b.Cast(llir.IntToPtr, b.Call(first, b.Cast(llir.PtrToInt, p, llir.I32, 0)), p.Type(), 0)
}
