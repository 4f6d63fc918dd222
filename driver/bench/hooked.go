package bench

import (
	"context"
	"errors"
	"time"

	"github.com/tritonc/tritonc/driver"
)

// Hooks are what comes before and after a launch that is measured, and does not count.
type Hooks interface {
	Before(ctx context.Context) error
	After(ctx context.Context) error
}

// MeasureHooked is Measure with hooks around each launch. A graph has launches alone, and
// a simulated device has only one: there hooks come before and after all.
func MeasureHooked(ctx context.Context, dev driver.Device, h Hooks, k driver.Kernel, l driver.Launch, opts Options) (Times, error) {
	if timer, ok := dev.(driver.Timer); ok && !opts.Graph {
		return Measure(ctx, &hookedTimer{dev, h, timer}, k, l, opts)
	}
	if err := h.Before(ctx); err != nil {
		return nil, err
	}
	times, err := Measure(ctx, dev, k, l, opts)
	return times, errors.Join(err, h.After(ctx))
}

// hookedTimer times each launch by itself, so that hooks come between them. Their time is
// in none of the times, but in that of runs together: from it follows how many launches
// are measured, and hooks that copy large arrays take a thousand times as long as a launch.
type hookedTimer struct {
	driver.Device
	hooks Hooks
	timer driver.Timer
}

// Time times launches.
func (h *hookedTimer) Time(ctx context.Context, k driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	var times []time.Duration
	var hooking time.Duration
	for i := range t.Warmup + t.Runs {
		began := time.Now()
		if err := h.hooks.Before(ctx); err != nil {
			return nil, err
		}
		hooking += time.Since(began)
		one, err := h.timer.Time(ctx, k, l, driver.Timing{Runs: 1, Flush: t.Flush, Together: t.Together})
		if err != nil {
			return nil, err
		}
		began = time.Now()
		if err := h.hooks.After(ctx); err != nil {
			return nil, err
		}
		hooking += time.Since(began)
		if i >= t.Warmup {
			times = append(times, one...)
		}
	}
	if t.Together {
		each := hooking / time.Duration(max(t.Warmup+t.Runs, 1))
		return []time.Duration{Times(times).Mean() + each}, nil
	}
	return times, nil
}
