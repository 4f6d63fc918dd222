package npu

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Options configure a device.
type Options struct {
	Chip  *chip.Chip
	Costs chip.Costs
	// NoChecks turns off the checks that cost time: the order of pipes and programs, and
	// global memory that nobody wrote.
	NoChecks bool
	// MaxInstructions ends a program that executes more; 0 means 1<<32.
	MaxInstructions uint64
	// Progress, when not nil, is called after each program that ended.
	Progress func(done, total int)
}

// Memory is how many bytes of global memory a device has.
const Memory = 64 << 30

// poison is what is in memory at first: a NaN of every type.
const poison = 0xff

// Device is a simulated NPU. Its methods must not be called at the same time.
type Device struct {
	opt Options
	mem *simt.Memory
}

// New makes a device with empty memory.
func New(opt Options) *Device {
	if opt.MaxInstructions == 0 {
		opt.MaxInstructions = 1 << 32
	}
	return &Device{opt, simt.NewMemory(Memory)}
}

// Alloc allocates n bytes of global memory. The name shows in reports.
func (d *Device) Alloc(name string, n int) (*simt.Buffer, error) {
	b, err := d.mem.Alloc(name, n, !d.opt.NoChecks)
	if err != nil {
		return nil, err
	}
	for i := range b.Data {
		b.Data[i] = poison
	}
	return b, nil
}

// Free gives a buffer back.
func (d *Device) Free(b *simt.Buffer) { d.mem.Free(b) }

// run is a launch under way.
type run struct {
	opt      *Options
	mem      *simt.Memory
	prog     *Program
	cores    int // that run it
	programs int // that may run at a time: those of the grid, or the cores
	grid     [3]int
	args     []uint64
	owners   map[*simt.Buffer]*owners
	traffic  traffic
	syncs    int32 // how often all cores have waited for one another
	found    findings
	stopped  bool
}

// Launch runs a program for each place of a grid. The arguments fill the parameters in
// order: a *simt.Buffer or nil for memory, else a Go integer, bool or float of the
// parameter's size.
//
// The error is about the arguments, or a *FindingsError with what the program did wrong;
// then the report is there, too.
func (d *Device) Launch(ctx context.Context, p *Program, grid [3]int, args ...any) (*Report, error) {
	r := &run{opt: &d.opt, mem: d.mem, prog: p, grid: grid, owners: map[*simt.Buffer]*owners{}, traffic: traffic{}}
	blocks, err := blocksOf(grid)
	if err != nil {
		return nil, err
	}
	if err := d.Fits(p); err != nil {
		return nil, err
	}
	if r.args, err = p.marshal(args); err != nil {
		return nil, err
	}
	traces, rep, err := r.all(ctx, blocks)
	if err != nil {
		return nil, err
	}
	rep.traces = traces
	rep.time(&d.opt.Costs)
	rep.Findings = r.found.list
	if len(rep.Findings) > 0 {
		return rep, &FindingsError{rep.Findings}
	}
	return rep, nil
}

// FindingsError is what a launch found.
type FindingsError struct{ Findings []*Finding }

func (e *FindingsError) Error() string {
	return fmt.Sprintf("%s: %s", e.Findings[0].Kind, e.Findings[0].Message)
}

// blocksOf is how many programs a grid has.
func blocksOf(grid [3]int) (int, error) {
	n := 1
	for i, g := range grid {
		if g < 1 {
			return 0, fmt.Errorf("grid dimension %c is %d", 'x'+rune(i), g)
		}
		if n > math.MaxInt/g {
			n = math.MaxInt
		} else {
			n *= g
		}
	}
	if n > chip.MaxBlocks {
		return 0, diag.Errorf(diag.Pos{}, "a grid of %d × %d × %d has %d programs; an NPU launches at most %d", grid[0], grid[1], grid[2], n, chip.MaxBlocks).
			WithHelp("have each program do more: larger blocks, or a loop over several")
	}
	return n, nil
}

// Fits returns an error where a program is for another chip or does not fit.
func (d *Device) Fits(p *Program) error {
	c := d.opt.Chip
	if p.Chip != c.Name {
		return fmt.Errorf("%s is for %s, the device is %s", p.file, p.Chip, c.Name)
	}
	for s, most := range memories(c) {
		if p.Used[s] > most {
			return fmt.Errorf("kernel %s takes %s of %s; a core of %s has %d", p.Kernel, diag.Count(p.Used[s], "byte"), Space(s), c.Name, most)
		}
	}
	return nil
}

// memories are the sizes of the memories of a core of a chip; that of global memory is left
// out.
func memories(c *chip.Chip) [numSpaces]int {
	return [numSpaces]int{UB: c.UB, L1: c.L1, L0A: c.L0A, L0B: c.L0B, L0C: c.L0C}
}

// cube reports whether a program needs a cube core.
func (p *Program) cube() bool {
	return p.Core == AICore || p.Core == GridProgram && p.Used[L1]+p.Used[L0A]+p.Used[L0B]+p.Used[L0C] > 0
}

