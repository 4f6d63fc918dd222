package npu

import "github.com/tritonc/tritonc/core/diag"

func (r *reader) typeOf(o operand) regType {
	if r.err != nil {
		return regType{elem: I32}
	}
	return r.p.regs[o.reg]
}

// atomicOps are what transfers to global memory can do to what is there.
var atomicOps = map[string]bool{
	"arith.addf": true, "arith.addi": true,
	"arith.maximumf": true, "arith.maxnumf": true, "arith.maxsi": true,
	"arith.minimumf": true, "arith.minnumf": true, "arith.minsi": true,
}

func readDMA(r *reader, in *inst, _ regType) {
	in.args = []operand{r.memory(), r.memory()}
	from, to := r.typeOf(in.args[0]), r.typeOf(in.args[1])
	pipe, ok := transferPipes[[2]Space{from.space, to.space}]
	if !ok && r.err == nil {
		r.fail("no pipe copies from %s to %s", from.space.name(), to.space.name())
	}
	in.pipe = pipe
	r.touch(in)
	if in.name, ok = r.option("atomic"); ok {
		if !atomicOps[in.name] || to.space != GM {
			r.fail("there is no atomic transfer %s to %s", in.name, to.space.name())
		}
		r.scalarOp(in, []Type{to.elem, to.elem}, regType{elem: to.elem}, -1)
	}
	switch {
	case from.rank != to.rank:
		r.fail("%s and %s differ in their dimensions", from, to)
	case from.elem != to.elem && (from.space != L0C || from.elem != F32 || !to.elem.float()):
		r.fail("no transfer from %s to %s makes %s of %s", from.space, to.space, to.elem, from.elem)
	}
}

// touch notes that the pipe of an instruction accesses global memory, if it does.
func (r *reader) touch(in *inst) {
	for _, o := range in.args {
		if t := r.typeOf(o); t.memory && t.space == GM {
			r.p.touches[in.pipe] = true
		}
	}
}

// shapes are views of one shape; ok is false, and the program ends, where one is not there
// or the shapes differ. Views without elements are not accessed: then nothing is to be done.
func (c *core) shapes(in *inst, operands ...operand) (views []*view, n int64, ok bool) {
	for _, o := range operands {
		v, ok := c.view(in, o)
		if !ok {
			return nil, 0, false
		}
		views = append(views, v)
	}
	return views, c.sameShape(in, views), !c.stopped
}

// sameShape is how many elements views of one shape have.
func (c *core) sameShape(in *inst, views []*view) int64 {
	first := views[0]
	for _, v := range views[1:] {
		for d := range first.sizes {
			if len(v.sizes) != len(first.sizes) || v.sizes[d] != first.sizes[d] {
				c.stop(in, WrongShape, "the shapes %v and %v differ", first.sizes, v.sizes)
				return 0
			}
		}
	}
	n := first.count()
	if n < 0 {
		c.stop(in, WrongShape, "there is no memory of the shape %v", first.sizes)
		return 0
	}
	return n
}

func execDMA(c *core, in *inst) {
	views, n, ok := c.shapes(in, in.args...)
	if !ok {
		return
	}
	from, to := views[0], views[1]
	if n > 0 {
		a, ok := c.copied(in, from, to.space)
		if !ok {
			return
		}
		bad := undefined(in, [3]input{{a: a}}, n)
		kind := write
		if in.fn != nil {
			kind = atomic
		}
		b, ok := c.accesses(in, to, kind)
		if !ok {
			return
		}
		b.undefine(bad)
		if from.elem == to.elem && in.fn == nil && c.copyRuns(&a, &b) {
			c.record(in, transferWork(in, from, to))
			return
		}
		w, u := from.walk(), to.walk()
		for {
			x := a.get(w.at)
			if from.elem != to.elem {
				x = to.elem.round(from.elem.value(x))
			}
			if in.fn != nil {
				x = in.fn(b.get(u.at), x, 0)
			}
			b.put(u.at, x)
			if !w.next() || !u.next() {
				break
			}
		}
	}
	c.record(in, transferWork(in, from, to))
}

// copied is what is copied to a space: to global memory, what was written.
func (c *core) copied(in *inst, v *view, to Space) (access, bool) {
	if to == GM {
		return c.reads(in, v)
	}
	return c.peeks(in, v)
}

// copyRuns copies where both sides have the same runs of contiguous bytes in their rows.
func (c *core) copyRuns(a, b *access) bool {
	d := len(a.v.sizes) - 1
	if d < 0 || a.v.sizes[d] > 1 && (a.v.strides[d] != 1 || b.v.strides[d] != 1) {
		return false
	}
	size := int64(a.v.elem.Size())
	n := a.v.sizes[d] * size
	w := walkOf(a.v.base, a.v.sizes[:d], a.v.strides[:d], size)
	u := walkOf(b.v.base, b.v.sizes[:d], b.v.strides[:d], size)
	for {
		copy(b.data[u.at-b.origin:][:n], a.data[w.at-a.origin:][:n])
		if !w.next() || !u.next() {
			return true
		}
	}
}

