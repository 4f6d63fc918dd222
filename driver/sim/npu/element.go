package npu

// indexed takes memory and an index for each dimension.
func (r *reader) indexed(in *inst) regType {
	m := r.memory(GM, UB)
	if r.err != nil {
		return regType{elem: I32}
	}
	in.args = append(in.args, m)
	t := r.p.regs[m.reg]
	in.lists[0] = r.list(t.rank)
	if t.space == GM {
		r.p.touches[PipeS] = true
	}
	return t
}

func readLoad(r *reader, in *inst, result regType) {
	t := r.indexed(in)
	if in.flag = r.keyword("atomic"); result.memory || result.elem != t.elem {
		r.fail("an element of %s is not of type %s", t, result)
	}
}

func readStore(r *reader, in *inst, _ regType) {
	v := r.scalar(NoType)
	t := r.indexed(in)
	in.flag = r.keyword("atomic")
	if r.err == nil && r.p.regs[v.reg].elem != t.elem {
		r.fail("an element of %s is not of type %s", t, r.p.regs[v.reg])
	}
	in.args = append(in.args, v)
}

func readAtomic(r *reader, in *inst, result regType) {
	in.name = r.word()
	v := r.scalar(NoType)
	t := r.indexed(in)
	if r.err == nil && (result != (regType{elem: t.elem}) || r.p.regs[v.reg] != result) {
		r.fail("an element of %s is not of type %s", t, result)
	}
	in.args = append(in.args, v)
	if in.name != assign {
		r.scalarOp(in, []Type{t.elem, t.elem}, regType{elem: t.elem}, -1)
	}
}

// assign is the operation of atomics that only write.
const assign = "assign"

// element is the view of one element.
func (c *core) element(in *inst) (*view, bool) {
	v, ok := c.view(in, in.args[0])
	if !ok {
		return nil, false
	}
	e := &view{valid: true, space: v.space, elem: v.elem, base: v.base}
	for d, o := range in.lists[0] {
		i := c.numberOf(o)
		if i < 0 && !v.open || i >= v.sizes[d] && !v.open {
			c.stop(in, OutOfBounds, "index %d of dimension %d, which has %d", i, d, v.sizes[d])
			return nil, false
		}
		step, fits := mul(i, v.strides[d])
		if step, fits = scaled(step, int64(v.elem.Size()), fits); fits {
			e.base, fits = add(e.base, step)
		}
		if !fits {
			c.stop(in, OutOfBounds, "index %d leaves the address space", i)
			return nil, false
		}
	}
	return e, true
}

// scalarWork is what an access of the scalar unit costs: global memory is as far as it is
// for a transfer.
func scalarWork(v *view) work {
	if v.space != GM {
		return work{} // its issue is all that it costs
	}
	return work{kind: transfers}
}

func execLoad(c *core, in *inst) {
	v, ok := c.element(in)
	if !ok {
		return
	}
	kind := read
	if in.flag {
		kind = atomic
	}
	if a, ok := c.accesses(in, v, kind); ok {
		c.regs[in.dst] = a.get(v.base)
		c.record(in, scalarWork(v))
	}
}

func execStore(c *core, in *inst) {
	v, ok := c.element(in)
	if !ok {
		return
	}
	kind := write
	if in.flag {
		kind = atomic
	}
	if a, ok := c.accesses(in, v, kind); ok {
		a.put(v.base, c.regs[in.args[1].reg])
		c.record(in, scalarWork(v))
	}
}

func execAtomic(c *core, in *inst) {
	v, ok := c.element(in)
	if !ok {
		return
	}
	a, ok := c.accesses(in, v, atomic)
	if !ok {
		return
	}
	old, x := a.get(v.base), c.regs[in.args[1].reg]
	if in.fn != nil {
		x = in.fn(old, x, 0)
	}
	a.put(v.base, x)
	c.regs[in.dst] = old
	c.record(in, scalarWork(v))
}
