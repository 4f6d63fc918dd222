package npu

import "github.com/tritonc/tritonc/core/diag"

func readAlloc(r *reader, in *inst, result regType) {
	in.n = int64(r.count(maxSpace))
	in.lists[0] = r.list(result.rank)
	switch {
	case !result.memory || result.space == GM:
		r.fail("a buffer is in a memory of the core, not of type %s", result)
	case in.n%alignment(result.space) != 0:
		r.fail("buffers in %s begin at multiples of %d, not at %d", result.space, alignment(result.space), in.n)
	}
}

// alignment is that of buffers in a memory of a core.
func alignment(s Space) int64 {
	if s == L0C {
		return 512
	}
	return 32
}

func execAlloc(c *core, in *inst) {
	t := c.p.regs[in.dst]
	v := view{valid: true, space: t.space, elem: t.elem, base: in.n, sizes: c.numbers(in.lists[0])}
	v.strides = dense(v.sizes)
	n := v.count()
	if used := int64(c.p.Used[t.space]); n < 0 || in.n+n*int64(t.elem.Size()) > used {
		c.stop(in, OutOfBounds, "the buffer ends after the part of %s that the program takes, %s", t.space, diag.Count(used, "byte"))
		return
	}
	c.views[in.dst] = v
}

// dense are the strides of what lies row by row.
func dense(sizes []int64) []int64 {
	strides := make([]int64, len(sizes))
	n := int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		strides[d], n = n, n*sizes[d]
	}
	return strides
}

func readWorkspace(r *reader, in *inst, result regType) {
	in.n = int64(r.count(maxWork))
	in.lists[0] = r.list(result.rank)
	if !result.memory || result.space != GM {
		r.fail("a workspace is global memory, not of type %s", result)
	}
	if r.p.Core == GridProgram {
		r.fail("workspaces are for programs of cores")
	}
}

func execWorkspace(c *core, in *inst) {
	t := c.p.regs[in.dst]
	v := view{valid: true, space: GM, elem: t.elem, base: c.workspace + in.n, sizes: c.numbers(in.lists[0])}
	v.strides = dense(v.sizes)
	if n := v.count(); n < 0 || in.n+n*int64(t.elem.Size()) > int64(c.p.Workspace) {
		c.stop(in, OutOfBounds, "the memory ends after the workspace of a core, %s", diag.Count(c.p.Workspace, "byte"))
		return
	}
	c.views[in.dst] = v
}

func readCast(r *reader, in *inst, result regType) {
	in.args = []operand{r.memory()}
	in.lists = [3][]operand{r.list(1), r.list(result.rank), r.list(result.rank)}
	r.sameMemory(in, result)
}

// sameMemory wants the result to be a view of the operand's memory.
func (r *reader) sameMemory(in *inst, result regType) {
	if r.err != nil {
		return
	}
	if t := r.p.regs[in.args[0].reg]; !result.memory || t.space != result.space || t.elem != result.elem {
		r.fail("a view of %s is not of type %s", t, result)
	}
}

// execCast places a view at an offset from the start of the memory that another views.
func execCast(c *core, in *inst) {
	v, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	n := *v
	n.open = false
	n.sizes, n.strides = c.numbers(in.lists[1]), c.numbers(in.lists[2])
	off, ok := mul(c.numberOf(in.lists[0][0]), int64(v.elem.Size()))
	if ok {
		n.base, ok = add(v.origin(), off)
	}
	if !ok {
		c.stop(in, OutOfBounds, "the offset leaves the address space")
		return
	}
	n.start, n.placed = v.origin(), true
	c.views[in.dst] = n
}

func readSubview(r *reader, in *inst, result regType) {
	in.args = []operand{r.memory()}
	if r.err != nil {
		return
	}
	rank := r.p.regs[in.args[0].reg].rank
	in.lists = [3][]operand{r.list(rank), r.list(rank), r.list(rank)}
	r.sameMemory(in, result)
	drop, dropped := r.option("drop")
	if dropped {
		r.words = append([]string{drop}, r.words...)
		in.args = append(in.args, r.dims(rank-result.rank)...)
	} else if rank != result.rank {
		r.fail("the part has %s, the memory %d", diag.Count(result.rank, "dimension"), rank)
	}
	for i := 1; i < len(in.args); i++ {
		if in.args[i].num >= int64(rank) || i > 1 && in.args[i].num <= in.args[i-1].num {
			r.fail("the dimensions to drop must be ascending ones of %d", rank)
			return
		}
	}
}

func execSubview(c *core, in *inst) {
	v, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	n := *v
	n.sizes, n.strides = nil, nil
	offsets, sizes, strides := c.numbers(in.lists[0]), c.numbers(in.lists[1]), c.numbers(in.lists[2])
	drop := in.args[1:]
	n.start, n.placed = v.origin(), true
	for d := range offsets {
		step, ok := mul(offsets[d], v.strides[d])
		if step, ok = scaled(step, int64(v.elem.Size()), ok); ok {
			n.base, ok = add(n.base, step)
		}
		stride, fits := mul(strides[d], v.strides[d])
		if !ok || !fits {
			c.stop(in, OutOfBounds, "the part leaves the address space")
			return
		}
		if sizes[d] > 0 && (offsets[d] < 0 || offsets[d]+(sizes[d]-1)*strides[d] >= v.sizes[d] && !v.open) {
			c.report(in, OutOfBounds, "elements %d to %d of dimension %d are taken, which has %d", offsets[d], offsets[d]+(sizes[d]-1)*strides[d], d, v.sizes[d])
		}
		if len(drop) > 0 && drop[0].num == int64(d) {
			drop = drop[1:]
			continue
		}
		n.sizes, n.strides = append(n.sizes, sizes[d]), append(n.strides, stride)
	}
	c.views[in.dst] = n
}
