package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
)

// mostScaled is how many pointers a loop has at most that ByteOffsets changes.
const mostScaled = 16

// ByteOffsets scales to bytes, right where it is added, what is added to the pointers
// that loops begin with. llc splits such a pointer into one that all threads step and an
// offset of each thread, which it scales in a block of its own before the loop. It selects
// instructions block by block: there it sees no more that the offset was extended from
// 32 bits, and shifts 64 bits, where it could have multiplied 32 bits by 32 bits. Such a
// product alone becomes one instruction with the addition in the loop. Loops with more
// than mostScaled pointers stay: llc keeps fewer offsets of those in registers as it is.
func (f *Func) ByteOffsets() {
	scaled := make(map[*ir.InstGetElementPtr]*ir.InstShl)
	var live *liveness // once there is a loop with a pointer
	for _, b := range f.IR.Blocks {
		var starts []Value
		for _, inst := range b.Insts {
			phi, ok := inst.(*ir.InstPhi)
			if !ok {
				break
			}
			p, ok := f.entering(b, phi).(*ir.InstGetElementPtr)
			if !ok {
				continue
			}
			if live == nil {
				live = f.need()
			}
			if live.needed[phi.ID()] {
				starts = append(starts, p)
			}
		}
		if len(starts) <= mostScaled {
			for _, p := range starts {
				f.scaleIndices(p, scaled)
			}
		}
	}
	if len(scaled) == 0 {
		return
	}
	for _, b := range f.IR.Blocks {
		insts := make([]ir.Instruction, 0, len(b.Insts))
		for _, inst := range b.Insts {
			if gep, ok := inst.(*ir.InstGetElementPtr); ok && scaled[gep] != nil {
				insts = append(insts, scaled[gep])
			}
			insts = append(insts, inst)
		}
		b.Insts = insts
	}
}

// entering is what a phi is when the loop that its block b heads begins; nil where b
// heads none, or is entered in several ways.
func (f *Func) entering(b *ir.Block, phi *ir.InstPhi) Value {
	if len(phi.Incs) != 2 {
		return nil
	}
	for i, in := range phi.Incs {
		if f.dominates(b, in.Pred.(*ir.Block)) {
			return phi.Incs[1-i].X
		}
	}
	return nil
}

// scaleIndices scales the extended indices of the sums of which p is made. The shifts
// that it makes, by the sums that use them, are added to scaled.
func (f *Func) scaleIndices(p Value, scaled map[*ir.InstGetElementPtr]*ir.InstShl) {
	for {
		f.Mod.meter.Visit()
		gep, ok := p.(*ir.InstGetElementPtr)
		if !ok {
			return
		}
		p = gep.Src
		size := sizeOf(gep.ElemType)
		index, ok := gep.Indices[0].(*ir.InstSExt)
		if !ok || size < 2 || bits.OnesCount64(uint64(size)) != 1 {
			continue
		}
		shift := &ir.InstShl{
			X: index, Y: f.Mod.I64(int64(bits.TrailingZeros64(uint64(size)))), Typ: I64,
			OverflowFlags: []enum.OverflowFlag{enum.OverflowFlagNSW}, Metadata: gep.Metadata,
		}
		f.lastID++
		shift.SetID(f.lastID)
		scaled[gep] = shift
		gep.ElemType, gep.Indices = I8, []Value{shift}
	}
}
