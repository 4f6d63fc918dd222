package lang

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// shapes: the same elements in other shapes.
var shapes = []*Builtin{
	{Name: "broadcast", Params: "input other", Fn: func(e *Emitter, a *Args) any {
		x, y := e.Broadcast(a.tensor(0), a.tensor(1))
		return eval.NewTuple(x, y)
	}},
	{Name: "broadcast_to", Params: "input *shape", Member: true, Fn: func(e *Emitter, a *Args) any {
		return e.BroadcastShape(a.tensor(0), a.shape(1))
	}},
	{Name: "expand_dims", Params: "input axis", Member: true, Fn: expandDims},
	{Name: "reshape", Params: "input *shape can_reorder=False", Member: true, Fn: func(e *Emitter, a *Args) any {
		return e.Reshape(a.block(0), a.shape(1), a.bool(2))
	}},
	{Name: "view", Params: "input *shape", Member: true, Fn: func(e *Emitter, a *Args) any {
		return e.Reshape(a.block(0), a.shape(1), true)
	}},
	{Name: "trans", Params: "input *dims", Member: true, Fn: trans},
	{Name: "permute", Params: "input *dims", Member: true, Fn: func(e *Emitter, a *Args) any {
		return e.Permute(a.tensor(0), a.ints(1))
	}},
	{Name: "join", Params: "a b", Fn: func(e *Emitter, a *Args) any { return e.Join(a.tensor(0), a.tensor(1)) }},
	{Name: "split", Params: "a", Member: true, Fn: split},
	{Name: "gather", Params: "src index axis", Member: true, Fn: gather},
	{Name: "histogram", Params: "input num_bins mask=None", Member: true, Fn: histogram},
	{Name: "item", Params: "input", Member: true, Fn: func(e *Emitter, a *Args) any {
		x := a.tensor(0)
		if x.IsBlock() && numElements(x.Shape()) != 1 {
			eval.Fail("item() needs a tensor of one element, not %s", x.T)
		}
		if !x.IsBlock() {
			return x
		}
		return e.unsplat(x)
	}},
}

// block is argument i, which must have dimensions.
func (a *Args) block(i int) *Tensor {
	x := a.tensor(i)
	if !x.IsBlock() {
		eval.FailHelp("make a block of the scalar with tl.full(shape, x, x.dtype)", "%s() needs a tensor with dimensions, not %s", a.b.Name, x.T)
	}
	return x
}

// wrapAxis makes a negative axis count from the end of rank dimensions.
func wrapAxis(axis int64, rank int) int {
	if axis < -int64(rank) || axis >= int64(rank) {
		eval.Fail("invalid axis %d. Expected %d <= axis < %d", axis, -rank, rank)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis)
}

func expandDims(e *Emitter, a *Args) any {
	x := a.tensor(0)
	axes := a.ints(1)
	rank := len(x.Shape()) + len(axes)
	sorted := make([]int, len(axes))
	for i, ax := range axes {
		sorted[i] = wrapAxis(ax, rank)
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			list := &eval.List{}
			for _, s := range sorted {
				list.Elems = append(list.Elems, int64(s))
			}
			eval.Fail(errExpandDup, eval.Repr(list))
		}
	}
	for _, ax := range sorted {
		x = e.ExpandDims(x, ax)
	}
	return x
}

// Reshape gives x another shape of as many elements.
func (e *Emitter) Reshape(x *Tensor, shape []int64, reorder bool) *Tensor {
	if numElements(shape) != numElements(x.Shape()) {
		eval.FailHelp(sprintf("the tensor has %s, the new shape %s has %d", diag.Count(int(numElements(x.Shape())), "element"), shapeString(shape), numElements(shape)),
			errReshapeSize)
	}
	if !x.IsBlock() {
		return e.Splat(x, shape)
	}
	if len(shape) == 0 {
		return e.unsplat(x)
	}
	t := &Block{x.Scalar(), shape}
	s := ir.State{Operands: []*ir.Value{x.V}, Types: []ir.Type{t.IR(e.C)}}
	if reorder {
		s.Attrs = []ir.NamedAttr{{Name: "allow_reorder", Attr: e.C.Unit()}}
	}
	return e.tensor(e.B.Create(tt.Reshape, s).OneResult(), t)
}

// Permute reorders the dimensions: dimension i of the result is dims[i] of x.
func (e *Emitter) Permute(x *Tensor, dims []int64) *Tensor {
	src := x.Shape()
	if len(dims) != len(src) {
		eval.Fail(errPermuteLen)
	}
	checkPermutation(dims, errPermute, shapeString(dims))
	shape := make([]int64, len(src))
	for i, d := range dims {
		shape[i] = src[d]
	}
	t := &Block{x.Scalar(), shape}
	op := e.B.Create(tt.Trans, ir.State{
		Operands: []*ir.Value{x.V}, Types: []ir.Type{t.IR(e.C)},
		Attrs: []ir.NamedAttr{{Name: "order", Attr: e.C.I32Array(dims...)}},
	})
	return e.tensor(op.OneResult(), t)
}

