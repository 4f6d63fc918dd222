package gpu

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Controls of DPP (data-parallel primitives): which lane of its row of 16 each lane
// reads. They are operands of the instruction that uses the value, so that a sum of two
// lanes is one instruction.
const (
	dppQuadPerm      = 0x000 // + the four lanes of a quad, two bits each
	dppRowRor        = 0x120 // + n: the row turned right by n
	dppRowMirror     = 0x140
	dppRowHalfMirror = 0x141
	dppRowXmask      = 0x160 // + mask; from GFX10 on
)

// quadXor is the control that reads the lane of the quad whose number differs by mask.
func quadXor(mask int) int {
	c := dppQuadPerm
	for i := range 4 {
		c |= (i ^ mask) << (2 * i)
	}
	return c
}

// dppXor are the controls, applied one after the other, that read the lane of the row
// whose number differs by mask. Without row_xmask the steps are a quad's permutations, the
// mirrored half row (7), the mirrored row (15) and the row turned by half (8).
func (t *Target) dppXor(mask int) []int {
	if !t.GFX9 {
		return []int{dppRowXmask + mask}
	}
	var steps []int
	switch {
	case mask >= 12:
		steps, mask = append(steps, dppRowMirror), mask^15
	case mask >= 8:
		steps, mask = append(steps, dppRowRor+8), mask^8
	case mask >= 4:
		steps, mask = append(steps, dppRowHalfMirror), mask^7
	}
	if mask != 0 {
		steps = append(steps, quadXor(mask))
	}
	return steps
}

// ShuffleXor moves within rows of 16 lanes by DPP. Between the rows of 32 lanes it is
// permlanex16 where there is one, else ds_swizzle; beyond them ds_bpermute.
func (t *Target) ShuffleXor(b *llir.Builder, v llir.Value, mask int) llir.Value {
	switch {
	case mask == 0:
		return v
	case mask < 16:
		for _, control := range t.dppXor(mask) {
			v = dpp(b, v, control)
		}
		return v
	case mask < 32 && !t.GFX9:
		return permlanex16(b, v, mask&15)
	case mask < 32:
		const bitMode, all = 0, 31
		f := b.M.Declare("llvm.amdgcn.ds.swizzle", llir.HasEffects, llir.I32, llir.I32, llir.I32)
		return b.Call(f, v, b.M.I32(bitMode|mask<<10|all))
	}
	return t.ShuffleIndex(b, v, b.Xor(t.lane(b), b.M.I32(mask)))
}

// dpp is v of the lane that the control says.
func dpp(b *llir.Builder, v llir.Value, control int) llir.Value {
	f := b.M.Declare("llvm.amdgcn.update.dpp.i32", llir.HasEffects, llir.I32, llir.I32, llir.I32, llir.I32, llir.I32, llir.I32, llir.I1)
	const rows, banks = 15, 15 // all
	return b.Call(f, b.M.Poison(llir.I32), v, b.M.I32(control), b.M.I32(rows), b.M.I32(banks), b.M.Bool(true))
}

// permlanex16 is v of the lane of the neighbouring row whose number within the row
// differs by mask.
func permlanex16(b *llir.Builder, v llir.Value, mask int) llir.Value {
	var choices [2]int64 // lane by lane, four bits each
	for i := range 16 {
		choices[i/8] |= int64(i^mask) << (4 * (i % 8))
	}
	f := b.M.Declare("llvm.amdgcn.permlanex16.i32", llir.HasEffects, llir.I32, llir.I32, llir.I32, llir.I32, llir.I32, llir.I1, llir.I1)
	return b.Call(f, b.M.Poison(llir.I32), v, b.M.I32(int(int32(choices[0]))), b.M.I32(int(int32(choices[1]))), b.M.Bool(true), b.M.Bool(false))
}

// lane is the thread's number in its warp.
func (t *Target) lane(b *llir.Builder) llir.Value {
	f := b.M.Declare("llvm.amdgcn.mbcnt.lo", llir.Pure, llir.I32, llir.I32, llir.I32)
	v := b.Call(f, b.M.I32(-1), b.M.I32(0))
	if t.Lanes == 64 {
		f = b.M.Declare("llvm.amdgcn.mbcnt.hi", llir.Pure, llir.I32, llir.I32, llir.I32)
		v = b.Call(f, b.M.I32(-1), v)
	}
	b.F.AssumeZeroBits(v, ^uint64(t.Lanes-1))
	return v
}

// ShuffleIndex is ds_bpermute, which numbers lanes by bytes.
func (*Target) ShuffleIndex(b *llir.Builder, v, lane llir.Value) llir.Value {
	f := b.M.Declare("llvm.amdgcn.ds.bpermute", llir.HasEffects, llir.I32, llir.I32, llir.I32)
	return b.Call(f, b.Shl(lane, 2), v)
}

// ReduceWarp is nil: no instruction combines all lanes.
func (*Target) ReduceWarp(*llir.Builder, *ir.OpDef, llir.Value) llir.Value { return nil }
