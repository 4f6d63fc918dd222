package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/amdgcn"
	"github.com/tritonc/tritonc/driver/sim/ptx"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Module is a decoded file of PTX or of AMD's assembly. It is immutable and serves any number of
// devices.
type Module struct {
	// Usage is what the kernel takes as machine code, for estimates; the loader of the
	// module sets it where it is known.
	Usage simt.Usage

	prog *simt.Program
	src  string
	// lanes of a warp that the code is for, or 0.
	lanes int
}

// Load parses and decodes PTX; file names it in errors, which are
// *diag.Diagnostic values with line and column.
func Load(file string, text []byte) (*Module, error) {
	m, err := ptx.Parse(file, text)
	if err != nil {
		return nil, err
	}
	p, err := ptx.Decode(m)
	if err != nil {
		return nil, err
	}
	return &Module{prog: p, src: m.Src}, nil
}

// LoadAMDGCN parses and decodes assembly for AMD's processors, as Load does PTX.
func LoadAMDGCN(file string, text []byte) (*Module, error) {
	m, err := amdgcn.Parse(file, text)
	if err != nil {
		return nil, err
	}
	p, err := amdgcn.Decode(m)
	if err != nil {
		return nil, err
	}
	return &Module{prog: p, src: m.Src, lanes: amdgcn.Lanes(m)}, nil
}

// Kernels returns the names of the module's kernels, in the order of the text.
func (m *Module) Kernels() []string {
	var out []string
	for i := range m.prog.Funcs {
		if f := &m.prog.Funcs[i]; f.Kernel {
			out = append(out, f.Name)
		}
	}
	return out
}

// Func returns what is known of a function, or nil.
func (m *Module) Func(name string) *simt.Func {
	if i := m.prog.FuncNamed(name); i >= 0 {
		return &m.prog.Funcs[i]
	}
	return nil
}

// Chip holds the properties of a device that kernels can see.
type Chip struct {
	Name        string
	Lanes       int // of a warp
	SMs         int
	MaxWarps    int // resident on an SM
	MaxBlocks   int // resident on an SM
	SharedSM    int // bytes of shared memory of an SM
	SharedBlock int // bytes of it that a block may have
	MaxThreads  int // of a block
	Memory      int64
	MaxCluster  int // blocks of a cluster; 0: there are none
	// Rates are what the model of a launch's time knows of the chip.
	Rates *simt.Rates
}

// Resident is how many blocks of so many threads and bytes of shared memory the device
// holds at a time.
func (c *Chip) Resident(threads, shared int) int {
	n := min(c.MaxBlocks, c.MaxWarps/max((threads+c.Lanes-1)/c.Lanes, 1))
	if shared > 0 {
		n = min(n, c.SharedSM/shared)
	}
	return n * c.SMs
}

// The chips that are known by name. H200 differs from H100 in its memory only.
var (
	A100 = Chip{"A100", 32, 108, 64, 32, 164 << 10, 163 << 10, 1024, 40 << 30, 0, &ratesA100}
	A10  = Chip{"A10", 32, 72, 48, 16, 100 << 10, 99 << 10, 1024, 24 << 30, 0, &ratesA10}
	L40  = Chip{"L40", 32, 142, 48, 24, 100 << 10, 99 << 10, 1024, 48 << 30, 0, &ratesL40}
	H200 = Chip{"H200", 32, 132, 64, 32, 228 << 10, 227 << 10, 1024, 141 << 30, 16, &ratesH200}

	MI210  = Chip{"MI210", 64, 104, 32, 32, 64 << 10, 64 << 10, 1024, 64 << 30, 0, nil}
	MI300X = Chip{"MI300X", 64, 304, 32, 32, 64 << 10, 64 << 10, 1024, 192 << 30, 0, nil}
	MI355X = Chip{"MI355X", 64, 256, 32, 32, 160 << 10, 160 << 10, 1024, 288 << 30, 0, nil}
	RX7900 = Chip{"RX 7900 XTX", 32, 96, 32, 32, 64 << 10, 64 << 10, 1024, 24 << 30, 0, nil}
	RX9060 = Chip{"RX 9060 XT", 32, 32, 32, 32, 64 << 10, 64 << 10, 1024, 16 << 30, 0, nil}
)

