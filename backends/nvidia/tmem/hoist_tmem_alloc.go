package tmem

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// HoistTMEMAlloc keeps accumulators in tensor memory from one iteration to the next,
// instead of loading them and storing them again:
//
//	for … iter_args(%acc = %zeros) {
//	  %m, %t = ttng.tmem_alloc %acc
//	  %u = ttng.tc_gen5_mma %a, %b, %m[%t]
//	  %r, %v = ttng.tmem_load %m[%u]
//	  yield %r }
//
// becomes
//
//	%m, %t = ttng.tmem_alloc
//	%s = ttng.tmem_store %zeros, %m[%t]
//	%last = for … iter_args(%w = %s) {
//	  %u = ttng.tc_gen5_mma %a, %b, %m[%w]
//	  yield %u }
//	%r, %v = ttng.tmem_load %m[%last]
//
// Loads move to the branch that uses them, and what a select keeps is not stored. With
// hoist-out-of-if, which is for after that, buffers leave an scf.if whose other branch
// gives what they were filled with, and one filled from another takes its place.
var HoistTMEMAlloc = &pass.Pass{
	Name:    "tritongpu-hoist-tmem-alloc",
	Doc:     "keep accumulators in tensor memory through loops",
	Example: hoistTMEMAllocExample,
	Options: []pass.Option{
		{Name: "hoist-out-of-if", Doc: "hoist buffers out of branches, and no more out of loops", Default: false},
	},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		patterns := []rewrite.Pattern{
			{Name: "rotate-store", Root: ttng.Def("tmem_store"), Apply: rotateStore},
			{Name: "rotate-load", Root: ttng.Def("tmem_load"), Apply: rotateLoad},
			{Name: "store-of-load", Root: ttng.Def("tmem_store"), Apply: storeOfLoad},
			{Name: "store-of-select", Root: ttng.Def("tmem_store"), Apply: storeOfSelect},
			{Name: "sink-load", Root: ttng.Def("tmem_load"), Apply: sinkLoad},
			{Name: "unused-load", Root: ttng.Def("tmem_load"), Apply: unusedLoad},
		}
		if r.Bool("hoist-out-of-if") {
			patterns = append(patterns,
				rewrite.Pattern{Name: "store-to-alloc", Root: ttng.Def("tmem_store"), Apply: storeToAlloc},
				rewrite.Pattern{Name: "alloc-out-of-if", Root: ttng.Def("tmem_alloc"), Apply: allocOutOfIf},
				rewrite.Pattern{Name: "forward-load", Root: ttng.Def("tmem_alloc"), Apply: forwardLoad})
		} else {
			r.Count("hoisted", hoistAllocs(b, r.Module))
		}
		rewrite.Greedy(r.Module, rewrite.NewSet(patterns, std.CarriedPatterns()), rewrite.Options{
			Count: func(name string) { r.Count(name, 1) },
		})
		splitAllocs(b, r.Module)
		return nil
	},
}

// hoistAllocs hoists the buffers of accumulators, and others that are the same in each
// iteration, out of the loops that the dots on them are in.
func hoistAllocs(b *ir.Builder, module *ir.Operation) (n int) {
	var dots []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if ttng.AsMMA(op) != nil {
			dots = append(dots, op)
		}
		return ir.Advance
	})
	for _, d := range dots {
		loop := d.Parent()
		if loop == nil || !loop.Is(scf.For) {
			continue
		}
		hoistInvariant(d, loop)
		if alloc := ttng.AsMMA(d).D().Def(); ttng.IsTmemAlloc(alloc) && alloc.Block() == d.Block() && hoistAlloc(b, alloc, loop) {
			n++
		}
	}
	return n
}

// hoistInvariant moves the buffers that dot only reads out of loop where what fills them
// comes from there, through operations on one operand.
func hoistInvariant(dot, loop *ir.Operation) {
	for _, v := range dot.Operands() {
		op := v.Def()
		if !ttng.IsTmemAlloc(op) || !forloop.DefinedInside(v, loop) || !ttng.InTensorMemory(v) || v.Type().(*ttg.MemDescType).Mutable {
			continue
		}
		chain := []*ir.Operation{op}
		src := ttng.AsTmemAlloc(op).Src()
		for src != nil && forloop.DefinedInside(src, loop) {
			def := src.Def()
			if def == nil || !ir.IsSpeculatable(def) || !ir.IsPure(def) || def.NumOperands() != 1 || def.Block() != op.Block() {
				break
			}
			chain = append(chain, def)
			src = def.OneOperand()
		}
		if src == nil || forloop.DefinedInside(src, loop) {
			continue
		}
		for _, c := range slices.Backward(chain) {
			c.MoveBefore(loop)
		}
	}
}

