package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
)

// events are pairs of events of a stream; pair i is 2i and 2i+1. Their methods run on a
// thread that is the GPU's.
type events []cu.Event

func makeEvents(n int) (events, error) {
	made := make(events, 0, n)
	for range n {
		e, err := cu.MakeEvent(cu.DefaultEvent)
		if err != nil {
			return nil, errors.Join(explain("making an event", err), made.destroy(false))
		}
		made = append(made, e)
	}
	return made, nil
}

// destroy gives the events back; those of a lost device are gone.
func (ev events) destroy(lost bool) (err error) {
	for i := range ev {
		if !lost && err == nil {
			err = explain("an event's end", cu.DestroyEvent(&ev[i]))
		}
	}
	return err
}

// around puts what f launches into the stream between the events of a pair.
func (ev events) around(pair int, s *Stream, f func() error) error {
	if err := explain("recording an event", ev[2*pair].Record(s.cu())); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return explain("recording an event", ev[2*pair+1].Record(s.cu()))
}

// between is the time between the events of a pair, which have happened.
func (ev events) between(pair int) (time.Duration, error) { return elapsed(ev[2*pair], ev[2*pair+1]) }

// Time implements driver.Timer.
func (d *Device) Time(ctx context.Context, dk driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	k, ok := dk.(*Kernel)
	if !ok || k.dev.gpu != d.gpu {
		return nil, diag.Errorf(diag.Pos{}, "the kernel was loaded by another device")
	}
	var times []time.Duration
	err := within(ctx, func() (err error) {
		d.gpu.waiting.Lock()
		defer d.gpu.waiting.Unlock()
		times, err = d.time(ctx, k, &l, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return times, nil
}

func (d *Device) time(ctx context.Context, k *Kernel, l *driver.Launch, t driver.Timing) (times []time.Duration, err error) {
	if err := d.gpu.enter(func() error { return d.reserveFlush(t.Flush) }); err != nil {
		return nil, err
	}
	s, err := d.NewStream() // that of number 0 cannot be captured
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m := measurement{ctx: ctx, timing: t, stream: s, launch: func() error { return k.enqueue(s, l) }}
	if times, err = m.measure(); err != nil {
		return nil, err
	}
	return times, d.gpu.enter(func() error { return d.guards(k.name) })
}

// reserveFlush sees to it that there is memory of so many bytes to overwrite.
func (d *Device) reserveFlush(size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size <= d.flushSize {
		return nil
	}
	if d.flushSize > 0 {
		if err := explain("freeing memory for the flush of the cache", cu.MemFree(d.flush)); err != nil {
			return err
		}
		d.flushSize = 0
	}
	if err := explain(fmt.Sprintf("memory of %d bytes for the flush of the cache", size), allocate(&d.flush, size)); err != nil {
		return err
	}
	d.flushSize = size
	return nil
}

// measurement is a kernel that is measured.
type measurement struct {
	ctx    context.Context
	timing driver.Timing
	stream *Stream
	launch func() error
}

// measure launches everything, each run or replay between the events of a pair, waits,
// and returns the times.
func (m *measurement) measure() (times []time.Duration, err error) {
	for range m.timing.Warmup {
		if err := m.launch(); err != nil {
			return nil, err
		}
	}
	flush, run, runs, launches := m.flush, m.launch, m.timing.Runs, 1
	switch {
	case m.timing.Graph:
		g, err := m.capture()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
		run, runs, launches = func() error { return g.Launch(m.stream) }, driver.GraphReplays, m.timing.Runs
	case m.timing.Together:
		flush, run, runs, launches = func() error { return nil }, m.together, 1, m.timing.Runs
	}
	gpu := m.stream.dev.gpu
	err = gpu.enter(func() (err error) {
		ev, err := makeEvents(2 * runs)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, ev.destroy(gpu.lost.Load())) }()
		for i := range runs {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
			if err := ev.around(i, m.stream, run); err != nil {
				return err
			}
		}
		if err := m.stream.sync(); err != nil {
			return err
		}
		for i := range runs {
			t, err := ev.between(i)
			if err != nil {
				return err
			}
			times = append(times, t/time.Duration(launches))
		}
		return nil
	})
	return times, err
}

// flush overwrites as much memory as the timing says.
func (m *measurement) flush() error {
	if m.timing.Flush == 0 {
		return nil
	}
	return explain("flushing the cache", cu.MemsetD8Async(m.stream.dev.flush, 0, m.timing.Flush, m.stream.cu()))
}

// together launches all runs, with the flush before each.
func (m *measurement) together() error {
	for range m.timing.Runs {
		if err := errors.Join(m.ctx.Err(), m.flush()); err != nil {
			return err
		}
		if err := m.launch(); err != nil {
			return err
		}
	}
	return nil
}

// capture makes the graph of all runs.
func (m *measurement) capture() (*Graph, error) {
	return m.stream.Capture(func() error {
		for range m.timing.Runs {
			if err := m.launch(); err != nil {
				return err
			}
		}
		return nil
	})
}
