package lang

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// reductions: operations whose combination is a function of the language.
var reductions = []*Builtin{
	{Name: "reduce", Params: "input axis combine_fn keep_dims=False", Member: true, Fn: reduce},
	{Name: "associative_scan", Params: "input axis combine_fn reverse=False", Member: true, Fn: scan},
	{Name: "_reduce_with_indices", Params: "input axis combine_fn keep_dims=False", Fn: reduceWithIndices},
	{Name: "map_elementwise", Params: "scalar_fn *args pack=1", Fn: mapElementwise},
}

// inputs is argument 0 as a list of tensors, and whether it was one alone.
func (a *Args) inputs() (xs []*Tensor, alone bool) {
	if t, ok := a.val(0).(*eval.Tuple); ok {
		for _, v := range t.Elems {
			xs = append(xs, a.e.ToTensor(v))
		}
		if len(xs) == 0 {
			eval.Fail("%s() of no tensors", a.b.Name)
		}
		return xs, false
	}
	return []*Tensor{a.tensor(0)}, true
}

func (a *Args) function(i int) *eval.Function {
	fn, ok := a.constant(i).(*eval.Function)
	if !ok || fn.Kind != eval.JIT {
		eval.FailHelp("decorate it with @triton.jit", "%s(): '%s' must be a @triton.jit function, not %s", a.b.Name, a.name(i), eval.TypeName(a.val(i)))
	}
	return fn
}

func results(xs []*Tensor, alone bool) any {
	if alone {
		return xs[0]
	}
	t := &eval.Tuple{}
	for _, x := range xs {
		t.Elems = append(t.Elems, x)
	}
	return t
}

func reduce(e *Emitter, a *Args) any {
	xs, alone := a.inputs()
	fn := a.function(2)
	return results(e.reduce(xs, a.constant(1), fn, a.bool(3)), alone)
}

// reduce combines along axis, or all elements where axis is nil.
func (e *Emitter) reduce(xs []*Tensor, axisArg any, fn *eval.Function, keep bool) []*Tensor {
	rank := len(xs[0].Shape())
	axis := 0
	flat := axisArg == nil
	if flat {
		ys := make([]*Tensor, len(xs))
		for i, x := range xs {
			if !x.IsBlock() {
				eval.FailHelp("the scalar is the result already", "a reduction needs a tensor with dimensions, not %s", x.T)
			}
			ys[i] = e.Reshape(x, []int64{numElements(x.Shape())}, true)
		}
		xs = ys
	} else {
		n, ok := eval.AsInt(axisArg)
		if !ok {
			eval.Fail("the axis of a reduction must be an integer or None, not %s", eval.Repr(axisArg))
		}
		if n < -int64(rank) || n >= int64(rank) {
			eval.FailHelp(sprintf("the axis is %d, the input's type %s", n, xs[0].T), errReduceAxis, rank)
		}
		axis = wrapAxis(n, rank)
	}
	shape := xs[0].Shape()
	for _, x := range xs {
		if !sameShape(x.Shape(), shape) {
			eval.Fail(errReduceShape)
		}
	}
	op := tt.NewReduce(e.B, values(xs), axis)
	e.combine(op, xs, fn, tt.ReduceReturn)
	var rest []int64
	rest = append(append(rest, shape[:axis]...), shape[axis+1:]...)
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		out[i] = e.tensor(op.Result(i), WithShape(x.Scalar(), rest))
		if !keep {
			continue
		}
		if !flat {
			out[i] = e.ExpandDims(out[i], axis)
			continue
		}
		for range rank {
			out[i] = e.ExpandDims(out[i], 0)
		}
	}
	return out
}

func values(xs []*Tensor) []*ir.Value {
	vs := make([]*ir.Value, len(xs))
	for i, x := range xs {
		vs[i] = x.V
	}
	return vs
}

// combineRegion is the region of a reduction or scan.
func combineRegion(op *ir.Operation) *ir.Region {
	if op.Is(tt.Scan) {
		return tt.AsScan(op).CombineOp()
	}
	return tt.AsReduce(op).CombineOp()
}

// combine fills the region of a reduction or scan: a call of fn with two
// values an input, all left ones first.
func (e *Emitter) combine(op *ir.Operation, xs []*Tensor, fn *eval.Function, ret *ir.OpDef) {
	point := e.B.Save()
	block := combineRegion(op).AddBlock()
	args := make([]any, 0, 2*len(xs))
	for range 2 {
		for _, x := range xs {
			v := block.AddArg(x.Scalar().IR(e.C), e.C.UnknownLoc())
			args = append(args, e.tensor(v, x.Scalar()))
		}
	}
	e.B.SetToEnd(block)
	r := Flatten(e.Gen.CallJIT(fn, args, nil), nil)
	if len(r) != len(xs) {
		eval.Fail("the combine function %s() of %s must return %s, but returns %d", fn.Name(), diag.Count(len(xs), "input"), diag.Count(len(xs), "value"), len(r))
	}
	for i, v := range r {
		if v.Type() != xs[i].Scalar().IR(e.C) {
			eval.Fail("the combine function %s() must return values of the types it takes; value %d should be %s", fn.Name(), i, xs[i].Scalar())
		}
	}
	e.B.Op(ret, r)
	e.B.Restore(point)
}

