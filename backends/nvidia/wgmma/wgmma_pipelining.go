package wgmma

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// PipelineDots makes the dots of loops asynchronous and puts waits where their
// results are needed. A dot whose result only the next iteration's dot needs, as its
// accumulator, runs on while the loop does:
//
//	for … iter_args(%acc) {
//	  %d = ttng.warp_group_dot %a, %b, %acc
//	  … start copies into the next buffers …
//	  yield %d }
//
// becomes
//
//	%r = for … iter_args(%acc) {
//	  %d = ttng.warp_group_dot %a, %b, %acc {isAsync = true}
//	  %e = ttng.warp_group_dot_wait %d, %a, %b {pendings = 1}
//	  … start copies into the next buffers …
//	  yield %e }
//	%f = ttng.warp_group_dot_wait %r {pendings = 0}
//
// so that one dot is in flight while the next starts, and the copies overwrite what
// the dot before the last has read. The only dot of a loop that reads registers which the
// loop computes is waited for where the next iteration computes them; what is computed
// goes through that wait. Other dots are waited for at once. A wait has
// the buffers of its dots as operands, too, which keeps their memory.
//
// Dots outside of loops, and those in conditions or in loops that have waits
// already, stay as they are: a dot that is not asynchronous waits for itself.
var PipelineDots = &pass.Pass{
	Name:    "triton-nvidia-wgmma-pipelining",
	Doc:     "let dots of warpgroups overlap with their loop",
	Example: pipelineDotsExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			p := &dotLoop{b: b, loop: loop, kinds: make(map[*ir.Operation]kind), carriedAs: make(map[*ir.Operation]int), drains: make(map[*ir.Operation]*ir.Operation)}
			if p.collect() {
				r.Count("dots", p.run())
			}
		}
		return nil
	},
}

// kind is how a dot of a loop's body ends.
type kind uint8

const (
	// waited: a wait follows it.
	waited kind = iota
	// chained: its result is nothing but the accumulator of a later dot of the same
	// iteration, which is waited for, and it with that.
	chained
	// flying: it may run on while the next iteration starts.
	flying
)

// dotLoop is a loop and the dots of its body.
type dotLoop struct {
	b     *ir.Builder
	loop  *ir.Operation
	dots  []*ir.Operation // in order
	kinds map[*ir.Operation]kind
	// carriedAs is, for a flying dot that is not the accumulator of another, the
	// number of the value that the loop carries its result as.
	carriedAs map[*ir.Operation]int
	// drains is, for the only dot of a loop that fills the registers of its first operand
	// anew, the operation that fills them: a wait stands before it.
	drains map[*ir.Operation]*ir.Operation
	// previous are the results of the iteration before that come to an end with
	// the first dot that is waited for.
	previous []*ir.Value
}

// collect finds the dots, and reports whether there are any to be made asynchronous.
func (p *dotLoop) collect() bool {
	for op := range p.loop.Body().Ops() {
		switch {
		case ttng.Is(op, "warp_group_dot_wait"):
			return false
		case ttng.Is(op, "warp_group_dot"):
			if ttng.AsWarpGroupDot(op).IsAsync() {
				return false
			}
			p.dots = append(p.dots, op)
		}
	}
	return len(p.dots) > 0
}

// run changes the loop, and returns how many dots run on into the next iteration.
func (p *dotLoop) run() int {
	p.classify()
	for _, d := range p.dots {
		ttng.AsWarpGroupDot(d).SetIsAsync(true)
	}
	ending := p.ending()
	for _, d := range p.dots {
		if p.kinds[d] != waited {
			continue
		}
		p.b.After(d)
		if d == ending {
			p.wait(0, append([]*ir.Value{d.OneResult()}, p.previous...)...)
		} else {
			p.wait(0, d.OneResult())
		}
	}
	var fly []*ir.Operation
	for _, d := range p.dots {
		if p.kinds[d] == flying {
			fly = append(fly, d)
		}
	}
	if len(fly) == 0 {
		return 0
	}
	for _, d := range fly {
		p.waitInConditions(d)
	}
	switch {
	case p.drains[fly[0]] != nil:
		p.waitBeforeFilling(fly[0])
	case ending == nil:
		p.waitForPrevious(fly)
	}
	p.waitAfterLoop(fly)
	return len(fly)
}

