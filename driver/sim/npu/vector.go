package npu

func readIota(r *reader, in *inst, _ regType) {
	m := r.memory(UB)
	in.args, in.pipe = []operand{m}, PipeV
	in.n = int64(r.count(maxRank - 1))
	if t := r.typeOf(m); r.err == nil && (in.n >= int64(t.rank) || t.elem.float()) {
		r.fail("there are no indices along dimension %d of %s", in.n, t)
	}
}

func execIota(c *core, in *inst) {
	views, n, ok := c.shapes(in, in.args...)
	if !ok {
		return
	}
	if n > 0 {
		a, ok := c.writes(in, views[0])
		if !ok {
			return
		}
		for w := views[0].walk(); ; {
			a.put(w.at, uint64(w.index[in.n])&views[0].elem.mask())
			if !w.next() {
				break
			}
		}
	}
	c.record(in, vectorWork(views...))
}

// readVector takes an operation, the target and the inputs.
func readVector(r *reader, in *inst, _ regType) {
	in.name, in.pipe = r.word(), PipeV
	target := r.memory(UB)
	in.args = []operand{target}
	var types []Type
	predicate := int64(-1)
	for len(r.words) > 0 && len(types) < 4 && r.err == nil {
		if p, ok := r.option("predicate"); ok {
			predicate = r.numberOf(p)
			continue
		}
		reg := r.register(r.word(), false)
		if r.err != nil {
			return
		}
		t := r.p.regs[reg]
		if t.memory && (t.space != UB || t.rank != r.typeOf(target).rank) {
			r.fail("%%%d has the type %s, which the instruction does not access", reg, t)
		}
		in.args, types = append(in.args, operand{reg: reg}), append(types, t.elem)
	}
	r.scalarOp(in, types, regType{elem: r.typeOf(target).elem}, predicate)
}

// input is an operand of a vector instruction: elements, or one scalar.
type input struct {
	a access
	w walk
	x uint64
}

// ready reports whether the element was written.
func (i *input) ready() bool { return i.a.v == nil || i.a.defined(i.w.at) }

func (i *input) next() {
	if i.a.v != nil {
		i.w.next()
	}
}

// undefined is which elements of the result are made of some that were never written, or
// nil. A choice needs the condition, and what it chooses.
func undefined(in *inst, inputs [3]input, n int64) []bool {
	all := true
	for i := range inputs {
		all = all && (inputs[i].a.v == nil || inputs[i].a.whole)
		if inputs[i].a.v != nil {
			inputs[i].w = inputs[i].a.v.walk()
		}
	}
	if all {
		return nil
	}
	bad := make([]bool, n)
	for e := range bad {
		a, b, c := &inputs[0], &inputs[1], &inputs[2]
		switch {
		case in.name != "arith.select":
			bad[e] = !a.ready() || !b.ready() || !c.ready()
		case !a.ready():
			bad[e] = true
		case a.get() != 0:
			bad[e] = !b.ready()
		default:
			bad[e] = !c.ready()
		}
		a.next()
		b.next()
		c.next()
	}
	return bad
}

func (i *input) get() uint64 {
	if i.a.v == nil {
		return i.x
	}
	return i.a.get(i.w.at)
}

func execVector(c *core, in *inst) {
	target, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	views := []*view{target}
	var inputs [3]input
	for i, o := range in.args[1:] {
		if !c.p.regs[o.reg].memory {
			inputs[i].x = c.regs[o.reg]
			continue
		}
		v, ok := c.view(in, o)
		if !ok {
			return
		}
		inputs[i] = input{a: access{v: v}, w: v.walk()}
		views = append(views, v)
	}
	n := c.sameShape(in, views)
	if c.stopped {
		return
	}
	if n > 0 {
		for i := range inputs {
			if v := inputs[i].a.v; v != nil {
				if inputs[i].a, ok = c.peeks(in, v); !ok {
					return
				}
			}
		}
		bad := undefined(in, inputs, n)
		a, ok := c.writes(in, target)
		if !ok {
			return
		}
		a.undefine(bad)
		for w := target.walk(); ; {
			a.put(w.at, in.fn(inputs[0].get(), inputs[1].get(), inputs[2].get()))
			if !w.next() {
				break
			}
			for i := range inputs {
				inputs[i].next()
			}
		}
	}
	c.record(in, vectorWork(views...))
}

func readBroadcast(r *reader, in *inst, _ regType) {
	in.args, in.pipe = []operand{r.memory(UB), r.memory(UB)}, PipeV
	from, to := r.typeOf(in.args[0]), r.typeOf(in.args[1])
	if r.err != nil {
		return
	}
	if from.elem != to.elem || from.rank > to.rank {
		r.fail("%s is not repeated into %s", from, to)
		return
	}
	in.lists[0] = r.dims(to.rank - from.rank)
	r.ascending(in.lists[0], to.rank)
}

