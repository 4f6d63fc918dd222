package ttir

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
)

// RewriteTensorPointer replaces block pointers by tensors of pointers. A block
// pointer is its base, shape and strides, which never change, and its offsets,
// which loops and conditions carry in its place.
var RewriteTensorPointer = &pass.Pass{
	Name: "triton-rewrite-tensor-pointer",
	Doc:  "block pointers become tensors of pointers",
	Run: func(r *pass.Run) error {
		w := windows{of: make(map[*ir.Value]*window), b: ir.NewBuilder(r.Module.Context())}
		for op := range r.Module.Body().Ops() {
			if op.Body() != nil {
				if err := w.blocks(op.Region(0)); err != nil {
					return err
				}
			}
		}
		for _, op := range slices.Backward(w.dead) {
			op.Erase()
		}
		r.Count("rewritten", len(w.dead))
		return nil
	},
}

// window is a block pointer in parts: shape, strides and offsets are i64, one a
// dimension.
type window struct {
	base    *ir.Value
	shape   []*ir.Value
	strides []*ir.Value
	offsets []*ir.Value
	block   *ir.TensorType
}

// at is w with other offsets.
func (w *window) at(offsets []*ir.Value) *window {
	n := *w
	n.offsets = offsets
	return &n
}

func (w *window) sameFrame(v *window) bool {
	return w.base == v.base && slices.Equal(w.shape, v.shape) && slices.Equal(w.strides, v.strides)
}

type windows struct {
	of   map[*ir.Value]*window
	b    *ir.Builder
	dead []*ir.Operation // in order; erased once nothing refers to them
}

