package simt

import "math/bits"

// Dots of warpgroups are computed when they are issued, and their warp may not tell
// before it has waited: dotState finds what it does to their registers, and
// sharedCheck what anyone does to the matrices that they read in shared memory. Groups
// of dots are numbered from 1, warp by warp.
type dotState struct {
	// fences is how many wgmma.fence the warp has passed.
	fences uint32
	// open is the number of the group that is not committed, done that of the last
	// one which was waited for, last that of the last dot.
	open, done, last uint32
	// sums, operands and columns have, by the place of a register, the last group that
	// adds to it, the last one that reads a part of A in it, and the columns of the
	// instruction that added.
	sums, operands, columns []uint32
	// wrote has, by the place of a register, one more than fences had been when another
	// instruction last wrote it.
	wrote []uint32
	// doneAt has, by group, the warp's clock when it was waited for.
	doneAt []uint32
}

// newDotState is nil for programs without such dots.
func newDotState(p *Program) *dotState {
	for i := range p.Code {
		if p.Code[i].Op == OpWgmma {
			n := firstPlace + p.NumP + 1 + p.Num32 + 1 + p.Num64 + 1
			return &dotState{sums: make([]uint32, n), operands: make([]uint32, n), columns: make([]uint32, n), wrote: make([]uint32, n)}
		}
	}
	return nil
}

func (d *dotState) reset() {
	for _, s := range [...][]uint32{d.sums, d.operands, d.wrote} {
		clear(s)
	}
	d.fences, d.open, d.done, d.last, d.doneAt = 0, 1, 0, 0, append(d.doneAt[:0], 0)
}

const noWait = "no wgmma.wait_group for it comes before"

// dotRegisters looks at the registers of an instruction that is not such a dot.
func (w *warp) dotRegisters(s *step) {
	d := w.dots
	reads, writes := s.prs, s.pds
	if s.in.Op == OpLd || s.in.Op == OpLdMatrix {
		reads, writes = nil, s.prs
	}
	if d.last > d.done {
		for _, p := range [...]int32{s.pa, s.pb, s.pc, s.pd} {
			w.dotUse(s, p)
		}
		for _, p := range reads {
			w.dotUse(s, p)
		}
		for _, p := range writes {
			w.dotUse(s, p)
		}
		w.dotOverwrite(s, s.pd)
		for _, p := range writes {
			w.dotOverwrite(s, p)
		}
	}
	now := d.fences + 1
	d.wrote[s.pd] = now
	for _, p := range writes {
		d.wrote[p] = now
	}
	if m := s.in.Mma; m != nil {
		for _, r := range m.DRegs {
			d.wrote[placeOfResult(w.cta.prog, r)] = now
		}
	}
}

// dotUse reports an access to a sum that is not known to be complete.
func (w *warp) dotUse(s *step, p int32) {
	if d := w.dots; p >= firstPlace && d.sums[p] > d.done {
		w.note(FindDot, 0, 0, "%s uses %s, which a dot of the warpgroup still computes: %s", s.in.Text, w.nameAt(p), noWait)
		d.sums[p] = 0
	}
}

// dotOverwrite reports a write of an operand that may not have been read.
func (w *warp) dotOverwrite(s *step, p int32) {
	if d := w.dots; p >= firstPlace && d.operands[p] > d.done {
		w.note(FindDot, 0, 0, "%s writes %s, which a dot of the warpgroup still reads: %s", s.in.Text, w.nameAt(p), noWait)
		d.operands[p] = 0
	}
}

// nameAt is the name of the register at a place.
func (w *warp) nameAt(p int32) string {
	for r, name := range w.cta.prog.RegNames {
		if place(w.cta.prog, r) == p {
			return name
		}
	}
	return "a value"
}

// dotStarts looks at the registers of a dot before it is computed.
func (w *warp) dotStarts(s *step) {
	d, in := w.dots, s.in
	n := uint32(in.Mma.N)
	d.last = d.open
	if d.fences == 0 {
		w.note(FindDot, 0, 0, "%s: no wgmma.fence comes before it", in.Text)
		d.fences = 1
	}
	fenced := func(p int32, r Reg) {
		if d.wrote[p] > d.fences {
			w.note(FindDot, 0, 0, "%s: %s was written after the last wgmma.fence", in.Text, w.name(r))
			d.wrote[p] = 0
		}
	}
	for _, r := range in.Mma.ARegs {
		p := place(w.cta.prog, r)
		fenced(p, r)
		w.dotUse(s, p)
		d.operands[p] = d.open
	}
	for _, r := range in.Mma.DRegs {
		p := place(w.cta.prog, r)
		fenced(p, r)
		w.dotOverwrite(s, p)
		if d.sums[p] > d.done && d.columns[p] != n {
			w.note(FindDot, 0, 0, "%s adds to %s, which a dot of another shape still computes: %s", in.Text, w.name(r), noWait)
		}
		d.sums[p], d.columns[p] = d.open, n
	}
}

// execDotFence, execDotCommit and execDotWait execute wgmma.fence, commit_group and
// wait_group.
func execDotFence(w *warp, _ *step) {
	if w.dots != nil {
		w.dots.fences++
	}
}

func execDotCommit(w *warp, _ *step) {
	if w.dots != nil {
		w.dots.open++
	}
}

func execDotWait(w *warp, s *step) {
	d := w.dots
	if d == nil {
		return
	}
	for int64(d.done)+1+s.imm < int64(d.open) {
		d.done++
		now := uint32(0)
		if c := w.cta.sharedChk; c != nil {
			now = c.clock[w.id][w.id]
		}
		d.doneAt = append(d.doneAt, now)
	}
}

// dotReads looks at the parts of a matrix in shared memory that the lanes read, of so
// many bytes at w.offs. What cp.async wrote needs no fence: its bytes are in place once
// it has been waited for, and CUTLASS and Triton rely on that.
func (w *warp) dotReads(s *step, size int) {
	c := w.cta.sharedChk
	if c == nil || w.dots == nil {
		return
	}
	if c.dots == nil {
		c.dots = make([]uint32, len(c.words)*c.warps)
	}
	me := c.clock[w.id]
	for m := w.full; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		k := w.offs[l] >> 2
		x := &c.words[k]
		if x.engine&(engineWritten|copied) == 0 && x.clock > me[c.warps+int(x.warp)] && x.bytes&byteMask(w.offs[l], w.offs[l], size) != 0 {
			w.note(FindDot, l, uint64(4*k), "%s reads shared memory at 0x%x, which warp %d wrote: no fence.proxy.async lies between",
				s.in.Text, 4*k, x.warp)
		}
		x.engine |= engineDot
		c.dots[k*c.warps+w.id] = w.dots.open
	}
}

// dotsRead checks a write of bytes b of word k, which dots read.
func (c *sharedCheck) dotsRead(w *warp, k int, b uint8, lane int, me []uint32) {
	row := c.dots[k*c.warps:][:c.warps]
	for v, group := range row {
		d := w.cta.warps[v].dots
		switch {
		case group == 0:
		case group > d.done:
			w.note(FindDot, lane, uint64(4*k), "writes shared memory at 0x%x, which a dot of warp %d still reads: %s", 4*k, v, noWait)
		case me[v] < d.doneAt[group]:
			c.suspect(w, k, b, lane, v, true)
		}
	}
	clear(row)
}
