package tune

import (
	"context"
	"errors"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// arrayHooks are hooks that change arrays, which are then copied to the device.
type arrayHooks struct {
	hooks *launch.Hooks
	tuner *tuner
}

// Before implements bench.Hooks.
func (h *arrayHooks) Before(ctx context.Context) error {
	_, err := h.before(ctx)
	return err
}

func (h *arrayHooks) before(ctx context.Context) (changed []*array.Array, err error) {
	changed, err = h.hooks.Before(ctx)
	return changed, errors.Join(err, h.write(changed))
}

// After implements bench.Hooks.
func (h *arrayHooks) After(ctx context.Context) error {
	_, err := h.after(ctx)
	return err
}

func (h *arrayHooks) after(ctx context.Context) (changed []*array.Array, err error) {
	changed, err = h.hooks.After(ctx)
	return changed, errors.Join(err, h.write(changed))
}

func (h *arrayHooks) write(changed []*array.Array) error {
	for _, x := range changed {
		if b := h.tuner.find(x); b != nil {
			if err := b.Write(0, x.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureHooked measures a kernel with hooks around each launch.
func (t *tuner) measureHooked(ctx context.Context, h bench.Hooks, k driver.Kernel, l driver.Launch) (bench.Times, error) {
	t.hooking.Lock()
	defer t.hooking.Unlock()
	return bench.MeasureHooked(ctx, t.opts.Device, h, k, l, t.bench)
}
