package ncu

import (
	"fmt"
	"io"
	"math"
)

// Check is a counter of the simulator and the metrics whose sum it must be.
type Check struct {
	Counter string
	Metrics []string
	// Tolerance is the greatest relative difference; negative where the two are only
	// shown beside one another. Slack is a difference that a launch may always have.
	Tolerance, Slack float64
}

// The counters of the simulator, as names of Launch.Values.
const (
	SectorsRead       = "global sectors read"
	SectorsWritten    = "global sectors written"
	SectorsAtomic     = "global sectors of atomics"
	WavefrontsRead    = "shared wavefronts read"
	WavefrontsWritten = "shared wavefronts written"
	WavefrontsAtomic  = "shared wavefronts of atomics"
	Conflicts         = "shared wavefronts by conflicts"
)

// Checks are what the simulator claims to count as the hardware does: without what
// bulk copies do, whose unit has counters of its own, and without the wavefronts in
// which cp.async writes, for which there is no metric. Reads of cp.async are among
// the loads. Of wavefronts the hardware sometimes takes one or two more.
var Checks = []Check{
	{SectorsRead, []string{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}, 0.02, 0},
	{SectorsWritten, []string{"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}, 0.02, 0},
	{SectorsAtomic, []string{
		"l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
		"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
	}, 0.02, 0},
	{WavefrontsRead, []string{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"}, 0.05, 2},
	{WavefrontsWritten, []string{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}, 0.05, 2},
	{WavefrontsAtomic, []string{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"}, 0.05, 2},
	{Conflicts, []string{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}, -1, 0},
}

// Metrics are the names in Checks that are among those that ncu knows; its list has
// them without the suffix.
func Metrics(known map[string]bool) (names []string) {
	for _, c := range Checks {
		for _, m := range c.Metrics {
			if known[base(m)] {
				names = append(names, m)
			}
		}
	}
	return names
}

// base is a metric's name without ".sum".
func base(m string) string { return m[:len(m)-len(".sum")] }

// Row is one counter of one kernel.
type Row struct {
	Kernel, Counter string
	Launches        int
	Sim, Real       float64
	Diff            float64 // relative to Real
	Bad             bool
}

// Compare sums the launches of every kernel and case, in the order of their first ones. Both
// lists must be of the same launches in the same order. A metric that no launch has
// is left out, and a counter without metrics has no row.
func Compare(sim, gpu []Launch, checks []Check) ([]Row, error) {
	if len(sim) != len(gpu) {
		return nil, fmt.Errorf("the simulator counted %d launches, ncu %d", len(sim), len(gpu))
	}
	type sums struct {
		launches int
		sim, gpu []float64
	}
	byName := map[string]*sums{}
	var order []string
	has := make([]bool, len(checks))
	for i := range sim {
		s, g := &sim[i], &gpu[i]
		if s.Kernel != g.Kernel || s.Grid != g.Grid || s.Block != g.Block {
			return nil, fmt.Errorf("launch %d is of %s with grid %v and blocks %v, but ncu saw %s with %v and %v",
				i+1, s.Kernel, s.Grid, s.Block, g.Kernel, g.Grid, g.Block)
		}
		name := s.Name()
		t := byName[name]
		if t == nil {
			t = &sums{sim: make([]float64, len(checks)), gpu: make([]float64, len(checks))}
			byName[name] = t
			order = append(order, name)
		}
		t.launches++
		for k, c := range checks {
			t.sim[k] += s.Values[c.Counter]
			for _, m := range c.Metrics {
				v, ok := g.Values[m]
				t.gpu[k] += v
				has[k] = has[k] || ok
			}
		}
	}
	var rows []Row
	for _, kernel := range order {
		t := byName[kernel]
		for k, c := range checks {
			if !has[k] || t.sim[k] == 0 && t.gpu[k] == 0 {
				continue
			}
			r := Row{Kernel: kernel, Counter: c.Counter, Launches: t.launches, Sim: t.sim[k], Real: t.gpu[k]}
			r.Diff = math.Inf(1)
			if r.Real != 0 {
				r.Diff = (r.Sim - r.Real) / r.Real
			}
			r.Bad = c.Tolerance >= 0 && math.Abs(r.Diff) > c.Tolerance && math.Abs(r.Sim-r.Real) > c.Slack*float64(r.Launches)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// WriteTable prints rows as a table of Markdown and returns how many are bad.
func WriteTable(w io.Writer, rows []Row) (bad int, err error) {
	if _, err = fmt.Fprintln(w, "| kernel | launches | counter | simulator | ncu | difference |\n|---|---|---|---|---|---|"); err != nil {
		return 0, err
	}
	for _, r := range rows {
		mark := ""
		if r.Bad {
			bad++
			mark = " **too much**"
		}
		if _, err = fmt.Fprintf(w, "| %s | %d | %s | %.0f | %.0f | %+.1f%%%s |\n",
			r.Kernel, r.Launches, r.Counter, r.Sim, r.Real, 100*r.Diff, mark); err != nil {
			return bad, err
		}
	}
	return bad, nil
}