func (w *windows) blocks(r *ir.Region) error {
	for b := range r.Blocks() {
		for op := range b.Ops() {
			if err := w.operation(op); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *windows) operation(op *ir.Operation) error {
	w.b.SetBefore(op)
	w.b.Loc = op.Loc()
	switch op.Def() {
	case tt.MakeTensorPtr:
		n := len(op.Attr("order").(*ir.DenseArrayAttr).Values)
		vs := op.OperandValues()
		block := op.Result(0).Type().(*tt.PtrType).Pointee.(*ir.TensorType)
		w.of[op.Result(0)] = &window{vs[0], vs[1 : 1+n], vs[1+n : 1+2*n], w.extend(vs[1+2*n:]), block}
		w.dead = append(w.dead, op)
		return nil
	case tt.Advance:
		from := w.of[op.Operand(0)]
		offsets := make([]*ir.Value, len(from.offsets))
		for i, v := range op.OperandValues()[1:] {
			step := arith.Cast(w.b, arith.ExtSI, v, w.b.Context().I64())
			offsets[i] = arith.Binary(w.b, arith.AddI, from.offsets[i], step)
		}
		w.of[op.Result(0)] = from.at(offsets)
		w.dead = append(w.dead, op)
		return nil
	case tt.Load:
		w.load(op)
		return nil
	case tt.Store:
		w.store(op)
		return nil
	case scf.For:
		return w.loop(op)
	case scf.While:
		return w.while(op)
	case scf.If:
		return w.choice(op)
	case scf.Yield, scf.Condition:
		return nil // the operation around it expands them
	}
	for i, v := range op.Operands() {
		if tt.IsBlockPtr(v.Type()) {
			return diag.Errorf(std.PosOf(op.Loc()), "a block pointer cannot be operand %d of %s", i, op.Name()).
				WithHelp("block pointers can be loaded, stored, advanced, and carried by loops and conditions only")
		}
	}
	for _, r := range op.Regions() {
		if err := w.blocks(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *windows) extend(vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		out[i] = arith.Cast(w.b, arith.ExtSI, v, w.b.Context().I64())
	}
	return out
}

// flat replaces each block pointer of vs by its offsets.
func (w *windows) flat(vs []*ir.Value) []*ir.Value {
	var out []*ir.Value
	for _, v := range vs {
		if win := w.of[v]; win != nil {
			out = append(out, win.offsets...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

func types(vs []*ir.Value) []ir.Type {
	ts := make([]ir.Type, len(vs))
	for i, v := range vs {
		ts[i] = v.Type()
	}
	return ts
}

func anyWindow(w *windows, vs []*ir.Value) bool {
	return slices.ContainsFunc(vs, func(v *ir.Value) bool { return w.of[v] != nil })
}

// expandArgs gives a block an argument for each offset of a window in place of
// the block pointer; like has the windows that the arguments are given at first.
func (w *windows) expandArgs(b *ir.Block, from int, like []*ir.Value) {
	at := from
	for _, v := range like {
		win := w.of[v]
		if win == nil {
			at++
			continue
		}
		old := b.Arg(at)
		offsets := make([]*ir.Value, len(win.offsets))
		for k := range offsets {
			offsets[k] = b.InsertArg(at+1+k, w.b.Context().I64(), old.Loc())
		}
		// The old argument stays until its uses are rewritten; it is moved last.
		w.of[old] = win.at(offsets)
		at += 1 + len(offsets)
	}
}

// dropOld erases the block-pointer arguments that expandArgs left.
func (w *windows) dropOld(b *ir.Block) {
	for i := b.NumArgs() - 1; i >= 0; i-- {
		a := b.Arg(i)
		if w.of[a] == nil {
			continue
		}
		for u := range a.Uses() { // only operations that are dead by now
			u.Set(nil)
		}
		b.EraseArg(i)
	}
}

// results maps the results of the old operation to those of the new one.
func (w *windows) results(old, n *ir.Operation, like []*ir.Value) {
	k := 0
	for i, v := range like {
		if win := w.of[v]; win != nil {
			w.of[old.Result(i)] = win.at(n.Results()[k : k+len(win.offsets)])
			k += len(win.offsets)
			continue
		}
		old.Result(i).ReplaceAllUsesWith(n.Result(k))
		k++
	}
}

func (w *windows) loop(op *ir.Operation) error {
	inits := op.Group(3)
	if !anyWindow(w, inits) {
		return w.blocks(op.Region(0))
	}
	flat := w.flat(inits)
	n := w.b.Create(scf.For, ir.State{
		Operands: append(op.OperandValues()[:3:3], flat...), Types: types(flat), Attrs: op.Attrs(), Regions: 1,
	})
	n.Region(0).TakeBody(op.Region(0))
	body := n.Body()
	w.expandArgs(body, 1, inits)
	if err := w.blocks(n.Region(0)); err != nil {
		return err
	}
	if err := w.end(body.Terminator(), 0, inits); err != nil {
		return err
	}
	w.dropOld(body)
	w.results(op, n, inits)
	w.dead = append(w.dead, op)
	return nil
}

// end expands the values that a terminator passes on, from operand skip on.
// Each block pointer among them must have the frame of what it goes on as.
func (w *windows) end(t *ir.Operation, skip int, like []*ir.Value) error {
	vs := t.OperandValues()
	for i, v := range vs[skip:] {
		if a, b := w.of[v], w.of[like[i]]; a != nil && b != nil && !a.sameFrame(b) {
			return diag.Errorf(std.PosOf(t.Loc()), "a block pointer changes its base, shape or strides across a loop or condition").
				WithHelp("make the block pointer inside, or advance the one that is carried")
		}
	}
	t.SetOperands(append(vs[:skip:skip], w.flat(vs[skip:])...))
	if t.Segments() != nil {
		t.SetSegments([]int32{int32(skip), int32(t.NumOperands() - skip)})
	}
	return nil
}

func (w *windows) while(op *ir.Operation) error {
	inits := op.Group(0)
	before, after := op.Region(0).First(), op.Region(1).First()
	w.expandArgs(before, 0, inits)
	if err := w.blocks(op.Region(0)); err != nil {
		return err
	}
	cond := before.Terminator()
	passed := cond.OperandValues()[1:]
	if !anyWindow(w, inits) && !anyWindow(w, passed) {
		return w.blocks(op.Region(1))
	}
	w.expandArgs(after, 0, passed)
	if err := w.blocks(op.Region(1)); err != nil {
		return err
	}
	if err := w.end(after.Terminator(), 0, inits); err != nil {
		return err
	}
	flatPassed := w.flat(passed)
	if err := w.end(cond, 1, passed); err != nil {
		return err
	}
	w.b.SetBefore(op)
	w.b.Loc = op.Loc()
	flat := w.flat(inits)
	n := w.b.Create(scf.While, ir.State{Operands: flat, Types: types(flatPassed), Attrs: op.Attrs(), Regions: 2})
	n.Region(0).TakeBody(op.Region(0))
	n.Region(1).TakeBody(op.Region(1))
	w.dropOld(before)
	w.dropOld(after)
	w.results(op, n, passed)
	w.dead = append(w.dead, op)
	return nil
}

func (w *windows) choice(op *ir.Operation) error {
	for _, r := range op.Regions() {
		if err := w.blocks(r); err != nil {
			return err
		}
	}
	if op.NumResults() == 0 {
		return nil
	}
	yes := op.Region(0).First().Terminator().OperandValues()
	if !anyWindow(w, yes) {
		return nil
	}
	for _, r := range op.Regions() {
		if err := w.end(r.First().Terminator(), 0, yes); err != nil {
			return err
		}
	}
	w.b.SetBefore(op)
	w.b.Loc = op.Loc()
	n := w.b.Create(scf.If, ir.State{
		Operands: op.OperandValues(), Types: types(w.flat(yes)), Attrs: op.Attrs(), Regions: 2,
	})
	for i := range 2 {
		n.Region(i).TakeBody(op.Region(i))
	}
	w.results(op, n, yes)
	w.dead = append(w.dead, op)
	return nil
}

// index is offset + 0 … size−1 along dimension d, expanded to the block's rank.
func (w *windows) index(win *window, d int) *ir.Value {
	c := w.b.Context()
	size := win.block.Shape[d]
	row := c.Tensor([]int64{size}, c.I64(), nil)
	offset := tt.Unary(w.b, tt.Splat, win.offsets[d], row)
	steps := tt.NewMakeRange(w.b, c.Tensor([]int64{size}, c.I32(), nil), 0, size)
	v := arith.Binary(w.b, arith.AddI, offset, arith.Cast(w.b, arith.ExtSI, steps, row))
	for k := range win.block.Shape {
		if k != d {
			v = tt.NewExpandDims(w.b, v, k)
		}
	}
	return v
}

// pointers makes the tensor of pointers of a window, and the mask of what lies
// inside the dimensions of check (nil when check is empty).
func (w *windows) pointers(win *window, check []int64) (ptrs, mask *ir.Value) {
	c := w.b.Context()
	shape := win.block.Shape
	elem := win.base.Type()
	ptrs = tt.Unary(w.b, tt.Splat, win.base, c.Tensor(shape, elem, nil))
	whole := c.Tensor(shape, c.I64(), nil)
	indices := make([]*ir.Value, len(shape))
	for d := range shape {
		indices[d] = w.index(win, d)
		stride := tt.Unary(w.b, tt.Splat, win.strides[d], indices[d].Type())
		step := w.broadcast(arith.Binary(w.b, arith.MulI, indices[d], stride), whole)
		ptrs = tt.NewAddPtr(w.b, ptrs, step)
	}
	for _, d := range check {
		t := indices[d].Type()
		zero := tt.Unary(w.b, tt.Splat, arith.Int(w.b, c.I64(), 0), t)
		low := arith.Compare(w.b, arith.CmpI, arith.SGE, indices[d], zero)
		end := tt.Unary(w.b, tt.Splat, win.shape[d], t)
		high := arith.Compare(w.b, arith.CmpI, arith.SLT, indices[d], end)
		in := w.broadcast(arith.Binary(w.b, arith.AndI, low, high), c.Tensor(shape, c.I1(), nil))
		if mask == nil {
			mask = in
		} else {
			mask = arith.Binary(w.b, arith.AndI, mask, in)
		}
	}
	return ptrs, mask
}

func (w *windows) broadcast(v *ir.Value, t *ir.TensorType) *ir.Value {
	if v.Type() == ir.Type(t) {
		return v
	}
	return tt.Unary(w.b, tt.Broadcast, v, t)
}

func boundaryCheck(op *ir.Operation) []int64 {
	check := slices.Clone(op.Attr("boundaryCheck").(*ir.DenseArrayAttr).Values)
	slices.Sort(check)
	return check
}

// accessAttrs are op's attributes without those of block pointers.
func accessAttrs(op *ir.Operation) []ir.NamedAttr {
	return slices.DeleteFunc(slices.Clone(op.Attrs()), func(a ir.NamedAttr) bool {
		return a.Name == "boundaryCheck" || a.Name == "padding"
	})
}

func (w *windows) load(op *ir.Operation) {
	win := w.of[op.Operand(0)]
	if win == nil {
		return
	}
	ptrs, mask := w.pointers(win, boundaryCheck(op))
	operands, segments := []*ir.Value{ptrs}, []int32{1, 0, 0}
	if mask != nil {
		operands, segments[1] = append(operands, mask), 1
		if pad, ok := op.IntAttr("padding"); ok {
			operands, segments[2] = append(operands, w.padding(win.block, pad)), 1
		}
	}
	n := w.b.Create(tt.Load, ir.State{
		Operands: operands, Segments: segments, Types: []ir.Type{op.Result(0).Type()}, Attrs: accessAttrs(op),
	})
	op.ReplaceAllUsesWith(n.Result(0))
	w.dead = append(w.dead, op)
}

// padding is the value of what lies outside: 0 or NaN.
func (w *windows) padding(t *ir.TensorType, kind int64) *ir.Value {
	v := 0.0
	if kind == tt.PadNaN {
		v = math.NaN()
	}
	var scalar *ir.Value
	if ir.IsFloat(t.Elem) {
		scalar = arith.Float(w.b, t.Elem, v)
	} else {
		scalar = arith.Int(w.b, t.Elem, 0)
	}
	return tt.Unary(w.b, tt.Splat, scalar, t)
}

func (w *windows) store(op *ir.Operation) {
	win := w.of[op.Operand(0)]
	if win == nil {
		return
	}
	ptrs, mask := w.pointers(win, boundaryCheck(op))
	operands := []*ir.Value{ptrs, op.Operand(1)}
	if mask != nil {
		operands = append(operands, mask)
	}
	w.b.Create(tt.Store, ir.State{Operands: operands, Attrs: accessAttrs(op)})
	w.dead = append(w.dead, op)
}