// chained reports whether the operations on a buffer follow one another by tokens: all
// that could touch it are in the chain.
func chained(buffer *ir.Value) bool {
	alloc := buffer.Def()
	if !ttng.IsTmemAlloc(alloc) || ttng.AsTmemAlloc(alloc).Token() == nil {
		return false
	}
	for u := range buffer.Users() {
		if _, dep := step(u); dep == nil {
			return false
		}
	}
	return true
}

// step is what op gives and takes as its place in the order of a buffer's operations;
// nil where it has none.
func step(op *ir.Operation) (token, dep *ir.Value) {
	switch {
	case ttng.IsTmemLoad(op):
		l := ttng.AsTmemLoad(op)
		return l.Token(), l.Dep()
	case ttng.IsTmemStore(op):
		s := ttng.AsTmemStore(op)
		if len(s.Token()) == 1 {
			return s.Token()[0], s.Dep()
		}
	default:
		if m := ttng.AsMMA(op); m != nil && len(m.Token()) == 1 {
			return m.Token()[0], m.AccDep()
		}
	}
	return nil, nil
}

// lastUse is the end of the chain that begins with token, in the block where token is;
// nil where it branches or leaves the block.
func lastUse(token *ir.Value) *ir.Value {
	block := token.Def().Block()
	for token.HasUses() {
		if !token.HasOneUse() {
			return nil
		}
		user := token.OnlyUser()
		next, dep := step(user)
		if next == nil || dep != token || user.Block() != block {
			return nil
		}
		token = next
	}
	return token
}

// hoistAlloc makes alloc before loop, which then carries the order of the operations on
// the buffer; what fills it is stored in each iteration.
func hoistAlloc(b *ir.Builder, alloc, loop *ir.Operation) bool {
	old := ttng.AsTmemAlloc(alloc)
	t := old.Result().Type().(*ttg.MemDescType)
	if !chained(old.Result()) || !t.Mutable {
		return false
	}
	last := lastUse(old.Token())
	if last == nil {
		return false
	}
	b.At(loop)
	b.Loc = alloc.Loc()
	fresh := ttng.NewTmemAlloc(b, t, nil, true)
	b.Loc = unnamed(alloc)
	loop, args := forloop.AddCarried(b, loop, fresh.Token())
	token := args[0]
	if last == old.Token() {
		last = token
	}
	if src := old.Src(); src != nil {
		b.SetBefore(alloc)
		b.Loc = unnamed(alloc)
		token = ttng.NewTmemStore(b, src, fresh.Result(), token, arith.Int(b, b.Context().I1(), 1)).Token()[0]
		if last == args[0] {
			last = token
		}
	}
	forloop.Yield(loop).AppendOperand(last)
	old.Result().ReplaceAllUsesWith(fresh.Result())
	old.Token().ReplaceAllUsesWith(token)
	alloc.Erase()
	return true
}

// carriedBy is the number of the value that loop carries in v, an argument of its body;
// -1 for other values.
func carriedBy(loop *ir.Operation, v *ir.Value) int {
	if !v.IsArgument() || v.Block() != loop.Body() {
		return -1
	}
	return scf.CarriedIndex(v)
}

// rotateStore has each iteration store, at its end, what the next one would store first,
// so that the tensor is not carried.
func rotateStore(rw *rewrite.Rewriter, op *ir.Operation) bool {
	s := ttng.AsTmemStore(op)
	loop := op.Parent()
	if s.Dep() == nil || loop == nil || !loop.Is(scf.For) || !isTrue(s.Pred()) || !chained(s.Dst()) || forloop.DefinedInside(s.Dst(), loop) {
		return false
	}
	value, order := carriedBy(loop, s.Src()), carriedBy(loop, s.Dep())
	if value < 0 || order < 0 || !s.Src().HasOneUse() || !s.Dep().HasOneUse() || loop.Result(order).HasUses() {
		return false
	}
	yield, inits := forloop.Yield(loop), scf.Inits(loop)
	rw.SetBefore(loop)
	rw.Loc = unnamed(op)
	first := ttng.NewTmemStore(rw.Builder, inits[value], s.Dst(), inits[order], arith.Int(rw.Builder, rw.Context().I1(), 1))
	setInit(loop, order, first.Token()[0])
	arg := s.Dep()
	s.Token()[0].ReplaceAllUsesWith(arg)
	op.MoveBefore(yield)
	s.SetDep(yield.Operand(order))
	s.SetSrc(yield.Operand(value))
	if !isTrueBefore(s.Pred(), op) {
		rw.SetBefore(op)
		s.SetPred(arith.Int(rw.Builder, rw.Context().I1(), 1))
	}
	yield.SetOperand(order, s.Token()[0])
	loadAfter(rw, loop, value, order, s.Dst(), op)
	yield.SetOperand(value, scf.IterArg(loop, value))
	rw.Modified(op)
	rw.Modified(loop)
	return true
}

