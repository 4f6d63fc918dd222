package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/tmem"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// PartitionScheduling says of each operation of the loops with tt.warp_specialize in
// which partitions it runs. Partition 2 loads through descriptors, partition 1 has the
// matrix multiplications in tensor memory, and partition 0 uses what they compute; a
// second multiplication has a partition of users of its own, and so on:
//
//	%a = tt.descriptor_load …            {ttg.partition = array<i32: 2>}
//	%m = ttg.local_alloc %a              {ttg.partition = array<i32: 2>}
//	%t = ttng.tc_gen5_mma %m, …          {ttg.partition = array<i32: 1>}
//	%x, %u = ttng.tmem_load …[%t]        {ttg.partition = array<i32: 0>}
//
// What lies between two partitions goes to the one that computes its operands, is made
// again in the other where it feeds back, or, if it is cheap, in each that needs it.
// Loops without such loads and multiplications stay as they are.
var PartitionScheduling = &pass.Pass{
	Name:    "tritongpu-partition-scheduling",
	Doc:     "say in which partitions operations of warp-specialized loops run",
	Example: partitionSchedulingExample,
	Run: func(r *pass.Run) error {
		var loops []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(scf.For) && op.HasAttr(tt.WarpSpecializeAttr) {
				loops = append(loops, op)
			}
			return ir.Advance
		})
		for i, loop := range loops {
			g, err := schedule(loop)
			if err != nil {
				return err
			}
			if g == nil {
				continue
			}
			c := loop.Context()
			loop.SetAttr(tagAttr, c.I32Attr(int64(i)))
			stages := make([]ir.Attribute, len(g.list))
			for i, p := range g.list {
				stages[i] = c.I32Attr(p.stage)
			}
			loop.SetAttr(stagesAttr, c.ArrayAttr(stages...))
			r.Count("partitions", len(g.list))
		}
		return nil
	},
}

// schedule marks the operations of a loop; it returns nil for a loop without partitions.
func schedule(loop *ir.Operation) (*groupsOf, error) {
	g := &groupsOf{loop: loop}
	switch known, err := g.read(); {
	case err != nil:
		return nil, err
	case !known && !g.begin():
		return nil, nil
	}
	if err := g.checkIDs(); err != nil {
		return nil, err
	}
	g.propagate()
	for _, p := range g.list {
		for _, u := range g.outputs(p) {
			if u.Owner() != forloop.Yield(loop) {
				g.remakeBroadcasts(u)
			}
		}
	}
	g.markBodies()
	if err := g.markRest(); err != nil {
		return nil, err
	}
	if err := g.markRegions(); err != nil {
		return nil, err
	}
	return g, g.checkAll()
}

// read takes the partitions that the loop has already; known is false where it has none.
func (g *groupsOf) read() (known bool, err error) {
	stages, ok := g.loop.Attr(stagesAttr).(*ir.ArrayAttr)
	if _, tagged := tagOf(g.loop); !ok || !tagged {
		return false, nil
	}
	for _, a := range stages.Elems {
		n, ok := a.(*ir.IntegerAttr)
		if !ok || n.Value < 0 {
			return false, mistake(g.loop, "%s has an element that is not a number of 0 or more", stagesAttr).
				WithHelp("without it, this pass chooses the partitions")
		}
		g.add(n.Value)
	}
	if err := g.checkIDs(); err != nil {
		return false, err
	}
	for op := range g.loop.Body().Ops() {
		if ids, ok := idsOf(op); ok && !op.IsTerminator() {
			for _, p := range g.at(ids) {
				p.ops = append(p.ops, op)
			}
		}
	}
	return true, nil
}

// checkIDs refuses numbers of partitions that there are none of.
func (g *groupsOf) checkIDs() (err error) {
	ir.Walk(g.loop, func(op *ir.Operation) ir.WalkResult {
		ids, _ := idsOf(op)
		for _, id := range ids {
			if op != g.loop && (id < 0 || id >= int64(len(g.list))) {
				err = mistake(op, "partition %d of %s is none of the loop's %d", id, op.Name(), len(g.list)).
					WithHelp("without " + idsAttr + ", this pass chooses a partition")
				return ir.Stop
			}
		}
		return ir.Advance
	})
	return err
}

