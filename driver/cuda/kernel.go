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
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/image"
)

// Kernel is a function of a loaded module. It implements driver.Kernel.
type Kernel struct {
	dev      *Device
	name     string
	module   cu.Module
	function cu.Function
	block    [3]int        // threads
	shared   int           // dynamic, bytes
	params   []image.Param // nil if they are not known
	scratch  int64         // bytes per block
	align    int64         // of the scratch memory, bytes
	form     launchForm

	mu     sync.Mutex // guards values, and keeps the module while a launch needs it
	values paramBlock
	gone   bool // unloaded
}

var _ driver.Kernel = (*Kernel)(nil)

// scratchParams are the parameters after the user's: memory of the kernel's
// own, and of a profiler.
const scratchParams = 2

// defaultShared is the dynamic shared memory that a function may have without
// asking for more.
const defaultShared = 48 << 10

// Load implements driver.Device. The code is a cubin of the GPU's compute capability, or
// PTX of that or a lower one.
func (d *Device) Load(b driver.Binary) (driver.Kernel, error) { return d.load(b) }

func (d *Device) load(b driver.Binary) (*Kernel, error) {
	file, err := image.Parse(b.Code)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	f, err := file.Kernel(b.Kernel)
	if err != nil {
		return nil, diag.Errorf(diag.Pos{}, "%s: %v", b.Name, err)
	}
	p := &d.gpu.properties
	k := &Kernel{
		dev: d, name: f.Name, block: [3]int{p.WarpSize * b.NumWarps, 1, 1}, shared: b.Shared,
		params: f.Params, scratch: int64(b.GlobalScratch), align: max(int64(b.GlobalScratchAlign), 1),
		form: formOf(&b.Metadata),
	}
	if b.NumWarps == 0 {
		k.block = f.Block
	}
	switch {
	case k.block[0] == 0:
		return nil, diag.Errorf(diag.Pos{}, "%s does not say how many threads a block of %s has", b.Name, k.name)
	case k.params != nil && len(k.params) < scratchParams:
		return nil, diag.Errorf(diag.Pos{}, "kernel %s has no parameters for scratch memory, as Triton's kernels have", k.name)
	}
	if err := p.Fits(&driver.Metadata{Kernel: k.name, Shared: k.shared}); err != nil {
		return nil, err
	}
	err = d.gpu.enter(func() error {
		if err := k.loadModule(&b); err != nil {
			return err
		}
		if err := k.prepare(); err != nil {
			return errors.Join(err, k.end())
		}
		return d.own(k)
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// loadModule hands the code to CUDA, which may compile for seconds.
func (k *Kernel) loadModule(b *driver.Binary) (err error) {
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

func (k *Kernel) prepare() (err error) {
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
	p := &k.dev.gpu.properties
	if n := k.block[0] * k.block[1] * k.block[2]; n > most {
		return &driver.OutOfResources{
			Kernel: k.name, Device: p.Name, Resource: driver.Threads, Required: int64(n), Limit: int64(most),
			Err: fmt.Errorf("%s need more registers than a multiprocessor has", diag.Count(n, "thread")),
		}
	}
	if k.shared+static > p.MaxShared {
		return &driver.OutOfResources{
			Kernel: k.name, Device: p.Name, Resource: driver.SharedMemory, Required: int64(k.shared + static), Limit: int64(p.MaxShared),
			Err: fmt.Errorf("%s of it are static", diag.Count(static, "byte")),
		}
	}
	if err := k.form.ready(k.function, k.name); err != nil {
		return err
	}
	if k.shared+static <= defaultShared {
		return nil
	}
	// cu has no call for this one.
	return explainResult(fmt.Sprintf("giving %s %d bytes of shared memory", k.name, k.shared),
		C.cuFuncSetAttribute(handleOf(k.function), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(k.shared)))
}

// Name is the function's.
func (k *Kernel) Name() string { return k.name }

// Unload gives the kernel's code back once its launches have ended.
func (k *Kernel) Unload() error { return k.dev.giveBack(k) }

func (k *Kernel) end() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	k.values.free()
	return explain("unloading "+k.name, k.module.Unload())
}

// maxGrid are the most blocks in each dimension, for all GPUs of today.
var maxGrid = [3]int{math.MaxInt32, math.MaxUint16, math.MaxUint16}

// Launch implements driver.Kernel. Without Launch.Stream it waits for the kernel's end,
// and Result.Time is the time between two events. CUDA cannot stop a kernel: where ctx
// ends first, it runs on.
func (k *Kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	if l.Stream == nil {
		var r driver.Result
		err := within(ctx, func() (err error) {
			r, err = k.launch(&l)
			return err
		})
		var fault *driver.Fault
		if err != nil && (!errors.As(err, &fault) || k.dev.Lost()) {
			return nil, err
		}
		return &r, err
	}
	s, ok := l.Stream.(*Stream)
	if !ok || s.dev.gpu != k.dev.gpu {
		return nil, diag.Errorf(diag.Pos{}, "kernel %s: the stream is one of another device", k.name)
	}
	if err := k.enqueue(s, &l); err != nil {
		return nil, err
	}
	return &driver.Result{}, nil
}

// within runs f, which waits for the GPU, until ctx ends.
func within(ctx context.Context, f func() error) error {
	if ctx.Done() == nil {
		return f()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// launch runs the kernel, waits for it and says how long it took.
func (k *Kernel) launch(l *driver.Launch) (r driver.Result, err error) {
	d := k.dev
	d.gpu.waiting.Lock() // another launch would be in the time
	defer d.gpu.waiting.Unlock()
	k.mu.Lock()
	err = k.loaded()
	k.mu.Unlock()
	if err != nil {
		return r, err
	}
	err = d.gpu.enter(func() (err error) {
		if d.pair == nil {
			if d.pair, err = makeEvents(2); err != nil {
				return err
			}
		}
		if err := d.pair.around(0, d.queue, func() error { return k.enqueue(d.queue, l) }); err != nil {
			return err
		}
		if err := d.queue.sync(); err != nil {
			return err
		}
		if r.Time, err = d.pair.between(0); err != nil {
			return err
		}
		return d.guards(k.name)
	})
	return r, err
}

// enqueue puts a launch into a stream.
func (k *Kernel) enqueue(s *Stream, l *driver.Launch) error {
	g := k.dev.gpu
	if g.lost.Load() {
		return g.errLost()
	}
	for i, n := range l.Grid {
		if n < 1 || n > maxGrid[i] {
			return diag.Errorf(diag.Pos{}, "grid dimension %c is %d: it must be from 1 to %d", "xyz"[i], n, maxGrid[i])
		}
	}
	grid, err := k.form.blocks(l.Grid)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.loaded(); err != nil {
		return err
	}
	if err := k.fill(s, l.Args); err != nil {
		return err
	}
	if k.scratch > 0 {
		if err := k.addScratch(s, grid); err != nil {
			return err
		}
	}
	noted := s.launched(k)
	if e := k.form.launch(g.handle(), k.function, grid, k.block, k.shared, &k.values, s.handle, k.scratch > 0); e != nil {
		if noted {
			s.notLaunched(k)
		}
		if e.fatal() {
			return g.fall(e.Code, "", k.name)
		}
		e.What = "launching " + k.name
		return e
	}
	return nil
}

// loaded says why the kernel cannot be launched any more. The caller holds k.mu.
func (k *Kernel) loaded() error {
	if k.gone {
		return diag.Errorf(diag.Pos{}, "kernel %s was unloaded, or its device closed", k.name)
	}
	return nil
}

// fill sets the parameters, but for those of scratch memory.
func (k *Kernel) fill(s *Stream, args []any) error {
	if want := len(k.params) - scratchParams; k.params != nil && want != len(args) {
		return diag.Errorf(diag.Pos{}, "kernel %s takes %s, given %d", k.name, diag.Count(want, "argument"), len(args))
	}
	if err := k.values.grow(len(args) + scratchParams); err != nil {
		return err
	}
	for i, a := range args {
		v, size, ok := scalar(a)
		if !ok {
			var err error
			if v, size, err = k.memory(s, i, a); err != nil {
				return k.argumentError(i, err)
			}
		}
		if k.params != nil && size != k.params[i].Size {
			return diag.Errorf(diag.Pos{}, "argument %d of kernel %s has %s, given %d", i, k.name, diag.Count(k.params[i].Size, "byte"), size)
		}
		if size != mapBytes {
			k.values.set(i, v)
		}
	}
	for i := range scratchParams {
		k.values.set(len(args)+i, 0)
	}
	return nil
}

// argumentError says which argument err is about.
func (k *Kernel) argumentError(i int, err error) error {
	var d *diag.Diagnostic
	if !errors.As(err, &d) {
		return fmt.Errorf("argument %d of kernel %s: %w", i, k.name, err)
	}
	said := *d
	said.Message = fmt.Sprintf("argument %d of kernel %s: %s", i, k.name, d.Message)
	return &said
}

// scalar is a number's bits and size in bytes.
func scalar(a any) (bits uint64, size int, ok bool) {
	switch v := a.(type) {
	case int32:
		return uint64(uint32(v)), 4, true
	case int64:
		return uint64(v), 8, true
	case int:
		return uint64(v), 8, true
	case float32:
		return uint64(math.Float32bits(v)), 4, true
	case bool:
		if v {
			return 1, 1, true
		}
		return 0, 1, true
	case int8:
		return uint64(uint8(v)), 1, true
	case uint8:
		return uint64(v), 1, true
	case int16:
		return uint64(uint16(v)), 2, true
	case uint16:
		return uint64(v), 2, true
	case uint32:
		return uint64(v), 4, true
	case uint64:
		return v, 8, true
	case float64:
		return math.Float64bits(v), 8, true
	case nil: // a null pointer
		return 0, 8, true
	}
	return 0, 0, false
}

// memory is the address and size of an argument that is memory, or a tensor map, which
// it encodes in place.
func (k *Kernel) memory(s *Stream, i int, a any) (v uint64, size int, err error) {
	switch a := a.(type) {
	case *Buffer:
		return a.Addr(), 8, k.use(s, a)
	case driver.Buffer:
		return 0, 0, diag.Errorf(diag.Pos{}, "it is memory of another device")
	case *driver.TensorMap:
		if err := a.Check(); err != nil {
			return 0, 0, err
		}
		b, ok := a.Buffer.(*Buffer)
		if !ok {
			return 0, 0, diag.Errorf(diag.Pos{}, "it is memory of another device")
		}
		if err := k.use(s, b); err != nil {
			return 0, 0, err
		}
		return 0, mapBytes, k.values.encode(i, b.Addr(), a)
	}
	return 0, 0, diag.Errorf(diag.Pos{}, "a %T cannot be passed to a kernel", a)
}

// use says why a kernel cannot use a buffer.
func (k *Kernel) use(s *Stream, b *Buffer) error {
	if err := b.usable(); err != nil {
		return err
	}
	if g := k.dev.gpu; b.dev.gpu != g && !g.reaches(b.dev.gpu) {
		return diag.Errorf(diag.Pos{}, "%s is memory of GPU %d, and the kernel runs on GPU %d", b.name, b.dev.gpu.number, g.number).
			WithHelp("EnablePeer lets the kernels of a GPU access memory of another one")
	}
	if s.graph != nil {
		s.graph.buffers = append(s.graph.buffers, b)
	}
	return nil
}

// addScratch sets the parameter of the kernel's scratch memory.
func (k *Kernel) addScratch(s *Stream, grid [3]int) error {
	size := k.scratch
	for _, n := range grid {
		if size > math.MaxInt64/int64(n)-k.align {
			return k.dev.gpu.enter(func() error { return k.dev.tooLarge("scratch memory", math.MaxInt64) })
		}
		size *= int64(n)
	}
	base, err := s.scratchMemory(size + k.align - 1)
	if err != nil {
		return err
	}
	k.values.set(len(k.values.slots)-scratchParams, (uint64(base)+uint64(k.align)-1)/uint64(k.align)*uint64(k.align))
	return nil
}

// handleOf is a function's handle: cu's Function is a struct of it alone.
func handleOf(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