// isTrueBefore reports whether v, the constant true, is defined where op can use it.
func isTrueBefore(v *ir.Value, op *ir.Operation) bool {
	at := forloop.AncestorIn(v.Def().Block(), op)
	return at != nil && v.Def().IsBeforeInBlock(at)
}

// rotateLoad has each iteration load, at its start, what the one before it loaded for it
// last, so that the tensor is not carried.
func rotateLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	l := ttng.AsTmemLoad(op)
	loop := op.Parent()
	if l.Dep() == nil || l.Token() == nil || loop == nil || !loop.Is(scf.For) || !chained(l.Src()) || forloop.DefinedInside(l.Src(), loop) ||
		!l.Result().HasOneUse() || !l.Token().HasOneUse() {
		return false
	}
	yield := forloop.Yield(loop)
	if l.Result().OnlyUser() != yield || l.Token().OnlyUser() != yield {
		return false
	}
	value, order := slices.Index(yield.OperandValues(), l.Result()), slices.Index(yield.OperandValues(), l.Token())
	inits := scf.Inits(loop)
	alloc := inits[order].Def()
	if !ttng.IsTmemAlloc(alloc) || ttng.AsTmemAlloc(alloc).Src() != nil || ttng.AsTmemAlloc(alloc).Result() != l.Src() {
		return false
	}
	rw.SetBefore(loop)
	rw.Loc = unnamed(op)
	first := ttng.NewTmemStore(rw.Builder, inits[value], l.Src(), inits[order], arith.Int(rw.Builder, rw.Context().I1(), 1))
	setInit(loop, order, first.Token()[0])
	yield.SetOperand(order, l.Dep())
	op.MoveBefore(loop.Body().First())
	arg := scf.IterArg(loop, order)
	l.SetDep(arg)
	arg.ReplaceUsesIf(l.Token(), func(u *ir.Use) bool { return u.Owner() != op })
	if carried := scf.IterArg(loop, value); carried.HasUses() {
		carried.ReplaceAllUsesWith(l.Result())
	}
	loadAfter(rw, loop, value, order, l.Src(), op)
	yield.SetOperand(value, scf.IterArg(loop, value))
	rw.Modified(op)
	rw.Modified(loop)
	return true
}

// setInit makes v the first value of what loop carries as number i.
func setInit(loop *ir.Operation, i int, v *ir.Value) {
	inits := slices.Clone(scf.Inits(loop))
	inits[i] = v
	scf.AsFor(loop).SetInitArgs(inits)
}

// loadAfter loads the result value of loop from buffer, where it is when the operations
// in the loop's result order are done; at is what has its location.
func loadAfter(rw *rewrite.Rewriter, loop *ir.Operation, value, order int, buffer *ir.Value, at *ir.Operation) {
	res, token := loop.Result(value), loop.Result(order)
	if !res.HasUses() {
		return
	}
	rw.SetAfter(loop)
	rw.Loc = unnamed(at)
	load := ttng.NewTmemLoad(rw.Builder, res.Type(), buffer, token)
	token.ReplaceUsesIf(load.Token(), func(u *ir.Use) bool { return u.Owner() != load.Op })
	res.ReplaceAllUsesWith(load.Result())
}

// storeOfLoad removes a store of what was just loaded from the same place.
func storeOfLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	s := ttng.AsTmemStore(op)
	if s.Dep() == nil || !ttng.IsTmemLoad(s.Dep().Def()) {
		return false
	}
	l := ttng.AsTmemLoad(s.Dep().Def())
	if l.Token() != s.Dep() || l.Result() != s.Src() || l.Src() != s.Dst() {
		return false
	}
	rw.Replace(op, l.Token())
	return true
}

