package cuda

/*
#include <cuda.h>

// begin_capture has what goes into a stream from now on become a graph.
static CUresult begin_capture(CUstream s) { return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// events are pairs of events of a stream; pair i is 2i and 2i+1.
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
func (ev events) around(pair int, s cu.Stream, f func() error) error {
	if err := ev[2*pair].Record(s); err != nil {
		return explain("recording an event", err)
	}
	if err := f(); err != nil {
		return err
	}
	return explain("recording an event", ev[2*pair+1].Record(s))
}

// between is the time between the events of a pair, which have happened.
func (ev events) between(pair int) (time.Duration, error) {
	ms, err := ev[2*pair].Elapsed(ev[2*pair+1])
	return time.Duration(ms * float64(time.Millisecond)), explain("reading the time", err)
}

var _ sdk.DeviceTimer = (*session)(nil)

// Time implements sdk.DeviceTimer.
func (s *session) Time(ctx context.Context, dk sdk.DeviceKernel, l sdk.DeviceLaunch, t sdk.DeviceTiming) (sdk.DeviceResult, error) {
	k, ok := dk.(*kernel)
	if !ok || k.session != s {
		return sdk.DeviceResult{}, errors.New("the kernel was loaded by another device")
	}
	var r sdk.DeviceResult
	slots, err := k.check(&l)
	if err != nil {
		return r, err
	}
	err = s.gpu.do(func() (err error) {
		p, err := k.prepareLaunch(&l, slots)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.release(r.Lost)) }()
		if err := s.reserveFlush(t.Flush); err != nil {
			return err
		}
		m := measurement{prepared: p, ctx: ctx, timing: t}
		if err := m.measure(&r); err != nil || r.Lost {
			return err
		}
		return k.guards(&r)
	})
	return r, err
}

// reserveFlush sees to it that there is memory of so many bytes to overwrite.
func (s *session) reserveFlush(size int64) error {
	if size <= s.flushSize {
		return nil
	}
	if s.flushSize > 0 {
		if err := explain("freeing memory for the flush of the cache", cu.MemFree(s.flush)); err != nil {
			return err
		}
		s.flushSize = 0
	}
	if err := explain(fmt.Sprintf("memory of %d bytes for the flush of the cache", size), allocate(&s.flush, size)); err != nil {
		return err
	}
	s.flushSize = size
	return nil
}

// measurement is a kernel that is measured.
type measurement struct {
	*prepared
	ctx    context.Context
	timing sdk.DeviceTiming
	stream cu.Stream
	graph  C.CUgraphExec
}

// measure fills r.Times, or r.Fault.
func (m *measurement) measure(r *sdk.DeviceResult) (err error) {
	// A stream of its own: the one of number 0 cannot be captured.
	if m.stream, err = cu.MakeStream(cu.DefaultStream); err != nil {
		return explain("making a stream", err)
	}
	defer func() {
		if !r.Lost {
			err = errors.Join(err, explain("a stream's end", m.stream.Destroy()))
		}
	}()
	runs, launches := m.timing.Runs, 1
	if m.timing.Graph {
		runs, launches = sdk.GraphReplays, m.timing.Runs
	}
	ev, err := makeEvents(2 * runs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ev.destroy(r.Lost)) }()
	failed := m.enqueueAll(ev)
	// What failed may have done so for a fault of a kernel before it.
	if err := m.finish(r); err != nil || r.Lost {
		return err
	}
	if m.graph != nil {
		defer func() { err = errors.Join(err, explainResult("a graph's end", C.cuGraphExecDestroy(m.graph))) }()
	}
	if failed != nil {
		return failed
	}
	for i := range runs {
		t, err := ev.between(i)
		if err != nil {
			return err
		}
		r.Times = append(r.Times, t/time.Duration(launches))
	}
	return nil
}

// enqueueAll launches everything, each run or replay between the events of a pair.
func (m *measurement) enqueueAll(ev events) error {
	for range m.timing.Warmup {
		if err := m.enqueue(m.stream); err != nil {
			return err
		}
	}
	run := func() error { return m.enqueue(m.stream) }
	if m.timing.Graph {
		if err := m.capture(); err != nil {
			return err
		}
		run = m.replay
	}
	for i := range len(ev) / 2 {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := m.flushCache(); err != nil {
			return err
		}
		if err := ev.around(i, m.stream, run); err != nil {
			return err
		}
	}
	return nil
}

// flushCache overwrites as much memory as the timing says.
func (m *measurement) flushCache() error {
	if m.timing.Flush == 0 {
		return nil
	}
	return explain("flushing the cache", cu.MemsetD8Async(m.session.flush, 0, m.timing.Flush, m.stream))
}

// capture makes the graph of all runs.
func (m *measurement) capture() error {
	if err := explainResult("capturing a graph", C.begin_capture(streamOf(m.stream))); err != nil {
		return err
	}
	var err error
	for i := 0; i < m.timing.Runs && err == nil; i++ {
		err = m.enqueue(m.stream)
	}
	var g C.CUgraph
	ended := explainResult("capturing a graph", C.cuStreamEndCapture(streamOf(m.stream), &g))
	if err != nil {
		return err
	}
	if ended != nil {
		return ended
	}
	defer C.cuGraphDestroy(g)
	return explainResult("making a graph ready", C.cuGraphInstantiateWithFlags(&m.graph, g, 0))
}

// replay launches the graph.
func (m *measurement) replay() error {
	return explainResult("launching a graph of "+m.name, C.cuGraphLaunch(m.graph, streamOf(m.stream)))
}

// explainResult is explain for calls that cu lacks.
func explainResult(what string, e C.CUresult) error {
	if e == C.CUDA_SUCCESS {
		return nil
	}
	return &Error{What: what, Code: int(e)}
}
