package ttir

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// RewriteTensorPointer replaces block pointers by tensors of pointers. A block
// pointer is its base, shape and strides, which never change, and its offsets,
// which loops and conditions carry in its place.
var RewriteTensorPointer = &pass.Pass{
	Name:    "triton-rewrite-tensor-pointer",
	Doc:     "replace block pointers by tensors of pointers",
	Example: rewriteTensorPointerExample,
	Before:  []*pass.Fact{facts.NoLayouts},
	After:   []*pass.Fact{facts.NoTensorPointers},
	Run: func(r *pass.Run) error {
		w := &windows{expander{
			of: make(map[*ir.Value]parts), b: ir.NewBuilder(r.Module.Context()),
			compound: tt.IsBlockPtr, what: "a block pointer",
		}}
		w.visit = w.access
		for op := range r.Module.Body().Ops() {
			if err := w.function(op); err != nil {
				return err
			}
		}
		r.Count("rewritten", w.finish())
		return nil
	},
}

// window is a block pointer in parts: shape, strides and offsets are i64, one per
// dimension.
type window struct {
	base    *ir.Value
	shape   []*ir.Value
	strides []*ir.Value
	offsets []*ir.Value
	block   *ir.TensorType
}

func (w *window) carried() []*ir.Value { return w.offsets }

func (w *window) with(offsets []*ir.Value) parts {
	n := *w
	n.offsets = offsets
	return &n
}

func (w *window) fits(q parts) bool {
	v := q.(*window)
	return w.base == v.base && slices.Equal(w.shape, v.shape) && slices.Equal(w.strides, v.strides)
}

type windows struct{ expander }

// access rewrites an operation on a block pointer.
func (w *windows) access(op *ir.Operation) bool {
	switch {
	case op.Is(tt.MakeTensorPtr):
		made := tt.AsMakeTensorPtr(op)
		block := made.Result().Type().(*tt.PtrType).Pointee.(*ir.TensorType)
		w.of[made.Result()] = &window{made.Base(), made.Shape(), made.Strides(), extend(w.b, made.Offsets()), block}
	case op.Is(tt.Advance):
		advance := tt.AsAdvance(op)
		from := w.of[advance.Ptr()].(*window)
		offsets := make([]*ir.Value, len(from.offsets))
		for i, v := range advance.Offsets() {
			step := arith.Cast(w.b, arith.ExtSI, v, w.b.Context().I64())
			offsets[i] = arith.Binary(w.b, arith.AddI, from.offsets[i], step)
		}
		w.of[advance.Result()] = from.with(offsets)
	case op.Is(tt.Load) && tt.IsBlockPtr(tt.AsLoad(op).Ptr().Type()):
		w.load(tt.AsLoad(op))
	case op.Is(tt.Store) && tt.IsBlockPtr(tt.AsStore(op).Ptr().Type()):
		w.store(tt.AsStore(op))
	default:
		return false
	}
	return true
}

// extend makes i64 of i32 values.
func extend(b *ir.Builder, vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		out[i] = arith.Cast(b, arith.ExtSI, v, b.Context().I64())
	}
	return out
}

// indexAlong is offset + 0 … size−1 as i64 along dimension d of a block,
// expanded to its rank.
func indexAlong(b *ir.Builder, offset *ir.Value, shape []int64, d int) *ir.Value {
	c := b.Context()
	row := c.Tensor(shape[d:d+1], c.I64(), nil)
	from := tt.Unary(b, tt.Splat, offset, row)
	steps := tt.NewMakeRange(b, c.Tensor(shape[d:d+1], c.I32(), nil), 0, shape[d])
	v := arith.Binary(b, arith.AddI, from, arith.Cast(b, arith.ExtSI, steps, row))
	return expandAround(b, v, len(shape), d)
}

// expandAround makes a 1-dimensional tensor dimension d of rank dimensions, the
// others of size 1.
func expandAround(b *ir.Builder, v *ir.Value, rank, d int) *ir.Value {
	for k := range rank {
		if k != d {
			v = tt.NewExpandDims(b, v, k)
		}
	}
	return v
}

