package cuda

/*
#include <cuda.h>

// enter makes a context the thread's current one and says which one was.
static CUresult enter(CUcontext c, CUcontext *was) {
	CUresult e = cuCtxGetCurrent(was);
	return e == CUDA_SUCCESS && *was != c ? cuCtxSetCurrent(c) : e;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// gpu is one GPU, used by any number of Devices. Its primary context stays for the life
// of the process.
type gpu struct {
	number     int
	device     cu.Device
	properties driver.Properties
	cc         int // compute capability: 90 is 9.0
	context    cu.CUContext

	lost atomic.Bool // CUDA refuses all calls

	waiting sync.Mutex // held by a launch that waits and is timed
	mu      sync.Mutex // guards the maps
	streams map[*Stream]bool
	peers   map[*gpu]bool // whose memory kernels of this one may access
}

// opened are the GPUs in use, by number.
var opened struct {
	sync.Mutex
	gpus map[int]*gpu
}

// gpuNumber returns a GPU whose context is ready.
func gpuNumber(number int) (*gpu, error) {
	opened.Lock()
	defer opened.Unlock()
	if g := opened.gpus[number]; g != nil {
		return g, nil
	}
	n, err := count()
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= n {
		return nil, diag.Errorf(diag.Pos{}, "there is no GPU number %d", number).WithHelp("they have the numbers from 0 to %d", n-1)
	}
	g, err := look(number)
	if err != nil {
		return nil, err
	}
	if g.context, err = g.device.RetainPrimaryCtx(); err != nil {
		return nil, explain("making "+g.properties.Name+" ready", err)
	}
	if opened.gpus == nil {
		opened.gpus = map[int]*gpu{}
	}
	opened.gpus[number] = g
	return g, nil
}

func count() (int, error) {
	if err := ready(); err != nil {
		return 0, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0, explain("counting the GPUs", err)
	}
	if n == 0 {
		return 0, errors.New("CUDA sees no GPU")
	}
	return n, nil
}

// look finds out about a GPU without making it ready.
func look(number int) (*gpu, error) {
	fail := func(err error) error { return explain(fmt.Sprintf("looking at GPU %d", number), err) }
	d, err := cu.GetDevice(number)
	if err != nil {
		return nil, fail(err)
	}
	g := &gpu{number: number, device: d, streams: map[*Stream]bool{}, peers: map[*gpu]bool{}}
	p := &g.properties
	p.Stage = stageCubin
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
	p.Target = sdk.Target{Backend: backend, Arch: strconv.Itoa(g.cc), WarpSize: p.WarpSize}
	return g, nil
}

// enter makes calls of CUDA on a thread whose current context is the GPU's, and leaves
// the thread as it was.
func (g *gpu) enter(f func() error) error {
	if g.lost.Load() {
		return g.errLost()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was C.CUcontext
	if err := explainResult("using "+g.properties.Name, C.enter(g.handle(), &was)); err != nil {
		return g.judge(err)
	}
	if was != nil && was != g.handle() {
		defer C.cuCtxSetCurrent(was)
	}
	return g.judge(f())
}

// handle is the context's handle: cu's CUContext is a struct of it alone.
func (g *gpu) handle() C.CUcontext { return *(*C.CUcontext)(unsafe.Pointer(&g.context)) }

func (g *gpu) errLost() error {
	return fmt.Errorf("GPU %d, %s: %w", g.number, g.properties.Name, driver.ErrLost)
}

// judge returns err, or the fault of a kernel that it tells of: then the device is lost.
func (g *gpu) judge(err error) error {
	var e *Error
	if !errors.As(err, &e) || !e.fatal() {
		return err
	}
	return g.fall(e.Code, e.What, "")
}

// fall makes the device lost for a result of CUDA's. The first caller gets the fault, of
// the kernels that were launched and not waited for, or else of the one that the call was
// about.
func (g *gpu) fall(code int, what, about string) error {
	if g.lost.Swap(true) {
		return g.errLost()
	}
	var names []string
	g.mu.Lock()
	for s := range g.streams {
		names = s.blame(names)
	}
	g.mu.Unlock()
	switch {
	case len(names) == 0 && about == "":
		return fmt.Errorf("%s: %s: the device is lost", what, codeText(code))
	case len(names) == 0:
		names = []string{about}
	}
	slices.Sort(names)
	name := strings.Join(names, " or ")
	return &driver.Fault{Kernel: name, Findings: diag.List{
		diag.Errorf(diag.Pos{}, "kernel %s: %s", name, codeText(code)).WithHelp("%s", simulate),
	}}
}

// simulate is the next step after a fault.
const simulate = "--device sim runs the kernel on a simulated GPU, which says where in the source this happens"

// The stages whose artifacts a GPU loads: cubin of its own compute capability, and PTX
// of that and of lower ones, which CUDA compiles.
const (
	stageCubin = "cubin"
	stagePTX   = "ptx"
)
