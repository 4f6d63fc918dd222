package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// InterleaveTMem moves loads from tensor memory, with operations that follow on their
// result alone, down to their uses, so that fewer registers are taken at a time; and
// allocations, so that they share its columns with others.
//
// A load stays before what may write its buffer, and before an arrival at a barrier,
// which may tell others that they can.
var InterleaveTMem = &pass.Pass{
	Name:    "triton-nvidia-interleave-tmem",
	Doc:     "move loads from tensor memory to their uses",
	Example: interleaveTMemExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		var ops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if ttng.IsTmemLoad(op) || ttng.IsTmemAlloc(op) {
				ops = append(ops, op)
			}
			return ir.Advance
		})
		for _, op := range ops {
			var buffer *ir.Value
			if ttng.IsTmemLoad(op) {
				buffer = ttng.AsTmemLoad(op).Src()
			} else {
				buffer = ttng.AsTmemAlloc(op).Result()
			}
			for sink(op, buffer) {
				r.Count("moved", 1)
			}
		}
		return nil
	},
}

// sink moves op, which touches buffer, and its followers down; false if they are where
// they must be.
func sink(op *ir.Operation, buffer *ir.Value) bool {
	chain := []*ir.Operation{op}
	for {
		last := chain[len(chain)-1]
		user := onlyUserOf(last)
		if user == nil || user != last.Next() || !ir.IsPure(user) || user.IsTerminator() {
			break
		}
		chain = append(chain, user)
	}
	last := chain[len(chain)-1]
	next := last.Next()
	for next != nil && !next.IsTerminator() && !uses(next, chain) && passes(next, buffer) {
		next = next.Next()
	}
	if next == nil || next == last.Next() {
		return false
	}
	for _, c := range chain {
		c.MoveBefore(next)
	}
	return true
}

// onlyUserOf is the operation that has the one use of op's results; nil if there are
// more.
func onlyUserOf(op *ir.Operation) (user *ir.Operation) {
	for _, v := range op.Results() {
		for u := range v.Users() {
			if user != nil {
				return nil
			}
			user = u
		}
	}
	return user
}

// uses reports whether op, or an operation in it, uses a result of one of chain.
func uses(op *ir.Operation, chain []*ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for _, v := range o.Operands() {
			for _, c := range chain {
				if v.Def() == c {
					return ir.Stop
				}
			}
		}
		return ir.Advance
	})
}

// passes reports whether an access of buffer may go to after op, or after the
// operations in it.
func passes(op *ir.Operation, buffer *ir.Value) bool {
	return !ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		if o.NumRegions() > 0 && !o.Def().Effects.Unknown {
			return ir.Advance // what counts is inside
		}
		if !passesOne(o, buffer) {
			return ir.Stop
		}
		return ir.Advance
	})
}

func passesOne(op *ir.Operation, buffer *ir.Value) bool {
	switch {
	case ttng.IsTmemStore(op):
		return !mayAlias(ttng.AsTmemStore(op).Dst(), buffer)
	case ttng.IsTmemAlloc(op):
		return !mayAlias(ttng.AsTmemAlloc(op).Result(), buffer)
	case ttng.Is(op, "tmem_copy"):
		c := ttng.AsTmemCopy(op)
		return c.Barrier() == nil && !mayAlias(c.Dst(), buffer)
	case ttng.AsMMA(op) != nil:
		m := ttng.AsMMA(op)
		return len(m.Barriers()) == 0 && !mayAlias(m.D(), buffer)
	case op.Is(ttg.LocalAlloc), op.Is(ttg.LocalStore), op.Is(ttg.LocalDealloc), op.Is(tt.Store), op.Is(tt.DescriptorStore),
		ttng.Is(op, "wait_barrier"), ttng.Is(op, "fence_async_shared"):
		return true // of other memory, and nobody is told of it
	}
	return !ir.EffectsOf(op).Changes()
}

// An access is the part of a buffer that a view of it sees.
type access struct {
	alloc *ir.Value
	// from and to bound it in each dimension of alloc; skipped dimensions are those of
	// arrays of buffers.
	from, to []int64
	skipped  int
}

// accessOf is the part of tensor memory that v sees; nil if that is not known.
func accessOf(v *ir.Value) *access {
	op := v.Def()
	switch {
	case op == nil:
		p := v.Block().Parent()
		if p != nil && p.Is(ttg.WarpSpecializePartitions) {
			return accessOf(ttg.AsWarpSpecialize(p.Parent()).ExplicitCaptures()[v.Index()])
		}
		return nil
	case ttng.IsTmemAlloc(op):
		shape := v.Type().(*ttg.MemDescType).Shape
		a := &access{alloc: v, from: make([]int64, len(shape)), to: make([]int64, len(shape))}
		copy(a.to, shape)
		return a
	case op.Is(ttg.MemDescIndex):
		x := ttg.AsMemDescIndex(op)
		a := accessOf(x.Src())
		if a == nil || a.skipped >= len(a.from) {
			return nil
		}
		if i, known := arith.ConstantInt(x.Index()); known {
			a.from[a.skipped], a.to[a.skipped] = a.from[a.skipped]+i, a.from[a.skipped]+i+1
		}
		a.skipped++
		return a
	case op.Is(ttg.MemDescSubslice):
		x := ttg.AsMemDescSubslice(op)
		a := accessOf(x.Src())
		shape := v.Type().(*ttg.MemDescType).Shape
		if a == nil || a.skipped+len(shape) != len(a.from) {
			return nil
		}
		for i, o := range x.Offsets() {
			d := a.skipped + i
			a.from[d], a.to[d] = a.from[d]+o, a.from[d]+o+shape[i]
		}
		return a
	case ttng.Is(op, "tmem_subslice"):
		x := ttng.AsTmemSubslice(op)
		a := accessOf(x.Src())
		shape := v.Type().(*ttg.MemDescType).Shape
		if a == nil || a.skipped+len(shape) != len(a.from) {
			return nil
		}
		d := len(a.from) - 1
		a.from[d], a.to[d] = a.from[d]+x.N(), a.from[d]+x.N()+shape[len(shape)-1]
		return a
	case ttg.Viewed(op) != nil:
		// Another view of all of it: its dimensions are other ones from here on.
		a := accessOf(ttg.Viewed(op))
		if a == nil {
			return nil
		}
		return &access{alloc: a.alloc}
	}
	return nil
}

// mayAlias reports whether two views of tensor memory may see the same element.
func mayAlias(x, y *ir.Value) bool {
	a, b := accessOf(x), accessOf(y)
	if a == nil || b == nil {
		return true
	}
	if a.alloc != b.alloc {
		return false
	}
	for i := range min(len(a.from), len(b.from)) {
		if a.to[i] <= b.from[i] || b.to[i] <= a.from[i] {
			return false
		}
	}
	return true
}