// reduceWithIndices reduces a tensor together with the positions of its
// elements along axis.
func reduceWithIndices(e *Emitter, a *Args) any {
	x := a.tensor(0)
	rank := len(x.Shape())
	axis := wrapAxis(a.int(1), rank)
	n := x.Shape()[axis]
	t := &Block{Int32, []int64{n}}
	idx := e.tensor(tt.NewMakeRange(e.B, t.IR(e.C), 0, n), t)
	for d := range rank {
		if d != axis {
			idx = e.ExpandDims(idx, d)
		}
	}
	idx = e.BroadcastShape(idx, x.Shape())
	return results(e.reduce([]*Tensor{x, idx}, int64(axis), a.function(2), a.bool(3)), false)
}

func scan(e *Emitter, a *Args) any {
	xs, alone := a.inputs()
	fn := a.function(2)
	shape := xs[0].Shape()
	n := a.int(1)
	if n < -int64(len(shape)) || n >= int64(len(shape)) {
		eval.Fail(errScanAxis, n, len(shape))
	}
	axis := wrapAxis(n, len(shape))
	for _, x := range xs {
		if !sameShape(x.Shape(), shape) {
			eval.Fail(errScanShape)
		}
	}
	op := e.B.Create(tt.Scan, ir.State{Operands: values(xs), Regions: 1, Attrs: []ir.NamedAttr{
		{Name: "axis", Attr: e.C.I32Attr(int64(axis))}, {Name: "reverse", Attr: e.C.BoolAttr(a.bool(3))},
	}})
	e.combine(op, xs, fn, tt.ScanReturn)
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		out[i] = e.tensor(op.Result(i), x.T)
	}
	return results(out, alone)
}

func mapElementwise(e *Emitter, a *Args) any {
	fn := a.function(0)
	pack := a.int(2)
	if pack < 1 {
		eval.Fail("map_elementwise(): pack must be positive, not %d", pack)
	}
	var xs []*Tensor
	for _, v := range a.list(1) {
		xs = append(xs, e.ToTensor(v))
	}
	if len(xs) == 0 {
		eval.Fail("map_elementwise() needs at least one tensor")
	}
	for i := range xs { // all to the common shape
		for j := range xs {
			xs[i], xs[j] = e.Broadcast(xs[i], xs[j])
		}
	}
	if !xs[0].IsBlock() {
		eval.Fail("map_elementwise() needs tensors, not scalars")
	}
	point := e.B.Save()
	var region ir.Region
	block := region.AddBlock()
	var args []any
	for _, x := range xs {
		for range pack {
			v := block.AddArg(x.Scalar().IR(e.C), e.C.UnknownLoc())
			args = append(args, e.tensor(v, x.Scalar()))
		}
	}
	e.B.SetToEnd(block)
	r := e.Gen.CallJIT(fn, args, nil)
	outs := []any{r}
	t, isTuple := r.(*eval.Tuple)
	if isTuple {
		outs = t.Elems
	}
	if int64(len(outs))%pack != 0 {
		eval.Fail("map_elementwise(): %s() must return a multiple of pack=%s, but returns %d", fn.Name(), diag.Count(pack, "value"), len(outs))
	}
	types := make([]Type, 0, len(outs))
	for i, v := range outs {
		x, ok := v.(*Tensor)
		if !ok || x.IsBlock() {
			eval.Fail("map_elementwise(): %s() must return scalars", fn.Name())
		}
		if int64(i)%pack == 0 {
			types = append(types, WithShape(x.T, xs[0].Shape()))
		}
	}
	e.B.Op(tt.MapElementwiseReturn, Flatten(r, nil))
	e.B.Restore(point)
	irTypes := make([]ir.Type, len(types))
	for i, ty := range types {
		irTypes[i] = ty.IR(e.C)
	}
	op := e.B.Create(tt.MapElementwise, ir.State{Operands: values(xs), Types: irTypes, Regions: 1, Attrs: []ir.NamedAttr{
		{Name: "pack", Attr: e.C.I32Attr(pack)},
	}})
	tt.AsMapElementwise(op).ScalarOp().TakeBody(&region)
	res := make([]*Tensor, len(types))
	for i, ty := range types {
		res[i] = e.tensor(op.Result(i), ty)
	}
	return results(res, !isTuple)
}
