package simt

import (
	"cmp"
	"fmt"
	"math/bits"
	"sort"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// FindingKind is what a launch found wrong.
type FindingKind uint8

const (
	FindBounds FindingKind = iota
	FindAlign
	FindUndefined // a register or memory never written decides something
	FindRace      // shared memory
	FindConflict  // global memory, two blocks
	FindAsync     // shared memory that an async copy owns
	FindDot       // registers and shared memory of a dot of a warpgroup
	FindDivergentBarrier
	FindBarrier
	FindSync
	FindDeadlock
	FindBranch
	FindTrap
	FindAssert
	FindEndless
	FindHost
	FindRegisters
	FindWait // a register that a memory instruction still writes
)

var findingNames = [...]string{
	"out of bounds", "misaligned", "undefined value", "data race", "conflict between blocks",
	"async copy", "warpgroup dot", "divergent barrier", "barrier", "lane mask", "deadlock", "branch", "trap",
	"assertion", "endless kernel", "host call", "registers", "wait count",
}

func (k FindingKind) String() string { return findingNames[k] }

// fatal reports whether the launch cannot go on after it.
func (k FindingKind) fatal() bool {
	switch k {
	case FindUndefined, FindRace, FindConflict, FindAsync, FindDot, FindWait:
		return false
	}
	return true
}

// Finding is one thing that a kernel did wrong; repetitions at the same
// instruction only raise Count.
type Finding struct {
	Kind    FindingKind
	Message string
	// Where lists the kernel's source places, the innermost first and its call
	// sites after it; empty without line information.
	Where []Loc
	// Line and Inst are the instruction's line in the program text and its
	// opcode.
	Line  int
	Inst  string
	Block [3]int
	// Warp and Lane are -1 where the finding concerns a whole block.
	Warp, Lane int
	Addr       uint64
	Count      int
	pc         int
	order      int
}

// String is one line: place, kind, message, thread.
func (f *Finding) String() string {
	var b strings.Builder
	if len(f.Where) > 0 {
		l := f.Where[0]
		fmt.Fprintf(&b, "%s:%d:%d: ", l.File, l.Line, l.Col)
	}
	fmt.Fprintf(&b, "%s: %s", f.Kind, f.Message)
	fmt.Fprintf(&b, " (block %d,%d,%d", f.Block[0], f.Block[1], f.Block[2])
	if f.Warp >= 0 {
		fmt.Fprintf(&b, ", warp %d, lane %d", f.Warp, f.Lane)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "; line %d: %s", f.Line, f.Inst)
	}
	b.WriteString(")")
	for _, l := range f.Where[min(1, len(f.Where)):] {
		fmt.Fprintf(&b, "\n  called from %s:%d:%d", l.File, l.Line, l.Col)
	}
	if f.Count > 1 {
		fmt.Fprintf(&b, "\n  and %d more at this instruction", f.Count-1)
	}
	return b.String()
}

// Counters are the sums over all blocks of a launch. They depend on the
// program, its arguments and the schedule alone.
type Counters struct {
	WarpInstructions uint64
	LaneInstructions uint64
	// ByClass counts warp instructions by class, in the order of Classes.
	ByClass [NumClasses]uint64
	// GlobalSectors are 32-byte sectors asked for by each global access of a
	// warp, GlobalSectorsNeeded what its bytes would fill.
	GlobalSectors, GlobalSectorsNeeded uint64
	// GlobalSectorsRead are those of them that loads and bulk copies asked for, the
	// others are of stores and atomics.
	GlobalSectorsRead uint64
	// GlobalSectorsAtomic are those of atomics; GlobalSectorsBulkRead and
	// GlobalSectorsBulkWritten those of bulk copies.
	GlobalSectorsAtomic, GlobalSectorsBulkRead, GlobalSectorsBulkWritten uint64
	// WaveSectors are the distinct sectors of every wave of blocks, L2Misses those
	// that the cache does not hold from the wave before; zero unless asked for.
	WaveSectors, L2Misses uint64
	// SharedWavefronts are the passes of the banks of shared memory,
	// SharedWavefrontsNeeded those without conflicts.
	SharedWavefronts, SharedWavefrontsNeeded uint64
	// SharedWavefrontsRead are those of them that loads took, SharedWavefrontsCopied
	// and SharedWavefrontsAtomic those of cp.async and of atomics.
	SharedWavefrontsRead, SharedWavefrontsCopied, SharedWavefrontsAtomic uint64

	BytesRead, BytesWritten [7]uint64 // by Space
	Atomics                 uint64
	Barriers                uint64
	DivergentBranches       uint64
	// MatrixFLOPs are those of dots, FLOPs those of all other arithmetic on floats: a
	// sum, a difference, a product or a quotient is one of each lane, a fused
	// multiply-add two.
	MatrixFLOPs, FLOPs uint64
}

