package simt

import (
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// control executes an instruction that may change the flow of group g, whose
// lanes m are not held back by the guard. It returns the group's next program
// counter; again is false where the group stopped being the current one.
func (w *warp) control(s *step, g *group, m uint64) (next int, again bool) {
	pc := g.pc
	switch s.kind {
	case stepBranch:
		if m == g.mask {
			return int(s.target), true
		}
		if m == 0 {
			return pc + 1, true
		}
		w.cta.countDivergent(g.pc)
		w.split(s, m, int(s.target), g.stack)
		return 0, false
	case stepIndexed:
		return w.indexed(s, g, m)
	case stepCall:
		if m == 0 {
			return pc + 1, true
		}
		if m != g.mask {
			w.hold(m, pc+1)
			return 0, false
		}
		w.copyParams(s, m)
		g.stack = append(g.stack[:len(g.stack):len(g.stack)], pc+1)
		return int(s.target), true
	case stepRet:
		return w.ret(s, g, m)
	case stepExit:
		return w.exit(g, m)
	case stepSync:
		return w.sync(s, g, m)
	case stepSetRegs:
		return w.setRegs(s, g, m)
	case stepBarrier:
		if w.wavefront != nil {
			w.wavefront.meet()
		}
		return w.barrier(s, g, m)
	case stepFlow:
		return w.flow(s, g)
	case stepCluster:
		return w.clusterBarrier(s, g, m)
	}
	panic("BUG: unknown step kind")
}

// newJoin makes a meeting point of the lanes of g at pc, or returns the group's
// own join where that is the same place.
func (w *warp) newJoin(g *group, pc int, stack []int) *join {
	if j := g.join; j != nil && j.pc == pc && j.depth == len(stack) {
		return j
	}
	var j *join
	if n := len(w.spare); n > 0 {
		j = w.spare[n-1]
		w.spare = w.spare[:n-1]
	} else {
		j = new(join)
	}
	*j = join{pc: pc, depth: len(stack), expected: g.mask, stack: stack, parent: g.join}
	w.joins = append(w.joins, j)
	return j
}

// dropJoin forgets a join that nobody will come to any more.
func (w *warp) dropJoin(j *join) {
	for i, k := range w.joins {
		if k == j {
			w.joins = append(w.joins[:i], w.joins[i+1:]...)
			w.spare = append(w.spare, j)
			return
		}
	}
}

// joinOf returns the join for a divergence of g whose post-dominator is at pc;
// -1 stands for the end of the function.
func (w *warp) joinOf(g *group, pc int) *join {
	if pc >= 0 {
		return w.newJoin(g, pc, g.stack)
	}
	if n := len(g.stack); n > 0 {
		return w.newJoin(g, g.stack[n-1], g.stack[:n-1])
	}
	return g.join
}

// split sends the lanes of m in the current group to target, with call stack
// stack, and the others to the next instruction.
func (w *warp) split(s *step, m uint64, target int, stack []int) {
	g := &w.groups[w.cur]
	j := w.joinOf(g, int(s.join))
	taken := group{pc: target, mask: m, stack: stack, join: j}
	g.pc++
	g.mask &^= m
	g.join = j
	w.groups = append(w.groups, taken)
}

// hold parts the current group in the lanes of m, which stay at its program
// counter, and the others, which wait for them at pc.
func (w *warp) hold(m uint64, pc int) {
	g := &w.groups[w.cur]
	j := w.newJoin(g, pc, g.stack)
	rest := group{pc: pc, mask: g.mask &^ m, stack: g.stack, join: j}
	g.mask = m
	g.join = j
	w.groups = append(w.groups, rest)
}

// remove deletes group k.
func (w *warp) remove(k int) {
	w.groups = append(w.groups[:k], w.groups[k+1:]...)
	if w.cur > k {
		w.cur--
	}
	if w.cur >= len(w.groups) {
		w.cur = 0
	}
}

// arrive parks the current group at its join and lets all go when it was the
// last.
func (w *warp) arrive() {
	g := &w.groups[w.cur]
	j := g.join
	j.arrived |= g.mask
	w.parked |= g.mask
	w.parkedAt = w.steps
	w.moved = true
	w.remove(w.cur)
	w.settle(j)
}

// settle releases the lanes of j when none is missing.
func (w *warp) settle(j *join) {
	if j.arrived != j.expected {
		return
	}
	w.release(j)
}

// release lets the lanes that wait at j go on.
func (w *warp) release(j *join) {
	m := j.arrived
	j.expected &^= m
	j.arrived = 0
	w.parked &^= m
	if m != 0 {
		w.groups = append(w.groups, group{pc: j.pc, mask: m, stack: j.stack, join: j.parent})
		w.cur = len(w.groups) - 1
		w.moved = true
	}
	if j.expected == 0 {
		w.dropJoin(j)
	}
}

// releaseAll lets every parked lane go: the others make no progress without
// them, or take too long.
func (w *warp) releaseAll() bool {
	if w.parked == 0 {
		return false
	}
	for i := len(w.joins) - 1; i >= 0; i-- {
		if i < len(w.joins) && w.joins[i].arrived != 0 {
			w.release(w.joins[i])
		}
	}
	return true
}

// indexed executes brx.idx: every distinct target gets its group.
func (w *warp) indexed(s *step, g *group, m uint64) (int, bool) {
	if m == 0 {
		return g.pc + 1, true
	}
	if w.check != nil {
		w.use(s.in.A, m, allBits, "where the branch goes")
	}
	idx := w.u32(s.a)
	first := idx[bits.TrailingZeros64(m)]
	var same uint64
	for r := m; r != 0; r &= r - 1 {
		l := bits.TrailingZeros64(r)
		if int64(idx[l]) >= int64(len(s.in.Targets)) {
			w.faultAt(FindBranch, l, 0, "branch index %d is beyond the %s", idx[l], diag.Count(len(s.in.Targets), "target"))
			return 0, false
		}
		if idx[l] == first {
			same |= 1 << l
		}
	}
	if same == g.mask {
		return s.in.Targets[first], true
	}
	w.cta.countDivergent(g.pc)
	// One target at a time: the others come back to this instruction.
	j := w.joinOf(g, int(s.join))
	if rest := g.mask &^ m; rest != 0 {
		w.groups = append(w.groups, group{pc: g.pc + 1, mask: rest, stack: g.stack, join: j})
		g = &w.groups[w.cur]
	}
	if other := m &^ same; other != 0 {
		w.groups = append(w.groups, group{pc: g.pc, mask: other, stack: g.stack, join: j})
		g = &w.groups[w.cur]
	}
	g.mask, g.join, g.pc = same, j, s.in.Targets[first]
	return 0, false
}

func (w *warp) ret(s *step, g *group, m uint64) (int, bool) {
	n := len(g.stack)
	if n == 0 {
		return w.exit(g, m)
	}
	if m == 0 {
		return g.pc + 1, true
	}
	back := g.stack[n-1]
	if m == g.mask {
		g.stack = g.stack[:n-1]
		return back, true
	}
	w.cta.countDivergent(g.pc)
	w.split(s, m, back, g.stack[:n-1])
	return 0, false
}

// exit ends the lanes of m.
func (w *warp) exit(g *group, m uint64) (int, bool) {
	if m == 0 {
		return g.pc + 1, true
	}
	w.live &^= m
	w.cta.liveLanes -= bits.OnesCount64(m)
	w.moved = true
	pc := g.pc
	j := g.join
	rest := g.mask &^ m
	if rest == 0 {
		w.remove(w.cur)
	} else {
		g.mask = rest
		g.pc = pc + 1
	}
	for j != nil {
		up := j.parent
		j.expected &^= m
		switch {
		case j.expected == 0:
			w.dropJoin(j)
		case j.arrived == j.expected:
			w.release(j)
		}
		j = up
	}
	w.resync()
	w.cta.settleBarriers()
	w.exitCluster(m)
	return 0, false
}

// sync waits until all live lanes of the instruction's mask (all of the warp
// where it has none) are here, executes it for them together and lets each group
// go on. Lanes that diverged are waited for rather than reported at once: the
// post-dominator that joins them is a guess, and a branch whose one arm leaves
// the kernel has none. Only when they cannot come is it an error.
func (w *warp) sync(s *step, g *group, m uint64) (int, bool) {
	if m == 0 {
		return g.pc + 1, true
	}
	if s.c < 0 {
		if m != g.mask {
			w.guarded(s, g, m)
			return 0, false
		}
		if w.live == m {
			w.doSync(s, m)
			if w.cta.fault != nil {
				return 0, false
			}
			return g.pc + 1, true
		}
		w.wait(g, m, w.full)
		return 0, false
	}
	masks := w.u32(s.c)
	first := bits.TrailingZeros64(m)
	need := uint64(masks[first])
	if w.n > 32 && need == 1<<32-1 {
		need = w.full
	}
	named := need&m == m && uniform(masks)
	for r := m; r != 0 && !named; r &= r - 1 {
		l := bits.TrailingZeros64(r)
		if need>>l&1 == 0 {
			w.faultAt(FindSync, l, 0, "lane %d executes %s whose mask 0x%x does not name it", l, s.in.Text, need)
			return 0, false
		}
		if masks[l] != masks[first] {
			w.faultAt(FindSync, l, 0, "lanes of one %s give different masks 0x%x and 0x%x", s.in.Text, masks[first], masks[l])
			return 0, false
		}
	}
	if need&w.live&^m == 0 {
		w.doSync(s, m)
		if w.cta.fault != nil {
			return 0, false
		}
		return g.pc + 1, true
	}
	w.wait(g, m, need)
	return 0, false
}

// wait parks the lanes of m of the current group until those of need have come.
func (w *warp) wait(g *group, m, need uint64) {
	if m != g.mask {
		w.hold(m, g.pc+1)
		g = &w.groups[w.cur]
	}
	g.state = groupSync
	g.syncMask = need
	w.resync()
}

func (w *warp) doSync(s *step, m uint64) {
	if w.check != nil {
		w.doChecked(s, m)
		return
	}
	w.do(s, m)
}

// resync executes synchronising instructions whose lanes have all come.
func (w *warp) resync() {
	for i := range w.groups {
		g := &w.groups[i]
		if g.state != groupSync {
			continue
		}
		s := &w.cta.code[g.pc]
		anywhere := s.in.Op == OpWarpSync
		var union uint64
		for k := range w.groups {
			if h := &w.groups[k]; w.together(g, h, anywhere) {
				union |= h.mask
			}
		}
		if g.syncMask&w.live&^union != 0 {
			continue
		}
		w.pc = g.pc
		w.moved = true
		pc, mask := g.pc, g.syncMask
		if s.kind == stepBarrier || s.kind == stepCluster {
			for k := range w.groups {
				if h := &w.groups[k]; h.state == groupSync && h.pc == pc {
					h.state = groupReady
				}
			}
			w.merge()
			if s.kind == stepCluster {
				w.meetCluster(s, w.groupAt(pc, union))
			} else {
				w.arriveBarrier(s, w.groupAt(pc, union))
			}
			return
		}
		w.doSync(s, union)
		for k := range w.groups {
			h := &w.groups[k]
			if h.state == groupSync && h.syncMask == mask && (anywhere || h.pc == pc) {
				h.state = groupReady
				h.pc++
			}
		}
	}
	w.merge()
}

// groupAt returns the groups that are ready at pc; together they hold mask.
func (w *warp) groupAt(pc int, mask uint64) []int {
	var out []int
	for k := range w.groups {
		if h := &w.groups[k]; h.state == groupReady && h.pc == pc && h.mask&^mask == 0 {
			out = append(out, k)
		}
	}
	return out
}

// merge unites ready groups that are at one place on one path.
func (w *warp) merge() {
	for i := 0; i < len(w.groups); i++ {
		for k := len(w.groups) - 1; k > i; k-- {
			g, h := &w.groups[i], &w.groups[k]
			if g.state == groupReady && h.state == groupReady && g.pc == h.pc && g.join == h.join && equalStack(g.stack, h.stack) {
				g.mask |= h.mask
				w.remove(k)
			}
		}
	}
}

func equalStack(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (w *warp) together(g, h *group, anywhere bool) bool {
	if h.state != groupSync || h.syncMask != g.syncMask {
		return false
	}
	return h.pc == g.pc || anywhere && w.cta.code[h.pc].in.Op == OpWarpSync
}

func (w *warp) copyParams(s *step, m uint64) {
	size := w.cta.prog.FrameBytes
	for ; m != 0; m &= m - 1 {
		f := w.frame[bits.TrailingZeros64(m)*size:]
		for _, c := range s.in.Params {
			copy(f[c.To:c.To+c.Size], f[c.From:c.From+c.Size])
		}
	}
}