// storeOfSelect stores only where a select does not give what is in the buffer already.
func storeOfSelect(rw *rewrite.Rewriter, op *ir.Operation) bool {
	s := ttng.AsTmemStore(op)
	if s.Dep() == nil || !s.Src().DefIs(arith.Select) || !isTrue(s.Pred()) {
		return false
	}
	sel := arith.AsSelect(s.Src().Def())
	if !ir.IsInt(sel.Condition().Type(), 1) {
		return false
	}
	held := func(v *ir.Value) bool {
		if !ttng.IsTmemLoad(v.Def()) {
			return false
		}
		l := ttng.AsTmemLoad(v.Def())
		return l.Src() == s.Dst() && l.Token() == s.Dep()
	}
	keepIfTrue, keepIfFalse := held(sel.TrueValue()), held(sel.FalseValue())
	if keepIfTrue == keepIfFalse {
		return false
	}
	pred, value := sel.Condition(), sel.TrueValue()
	rw.SetBefore(op)
	rw.Loc = unnamed(op)
	if keepIfTrue {
		pred, value = arith.Binary(rw.Builder, arith.XorI, pred, arith.Int(rw.Builder, rw.Context().I1(), 1)), sel.FalseValue()
	}
	rw.Loc = op.Loc()
	rw.Replace(op, ttng.NewTmemStore(rw.Builder, value, s.Dst(), s.Dep(), pred).Token()...)
	return true
}

// unusedLoad removes a load whose tensor nobody uses.
func unusedLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	l := ttng.AsTmemLoad(op)
	if l.Dep() == nil || l.Result().HasUses() {
		return false
	}
	if l.Token() != nil {
		l.Token().ReplaceAllUsesWith(l.Dep())
	}
	rw.Erase(op)
	return true
}

// sinkLoad moves a load in a loop down to its first use, into a branch if it has all
// uses. Operations that follow it in the order of the buffer stay after it.
func sinkLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	l := ttng.AsTmemLoad(op)
	if l.Dep() == nil || l.Token() == nil || op.ParentOf(scf.For) == nil || !l.Result().HasUses() || !chained(l.Src()) {
		return false
	}
	to := firstUse(op)
	if to == nil {
		return false
	}
	// Loads in a row stay in their order.
	next := op.Next()
	for ttng.IsTmemLoad(next) {
		next = next.Next()
	}
	if to == next {
		return false
	}
	for u := range l.Token().Users() {
		at := forloop.AncestorIn(u.Block(), to)
		if at == nil || at == u || !at.IsBeforeInBlock(u) {
			return false
		}
	}
	from := op.Block()
	var uses []*ir.Use
	for u := range l.Token().Uses() {
		uses = append(uses, u)
	}
	op.MoveBefore(to)
	token := l.Token()
	for at := to.Block(); at != from; {
		branch := at.Parent()
		token = passOut(rw, branch, at, token, l.Dep())
		at = branch.Block()
	}
	for _, u := range uses {
		// Uses in a branch that the load went into stay: the token is seen there.
		if token != l.Token() {
			u.Set(token)
		}
	}
	rw.Modified(op)
	return true
}

// firstUse is where the load op can move down to: the first use of its tensor, where
// all are in one branch of an scf.if in that branch; nil if that is where it is.
func firstUse(op *ir.Operation) *ir.Operation {
	block := op.Block()
	var to *ir.Operation
	for {
		to = nil
		for u := range ttng.AsTmemLoad(op).Result().Users() {
			at := forloop.AncestorIn(block, u)
			if at == nil {
				return nil
			}
			if to == nil || at.IsBeforeInBlock(to) {
				to = at
			}
		}
		if !to.Is(scf.If) {
			break
		}
		// All uses in one branch of to?
		var inner *ir.Block
		for u := range ttng.AsTmemLoad(op).Result().Users() {
			b := u.Block()
			for b != nil && b.Parent() != to {
				if b.Parent() == nil {
					b = nil
					break
				}
				b = b.Parent().Block()
			}
			if b == nil || inner != nil && inner != b {
				return to
			}
			inner = b
		}
		block = inner
	}
	return to
}

// passOut has branch, an scf.if, give inside from its block at and otherwise, from the
// other one, outside.
func passOut(rw *rewrite.Rewriter, branch *ir.Operation, at *ir.Block, inside, outside *ir.Value) *ir.Value {
	out := branch.AddResult(inside.Type())
	i := scf.AsIf(branch)
	if i.ElseRegion().Empty() {
		rw.SetToEnd(i.ElseRegion().AddBlock())
		rw.Loc = unnamed(branch)
		scf.NewYield(rw.Builder)
	}
	for _, r := range []*ir.Region{i.ThenRegion(), i.ElseRegion()} {
		v := outside
		if r.First() == at {
			v = inside
		}
		r.First().Terminator().AppendOperand(v)
	}
	return out
}

