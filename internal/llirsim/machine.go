package llirsim

import (
	"context"
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// Target says what the intrinsics of a target do.
type Target struct {
	// Lanes is the size of a warp.
	Lanes int
	// Thread has the intrinsics that a thread computes alone, by name.
	Thread map[string]func(t *Thread, args []uint64) uint64
	// Warp has those that all lanes of a warp compute together: args holds, for
	// each lane, its arguments, and the result is that of each lane.
	Warp map[string]func(args [][]uint64) []uint64
	// Wide has those of them whose arguments and results are vectors, or scalars as
	// vectors of one element: args holds, for each lane, the elements of its
	// arguments.
	Wide map[string]func(args [][][]uint64) [][]uint64
	// Integer has what the device makes of a float that an integer of a width cannot
	// hold, by bits that are cut to it; nil where it is poison, as in LLVM.
	Integer func(x float64, from llir.Type, width int, signed bool) uint64
	// Barrier is the intrinsic at which all threads of a program wait.
	Barrier string
	// Ordering has the intrinsics that only order accesses, which have their effects
	// at once here.
	Ordering map[string]bool
}

// Kernel is a kernel to execute.
type Kernel struct {
	Target *Target
	Module *llir.Module
	// Name is the entry function, Threads how many execute a program, Shared how
	// many bytes of shared memory it has.
	Name            string
	Threads, Shared int
	// MaxSteps is how many instructions a program may execute, 0 for 50 million.
	MaxSteps int
}

// Thread is one thread of a program.
type Thread struct {
	// Index is the thread's number in its program, Program the program's, Grid how
	// many there are.
	Index         int
	Program, Grid [3]int

	p      *program
	frames []*frame
	locals []byte
	// wait is the call that the thread has reached: one that lanes or threads do
	// together.
	wait *ir.InstCall
	done bool
}

// frame is a function that a thread executes.
type frame struct {
	fn    *ir.Func
	block *ir.Block
	prev  *ir.Block
	next  int
	regs  []value
	set   []bool
	// result receives what the function returns, in the caller's frame.
	call *ir.InstCall
}

// program is the state of one program.
type program struct {
	ctx     context.Context
	k       *Kernel
	mem     *Memory
	shared  sharedMemory
	threads []*Thread
	steps   int
	funcs   map[string]*ir.Func
}

// failure is what stops a launch.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Launch executes all programs of a grid, one after the other, until ctx ends.
// Arguments are the bits of the kernel's parameters; those left out are null.
func (k *Kernel) Launch(ctx context.Context, mem *Memory, grid [3]int, args ...uint64) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.err
		default:
			panic(f)
		}
	}()
	for z := range grid[2] {
		for y := range grid[1] {
			for x := range grid[0] {
				k.run(ctx, mem, [3]int{x, y, z}, grid, args)
			}
		}
	}
	return nil
}

func (k *Kernel) run(ctx context.Context, mem *Memory, id, grid [3]int, args []uint64) {
	p := &program{ctx: ctx, k: k, mem: mem, shared: newShared(k.Shared), funcs: make(map[string]*ir.Func)}
	for _, f := range k.Module.IR.Funcs {
		p.funcs[f.GlobalName] = f
	}
	entry := p.funcs[k.Name]
	if entry == nil || len(entry.Blocks) == 0 {
		fail("the module has no function %s", k.Name)
	}
	for i := range k.Threads {
		t := &Thread{Index: i, Program: id, Grid: grid, p: p}
		vals := make([]value, len(entry.Params))
		for j := range vals {
			if j < len(args) {
				vals[j].lo = args[j]
			}
		}
		t.enter(entry, nil, vals)
		p.threads = append(p.threads, t)
	}
	for {
		waiting := 0
		for first := 0; first < len(p.threads); first += k.Target.Lanes {
			waiting += p.runWarp(p.threads[first:min(first+k.Target.Lanes, len(p.threads))])
		}
		switch {
		case waiting == 0:
			return
		case waiting < len(p.threads):
			fail("%d of %d threads wait at a barrier, the others have ended", waiting, len(p.threads))
		}
		at := p.threads[0].wait
		for _, t := range p.threads {
			if t.wait != at {
				fail("threads 0 and %d wait at different barriers", t.Index)
			}
		}
		p.shared.barrier()
		for _, t := range p.threads {
			t.wait = nil
		}
	}
}