func readFill(r *reader, in *inst, _ regType) {
	v := r.scalar(NoType)
	m := r.memory(UB, L1, L0A, L0B, L0C)
	if r.err == nil && r.p.regs[v.reg].elem != r.typeOf(m).elem {
		r.fail("%s is not filled with %s", r.typeOf(m), r.p.regs[v.reg])
	}
	in.args = []operand{m, v}
	in.pipe = fillPipes[r.typeOf(m).space]
}

func execFill(c *core, in *inst) {
	views, n, ok := c.shapes(in, in.args[0])
	if !ok {
		return
	}
	if n > 0 {
		a, ok := c.writes(in, views[0])
		if !ok {
			return
		}
		x := c.regs[in.args[1].reg]
		for w := views[0].walk(); ; {
			a.put(w.at, x)
			if !w.next() {
				break
			}
		}
	}
	c.record(in, vectorWork(views...))
}

// readGather takes source, indices, target and mask; a scatter has source, target, indices
// and mask. The list is of one dimension.
func readGather(r *reader, in *inst, _ regType) {
	in.args = []operand{r.memory(GM, UB), r.memory(UB), r.memory(UB)}
	r.indirect(in, in.args[0], in.args[2], in.args[1], PipeMTE2)
}

func readScatter(r *reader, in *inst, _ regType) {
	source, target, indices := r.memory(UB), r.memory(GM, UB), r.memory(UB)
	in.args = []operand{target, indices, source}
	r.indirect(in, target, source, indices, PipeMTE3)
}

func (r *reader) indirect(in *inst, list, elements, indices operand, pipe Pipe) {
	if len(r.words) > 0 {
		in.args = append(in.args, r.memory(UB))
		if t := r.typeOf(in.args[len(in.args)-1]); t.elem != I1 && t.elem != I8 {
			r.fail("a mask is of type i1, not %s", t)
		}
	}
	l, e, x := r.typeOf(list), r.typeOf(elements), r.typeOf(indices)
	if r.err == nil && (l.rank != 1 || l.elem != e.elem || x.elem.float()) {
		r.fail("no element of %s at %s is one of %s", l, x, e)
	}
	in.pipe = PipeV
	if l.space == GM {
		in.pipe = pipe
	}
	r.touch(in)
}

func execGather(c *core, in *inst)  { c.indirect(in, false) }
func execScatter(c *core, in *inst) { c.indirect(in, true) }

// indirect moves elements between a list and a view, at indices. The list is args[0].
func (c *core) indirect(in *inst, scatter bool) {
	list, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	views, n, ok := c.shapes(in, in.args[1:]...)
	if !ok {
		return
	}
	moved := 0
	var span view
	if n > 0 {
		indices, okI := c.reads(in, views[0])
		var mask access
		okM := true
		if len(views) > 2 {
			mask, okM = c.reads(in, views[2])
		}
		if !okI || !okM {
			return
		}
		elements := views[1]
		wi, we := views[0].walk(), elements.walk()
		var wm walk
		if mask.v != nil {
			wm = mask.v.walk()
		}
		for {
			if mask.v == nil || mask.get(wm.at) != 0 {
				i := views[0].elem.signed(indices.get(wi.at))
				at, ok := c.moveOne(in, list, elements, i, we.at, scatter)
				if !ok {
					return
				}
				span.extend(at, int64(list.elem.Size()), moved == 0)
				moved++
			}
			if mask.v != nil {
				wm.next()
			}
			if !wi.next() || !we.next() {
				break
			}
		}
	}
	if moved > 0 && list.space == GM && !c.run.opt.NoChecks {
		kind := read
		if scatter {
			kind = write
		}
		c.orderGlobal(in, &span, kind)
	}
	c.record(in, gatherWork(list, moved))
}

// extend has a view of bytes reach from its first to its last element, and to another.
func (v *view) extend(at, size int64, first bool) {
	end := at + size
	if !first {
		at, end = min(at, v.base), max(end, v.base+v.sizes[0])
	}
	*v = view{valid: true, space: GM, elem: I8, base: at, sizes: []int64{end - at}, strides: []int64{1}}
}

// moveOne moves the element at an index of a list to or from a place, and returns where in
// memory the list has it.
func (c *core) moveOne(in *inst, list, elements *view, i, at int64, scatter bool) (far int64, ok bool) {
	if i < 0 && !list.open || i >= list.sizes[0] && !list.open {
		c.stop(in, OutOfBounds, "index %d of memory with %s", i, diag.Count(list.sizes[0], "element"))
		return 0, false
	}
	far, ok = mul(i, list.strides[0])
	if far, ok = scaled(far, int64(list.elem.Size()), ok); ok {
		far, ok = add(list.base, far)
	}
	if !ok {
		c.stop(in, OutOfBounds, "index %d leaves the address space", i)
		return 0, false
	}
	from := &view{valid: true, space: list.space, elem: list.elem, base: far}
	to := &view{valid: true, space: elements.space, elem: list.elem, base: at}
	if scatter {
		from, to = to, from
	}
	c.single = true
	defer func() { c.single = false }()
	a, ok := c.copied(in, from, to.space)
	if !ok {
		return 0, false
	}
	bad := undefined(in, [3]input{{a: a}}, 1)
	b, ok := c.writes(in, to)
	if ok {
		b.put(to.base, a.get(from.base))
		b.undefine(bad)
	}
	return far, ok
}
