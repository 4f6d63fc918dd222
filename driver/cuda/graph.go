package cuda

/*
#include <cuda.h>

// begin_capture has what goes into a stream from now on become a graph. In the relaxed
// mode the capture may end on another thread, and memory can be had meanwhile.
static CUresult begin_capture(CUstream s) { return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED); }
*/
import "C"

import (
	"errors"

	"github.com/tritonc/tritonc/core/diag"
)

// Graph is launches that were captured, to be launched again as a whole at the cost of
// one. It has the arguments that they had.
type Graph struct {
	dev     *Device
	exec    C.CUgraphExec
	kernels []*Kernel
	buffers []*Buffer // that are arguments
	scratch []*scratch
}

// Capture calls f, and has what it launches on the stream, and on streams that wait for
// events of it, become a graph instead of running. f must not wait, nor copy memory.
func (s *Stream) Capture(f func() error) (*Graph, error) {
	g := &Graph{dev: s.dev}
	err := s.dev.gpu.enter(func() error {
		if s.handle == nil || s.graph != nil {
			return diag.Errorf(diag.Pos{}, "the stream is being captured already")
		}
		return explainResult("capturing a graph", C.begin_capture(s.handle))
	})
	if err != nil {
		return nil, err
	}
	s.begin(g)
	failed := f()
	g.kernels = s.finish()
	err = s.dev.gpu.enter(func() error {
		var graph C.CUgraph
		ended := explainResult("capturing a graph", C.cuStreamEndCapture(s.handle, &graph))
		if failed == nil {
			failed = ended
		}
		if ended == nil {
			defer C.cuGraphDestroy(graph)
		}
		if failed == nil {
			failed = explainResult("making a graph ready", C.cuGraphInstantiateWithFlags(&g.exec, graph, 0))
		}
		if failed != nil {
			return errors.Join(failed, g.freeScratch())
		}
		return s.dev.own(g)
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// begin and finish keep the kernels of a graph apart from those that run.
func (s *Stream) begin(g *Graph) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graph, g.kernels, s.pending = g, s.pending, nil
	s.last.Store(nil)
}

func (s *Stream) finish() (captured []*Kernel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	captured, s.pending, s.graph = s.pending, s.graph.kernels, nil
	s.last.Store(nil)
	return captured
}

// Launch launches what the graph holds, after what is in the stream.
func (g *Graph) Launch(s *Stream) error {
	if s.dev.gpu != g.dev.gpu {
		return diag.Errorf(diag.Pos{}, "a graph can be launched on streams of its own device only")
	}
	for _, b := range g.buffers {
		if err := b.usable(); err != nil {
			return err
		}
	}
	for _, k := range g.kernels {
		s.launched(k)
	}
	return g.dev.gpu.enter(func() error {
		return explainResult("launching a graph", C.cuGraphLaunch(g.exec, s.handle))
	})
}

// Close gives the graph back once its launches have ended.
func (g *Graph) Close() error { return g.dev.giveBack(g) }

func (g *Graph) end() error {
	return errors.Join(explainResult("a graph's end", C.cuGraphExecDestroy(g.exec)), g.freeScratch())
}

func (g *Graph) freeScratch() error {
	var errs []error
	for _, m := range g.scratch {
		errs = append(errs, m.free())
	}
	return errors.Join(errs...)
}
