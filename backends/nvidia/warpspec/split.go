package warpspec

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// fewestRows is how many rows wgmma computes at least.
const fewestRows = 64

// split finds how the work of the consumer is halved: along which dimension each value
// is, beginning with the rows of the dots' results. Nil where that cannot be done. What
// is not in the result both halves have whole.
func (p *plan) split() map[*ir.Value]int {
	s := &splitter{p: p, dims: make(map[*ir.Value]int)}
	for _, d := range p.dots {
		if !p.consumer.needed[d] {
			continue
		}
		if d.OneResult().Type().(*ir.TensorType).Shape[0] < 2*fewestRows {
			return nil
		}
		s.value(d.OneResult(), 0)
	}
	for len(s.todo) > 0 && !s.failed {
		v := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		s.spread(v, s.dims[v])
	}
	if s.failed {
		return nil
	}
	// What writes and is not halved, one of the two does: nobody may need its result.
	for op := range p.consumer.needed {
		if p.groupOf[op] != nil || op.Is(scf.For) || op.Is(scf.If) || !ir.HasEffect(op, ir.Effects.Writes) || s.touches(op) {
			continue
		}
		for _, r := range op.Results() {
			if r.HasUses() {
				return nil
			}
		}
	}
	return s.dims
}

type splitter struct {
	p      *plan
	dims   map[*ir.Value]int
	todo   []*ir.Value
	failed bool
}

// touches reports whether an operand of op is halved.
func (s *splitter) touches(op *ir.Operation) bool {
	return slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool {
		_, ok := s.dims[v]
		return ok
	})
}

// value has v be halved along dimension d.
func (s *splitter) value(v *ir.Value, d int) {
	shape := ttg.ShapeOf(v.Type())
	if len(shape) <= d || shape[d] < 2 {
		return // the same for both halves
	}
	if have, ok := s.dims[v]; ok {
		s.failed = s.failed || have != d
		return
	}
	if e, ok := encodingOf(v.Type()).(*encoding.Attr); ok {
		if _, fixed := e.Layout.(*layout.Linear); fixed {
			s.failed = true // it is for one shape alone
			return
		}
	}
	s.dims[v] = d
	s.todo = append(s.todo, v)
}

// all halves the operands and results of op alike.
func (s *splitter) all(op *ir.Operation, d int) {
	for _, v := range op.OperandValues() {
		s.value(v, d)
	}
	for _, v := range op.Results() {
		s.value(v, d)
	}
}

// spread halves what is connected with v.
func (s *splitter) spread(v *ir.Value, d int) {
	switch op := v.Def(); {
	case op != nil && op.Is(scf.For):
		s.carried(op, v.Index(), d)
	case op != nil:
		s.made(op, d)
	case v.Block().Parent().Is(scf.For) && scf.CarriedIndex(v) >= 0:
		s.carried(v.Block().Parent(), scf.CarriedIndex(v), d)
	case v.Block() == s.p.body && isDescriptor(v):
	default:
		s.failed = true
	}
	for u := range v.Uses() {
		if op := u.Owner(); op.Is(scf.Yield) {
			if !op.Parent().Is(scf.For) {
				s.failed = true
			} else if s.p.consumer.carried[op.Parent()][u.Index()] {
				s.carried(op.Parent(), u.Index(), d)
			}
		} else if s.p.consumer.needed[op] {
			s.used(op, u, v, d)
		}
	}
}

func isDescriptor(v *ir.Value) bool {
	_, ok := v.Type().(*tt.TensorDescType)
	return ok
}

// carried halves a value that a loop carries.
func (s *splitter) carried(loop *ir.Operation, i, d int) {
	s.value(scf.Inits(loop)[i], d)
	s.value(scf.IterArg(loop, i), d)
	s.value(loop.Body().Terminator().Operand(i), d)
	s.value(loop.Result(i), d)
}