// Report is the outcome of a launch.
type Report struct {
	Kernel   string
	Lanes    int // of a warp
	Threads  int // of a block
	Shared   int // bytes of a block
	Findings []*Finding
	Counters Counters
	Lines    []LineCount
	// Blocks are those of the launch, Ran those of them that were executed and counted.
	Blocks, Ran int
	// Estimate is the time of the whole launch; nil unless asked for.
	Estimate *Estimate
	// Roofline is where the launch lies between the chip's arithmetic and its memory;
	// nil where there is no estimate, or no arithmetic.
	Roofline *Roofline
	cycles   []uint64 // of each block that was executed, by its clocks
	prog     *Program
	perPC    []pcCount
	costs    []pcCost
	stats    ctaStats
}

func (r *Report) collect(c *cta) {
	if r.perPC == nil {
		r.perPC, r.costs = make([]pcCount, len(c.count)), make([]pcCost, len(c.costs))
	}
	for i := range c.count {
		r.perPC[i].warps += c.count[i].warps
		r.perPC[i].lanes += c.count[i].lanes
		r.costs[i].add(&c.costs[i])
	}
	r.stats.add(&c.stats)
}

// Executed calls f for each instruction that a lane executed, with its line and its
// opcode as the text has them. What the assembler's text has once may come several
// times.
func (r *Report) Executed(f func(line int, opcode string)) {
	for pc := range r.perPC {
		if r.perPC[pc].lanes > 0 {
			f(r.prog.Code[pc].Line, r.prog.Code[pc].Text)
		}
	}
}

// finish sums up and sorts.
func (r *Report) finish(l *launch) {
	r.Findings = l.found.list
	sort.SliceStable(r.Findings, func(i, k int) bool {
		a, b := r.Findings[i], r.Findings[k]
		if a.Kind.fatal() != b.Kind.fatal() {
			return a.Kind.fatal()
		}
		return cmp.Or(cmp.Compare(a.pc, b.pc), cmp.Compare(a.Kind, b.Kind)) < 0
	})
	k := &r.Counters
	for pc := range r.perPC {
		n := r.perPC[pc]
		in := &r.prog.Code[pc]
		k.WarpInstructions += n.warps
		k.LaneInstructions += n.lanes
		k.ByClass[classOf(in)] += n.warps
		k.FLOPs += n.lanes * flopsOf(in)
	}
	r.countLines()
	s := &r.stats
	for i := range numAccesses {
		k.GlobalSectors += s.sectors[i]
		k.SharedWavefronts += s.wavefronts[i]
	}
	k.GlobalSectorsNeeded, k.SharedWavefrontsNeeded = s.sectorsNeed, s.wavesNeed
	k.GlobalSectorsBulkRead, k.GlobalSectorsBulkWritten = s.sectors[accessBulkRead], s.sectors[accessBulkWrite]
	k.GlobalSectorsRead = s.sectors[accessRead] + k.GlobalSectorsBulkRead
	k.GlobalSectorsAtomic = s.sectors[accessAtomic] + s.sectors[accessCas]
	k.SharedWavefrontsRead, k.SharedWavefrontsCopied = s.wavefronts[accessRead]+s.wavefronts[accessRows], s.wavefronts[accessCopy]
	k.SharedWavefrontsAtomic = s.wavefronts[accessAtomic] + s.wavefronts[accessCas]
	for i := range s.bytes {
		k.BytesRead[i], k.BytesWritten[i] = s.bytes[i][0], s.bytes[i][1]
	}
	if l.waves != nil {
		k.WaveSectors, k.L2Misses = l.waves.count()
	}
	k.Atomics, k.Barriers, k.DivergentBranches = s.atomics, s.barriers, s.divergent
	k.MatrixFLOPs = s.flops
	if l.timing != nil && len(r.Findings) == 0 {
		r.Estimate = r.estimate(l)
		r.Roofline = r.roofline(l)
	}
}

