package gpu

import "github.com/tritonc/tritonc/core/lower"

// ptxas spends few registers where that lets more blocks onto a multiprocessor. It
// then waits for a load before it issues the next one, and loads the operands of a dot
// just before they are used. Asked for a number of blocks (.minnctapersm), it spends
// all registers that so many blocks leave to a thread.

// The registers that a multiprocessor has, and the most that a thread may have, on all
// compute capabilities since 8.0.
const (
	FileRegisters   = 1 << 16
	ThreadRegisters = 255
)

// blockReserve is the shared memory that the driver takes of each block.
const blockReserve = 1 << 10

// stepRegisters are the registers that a step of a loop of dots takes beside what
// lives through the loop: operands of a few instructions, and loads in flight. With
// leastStep, the operands and the result of one mma.sync, instructions follow one
// another, and other blocks run meanwhile.
const (
	stepRegisters = 40
	leastStep     = 10
)

// leastBlocks is how many blocks a multiprocessor should hold so that some compute
// while others wait at a barrier. mostStaged is how many of those it is asked to hold
// whose loops stage operands ahead, and so wait less; leastBlocks of those that fit with
// little over, which are of few dots, and wait for memory.
//
// mostUneven is instead of leastBlocks where some programs have more to do than others.
// All programs at once stay where they are; what has to wait goes where others are done.
const (
	leastBlocks = 4
	mostStaged  = 3
	mostUneven  = 3
)

// Op by op, which is how Registers.Peak is counted, a kernel of dots takes more registers
// than in the order that ptxas finds. How many percent of those it has Peak may be, before
// ptxas spills: in a loop whose operands are staged, and without a loop. With operands
// straight from global memory, ptxas keeps keptStep percent of what lives beside the loop's
// values at once. overFew is overLoop for leastBlocks blocks, and overFour for those of a loop
// whose operands are not staged, with leastStep over.
const (
	overFew  = 120
	overFour = 130
	overLoop = 140
	overAll  = 165
	keptStep = 40
)

// leastThreads is a warp for each scheduler of a multiprocessor. A block of fewer is asked
// for alone only where all that lives at once has registers: ptxas would load so far ahead
// that it spills.
const leastThreads = 128

// crowd is how many times as much as the registers that a thread may have lives at once
// where no order of instructions is without spilling.
const crowd = 2

// mostTruths is how many truth values a thread has registers for.
const mostTruths = 7

// blocks is how many blocks of a kernel a multiprocessor shall hold, at least; 0
// leaves that to ptxas.
func (t *Target) blocks(k lower.Kernel) int {
	if n := t.sharedBlocks(k); n >= 0 {
		return stagedBlocks(k, n)
	}
	if k.Registers == nil || t.Threads == 0 {
		return 0
	}
	if k.Matrix && k.Registers.Loop > 0 {
		return t.dotBlocks(k)
	}
	return t.loadBlocks(k)
}

// sharedBlocks is how many blocks shared memory leaves room for, where it alone keeps
// half of a multiprocessor's threads, or more, from being there; else -1. ptxas
// cannot know how much shared memory a launch asks for.
func (t *Target) sharedBlocks(k lower.Kernel) int {
	if k.Shared == 0 || t.Shared == 0 {
		return -1
	}
	n := t.Shared / (k.Shared + blockReserve)
	if 2*n*k.Threads > t.Threads {
		return -1
	}
	return n
}

// SharedRoom is the shared memory that leaves room for all threads that a
// multiprocessor holds, or for somewhat more than half of them where there are dots,
// whose threads need twice as many registers, or more, as there are for all.
func (t *Target) SharedRoom(threads int, dots bool) int {
	if t.Threads == 0 || threads == 0 {
		return 0
	}
	n := t.Threads / threads
	if dots {
		n = n/2 + 1
	}
	return t.Shared/max(n, 1) - blockReserve
}

// perThread is how many registers n threads leave to each.
func perThread(n int) int { return FileRegisters / n &^ 7 }

// ThreadRegisters is how many registers each of so many threads of a block may have;
// without all, how many are left where a quarter of a multiprocessor's threads are there,
// and two blocks.
func (t *Target) ThreadRegisters(threads int, all bool) int {
	if threads == 0 || t.Threads == 0 {
		return 0
	}
	if !all {
		threads = max(2*threads, t.Threads/4)
	}
	return min(perThread(threads), ThreadRegisters)
}

