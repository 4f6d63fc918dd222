package loops

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// fusion makes one loop of an outer loop and of loops in its body, its parts. It
// counts the iterations in t: a part begins in the iteration in which the part ahead
// of it ends. A part without iterations takes one for what is before and after it,
// so that an iteration of the outer loop takes
//
//	length = max(1, length(0)) + … + max(1, length(n-1)) - (n-1)
//
// iterations of the fused one:
//
//	for … { if (t == start(0)) { i += …; before(0) }
//	        if (start(0) <= t < start(0)+length(0)) { body(0) }
//	        if (t == start(1)) { before(1) }
//	        …
//	        if (t == length-1) { after }
//	        t = t == length-1 ? 0 : t+1 }
type fusion struct {
	b     *ir.Builder
	outer *ir.Operation
	parts []*part
	after []*ir.Operation // the operations that follow the last part, the terminator apart

	counter ir.Type // of t and all lengths
	one     *ir.Value
	m       *ir.Mapping // from values of the outer loop to those of the fused one
	carried []*carried

	t, i *carried
	outs []*carried // what the outer loop carries
	// last is t where the iteration of the outer loop ends, if that varies, else nil;
	// fixed is the share of the length of the parts whose length does not vary.
	last  *carried
	fixed *ir.Value
}

// carried is a value that the fused loop carries.
type carried struct {
	init *ir.Value
	now  *ir.Value // what it is where the builder stands
}

// carry has the fused loop carry a value that starts as init.
func (f *fusion) carry(init *ir.Value) *carried {
	c := &carried{init: init}
	f.carried = append(f.carried, c)
	return c
}

// carryUnset is carry for a value that is set before anything looks at it.
func (f *fusion) carryUnset(t ir.Type) *carried { return f.carry(placeholder(f.b, t)) }

// run makes the loop, which takes the place of the outer one.
func (f *fusion) run() *ir.Operation {
	b, outer := f.b, f.outer
	f.split()
	f.counter = counterType(outer, f.parts)
	f.m = ir.NewMapping()
	b.At(outer)
	zero := arith.Int(b, f.counter, 0)
	f.one = arith.Int(b, f.counter, 1)
	total := f.emitTotal()
	f.carryAll(zero)
	inits := make([]*ir.Value, len(f.carried))
	for k, c := range f.carried {
		inits[k] = c.init
	}
	loop := scf.NewFor(b, zero, total, f.one, inits...)
	f.setAttrs(loop)

	p := b.Save()
	b.SetToEnd(loop.Body())
	for k, c := range f.carried {
		c.now = scf.IterArg(loop, k)
	}
	for k, a := range scf.IterArgs(outer) {
		f.m.Map(a, f.outs[k].now)
	}
	for k := range f.parts {
		f.emitPart(k)
	}
	f.emitEnd()
	next := make([]*ir.Value, len(f.carried))
	for k, c := range f.carried {
		next[k] = c.now
	}
	scf.NewYield(b, next...)
	b.Restore(p)

	first := slices.Index(f.carried, f.i) + 1
	outer.ReplaceAllUsesWith(loop.Results()[first:][:len(f.outs)]...)
	outer.Erase()
	return loop
}

// split tells the operations of the outer body apart.
func (f *fusion) split() {
	k := 0
	for op := range f.outer.Body().Ops() {
		switch {
		case k < len(f.parts) && op == f.parts[k].loop:
			k++
		case op.IsTerminator():
		case k < len(f.parts):
			f.parts[k].before = append(f.parts[k].before, op)
		default:
			f.after = append(f.after, op)
		}
	}
	for _, p := range f.parts {
		p.findHanded(f.outer.Body())
	}
}

// findHanded lists what the operations before the loop compute for later. Lower bound
// and inits are done with where the loop begins.
func (p *part) findHanded(body *ir.Block) {
	for _, op := range p.before {
		for _, r := range op.Results() {
			later := r == scf.Step(p.loop)
			for u := range r.Users() {
				at := forloop.AncestorIn(body, u)
				later = later || u != p.loop && (at == p.loop || p.loop.IsBeforeInBlock(at))
			}
			if later {
				p.handed = append(p.handed, r)
			}
		}
	}
}

// counterType is the widest type of the induction variables.
func counterType(outer *ir.Operation, parts []*part) ir.Type {
	width := intWidth(scf.Step(outer).Type())
	for _, p := range parts {
		width = max(width, intWidth(scf.Step(p.loop).Type()))
	}
	return outer.Context().Int(width)
}

// intWidth takes index for an integer of 64 bits.
func intWidth(t ir.Type) int {
	if i, ok := t.(*ir.IntegerType); ok {
		return i.Width
	}
	return 64
}