// Options configure a device. The zero value is an A100 with all checks on.
type Options struct {
	Chip Chip
	// NoChecks turns off the checks that cost time: undefined values, races in
	// shared memory, conflicts between blocks. Accesses out of bounds, divergent
	// barriers and deadlocks are always found.
	NoChecks bool
	// Waves counts the distinct sectors of the blocks that are resident together,
	// and the misses of a simple second-level cache.
	Waves bool
	// Estimate has the time of launches on the chip estimated.
	Estimate bool
	// Sample executes only so many clusters of a launch, spread over the grid; 0 means
	// all. What the others would write is missing.
	Sample int
	// Workers is how many host cores run blocks; 0 means all.
	Workers int
	// MaxInstructions ends a launch whose block executes more warp instructions;
	// 0 means 1<<30.
	MaxInstructions uint64
	// Random permutes blocks and warps by Seed.
	Random bool
	Seed   uint64
	// Output receives what kernels print; nil drops it.
	Output io.Writer
	// Progress, when not nil, is called after each block that ended, with how
	// many of the launch's have; from one goroutine at a time.
	Progress func(done, total int)
	// Trace, when not nil, is called before every instruction of one warp: warp
	// TraceWarp of the block with number TraceBlock (x counts fastest).
	Trace                 func(simt.TraceStep)
	TraceBlock, TraceWarp int
}

// Device is a simulated GPU. Its methods must not be called at the same time.
type Device struct {
	opt    Options
	mem    *simt.Memory
	loaded map[*Module]*simt.Loaded
}

// New makes a device with empty memory.
func New(opt Options) *Device {
	if opt.Chip.Lanes == 0 {
		opt.Chip = A100
	}
	if opt.MaxInstructions == 0 {
		opt.MaxInstructions = 1 << 30
	}
	return &Device{opt: opt, mem: simt.NewMemory(opt.Chip.Memory), loaded: map[*Module]*simt.Loaded{}}
}

// Buffer is an allocation of device memory.
type Buffer struct {
	b   *simt.Buffer
	mem *simt.Memory
}

// poison fills fresh buffers: a quiet NaN of every floating-point format.
const poison = 0xff

// Alloc allocates n bytes, whose contents are poison until someone writes them.
// The name shows in reports. It panics when the device's memory is full or n is
// negative, like make.
func (d *Device) Alloc(name string, n int) *Buffer {
	b, err := d.TryAlloc(name, n)
	if err != nil {
		panic(err)
	}
	return b
}

// TryAlloc is Alloc with an error.
func (d *Device) TryAlloc(name string, n int) (*Buffer, error) {
	b, err := d.mem.Alloc(name, n, !d.opt.NoChecks)
	if err != nil {
		return nil, err
	}
	for i := range b.Data {
		b.Data[i] = poison
	}
	return &Buffer{b, d.mem}, nil
}

// Addr is the buffer's address as kernels see it.
func (b *Buffer) Addr() uint64 { return b.b.Addr() }

// Len is the buffer's size in bytes.
func (b *Buffer) Len() int { return len(b.b.Data) }

// Write copies data to byte off of the buffer.
func (b *Buffer) Write(off int, data []byte) {
	copy(b.b.Data[off:off+len(data)], data)
	b.b.MarkWritten(off, len(data))
}

// Fill writes one byte everywhere.
func (b *Buffer) Fill(v byte) {
	for i := range b.b.Data {
		b.b.Data[i] = v
	}
	b.b.MarkWritten(0, len(b.b.Data))
}

// Read returns a copy of the contents.
func (b *Buffer) Read() []byte { return append([]byte(nil), b.b.Data...) }

// Free gives the memory back; later accesses by kernels are reported.
func (b *Buffer) Free() { b.mem.Free(b.b) }

// Dim makes a grid or block shape from one to three dimensions.
func Dim(n ...int) [3]int {
	out := [3]int{1, 1, 1}
	copy(out[:], n)
	return out
}

// Report is the outcome of a launch: its counters and findings.
type Report = simt.Report

// Launch runs kernel of mod with blocks of shared bytes of dynamic shared
// memory. The arguments fill the kernel's parameters in order: a *Buffer or nil
// for a pointer, else a Go integer or float of the parameter's size. Parameters
// beyond the arguments that are pointers become null: Triton's kernels end with
// two of them, for scratch memory.
//
// The error is about the arguments, or a *simt.FindingsError with all that the
// kernel did wrong; then the report is there too.
func (d *Device) Launch(mod *Module, kernel string, grid, block [3]int, shared int, args ...any) (*Report, error) {
	return d.LaunchContext(context.Background(), mod, kernel, grid, block, shared, args...)
}

