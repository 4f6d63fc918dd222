package simt

import (
	"fmt"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// spin is what a warp waits for by asking again and again: the phase of an mbarrier, or
// registers.
type spin struct {
	fails  int // how often it asked in this turn
	pc     int
	isMbar bool
	at     int // the mbarrier
	parity uint64
	regs   int // that it wants
}

const (
	// stepsPerTry is how many instructions a loop has that only waits, and mostStill how
	// many rounds all warps may wait before the block is stuck.
	stepsPerTry = 12
	mostStill   = 64
)

// waits reports whether a warp did nothing but wait in a turn of so many instructions.
func (w *warp) waits(steps uint64) bool {
	return steps == 0 || w.spin.fails > 0 && steps <= stepsPerTry*uint64(w.spin.fails+1)
}

// describe says what a warp asks for, "" where it does not.
func (w *warp) asks() string {
	c := w.cta
	if w.spin.fails == 0 {
		return ""
	}
	if !w.spin.isMbar {
		return fmt.Sprintf("waits for %s per thread, of which %d are free", diag.Count(w.spin.regs, "register"), c.freeRegs())
	}
	o := readMbar(c.shared[w.spin.at : w.spin.at+8])
	text := fmt.Sprintf("waits for the phase of parity %d of the mbarrier at 0x%x, ", w.spin.parity, w.spin.at)
	switch {
	case o.count == 0:
		return text + "which is not initialised"
	case o.missing == o.count && o.bytes == 0:
		return text + fmt.Sprintf("in which none of %s came", diag.Count(o.count, "arrival"))
	}
	return text + fmt.Sprintf("which lacks %d of %s and %s", o.missing, diag.Count(o.count, "arrival"), diag.Count(o.bytes, "byte"))
}

// Numbers of registers that setmaxnreg takes.
const (
	FewestRegs = 24
	MostRegs   = 256
	RegStep    = 8
)

// freeRegs is how many registers each thread of a warpgroup could have more.
func (c *cta) freeRegs() int {
	free := 0
	for _, w := range c.warps {
		free += c.run.kernel.MaxRegs - w.regs
	}
	return free / warpsOfGroup
}

// setRegs executes setmaxnreg. Each warp gives away and takes its part; a warpgroup
// must do so as one.
func (w *warp) setRegs(s *step, g *group, m uint64) (int, bool) {
	c := w.cta
	if m == 0 {
		return g.pc + 1, true
	}
	want, lane := int(s.in.Imm), bits.TrailingZeros64(m)
	switch less := s.in.Imm2 == 1; {
	case m != w.live:
		w.faultAt(FindSync, lane, 0, "%s is executed by lanes 0x%x of 0x%x: all must execute it together", s.in.Text, m, w.live)
		return 0, false
	case c.run.kernel.MaxRegs == 0:
		w.faultAt(FindRegisters, lane, 0, "%s in a kernel that does not say how many registers its threads start with (.maxnreg)", s.in.Text)
		return 0, false
	case less && want > w.regs, !less && want < w.regs:
		w.faultAt(FindRegisters, lane, 0, "%s to %s, and a thread has %d", s.in.Text, diag.Count(want, "register"), w.regs)
		return 0, false
	}
	group := w.id / warpsOfGroup
	if c.regSets == nil {
		c.regSets = make(map[int][]int)
	}
	if sets := c.regSets[group]; w.regSet < len(sets) && sets[w.regSet] != want {
		w.faultAt(FindRegisters, lane, 0, "warp %d sets %s where another warp of its warpgroup sets %d", w.id, diag.Count(want, "register"), sets[w.regSet])
		return 0, false
	}
	free := 0
	for _, o := range c.warps {
		free += c.run.kernel.MaxRegs - o.regs
	}
	if want-w.regs > free {
		w.spin = spin{fails: w.spin.fails + 1, pc: w.pc, regs: want}
		c.poll()
		c.waits = true
		return 0, false
	}
	if w.regSet == len(c.regSets[group]) {
		c.regSets[group] = append(c.regSets[group], want)
	}
	w.regs = want
	w.regSet++
	c.changes++
	return g.pc + 1, true
}
