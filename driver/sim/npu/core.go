package npu

import "context"

// core is one core as it executes a program.
type core struct {
	run    *run
	p      *Program
	id     int // of the core
	number int // of the program in the grid, or of the core
	pc     int
	regs   []uint64
	views  []view
	mem    [numSpaces]local
	// workspace is the address of the core's own global memory.
	workspace int64

	clocks  [numPipes]clocks
	flags   [numPipes][numPipes][events]flag
	reaches []reach
	// single is set while an instruction accesses one element of many.
	single bool

	// waits is the instruction in which the core waits for the others, nil while it runs.
	waits *inst

	trace             *trace
	bytesIn, bytesOut int64
	steps             uint64
	stopped           bool
}

// newCore makes a core that begins the program; which is the program's number.
func newCore(r *run, id, number int, t *trace) *core {
	c := &core{
		run: r, p: r.prog, id: id, number: number, trace: t,
		regs: make([]uint64, len(r.prog.regs)), views: make([]view, len(r.prog.regs)),
	}
	for s := range c.mem {
		n := c.p.Used[s]
		c.mem[s].data, c.mem[s].written = make([]byte, n), make([]bool, n)
		if !r.opt.NoChecks && n > 0 {
			c.mem[s].shadow = newShadow(n)
		}
	}
	return c
}

// execute runs the program to its end, to a fault, or to where it waits for other cores.
func (c *core) execute(ctx context.Context) error {
	for c.pc < len(c.p.code) && !c.stopped && c.waits == nil {
		if c.steps&(1<<12-1) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		in := &c.p.code[c.pc]
		if c.steps++; c.steps > c.run.opt.MaxInstructions {
			c.stop(in, TooLong, "the program has executed %d instructions", c.run.opt.MaxInstructions)
			break
		}
		c.pc++
		c.clocks[in.pipe][in.pipe]++
		c.trace.scalars++
		in.op.exec(c, in)
	}
	if !c.stopped && c.waits == nil {
		c.leftFlags()
	}
	return nil
}

// view is the memory that a register views; ok is false, and the program ends, where no
// instruction has written the register.
func (c *core) view(in *inst, o operand) (*view, bool) {
	v := &c.views[o.reg]
	if !v.valid {
		c.stop(in, Unwritten, "register %%%d is read and was never written", o.reg)
		return nil, false
	}
	return v, true
}

// numberOf is what an operand of type index has.
func (c *core) numberOf(o operand) int64 {
	if o.reg < 0 {
		return o.num
	}
	return int64(c.regs[o.reg])
}

func (c *core) numbers(list []operand) []int64 {
	out := make([]int64, len(list))
	for i, o := range list {
		out[i] = c.numberOf(o)
	}
	return out
}
