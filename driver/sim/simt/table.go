package simt

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteTable prints the counters for people.
func (r *Report) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	k := &r.Counters
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	row("kernel", "%s", r.Kernel)
	if r.Ran < r.Blocks {
		row("blocks", "%d, of which %d are counted", r.Blocks, r.Ran)
	}
	if e := r.Estimate; e != nil {
		row("estimated time", "%v, for %s", e.Time.Round(10*time.Nanosecond), e.Bound)
		row("  a block takes", "%.0f cycles alone; %d on a multiprocessor, with some %d registers per thread", e.Latency, e.Resident, e.Registers)
		row("  cycles of a block", "%.0f issue, %.0f arithmetic, %.0f dots, %.0f shared memory, %.0f port to L2", e.Issue, e.Pipe, e.Dots, e.Shared, e.FromL2)
		row("  memory", "%v L2, %v DRAM", e.L2.Round(10*time.Nanosecond), e.DRAM.Round(10*time.Nanosecond))
	}
	row("warp instructions", "%d", k.WarpInstructions)
	row("lane instructions", "%d (%s of the lanes)", k.LaneInstructions, percent(k.LaneInstructions, k.WarpInstructions*uint64(max(r.Lanes, 1))))
	for c, n := range k.ByClass {
		if n > 0 {
			row("  "+Classes[c], "%d", n)
		}
	}
	row("global sectors", "%d (%d needed)", k.GlobalSectors, k.GlobalSectorsNeeded)
	if k.WaveSectors > 0 {
		row("sectors of waves", "%d (%d missed the cache, %s of the requests hit)", k.WaveSectors, k.L2Misses, percent(k.GlobalSectors-k.L2Misses, k.GlobalSectors))
	}
	row("shared wavefronts", "%d (%d without bank conflicts)", k.SharedWavefronts, k.SharedWavefrontsNeeded)
	for s := SpaceGlobal; s < SpaceParam; s++ {
		if k.BytesRead[s]+k.BytesWritten[s] > 0 {
			row(s.String()+" bytes", "%d read, %d written", k.BytesRead[s], k.BytesWritten[s])
		}
	}
	row("atomics", "%d", k.Atomics)
	row("barrier arrivals", "%d", k.Barriers)
	row("divergent branches", "%d", k.DivergentBranches)
	if k.MatrixFLOPs > 0 {
		row("matrix FLOPs", "%d", k.MatrixFLOPs)
	}
	if len(r.Lines) > 0 {
		fmt.Fprintf(w, "line\twarp instructions\n")
		for _, l := range r.Lines {
			row(fmt.Sprintf("  %s:%d", l.Loc.File, l.Loc.Line), "%d", l.Warps)
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\n", f)
	}
	return w.Flush()
}

func percent(a, b uint64) string {
	if b == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(a)/float64(b))
}