// classify decides how each dot ends.
func (p *dotLoop) classify() {
	next := make(map[*ir.Operation]*ir.Operation) // whose accumulator a dot is, and nothing else
	for _, d := range p.dots {
		if e := p.accumulates(d); e != nil && isWide(d) {
			next[d], p.kinds[d] = e, chained
		}
	}
	for _, d := range p.dots {
		if next[d] != nil {
			continue
		}
		if i, ok := p.carried(d); ok && isWide(d) && p.keepsOperands(d) && (p.keepsRegisters(d) || p.drain(d, i)) {
			if arg := scf.IterArg(p.loop, i); !p.isAccumulator(arg) {
				if !p.usedAfterEnding(arg, d) {
					continue
				}
				p.previous = append(p.previous, arg)
			}
			p.kinds[d], p.carriedAs[d] = flying, i
		}
	}
	for _, d := range slices.Backward(p.dots) {
		if e := next[d]; e != nil && p.kinds[e] == flying {
			p.kinds[d] = waited
			if p.keepsOperands(d) && p.keepsRegisters(d) {
				p.kinds[d] = flying
			}
		}
	}
	// Nothing may be written to what a dot may still read.
	for again := true; again; {
		again = false
		for _, d := range p.dots {
			if p.kinds[d] != waited && p.overwritten(d) {
				p.land(d, next)
				again = true
			}
		}
	}
}

// land has d waited for, and what is chained to it with it.
func (p *dotLoop) land(d *ir.Operation, next map[*ir.Operation]*ir.Operation) {
	p.kinds[d] = waited
	delete(p.drains, d)
	if i, ok := p.carriedAs[d]; ok {
		delete(p.carriedAs, d)
		p.previous = slices.DeleteFunc(p.previous, func(v *ir.Value) bool { return v == scf.IterArg(p.loop, i) })
	}
	for _, c := range slices.Backward(p.dots) {
		if e := next[c]; e != nil && p.kinds[c] == flying && p.kinds[e] != flying {
			p.kinds[c] = chained
		}
	}
}

// isWide reports whether registers hold one element of the result each. Narrower
// ones are packed and unpacked between dots, which must not happen in flight.
func isWide(dot *ir.Operation) bool {
	return ir.BitWidth(ir.ElemOf(dot.OneResult().Type())) == 32
}

// accumulates is the later dot of the body that d's result is the accumulator of,
// nil if it has other uses, too.
func (p *dotLoop) accumulates(d *ir.Operation) *ir.Operation {
	if v := d.OneResult(); v.HasOneUse() {
		if e := v.OnlyUser(); ttng.Is(e, "warp_group_dot") && e.Block() == d.Block() && ttng.AsWarpGroupDot(e).C() == v {
			return e
		}
	}
	return nil
}

// carried is the number of the value that the loop carries the dot's result as. It is
// false if the body uses the result in another way, except in conditions, where a
// wait can be.
func (p *dotLoop) carried(dot *ir.Operation) (int, bool) {
	index, found := 0, false
	for queue := []*ir.Value{dot.OneResult()}; len(queue) > 0; {
		v := queue[0]
		queue = queue[1:]
		for u := range v.Uses() {
			switch o := u.Owner(); {
			case o == forloop.Yield(p.loop):
				if found {
					return 0, false
				}
				index, found = u.Index(), true
			case o.Parent() == p.loop || !p.inConditions(o):
				return 0, false
			case o.Is(scf.Yield):
				queue = append(queue, o.Parent().Result(u.Index()))
			}
		}
	}
	return index, found
}

// inConditions reports whether there are only conditions between the loop and op.
func (p *dotLoop) inConditions(op *ir.Operation) bool {
	for op = op.Parent(); op != p.loop; op = op.Parent() {
		if !op.Is(scf.If) {
			return false
		}
	}
	return true
}

// isAccumulator reports whether v is used as accumulator of dots only.
func (p *dotLoop) isAccumulator(v *ir.Value) bool {
	for u := range v.Uses() {
		if !ttng.Is(u.Owner(), "warp_group_dot") || ttng.AsWarpGroupDot(u.Owner()).CUse() != u {
			return false
		}
	}
	return true
}

// ending is the first dot that is waited for, which ends all before it; nil if
// there is none.
func (p *dotLoop) ending() *ir.Operation {
	for _, d := range p.dots {
		if p.kinds[d] == waited {
			return d
		}
	}
	return nil
}

