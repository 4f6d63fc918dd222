package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tritonc/tritonc/driver"
)

// Triton's numbers.
const (
	warmup    = 25 * time.Millisecond
	rep       = 100 * time.Millisecond
	graphRep  = 20 * time.Millisecond
	estimates = 5
	flush     = 256 << 20
)

// Options say how long to measure; the zero value does as Triton does.
type Options struct {
	// Warmup is how long the kernel runs before it is measured (25 ms), and Rep
	// how long it is measured (100 ms, of a graph 20 ms). Each is at least one run.
	Warmup, Rep time.Duration
	// Flush is how many bytes are overwritten before each run, to empty the L2
	// cache (256 MB); a negative number leaves the cache as it is. Runs of a graph
	// always do.
	Flush int64
	// Graph measures replays of one graph of launches, as do_bench_cudagraph does.
	Graph bool
}

// ErrNoTimer is the error of a device that does not measure time.
var ErrNoTimer = errors.New("the device does not time launches")

// Measure measures the launch of a kernel. The kernel runs many times; what that
// does to the launch's buffers is the caller's affair. The error of a launch is the
// driver's; one of a device that cannot measure wraps ErrNoTimer.
func Measure(ctx context.Context, dev driver.Device, k driver.Kernel, l driver.Launch, opts Options) (Times, error) {
	if timer, ok := dev.(driver.Timer); ok {
		m := &measurement{timer: timer, kernel: k, launch: l, opts: opts}
		return m.run(ctx)
	}
	p := dev.Properties()
	if !p.Simulated {
		return nil, fmt.Errorf("%s: %w", p.Name, ErrNoTimer)
	}
	r, err := k.Launch(ctx, l)
	switch {
	case err != nil:
		return nil, err
	case r.Estimate <= 0:
		return nil, fmt.Errorf("%s: %w, and gives no estimate", p.Name, ErrNoTimer)
	}
	return Times{r.Estimate}, nil
}

type measurement struct {
	timer  driver.Timer
	kernel driver.Kernel
	launch driver.Launch
	opts   Options
}

func (m *measurement) time(ctx context.Context, t driver.Timing) (Times, error) {
	list, err := m.timer.Time(ctx, m.kernel, m.launch, t)
	return Times(list), err
}

// run is do_bench, or do_bench_cudagraph.
func (m *measurement) run(ctx context.Context) (Times, error) {
	flushed := driver.Timing{Flush: m.opts.Flush}
	switch {
	case m.opts.Graph || m.opts.Flush < 0:
		flushed.Flush = 0
	case m.opts.Flush == 0:
		flushed.Flush = flush
	}
	flushed.Runs = 1
	if _, err := m.time(ctx, flushed); err != nil { // of which nothing is kept
		return nil, err
	}
	each, err := m.estimate(ctx, flushed)
	if err != nil {
		return nil, err
	}
	if m.opts.Graph {
		return m.time(ctx, driver.Timing{Graph: true, Runs: runs(m.opts.Rep, graphRep, each)})
	}
	flushed.Warmup = runs(m.opts.Warmup, warmup, each)
	flushed.Runs = runs(m.opts.Rep, rep, each)
	return m.time(ctx, flushed)
}

// estimate is how long a run takes, with the overwriting before it.
func (m *measurement) estimate(ctx context.Context, t driver.Timing) (time.Duration, error) {
	t.Runs, t.Together = estimates, true
	list, err := m.time(ctx, t)
	if err != nil {
		return 0, err
	}
	return list.Mean(), nil
}

// runs is how many runs fill the time given, or the default.
func runs(given, def, each time.Duration) int {
	if given == 0 {
		given = def
	}
	return int(min(max(given/max(each, 1), 1), driver.MaxRuns))
}

// Times are those of a kernel's runs, in the order in which they were measured; of
// a graph each is the mean over one replay. There is at least one.
type Times []time.Duration

// Quantile interpolates linearly between the sorted times; q is 0 to 1.
func (t Times) Quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	point := q * float64(len(sorted)-1)
	lower, upper := int(math.Floor(point)), int(math.Ceil(point))
	part := point - float64(lower)
	return time.Duration(math.Round((1-part)*float64(sorted[lower]) + part*float64(sorted[upper])))
}

// Median is the quantile 0.5.
func (t Times) Median() time.Duration { return t.Quantile(0.5) }

// Min is the shortest time.
func (t Times) Min() time.Duration { return slices.Min(t) }

// Max is the longest time.
func (t Times) Max() time.Duration { return slices.Max(t) }

// Mean is the average.
func (t Times) Mean() time.Duration {
	var sum time.Duration
	for _, d := range t {
		sum += d
	}
	return sum / time.Duration(len(t))
}