// begin makes the partitions and gives them loads, multiplications and what surely goes
// with these. It reports whether there are any.
func (g *groupsOf) begin() bool {
	users, dots, loads := g.add(0), g.add(1), g.add(0)
	loaded := g.markLoads(loads)
	mmas := g.markDots(dots)
	if len(loaded) == 0 && len(mmas) == 0 {
		return false
	}
	for op := range g.loop.Body().Ops() {
		if isExpensive(op) {
			g.set(op, users)
			g.markDependencies(op, users)
		}
	}
	for _, op := range loaded {
		g.markUsers(op, users)
	}
	of := []*group{users}
	for len(of) < len(mmas) {
		of = append(of, g.add(int64(len(of))))
	}
	for i, op := range slices.Backward(mmas) {
		g.markUsers(op, of[i])
	}
	return true
}

// markLoads gives p the loads through descriptors, and the buffers that they fill.
func (g *groupsOf) markLoads(p *group) (loaded []*ir.Operation) {
	for op := range g.loop.Body().Ops() {
		var desc *ir.Value
		switch op.Def() {
		case tt.DescriptorLoad:
			desc = tt.AsDescriptorLoad(op).Desc()
		case tt.DescriptorGather:
			desc = tt.AsDescriptorGather(op).Desc()
		default:
			continue
		}
		g.set(op, p)
		loaded = append(loaded, op)
		for u := range op.OneResult().Users() {
			if u.Is(ttg.LocalAlloc) && copiesInto(u, desc) || ttng.IsTmemAlloc(u) {
				if forloop.AncestorIn(g.loop.Body(), u) != u {
					continue
				}
				g.set(u, p)
				loaded = append(loaded, u)
			}
		}
	}
	return loaded
}

// copiesInto reports whether the buffer has the layout in which copies through desc come.
func copiesInto(alloc *ir.Operation, desc *ir.Value) bool {
	block := desc.Type().(*tt.TensorDescType).Block
	buffer := alloc.OneResult().Type().(*ttg.MemDescType)
	if len(block.Shape) == len(buffer.Shape) {
		return block.Encoding == buffer.Encoding
	}
	want, ok := block.Encoding.(*encoding.Attr)
	have, ok2 := buffer.Encoding.(*encoding.Attr)
	return ok && ok2 && sameButRank(want.Layout, have.Layout)
}

// sameButRank reports whether a and b are one layout of blocks with and without dimensions
// of size 1 in front.
func sameButRank(a, b layout.Encoding) bool {
	x, ok := a.(*layout.NVMMAShared)
	y, ok2 := b.(*layout.NVMMAShared)
	return ok && ok2 && x.SwizzlingByteWidth == y.SwizzlingByteWidth && x.Transposed == y.Transposed &&
		x.ElementBitWidth == y.ElementBitWidth && x.FP4Padded == y.FP4Padded
}

// markDots gives p the matrix multiplications, the stores that only begin their sums, and
// views of their operands of their own.
func (g *groupsOf) markDots(p *group) (mmas []*ir.Operation) {
	for op := range g.loop.Body().Ops() {
		m := ttng.AsMMA(op)
		if m == nil {
			continue
		}
		g.set(op, p)
		mmas = append(mmas, op)
		if dep := m.AccDep(); dep != nil {
			if store := g.before(dep); ttng.IsTmemStore(store) && !tmem.Modifies(op, g.loop) && !forloop.DefinedInside(ttng.AsTmemStore(store).Src(), g.loop) {
				g.set(store, p)
			}
		}
		g.markViews(op, p)
	}
	return mmas
}

// before is the operation inside the loop that computes v, in this iteration or the one
// before, or nil.
func (g *groupsOf) before(v *ir.Value) *ir.Operation {
	if next := forloop.Next(g.loop, v); next != nil {
		v = next
	}
	if v.Def() == nil || !forloop.DefinedInside(v, g.loop) {
		return nil
	}
	return v.Def()
}