// usedAfterEnding reports whether all uses of v come after a dot that is waited for,
// which comes before d; those after d are not known yet.
func (p *dotLoop) usedAfterEnding(v *ir.Value, d *ir.Operation) bool {
	end := p.ending()
	if end == nil || !end.IsBeforeInBlock(d) {
		return false
	}
	for u := range v.Users() {
		if !end.IsBeforeInBlock(forloop.AncestorIn(p.loop.Body(), u)) {
			return false
		}
	}
	return true
}

// keepsOperands reports whether the operands of dot in shared memory are of buffers
// from outside of the loop.
func (p *dotLoop) keepsOperands(dot *ir.Operation) bool {
	for _, v := range buffers(dot) {
		set := alias.Of(v)
		if set.Any || slices.ContainsFunc(set.Buffers, p.loop.IsAncestorOf) {
			return false
		}
	}
	return true
}

// keepsRegisters reports whether no iteration fills the registers of the dot's first
// operand again while the dot of the iteration before may read them: they are filled
// outside of the loop, or after a dot that is waited for.
func (p *dotLoop) keepsRegisters(dot *ir.Operation) bool {
	a := ttng.AsWarpGroupDot(dot).A()
	if _, ok := a.Type().(*ir.TensorType); !ok || !forloop.DefinedInside(a, p.loop) {
		return true
	}
	for a.DefIs(ttg.ConvertLayout) { // which may only rename registers
		a = ttg.AsConvertLayout(a.Def()).Src()
	}
	end, filled := p.ending(), a.Def()
	return end != nil && filled != nil && filled.Block() == p.loop.Body() && end.IsBeforeInBlock(filled)
}

// drain reports whether the only dot of the loop, whose result is carried as number index,
// may run on until the next iteration computes the registers of its first operand, and
// remembers what does.
func (p *dotLoop) drain(dot *ir.Operation, index int) bool {
	a := ttng.AsWarpGroupDot(dot).A()
	for a.DefIs(ttg.ConvertLayout) {
		a = ttg.AsConvertLayout(a.Def()).Src()
	}
	if len(p.dots) != 1 || a.Def() == nil || a.Def().Block() != p.loop.Body() || !p.isAccumulator(scf.IterArg(p.loop, index)) {
		return false
	}
	if p.filling(a.Def()) == nil {
		return false
	}
	p.drains[dot] = a.Def()
	return true
}

// filling is the operand of an elementwise operation, computed in the loop, through which
// it can be held back: each element of the result depends on one of its elements, which
// registers hold whole or packed. It is nil if there is none.
func (p *dotLoop) filling(op *ir.Operation) *ir.Value {
	if !op.Def().Has(ir.Elementwise) || !ir.IsPure(op) || op.NumResults() != 1 {
		return nil
	}
	var least *ir.Value
	for _, v := range op.OperandValues() {
		if _, ok := v.Type().(*ir.TensorType); ok && forloop.DefinedInside(v, p.loop) && v.Def() != nil {
			bits := ir.BitWidth(ir.ElemOf(v.Type()))
			if bits >= 8 && bits <= 32 && (least == nil || bits < ir.BitWidth(ir.ElemOf(least.Type()))) {
				least = v
			}
		}
	}
	return least
}

// waitBeforeFilling waits for the dot of the iteration before where the registers of its
// first operand are computed again.
func (p *dotLoop) waitBeforeFilling(d *ir.Operation) {
	fills := p.drains[d]
	p.b.At(fills)
	p.waitFor(0, []*ir.Value{scf.IterArg(p.loop, p.carriedAs[d]), p.filling(fills)})
}

// overwritten reports whether an iteration may write a buffer of dot while that, or
// the same dot of the iteration before, may still read it.
func (p *dotLoop) overwritten(dot *ir.Operation) bool {
	var mine []*ir.Operation
	for _, v := range buffers(dot) {
		mine = append(mine, alias.Of(v).Buffers...)
	}
	last, found := p.doneAfter(dot), false
	for op := range p.loop.Body().Ops() {
		ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
			if into, isCopy := written(o); into != nil && (!isCopy || last != nil && !last.IsBeforeInBlock(op)) {
				found = found || aliases(into, mine)
			}
			return ir.Advance
		})
	}
	return found
}

