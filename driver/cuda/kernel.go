package cuda

/*
#include <cuda.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/driver/image"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// kernel is a function of a loaded module. It implements sdk.DeviceKernel.
type kernel struct {
	session  *session
	name     string
	module   cu.Module
	function cu.Function
	block    [3]int        // threads
	shared   int           // dynamic, bytes
	params   []image.Param // nil if they are not known
	scratch  int64         // bytes per block
	align    int64         // of the scratch memory, bytes
	form     launchForm
}

// scratchParams are the parameters after the user's: memory of the kernel's
// own, and of a profiler.
const scratchParams = 2

// defaultShared is the dynamic shared memory that a function may have without
// asking for more.
const defaultShared = 48 << 10

// Load implements sdk.Device.
func (s *session) Load(_ context.Context, b sdk.DeviceBinary) (sdk.DeviceKernel, error) {
	file, err := image.Parse(b.Code)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	f, err := file.Kernel(b.Kernel)
	if err != nil {
		return nil, sdk.Errorf("%s: %v", b.Name, err)
	}
	k := &kernel{
		session: s, name: f.Name, block: [3]int{s.properties.WarpSize * b.NumWarps, 1, 1}, shared: int(b.Shared),
		params: f.Params, scratch: b.GlobalScratchSize, align: max(b.GlobalScratchAlign, 1),
		form: formOf(&b),
	}
	if b.NumWarps == 0 {
		k.block = f.Block
	}
	switch {
	case k.block[0] == 0:
		return nil, sdk.Errorf("%s does not say how many threads a block of %s has", b.Name, k.name)
	case b.Shared > int64(s.properties.MaxShared):
		return nil, sdk.Errorf("kernel %s needs %d bytes of shared memory; a block of the %s has at most %d", k.name, b.Shared, s.properties.Name, s.properties.MaxShared)
	}
	// CUDA may compile for seconds; several sessions wait for that at once.
	if err := s.gpu.apart(func() error { return k.load(&b) }); err != nil {
		return nil, err
	}
	if err := s.gpu.do(k.ready); err != nil {
		return nil, err
	}
	return k, nil
}

// load hands the code to CUDA.
func (k *kernel) load(b *sdk.DeviceBinary) (err error) {
	log := &cu.JITErrorLogBuffer{Buffer: make([]byte, 16<<10)}
	if k.module, err = cu.LoadDataEx(string(b.Code), log); err != nil {
		text, _, _ := strings.Cut(string(log.Buffer), "\x00")
		err := explain("loading "+b.Name, err)
		if text = strings.TrimSpace(text); text != "" {
			err = fmt.Errorf("%w\n%s", err, text)
		}
		return err
	}
	return nil
}

// ready makes the session have the kernel.
func (k *kernel) ready() error {
	if err := k.prepare(); err != nil {
		return errors.Join(err, explain("unloading "+k.name, k.module.Unload()))
	}
	k.session.kernels[k] = true
	return nil
}

func (k *kernel) prepare() (err error) {
	if k.function, err = k.module.Function(k.name); err != nil {
		return explain("finding "+k.name, err)
	}
	// Asking also has CUDA load a function that it would load with the first
	// launch, inside its time.
	most, err := k.function.Attribute(cu.FnMaxThreadsPerBlock)
	if err != nil {
		return explain("asking about "+k.name, err)
	}
	static, err := k.function.Attribute(cu.SharedSizeBytes)
	if err != nil {
		return explain("asking about "+k.name, err)
	}
	p := &k.session.properties
	if n := k.block[0] * k.block[1] * k.block[2]; n > most {
		return sdk.Errorf("a block of kernel %s has %d threads; the %s runs at most %d of it, for the registers that they need", k.name, n, p.Name, most)
	}
	if k.shared+static > p.MaxShared {
		return sdk.Errorf("kernel %s needs %d bytes of shared memory, %d of them static; a block of the %s has at most %d",
			k.name, k.shared+static, static, p.Name, p.MaxShared)
	}
	if err := k.form.ready(k.function, k.name); err != nil {
		return err
	}
	if k.shared+static <= defaultShared {
		return nil
	}
	// cu has no call for this one.
	if e := C.cuFuncSetAttribute(handleOf(k.function), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(k.shared)); e != C.CUDA_SUCCESS {
		return &Error{What: fmt.Sprintf("giving %s %d bytes of shared memory", k.name, k.shared), Code: int(e)}
	}
	return nil
}

// maxGrid are the most blocks in each dimension, for all GPUs of today.
var maxGrid = [3]int{math.MaxInt32, math.MaxUint16, math.MaxUint16}

// Launch implements sdk.DeviceKernel.
func (k *kernel) Launch(_ context.Context, l sdk.DeviceLaunch) (sdk.DeviceResult, error) {
	var r sdk.DeviceResult
	slots, err := k.check(&l)
	if err != nil {
		return r, err
	}
	err = k.session.gpu.do(func() error { return k.launch(&l, slots, &r) })
	return r, err
}

// check refuses what cannot be launched, and else returns the parameters.
func (k *kernel) check(l *sdk.DeviceLaunch) ([]slot, error) {
	for i, n := range l.Grid {
		if n < 1 || n > maxGrid[i] {
			return nil, sdk.Errorf("grid dimension %c is %d: it must be from 1 to %d", "xyz"[i], n, maxGrid[i])
		}
	}
	return k.arguments(l)
}

// slot is a parameter: a value of up to 8 bytes, or the tensor map of the array at an
// address.
type slot struct {
	value  uint64
	tensor *sdk.DeviceTensorMap
}

// arguments are the parameters, with those of scratch memory still zero.
func (k *kernel) arguments(l *sdk.DeviceLaunch) ([]slot, error) {
	switch want := len(k.params) - scratchParams; {
	case k.params == nil:
	case want < 0:
		return nil, sdk.Errorf("kernel %s has no parameters for scratch memory, as Triton's kernels have", k.name)
	case want != len(l.Args):
		return nil, sdk.Errorf("kernel %s takes %d arguments, given %d", k.name, want, len(l.Args))
	}
	slots := make([]slot, len(l.Args)+scratchParams)
	for i, a := range l.Args {
		size := 8
		switch b, _ := a.Buffer.(*buffer); {
		case b != nil && a.Map != nil:
			slots[i] = slot{b.Addr(), a.Map}
			size = mapBytes
		case b != nil:
			slots[i].value = b.Addr()
		case len(a.Scalar) > 0:
			size = len(a.Scalar)
			for k, v := range a.Scalar {
				slots[i].value |= uint64(v) << (8 * k)
			}
		}
		if k.params != nil && size != k.params[i].Size {
			return nil, sdk.Errorf("argument %d of kernel %s has %d bytes, given %d", i, k.name, k.params[i].Size, size)
		}
	}
	return slots, nil
}

// prepared is a kernel with its parameters, ready to be launched any number of times.
type prepared struct {
	*kernel
	grid    [3]int // of blocks
	params  *paramBlock
	scratch cu.DevicePtr // 0 where the kernel needs none
}

// prepareLaunch gives the kernel its scratch memory and lays its parameters out; release
// gives both back.
func (k *kernel) prepareLaunch(l *sdk.DeviceLaunch, slots []slot) (p *prepared, err error) {
	p = &prepared{kernel: k}
	if p.grid, err = k.form.blocks(l.Grid); err != nil {
		return nil, err
	}
	if k.scratch > 0 {
		blocks := int64(p.grid[0]) * int64(p.grid[1]) * int64(p.grid[2])
		if blocks > math.MaxInt64/k.scratch-k.align {
			return nil, k.session.tooLarge("scratch memory", math.MaxInt64)
		}
		if err := explain("scratch memory", allocate(&p.scratch, blocks*k.scratch+k.align-1)); err != nil {
			return nil, err
		}
		slots[len(slots)-scratchParams].value = (uint64(p.scratch) + uint64(k.align) - 1) / uint64(k.align) * uint64(k.align)
	}
	if p.params, err = newParamBlock(slots); err != nil {
		return nil, errors.Join(err, p.release(false))
	}
	return p, nil
}

// release gives back what prepareLaunch took; a lost device has nothing to give.
func (p *prepared) release(lost bool) error {
	if p.params != nil {
		p.params.free()
	}
	if p.scratch == 0 || lost {
		return nil
	}
	return explain("freeing scratch memory", cu.MemFree(p.scratch))
}

// enqueue launches the kernel and does not wait for it.
func (p *prepared) enqueue(s cu.Stream) error {
	if err := p.form.launch(p.function, p.grid, p.block, p.shared, p.params, s); err != nil {
		err.What += " " + p.name
		return err
	}
	return nil
}

// finish waits for all that was launched. What went wrong is r.Fault, and the device is
// lost then.
func (p *prepared) finish(r *sdk.DeviceResult) (err error) {
	fault := explain("kernel "+p.name, cu.Synchronize())
	if r.Output, err = p.session.out.collect(); err != nil {
		return fmt.Errorf("reading what %s printed: %w", p.name, err)
	}
	if fault != nil {
		r.Lost = true
		p.session.gpu.lost.Store(true)
		r.Fault = []sdk.Diagnostic{*sdk.Errorf("%v", fault).
			WithHelp("--device sim runs the kernel on a simulated GPU, which says where in the source this happens")}
	}
	return nil
}

// launch runs the kernel and waits for it.
func (k *kernel) launch(l *sdk.DeviceLaunch, slots []slot, r *sdk.DeviceResult) (err error) {
	p, err := k.prepareLaunch(l, slots)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.release(r.Lost)) }()
	events, err := makeEvents(2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, events.destroy(r.Lost)) }()
	if err := events.around(0, cu.NoStream, func() error { return p.enqueue(cu.NoStream) }); err != nil {
		return err
	}
	if err := p.finish(r); err != nil || r.Lost {
		return err
	}
	if r.Time, err = events.between(0); err != nil {
		return err
	}
	return k.guards(r)
}

// guards looks at the memory around the session's buffers.
func (k *kernel) guards(r *sdk.DeviceResult) error {
	var said []string
	for b := range k.session.buffers {
		text, err := b.damage()
		if err != nil {
			return err
		}
		if text != "" {
			said = append(said, text)
		}
	}
	slices.Sort(said) // a map has no order
	for _, text := range said {
		r.Fault = append(r.Fault, *sdk.Errorf("%s", text).
			WithHelp("--device sim runs the kernel on a simulated GPU, which says where in the source this happens"))
	}
	return nil
}
