package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/tune"
)

// tell prints what was measured, the fastest first.
func (t *tuning) tell(r *tune.Result) error {
	if r.Tuning != nil && r.Tuning.OwnBench {
		t.env.report.note("do_bench of @triton.autotune is not called: tritonc measures itself")
	}
	if t.env.report.json {
		return t.writeJSON(r)
	}
	e, out := r.Entry, t.env.stdout
	if t.flags.write == "-" {
		out = t.env.stderr // standard output is the file's
	}
	what := "do_bench"
	switch e.Measure {
	case "model":
		what = "its model"
	case "do_bench_cudagraph":
		what = "graphs"
	}
	all := r.Configs + r.Made
	tried := fmt.Sprintf("%d of %s", len(e.Configs), diag.Count(all, "configuration"))
	if len(e.Configs) == all {
		tried = "all " + diag.Count(all, "configuration")
	}
	fmt.Fprintf(out, "%s %s on the %s by %s: %s in %s (compiles ended after %s, the device took %s)\n",
		e.Kernel, e.Key, e.Device, what, tried, seconds(r.Whole), seconds(r.Compiling), seconds(r.Measuring))
	if r.Again > 0 {
		fmt.Fprintf(out, "the %d fastest were measured again, on the %s\n", r.Again, r.On)
	}
	switch {
	case r.Made > 0:
		fmt.Fprintf(out, "prune_configs_by leaves %d of %d and makes %d\n", r.Left, r.Configs, r.Made)
	case r.Left < r.Configs:
		fmt.Fprintf(out, "prune_configs_by leaves %d of %d\n", r.Left, r.Configs)
	}
	if err := t.table(out, e); err != nil {
		return err
	}
	if best := e.Best(); best != nil && printsAutotuning(t.env) {
		fmt.Fprintf(t.env.stdout, "Triton autotuning for function %s,\nwith key as %s,\nfinished after %.2fs,\nbest config selected: %s;\n",
			e.Kernel, e.Key, r.Whole.Seconds(), best.Config)
	}
	return nil
}

// tuneRecord is what --json prints: an entry of a file of times, and how it came about.
type tuneRecord struct {
	*tune.Entry
	Tuned tunedRecord `json:"tuned"`
}

// tunedRecord counts configurations, and tells of times in seconds.
type tunedRecord struct {
	Configs   int     `json:"configs"`        // that there are
	Left      int     `json:"left"`           // that pruning leaves of these
	Made      int     `json:"made,omitempty"` // that pruning makes
	Whole     float64 `json:"s"`
	Compiling float64 `json:"s_until_last_compile"`
	Measuring float64 `json:"s_of_device"`
	Again     int     `json:"again,omitempty"` // that one device measured again
	On        string  `json:"on,omitempty"`    // which that was
}

func (t *tuning) writeJSON(r *tune.Result) error {
	e := json.NewEncoder(t.env.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(tuneRecord{r.Entry, tunedRecord{
		r.Configs, r.Left, r.Made, r.Whole.Seconds(), r.Compiling.Seconds(), r.Measuring.Seconds(), r.Again, r.On,
	}})
}

// seconds is a duration for people.
func seconds(d time.Duration) string {
	if d < time.Second {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// table prints the configurations: times, and then those that have none.
func (t *tuning) table(out io.Writer, e *tune.Entry) error {
	ok := slices.IndexFunc(e.Configs, func(m tune.Measured) bool { return !m.OK() })
	if ok < 0 {
		ok = len(e.Configs)
	}
	most := func(n int) int {
		if t.flags.maxRows > 0 {
			return min(n, t.flags.maxRows)
		}
		return n
	}
	var times strings.Builder
	w := tabwriter.NewWriter(&times, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "us\tslower\t\n")
	texts := []string{"configuration"}
	for _, m := range e.Configs[:most(ok)] {
		fmt.Fprintf(w, "%.2f\t%.1f%%\t\n", m.Time, 100*(m.Time/e.Configs[0].Time-1))
		texts = append(texts, m.Config.Text())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, row := range strings.Split(strings.TrimSuffix(times.String(), "\n"), "\n") {
		if ok > 0 {
			fmt.Fprintf(out, "%s  %s\n", row, texts[i])
		}
	}
	if more := ok - most(ok); more > 0 {
		fmt.Fprintf(out, "and %d more (--rows)\n", more)
	}
	failed := e.Configs[ok:]
	for _, m := range failed[:most(len(failed))] {
		fmt.Fprintf(out, "cannot be run: %s: %s\n", m.Config.Text(), m.Error)
	}
	if more := len(failed) - most(len(failed)); more > 0 {
		fmt.Fprintf(out, "and %d more that cannot be run (--rows)\n", more)
	}
	return nil
}

// printsAutotuning reports whether Triton's messages of autotuning are wanted.
func printsAutotuning(env *environment) bool {
	v, _ := env.lookupEnv("TRITON_PRINT_AUTOTUNING")
	switch strings.ToLower(v) {
	case "1", "true", "on", "y", "yes":
		return true
	}
	return false
}

// printTried prints what Triton prints of a configuration that was tried.
func (t *tuning) printTried(m *tune.Measured) {
	t.mu.Lock()
	name := t.kernel
	t.mu.Unlock()
	fmt.Fprintf(t.env.stdout, "Autotuning kernel %s with config %s\n", name, m.Config)
	if !m.OK() {
		fmt.Fprintf(t.env.stdout, "Autotuning failed with %s\n", m.Error)
	}
}
