package loops

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/masks"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// LoadAhead starts the loads from global memory of the next iteration in this one, in
// loops with dots that are not pipelined and write no global memory:
//
//	scf.for %i = %lo to %hi          %first = tt.load at %lo, if %lo < %hi
//	  %q = tt.load at %i             scf.for %i = %lo to %hi iter_args(%q = %first)
//	  %a = ttg.local_alloc %q    →     %a = ttg.local_alloc %q
//	  %s = tt.dot …                    %next = tt.load at %i + 1, if %i + 1 < %hi
//	                                   %s = tt.dot …
//	                                   scf.yield %next
//
// What is loaded arrives in registers while dots run, so no iteration waits for memory.
// What goes into shared memory takes the registers of the value that just went there.
var LoadAhead = &pass.Pass{
	Name: "tritongpu-load-ahead",
	Doc:  "start the loads of the next iteration in this one",
	Options: []pass.Option{
		{Name: "registers", Doc: "the most 32-bit registers per thread for a loop's tensors and the loads on their way", Default: 255},
		{Name: "meanwhile", Doc: "leave loops with more instructions per thread that wait for no load", Default: mostMeanwhile},
	},
	Example: loadAheadExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		for _, loop := range forloop.All(r.Module) {
			if leavesGlobalMemory(loop) && forloop.IsInnermost(loop) && meanwhile(loop) < r.Int("meanwhile") {
				r.Count("moved", loadAhead(b, loop, r.Int("registers")-WordsIn(loop)))
			}
		}
		return nil
	},
}

// mostMeanwhile is how many instructions a thread may have to do beside what it loads and
// multiplies, for its loads to be worth their registers ahead: with more, such as random
// numbers, it has enough to do until they arrive, and none to spare.
const mostMeanwhile = 100

// meanwhile is about how many instructions of an iteration need nothing that it loads: one
// for each register of what threads compute alone.
func meanwhile(loop *ir.Operation) int {
	waits := make(map[*ir.Operation]bool)
	n := 0
	for op := range loop.Body().Ops() {
		waits[op] = !tensors.ComputesInThread(op) || slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool {
			return waits[v.Def()]
		})
		if waits[op] || !op.Def().Has(ir.Elementwise) {
			continue
		}
		for _, v := range op.Results() {
			if t := tensors.Type(v); t != nil {
				n += tensors.Registers(t.Shape, encoding.AttrOf(t))
			}
		}
	}
	return n
}

// loadAhead starts loads of loop an iteration ahead: all of them, or none, for an
// iteration that waits for one load gains little. It returns their number.
func loadAhead(b *ir.Builder, loop *ir.Operation, room int) int {
	var loads []*ir.Operation
	staging := false
	for op := range loop.Body().Ops() {
		if !op.Is(tt.Load) {
			continue
		}
		if !ahead(loop, op) {
			return 0
		}
		room -= tensors.Words(op)
		staging = staging || staged(op)
		loads = append(loads, op)
	}
	if room < 0 || !staging {
		return 0
	}
	b.At(loop)
	some := arith.Compare(b, arith.CmpI, arith.SLT, scf.LowerBound(loop), scf.UpperBound(loop))
	end := arith.Binary(b, arith.SubI, scf.UpperBound(loop), scf.Step(loop))
	first := inFirst(b, loop)
	inits := make([]*ir.Value, len(loads))
	for i, load := range loads {
		b.At(loop)
		b.Loc = load.Loc()
		inits[i] = first.load(load, some)
	}
	loop, args := forloop.AddCarried(b, loop, inits...)
	b.SetToStart(loop.Body())
	more := arith.Compare(b, arith.CmpI, arith.SLT, scf.InductionVar(loop), end)
	for i, load := range loads {
		last := lastUse(loop, load)
		b.SetAfter(last)
		b.Loc = load.Loc()
		forloop.Yield(loop).AppendOperand(inNext(b, loop, last).load(load, more))
		load.OneResult().ReplaceAllUsesWith(args[i])
	}
	for _, load := range loads {
		eraseUnused(load)
	}
	return len(loads)
}

// ahead reports whether the loads of loop's next iteration can be computed in this one.
func ahead(loop, load *ir.Operation) bool {
	return !tt.IsBlockPtr(tt.Address(load).Type()) && computable(loop, load, make(map[*ir.Operation]bool))
}

