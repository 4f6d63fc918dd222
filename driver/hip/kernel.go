//go:build linux

package hip

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/image"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// kernel is a function of a loaded code object. It implements sdk.DeviceKernel.
type kernel struct {
	session     *session
	name        string
	function    handle
	threads     uint32 // of a block
	shared      uint32 // dynamic LDS, bytes
	params      []image.Param
	cooperative bool
	scratch     int64 // bytes per block
	align       int64 // of the scratch memory, bytes
}

// scratchParams are the parameters after the user's: memory of the kernel's own, and of a
// profiler.
const scratchParams = 2

// maxThreadsAttribute is HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.
const maxThreadsAttribute = 0

// Load implements sdk.Device.
func (s *session) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	file, err := image.Parse(b.Code)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	if file.Arch != s.gpu.target.Arch {
		code := "code for " + file.Arch
		if file.Arch == "" {
			code = "not a code object"
		}
		return nil, sdk.Errorf("%s is %s, and the %s is a %s", b.Name, code, s.gpu.Name, s.gpu.target.Arch).
			WithHelp("compile for it with --target %s:%s", backend, s.gpu.target.Arch)
	}
	f, err := file.Kernel(b.Kernel)
	if err != nil {
		return nil, sdk.Errorf("%s: %v", b.Name, err)
	}
	k := &kernel{
		session: s, name: f.Name, threads: uint32(s.gpu.WarpSize * b.NumWarps), shared: uint32(b.Shared), params: f.Params,
		cooperative: b.Cooperative, scratch: b.GlobalScratchSize, align: max(b.GlobalScratchAlign, 1),
	}
	if b.NumWarps == 0 {
		k.threads = uint32(f.MaxThreads)
	}
	if err := k.check(&b, f); err != nil {
		return nil, err
	}
	if err := s.enter(func() error { return k.load(&b) }); err != nil {
		return nil, err
	}
	return k, nil
}

// check refuses what the device cannot launch.
func (k *kernel) check(b *sdk.DeviceBinary, f *image.Kernel) error {
	p := &k.session.gpu.DeviceProperties
	switch {
	case k.threads == 0:
		return sdk.Errorf("%s does not say how many threads a block of %s has", b.Name, k.name)
	case len(k.params) < scratchParams:
		return sdk.Errorf("kernel %s has no parameters for scratch memory, as Triton's kernels have", k.name)
	case b.NumCTAs > 1:
		return sdk.Errorf("kernel %s runs in clusters of %s, and AMD's GPUs have none", k.name, diag.Count(b.NumCTAs, "block")).WithHelp("num_ctas=1 gives the same results")
	case b.PDL:
		return sdk.Errorf("kernel %s is to start before the one before it has ended (launch_pdl), which AMD's GPUs do not do", k.name)
	}
	fits := driver.Properties{Name: p.Name, WarpSize: p.WarpSize, MaxThreads: p.MaxThreads, MaxShared: p.MaxShared}
	if err := fits.Fits(&driver.Metadata{Kernel: k.name, NumWarps: b.NumWarps, Shared: int(b.Shared) + f.Shared}); err != nil {
		return sdk.Errorf("%v", err)
	}
	return nil
}

// load hands the code to HIP. The caller has entered.
func (k *kernel) load(b *sdk.DeviceBinary) error {
	s := k.session
	var module handle
	err := s.lib.explain("loading "+b.Name, s.lib.moduleLoadData(&module, unsafe.Pointer(&b.Code[0])))
	runtime.KeepAlive(b.Code)
	if err != nil {
		return err
	}
	s.modules = append(s.modules, module)
	if err := s.lib.explain("finding "+k.name, s.lib.moduleFunction(&k.function, module, k.name)); err != nil {
		return err
	}
	var most int32
	if err := s.lib.explain("asking about "+k.name, s.lib.funcAttribute(&most, maxThreadsAttribute, k.function)); err != nil {
		return err
	}
	if int64(k.threads) > int64(most) {
		e := &driver.OutOfResources{Kernel: k.name, Device: s.gpu.Name, Resource: driver.Threads, Required: int64(k.threads), Limit: int64(most)}
		return sdk.Errorf("%v", e)
	}
	return nil
}

