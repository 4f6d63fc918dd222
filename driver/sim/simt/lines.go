package simt

import (
	"cmp"
	"slices"
)

// pcCost is what the executions of one instruction cost beside their number.
type pcCost struct {
	sectors, sectorsNeed  uint64
	wavefronts, wavesNeed uint64
	flops                 uint64 // of dots
	divergent             uint64
}

func (a *pcCost) add(b *pcCost) {
	a.sectors += b.sectors
	a.sectorsNeed += b.sectorsNeed
	a.wavefronts += b.wavefronts
	a.wavesNeed += b.wavesNeed
	a.flops += b.flops
	a.divergent += b.divergent
}

// countDot counts the operations of a dot.
func (w *warp) countDot(m *Mma) {
	n := m.flops()
	w.cta.stats.flops += n
	w.cta.costs[w.pc].flops += n
}

// countDivergent counts a branch whose lanes part.
func (c *cta) countDivergent(pc int) {
	c.stats.divergent++
	c.costs[pc].divergent++
}

// LineCounters are what the instructions of a line cost.
type LineCounters struct {
	Warps uint64 // warp instructions
	Lanes uint64 // lane instructions
	// Sectors of global memory that were asked for, and that the bytes would fill.
	Sectors, SectorsNeeded uint64
	// Wavefronts of shared memory, and those without bank conflicts.
	Wavefronts, WavefrontsNeeded uint64
	// FLOPs of dots and of all other arithmetic on floats.
	FLOPs uint64
	// Divergent is the number of branches whose lanes went different ways.
	Divergent uint64
}

func (a *LineCounters) add(b *LineCounters) {
	a.Warps += b.Warps
	a.Lanes += b.Lanes
	a.Sectors += b.Sectors
	a.SectorsNeeded += b.SectorsNeeded
	a.Wavefronts += b.Wavefronts
	a.WavefrontsNeeded += b.WavefrontsNeeded
	a.FLOPs += b.FLOPs
	a.Divergent += b.Divergent
}

// LineCount is what one line of the source cost.
type LineCount struct {
	Loc Loc // without a column
	// LineCounters are those of the line's own instructions: code that was inlined
	// from elsewhere counts at its own place.
	LineCounters
	// Total has what was inlined at the line beside its own.
	Total LineCounters
}

// countLines sums up by the lines of the source, in their order.
func (r *Report) countLines() {
	index := make(map[Loc]int) // in r.Lines
	line := func(at Loc) *LineCount {
		at.Col, at.Inlined = 0, 0
		i, ok := index[at]
		if !ok {
			i = len(r.Lines)
			index[at] = i
			r.Lines = append(r.Lines, LineCount{Loc: at})
		}
		return &r.Lines[i]
	}
	var passed []Loc // lines of the instruction in hand
	for pc := range r.perPC {
		n, c, in := r.perPC[pc], &r.costs[pc], &r.prog.Code[pc]
		if n.warps == 0 || in.Loc == 0 {
			continue
		}
		own := LineCounters{
			Warps: n.warps, Lanes: n.lanes,
			Sectors: c.sectors, SectorsNeeded: c.sectorsNeed, Wavefronts: c.wavefronts, WavefrontsNeeded: c.wavesNeed,
			FLOPs: c.flops + n.lanes*flopsOf(in), Divergent: c.divergent,
		}
		line(r.prog.Locs[in.Loc-1]).add(&own)
		// A line that calls itself, by way of others, counts once.
		passed = passed[:0]
		for at := in.Loc; at != 0; at = r.prog.Locs[at-1].Inlined {
			l := r.prog.Locs[at-1]
			l.Col, l.Inlined = 0, 0
			if slices.Contains(passed, l) {
				continue
			}
			passed = append(passed, l)
			line(l).Total.add(&own)
		}
	}
	slices.SortStableFunc(r.Lines, func(a, b LineCount) int {
		return cmp.Or(cmp.Compare(a.Loc.File, b.Loc.File), cmp.Compare(a.Loc.Line, b.Loc.Line))
	})
}

// flopsOf is how many operations on floats a lane does with an instruction other than
// a dot.
func flopsOf(in *Inst) uint64 {
	if in.Wavefront != nil {
		return in.Wavefront.FLOPs
	}
	n := uint64(1)
	switch in.Type {
	case F16x2, BF16x2:
		n = 2
	case F16, BF16, F32, F64:
	default:
		return 0
	}
	switch in.Op {
	case OpAdd, OpSub, OpMul, OpDiv:
		return n
	case OpFma, OpMad:
		return 2 * n
	}
	return 0
}