// markViews gives p the views that lead to op's operands; one that others use, too, is made
// once more.
func (g *groupsOf) markViews(op *ir.Operation, p *group) {
	b := ir.NewBuilder(op.Context())
	var views []*ir.Operation
	for _, v := range op.OperandValues() {
		if v.Def() != nil {
			views = append(views, v.Def())
		}
	}
	for len(views) > 0 {
		view := views[len(views)-1]
		views = views[:len(views)-1]
		if ttg.Viewed(view) == nil || forloop.AncestorIn(g.loop.Body(), view) != view {
			continue
		}
		var mine, all int
		for u := range view.OneResult().Users() {
			all++
			if p.contains(u) {
				mine++
			}
		}
		if mine < all {
			b.At(view)
			own := view.Clone(ir.NewMapping())
			b.Insert(own)
			for u := range view.OneResult().Uses() {
				if p.contains(u.Owner()) {
					u.Set(own.OneResult())
				}
			}
			view = own
		}
		g.set(view, p)
		if def := ttg.Viewed(view).Def(); def != nil {
			views = append(views, def)
		}
	}
}

// expensiveElements is how many results of a costly function make it stay in one place.
const expensiveElements = 256

// isExpensive reports whether op computes many values that cost much each.
func isExpensive(op *ir.Operation) bool {
	if !op.Is(math.Exp2) && !op.Is(tt.InlineAsm) {
		return false
	}
	var n int64
	for _, v := range op.Results() {
		if t, ok := v.Type().(*ir.TensorType); ok {
			n += t.NumElements()
		}
	}
	return n > expensiveElements
}

// markDependencies gives p what leads from other partitions to op's operands.
func (g *groupsOf) markDependencies(op *ir.Operation, p *group) {
	var deps []*ir.Value
	for _, u := range nestedOperands(op) {
		switch u.Value().Type().(type) {
		case *ir.TensorType, *ttg.MemDescType:
			deps = append(deps, u.Value())
		}
	}
	seen := make(map[*ir.Value]bool)
	for len(deps) > 0 {
		v := deps[len(deps)-1]
		deps = deps[:len(deps)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if v.Def() == nil {
			if next := forloop.Next(g.loop, v); next != nil {
				deps = append(deps, next)
			}
			continue
		}
		def := forloop.AncestorIn(g.loop.Body(), v.Def())
		if def == nil || !g.comesFromPartition(def) || !g.trySet(def, p) {
			continue
		}
		for _, u := range nestedOperands(def) {
			deps = append(deps, u.Value())
		}
	}
}

// markUsers gives p the users of op that have no partition, and theirs.
func (g *groupsOf) markUsers(op *ir.Operation, p *group) {
	g.eachUser(op, func(_ *ir.Use, user *ir.Operation) bool { return g.trySet(user, p) })
}

// comesFromPartition reports whether op, or what it is computed from, is in some
// partitions, but not in all.
func (g *groupsOf) comesFromPartition(op *ir.Operation) bool {
	seen := make(map[*ir.Operation]bool)
	list := []*ir.Operation{op}
	for len(list) > 0 {
		op := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[op] {
			continue
		}
		seen[op] = true
		if ids, ok := idsOf(op); ok && len(ids) != len(g.list) {
			return true
		}
		list = append(list, g.definitionsOf(op)...)
	}
	return false
}

// remakeBroadcasts computes a broadcast once more in the partition that uses it, so that
// less data goes there.
func (g *groupsOf) remakeBroadcasts(u *ir.Use) {
	b := ir.NewBuilder(g.loop.Context())
	for {
		def := u.Value().Def()
		if def == nil || !def.Is(tt.Broadcast) && !def.Is(tt.ExpandDims) {
			return
		}
		b.At(def)
		own := def.Clone(ir.NewMapping())
		b.Insert(own)
		ids, _ := idsOf(u.Owner())
		for _, p := range g.at(ids) {
			g.set(own, p)
		}
		u.Set(own.OneResult())
		if own.Is(tt.Broadcast) {
			u = tt.AsBroadcast(own).SrcUse()
		} else {
			u = tt.AsExpandDims(own).SrcUse()
		}
	}
}