// Launch implements sdk.DeviceKernel.
func (k *kernel) Launch(_ context.Context, l sdk.DeviceLaunch) (r sdk.DeviceResult, err error) {
	p, err := k.prepare(&l)
	if err != nil {
		return r, err
	}
	s := k.session
	err = s.enter(func() (err error) {
		if err := k.reserveScratch(p); err != nil {
			return err
		}
		ev, err := s.events(2)
		defer func() { err = errors.Join(err, s.destroyEvents(ev)) }()
		if err != nil {
			return err
		}
		if err := s.around(ev, p.launch); err != nil {
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

// packed is a launch with its parameters where HIP looks for them: each has eight bytes,
// of which HIP takes as many as the parameter has.
type packed struct {
	kernel *kernel
	grid   [3]uint32 // blocks
	values []uint64
	places []unsafe.Pointer
}

// prepare checks a launch and packs its arguments.
func (k *kernel) prepare(l *sdk.DeviceLaunch) (*packed, error) {
	p := &packed{kernel: k, values: make([]uint64, len(k.params)), places: make([]unsafe.Pointer, len(k.params))}
	most := [3]int{math.MaxInt32, math.MaxUint16, math.MaxUint16}
	most[0] = min(most[0], math.MaxUint32/int(k.threads)) // HIP counts threads in 32 bits
	for i, n := range l.Grid {
		if n < 1 || n > most[i] {
			return nil, sdk.Errorf("kernel %s: grid dimension %c is %d: it must be from 1 to %d", k.name, "xyz"[i], n, most[i])
		}
		p.grid[i] = uint32(n)
	}
	if want := len(k.params) - scratchParams; want != len(l.Args) {
		return nil, sdk.Errorf("kernel %s takes %s, given %d", k.name, diag.Count(want, "argument"), len(l.Args))
	}
	for i := range l.Args {
		if wrong := p.set(i, &l.Args[i]); wrong != "" {
			return nil, sdk.Errorf("argument %d of kernel %s: %s", i, k.name, wrong)
		}
	}
	for i := range p.values {
		p.places[i] = unsafe.Pointer(&p.values[i])
	}
	return p, nil
}

// set gives a parameter the value of an argument, or says what is wrong with that.
func (p *packed) set(i int, a *sdk.DeviceArg) (wrong string) {
	size := 8
	switch b, own := a.Buffer.(*buffer); {
	case a.Map != nil:
		return "it is a tensor map, and AMD's GPUs have none"
	case own && b.session == p.kernel.session:
		if b.freed() {
			return "memory " + b.name + " was freed"
		}
		p.values[i] = b.Addr()
	case a.Buffer != nil:
		return "it is memory of another device"
	case a.Scalar != nil:
		if size = len(a.Scalar); size > 8 {
			return "a number has " + diag.Count(size, "byte")
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&p.values[i])), 8), a.Scalar)
	}
	if want := p.kernel.params[i].Size; size != want {
		return fmt.Sprintf("it has %s, and the parameter %d", diag.Count(size, "byte"), want)
	}
	return ""
}

// reserveScratch sets the parameter of the kernel's scratch memory; that of a profiler
// stays null. The caller has entered.
func (k *kernel) reserveScratch(p *packed) error {
	if k.scratch == 0 {
		return nil
	}
	size := k.scratch
	for _, n := range p.grid {
		if size > (math.MaxInt64-k.align)/int64(n) {
			return sdk.Errorf("the scratch memory of kernel %s for a grid of %v has more bytes than there are addresses", k.name, p.grid)
		}
		size *= int64(n)
	}
	s := k.session
	if err := s.reserve(&s.scratch, "the scratch memory of "+k.name, size+k.align-1); err != nil {
		return err
	}
	align := uint64(k.align)
	p.values[len(p.values)-scratchParams] = (uint64(s.scratch.at) + align - 1) / align * align
	return nil
}

// launch puts the kernel into the session's stream. The caller has entered.
func (p *packed) launch() error {
	k, s := p.kernel, p.kernel.session
	places := unsafe.Pointer(&p.places[0])
	var code status
	if k.cooperative {
		code = s.lib.launchAtOnce(k.function, p.grid[0], p.grid[1], p.grid[2], k.threads, 1, 1, k.shared, s.stream, places)
	} else {
		code = s.lib.launch(k.function, p.grid[0], p.grid[1], p.grid[2], k.threads, 1, 1, k.shared, s.stream, places, nil)
	}
	runtime.KeepAlive(p)
	return s.lib.explain("launching "+k.name, code)
}

// faultError is what HIP says of a kernel that began to run.
type faultError struct{ libraryError }

// wait waits for the stream. Whatever HIP says then is the kernel's fault.
func (s *session) wait() error {
	if code := s.lib.streamSync(s.stream); code != success {
		s.driver.lost.Store(true)
		return &faultError{libraryError{"waiting for the kernel", code, s.lib.codeText(code)}}
	}
	return nil
}

// outcome makes a kernel's fault a part of the result.
func (s *session) outcome(k *kernel, r sdk.DeviceResult, err error) (sdk.DeviceResult, error) {
	if fault, ok := errors.AsType[*faultError](err); ok {
		d := sdk.Errorf("kernel %s: %s", k.name, fault.text).
			WithHelp("--device sim runs the kernel on a simulated GPU, which says where in the source this happens")
		return sdk.DeviceResult{Fault: []sdk.Diagnostic{*d}, Lost: true}, nil
	}
	return r, err
}