// count converts a number of iterations to the counter's type.
func (f *fusion) count(n *ir.Value) *ir.Value {
	def := arith.ExtSI
	switch {
	case n.Type() == f.counter:
		return n
	case n.Type() == ir.Type(f.outer.Context().Index()):
		def = arith.IndexCast
	}
	return arith.Cast(f.b, def, n, f.counter)
}

// takes is the number of iterations that p takes if its length is n. Where that does
// not vary, the maximum is there for those who look at this value alone, too.
func (f *fusion) takes(p *part, n *ir.Value) *ir.Value {
	if p.varying && p.runs {
		return n
	}
	return arith.Binary(f.b, arith.MaxSI, n, f.one)
}

// minus emits n - k.
func (f *fusion) minus(n *ir.Value, k int) *ir.Value {
	if k == 0 {
		return n
	}
	return arith.Binary(f.b, arith.SubI, n, arith.Int(f.b, f.counter, int64(k)))
}

// emitTotal emits the number of iterations of the fused loop.
func (f *fusion) emitTotal() *ir.Value {
	b := f.b
	varying := slices.ContainsFunc(f.parts, func(p *part) bool { return p.varying })
	var trips *ir.Value
	if !varying {
		trips = emitTripCount(b, f.outer)
	}
	for _, p := range f.parts {
		if !p.varying {
			if p.length == nil {
				p.length = emitTripCount(b, p.loop)
			}
			p.length = f.count(p.length)
		}
	}
	for _, p := range f.parts {
		switch {
		case p.varying:
		case f.fixed == nil:
			f.fixed = f.takes(p, p.length)
		default:
			f.fixed = arith.Binary(b, arith.AddI, f.fixed, f.takes(p, p.length))
		}
	}
	if f.fixed == nil {
		f.fixed = arith.Int(b, f.counter, 0)
	}
	f.fixed = f.minus(f.fixed, len(f.parts)-1)
	if varying {
		return f.sum()
	}
	return arith.Binary(b, arith.MulI, f.count(trips), f.fixed)
}

// sum emits a loop that adds up the lengths of the iterations of the outer one.
func (f *fusion) sum() *ir.Value {
	b, m := f.b, ir.NewMapping()
	zero := arith.Int(b, f.counter, 0)
	loop := scf.NewFor(b, scf.LowerBound(f.outer), scf.UpperBound(f.outer), scf.Step(f.outer), zero)
	p := b.Save()
	defer b.Restore(p)
	b.SetToEnd(loop.Body())
	m.Map(scf.InductionVar(f.outer), scf.InductionVar(loop))
	n := arith.Binary(b, arith.AddI, scf.IterArgs(loop)[0], f.fixed)
	for _, part := range f.parts {
		if part.varying {
			n = arith.Binary(b, arith.AddI, n, f.takes(part, f.emitLength(part, m)))
		}
	}
	scf.NewYield(b, n)
	return scf.AsFor(loop).Results()[0]
}

// emitLength emits the length of a part in an iteration of the outer loop of which m
// has the induction variable.
func (f *fusion) emitLength(p *part, m *ir.Mapping) *ir.Value {
	for _, op := range p.bounds {
		if r := op.OneResult(); m.Lookup(r) == r {
			f.b.Insert(op.Clone(m))
		}
	}
	lo, hi, step := scf.LowerBound(p.loop), scf.UpperBound(p.loop), scf.Step(p.loop)
	return f.count(emitTrips(f.b, m.Lookup(lo), m.Lookup(hi), m.Lookup(step)))
}

// carryAll lists what the fused loop carries.
func (f *fusion) carryAll(zero *ir.Value) {
	b, outer := f.b, f.outer
	f.t = f.carry(zero)
	f.i = f.carry(arith.Binary(b, arith.SubI, scf.LowerBound(outer), scf.Step(outer)))
	for _, v := range scf.Inits(outer) {
		f.outs = append(f.outs, f.carry(v))
	}
	for k, p := range f.parts {
		if p.varying && (!p.runs || k < len(f.parts)-1) {
			p.lengthNow = f.carry(zero)
		}
	}
	if slices.ContainsFunc(f.parts, func(p *part) bool { return p.varying }) {
		f.last = f.carry(zero)
	}
	for _, p := range f.parts {
		p.j = f.carryUnset(scf.InductionVar(p.loop).Type())
	}
	for _, p := range f.parts {
		for _, v := range scf.Inits(p.loop) {
			if f.resets(v) {
				p.results = append(p.results, f.carry(v))
			} else {
				p.results = append(p.results, f.carryUnset(v.Type()))
			}
		}
	}
	for _, p := range f.parts {
		for _, v := range p.handed {
			p.handedNow = append(p.handedNow, f.carryUnset(v.Type()))
		}
	}
}