// storeToAlloc fills a buffer where it is made, if what is stored to it first is there.
func storeToAlloc(rw *rewrite.Rewriter, op *ir.Operation) bool {
	s := ttng.AsTmemStore(op)
	if s.Dep() == nil || !isTrue(s.Pred()) || !ttng.IsTmemAlloc(s.Dep().Def()) {
		return false
	}
	alloc := s.Dep().Def()
	a := ttng.AsTmemAlloc(alloc)
	if a.Result() != s.Dst() || a.Src() != nil || alloc.Block() != op.Block() || !a.Token().HasOneUse() {
		return false
	}
	if src := s.Src(); src.Block() == alloc.Block() && src.Def() != nil && alloc.IsBeforeInBlock(src.Def()) {
		return false
	}
	a.SetSrc(s.Src())
	rw.Replace(op, a.Token())
	rw.Modified(alloc)
	return true
}

// allocOutOfIf moves a buffer out of the first branch of an scf.if that gives what it
// holds in the end, where the other one gives what fills it.
func allocOutOfIf(rw *rewrite.Rewriter, op *ir.Operation) bool {
	a := ttng.AsTmemAlloc(op)
	branch := op.Parent()
	if a.Token() == nil || a.Src() == nil || branch == nil || !branch.Is(scf.If) || scf.AsIf(branch).ElseRegion().Empty() ||
		op.Block() != scf.AsIf(branch).ThenRegion().First() {
		return false
	}
	yes := op.Block().Terminator()
	no := scf.AsIf(branch).ElseRegion().First().Terminator()
	var given []int
	for i, v := range yes.Operands() {
		if !ttng.IsTmemLoad(v.Def()) || no.Operand(i) != a.Src() {
			continue
		}
		l := ttng.AsTmemLoad(v.Def())
		if l.Src() == a.Result() && l.Token() != nil && !l.Token().HasUses() && l.Op.Block() == op.Block() {
			given = append(given, i)
		}
	}
	if len(given) == 0 {
		return false
	}
	op.MoveBefore(branch)
	for _, i := range given {
		load := yes.Operand(i).Def()
		l := ttng.AsTmemLoad(load)
		res := branch.Result(i)
		rw.SetAfter(branch)
		rw.Loc = load.Loc()
		after := ttng.NewTmemLoad(rw.Builder, l.Result().Type(), l.Src(), l.Dep())
		res.ReplaceAllUsesWith(after.Result())
		yes.SetOperand(i, l.Token())
		no.SetOperand(i, a.Token())
		res.SetType(l.Token().Type())
		after.SetDep(res)
		rw.Modified(load)
	}
	rw.Modified(op)
	rw.Modified(branch)
	return true
}

// forwardLoad has a buffer that another one fills be that one, if nobody needs what
// that one held.
func forwardLoad(rw *rewrite.Rewriter, op *ir.Operation) bool {
	a := ttng.AsTmemAlloc(op)
	if a.Token() == nil || a.Src() == nil || !ttng.IsTmemLoad(a.Src().Def()) {
		return false
	}
	l := ttng.AsTmemLoad(a.Src().Def())
	if l.Token() == nil || l.Token().HasUses() || !l.Result().HasOneUse() || !l.Dep().HasOneUse() || a.Result().Type() != l.Src().Type() || l.Op.Block() != op.Block() {
		return false
	}
	rw.Replace(op, l.Src(), l.Dep())
	return true
}

// splitAllocs stores what fills a mutable buffer after it is made: passes that follow
// know no other form.
func splitAllocs(b *ir.Builder, module *ir.Operation) {
	ir.WalkPost(module, func(op *ir.Operation) {
		if !ttng.IsTmemAlloc(op) {
			return
		}
		a := ttng.AsTmemAlloc(op)
		src := a.Src()
		if src == nil || a.Token() == nil || !a.Result().Type().(*ttg.MemDescType).Mutable {
			return
		}
		a.SetSrc(nil)
		b.SetAfter(op)
		b.Loc = unnamed(op)
		store := ttng.NewTmemStore(b, src, a.Result(), a.Token(), arith.Int(b, b.Context().I1(), 1))
		a.Token().ReplaceUsesIf(store.Token()[0], func(u *ir.Use) bool { return u.Owner() != store.Op })
	})
}

// unnamed is where op is, without the name of its result.
func unnamed(op *ir.Operation) ir.Location {
	if n, ok := op.Loc().(*ir.NameLoc); ok {
		return n.Child
	}
	return op.Loc()
}
