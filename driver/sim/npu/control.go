package npu

import "strings"

func readScalar(r *reader, in *inst, result regType) {
	predicate := int64(-1)
	var types []Type
	for len(r.words) > 0 && len(types) < 4 {
		if p, ok := r.option("predicate"); ok {
			predicate = r.numberOf(p)
			continue
		}
		o := r.scalar(NoType)
		if r.err != nil {
			return
		}
		in.args, types = append(in.args, o), append(types, r.p.regs[o.reg].elem)
	}
	r.scalarOp(in, types, result, predicate)
	for len(in.args) < 3 {
		in.args = append(in.args, in.args[0]) // which the operation ignores
	}
}

// scalarOp finds what the instruction's operation does.
func (r *reader) scalarOp(in *inst, operands []Type, result regType, predicate int64) {
	if r.err != nil {
		return
	}
	f, err := scalarFor(in.name, operands, result.elem, predicate)
	if err == nil && result.memory && in.dst >= 0 {
		r.fail("%s does not make memory", in.name)
	}
	if err != nil {
		r.fail("%v", err)
	}
	in.fn = f
}

func execScalar(c *core, in *inst) {
	a := in.args
	c.regs[in.dst] = in.fn(c.regs[a[0].reg], c.regs[a[1].reg], c.regs[a[2].reg])
}

func readConst(r *reader, in *inst, result regType) {
	in.n = r.number()
	if result.memory {
		r.fail("there are no constants of type %s", result)
		return
	}
	in.n &= int64(result.elem.mask())
}

func readMove(r *reader, in *inst, result regType) {
	reg := r.register(r.word(), false)
	if r.err == nil && r.p.regs[reg] != result {
		r.fail("%%%d has the type %s, not %s", reg, r.p.regs[reg], result)
	}
	in.args = []operand{{reg: reg}}
}

func execMove(c *core, in *inst) {
	from := in.args[0].reg
	c.regs[in.dst], c.views[in.dst] = c.regs[from], c.views[from]
}

// readPlace is for what a program of a core asks of the core.
func readPlace(r *reader, in *inst, result regType) {
	if result.memory || result.elem.float() || result.elem < I32 {
		r.fail("%s is an i32, i64 or index, not %s", in.op.name, result)
	}
	if r.p.Core == GridProgram {
		r.fail("%s is for programs of cores", in.op.name)
	}
}

func (r *reader) target(i int) {
	r.jumps = append(r.jumps, jump{inst: len(r.p.code), target: i, line: r.line, label: r.word()})
}

func readJump(r *reader, _ *inst, _ regType) { r.target(0) }

func readBranch(r *reader, in *inst, _ regType) {
	in.args = []operand{r.scalar(I1)}
	r.target(0)
	r.target(1)
}

func execBranch(c *core, in *inst) {
	if c.regs[in.args[0].reg] != 0 {
		c.pc = in.targets[0]
	} else {
		c.pc = in.targets[1]
	}
}

func readAssert(r *reader, in *inst, _ regType) {
	in.args = []operand{r.scalar(I1)}
	in.name = strings.Join(r.words, " ")
	r.words = nil
}

func execAssert(c *core, in *inst) {
	if c.regs[in.args[0].reg] == 0 {
		c.stop(in, AssertionFailed, "%s", in.name)
	}
}

func readFlag(r *reader, in *inst, _ regType) {
	in.from = Pipe(r.choice(pipeNames[:], "pipe"))
	in.to = Pipe(r.choice(pipeNames[:], "pipe"))
	in.n = int64(r.count(events - 1))
	in.pipe = in.from
	if in.op.name == "wait_flag" {
		in.pipe = in.to
	}
	if in.from == in.to {
		r.fail("a flag is between two pipes")
	}
}

func execSetFlag(c *core, in *inst) {
	f := &c.flags[in.from][in.to][in.n]
	if f.set {
		d := c.report(in, FlagTwice, "flag %d from %s to %s is set again before %s has waited for it", in.n, in.from, in.to, in.to)
		if d != nil {
			o := &c.p.code[f.inst]
			d.Other, d.OtherText = o.loc, c.p.textOf(o)
		}
	}
	*f = flag{set: true, known: c.clocks[in.from], inst: in.index, event: c.record(in, work{})}
}

func execWaitFlag(c *core, in *inst) {
	f := &c.flags[in.from][in.to][in.n]
	if !f.set {
		c.stop(in, Deadlock, "pipe %s waits for flag %d from %s, which no instruction before sets", in.to, in.n, in.from)
		return
	}
	f.set = false
	c.clocks[in.to].join(&f.known)
	c.record(in, work{after: f.event + 1})
}

func readBarrier(r *reader, in *inst, _ regType) {
	in.from = Pipe(r.choice(pipeNames[:], "pipe"))
}

func execBarrier(c *core, in *inst) {
	known := c.clocks[in.from]
	for q := range c.clocks {
		c.clocks[q].join(&known)
	}
	c.record(in, work{after: c.trace.last[in.from]})
}

// leftFlags reports flags that nobody has waited for when the program ends.
func (c *core) leftFlags() {
	for from := range numPipes {
		for to := range numPipes {
			for n := range events {
				if f := &c.flags[from][to][n]; f.set {
					c.report(&c.p.code[f.inst], FlagLeft, "flag %d from %s to %s is still set when the program ends", n, from, to)
				}
			}
		}
	}
}
