package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Timer is a Device that measures how long kernels take. Simulated devices are none.
type Timer interface {
	// Time runs a kernel of the device many times, without waiting between the runs,
	// and returns how long each run took, or, for Timing.Graph, the mean of a run in
	// each of GraphReplays replays. Its errors are those of Kernel.Launch.
	Time(ctx context.Context, k Kernel, l Launch, t Timing) ([]time.Duration, error)
}

// GraphReplays is how often a Timer replays a graph.
const GraphReplays = 10

// Timing says how a kernel is measured.
type Timing struct {
	// Runs are measured, each between two events, after Warmup launches that are not.
	Runs, Warmup int
	// Flush is how many bytes of the L2 cache are overwritten before each run, so that
	// it finds nothing of the one before there; 0: none.
	Flush int64
	// Graph captures the runs as one graph and measures replays of it. The L2 cache is
	// flushed before each replay.
	Graph bool
	// Together measures all runs, with what is overwritten before each, between one
	// pair of events; the one time is the mean of a run. It does not go with Graph.
	Together bool
}

// MaxRuns is the most runs of one measurement.
const MaxRuns = 1 << 20

// Check says what keeps a kernel from being measured this way, or returns nil.
func (t Timing) Check() error {
	switch {
	case t.Runs < 1 || t.Runs > MaxRuns:
		return fmt.Errorf("a measurement has from 1 to %d runs, not %d", MaxRuns, t.Runs)
	case t.Warmup < 0 || t.Warmup > MaxRuns:
		return fmt.Errorf("a measurement begins with up to %d launches that are not measured, not %d", MaxRuns, t.Warmup)
	case t.Flush < 0:
		return fmt.Errorf("the part of the cache to be overwritten has a negative size, %d", t.Flush)
	case t.Together && t.Graph:
		return errors.New("runs of a graph are not measured together: its replays are")
	}
	return nil
}
