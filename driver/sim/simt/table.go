package simt

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/tritonc/tritonc/core/diag"
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
		row("  a block takes", "%.0f cycles alone", e.Latency)
		row("  cycles of a block", "%.0f issue, %.0f arithmetic, %.0f dots, %.0f shared memory, %.0f port to L2", e.Issue, e.Pipe, e.Dots, e.Shared, e.FromL2)
		row("  memory", "%v L2, %v DRAM", e.L2.Round(10*time.Nanosecond), e.DRAM.Round(10*time.Nanosecond))
		row("registers", "%s", e.RegisterText())
		row("occupancy", "%s", e.OccupancyText())
	}
	row("shared memory", "%s per block", diag.Count(r.Shared, "byte"))
	if f := r.Roofline; f != nil {
		row("roofline", "%s", f)
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
	if k.FLOPs > 0 {
		row("FLOPs", "%d", k.FLOPs)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\n", f)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.writeLines(out)
}

// writeLines prints what each line costs by itself.
func (r *Report) writeLines(out io.Writer) error {
	if len(r.Lines) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "line\tinstructions\tlanes\tsectors\tneeded\twavefronts\tneeded\tFLOPs\tdivergent")
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Warps == 0 {
			continue // where code was inlined, and nothing else
		}
		fmt.Fprintf(w, "  %s:%d\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", l.Loc.File, l.Loc.Line, l.Warps, percent(l.Lanes, l.Warps*uint64(max(r.Lanes, 1))),
			l.Sectors, l.SectorsNeeded, l.Wavefronts, l.WavefrontsNeeded, l.FLOPs, l.Divergent)
	}
	return w.Flush()
}

// OccupancyText says how many blocks a multiprocessor holds, and why not more.
func (e *Estimate) OccupancyText() string {
	return fmt.Sprintf("%.0f%%: %s on a multiprocessor, limited by %s", 100*e.Occupancy, diag.Count(e.Resident, "block"), e.Limit)
}

// RegisterText says how many registers per thread are used, and how many more would be.
func (e *Estimate) RegisterText() string {
	text := fmt.Sprintf("%d per thread", e.Registers)
	if !e.Exact {
		text = "some " + text + ", estimated"
	}
	if e.Spilled > 0 {
		text += fmt.Sprintf("; %d more are spilled", e.Spilled)
	}
	return text
}

// String tells intensity, ridge, the roof and what is reached of it.
func (f *Roofline) String() string {
	bound := "memory"
	if f.Intensity() >= f.Ridge() {
		bound = f.Unit
	}
	text := fmt.Sprintf("%.3g FLOPs per byte; %s at %s and %.3g TB/s meet at %.3g: bound by %s, at most %s",
		f.Intensity(), f.Unit, flops(f.Peak), f.Bandwidth/1e12, f.Ridge(), bound, flops(f.Roof()))
	if f.Reached > 0 {
		text += fmt.Sprintf("; the estimated time reaches %.3g%% of it", 100*f.Reached/f.Roof())
	}
	return text
}

// flops writes operations a second.
func flops(n float64) string {
	switch {
	case n >= 1e12:
		return fmt.Sprintf("%.3g TFLOP/s", n/1e12)
	case n >= 1e9:
		return fmt.Sprintf("%.3g GFLOP/s", n/1e9)
	}
	return fmt.Sprintf("%.3g MFLOP/s", n/1e6)
}

func percent(a, b uint64) string {
	if b == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(a)/float64(b))
}