// stagedBlocks is how many of at most n blocks a kernel that takes much shared memory
// shall have on a multiprocessor: one, or of a kernel of dots up to mostStaged, as
// registers allow.
func stagedBlocks(k lower.Kernel, n int) int {
	if !k.Matrix || k.Registers == nil {
		return 1
	}
	loop, peak := k.Registers.Loop, k.Registers.Peak
	if k.Uneven {
		n = min(n, mostUneven)
	}
	for n = min(n, leastBlocks); n > 1; n-- {
		room, over := stepRegisters, overLoop
		switch {
		case n > mostStaged:
			room, over = step(k), overFew
		case loop == 0:
			over = overAll
		}
		limit := perThread(n * k.Threads)
		if (n <= mostStaged || loop > 0) && limit <= ThreadRegisters && limit >= loop+room && peak*100/limit <= over {
			return n
		}
	}
	if k.Threads < leastThreads && peak > ThreadRegisters {
		return 0
	}
	return 1
}

// step is how many registers a step of a loop of dots takes at least.
func step(k lower.Kernel) int {
	return max(leastStep, (k.Registers.Peak-k.Registers.Loop)*keptStep/100)
}

// dotBlocks asks for a quarter of the threads that a multiprocessor holds, where
// what lives through the loop and a step of it fit, unless half of the threads could be
// there with little to save: ptxas finds that itself. Where they do not fit, or programs
// differ in length, it asks for three quarters of that.
func (t *Target) dotBlocks(k lower.Kernel) int {
	threads, loop := t.Threads/4, k.Registers.Loop
	n := threads / k.Threads
	if n < leastBlocks || perThread(2*threads) >= loop+stepRegisters/2 {
		return 0
	}
	fewer := n * mostUneven / leastBlocks
	switch peak, room := k.Registers.Peak, perThread(threads); {
	case room < loop+leastStep, room < loop+step(k) && peak*100 > room*overFour:
		limit := perThread(fewer * k.Threads)
		if limit < loop+step(k) || peak*100 > limit*overFew {
			return 0
		}
		return fewer
	case k.Uneven && peak > room:
		return fewer
	}
	return n
}

// loadBlocks asks for half of the threads that a multiprocessor holds, or a quarter, or
// half of that, as many as have registers for all that lives at once, if that is two blocks
// or more. It does so where the loads that can be in flight together fill half of the
// registers that all threads leave to each, or more, and what lives beside them needs the
// rest; and where a tile goes through the registers in parts, since ptxas would be content
// with a load or two in flight. Fewer threads with more loads in flight keep the memory as
// busy, and a launch that does not fill the GPU waits once instead of twice. Of a tile
// that goes through in parts, fewer threads yet are asked for where each then has all its
// loads in flight, and all of them together more than before.
func (t *Target) loadBlocks(k lower.Kernel) int {
	r, full := k.Registers, perThread(t.Threads)
	if !k.InParts && (r.Loads.Live <= full || r.Loads.Loaded < full/2 || r.Loads.Truths > mostTruths) {
		return t.crowded(k)
	}
	for _, threads := range [...]int{t.Threads / 2, t.Threads / 4, t.Threads / 8} {
		n := threads / k.Threads
		if n < 2 {
			break
		}
		if r.Peak > perThread(threads)*9/10 {
			continue
		}
		if k.InParts {
			return min(n, wholeBlocks(k, n))
		}
		return n
	}
	return t.crowded(k)
}

// crowded asks for one block where so much lives at once that ptxas must spill, whatever
// it does: of its own accord it then takes as few registers as all threads have, and keeps
// nearly everything in memory.
func (t *Target) crowded(k lower.Kernel) int {
	if k.Registers.Peak > crowd*min(perThread(k.Threads), ThreadRegisters) {
		return 1
	}
	return 0
}

// wholeBlocks is how many blocks of a tile that goes through in parts, beside n, a
// multiprocessor has registers for while all loads of the tile are in flight; n where those
// blocks together have no more loads in flight.
func wholeBlocks(k lower.Kernel, n int) int {
	loads := k.Registers.Loads
	beside := loads.Live - loads.Held
	regs := (max(beside+loads.Loaded, k.Registers.Peak) + 7) &^ 7
	if regs > ThreadRegisters {
		return n
	}
	whole := FileRegisters / regs / k.Threads
	if whole < 2 || whole*loads.Loaded <= n*min(loads.Loaded, perThread(n*k.Threads)-beside) {
		return n
	}
	return whole
}
