//go:build linux

package hip

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// nonBlocking streams do not wait for those of other sessions: hipStreamNonBlocking.
const nonBlocking = 1

// session is an open GPU. It implements sdk.DeviceTimer. One call comes after the other.
type session struct {
	driver *Driver
	lib    *library
	gpu    *gpu
	number int32
	stream handle

	buffers map[*buffer]bool
	modules []handle
	flush   region // what measurements overwrite to empty the L2 cache
	scratch region // of kernels
}

var _ sdk.DeviceTimer = (*session)(nil)

// Properties implements sdk.Device.
func (s *session) Properties() sdk.DeviceProperties { return s.gpu.DeviceProperties }

// Close implements sdk.Device. Of a lost device nothing is left to give back.
func (s *session) Close() error {
	if s.driver.lost.Load() {
		return nil
	}
	return s.enter(func() error {
		errs := []error{s.flush.free(s.lib), s.scratch.free(s.lib)}
		for b := range s.buffers {
			errs = append(errs, s.lib.explain("freeing "+b.name, s.lib.free(b.address)))
		}
		for _, m := range s.modules {
			errs = append(errs, s.lib.explain("unloading a kernel", s.lib.moduleUnload(m)))
		}
		clear(s.buffers)
		s.modules = nil
		return errors.Join(append(errs, s.lib.explain("a stream's end", s.lib.streamDestroy(s.stream)))...)
	})
}

// buffer is memory of a session. It implements sdk.DeviceBuffer.
type buffer struct {
	session *session
	name    string
	address handle
}

