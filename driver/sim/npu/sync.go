package npu

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
)

// Modes of sync_block: the cores that wait for one another. What an AI core runs here is one
// program, so that the first three are the same; the last one is about the vector cores of
// one AI core, of which one runs a program.
var syncModes = []string{"all", "all_cube", "all_vector", subVector}

const subVector = "all_sub_vector"

func readSync(r *reader, in *inst, _ regType) {
	in.name = syncModes[r.choice(syncModes, "mode of sync_block")]
	in.n = int64(r.count(maxEvent))
	if r.p.Core == GridProgram {
		r.fail("sync_block is for programs of cores")
	}
	if r.err == nil && in.name != subVector && r.p.together == nil {
		r.p.together = in
	}
}

// maxEvent is the last event of sync_block.
const maxEvent = 15

// execSync has the core wait for its pipes, and, but among the vector cores of an AI core,
// for the others.
func execSync(c *core, in *inst) {
	if in.name == subVector {
		c.settled(in, 0)
		return
	}
	c.waits = in
}

// settled is what follows when all that a core was given is complete: each of its pipes
// knows all.
func (c *core) settled(in *inst, sync int32) {
	var all clocks
	for q := range c.clocks {
		all.join(&c.clocks[q])
	}
	for q := range c.clocks {
		c.clocks[q] = all
	}
	c.trace.flush()
	c.trace.add(event{work: work{kind: syncs}, inst: int32(in.index), pipe: in.pipe, fresh: true, sync: sync})
}

// meet has cores that wait go on, if all cores of the launch do, in the same way. If not,
// nobody ever will, which is reported.
func (r *run) meet(waiting []*core) bool {
	first := waiting[0]
	for _, c := range waiting[1:] {
		if a, b := first.waits, c.waits; a.name != b.name || a.n != b.n {
			f := c.report(b, Deadlock, "program %d waits in %s for all %s, and program %d waits in %s", c.number, b.sync(), diag.Count(r.cores, "program"), first.number, a.sync())
			if f != nil {
				f.Other, f.OtherText = a.loc, c.p.textOf(a)
			}
			return false
		}
	}
	if len(waiting) < r.cores {
		ended := 0
		for ended < len(waiting) && waiting[ended].number == ended {
			ended++
		}
		first.report(first.waits, Deadlock, "program %d waits in %s for all %s, and program %d has ended without it", first.number, first.waits.sync(), diag.Count(r.cores, "program"), ended)
		return false
	}
	r.syncs++
	for _, c := range waiting {
		c.settled(c.waits, r.syncs)
		c.waits = nil
	}
	// What was accessed before comes first, in whatever program.
	clear(r.owners)
	return true
}

// sync is the instruction as a kernel has it.
func (in *inst) sync() string {
	return fmt.Sprintf("sync_block_all(%q, %d)", in.name, in.n)
}

// room returns an error where a launch has more programs than cores, though they wait for one
// another.
func (r *run) room(blocks, cores int) error {
	in := r.prog.together
	if in == nil || blocks <= cores {
		return nil
	}
	kind := "vector core"
	if r.prog.cube() {
		kind = "AI core"
	}
	pos := diag.Pos{}
	if in.loc.File != "" {
		pos = diag.Pos{File: in.loc.File, Line: in.loc.Line, Col: in.loc.Col + 1}
	}
	return diag.Errorf(pos, "kernel %s has all programs wait for one another, and a grid of %d × %d × %d has %d: each needs a core of its own, and %s has %s",
		r.prog.Kernel, r.grid[0], r.grid[1], r.grid[2], blocks, r.opt.Chip.Name, diag.Count(cores, kind)).
		WithHelp("launch at most %s, each with a loop over its part of the work", diag.Count(cores, "program"))
}
