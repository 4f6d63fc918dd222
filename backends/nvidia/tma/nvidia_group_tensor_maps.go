package tma

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// GroupMaps puts the making of tensor maps side by side, those of a block that are made
// before any of them is used:
//
//	ttng.tensormap_create %m, …
//	ttng.tensormap_fenceproxy_acquire %m
//	ttng.tensormap_create %n, …
//	ttng.tensormap_fenceproxy_acquire %n
//
// becomes
//
//	ttng.tensormap_create %m, …
//	ttng.tensormap_create %n, …
//	ttng.tensormap_fenceproxy_acquire %m
//	ttng.tensormap_fenceproxy_acquire %n
//
// of which the lowering has each warp make one, at the same time.
var GroupMaps = &pass.Pass{
	Name:    "nvidia-group-tensor-maps",
	Doc:     "put the making of tensor maps side by side",
	Example: groupMapsExample,
	Before:  []*pass.Fact{facts.NoDescriptors},
	Run: func(r *pass.Run) error {
		groups := make(map[*ir.Block]*mapGroup)
		var order []*ir.Block
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if ttng.Is(op, "tensormap_create") {
				if groups[op.Block()] == nil {
					groups[op.Block()] = &mapGroup{run: r}
					order = append(order, op.Block())
				}
			}
			return ir.Advance
		})
		for _, b := range order {
			groups[b].collect(b)
		}
		return nil
	},
}

// MakesMaps reports whether module makes several tensor maps.
func MakesMaps(module *ir.Operation) bool {
	n := 0
	return ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if ttng.Is(op, "tensormap_create") {
			n++
		}
		if n > 1 {
			return ir.Stop
		}
		return ir.Advance
	})
}

// mapGroup are maps of one block that nothing has used yet.
type mapGroup struct {
	run     *pass.Run
	creates []*ir.Operation
	// acquires has what acquires each, nil where nothing has yet.
	acquires []*ir.Operation
}

// collect finds the groups of a block and moves each together.
func (g *mapGroup) collect(b *ir.Block) {
	for op := b.First(); op != nil; op = op.Next() {
		switch {
		case ttng.Is(op, "tensormap_create"):
			if at := ttng.AsTensormapCreate(op).DescPtr(); g.has(at) || g.incomplete() {
				g.close()
			}
			g.creates, g.acquires = append(g.creates, op), append(g.acquires, nil)
		case ttng.Is(op, "tensormap_fenceproxy_acquire") && g.acquired(op):
		case ttng.Is(op, "reinterpret_tensor_descriptor"):
		case g.isUsedBy(op):
			g.close()
		}
	}
	g.close()
}

// has reports whether the group has a map at an address.
func (g *mapGroup) has(at *ir.Value) bool {
	for _, c := range g.creates {
		if ttng.AsTensormapCreate(c).DescPtr() == at {
			return true
		}
	}
	return false
}

// incomplete reports whether the group has a map that is not acquired.
func (g *mapGroup) incomplete() bool {
	for _, a := range g.acquires {
		if a == nil {
			return true
		}
	}
	return false
}

// acquired notes that op acquires a map of the group; false if it is of none.
func (g *mapGroup) acquired(op *ir.Operation) bool {
	at := ttng.AsTensormapFenceproxyAcquire(op).DescPtr()
	for i, c := range g.creates {
		if ttng.AsTensormapCreate(c).DescPtr() == at && g.acquires[i] == nil {
			g.acquires[i] = op
			return true
		}
	}
	return false
}

// isUsedBy reports whether op, or an operation in it, has a map of the group: its address
// or what was made of that.
func (g *mapGroup) isUsedBy(op *ir.Operation) bool {
	if len(g.creates) == 0 {
		return false
	}
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		for _, v := range o.Operands() {
			if ttng.Is(v.Def(), "reinterpret_tensor_descriptor") {
				v = ttng.AsReinterpretTensorDescriptor(v.Def()).RawDesc()
			}
			if g.has(v) {
				return ir.Stop
			}
		}
		return ir.Advance
	})
}

// close moves the creations of the group to its last one, and what acquires them after
// it, and begins another group.
func (g *mapGroup) close() {
	if n := len(g.creates); n > 1 && !g.incomplete() {
		last := g.creates[n-1]
		for _, c := range g.creates[:n-1] {
			c.MoveBefore(last)
		}
		after := last
		for _, a := range g.acquires {
			a.MoveAfter(after)
			after = a
		}
		g.run.Count("maps", n)
	}
	g.creates, g.acquires = nil, nil
}