func trans(e *Emitter, a *Args) any {
	x, dims := a.tensor(0), a.ints(1)
	return e.Trans(x, dims)
}

// Trans is Permute, where no dimensions mean that the last two change places.
func (e *Emitter) Trans(x *Tensor, dims []int64) *Tensor {
	if n := len(x.Shape()); len(dims) == 0 {
		if n < 2 {
			eval.Fail(errTransRank)
		}
		for i := range n {
			dims = append(dims, int64(i))
		}
		dims[n-1], dims[n-2] = dims[n-2], dims[n-1]
	}
	return e.Permute(x, dims)
}

// Join puts two tensors side by side in a new last dimension of size 2.
func (e *Emitter) Join(x, y *Tensor) *Tensor {
	x, y = e.Broadcast(x, y)
	scalar := !x.IsBlock()
	if scalar {
		x, y = e.ExpandDims(x, 0), e.ExpandDims(y, 0)
	}
	if !x.T.Equal(y.T) {
		eval.Fail("join() needs tensors of one type; got %s and %s", x.T, y.T)
	}
	t := &Block{x.Scalar(), append(slices.Clone(x.Shape()), 2)}
	e.Facts.CheckShape(t.Shape)
	r := e.tensor(e.B.Op(tt.Join, []*ir.Value{x.V, y.V}, t.IR(e.C)).OneResult(), t)
	if scalar {
		return e.Reshape(r, []int64{2}, false)
	}
	return r
}

func split(e *Emitter, a *Args) any {
	x := a.tensor(0)
	shape := x.Shape()
	if len(shape) == 0 || shape[len(shape)-1] != 2 {
		eval.Fail(errSplitLast)
	}
	flat := len(shape) == 1
	if flat {
		x = e.ExpandDims(x, 0)
		shape = x.Shape()
	}
	t := &Block{x.Scalar(), slices.Clone(shape[:len(shape)-1])}
	irt := t.IR(e.C)
	halves := tt.AsSplit(e.B.Op(tt.Split, []*ir.Value{x.V}, irt, irt))
	l, r := e.tensor(halves.OutLHS(), t), e.tensor(halves.OutRHS(), t)
	if flat {
		return eval.NewTuple(e.unsplat(l), e.unsplat(r))
	}
	return eval.NewTuple(l, r)
}

func gather(e *Emitter, a *Args) any {
	src, idx := a.tensor(0), a.tensor(1)
	if d := dtypeOf(idx.T); d == nil || !d.IsInt() {
		eval.Fail("index must be an integer tensor")
	}
	rank := len(src.Shape())
	if len(idx.Shape()) != rank {
		eval.Fail("source and index tensors must have the same rank")
	}
	axis := wrapAxis(a.int(2), rank)
	for d := range rank {
		if d != axis && src.Shape()[d] != idx.Shape()[d] {
			eval.Fail("index dim %d must match the corresponding source dim", d)
		}
	}
	t := withElem(idx.T, src.Scalar())
	op := e.B.Create(tt.Gather, ir.State{
		Operands: []*ir.Value{src.V, idx.V}, Types: []ir.Type{t.IR(e.C)},
		Attrs: []ir.NamedAttr{{Name: "axis", Attr: e.C.I32Attr(int64(axis))}},
	})
	return e.tensor(op.OneResult(), t)
}

func histogram(e *Emitter, a *Args) any {
	x, mask := a.tensor(0), a.optTensor(2)
	if len(x.Shape()) != 1 {
		eval.Fail(errHistogramRank)
	}
	if d := dtypeOf(x.T); d == nil || !d.IsInt() {
		eval.Fail(errHistogramInt)
	}
	shape := []int64{a.int(1)}
	e.Facts.CheckShape(shape)
	operands := []*ir.Value{x.V}
	if mask != nil {
		mask = e.BroadcastShape(mask, x.Shape())
		checkMask(mask)
		operands = append(operands, mask.V)
	}
	t := &Block{Int32, shape}
	return e.tensor(e.B.Op(tt.Histogram, operands, t.IR(e.C)).OneResult(), t)
}

// Index is x[…]: None makes a new dimension, a full slice keeps one.
func (e *Emitter) Index(x *Tensor, key any) *Tensor {
	keys := []any{key}
	if t, ok := key.(*eval.Tuple); ok {
		keys = t.Elems
	}
	for d, k := range keys {
		switch k := k.(type) {
		case nil:
			if n := len(x.Shape()); d > n && n > 0 {
				eval.Fail("too many indices: %s is of rank %d", x.T, n)
			}
			x = e.ExpandDims(x, min(d, len(x.Shape())))
			continue
		case *eval.Slice:
			if k.Start == nil && k.Stop == nil && k.Step == nil {
				continue
			}
		}
		eval.FailHelp("a tensor takes only None and : as indices; load elements with tl.load and pointers, or use tl.gather",
			errTensorIndex, TypeString(k))
	}
	return x
}