// LaunchContext is Launch that ends early with the context.
func (d *Device) LaunchContext(ctx context.Context, mod *Module, kernel string, grid, block [3]int, shared int, args ...any) (*Report, error) {
	k := mod.prog.FuncNamed(kernel)
	if k < 0 || !mod.prog.Funcs[k].Kernel {
		return nil, fmt.Errorf("the module has no kernel %q", kernel)
	}
	if c := &d.opt.Chip; mod.lanes != 0 && mod.lanes != c.Lanes {
		return nil, fmt.Errorf("kernel %s is for warps of %d lanes, the %s has %d", kernel, mod.lanes, c.Name, c.Lanes)
	}
	params, err := marshal(&mod.prog.Funcs[k], args)
	if err != nil {
		return nil, err
	}
	l, err := d.load(mod)
	if err != nil {
		return nil, err
	}
	c := &d.opt.Chip
	on := !d.opt.NoChecks
	cfg := &simt.Config{
		Lanes: c.Lanes, SMs: c.SMs, MaxWarps: c.MaxWarps, MaxBlocks: c.MaxBlocks,
		SharedSM: c.SharedSM, SharedBlock: c.SharedBlock, MaxThreads: c.MaxThreads, MaxCluster: c.MaxCluster,
		Check: simt.Checks{Undefined: on, Shared: on, Conflicts: on}, Waves: d.opt.Waves,
		Workers: d.opt.Workers, MaxInstructions: d.opt.MaxInstructions,
		Random: d.opt.Random, Seed: d.opt.Seed, Output: d.opt.Output, Progress: d.opt.Progress,
		Trace: d.opt.Trace, TraceBlock: d.opt.TraceBlock, TraceWarp: d.opt.TraceWarp,
		Sample: d.opt.Sample,
	}
	if d.opt.Estimate {
		cfg.Rates = c.Rates
	}
	rep, err := l.Launch(ctx, cfg, simt.Args{Kernel: k, Grid: grid, Block: block, Shared: shared, Params: params, Usage: mod.Usage})
	if err != nil {
		return nil, err
	}
	return rep, rep.Err()
}

// load binds a module to the device, once.
func (d *Device) load(mod *Module) (*simt.Loaded, error) {
	if l := d.loaded[mod]; l != nil {
		return l, nil
	}
	l, err := simt.Load(mod.prog, d.mem, d.opt.Chip.Lanes)
	var le *simt.LoadError
	if errors.As(err, &le) {
		return nil, diag.Errorf(diag.Pos{File: mod.prog.File, Line: le.Line}, "%s: %s", le.Text, le.Why).WithSource(mod.src)
	}
	if err != nil {
		return nil, err
	}
	d.loaded[mod] = l
	return l, nil
}

// marshal lays the arguments out as the kernel's parameters.
func marshal(f *simt.Func, args []any) ([]byte, error) {
	if len(args) > len(f.Params) {
		return nil, fmt.Errorf("kernel %s takes %s, given %d", f.Name, diag.Count(len(f.Params), "argument"), len(args))
	}
	out := make([]byte, f.ParamBytes)
	for i := range f.Params {
		p := &f.Params[i]
		if i >= len(args) {
			if p.Size != 8 || p.Type.Float() {
				return nil, fmt.Errorf("kernel %s takes %s, given %d", f.Name, diag.Count(len(f.Params), "argument"), len(args))
			}
			continue
		}
		v, size, err := encode(args[i])
		if err != nil {
			return nil, fmt.Errorf("argument %d of kernel %s: %w", i+1, f.Name, err)
		}
		if raw, ok := args[i].([]byte); ok {
			if len(raw) != p.Size {
				return nil, fmt.Errorf("argument %d of kernel %s has %s, the parameter %d", i+1, f.Name, diag.Count(len(raw), "byte"), p.Size)
			}
			copy(out[p.Offset:], raw)
			continue
		}
		if size != p.Size {
			return nil, fmt.Errorf("argument %d of kernel %s has %s (%T), the parameter %d", i+1, f.Name, diag.Count(size, "byte"), args[i], p.Size)
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		copy(out[p.Offset:], word[:size])
	}
	return out, nil
}

// encode returns an argument's bits and size.
func encode(a any) (v uint64, size int, err error) {
	switch x := a.(type) {
	case nil:
		return 0, 8, nil
	case *Buffer:
		if x == nil {
			return 0, 8, nil
		}
		return x.Addr(), 8, nil
	case []byte:
		return 0, len(x), nil
	case bool:
		if x {
			return 1, 1, nil
		}
		return 0, 1, nil
	case int8:
		return uint64(x), 1, nil
	case uint8:
		return uint64(x), 1, nil
	case int16:
		return uint64(x), 2, nil
	case uint16:
		return uint64(x), 2, nil
	case int32:
		return uint64(x), 4, nil
	case uint32:
		return uint64(x), 4, nil
	case int64:
		return uint64(x), 8, nil
	case uint64:
		return x, 8, nil
	case float32:
		return uint64(math.Float32bits(x)), 4, nil
	case float64:
		return math.Float64bits(x), 8, nil
	}
	return 0, 0, fmt.Errorf("a %T cannot be passed: use a *sim.Buffer, a sized integer, a float or []byte", a)
}
