package tma

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// A descriptorClass is a set of values that may be the same descriptor, and what is known
// of the copies through it.
type descriptorClass struct {
	values []*ir.Value
	copies []descriptorCopy
	// crosses is set where the descriptor is an argument or the result of a call.
	crosses bool
}

// A descriptorCopy is what one operation copies through a descriptor.
type descriptorCopy struct {
	shape  []int64             // of the tensor, as long as the block's
	cga    layout.Bases        // how CTAs divide it
	buffer *layout.NVMMAShared // that a load fills, or nil
}

// descriptorClasses are the classes of the descriptors without a layout in a function,
// in the order in which they first appear.
func descriptorClasses(f *ir.Operation) []*descriptorClass {
	d := &descriptorSets{parent: make(map[*ir.Value]*ir.Value)}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		for _, r := range op.Regions() {
			for b := range r.Blocks() {
				d.add(b.Args())
			}
		}
		d.add(op.Results())
		d.tie(op)
		return ir.Advance
	})
	var out []*descriptorClass
	of := make(map[*ir.Value]*descriptorClass)
	for _, v := range d.order {
		root := d.find(v)
		if of[root] == nil {
			of[root] = &descriptorClass{}
			out = append(out, of[root])
		}
		of[root].add(v)
	}
	return out
}

// descriptorSets is a union-find over descriptors without a layout.
type descriptorSets struct {
	parent map[*ir.Value]*ir.Value
	order  []*ir.Value
}

func (d *descriptorSets) add(values []*ir.Value) {
	for _, v := range values {
		if needsEncoding(v) {
			d.find(v)
		}
	}
}

func (d *descriptorSets) find(v *ir.Value) *ir.Value {
	p, ok := d.parent[v]
	switch {
	case !ok:
		d.parent[v] = v
		d.order = append(d.order, v)
		return v
	case p == v:
		return v
	}
	d.parent[v] = d.find(p)
	return d.parent[v]
}

// join says that values of the lists at the same place are the same.
func (d *descriptorSets) join(a, b []*ir.Value) {
	for i := range min(len(a), len(b)) {
		if needsEncoding(a[i]) && a[i].Type() == b[i].Type() {
			d.parent[d.find(b[i])] = d.find(a[i])
		}
	}
}

// tie joins what op hands on.
func (d *descriptorSets) tie(op *ir.Operation) {
	end := func(r *ir.Region) []*ir.Value { return r.First().Terminator().OperandValues() }
	switch op.Def() {
	case scf.For:
		d.join(scf.Inits(op), scf.IterArgs(op))
		d.join(scf.Inits(op), end(scf.AsFor(op).Region()))
		d.join(scf.Inits(op), op.Results())
	case scf.While:
		w := scf.AsWhile(op)
		d.join(w.Inits(), w.Before().First().Args())
		d.join(w.Inits(), end(w.After()))
		kept := scf.AsCondition(w.Before().First().Terminator()).Args()
		d.join(kept, w.After().First().Args())
		d.join(kept, op.Results())
	case scf.If:
		for _, r := range op.Regions() {
			if !r.Empty() {
				d.join(op.Results(), end(r))
			}
		}
	case ttg.WarpSpecialize:
		for _, r := range ttg.Partitions(op) {
			if !r.Empty() {
				d.join(ttg.AsWarpSpecialize(op).ExplicitCaptures(), r.First().Args())
			}
		}
	case cf.Br:
		d.join(cf.AsBr(op).DestOperands(), op.Successor(0).Args())
	case cf.CondBr:
		d.join(cf.AsCondBr(op).TrueDestOperands(), op.Successor(0).Args())
		d.join(cf.AsCondBr(op).FalseDestOperands(), op.Successor(1).Args())
	}
}

// add takes a value into the class, with what uses it.
func (c *descriptorClass) add(v *ir.Value) {
	c.values = append(c.values, v)
	if v.DefIs(tt.Call) || v.Def() == nil && v.Block().Parent().Is(tt.Func) && tt.AsFunc(v.Block().Parent()).SymVisibility() == "private" {
		c.crosses = true
	}
	rank := len(v.Type().(*tt.TensorDescType).Block.Shape)
	for u := range v.Users() {
		switch u.Def() {
		case tt.Call, tt.Return:
			c.crosses = true
		case tt.DescriptorLoad, tt.DescriptorGather:
			t := u.OneResult().Type().(*ir.TensorType)
			c.copies = append(c.copies, copyOf(t, rank, filledBuffer(u)))
		case tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorScatter:
			c.copies = append(c.copies, copyOf(source(u).Type().(*ir.TensorType), rank, nil))
		}
	}
}

func copyOf(t *ir.TensorType, rank int, buffer *layout.NVMMAShared) descriptorCopy {
	shape := slices.Clone(t.Shape)
	for len(shape) < rank {
		shape = slices.Insert(shape, 0, 1)
	}
	var cga layout.Bases
	switch {
	case buffer != nil:
		cga = buffer.CGA
	case tensors.InBoxes(t):
		cga = tensors.CGA(t)
	}
	return descriptorCopy{shape, cut(cga, rank), buffer}
}

// filledBuffer is the layout of the first buffer that a load fills and that has one
// which TMA knows, or nil.
func filledBuffer(load *ir.Operation) *layout.NVMMAShared {
	for u := range load.OneResult().Users() {
		var buffer *ir.Value
		switch u.Def() {
		case ttg.LocalAlloc:
			buffer = u.OneResult()
		case ttg.LocalStore:
			buffer = ttg.AsLocalStore(u).Dst()
		default:
			continue
		}
		if a, ok := buffer.Type().(*ttg.MemDescType).Encoding.(*encoding.Attr); ok {
			if e, ok := a.Layout.(*layout.NVMMAShared); ok && !e.Transposed {
				return e
			}
		}
	}
	return nil
}

// layout is how blocks of that type lie in shared memory.
func (c *descriptorClass) layout(block *ir.TensorType) *layout.NVMMAShared {
	if c.crosses || len(c.copies) == 0 {
		return sharedLayout(block)
	}
	rank := len(block.Shape)
	shape := slices.Clone(c.copies[0].shape)
	cga := c.copies[0].cga
	var buffer *layout.NVMMAShared
	for _, p := range c.copies {
		for i := range shape {
			shape[i] = min(shape[i], p.shape[i])
		}
		if !slices.EqualFunc(cga, p.cga, slices.Equal) {
			cga = nil
		}
		switch {
		case p.buffer == nil:
		case buffer == nil:
			buffer = p.buffer
		case !sameShared(buffer, p.buffer):
			return sharedLayout(block)
		}
	}
	if buffer != nil {
		return fitted(buffer, rank)
	}
	return dividedLayout(shape, block.Elem, cga)
}

func sameShared(a, b *layout.NVMMAShared) bool {
	return a.SwizzlingByteWidth == b.SwizzlingByteWidth && a.ElementBitWidth == b.ElementBitWidth && a.FP4Padded == b.FP4Padded &&
		slices.EqualFunc(a.CGA, b.CGA, slices.Equal)
}
