package npu

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
)

// Report is what a launch counted.
type Report struct {
	Kernel   string
	Chip     string
	Grid     [3]int
	Programs int
	// Cycles is when the last core ends; CoreCycles is when each does.
	Cycles     float64
	CoreCycles []float64
	// Pipes are the cycles that each pipe was busy, the sum of all cores.
	Pipes [numPipes]float64
	// Instructions counts those that were executed, of the scalar unit and the others.
	Instructions uint64
	// In and Out are bytes that came from global memory and went to it.
	In, Out int64
	// Used are bytes of a core's memories that buffers take.
	Used     [numSpaces]int
	Sizes    [numSpaces]int // of those memories
	Findings []*Finding

	prog   *Program
	cubes  int // of the chip
	clock  float64
	traces []*trace
	times  []timing
}

// add counts what a core has executed.
func (r *Report) add(c *core) {
	r.Instructions += c.steps
	r.In += c.bytesIn
	r.Out += c.bytesOut
}

// time finds out how long everything took. Cores are taken to lie on AI cores as widely
// as they can, so that vector cores share one only where there are more than AI cores.
func (r *Report) time(costs *chip.Costs) {
	k := &rates{costs, costs.UBToGM}
	if r.prog.cube() {
		k.outMost = costs.L2Write
	}
	r.clock, r.Cycles, r.Pipes = costs.ClockMHz, 0, [numPipes]float64{}
	r.times, r.CoreCycles = make([]timing, len(r.traces)), make([]float64, len(r.traces))
	groups := make([]group, min(r.cubes, len(r.traces)))
	for i, t := range r.traces {
		n := newRunner(t)
		r.times[i] = n.timing
		groups[i%r.cubes].cores = append(groups[i%r.cubes].cores, n)
	}
	simulate(groups, k)
	for i, t := range r.traces {
		for e := range t.events {
			r.Pipes[t.events[e].pipe] += r.times[i].ends[e] - r.times[i].starts[e]
			r.CoreCycles[i] = max(r.CoreCycles[i], r.times[i].ends[e])
		}
		r.Cycles = max(r.Cycles, r.CoreCycles[i])
	}
}

// At is the report of the launch on a chip with other costs: what was executed does not
// depend on them.
func (r *Report) At(costs chip.Costs) *Report {
	other := *r
	other.time(&costs)
	return &other
}

// Time is how long the launch takes by the model.
func (r *Report) Time() time.Duration {
	return time.Duration(r.Cycles / r.clock * float64(time.Microsecond))
}

// Busy is the part of the time of all cores that a pipe was busy.
func (r *Report) Busy(p Pipe) float64 {
	if r.Cycles == 0 {
		return 0
	}
	return r.Pipes[p] / (r.Cycles * float64(len(r.CoreCycles)))
}

// WriteTable prints the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "kernel\t%s on %s\n", r.Kernel, r.Chip)
	fmt.Fprintf(t, "programs\t%d on %d cores\n", r.Programs, len(r.CoreCycles))
	fmt.Fprintf(t, "cycles\t%.0f\t%v at %g MHz\n", r.Cycles, r.Time().Round(10*time.Nanosecond), r.clock)
	fmt.Fprintf(t, "instructions\t%d\n", r.Instructions)
	fmt.Fprintf(t, "bytes in\t%d\t%s\n", r.In, r.rate(r.In))
	fmt.Fprintf(t, "bytes out\t%d\t%s\n", r.Out, r.rate(r.Out))
	for s, n := range r.Used {
		if n > 0 {
			fmt.Fprintf(t, "%s\t%s of a core\t%.1f %% of it\n", Space(s), diag.Count(n, "byte"), 100*float64(n)/float64(r.Sizes[s]))
		}
	}
	fmt.Fprintf(t, "pipe\tcycles of all cores\tbusy\n")
	for p, n := range r.Pipes {
		if n > 0 {
			fmt.Fprintf(t, "  %s\t%.0f\t%.1f %%\n", Pipe(p), n, 100*r.Busy(Pipe(p)))
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(t, "finding\t%s\t%s\n", f.Kind, f.Loc)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeLines(w)
}

// writeLines prints the cycles of each pipe and the bytes by line.
func (r *Report) writeLines(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	pipes := r.PipesUsed()
	for _, p := range pipes {
		fmt.Fprintf(t, "%s\t", p)
	}
	fmt.Fprint(t, "bytes in\tbytes out\t  line\n")
	for _, l := range r.Lines() {
		for _, p := range pipes {
			fmt.Fprintf(t, "%.0f\t", l.Cycles[p])
		}
		at := fmt.Sprintf("%s:%d", l.File, l.Line)
		if l.Line == 0 {
			at = "(no line)" // of starts of programs and constants
		}
		fmt.Fprintf(t, "%d\t%d\t  %s\n", l.In, l.Out, at)
	}
	return t.Flush()
}

// rate is bytes a cycle.
func (r *Report) rate(n int64) string {
	if r.Cycles == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f B/cycle", float64(n)/r.Cycles)
}

// WriteJSON prints the report as one object and a newline.
func (r *Report) WriteJSON(w io.Writer) error {
	type pipe struct {
		Cycles float64 `json:"cycles"`
		Busy   float64 `json:"busy"`
	}
	type finding struct {
		Kind    Kind   `json:"kind"`
		Message string `json:"message"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Count   int    `json:"count"`
	}
	type line struct {
		File   string             `json:"file"`
		Line   int                `json:"line"`
		Cycles map[string]float64 `json:"cycles"`
		In     int64              `json:"bytes_in"`
		Out    int64              `json:"bytes_out"`
	}
	out := struct {
		Kernel       string          `json:"kernel"`
		Chip         string          `json:"chip"`
		Grid         [3]int          `json:"grid"`
		Cores        int             `json:"cores"`
		Cycles       float64         `json:"cycles"`
		CoreCycles   []float64       `json:"core_cycles"`
		Instructions uint64          `json:"instructions"`
		In           int64           `json:"bytes_in"`
		Out          int64           `json:"bytes_out"`
		Used         map[string]int  `json:"memory"`
		Sizes        map[string]int  `json:"memory_size"`
		Pipes        map[string]pipe `json:"pipes"`
		Findings     []finding       `json:"findings"`
		Time         int64           `json:"nanoseconds"`
		Lines        []line          `json:"lines"`
	}{
		r.Kernel, r.Chip, r.Grid, len(r.CoreCycles), r.Cycles, r.CoreCycles, r.Instructions, r.In, r.Out,
		map[string]int{},
		map[string]int{},
		map[string]pipe{},
		[]finding{},
		r.Time().Nanoseconds(),
		[]line{},
	}
	for _, l := range r.Lines() {
		cycles := map[string]float64{}
		for p, n := range l.Cycles {
			if n > 0 {
				cycles[Pipe(p).String()] = n
			}
		}
		out.Lines = append(out.Lines, line{l.File, l.Line, cycles, l.In, l.Out})
	}
	for s, n := range r.Used {
		if n > 0 {
			out.Used[Space(s).String()], out.Sizes[Space(s).String()] = n, r.Sizes[s]
		}
	}
	for p, n := range r.Pipes {
		if n > 0 {
			out.Pipes[Pipe(p).String()] = pipe{n, r.Busy(Pipe(p))}
		}
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, finding{f.Kind, f.Message, f.Loc.File, f.Loc.Line, f.Count})
	}
	return json.NewEncoder(w).Encode(out)
}