// doneAfter is the dot of the body after which a wait ends what the iteration before
// has left of dot; nil if dot ends in its own iteration.
func (p *dotLoop) doneAfter(dot *ir.Operation) *ir.Operation {
	var last, end *ir.Operation
	for _, d := range p.dots {
		switch p.kinds[d] {
		case waited:
			if dot.IsBeforeInBlock(d) {
				return nil
			}
			if end == nil {
				end = d
			}
		case flying:
			last = d
		}
	}
	if end != nil {
		return end
	}
	return last
}

// written is the buffer that op writes, or nil; isCopy says that it is a copy that
// goes on by itself, for which the pipeliner has chosen a part of the buffer that
// nothing reads in this iteration.
func written(op *ir.Operation) (into *ir.Value, isCopy bool) {
	switch op.Def() {
	case ttg.AsyncCopy:
		return ttg.AsAsyncCopy(op).Result(), true
	case ttg.LocalStore:
		return ttg.AsLocalStore(op).Dst(), false
	case ttng.Def("async_tma_copy_global_to_local"):
		return ttng.AsAsyncTmaCopyGlobalToLocal(op).Result(), true
	case ttng.Def("async_tma_gather"):
		return ttng.AsAsyncTmaGather(op).Result(), true
	}
	return nil, false
}

// aliases reports whether v may be a view of one of those buffers.
func aliases(v *ir.Value, buffers []*ir.Operation) bool {
	set := alias.Of(v)
	return set.Any || slices.ContainsFunc(set.Buffers, func(op *ir.Operation) bool { return slices.Contains(buffers, op) })
}

// buffers are the operands of a dot that are in shared memory.
func buffers(dot *ir.Operation) []*ir.Value {
	var list []*ir.Value
	for _, v := range []*ir.Value{ttng.AsWarpGroupDot(dot).A(), ttng.AsWarpGroupDot(dot).B()} {
		if _, ok := v.Type().(*ttg.MemDescType); ok {
			list = append(list, v)
		}
	}
	return list
}

// wait makes a wait until at most pendings dots are in flight, which values, results
// of dots, are not; what comes after it uses them as it gives them back. It has the
// buffers of these dots, and of those chained to them, as operands.
func (p *dotLoop) wait(pendings int64, values ...*ir.Value) {
	var inputs []*ir.Value
	add := func(v *ir.Value) {
		if !slices.Contains(inputs, v) {
			inputs = append(inputs, v)
		}
	}
	for _, v := range values {
		add(v)
		for _, buffer := range p.chain(v.Def()) {
			add(buffer)
		}
	}
	p.waitFor(pendings, inputs)
}

// waitFor is wait with these operands.
func (p *dotLoop) waitFor(pendings int64, inputs []*ir.Value) *ir.Operation {
	types := make([]ir.Type, len(inputs))
	for i, v := range inputs {
		types[i] = v.Type()
	}
	w := p.b.Create(ttng.Def("warp_group_dot_wait"), ir.State{
		Operands: inputs, Types: types, Attrs: []ir.NamedAttr{{Name: "pendings", Attr: p.b.Context().I32Attr(pendings)}},
	})
	for i, v := range inputs {
		if _, ok := v.Type().(*ir.TensorType); !ok {
			continue
		}
		v.ReplaceUsesIf(w.Result(i), func(u *ir.Use) bool {
			top := forloop.AncestorIn(w.Block(), u.Owner())
			return top != nil && w.IsBeforeInBlock(top)
		})
	}
	return w
}