// all executes the program on all cores, one after the other, each as far as it does not
// wait for the others; what they do to memory does not depend on it unless there is a finding.
func (r *run) all(ctx context.Context, blocks int) ([]*trace, *Report, error) {
	c := r.opt.Chip
	cores := c.Vectors
	if r.prog.cube() {
		cores = c.Cubes
	}
	if err := r.room(blocks, cores); err != nil {
		return nil, nil, err
	}
	rep := &Report{Kernel: r.prog.Kernel, Chip: c.Name, Grid: r.grid, Programs: blocks, Used: r.prog.Used, Sizes: memories(c), prog: r.prog, cubes: c.Cubes}
	r.cores = min(cores, blocks)
	r.programs = r.cores
	if r.prog.Core == GridProgram {
		r.programs = blocks
	}
	work, err := r.workspace()
	if err != nil {
		return nil, nil, err
	}
	if work != nil {
		defer r.mem.Free(work)
	}
	traces := make([]*trace, r.cores)
	for i := range traces {
		traces[i] = &trace{}
	}
	ended := 0
	// execute has a core go on, and returns those that then wait for others: it or none.
	execute := func(c *core) ([]*core, error) {
		if err := c.execute(ctx); err != nil {
			return nil, err
		}
		if c.waits != nil {
			return []*core{c}, nil
		}
		rep.add(c)
		ended++
		if r.opt.Progress != nil {
			r.opt.Progress(ended, r.programs)
		}
		return nil, nil
	}
	var waiting []*core
	for i := 0; i < r.programs && !r.stopped; i++ {
		id := i % r.cores
		t := traces[id]
		t.flush()
		t.start()
		core := newCore(r, id, i, t)
		if work != nil {
			core.workspace = int64(work.Addr()) + int64(id)*int64(r.prog.Workspace)
		}
		r.parameters(core)
		more, err := execute(core)
		if err != nil {
			return nil, nil, err
		}
		waiting = append(waiting, more...)
	}
	for len(waiting) > 0 && !r.stopped && r.meet(waiting) {
		cores := waiting
		waiting = nil
		for _, core := range cores {
			if r.stopped {
				break
			}
			more, err := execute(core)
			if err != nil {
				return nil, nil, err
			}
			waiting = append(waiting, more...)
		}
	}
	for _, core := range waiting { // for ever
		rep.add(core)
	}
	for _, t := range traces {
		t.flush()
	}
	r.settle(traces)
	return traces, rep, nil
}

// workspace allocates the cores' own global memory, if they need any.
func (r *run) workspace() (*simt.Buffer, error) {
	if r.prog.Workspace == 0 {
		return nil, nil
	}
	return r.mem.Alloc("workspace", r.prog.Workspace*r.cores, !r.opt.NoChecks)
}

// parameters gives a core the arguments, and its place in the grid.
func (r *run) parameters(c *core) {
	for i, reg := range r.prog.params {
		if i >= len(r.args) {
			break
		}
		c.regs[reg] = r.args[i]
		if t := r.prog.regs[reg]; t.memory {
			v := view{valid: true, space: GM, elem: t.elem, base: int64(r.args[i]), open: true}
			v.sizes = make([]int64, t.rank)
			for d := range v.sizes {
				v.sizes[d] = 1
			}
			v.strides = dense(v.sizes)
			c.views[reg] = v
		}
	}
	place := []int{r.grid[0], r.grid[1], r.grid[2], c.number % r.grid[0], c.number / r.grid[0] % r.grid[1], c.number / r.grid[0] / r.grid[1]}
	for i, reg := range r.prog.params[len(r.args):] {
		c.regs[reg] = uint64(place[i])
	}
}

// marshal is the arguments' bits.
func (p *Program) marshal(args []any) ([]uint64, error) {
	if want := p.Params(); len(args) != want {
		return nil, fmt.Errorf("kernel %s takes %s, given %d", p.Kernel, diag.Count(want, "argument"), len(args))
	}
	out := make([]uint64, len(args))
	for i, a := range args {
		t := p.regs[p.params[i]]
		size := t.elem.Size()
		if t.memory {
			size = 8
		}
		bits, n, err := bitsOf(a)
		if err == nil && n != size {
			err = fmt.Errorf("it has %s (%T), the parameter %d", diag.Count(n, "byte"), a, size)
		}
		if err != nil {
			return nil, fmt.Errorf("argument %d of kernel %s: %w", i+1, p.Kernel, err)
		}
		out[i] = bits
		if !t.memory {
			out[i] &= t.elem.mask()
		}
	}
	return out, nil
}

var errArgument = errors.New("a program takes buffers, integers of a size, floats and booleans")

// bitsOf is an argument's bits and size.
func bitsOf(a any) (v uint64, size int, err error) {
	switch x := a.(type) {
	case nil:
		return 0, 8, nil
	case *simt.Buffer:
		return x.Addr(), 8, nil
	case bool:
		return truth(x), 1, nil
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
	return 0, 0, fmt.Errorf("%w, not a %T", errArgument, a)
}