// runWarp runs the lanes of a warp until all of them have ended or wait at a
// barrier, and returns how many wait.
func (p *program) runWarp(lanes []*Thread) int {
	for {
		for _, t := range lanes {
			for !t.done && t.wait == nil {
				t.step()
			}
		}
		at := lanes[0].wait
		for i, t := range lanes {
			if t.wait != at || t.done != lanes[0].done {
				fail("lanes 0 and %d of the warp at thread %d part: one is at %s, the other at %s",
					i, lanes[0].Index, place(lanes[0]), place(t))
			}
		}
		if at == nil {
			return 0
		}
		name := at.Callee.(*ir.Func).GlobalName
		if name == p.k.Target.Barrier {
			return len(lanes)
		}
		if wide := p.k.Target.Wide[name]; wide != nil {
			p.callWide(lanes, at, wide)
			continue
		}
		args := make([][]uint64, len(lanes))
		for i, t := range lanes {
			for _, a := range at.Args {
				args[i] = append(args[i], t.get(a).lo)
			}
		}
		for i, r := range p.k.Target.Warp[name](args) {
			lanes[i].define(at, value{lo: r})
			lanes[i].wait = nil
		}
	}
}

// callWide executes a call of an intrinsic on vectors by all lanes.
func (p *program) callWide(lanes []*Thread, at *ir.InstCall, f func([][][]uint64) [][]uint64) {
	args := make([][][]uint64, len(lanes))
	for i, t := range lanes {
		for _, a := range at.Args {
			args[i] = append(args[i], elements(t.get(a)))
		}
	}
	_, isVector := at.Type().(*types.VectorType)
	for i, r := range f(args) {
		v := value{lo: r[0]}
		if isVector {
			v = value{}
			for _, x := range r {
				v.elems = append(v.elems, value{lo: x})
			}
		}
		lanes[i].define(at, v)
		lanes[i].wait = nil
	}
}

// elements are the bits of the elements of a vector, or of a scalar.
func elements(v value) []uint64 {
	if v.elems == nil {
		return []uint64{v.lo}
	}
	var out []uint64
	for _, e := range v.elems {
		out = append(out, e.lo)
	}
	return out
}

func place(t *Thread) string {
	if t.done {
		return "its end"
	}
	return t.wait.LLString()
}

// enter begins a function.
func (t *Thread) enter(fn *ir.Func, call *ir.InstCall, args []value) {
	n := int64(0)
	for _, b := range fn.Blocks {
		for _, i := range b.Insts {
			if r, ok := i.(interface{ ID() int64 }); ok {
				n = max(n, r.ID())
			}
		}
	}
	f := &frame{fn: fn, block: fn.Blocks[0], call: call}
	for _, p := range fn.Params {
		n = max(n, p.ID())
	}
	f.regs, f.set = make([]value, n+1), make([]bool, n+1)
	for i, p := range fn.Params {
		f.regs[p.ID()], f.set[p.ID()] = args[i], true
	}
	t.frames = append(t.frames, f)
}

func (t *Thread) top() *frame { return t.frames[len(t.frames)-1] }

// define gives an instruction its result.
func (t *Thread) define(i interface{ ID() int64 }, v value) {
	f := t.top()
	f.regs[i.ID()], f.set[i.ID()] = v, true
}

// jump goes to a block and computes its phis, all from the old values.
func (t *Thread) jump(to *ir.Block) {
	f := t.top()
	f.prev, f.block, f.next = f.block, to, 0
	var phis []*ir.InstPhi
	var vals []value
	for _, i := range to.Insts {
		phi, ok := i.(*ir.InstPhi)
		if !ok {
			break
		}
		found := false
		for _, in := range phi.Incs {
			if in.Pred == f.prev {
				phis, vals, found = append(phis, phi), append(vals, t.get(in.X)), true
				break
			}
		}
		if !found {
			fail("%s has no value for the block before", phi.LLString())
		}
	}
	for i, phi := range phis {
		t.define(phi, vals[i])
	}
	f.next = len(phis)
}