// broadcastTo repeats v to type t if it has another shape.
func broadcastTo(b *ir.Builder, v *ir.Value, t *ir.TensorType) *ir.Value {
	if v.Type() == ir.Type(t) {
		return v
	}
	return tt.Unary(b, tt.Broadcast, v, t)
}

// within is 0 ≤ index < size, in the given shape.
func within(b *ir.Builder, index, size *ir.Value, shape []int64) *ir.Value {
	c := b.Context()
	t := index.Type()
	zero := tt.Unary(b, tt.Splat, arith.Int(b, c.I64(), 0), t)
	low := arith.Compare(b, arith.CmpI, arith.SGE, index, zero)
	end := tt.Unary(b, tt.Splat, size, t)
	high := arith.Compare(b, arith.CmpI, arith.SLT, index, end)
	return broadcastTo(b, arith.Binary(b, arith.AndI, low, high), c.Tensor(shape, c.I1(), nil))
}

// both is a and b, where a may be nil.
func both(b *ir.Builder, x, y *ir.Value) *ir.Value {
	if x == nil {
		return y
	}
	return arith.Binary(b, arith.AndI, x, y)
}

// pointers makes the tensor of pointers of a window, and the mask of what lies
// inside the dimensions of check (nil when check is empty).
func (w *windows) pointers(win *window, check []int64) (ptrs, mask *ir.Value) {
	c := w.b.Context()
	shape := win.block.Shape
	ptrs = tt.Unary(w.b, tt.Splat, win.base, c.Tensor(shape, win.base.Type(), nil))
	whole := c.Tensor(shape, c.I64(), nil)
	indices := make([]*ir.Value, len(shape))
	for d := range shape {
		indices[d] = indexAlong(w.b, win.offsets[d], shape, d)
		stride := tt.Unary(w.b, tt.Splat, win.strides[d], indices[d].Type())
		step := broadcastTo(w.b, arith.Binary(w.b, arith.MulI, indices[d], stride), whole)
		ptrs = tt.NewAddPtr(w.b, ptrs, step)
	}
	for _, d := range check {
		mask = both(w.b, mask, within(w.b, indices[d], win.shape[d], shape))
	}
	return ptrs, mask
}

// accessAttrs are op's attributes without those of block pointers.
func accessAttrs(op *ir.Operation) []ir.NamedAttr {
	return slices.DeleteFunc(slices.Clone(op.Attrs()), func(a ir.NamedAttr) bool {
		return a.Name == "boundaryCheck" || a.Name == "padding"
	})
}

func (w *windows) load(op tt.LoadOp) {
	win := w.of[op.Ptr()].(*window)
	ptrs, mask := w.pointers(win, slices.Sorted(slices.Values(op.BoundaryCheck())))
	operands, segments := []*ir.Value{ptrs}, []int32{1, 0, 0}
	if mask != nil {
		operands, segments[1] = append(operands, mask), 1
		if pad, ok := op.Padding(); ok {
			operands, segments[2] = append(operands, padding(w.b, win.block, pad)), 1
		}
	}
	n := w.b.Create(tt.Load, ir.State{
		Operands: operands, Segments: segments, Types: []ir.Type{op.Result().Type()}, Attrs: accessAttrs(op.Op),
	})
	op.Op.ReplaceAllUsesWith(n.OneResult())
}

// padding is the value of what lies outside: 0 or NaN.
func padding(b *ir.Builder, t *ir.TensorType, kind int64) *ir.Value {
	v := 0.0
	if kind == tt.PadNaN {
		v = math.NaN()
	}
	var scalar *ir.Value
	if ir.IsFloat(t.Elem) {
		scalar = arith.Float(b, t.Elem, v)
	} else {
		scalar = arith.Int(b, t.Elem, 0)
	}
	return tt.Unary(b, tt.Splat, scalar, t)
}

func (w *windows) store(op tt.StoreOp) {
	win := w.of[op.Ptr()].(*window)
	ptrs, mask := w.pointers(win, slices.Sorted(slices.Values(op.BoundaryCheck())))
	operands := []*ir.Value{ptrs, op.Value()}
	if mask != nil {
		operands = append(operands, mask)
	}
	w.b.Create(tt.Store, ir.State{Operands: operands, Attrs: accessAttrs(op.Op)})
}
