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

// hooked is a device of whose launches the file's hooks are called before and after:
// they change arrays, which are then copied to the device.
type hooked struct {
	driver.Device
	hooks   *launch.Hooks
	buffers map[*array.Array]driver.Buffer
}

func (h *hooked) before(ctx context.Context) error {
	changed, err := h.hooks.Before(ctx)
	return errors.Join(err, h.write(changed))
}

func (h *hooked) after(ctx context.Context) error {
	changed, err := h.hooks.After(ctx)
	return errors.Join(err, h.write(changed))
}

func (h *hooked) write(changed []*array.Array) error {
	for _, x := range changed {
		if b := h.buffers[x]; b != nil {
			if err := b.Write(0, x.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// hookedTimer times each launch by itself, so that hooks come between them.
type hookedTimer struct {
	*hooked
	timer driver.Timer
}

// Time times launches; the hooks' time does not count.
func (h *hookedTimer) Time(ctx context.Context, k driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	var times []time.Duration
	for i := range t.Warmup + t.Runs {
		if err := h.before(ctx); err != nil {
			return nil, err
		}
		one, err := h.timer.Time(ctx, k, l, driver.Timing{Runs: 1, Flush: t.Flush, Together: t.Together})
		if err != nil {
			return nil, err
		}
		if err := h.after(ctx); err != nil {
			return nil, err
		}
		if i >= t.Warmup {
			times = append(times, one...)
		}
	}
	if t.Together {
		return []time.Duration{bench.Times(times).Mean()}, nil
	}
	return times, nil
}
