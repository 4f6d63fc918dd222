package lang

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// scalars is argument i as a list of scalars of one integer type.
func (a *Args) scalars(i int, t *DType) []*Tensor {
	vals := a.list(i)
	out := make([]*Tensor, len(vals))
	for k, v := range vals {
		out[k] = a.e.scalarInt(a.b.Name+"(): '"+a.name(i)+"'", v, t)
	}
	return out
}

// scalarInt makes v a scalar of integer type t.
func (e *Emitter) scalarInt(what string, v any, t *DType) *Tensor {
	if x, ok := v.(*Tensor); ok {
		d := dtypeOf(x.T)
		if x.IsBlock() || d == nil || !d.IsInt() || d.bits > t.bits {
			eval.Fail("%s must be integers of at most %s, not %s", what, diag.Count(t.bits, "bit"), x.T)
		}
		return e.Cast(x, t)
	}
	if n, ok := eval.AsInt(v); !ok || !t.holds(n) {
		eval.Fail("%s must be integers of at most %s, not %s", what, diag.Count(t.bits, "bit"), eval.Repr(v))
	}
	return e.Constant(v, t)
}

func makeBlockPtr(e *Emitter, a *Args) any {
	base := a.tensor(0)
	p, ok := base.T.(*Pointer)
	if !ok || isBlockPointer(base) != nil {
		eval.Fail(errBlockPtrBase)
	}
	elem := p.Elem
	if elem == Int1 {
		elem = Int8
		base = e.Cast(base, &Pointer{Elem: Int8, Space: p.Space})
	}
	shape, strides, offsets := a.scalars(1, Int64), a.scalars(2, Int64), a.scalars(3, Int32)
	block := a.shape(4)
	if v := a.val(5); runtimeOrNumber(v) {
		eval.FailHelp("write (0,)", errNotIterable)
	}
	order := a.ints(5)
	n := len(block)
	if len(shape) != n || len(strides) != n || len(offsets) != n || len(order) != n {
		eval.Fail("Expected shape/strides/offsets/block_shape/order to have the same length")
	}
	checkPermutation(order, "Expected a permutation from (0, 1, ..., len(order)-1) in order")
	t := &Pointer{Elem: &Block{elem, block}, Const: p.Const, Space: p.Space}
	operands := []*ir.Value{base.V}
	for _, list := range [][]*Tensor{shape, strides, offsets} {
		for _, x := range list {
			operands = append(operands, x.V)
		}
	}
	op := e.B.Create(tt.MakeTensorPtr, ir.State{
		Operands: operands, Types: []ir.Type{t.IR(e.C)},
		Segments: []int32{1, int32(len(shape)), int32(len(strides)), int32(len(offsets))},
		Attrs:    []ir.NamedAttr{{Name: "order", Attr: e.C.I32Array(order...)}},
	})
	return e.tensor(op.OneResult(), t)
}

func checkPermutation(dims []int64, text string, args ...any) {
	seen := make([]bool, len(dims))
	for _, d := range dims {
		if d < 0 || d >= int64(len(dims)) || seen[d] {
			eval.Fail(text, args...)
		}
		seen[d] = true
	}
}

func advance(e *Emitter, a *Args) any {
	base := a.tensor(0)
	b := isBlockPointer(base)
	if b == nil {
		eval.Fail("advance() needs a block pointer, not %s", base.T)
	}
	offsets := a.scalars(1, Int32)
	if len(offsets) != len(b.Shape) {
		eval.Fail(errDescOffsets, len(b.Shape), len(offsets))
	}
	operands := []*ir.Value{base.V}
	for _, o := range offsets {
		operands = append(operands, o.V)
	}
	return e.tensor(e.B.Op(tt.Advance, operands).OneResult(), base.T)
}

func (e *Emitter) loadBlock(ptr *Tensor, b *Block, mask, other *Tensor, acc tt.Access) *Tensor {
	if mask != nil || other != nil {
		eval.Fail(errBlockPtrMask)
	}
	if d := dtypeOf(b.Elem); d != nil && d.IsInt() && acc.Padding == tt.PadNaN {
		eval.Fail(errBlockPtrNaN)
	}
	return e.tensor(tt.NewLoad(e.B, ptr.V, nil, nil, acc), b)
}
