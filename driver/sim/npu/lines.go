package npu

import (
	"cmp"
	"slices"
)

// Line is what the instructions of a source line took, of all cores. Line 0 has those
// without a place, among them the ones of the scalar unit.
type Line struct {
	File string
	Line int
	// Cycles are those that each pipe was busy, by number of the pipe.
	Cycles [numPipes]float64
	// In and Out are bytes that were moved from global memory and to it, whole blocks of 32.
	In, Out int64
}

// Lines are the source lines with instructions, by file and number.
func (r *Report) Lines() []Line {
	type key struct {
		file string
		line int
	}
	lines := map[key]*Line{}
	for i, t := range r.traces {
		for k := range t.events {
			e := &t.events[k]
			var at key
			if e.inst >= 0 {
				loc := r.prog.code[e.inst].loc
				at = key{loc.File, loc.Line}
			}
			l := lines[at]
			if l == nil {
				l = &Line{File: at.file, Line: at.line}
				lines[at] = l
			}
			l.Cycles[e.pipe] += r.times[i].ends[k] - r.times[i].starts[k]
			if e.outward {
				l.Out += int64(e.bytes)
			} else {
				l.In += int64(e.bytes)
			}
		}
	}
	var list []Line
	for _, l := range lines {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b Line) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return list
}

// PipesUsed are the pipes that anything ran on, in the order of their numbers.
func (r *Report) PipesUsed() []Pipe {
	var list []Pipe
	for p, n := range r.Pipes {
		if n > 0 {
			list = append(list, Pipe(p))
		}
	}
	return list
}