// Err returns the findings as an error, or nil when there are none.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	return &FindingsError{Kernel: r.Kernel, Findings: r.Findings}
}

// FindingsError is a launch that was reported on.
type FindingsError struct {
	Kernel   string
	Findings []*Finding
}

func (e *FindingsError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return "kernel " + e.Kernel + ": " + strings.Join(lines, "\n")
}

// finding makes a finding at the instruction that the warp executes.
func (w *warp) finding(kind FindingKind, lane int, addr uint64, format string, args ...any) *Finding {
	c := w.cta
	in := c.code[w.pc].in
	f := &Finding{
		Kind: kind, Message: fmt.Sprintf(format, args...), Line: in.Line, Inst: in.Text,
		Block: c.block, Warp: w.id, Lane: lane, Addr: addr, pc: w.pc,
		order: w.order(lane), Count: 1,
	}
	for at := in.Loc; at != 0 && len(f.Where) < 32; {
		l := c.prog.Locs[at-1]
		f.Where = append(f.Where, l)
		at = l.Inlined
	}
	return f
}

// faultAt reports what the kernel cannot go on after: the block stops.
func (w *warp) faultAt(kind FindingKind, lane int, addr uint64, format string, args ...any) {
	if w.cta.fault == nil {
		w.cta.fault = w.finding(kind, lane, addr, format, args...)
		w.cta.halt = true
	}
}

// note reports what the kernel can go on after.
func (w *warp) note(kind FindingKind, lane int, addr uint64, format string, args ...any) {
	found := w.cta.cluster.found
	if old := found.seen[findingKey{kind, w.pc}]; old != nil && old.order <= w.order(lane) {
		old.Count++
		return
	}
	found.add(w.finding(kind, lane, addr, format, args...))
}

// deadlock reports a block in which nobody can move.
func (c *cta) deadlock() {
	var b strings.Builder
	var at *warp
	for _, c := range c.cluster.live {
		if len(c.cluster.ctas) > 1 {
			fmt.Fprintf(&b, "\n  in block %d of the cluster", c.rank)
		}
		c.waiting(&b, &at)
	}
	if at == nil {
		panic("BUG: a block without waiting warps is stuck")
	}
	g := &at.groups[0]
	kind := FindDeadlock
	if at.cta.waitsAligned() {
		kind = FindDivergentBarrier
	}
	what := "block"
	if len(c.cluster.ctas) > 1 {
		what = "cluster"
	}
	at.faultAt(kind, bits.TrailingZeros64(g.mask), 0, "no lane of the %s can go on:%s", what, b.String())
}

// source is where in the kernel's source an instruction is, as ": file:line"; "" if the
// program does not say.
func (c *cta) source(pc int) string {
	at := c.code[pc].in.Loc
	if at == 0 {
		return ""
	}
	l := c.prog.Locs[at-1]
	return fmt.Sprintf(": %s:%d", l.File, l.Line)
}

// waiting lists what the warps of a block wait for; at becomes the first of them, if
// it is none yet.
func (c *cta) waiting(b *strings.Builder, at **warp) {
	for _, w := range c.warps {
		for k := range w.groups {
			g := &w.groups[k]
			in := c.code[g.pc].in
			asks := w.asks()
			if *at == nil || asks != "" && (*at).asks() == "" {
				*at = w
				if w.pc = g.pc; asks != "" {
					w.pc = w.spin.pc
				}
			}
			if asks != "" {
				fmt.Fprintf(b, "\n  warp %d %s%s", w.id, asks, c.source(w.spin.pc))
				break
			}
			switch g.state {
			case groupCluster:
				fmt.Fprintf(b, "\n  warp %s 0x%x wait at the barrier of the cluster, line %d", diag.Count(w.id, "lane"), g.mask, in.Line)
			case groupBarrier:
				fmt.Fprintf(b, "\n  warp %s 0x%x wait at barrier %d, line %d%s", diag.Count(w.id, "lane"), g.mask, g.barrier, in.Line, c.source(g.pc))
			case groupSync:
				fmt.Fprintf(b, "\n  warp %s 0x%x wait for lanes 0x%x, line %d: %s",
					diag.Count(w.id, "lane"), g.mask, g.syncMask&w.live&^g.mask, in.Line, in.Text)
			}
		}
	}
}
