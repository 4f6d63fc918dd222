package gpu

import (
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Groups of warps have named barriers, of which a block has 16, and give registers to one
// another.

var _ lower.WarpGroups = (*Target)(nil)

const (
	namedBarriers = 16
	// allBarrier is where all threads of a block meet; 0 is that of the kernel's own
	// warps, and those from 2 on are the partitions'.
	allBarrier = 1
)

// MaxGroups is one less than there are barriers.
func (*Target) MaxGroups() int { return namedBarriers - 1 }

// GroupBarrier is bar.sync of a barrier and a number of threads, or bar.warp.sync.
func (*Target) GroupBarrier(b *llir.Builder, group, threads int) {
	if threads == lanes {
		b.Call(b.M.Declare("llvm.nvvm.bar.warp.sync", llir.HasEffects, llir.Void, llir.I32), b.M.I32(allLanes))
		return
	}
	if group > 0 {
		group++
	}
	f := b.M.Declare("llvm.nvvm.barrier.cta.sync.aligned.count", llir.HasEffects, llir.Void, llir.I32, llir.I32)
	b.Call(f, b.M.I32(group), b.M.I32(threads))
}

// Meet is bar.sync of all threads.
func (*Target) Meet(b *llir.Builder) {
	b.Call(b.M.Declare("llvm.nvvm.barrier.cta.sync.aligned.all", llir.HasEffects, llir.Void, llir.I32), b.M.I32(allBarrier))
}

// Numbers of registers that setmaxnreg takes.
const (
	fewestRegisters = 24
	mostRegisters   = 256
	registerStep    = 8
)

// SetRegisters is setmaxnreg, which compute capability 9.0 brought.
func (t *Target) SetRegisters(b *llir.Builder, from, to int) {
	if t.CC < firstCC {
		return
	}
	from, to = min(from, mostRegisters), min(to, mostRegisters)
	name := "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"
	switch {
	case from == to:
		return
	case to < from:
		name = "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"
	}
	b.Call(b.M.Declare(name, llir.HasEffects, llir.Void, llir.I32), b.M.I32(to))
}

// StartRegisters have the workers give away what they can, up to what the kernel's own
// warps can take.
func (*Target) StartRegisters(launch, warps, workers int) (own, waiting int) {
	down := func(n int) int { return n / registerStep * registerStep }
	waiting = fewestRegisters
	own = down(launch + (launch-waiting)*workers/warps)
	if own > mostRegisters {
		own = mostRegisters
		waiting = max(fewestRegisters, down(launch-(own-launch)*warps/workers))
	}
	return own, waiting
}
