package std

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// Inline replaces every call of a function that is not marked noinline by the
// function's body, callees before callers. A private callee that nothing calls
// any more is erased.
var Inline = &pass.Pass{
	Name:    "inline",
	Doc:     "inline the calls of functions",
	Example: inlineExample,
	Run:     func(r *pass.Run) error { return inlineCalls(r, false) },
}

func inlineCalls(r *pass.Run, all bool) error {
	in := inliner{run: r, all: all, funcs: Functions(r.Module), state: make(map[string]int), inlined: make(map[string]bool)}
	for op := range r.Module.Body().Ops() {
		if op.Is(tt.Func) {
			if err := in.function(op); err != nil {
				return err
			}
		}
	}
	if len(in.inlined) > 0 {
		eraseDead(r.Module, func(f string) bool { return in.inlined[f] })
	}
	return nil
}

// Functions are the functions of a module by name.
func Functions(module *ir.Operation) map[string]*ir.Operation {
	m := make(map[string]*ir.Operation)
	for op := range module.Body().Ops() {
		if op.Is(tt.Func) {
			m[tt.AsFunc(op).SymName()] = op
		}
	}
	return m
}

type inliner struct {
	run   *pass.Run
	all   bool // also what is marked noinline
	funcs map[string]*ir.Operation
	state map[string]int // 1 in progress, 2 done
	// inlined holds the functions that were inlined somewhere.
	inlined map[string]bool
	made    int // operations that inlining has copied
}

// function inlines all that f calls.
func (in *inliner) function(f *ir.Operation) error {
	name := tt.AsFunc(f).SymName()
	switch in.state[name] {
	case 1:
		return recursion(f)
	case 2:
		return nil
	}
	in.state[name] = 1
	var calls []*ir.Operation
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Call) {
			calls = append(calls, op)
		}
		return ir.Advance
	})
	for _, call := range calls {
		name := tt.AsCall(call).Callee()
		callee := in.funcs[name]
		if callee == nil || callee.Body() == nil {
			continue
		}
		if err := in.function(callee); err != nil {
			return err
		}
	}
	// The last call first: what follows a call may move into a block of its own,
	// and moves once in this order.
	for _, call := range slices.Backward(calls) {
		name := tt.AsCall(call).Callee()
		callee := in.funcs[name]
		if callee == nil || callee.Body() == nil || !in.all && noInline(callee) || !fits(call, callee) {
			continue
		}
		if in.made += pass.CountOps(callee); in.made > pass.MaxOps {
			return pass.OverLimit(call.Loc(), "functions that call functions several times multiply: a loop, or @triton.jit(noinline=True), keeps one copy",
				"inlining %s makes the kernel longer than %d operations, the limit", tt.AsFunc(callee).SymName(), pass.MaxOps)
		}
		inlineCall(call, callee)
		in.inlined[name] = true
		in.run.Count("inlined", 1)
	}
	// What follows a return is a block that nothing reaches; a callee without it
	// fits into more places.
	if f.Body() != nil {
		simplifyCFG(tt.AsFunc(f).Body(), in.run)
	}
	in.state[name] = 2
	return nil
}

func recursion(f *ir.Operation) error {
	d := diag.Errorf(PosOf(f.Loc()), "function %s calls itself", tt.AsFunc(f).SymName())
	return d.WithHelp("a kernel has no stack: write the recursion as a loop")
}

// PosOf is the place in the user's source that a location names.
func PosOf(l ir.Location) diag.Pos {
	if f := ir.FileLocOf(l); f != nil {
		return diag.Pos{File: f.File, Line: f.Line, Col: f.Col + 1}
	}
	return diag.Pos{}
}

func isPrivate(f *ir.Operation) bool { return tt.AsFunc(f).SymVisibility() == "private" }

func noInline(f *ir.Operation) bool {
	v, _ := f.IntAttr(tt.NoInlineAttr)
	return v != 0
}

// fits reports whether the callee's blocks may appear at the call: several of
// them only where the region around the call takes several: a function, or one
// that is called for each element.
func fits(call, callee *ir.Operation) bool {
	r := tt.AsFunc(callee).Body()
	return r.First() == r.Last() || call.Parent().Is(tt.Func) || call.Parent().Is(tt.MapElementwise)
}

func inlineCall(call, callee *ir.Operation) {
	c := call.Context()
	m := ir.NewMapping()
	for i, a := range callee.Body().Args() {
		m.Map(a, call.Operand(i))
	}
	// Copy the body into a region of its own, then move it to the call.
	holder := ir.NewOperation(call.Def(), &ir.State{Ctx: c})
	body := holder.AddRegion()
	tt.AsFunc(callee).Body().CloneInto(body, m)
	relocate(body, call.Loc())
	entry := body.First()
	for i, a := range entry.Args() {
		a.ReplaceAllUsesWith(call.Operand(i))
	}
	if entry == body.Last() {
		ret := entry.Terminator()
		for op := range entry.Ops() {
			if op != ret {
				op.MoveBefore(call)
			}
		}
		call.ReplaceAllUsesWith(ret.OperandValues()...)
		ret.Erase()
		call.Erase()
		return
	}
	spliceBlocks(call, body)
}

// spliceBlocks puts the blocks of body between the operations before the call
// and those after it; each return becomes a branch to the latter.
func spliceBlocks(call *ir.Operation, body *ir.Region) {
	before := call.Block()
	after := before.SplitBefore(call)
	results := make([]*ir.Value, call.NumResults())
	for i, r := range call.Results() {
		results[i] = after.AddArg(r.Type(), call.Loc())
	}
	call.ReplaceAllUsesWith(results...)
	b := ir.NewBuilder(call.Context())
	for blk := range body.Blocks() {
		ret := blk.Terminator()
		if ret == nil || !ret.Is(tt.Return) {
			continue
		}
		b.At(ret)
		b.Create(cf.Br, ir.State{Operands: ret.OperandValues(), Successors: []*ir.Block{after}})
		ret.Erase()
	}
	entry := body.First()
	call.Erase()
	before.TakeOps(entry.First())
	entry.Remove()
	region, at := before.Region(), before
	for blk := range body.Blocks() {
		blk.Remove()
		region.InsertAfter(blk, at)
		at = blk
	}
}

// relocate marks everything in r as called from site.
func relocate(r *ir.Region, site ir.Location) {
	cache := make(map[ir.Location]ir.Location)
	for b := range r.Blocks() {
		relocateBlock(b, site, cache)
	}
}

// calledFrom puts site at the outer end of l's chain of calls: what was called
// at B, called at C, is called at (B called at C).
func calledFrom(c *ir.Context, l, site ir.Location) ir.Location {
	if cs, ok := l.(*ir.CallSiteLoc); ok {
		return c.CallSiteLoc(cs.Callee, calledFrom(c, cs.Caller, site))
	}
	return c.CallSiteLoc(l, site)
}

func relocateBlock(b *ir.Block, site ir.Location, cache map[ir.Location]ir.Location) {
	at := func(c *ir.Context, l ir.Location) ir.Location {
		n, ok := cache[l]
		if !ok {
			n = calledFrom(c, l, site)
			cache[l] = n
		}
		return n
	}
	for op := range b.Ops() {
		c := op.Context()
		op.SetLoc(at(c, op.Loc()))
		for _, r := range op.Regions() {
			for inner := range r.Blocks() {
				for _, a := range inner.Args() {
					a.SetLoc(at(c, a.Loc()))
				}
				relocateBlock(inner, site, cache)
			}
		}
	}
}
