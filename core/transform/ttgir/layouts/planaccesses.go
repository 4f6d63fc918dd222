package layouts

import (
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// accessPlan gives accesses of memory the parts of CTAs that dots ask for.
type accessPlan struct {
	all  machine.Machine
	b    *ir.Builder
	seen map[*ir.Operation]bool // accesses that have their parts
	// blocks has how the blocks of a descriptor are divided, where a dot decided.
	blocks  map[*ir.Value]layout.Bases
	changed int
}

// operands has each CTA load what it needs of a dot's operands.
func (p *accessPlan) operands(dot tt.DotOp) {
	for _, v := range []*ir.Value{dot.A(), dot.B()} {
		if !tensors.InBoxes(tensors.Type(v)) {
			continue
		}
		p.source(v, tensors.CGA(tensors.Type(v)), make(map[*ir.Value]bool))
	}
}

// source has the loads from which v is computed, element by element, divided as v is.
func (p *accessPlan) source(v *ir.Value, cga layout.Bases, seen map[*ir.Value]bool) {
	op := v.Def()
	if op == nil || seen[v] {
		return
	}
	seen[v] = true
	switch {
	case op.Is(tt.Load):
		p.access(op, cga)
	case op.Is(tt.DescriptorLoad):
		if desc := tt.AsDescriptorLoad(op).Desc(); p.blocks[desc] == nil {
			p.blocks[desc] = leading(cga, len(blockOf(desc).Shape))
		}
	case op.Is(tt.Trans):
		perm := tensors.Permutation(op)
		before := make(layout.Bases, len(cga))
		for i, b := range cga {
			before[i] = make([]int32, len(b))
			for to, from := range perm {
				before[i][from] = b[to]
			}
		}
		p.source(tt.AsTrans(op).Src(), before, seen)
	case op.Is(ttg.ConvertLayout), op.Def().Has(ir.Elementwise) && ir.IsPure(op):
		for _, x := range op.Operands() {
			if t := tensors.Type(x); t != nil && slices.Equal(t.Shape, tensors.Type(v).Shape) {
				p.source(x, cga, seen)
			}
		}
	}
}

// access has op access memory divided as cga says.
func (p *accessPlan) access(op *ir.Operation, cga layout.Bases) {
	if p.seen[op] {
		return
	}
	p.seen[op] = true
	t := firstOf(op)
	have, ok := encoding.Get(t).(*layout.Blocked)
	if !ok || len(cga) != len(have.CGA) {
		return
	}
	part := slices.Clone(t.Shape)
	for d := range part {
		n := int64(1)
		for _, v := range cga {
			if v[d] != 0 {
				n *= 2
			}
		}
		part[d] = max(part[d]/n, 1)
	}
	m := p.all.At(op)
	want := layout.BlockedFor(part, have.SizePerThread, have.Order, m.Warps, m.Lanes, 1)
	want.CGA = cga
	if layout.Equal(want, have) {
		return
	}
	rewriteAccess(p.b, op, encoding.Of(op.Context(), want))
	p.changed++
}

// firstOf is the type of the tensor that op loads or stores.
func firstOf(op *ir.Operation) *ir.TensorType {
	if op.NumResults() > 0 {
		if t := tensors.Type(op.OneResult()); t != nil {
			return t
		}
	}
	return tensors.Type(written(op))
}

// written is what op writes to memory; nil if it writes nothing.
func written(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.Store:
		return tt.AsStore(op).Value()
	case tt.AtomicRMW:
		return tt.AsAtomicRMW(op).Val()
	case tt.DescriptorStore:
		return tt.AsDescriptorStore(op).Src()
	case tt.DescriptorReduce:
		return tt.AsDescriptorReduce(op).Src()
	}
	return nil
}

// results has each CTA store what it computed of dots' results.
func (p *accessPlan) results(module *ir.Operation) {
	ir.WalkPost(module, func(op *ir.Operation) {
		if v := written(op); v != nil && tensors.Type(v) != nil && (op.Is(tt.Store) || op.Is(tt.AtomicRMW)) {
			if cga := p.ofDot(v, make(map[*ir.Value]bool)); cga != nil {
				p.access(op, cga)
			}
		}
	})
}

