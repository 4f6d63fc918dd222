package machine

import (
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Machine is how many threads run a program: warps of a CTA, lanes of a warp, and
// CTAs of a cluster.
type Machine struct {
	Warps, Lanes, CTAs int
	partitioned        bool // whether some operations have warps of their own
}

// Threads is the number of threads of a CTA.
func (m Machine) Threads() int { return m.Warps * m.Lanes }

// Of reads the attributes of a module of which facts.Machine holds.
func Of(module *ir.Operation) Machine {
	warps, ok := module.IntAttr(ttg.NumWarpsAttr)
	if !ok {
		panic("BUG: ttgir: the module has no attribute " + ttg.NumWarpsAttr)
	}
	partitioned := ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.WarpSpecializePartitions) {
			return ir.Stop
		}
		return ir.Advance
	})
	return Machine{int(warps), int(ttg.ThreadsPerWarp(module)), int(ttg.NumCTAs(module)), partitioned}
}

// At is the machine that runs op: a partition of a warp-specialised operation
// has warps of its own.
func (m Machine) At(op *ir.Operation) Machine {
	if !m.partitioned {
		return m
	}
	for ; op.Parent() != nil; op = op.Parent() {
		p := op.Parent()
		if !p.Is(ttg.WarpSpecializePartitions) || !p.Parent().Is(ttg.WarpSpecialize) {
			continue
		}
		counts := ttg.AsWarpSpecialize(p.Parent()).PartitionNumWarps()
		for i, r := range p.Regions() {
			if counts != nil && r == op.Block().Region() {
				m.Warps = int(counts[i])
				return m
			}
		}
	}
	return m
}

// CTAsAround is the number of CTAs of a cluster that the module around a block is for; 1
// where it does not say.
func CTAsAround(b *ir.Block) int {
	op := b.Parent()
	for op.Parent() != nil {
		op = op.Parent()
	}
	return int(ttg.NumCTAs(op))
}