// resets reports whether what a part carries starts as a value from outside the nest:
// it is set to it where an iteration of the outer loop ends, rather than where the part
// begins, which would keep the iterations of the pipelined loop apart.
func (f *fusion) resets(init *ir.Value) bool { return !forloop.DefinedInside(init, f.outer) }

// when emits a condition under which then sets the values of set.
func (f *fusion) when(cond *ir.Value, set []*carried, then func()) {
	b := f.b
	old := make([]*ir.Value, len(set))
	for k, c := range set {
		old[k] = c.now
	}
	branch := scf.AsIf(scf.NewIf(b, cond, true, typesOf(old)...))
	p := b.Save()
	b.SetToEnd(branch.ThenRegion().First())
	then()
	now := make([]*ir.Value, len(set))
	for k, c := range set {
		now[k] = c.now
	}
	scf.NewYield(b, now...)
	b.SetToEnd(branch.ElseRegion().First())
	scf.NewYield(b, old...)
	b.Restore(p)
	for k, c := range set {
		c.now = branch.Results()[k]
	}
}

// emitPart emits what is before part k, and an iteration of it.
func (f *fusion) emitPart(k int) {
	b, p := f.b, f.parts[k]
	start := f.start(k)
	set := append([]*carried{p.j}, p.handedNow...)
	for n, v := range scf.Inits(p.loop) {
		if !f.resets(v) {
			set = append(set, p.results[n])
		}
	}
	if k == 0 {
		set = append(set, f.i)
		for _, p := range f.parts {
			if p.lengthNow != nil {
				set = append(set, p.lengthNow)
			}
		}
		if f.last != nil {
			set = append(set, f.last)
		}
	}
	begins := arith.Compare(b, arith.CmpI, arith.EQ, f.t.now, start)
	f.when(begins, set, func() {
		if k == 0 {
			f.i.now = arith.Binary(b, arith.AddI, f.i.now, scf.Step(f.outer))
			f.m.Map(scf.InductionVar(f.outer), f.i.now)
		}
		f.clone(p.before)
		if k == 0 {
			f.setLengths()
		}
		p.j.now = f.m.Lookup(scf.LowerBound(p.loop))
		for n, v := range p.handed {
			p.handedNow[n].now = f.m.Lookup(v)
		}
		for n, v := range scf.Inits(p.loop) {
			if !f.resets(v) {
				p.results[n].now = f.m.Lookup(v)
			}
		}
	})
	f.m.Map(scf.InductionVar(f.outer), f.i.now)
	for n, v := range p.handed {
		f.m.Map(v, p.handedNow[n].now)
	}
	if p.runs && len(f.parts) == 1 {
		f.iterate(p)
	} else {
		f.when(f.runsNow(k, start), append([]*carried{p.j}, p.results...), func() { f.iterate(p) })
	}
	for n, c := range p.results {
		f.m.Map(p.loop.Result(n), c.now)
	}
}

// start is t where part k begins.
func (f *fusion) start(k int) *ir.Value {
	var n *ir.Value
	for _, p := range f.parts[:k] {
		if l := f.takes(p, f.lengthOf(p)); n == nil {
			n = l
		} else {
			n = arith.Binary(f.b, arith.AddI, n, l)
		}
	}
	if n == nil {
		return arith.Int(f.b, f.counter, 0)
	}
	return f.minus(n, k)
}

// lengthOf is the length of p in the iteration of the outer loop.
func (f *fusion) lengthOf(p *part) *ir.Value {
	if p.varying {
		return p.lengthNow.now
	}
	return p.length
}

// setLengths emits the lengths that vary where an iteration of the outer loop begins.
func (f *fusion) setLengths() {
	if f.last == nil {
		return
	}
	length := f.fixed
	for _, p := range f.parts {
		if !p.varying {
			continue
		}
		n := f.emitLength(p, f.m)
		if p.lengthNow != nil {
			p.lengthNow.now = n
		}
		length = arith.Binary(f.b, arith.AddI, length, f.takes(p, n))
	}
	f.last.now = f.minus(length, 1)
}

// runsNow emits the condition under which part k, which begins at start, has an
// iteration now.
func (f *fusion) runsNow(k int, start *ir.Value) *ir.Value {
	b, end := f.b, f.lengthOf(f.parts[k])
	if k > 0 {
		end = arith.Binary(b, arith.AddI, start, end)
	}
	from := arith.Compare(b, arith.CmpI, arith.SGE, f.t.now, start)
	to := arith.Compare(b, arith.CmpI, arith.SLT, f.t.now, end)
	return arith.Binary(b, arith.AndI, from, to)
}

