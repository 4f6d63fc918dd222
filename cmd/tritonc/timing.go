package main

import (
	"fmt"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/cache"
)

// timingRecord is how long a step took, for --json: a stage, one of its passes or
// tools (Step), or, without either, all of them.
type timingRecord struct {
	Kind         string  `json:"kind"`
	Kernel       string  `json:"kernel,omitempty"`
	Stage        string  `json:"stage,omitempty"`
	Step         string  `json:"step,omitempty"`
	Milliseconds float64 `json:"milliseconds"`
	Did          string  `json:"did,omitempty"`
	File         string  `json:"file,omitempty"`
	Target       string  `json:"target,omitempty"`
}

// timing writes one row: the time, then what it was spent on.
func (r *reporter) timing(d time.Duration, row timingRecord, text string) {
	row.Kind, row.Milliseconds = "timing", float64(d)/float64(time.Millisecond)
	r.record(fmt.Sprintf("%9s  %s\n", milliseconds(d), text), row)
}

// timings writes one line per stage and, with steps, one per pass and tool. whole is
// the row of the sum, but for the time.
func (r *reporter) timings(k *core.Kernel, whole timingRecord, name string, steps bool) {
	var total time.Duration
	for _, t := range k.Timings {
		row := whole
		row.Stage, row.Step, row.Did = t.Stage, t.Step, t.Did
		switch {
		case t.Step == "":
			total += t.Time
			r.timing(t.Time, row, t.Stage)
		case steps:
			r.timing(t.Time, row, "  "+withDid(t.Step, t.Did))
		}
	}
	r.timing(total, whole, name)
}

// sharedRecord is what became of a command's questions to the cache that machines share,
// for --json.
type sharedRecord struct {
	Kind string `json:"kind"`
	*cache.Counts
}

// shared tells of the cache that machines share, if anything was asked of it.
func (r *reporter) shared(c *cache.Counts) {
	if c != nil && *c != (cache.Counts{}) {
		r.record(fmt.Sprintf("           shared: %s\n", c), sharedRecord{"shared_cache", c})
	}
}

// withDid is a pass with what it says to have done, if anything.
func withDid(name, did string) string {
	if did == "" {
		return name
	}
	return name + ": " + did
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
