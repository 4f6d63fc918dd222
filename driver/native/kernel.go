package native

import (
	"context"
	"errors"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// kernel is a loaded one. It implements sdk.DeviceKernel.
type kernel struct {
	session *Session
	code    Code
}

// Load implements sdk.Device.
func (s *Session) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	k := &kernel{session: s}
	err := s.enter(func() (err error) {
		k.code, err = s.lib.Load(s, &b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Launch implements sdk.DeviceKernel.
func (k *kernel) Launch(_ context.Context, l sdk.DeviceLaunch) (r sdk.DeviceResult, err error) {
	p, err := k.code.Prepare(&l)
	if err != nil {
		return r, err
	}
	s := k.session
	err = s.enter(func() (err error) {
		if err := p.Reserve(); err != nil {
			return err
		}
		ev, err := s.events(2)
		defer func() { err = errors.Join(err, s.destroyEvents(ev)) }()
		if err != nil {
			return err
		}
		if err := p.Ready(); err != nil {
			return err
		}
		if err := s.around(ev, p.Start); err != nil {
			return err
		}
		if err := s.wait(); err != nil {
			return err
		}
		r.Time, err = s.between(ev)
		return err
	})
	return s.outcome(k, r, err)
}

// faultError is what the library says of a kernel that began to run.
type faultError struct{ statusError }

// wait waits for the stream. Whatever the library says then is the kernel's fault.
func (s *Session) wait() error {
	if code := s.lib.Wait(s.Stream); code != Success {
		s.driver.lost.Store(true)
		return &faultError{*statusOf(s.lib, "waiting for the kernel", code)}
	}
	return nil
}

// outcome makes a kernel's fault a part of the result.
func (s *Session) outcome(k *kernel, r sdk.DeviceResult, err error) (sdk.DeviceResult, error) {
	if fault, ok := errors.AsType[*faultError](err); ok {
		d := sdk.Errorf("kernel %s: %s", k.code.Name(), fault.said()).
			WithHelp("--device sim runs the kernel on a simulated %s, which says where in the source this happens", s.driver.vendor.One)
		return sdk.DeviceResult{Fault: []sdk.Diagnostic{*d}, Lost: true}, nil
	}
	return r, err
}

// flushed is the region that measurements overwrite to empty the L2 cache.
const flushed = "flush"

// Time implements sdk.DeviceTimer.
func (s *Session) Time(ctx context.Context, dk sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (r sdk.DeviceResult, err error) {
	k, ok := dk.(*kernel)
	switch {
	case !ok || k.session != s:
		return r, errors.New("the kernel was loaded by another device")
	case t.Graph:
		return r, sdk.Errorf("the driver of %s measures no graphs of launches", s.driver.vendor.All).WithHelp("without --graph it measures launches one by one")
	}
	p, err := k.code.Prepare(&l)
	if err != nil {
		return r, err
	}
	err = s.enter(func() (err error) {
		if err := errors.Join(p.Reserve(), s.Region(flushed).Reserve("the flush of the cache", t.Flush)); err != nil {
			return err
		}
		r.Times, err = s.time(ctx, p, t)
		return err
	})
	return s.outcome(k, r, err)
}

// time launches as the timing says: each run between events of its own, or all together
// between one pair. The caller has entered.
func (s *Session) time(ctx context.Context, p Launch, t sdk.DeviceTiming) (times []time.Duration, err error) {
	for range t.Warmup {
		if err := p.Ready(); err != nil {
			return nil, err
		}
		if err := p.Start(); err != nil {
			return nil, err
		}
	}
	before := func() error {
		if err := s.overwrite(t.Flush); err != nil {
			return err
		}
		return p.Ready()
	}
	pairs, runs := t.Runs, 1
	if t.Together {
		pairs, runs = 1, t.Runs
	}
	ev, err := s.events(2 * pairs)
	defer func() { err = errors.Join(err, s.destroyEvents(ev)) }()
	if err != nil {
		return nil, err
	}
	for pair := range pairs {
		if !t.Together {
			if err := before(); err != nil {
				return nil, err
			}
		}
		err := s.around(ev[2*pair:], func() error {
			for range runs {
				if t.Together {
					if err := before(); err != nil {
						return err
					}
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := p.Start(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := s.wait(); err != nil {
		return nil, err
	}
	for pair := range pairs {
		all, err := s.between(ev[2*pair:])
		if err != nil {
			return nil, err
		}
		times = append(times, all/time.Duration(runs))
	}
	return times, nil
}

// overwrite empties the L2 cache.
func (s *Session) overwrite(size int64) error {
	if size == 0 {
		return nil
	}
	return s.Explain("flushing the cache", s.lib.Clear(s.Region(flushed).At, size, s.Stream))
}

// events makes n of them; those that it made come back with an error, too.
func (s *Session) events(n int) ([]Handle, error) {
	made := make([]Handle, 0, n)
	for range n {
		e, code := s.lib.NewEvent()
		if err := s.Explain("making an event", code); err != nil {
			return made, err
		}
		made = append(made, e)
	}
	return made, nil
}

func (s *Session) destroyEvents(list []Handle) error {
	if s.driver.lost.Load() {
		return nil
	}
	var errs []error
	for _, e := range list {
		errs = append(errs, s.Explain("an event's end", s.lib.DestroyEvent(e)))
	}
	return errors.Join(errs...)
}

// around puts what f launches into the stream between two events.
func (s *Session) around(ev []Handle, f func() error) error {
	if err := s.Explain("recording an event", s.lib.Record(ev[0], s.Stream)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return s.Explain("recording an event", s.lib.Record(ev[1], s.Stream))
}

// between is the time between two events, which have happened.
func (s *Session) between(ev []Handle) (time.Duration, error) {
	t, code := s.lib.Elapsed(ev[0], ev[1])
	return t, s.Explain("reading the time", code)
}