// iterate emits one iteration of p.
func (f *fusion) iterate(p *part) {
	f.m.Map(scf.InductionVar(p.loop), p.j.now)
	for n, a := range scf.IterArgs(p.loop) {
		f.m.Map(a, p.results[n].now)
	}
	for op := range p.loop.Body().Ops() {
		if !op.IsTerminator() {
			f.b.Insert(op.Clone(f.m))
		}
	}
	for n, v := range forloop.Yield(p.loop).Operands() {
		p.results[n].now = f.m.Lookup(v)
	}
	p.j.now = arith.Binary(f.b, arith.AddI, p.j.now, f.m.Lookup(scf.Step(p.loop)))
}

// clone copies operations of the outer body to the builder's point.
func (f *fusion) clone(ops []*ir.Operation) {
	for _, op := range ops {
		f.b.Insert(op.Clone(f.m))
	}
}

// emitEnd emits what follows the parts, and counts.
func (f *fusion) emitEnd() {
	b := f.b
	var last *ir.Value
	if f.last != nil {
		last = f.last.now
	} else {
		last = f.minus(f.fixed, 1)
	}
	set := slices.Clone(f.outs)
	for _, p := range f.parts {
		for n, v := range scf.Inits(p.loop) {
			if f.resets(v) {
				set = append(set, p.results[n])
			}
		}
	}
	ends := arith.Compare(b, arith.CmpI, arith.EQ, f.t.now, last)
	f.when(ends, set, func() {
		f.clone(f.after)
		for n, v := range forloop.Yield(f.outer).Operands() {
			f.outs[n].now = f.m.Lookup(v)
		}
		for _, p := range f.parts {
			for n, v := range scf.Inits(p.loop) {
				if f.resets(v) {
					p.results[n].now = v
				}
			}
		}
	})
	following := arith.Binary(b, arith.AddI, f.t.now, f.one)
	// Compared again, since a pipeline computes this one iterations ahead.
	again := arith.Compare(b, arith.CmpI, arith.EQ, f.t.now, last)
	f.t.now = arith.NewSelect(b, again, arith.Int(b, f.counter, 0), following)
}

// setAttrs gives the fused loop what the outer one asks for, and what any of them does.
func (f *fusion) setAttrs(loop *ir.Operation) {
	for _, a := range f.outer.Attrs() {
		if a.Name != tt.FlattenAttr && a.Name != tt.AlwaysFuseAttr {
			loop.SetAttr(a.Name, a.Attr)
		}
	}
	stages, _ := f.outer.IntAttr(tt.NumStagesAttr)
	for _, p := range f.parts {
		for _, name := range []string{tt.WarpSpecializeAttr, tt.OneAccumulatorAttr} {
			if p.loop.HasAttr(name) {
				loop.SetAttr(name, p.loop.Attr(name))
			}
		}
		if n, _ := p.loop.IntAttr(tt.NumStagesAttr); n > stages {
			stages = n
			loop.SetAttr(tt.NumStagesAttr, p.loop.Attr(tt.NumStagesAttr))
		}
	}
}

func typesOf(values []*ir.Value) []ir.Type {
	types := make([]ir.Type, len(values))
	for i, v := range values {
		types[i] = v.Type()
	}
	return types
}

// emitTripCount emits the number of iterations of a loop, negative or 0 for none.
func emitTripCount(b *ir.Builder, loop *ir.Operation) *ir.Value {
	return emitTrips(b, scf.LowerBound(loop), scf.UpperBound(loop), scf.Step(loop))
}

// emitTrips is emitTripCount of bounds.
func emitTrips(b *ir.Builder, lo, hi, step *ir.Value) *ir.Value {
	n := hi
	if k, ok := arith.ConstantInt(lo); !ok || k != 0 {
		n = arith.Binary(b, arith.SubI, hi, lo)
	}
	if k, ok := arith.ConstantInt(step); !ok || k != 1 {
		n = arith.Binary(b, arith.CeilDivSI, n, step)
	}
	return n
}

// placeholder is some value of type t, which the first iteration of a fused loop
// replaces before anything looks at it.
func placeholder(b *ir.Builder, t ir.Type) *ir.Value {
	switch e := ir.ElemOf(t); {
	case ir.IsInt(e, 0), e == ir.Type(b.Context().Index()):
		return arith.Int(b, t, 0)
	case ir.IsFloat(e):
		return arith.Float(b, t, 0)
	}
	return ub.NewPoison(b, t)
}
