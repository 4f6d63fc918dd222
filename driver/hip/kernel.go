//go:build linux

package hip

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/image"
	"github.com/tritonc/tritonc/driver/native"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// kernel is a function of a loaded code object. It implements native.Code.
type kernel struct {
	lib         *library
	session     *native.Session
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

// scratch is the region for the kernels' own memory.
const scratch = "scratch"

// maxThreadsAttribute is HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK.
const maxThreadsAttribute = 0

// Load implements native.Library.
func (l *library) Load(s *native.Session, b *sdk.DeviceBinary) (native.Code, error) {
	file, err := image.Parse(b.Code)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	if arch := s.Device.Target.Arch; file.Arch != arch {
		code := "code for " + file.Arch
		if file.Arch == "" {
			code = "not a code object"
		}
		return nil, sdk.Errorf("%s is %s, and the %s is a %s", b.Name, code, s.Device.Name, arch).
			WithHelp("compile for it with --target %s:%s", backend, arch)
	}
	f, err := file.Kernel(b.Kernel)
	if err != nil {
		return nil, sdk.Errorf("%s: %v", b.Name, err)
	}
	k := &kernel{
		lib: l, session: s, name: f.Name, threads: uint32(s.Device.WarpSize * b.NumWarps), shared: uint32(b.Shared), params: f.Params,
		cooperative: b.Cooperative, scratch: b.GlobalScratchSize, align: max(b.GlobalScratchAlign, 1),
	}
	if b.NumWarps == 0 {
		k.threads = uint32(f.MaxThreads)
	}
	if err := k.check(b, f); err != nil {
		return nil, err
	}
	if err := k.load(b); err != nil {
		return nil, err
	}
	return k, nil
}

// check refuses what the device cannot launch.
func (k *kernel) check(b *sdk.DeviceBinary, f *image.Kernel) error {
	p := &k.session.Device.DeviceProperties
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

// load hands the code to HIP.
func (k *kernel) load(b *sdk.DeviceBinary) error {
	s := k.session
	var module handle
	err := s.Explain("loading "+b.Name, k.lib.moduleLoadData(&module, unsafe.Pointer(&b.Code[0])))
	runtime.KeepAlive(b.Code)
	if err != nil {
		return err
	}
	s.AtClose(func() error { return s.Explain("unloading a kernel", k.lib.moduleUnload(module)) })
	if err := s.Explain("finding "+k.name, k.lib.moduleFunction(&k.function, module, k.name)); err != nil {
		return err
	}
	var most int32
	if err := s.Explain("asking about "+k.name, k.lib.funcAttribute(&most, maxThreadsAttribute, k.function)); err != nil {
		return err
	}
	if int64(k.threads) > int64(most) {
		e := &driver.OutOfResources{Kernel: k.name, Device: s.Device.Name, Resource: driver.Threads, Required: int64(k.threads), Limit: int64(most)}
		return sdk.Errorf("%v", e)
	}
	return nil
}

// Name implements native.Code.
func (k *kernel) Name() string { return k.name }

// packed is a launch with its parameters where HIP looks for them: each has eight bytes,
// of which HIP takes as many as the parameter has. It implements native.Launch.
type packed struct {
	kernel *kernel
	grid   [3]uint32 // blocks
	values []uint64
	places []unsafe.Pointer
}

// Prepare implements native.Code.
func (k *kernel) Prepare(l *sdk.DeviceLaunch) (native.Launch, error) {
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
	value, size, wrong := p.kernel.session.Argument(a)
	if wrong != "" {
		return wrong
	}
	if want := p.kernel.params[i].Size; size != want {
		return fmt.Sprintf("it has %s, and the parameter %d", diag.Count(size, "byte"), want)
	}
	p.values[i] = binary.LittleEndian.Uint64(value[:])
	return ""
}

// Reserve implements native.Launch: it sets the parameter of the kernel's scratch memory;
// that of a profiler stays null.
func (p *packed) Reserve() error {
	k := p.kernel
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
	r := k.session.Region(scratch)
	if err := r.Reserve("the scratch memory of "+k.name, size+k.align-1); err != nil {
		return err
	}
	align := uint64(k.align)
	p.values[len(p.values)-scratchParams] = (uint64(r.At) + align - 1) / align * align
	return nil
}

// Ready implements native.Launch.
func (p *packed) Ready() error { return nil }

// Start implements native.Launch.
func (p *packed) Start() error {
	k, stream := p.kernel, p.kernel.session.Stream
	places := unsafe.Pointer(&p.places[0])
	var code status
	if k.cooperative {
		code = k.lib.launchAtOnce(k.function, p.grid[0], p.grid[1], p.grid[2], k.threads, 1, 1, k.shared, stream, places)
	} else {
		code = k.lib.launch(k.function, p.grid[0], p.grid[1], p.grid[2], k.threads, 1, 1, k.shared, stream, places, nil)
	}
	runtime.KeepAlive(p)
	return k.session.Explain("launching "+k.name, code)
}