// waitInConditions waits where conditions use the result of d.
func (p *dotLoop) waitInConditions(d *ir.Operation) {
	var places []place
	for queue := []*ir.Value{d.OneResult()}; len(queue) > 0; queue = queue[1:] {
		for u := range queue[0].Uses() {
			o := u.Owner()
			switch at := (place{queue[0], o.Block()}); {
			case o.Block() == p.loop.Body():
			case o.Is(scf.Yield):
				queue = append(queue, o.Parent().Result(u.Index()))
			case !slices.Contains(places, at):
				places = append(places, at)
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return p.depth(a.b) - p.depth(b.b) })
	for i, at := range places {
		if !at.used() {
			continue // a condition around it has waited
		}
		p.b.Loc = d.Loc()
		if def := at.v.Def(); def.Block() == at.b {
			p.b.SetAfter(def)
		} else {
			p.b.SetToStart(at.b)
		}
		inputs := []*ir.Value{at.v}
		for _, v := range p.chain(d) {
			if !slices.Contains(inputs, v) {
				inputs = append(inputs, v)
			}
		}
		w := p.waitFor(0, inputs)
		p.handOut(at.v, ttng.AsWarpGroupDotWait(w).Outputs()[0], at.b, places[i+1:])
	}
}

// place is a block of a condition that uses v, the result of a dot in flight.
type place struct {
	v *ir.Value
	b *ir.Block
}

// used reports whether an operation of the block itself, not one that hands v out, uses v.
func (at place) used() bool {
	for u := range at.v.Users() {
		if u.Block() == at.b && !u.Is(scf.Yield) {
			return true
		}
	}
	return false
}

// depth is how many operations a block lies in.
func (p *dotLoop) depth(b *ir.Block) int {
	n := 0
	for op := b.Parent(); op != p.loop; op = op.Parent() {
		n++
	}
	return n
}

// handOut has the conditions around block, which waits for v and has it as waited after
// that, give it back where it is used later: if v itself lived on, the wait would copy
// registers that the dot still computes. places are those that are still to come.
func (p *dotLoop) handOut(v, waited *ir.Value, block *ir.Block, places []place) {
	for cond := block.Parent(); cond != p.loop; cond = cond.Parent() {
		if !anyUse(v, func(u *ir.Use) bool { return p.comesAfter(cond, u.Owner()) }) {
			return
		}
		for _, r := range cond.Regions() {
			if r.Empty() {
				p.b.SetToEnd(r.AddBlock())
				scf.NewYield(p.b)
			}
			out := v
			if r == block.Region() {
				out = waited
			}
			y := r.First().Terminator()
			y.SetOperands(append(slices.Clone(y.OperandValues()), out))
		}
		given := cond.AddResult(v.Type())
		here := func(op *ir.Operation) bool { // the next condition gives it back to what is further out
			at := forloop.AncestorIn(cond.Block(), op)
			return at != nil && cond.IsBeforeInBlock(at)
		}
		v.ReplaceUsesIf(given, func(u *ir.Use) bool { return here(u.Owner()) })
		for i, at := range places {
			if at.v == v && here(at.b.Parent()) {
				places[i].v = given
			}
		}
		waited, block = given, cond.Block()
	}
}

func anyUse(v *ir.Value, is func(u *ir.Use) bool) bool {
	for u := range v.Uses() {
		if is(u) {
			return true
		}
	}
	return false
}

// comesAfter reports whether op comes after cond in an iteration, and not in it.
func (p *dotLoop) comesAfter(cond, op *ir.Operation) bool {
	for top := cond; top != p.loop; top = top.Parent() {
		if at := forloop.AncestorIn(top.Block(), op); at != nil {
			return at != top && top.IsBeforeInBlock(at)
		}
	}
	return false
}

// chain are the buffers of d and of the dots whose results it adds to.
func (p *dotLoop) chain(d *ir.Operation) []*ir.Value {
	var list []*ir.Value
	for ; ttng.Is(d, "warp_group_dot"); d = ttng.AsWarpGroupDot(d).C().Def() {
		list = append(list, buffers(d)...)
	}
	return list
}

// waitForPrevious waits, in a loop that ends no dot otherwise, until the dots of the
// iteration before are done: it has all results before the buffers.
func (p *dotLoop) waitForPrevious(fly []*ir.Operation) {
	var values []*ir.Value
	for _, d := range fly {
		if _, ok := p.carriedAs[d]; ok {
			values = append(values, d.OneResult())
		}
	}
	for _, v := range slices.Clone(values) {
		for _, buffer := range p.chain(v.Def()) {
			if !slices.Contains(values, buffer) {
				values = append(values, buffer)
			}
		}
	}
	p.b.After(fly[len(fly)-1])
	p.waitFor(int64(len(fly)), values)
}

// waitAfterLoop waits for the dots of the last iteration. Buffers that nothing uses
// after the loop are kept until then.
func (p *dotLoop) waitAfterLoop(fly []*ir.Operation) {
	var values, outside []*ir.Value
	for _, d := range fly {
		if i, ok := p.carriedAs[d]; ok {
			values = append(values, p.loop.Result(i))
		}
		for _, v := range buffers(d) {
			if !forloop.DefinedInside(v, p.loop) && !slices.Contains(outside, v) {
				outside = append(outside, v)
			}
		}
	}
	p.b.After(p.loop)
	p.waitFor(0, slices.Concat(values, outside))
}