// made halves what op's result, halved along d, is made of.
func (s *splitter) made(op *ir.Operation, d int) {
	switch {
	case s.p.groupOf[op] != nil: // a part of the buffer
	case op.Is(arith.Constant):
		dense, ok := arith.ConstantValue(op.OneResult()).(*ir.DenseElementsAttr)
		s.failed = s.failed || !ok || !dense.IsSplat()
	case op.Is(tt.Splat), op.Is(tt.MakeRange):
	case op.Is(tt.MakeTensorDesc):
	case op.Is(tt.Broadcast), op.Is(tt.Load), op.Is(ttg.ConvertLayout), op.Is(ttg.LocalAlloc), op.Is(ttg.LocalLoad),
		op.Def().Has(ir.Elementwise):
		s.all(op, d)
	case op.Is(tt.ExpandDims):
		s.value(tt.AsExpandDims(op).Src(), without(d, int(tt.AsExpandDims(op).Axis())))
	case op.Is(tt.Reduce):
		for _, v := range op.OperandValues() {
			s.value(v, with(d, int(tt.AsReduce(op).Axis())))
		}
		for _, v := range op.Results() {
			s.value(v, d)
		}
	case op.Is(ttg.MemDescTrans):
		s.value(ttg.AsMemDescTrans(op).Src(), int(ttg.AsMemDescTrans(op).Order()[d]))
	case ttng.Is(op, "warp_group_dot") && d == 0:
		v := ttng.AsWarpGroupDot(op)
		s.value(v.C(), 0)
		s.value(v.A(), 0)
	default:
		s.failed = true
	}
}

// used halves what op makes of v, which is halved along d.
func (s *splitter) used(op *ir.Operation, u *ir.Use, v *ir.Value, d int) {
	switch {
	case op.Is(scf.For):
		if i := scf.AsFor(op).InitArgsIndex(u); i < 0 {
			s.failed = true
		} else if s.p.consumer.carried[op][i] {
			s.carried(op, i, d)
		}
	case op.Is(tt.Broadcast), op.Is(tt.Load), op.Is(tt.Store), op.Is(tt.AtomicRMW), op.Is(ttg.ConvertLayout), op.Is(ttg.LocalAlloc),
		op.Is(ttg.LocalLoad), op.Def().Has(ir.Elementwise):
		s.all(op, d)
	case op.Is(tt.ExpandDims):
		s.value(op.OneResult(), with(d, int(tt.AsExpandDims(op).Axis())))
	case op.Is(tt.Reduce):
		axis := int(tt.AsReduce(op).Axis())
		if axis == d {
			s.failed = true
			return
		}
		for _, x := range op.OperandValues() {
			s.value(x, d)
		}
		for _, x := range op.Results() {
			s.value(x, without(d, axis))
		}
	case op.Is(ttg.MemDescTrans):
		s.value(op.OneResult(), slices.Index(ttg.AsMemDescTrans(op).Order(), int64(d)))
	case op.Is(tt.DescriptorStore):
		s.stored(tt.AsDescriptorStore(op), v, d)
	case ttng.Is(op, "warp_group_dot"):
		dot := ttng.AsWarpGroupDot(op)
		if d != 0 || v == dot.B() {
			s.failed = true
			return
		}
		s.value(dot.D(), 0)
	default:
		s.failed = true
	}
}

// stored halves the block that a descriptor is of, which all who use it must.
func (s *splitter) stored(op tt.DescriptorStoreOp, v *ir.Value, d int) {
	desc := op.Desc()
	if v == desc {
		s.value(op.Src(), d)
		return
	}
	switch {
	case d == len(ttg.ShapeOf(desc.Type()))-1:
		s.failed = true
		return
	case desc.Def() == nil:
		// The launch makes it, for one size of blocks: that of all uses.
		for u := range desc.Users() {
			if !u.Is(tt.DescriptorStore) {
				s.failed = true
				return
			}
		}
	case !desc.Def().Is(tt.MakeTensorDesc):
		s.failed = true
		return
	}
	s.value(desc, d)
}

// without is dimension d when dimension axis is gone, with when it has come.
func without(d, axis int) int {
	if axis < d {
		return d - 1
	}
	return d
}

func with(d, axis int) int {
	if axis <= d {
		return d + 1
	}
	return d
}

func encodingOf(t ir.Type) ir.Attribute {
	switch t := t.(type) {
	case *ir.TensorType:
		return t.Encoding
	case *ttg.MemDescType:
		return t.Encoding
	}
	return nil
}