func (r *reader) ascending(dims []operand, rank int) {
	for i, o := range dims {
		if o.num >= int64(rank) || i > 0 && o.num <= dims[i-1].num {
			r.fail("the list must be ascending and below %d", rank)
			return
		}
	}
}

func execBroadcast(c *core, in *inst) {
	from, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	to, ok := c.view(in, in.args[1])
	if !ok {
		return
	}
	repeated := *from
	repeated.sizes, repeated.strides = nil, nil
	list, d := in.lists[0], 0
	for k := range to.sizes {
		if len(list) > 0 && list[0].num == int64(k) {
			list = list[1:]
			repeated.sizes, repeated.strides = append(repeated.sizes, to.sizes[k]), append(repeated.strides, 0)
			continue
		}
		repeated.sizes, repeated.strides = append(repeated.sizes, from.sizes[d]), append(repeated.strides, from.strides[d])
		d++
	}
	c.rearrange(in, from, &repeated, to)
}

func readTranspose(r *reader, in *inst, _ regType) {
	in.args, in.pipe = []operand{r.memory(UB), r.memory(UB)}, PipeV
	from, to := r.typeOf(in.args[0]), r.typeOf(in.args[1])
	if r.err == nil && from != to {
		r.fail("%s is not permuted into %s", from, to)
	}
	if r.err != nil {
		return
	}
	in.lists[0] = r.dims(to.rank)
	seen := 0
	for _, o := range in.lists[0] {
		seen |= 1 << o.num
	}
	if r.err == nil && seen != 1<<to.rank-1 {
		r.fail("the list is not a permutation of the dimensions of %s", to)
	}
}

func execTranspose(c *core, in *inst) {
	from, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	to, ok := c.view(in, in.args[1])
	if !ok {
		return
	}
	permuted := *from
	permuted.sizes, permuted.strides = nil, nil
	for _, o := range in.lists[0] {
		permuted.sizes, permuted.strides = append(permuted.sizes, from.sizes[o.num]), append(permuted.strides, from.strides[o.num])
	}
	c.rearrange(in, from, &permuted, to)
}

// rearrange copies elements of a view, seen as another with the target's shape.
func (c *core) rearrange(in *inst, from, seen, to *view) {
	n := c.sameShape(in, []*view{seen, to})
	if c.stopped {
		return
	}
	if n > 0 {
		a, ok := c.peeks(in, from)
		if !ok {
			return
		}
		a.v = seen
		bad := undefined(in, [3]input{{a: a}}, n)
		b, ok := c.writes(in, to)
		if !ok {
			return
		}
		b.undefine(bad)
		w, u := seen.walk(), to.walk()
		for {
			b.put(u.at, a.get(w.at))
			if !w.next() || !u.next() {
				break
			}
		}
	}
	c.record(in, vectorWork(from, to))
}

// readReduce takes an operation, source, target and dimension.
func readReduce(r *reader, in *inst, _ regType) {
	in.name, in.pipe = r.word(), PipeV
	in.args = []operand{r.memory(UB), r.memory(UB)}
	from, to := r.typeOf(in.args[0]), r.typeOf(in.args[1])
	in.n = int64(r.count(maxRank - 1))
	if r.err == nil && (from.elem != to.elem || from.rank != to.rank+1 || in.n >= int64(from.rank)) {
		r.fail("%s is not reduced into %s along dimension %d", from, to, in.n)
	}
	r.scalarOp(in, []Type{to.elem, to.elem}, regType{elem: to.elem}, -1)
}

func execReduce(c *core, in *inst) {
	from, ok := c.view(in, in.args[0])
	if !ok {
		return
	}
	to, ok := c.view(in, in.args[1])
	if !ok {
		return
	}
	// The target, seen with the dimension that it lacks.
	wide := *to
	d := in.n
	wide.sizes = append(append(append([]int64(nil), to.sizes[:d]...), from.sizes[d]), to.sizes[d:]...)
	wide.strides = append(append(append([]int64(nil), to.strides[:d]...), 0), to.strides[d:]...)
	n := c.sameShape(in, []*view{from, &wide})
	if c.stopped {
		return
	}
	if n > 0 {
		a, ok := c.peeks(in, from)
		if !ok {
			return
		}
		b, ok := c.peeks(in, to)
		if !ok {
			return
		}
		b.v = &wide
		bad := undefined(in, [3]input{{a: a}, {a: b}}, n)
		if b, ok = c.writes(in, to); !ok {
			return
		}
		b.v = &wide
		b.undefine(bad)
		w, u := from.walk(), wide.walk()
		for {
			b.put(u.at, in.fn(b.get(u.at), a.get(w.at), 0))
			if !w.next() || !u.next() {
				break
			}
		}
	}
	c.record(in, reduceWork(from, int(d)))
}
