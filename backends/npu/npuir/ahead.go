package npuir

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// ahead is what of a loop can be done an iteration early: transfers that fill buffers of
// its body, whose addresses do not depend on what else the iteration does. A core issues
// its instructions in order, so in an iteration whose scalar unit reads what the vector
// unit has computed, the transfers of the next one would begin late.
type ahead struct {
	loop  *ir.Operation
	roots []*ir.Operation // that fill the buffers, in the order of the body
	// stored are the arguments of the kernel that the loop writes to.
	stored map[*ir.Value]bool
	// carried says which of the values that the loop carries are known early, and needed
	// which of them the roots are computed of.
	carried, needed []bool
}

// newAhead finds what can be done early, for buffers that the body makes; nil if there is
// nothing, or no need, or cores wait for one another in the loop.
func newAhead(loop *ir.Operation, buffers []*ir.Operation) *ahead {
	a := &ahead{loop: loop, stored: make(map[*ir.Value]bool)}
	a.carried, a.needed = make([]bool, len(scf.IterArgs(loop))), make([]bool, len(scf.IterArgs(loop)))
	waits, synced := false, false
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		synced = synced || op.Is(SyncBlock)
		if op.Is(linalg.Load) {
			space, _ := SpaceOf(op.Context(), linalg.AsLoad(op).Memref().Type())
			waits = waits || space == UB
		}
		_, writes := touched(op)
		for _, v := range writes {
			a.stored[origin(v)] = true
		}
		return ir.Advance
	})
	if !waits || synced { // what other programs write is not read before the core has waited for them
		return nil
	}
	for i := range a.carried {
		a.carried[i] = true
	}
	for changed := true; changed; {
		changed = false
		for i, v := range loop.Body().Terminator().OperandValues() {
			if a.carried[i] && !a.known(v) {
				a.carried[i], changed = false, true
			}
		}
	}
	spoiled := make(map[*ir.Value]bool) // accessed by what is not early
	for op := range loop.Body().Ops() {
		reads, writes := memories(op)
		if len(reads)+len(writes) == 0 {
			continue
		}
		own := func(v *ir.Value) bool {
			return slices.ContainsFunc(buffers, func(b *ir.Operation) bool { return b.OneResult() == v }) && !spoiled[v]
		}
		early := len(writes) > 0 && op.NumResults() == 0 &&
			!slices.ContainsFunc(writes, func(v *ir.Value) bool { return !own(v) }) &&
			!slices.ContainsFunc(reads, func(v *ir.Value) bool { return !own(v) && (v.Def() != nil || a.stored[v]) }) &&
			a.operandsKnown(op)
		if early {
			a.roots = append(a.roots, op)
			continue
		}
		for _, v := range append(reads, writes...) {
			spoiled[v] = true
		}
	}
	if !slices.ContainsFunc(a.roots, func(op *ir.Operation) bool {
		return slices.ContainsFunc(accessesOf(op), func(x access) bool { return x.pipe == PipeMTE2 })
	}) {
		return nil
	}
	for _, root := range a.roots {
		ir.Walk(root, func(in *ir.Operation) ir.WalkResult {
			for _, v := range in.Operands() {
				a.need(v)
			}
			return ir.Advance
		})
	}
	return a
}

// memories are the buffers and arguments that an operation reads and writes, with all in
// its regions.
func memories(op *ir.Operation) (reads, writes []*ir.Value) {
	ir.Walk(op, func(op *ir.Operation) ir.WalkResult {
		r, w := touched(op)
		for _, v := range r {
			if linalg.MemRefOf(op.Context(), v.Type()) != nil {
				reads = append(reads, origin(v))
			}
		}
		for _, v := range w {
			writes = append(writes, origin(v))
		}
		return ir.Advance
	})
	return reads, writes
}

// operandsKnown reports whether what an operation reads of its surroundings is known early.
func (a *ahead) operandsKnown(op *ir.Operation) bool {
	known := true
	ir.Walk(op, func(in *ir.Operation) ir.WalkResult {
		for _, v := range in.Operands() {
			known = known && a.known(v)
		}
		return ir.Advance
	})
	return known
}

// known reports whether a value is computed early: by operations of the body that access
// no memory but arguments that the loop does not write to. Values of inner blocks are what
// their operation makes them.
func (a *ahead) known(v *ir.Value) bool {
	body := a.loop.Body()
	if v.Block() != body {
		return true
	}
	op := v.Def()
	if op == nil {
		i := slices.Index(scf.IterArgs(a.loop), v)
		return i < 0 || a.carried[i] // the induction variable is known
	}
	switch {
	case op.Is(linalg.Alloc):
		return true
	case op.Is(linalg.Load):
		m := origin(linalg.AsLoad(op).Memref())
		if m.Def() != nil || a.stored[m] {
			return false
		}
	case op.NumRegions() > 0, op.Def().Dialect() == Name, op.Is(linalg.AtomicRMW), op.Is(linalg.Store):
		return false
	}
	return !slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool { return !a.known(v) })
}

// need marks what a value that is known is computed of.
func (a *ahead) need(v *ir.Value) {
	body := a.loop.Body()
	if v.Block() != body {
		return
	}
	if op := v.Def(); op != nil {
		for _, in := range op.Operands() {
			a.need(in)
		}
	} else if i := slices.Index(scf.IterArgs(a.loop), v); i >= 0 && !a.needed[i] {
		a.needed[i] = true
		a.need(body.Terminator().Operand(i))
	}
}

// iteration writes what is done early of an iteration.
type iteration struct {
	*ahead
	b    *ir.Builder
	m    *ir.Mapping
	made map[*ir.Operation]bool
}

// at is the iteration of an induction variable and of carried values, nil where these are
// not known.
func (a *ahead) at(b *ir.Builder, induction *ir.Value, args []*ir.Value) *iteration {
	it := &iteration{ahead: a, b: b, m: ir.NewMapping(), made: make(map[*ir.Operation]bool)}
	it.m.Map(scf.InductionVar(a.loop), induction)
	for i, v := range scf.IterArgs(a.loop) {
		if args[i] != nil {
			it.m.Map(v, args[i])
		}
	}
	return it
}

// compute writes the operations that a value needs.
func (it *iteration) compute(v *ir.Value) *ir.Value {
	if op := v.Def(); op != nil && op.Block() == it.loop.Body() && !op.Is(linalg.Alloc) && !it.made[op] {
		it.made[op] = true
		for _, in := range op.Operands() {
			it.compute(in)
		}
		it.b.Insert(op.Clone(it.m))
	}
	return it.m.Lookup(v)
}

// next are the values that the iteration carries on.
func (it *iteration) next() []*ir.Value {
	out := make([]*ir.Value, len(scf.IterArgs(it.loop)))
	for i := range out {
		if it.needed[i] {
			out[i] = it.compute(it.loop.Body().Terminator().Operand(i))
		}
	}
	return out
}

// fill writes the transfers to the buffers of one half.
func (it *iteration) fill(halves map[*ir.Operation][2]*ir.Value, half int) {
	for op, buffers := range halves {
		it.m.Map(op.OneResult(), buffers[half])
	}
	for _, root := range it.roots {
		ir.Walk(root, func(in *ir.Operation) ir.WalkResult {
			for _, v := range in.Operands() {
				it.compute(v)
			}
			return ir.Advance
		})
		it.b.Insert(root.Clone(it.m))
	}
}
