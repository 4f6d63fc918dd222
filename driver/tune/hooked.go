package tune

import (
	"context"
	"errors"
	"time"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// hooks are what comes before and after a launch that is measured.
type hooks interface {
	Before(ctx context.Context) error
	After(ctx context.Context) error
}

// arrayHooks are hooks that change arrays, which are then copied to the device.
type arrayHooks struct {
	hooks   *launch.Hooks
	buffers map[*array.Array]driver.Buffer
}

// Before implements hooks.
func (h *arrayHooks) Before(ctx context.Context) error {
	changed, err := h.hooks.Before(ctx)
	return errors.Join(err, h.write(changed))
}

// After implements hooks.
func (h *arrayHooks) After(ctx context.Context) error {
	changed, err := h.hooks.After(ctx)
	return errors.Join(err, h.write(changed))
}

func (h *arrayHooks) write(changed []*array.Array) error {
	for _, x := range changed {
		if b := h.buffers[x]; b != nil {
			if err := b.Write(0, x.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureHooked measures a kernel with hooks around each launch. A graph has launches
// alone, and a simulated device has only one.
func (t *tuner) measureHooked(ctx context.Context, h hooks, k driver.Kernel, l driver.Launch) (bench.Times, error) {
	t.hooking.Lock()
	defer t.hooking.Unlock()
	dev := t.opts.Device
	if timer, ok := dev.(driver.Timer); ok && !t.bench.Graph {
		return bench.Measure(ctx, &hookedTimer{dev, h, timer}, k, l, t.bench)
	}
	if err := h.Before(ctx); err != nil {
		return nil, err
	}
	times, err := bench.Measure(ctx, dev, k, l, t.bench)
	return times, errors.Join(err, h.After(ctx))
}

// hookedTimer times each launch by itself, so that hooks come between them. Their time is
// in none of the times, but in that of runs together: from it follows how many launches
// are measured, and hooks that copy large arrays take a thousand times as long as a launch.
type hookedTimer struct {
	driver.Device
	hooks hooks
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
		return []time.Duration{bench.Times(times).Mean() + each}, nil
	}
	return times, nil
}