// Alloc implements sdk.Device. HIP aligns to a page.
func (s *session) Alloc(_ context.Context, name string, size int64) (sdk.DeviceBuffer, error) {
	b := &buffer{session: s, name: name}
	err := s.enter(func() (err error) {
		b.address, err = s.allocate(name, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.buffers[b] = true
	return b, nil
}

// allocate reserves memory, of which an error says what it was for. The caller has entered.
func (s *session) allocate(name string, size int64) (at handle, err error) {
	switch code := s.lib.malloc(&at, uintptr(max(size, 1))); code {
	case success:
		return at, nil
	case outOfMemory:
		var free, total uintptr
		left := ""
		if s.lib.memGetInfo(&free, &total) == success {
			left = fmt.Sprintf("; %d are free", free)
		}
		return 0, sdk.Errorf("%s: %s needs %s of the %s%s", s.lib.errorName(code), name, diag.Count(size, "byte"), s.gpu.Name, left)
	default:
		return 0, s.lib.explain("memory for "+name, code)
	}
}

// Addr implements sdk.DeviceBuffer.
func (b *buffer) Addr() uint64 { return uint64(b.address) }

func (b *buffer) freed() bool { return !b.session.buffers[b] }

// usable says why a copy cannot use the buffer.
func (b *buffer) usable() error {
	if b.freed() {
		return sdk.Errorf("memory %s was freed", b.name)
	}
	return nil
}

// Write implements sdk.DeviceBuffer.
func (b *buffer) Write(_ context.Context, offset int64, p []byte) error {
	return b.copy("copying to ", p, func(l *library) status {
		return l.memcpyHtoD(b.address+uintptr(offset), unsafe.Pointer(&p[0]), uintptr(len(p)))
	})
}

// Read implements sdk.DeviceBuffer.
func (b *buffer) Read(_ context.Context, offset int64, p []byte) error {
	return b.copy("copying from ", p, func(l *library) status {
		return l.memcpyDtoH(unsafe.Pointer(&p[0]), b.address+uintptr(offset), uintptr(len(p)))
	})
}

func (b *buffer) copy(what string, p []byte, f func(*library) status) error {
	if err := b.usable(); err != nil || len(p) == 0 {
		return err
	}
	s := b.session
	return s.enter(func() error { return s.lib.explain(what+b.name, f(s.lib)) })
}

// Free implements sdk.DeviceBuffer.
func (b *buffer) Free() error {
	if err := b.usable(); err != nil {
		return err
	}
	s := b.session
	delete(s.buffers, b)
	if s.driver.lost.Load() {
		return nil // and the memory with it
	}
	return s.enter(func() error { return s.lib.explain("freeing "+b.name, s.lib.free(b.address)) })
}

// region is memory of the session's own, which grows.
type region struct {
	at   handle
	size int64 // 0: none yet
}

func (r *region) free(l *library) error {
	if r.size == 0 {
		return nil
	}
	r.size = 0
	return l.explain("freeing memory", l.free(r.at))
}

// reserve sees to it that a region has size bytes. The caller has entered.
func (s *session) reserve(r *region, name string, size int64) error {
	if size <= r.size {
		return nil
	}
	if err := r.free(s.lib); err != nil {
		return err
	}
	at, err := s.allocate(name, size)
	if err == nil {
		*r = region{at, size}
	}
	return err
}

// Time implements sdk.DeviceTimer.
func (s *session) Time(ctx context.Context, dk sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (r sdk.DeviceResult, err error) {
	k, ok := dk.(*kernel)
	switch {
	case !ok || k.session != s:
		return r, errors.New("the kernel was loaded by another device")
	case t.Graph:
		return r, sdk.Errorf("the driver of AMD's GPUs measures no graphs of launches").WithHelp("without --graph it measures launches one by one")
	}
	p, err := k.prepare(&l)
	if err != nil {
		return r, err
	}
	err = s.enter(func() (err error) {
		if err := errors.Join(k.reserveScratch(p), s.reserve(&s.flush, "the flush of the cache", t.Flush)); err != nil {
			return err
		}
		r.Times, err = s.time(ctx, p, t)
		return err
	})
	return s.outcome(k, r, err)
}

// time launches as the timing says: each run between events of its own, or all together
// between one pair. The caller has entered.
func (s *session) time(ctx context.Context, p *packed, t sdk.DeviceTiming) (times []time.Duration, err error) {
	for range t.Warmup {
		if err := p.launch(); err != nil {
			return nil, err
		}
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
			if err := s.overwrite(t.Flush); err != nil {
				return nil, err
			}
		}
		err := s.around(ev[2*pair:], func() error {
			for range runs {
				if t.Together {
					if err := s.overwrite(t.Flush); err != nil {
						return err
					}
				}
				if err := errors.Join(ctx.Err(), p.launch()); err != nil {
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
func (s *session) overwrite(size int64) error {
	if size == 0 {
		return nil
	}
	return s.lib.explain("flushing the cache", s.lib.memsetD8Async(s.flush.at, 0, uintptr(size), s.stream))
}

// events makes n of them; those that it made come back with an error, too.
func (s *session) events(n int) ([]handle, error) {
	made := make([]handle, 0, n)
	for range n {
		var e handle
		if err := s.lib.explain("making an event", s.lib.eventCreate(&e)); err != nil {
			return made, err
		}
		made = append(made, e)
	}
	return made, nil
}

func (s *session) destroyEvents(list []handle) error {
	if s.driver.lost.Load() {
		return nil
	}
	var errs []error
	for _, e := range list {
		errs = append(errs, s.lib.explain("an event's end", s.lib.eventDestroy(e)))
	}
	return errors.Join(errs...)
}

// around puts what f launches into the stream between two events.
func (s *session) around(ev []handle, f func() error) error {
	if err := s.lib.explain("recording an event", s.lib.eventRecord(ev[0], s.stream)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return s.lib.explain("recording an event", s.lib.eventRecord(ev[1], s.stream))
}

// between is the time between two events, which have happened.
func (s *session) between(ev []handle) (time.Duration, error) {
	var ms float32
	code := s.lib.eventElapsed(&ms, ev[0], ev[1])
	return time.Duration(float64(ms) * float64(time.Millisecond)), s.lib.explain("reading the time", code)
}
