package cuda

/*
#include <cuda.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"gorgonia.org/cu"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// backend is that of the targets whose code these devices run.
const backend = "cuda"

// gpu is one GPU, used by any number of sessions.
type gpu struct {
	device     cu.Device
	properties sdk.DeviceProperties // but for the stage
	cc         int                  // compute capability: 90 is 9.0
	context    cu.CUContext         // the primary one
	work       chan func()
	lost       atomic.Bool // a kernel faulted, and CUDA refuses all calls
}

// target is what to compile for.
func (g *gpu) target() sdk.Target {
	return sdk.Target{Backend: backend, Arch: strconv.Itoa(g.cc), WarpSize: g.properties.WarpSize}
}

// look finds out about a GPU without making it ready.
func look(number int) (*gpu, error) {
	fail := func(err error) error { return explain(fmt.Sprintf("looking at GPU %d", number), err) }
	d, err := cu.GetDevice(number)
	if err != nil {
		return nil, fail(err)
	}
	g := &gpu{device: d}
	p := &g.properties
	if p.Name, err = d.Name(); err != nil {
		return nil, fail(err)
	}
	if p.Memory, err = d.TotalMem(); err != nil {
		return nil, fail(err)
	}
	var major, minor int
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.ComputeCapabilityMajor, &major},
		{cu.ComputeCapabilityMinor, &minor},
		{cu.WarpSize, &p.WarpSize},
		{cu.MultiprocessorCount, &p.Multiprocessors},
		{cu.MaxThreadsPerBlock, &p.MaxThreads},
		{C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &p.MaxShared},
	} {
		if *a.to, err = d.Attribute(a.attribute); err != nil {
			return nil, fail(err)
		}
	}
	g.cc = 10*major + minor
	return g, nil
}

// start makes the GPU ready: its primary context, on a thread of its own.
func (g *gpu) start() error {
	g.work = make(chan func())
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the context is the thread's
		var err error
		if g.context, err = g.device.RetainPrimaryCtx(); err == nil {
			err = cu.SetCurrentContext(g.context)
		}
		ready <- err
		for f := range g.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		close(g.work)
		return explain("making "+g.properties.Name+" ready", err)
	}
	return nil
}

// do makes calls of CUDA on the GPU's thread, one do after the other.
func (g *gpu) do(f func() error) (err error) {
	done := make(chan any)
	g.work <- func() {
		var p any = "the thread ended"
		defer func() { done <- p }()
		defer func() {
			if r := recover(); r != nil {
				p = r
			}
		}()
		if err = sdk.ErrDeviceLost; !g.lost.Load() {
			err = f()
		}
		p = nil
	}
	if p := <-done; p != nil {
		panic(p) // where the SDK catches it
	}
	return err
}

// apart makes calls of CUDA on a thread of their own, beside what others do. It
// is for what takes long and touches nobody's memory.
func (g *gpu) apart(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(g.context); err != nil {
		return explain("using "+g.properties.Name, err)
	}
	err := f()
	if err != nil && errors.Is(g.do(func() error { return nil }), sdk.ErrDeviceLost) {
		return sdk.ErrDeviceLost // the kernel that ran meanwhile is to blame
	}
	return err
}

// stage is the one whose artifacts to load for code of a target.
func (g *gpu) stage(t sdk.Target) (string, error) {
	arch := strings.TrimRight(t.Arch, "af") // of one architecture, of a family
	cc, err := strconv.Atoi(arch)
	switch {
	case t.Backend != backend || err != nil:
		return "", sdk.Errorf("the %s runs no code for %s", g.properties.Name, t).WithHelp("compile for it with --target %s:%d", backend, g.cc)
	case cc == g.cc:
		return stageCubin, nil
	case cc < g.cc:
		return stagePTX, nil
	}
	return "", sdk.Errorf("the %s has compute capability %d.%d and runs no code for %s", g.properties.Name, g.cc/10, g.cc%10, t).
		WithHelp("compile for it with --target %s:%d", backend, g.cc)
}

// The stages whose artifacts a GPU loads.
const (
	stageCubin = "cubin"
	stagePTX   = "ptx"
)