// ofDot is how the result of the dot is divided from which v is computed, element by
// element; nil where there is none.
func (p *accessPlan) ofDot(v *ir.Value, seen map[*ir.Value]bool) layout.Bases {
	op := v.Def()
	if op == nil || seen[v] || tensors.Type(v) == nil {
		return nil
	}
	seen[v] = true
	switch {
	case op.Is(tt.Dot):
		return tensors.CGA(tensors.Type(v))
	case op.Is(scf.For):
		return p.ofDot(scf.AsFor(op).Region().First().Last().Operand(slices.Index(op.Results(), v)), seen)
	case op.Is(scf.If):
		return p.ofDot(scf.AsIf(op).ThenRegion().First().Last().Operand(slices.Index(op.Results(), v)), seen)
	case op.Is(ttg.ConvertLayout), op.Def().Has(ir.Elementwise) && ir.IsPure(op):
		for _, x := range op.Operands() {
			if t := tensors.Type(x); t != nil && slices.Equal(t.Shape, tensors.Type(v).Shape) {
				if cga := p.ofDot(x, seen); cga != nil {
					return cga
				}
			}
		}
	}
	return nil
}

// leastRow is the least number of bytes of a CTA's part of a block's rows that units
// which copy blocks take.
const leastRow = 16

// descriptors has all accesses through one descriptor divide its blocks alike: what a
// unit that copies them knows of a descriptor is one part.
func (p *accessPlan) descriptors(module *ir.Operation) {
	uses := make(map[*ir.Value][]*ir.Operation)
	var order []*ir.Value
	ir.WalkPost(module, func(op *ir.Operation) {
		desc := accessedThrough(op)
		if desc == nil {
			return
		}
		if uses[desc] == nil {
			order = append(order, desc)
		}
		uses[desc] = append(uses[desc], op)
	})
	for _, desc := range order {
		block := blockOf(desc)
		cga := p.blocks[desc]
		for _, op := range uses[desc] {
			if v := written(op); v != nil && cga == nil {
				cga = p.ofDot(v, make(map[*ir.Value]bool))
			}
		}
		if cga == nil {
			cga = tensors.CGA(firstOf(uses[desc][0]))
		}
		cga = p.copied(block, leading(cga, len(block.Shape)))
		for _, op := range uses[desc] {
			p.access(op, trailing(cga, len(firstOf(op).Shape)))
		}
	}
}

// copied is cga, or that of CTAs which all have whole rows where their parts of rows
// would be too short.
func (p *accessPlan) copied(block *ir.TensorType, cga layout.Bases) layout.Bases {
	last := len(block.Shape) - 1
	row := block.Shape[last] * axisinfo.ElemBytes(block)
	out := slices.Clone(cga)
	for i, v := range cga {
		if v[last] == 0 {
			continue
		}
		if row /= 2; row < leastRow {
			out[i] = make([]int32, len(v))
		}
	}
	return out
}

// accessedThrough is the descriptor through which op loads or stores a block; nil if it
// does neither.
func accessedThrough(op *ir.Operation) *ir.Value {
	switch op.Def() {
	case tt.DescriptorLoad:
		return tt.AsDescriptorLoad(op).Desc()
	case tt.DescriptorStore:
		return tt.AsDescriptorStore(op).Desc()
	case tt.DescriptorReduce:
		return tt.AsDescriptorReduce(op).Desc()
	}
	return nil
}

func blockOf(desc *ir.Value) *ir.TensorType { return desc.Type().(*tt.TensorDescType).Block }

// leading is cga with leading dimensions that are not divided, and trailing without
// them.
func leading(cga layout.Bases, rank int) layout.Bases {
	out := make(layout.Bases, len(cga))
	for i, v := range cga {
		out[i] = append(make([]int32, rank-len(v)), v...)
	}
	return out
}

func trailing(cga layout.Bases, rank int) layout.Bases {
	out := make(layout.Bases, len(cga))
	for i, v := range cga {
		out[i] = v[len(v)-rank:]
	}
	return out
}
