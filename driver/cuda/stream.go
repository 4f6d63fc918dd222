package cuda

/*
#include <cuda.h>
*/
import "C"

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
)

// Stream is a queue of a Device's work. It implements driver.Stream. Streams run side by
// side; copies of buffers and launches that are waited for run after what is in all of
// them.
type Stream struct {
	dev    *Device
	handle C.CUstream // nil: CUDA's stream 0

	last    atomic.Pointer[Kernel] // that was launched last, which is in pending
	mu      sync.Mutex             // guards the three below
	pending []*Kernel              // launched since the last wait began, each once
	awaited []*Kernel              // launched before that
	graph   *Graph                 // that is being captured

	space   sync.Mutex // guards scratch
	scratch scratch
}

var _ driver.Stream = (*Stream)(nil)

// NewStream makes a stream.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{dev: d}
	err := d.gpu.enter(func() error {
		if err := explainResult("making a stream", C.cuStreamCreate(&s.handle, C.CU_STREAM_DEFAULT)); err != nil {
			return err
		}
		return d.own(s)
	})
	if err != nil {
		return nil, err
	}
	d.gpu.mu.Lock()
	d.gpu.streams[s] = true
	d.gpu.mu.Unlock()
	return s, nil
}

// launched notes who is to blame for a fault, and reports whether it had not done so.
func (s *Stream) launched(k *Kernel) bool {
	if s.last.Load() == k {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.Store(k)
	if slices.Contains(s.pending, k) {
		return false
	}
	s.pending = append(s.pending, k)
	return true
}

// notLaunched takes back what launched noted.
func (s *Stream) notLaunched(k *Kernel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.Store(nil)
	s.pending = slices.DeleteFunc(s.pending, func(p *Kernel) bool { return p == k })
}

// blame adds the names of the kernels that may have run.
func (s *Stream) blame(names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range append(slices.Clip(s.awaited), s.pending...) {
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// Sync implements driver.Stream.
func (s *Stream) Sync(ctx context.Context) error {
	return within(ctx, func() error { return s.dev.gpu.enter(s.sync) })
}

// sync waits for the stream on a thread that is the GPU's. Whatever CUDA says then, but
// that the stream is being captured, is the kernels' fault.
func (s *Stream) sync() error {
	s.mu.Lock()
	s.awaited, s.pending = append(s.awaited, s.pending...), nil
	s.last.Store(nil) // so that kernels launched from now on are noted again
	s.mu.Unlock()
	e := C.cuStreamSynchronize(s.handle)
	switch {
	case e == C.CUDA_SUCCESS:
		s.mu.Lock()
		s.awaited = nil
		s.mu.Unlock()
		return nil
	case e >= firstCaptureError && e <= lastCaptureError:
		return explainResult("waiting for a stream", e)
	}
	return s.dev.gpu.fall(int(e), "waiting for a stream", "")
}

// The results about streams that are being captured.
const (
	firstCaptureError = 900
	lastCaptureError  = 909
)

// Close implements driver.Stream.
func (s *Stream) Close() error { return s.dev.giveBack(s) }

func (s *Stream) end() error {
	g := s.dev.gpu
	g.mu.Lock()
	delete(g.streams, s)
	g.mu.Unlock()
	return errors.Join(s.scratch.free(), explainResult("a stream's end", C.cuStreamDestroy(s.handle)))
}

// Wait has what is launched from now on run after an event.
func (s *Stream) Wait(e *Event) error {
	return s.dev.gpu.enter(func() error {
		return explainResult("waiting for an event", C.cuStreamWaitEvent(s.handle, e.handle(), 0))
	})
}

// scratch is memory that kernels of a stream use one after the other.
type scratch struct {
	base cu.DevicePtr
	size int64 // 0: none yet
}

func (m *scratch) free() error {
	if m.size == 0 {
		return nil
	}
	m.size = 0
	return explain("freeing scratch memory", cu.MemFree(m.base)) // waits for those that use it
}

// scratchMemory is memory for the scratch of the next launch. A graph has its own: it is
// replayed after the stream's has grown elsewhere.
func (s *Stream) scratchMemory(size int64) (base cu.DevicePtr, err error) {
	s.space.Lock()
	defer s.space.Unlock()
	m := &s.scratch
	if s.graph != nil {
		m = &scratch{}
	}
	if size <= m.size {
		return m.base, nil
	}
	err = s.dev.gpu.enter(func() error {
		if err := m.free(); err != nil {
			return err
		}
		return explain("scratch memory", allocate(&m.base, size))
	})
	if err != nil {
		return 0, err
	}
	m.size = size
	if s.graph != nil {
		s.graph.scratch = append(s.graph.scratch, m)
	}
	return m.base, nil
}

// Event is a place in a stream.
type Event struct {
	dev   *Device
	event cu.Event
}

// NewEvent makes an event, which is in no stream yet.
func (d *Device) NewEvent() (*Event, error) {
	e := &Event{dev: d}
	err := d.gpu.enter(func() (err error) {
		if e.event, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return explain("making an event", err)
		}
		return d.own(e)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Event) handle() C.CUevent { return *(*C.CUevent)(unsafe.Pointer(&e.event)) }

// Record puts the event after all that was launched on the stream.
func (e *Event) Record(s *Stream) error {
	if s.dev.gpu != e.dev.gpu {
		return diag.Errorf(diag.Pos{}, "an event can be recorded in streams of its own device only")
	}
	return e.dev.gpu.enter(func() error {
		return explainResult("recording an event", C.cuEventRecord(e.handle(), s.handle))
	})
}

// Sync waits until what is before the event has run, or until ctx ends.
func (e *Event) Sync(ctx context.Context) error {
	return within(ctx, func() error {
		return e.dev.gpu.enter(func() error { return explain("waiting for an event", e.event.Synchronize()) })
	})
}

// Since is the time from another event to this one; both have happened.
func (e *Event) Since(start *Event) (t time.Duration, err error) {
	err = e.dev.gpu.enter(func() error {
		t, err = elapsed(start.event, e.event)
		return err
	})
	return t, err
}

// Close gives the event back.
func (e *Event) Close() error { return e.dev.giveBack(e) }

func (e *Event) end() error { return explain("an event's end", cu.DestroyEvent(&e.event)) }

// elapsed is the time between two events.
func elapsed(begin, end cu.Event) (time.Duration, error) {
	ms, err := begin.Elapsed(end)
	return time.Duration(ms * float64(time.Millisecond)), explain("reading the time", err)
}

// cu is the stream as cu has it: a struct of the handle alone.
func (s *Stream) cu() cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&s.handle)) }
