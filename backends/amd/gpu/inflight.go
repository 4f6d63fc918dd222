package gpu

import (
	"slices"

	llvm "github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
)

// Intrinsics that copy to LDS: from pointers, and from buffers.
const (
	loadToLDS       = "llvm.amdgcn.load.to.lds.p1"
	bufferLoadToLDS = "llvm.amdgcn.raw.ptr.buffer.load.lds"
)

// KeepCopiesInFlight has llc wait for copies to LDS nowhere but where the module says so, if
// it has any. By itself llc waits for all of them
//
//   - before an access to LDS, which it is told is apart from them: what a copy writes is
//     accessed after a wait for it alone.
//   - at fences, which barriers then go without: they wait for LDS themselves, and warps of
//     a program see each other's accesses to global memory in order.
func KeepCopiesInFlight(m *llir.Module) {
	var copies []*llvm.InstCall
	eachBlock(m, func(b *llvm.Block) {
		for _, inst := range b.Insts {
			if name := calledName(inst); name == loadToLDS || name == bufferLoadToLDS {
				copies = append(copies, inst.(*llvm.InstCall))
			}
		}
	})
	if len(copies) == 0 {
		return
	}
	scope := m.AddAliasScope("copies")
	for _, c := range copies {
		scope.Holds(c)
	}
	eachBlock(m, func(b *llvm.Block) {
		for _, inst := range b.Insts {
			if accessesLDS(inst) {
				scope.IsApartFrom(inst)
			}
		}
		b.Insts = withoutFences(b.Insts)
	})
}

// withoutFences drops the fences of barriers (Target.Barrier), and has the assembly that
// nothing moves past on both sides of them.
func withoutFences(list []llvm.Instruction) []llvm.Instruction {
	const before = 3 // assembly and the wait are between fence and barrier
	for i := before; i < len(list)-1; i++ {
		if calledName(list[i]) != barrierName {
			continue
		}
		_, release := list[i-before].(*llvm.InstFence)
		mark, asm := list[i-before+1].(*llvm.InstCall)
		_, acquire := list[i+1].(*llvm.InstFence)
		if !release || !asm || !acquire {
			panic("BUG: a barrier is not between fences")
		}
		again := *mark
		list[i-before], list[i+1] = nil, &again
	}
	return slices.DeleteFunc(list, func(inst llvm.Instruction) bool { return inst == nil })
}

// eachBlock calls f for each block of a module.
func eachBlock(m *llir.Module, f func(*llvm.Block)) {
	for _, fn := range m.IR.Funcs {
		for _, b := range fn.Blocks {
			f(b)
		}
	}
}

// calledName is the name of the function that inst calls, or "".
func calledName(inst llvm.Instruction) string {
	if call, ok := inst.(*llvm.InstCall); ok {
		if f, ok := call.Callee.(*llvm.Func); ok {
			return f.Name()
		}
	}
	return ""
}

// accessesLDS reports whether inst is a load from LDS or a store to it.
func accessesLDS(inst llvm.Instruction) bool {
	var p llir.Value
	switch i := inst.(type) {
	case *llvm.InstLoad:
		p = i.Src
	case *llvm.InstStore:
		p = i.Dst
	default:
		return false
	}
	return p.Type() == llir.Type(llir.PtrIn(ldsSpace))
}