func computable(loop, op *ir.Operation, seen map[*ir.Operation]bool) bool {
	for _, v := range op.Operands() {
		if next := forloop.Next(loop, v); next != nil {
			v = next
		}
		d := v.Def()
		if d == nil || !forloop.DefinedInside(v, loop) || seen[d] {
			continue
		}
		seen[d] = true
		if d.Block() != loop.Body() || !tensors.ComputesInThread(d) || !computable(loop, d, seen) {
			return false
		}
	}
	return true
}

// lastUse is the operation of loop's body from which on the registers of what load
// loads are free, where all of that goes into shared memory: the first one that reads
// shared memory afterwards, for no load passes the barrier before it. Else it is load.
func lastUse(loop, load *ir.Operation) *ir.Operation {
	if !staged(load) {
		return load
	}
	last := load
	for u := range load.OneResult().Users() {
		if u.Block() != loop.Body() {
			return load
		}
		if last.IsBeforeInBlock(u) {
			last = u
		}
	}
	for op := last.Next(); op != nil; op = op.Next() {
		if op.Is(ttg.LocalLoad) {
			return op
		}
	}
	return last
}

// computation makes operations of a loop again, of other operands.
type computation struct {
	b *ir.Builder
	// instead is what takes the place of a value; nil for one that is made again.
	instead func(*ir.Value) *ir.Value
	made    map[*ir.Operation]*ir.Operation
}

// inFirst computes what values are in the first iteration of loop.
func inFirst(b *ir.Builder, loop *ir.Operation) *computation {
	return &computation{b: b, made: make(map[*ir.Operation]*ir.Operation), instead: func(v *ir.Value) *ir.Value {
		switch {
		case v == scf.InductionVar(loop):
			return scf.LowerBound(loop)
		case forloop.Next(loop, v) != nil:
			return scf.Inits(loop)[scf.CarriedIndex(v)]
		case !forloop.DefinedInside(v, loop):
			return v
		}
		return nil
	}}
}

// inNext computes, after an operation of the loop's body, what values are in the
// iteration that follows.
func inNext(b *ir.Builder, loop, after *ir.Operation) *computation {
	now := &computation{b: b, made: make(map[*ir.Operation]*ir.Operation), instead: func(v *ir.Value) *ir.Value {
		if d := v.Def(); d == nil || !forloop.DefinedInside(v, loop) || !after.IsBeforeInBlock(d) {
			return v
		}
		return nil
	}}
	return &computation{b: b, made: make(map[*ir.Operation]*ir.Operation), instead: func(v *ir.Value) *ir.Value {
		switch {
		case v == scf.InductionVar(loop):
			return arith.Binary(b, arith.AddI, v, scf.Step(loop))
		case forloop.Next(loop, v) != nil:
			return now.value(forloop.Next(loop, v))
		case !forloop.DefinedInside(v, loop):
			return v
		}
		return nil
	}}
}

func (c *computation) value(v *ir.Value) *ir.Value {
	if w := c.instead(v); w != nil {
		return w
	}
	return c.again(v.Def()).Result(v.Index())
}

// again makes op again.
func (c *computation) again(op *ir.Operation) *ir.Operation {
	if n := c.made[op]; n != nil {
		return n
	}
	m := ir.NewMapping()
	for _, v := range op.Operands() {
		m.Map(v, c.value(v))
	}
	n := op.Clone(m)
	c.b.Insert(n)
	c.made[op] = n
	return n
}

// load makes a load again, for an iteration that there is where pred holds.
func (c *computation) load(op *ir.Operation, pred *ir.Value) *ir.Value {
	n := c.again(op)
	if v := n.OneResult(); masks.Of(n) == nil {
		c.b.SetBefore(n)
		tt.AsLoad(n).SetOther(ub.NewPoison(c.b, v.Type())) // nobody reads it
	}
	masks.Restrict(c.b, n, pred)
	return n.OneResult()
}

// eraseUnused erases op, and of its operands those that then nothing uses.
func eraseUnused(op *ir.Operation) {
	operands := op.OperandValues()
	op.Erase()
	for _, v := range operands {
		if d := v.Def(); d != nil && tensors.ComputesInThread(d) && !slices.ContainsFunc(d.Results(), (*ir.Value).HasUses) {
			eraseUnused(d)
		}
	}
}
