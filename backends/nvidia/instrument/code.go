package instrument

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// table is a value that checks take. Where it is a pointer to a tensor in global memory,
// typ is that tensor's; of a tensor it is the type itself, of a scalar nil.
type table struct {
	value *ir.Value
	typ   *ir.TensorType
}

// there reports whether the module has such a table.
func (t table) there() bool { return t.value != nil }

// tableType is the type of a table of one or two dimensions, which each of the threads
// holds whole.
func tableType(c *ir.Context, lanes, warps, width int, shape ...int64) *ir.TensorType {
	e := &layout.Blocked{}
	for d, n := range shape {
		e.SizePerThread = append(e.SizePerThread, int(n))
		e.Order = append(e.Order, d)
	}
	e.ThreadsPerWarp, e.WarpsPerCTA = []int{lanes}, []int{warps}
	if len(shape) == 2 {
		e.ThreadsPerWarp, e.WarpsPerCTA = []int{1, lanes}, []int{1, warps}
	}
	return c.Tensor(shape, c.Int(width), encoding.Of(c, e))
}

// code emits arithmetic on tables.
type code struct{ b *ir.Builder }

// num is the constant n of type t.
func (c code) num(t ir.Type, n int64) *ir.Value { return arith.Int(c.b, t, n) }

func (c code) i1(n int64) *ir.Value  { return c.num(c.b.Context().I1(), n) }
func (c code) i32(n int64) *ir.Value { return c.num(c.b.Context().I32(), n) }
func (c code) i64(n int64) *ir.Value { return c.num(c.b.Context().I64(), n) }

func (c code) op(def *ir.OpDef, x, y *ir.Value) *ir.Value { return arith.Binary(c.b, def, x, y) }
func (c code) and(x, y *ir.Value) *ir.Value               { return c.op(arith.AndI, x, y) }
func (c code) or(x, y *ir.Value) *ir.Value                { return c.op(arith.OrI, x, y) }
func (c code) shl(x, y *ir.Value) *ir.Value               { return c.op(arith.ShLI, x, y) }
func (c code) shr(x, y *ir.Value) *ir.Value               { return c.op(arith.ShRUI, x, y) }

// not flips all bits.
func (c code) not(x *ir.Value) *ir.Value { return c.op(arith.XorI, x, c.num(x.Type(), -1)) }

// by is def with the constant n for its second operand.
func (c code) by(def *ir.OpDef, x *ir.Value, n int64) *ir.Value {
	return c.op(def, x, c.num(x.Type(), n))
}

func (c code) compare(pred int64, x, y *ir.Value) *ir.Value {
	return arith.Compare(c.b, arith.CmpI, pred, x, y)
}

// is compares x with the constant n.
func (c code) is(pred int64, x *ir.Value, n int64) *ir.Value {
	return c.compare(pred, x, c.num(x.Type(), n))
}

func (c code) choose(cond, yes, no *ir.Value) *ir.Value { return arith.NewSelect(c.b, cond, yes, no) }

// widen makes x, a scalar, one of the type that t's elements have.
func (c code) widen(x *ir.Value, t *ir.TensorType) *ir.Value {
	switch have, want := ir.BitWidth(x.Type()), ir.BitWidth(t.Elem); {
	case have < want:
		return arith.Cast(c.b, arith.ExtUI, x, t.Elem)
	case have > want:
		return arith.Cast(c.b, arith.TruncI, x, t.Elem)
	}
	return x
}

// all is the scalar x, widened, in every element of a tensor of type t.
func (c code) all(x *ir.Value, t *ir.TensorType) *ir.Value {
	return tt.Unary(c.b, tt.Splat, c.widen(x, t), t)
}

// equal tells which elements of a tensor are the scalar x.
func (c code) equal(tensor, x *ir.Value) *ir.Value {
	return c.compare(arith.EQ, tensor, c.all(x, tensor.Type().(*ir.TensorType)))
}

// bit is the bit of each element of a tensor that the scalar n numbers, as i1.
func (c code) bit(tensor, n *ir.Value) *ir.Value {
	t := tensor.Type().(*ir.TensorType)
	return c.is(arith.NE, c.by(arith.AndI, c.shr(tensor, c.all(n, t)), 1), 0)
}

// rows repeats a tensor with an element for each row of t along t's rows.
func (c code) rows(x *ir.Value, t *ir.TensorType) *ir.Value { return c.spread(x, t, 1) }

// columns repeats a tensor with an element for each column of t along t's columns.
func (c code) columns(x *ir.Value, t *ir.TensorType) *ir.Value { return c.spread(x, t, 0) }

// spread adds dimension dim to x and repeats it to the shape of t.
func (c code) spread(x *ir.Value, t *ir.TensorType, dim int) *ir.Value {
	x = tt.NewExpandDims(c.b, ttg.NewConvertLayout(c.b, x, encoding.Slice(c.b.Context(), t.Encoding, dim)), dim)
	e := x.Type().(*ir.TensorType)
	if slices.Equal(e.Shape, t.Shape) {
		return x
	}
	return tt.Unary(c.b, tt.Broadcast, x, c.b.Context().Tensor(t.Shape, e.Elem, e.Encoding))
}

// numbers are 0, 1, … along dimension dim of t, in the layout of t without the other
// dimensions.
func (c code) numbers(t *ir.TensorType, dim int) *ir.Value {
	enc := t.Encoding
	if len(t.Shape) == 2 {
		enc = encoding.Slice(c.b.Context(), enc, 1-dim)
	}
	n := t.Shape[dim]
	return tt.NewMakeRange(c.b, c.b.Context().Tensor([]int64{n}, c.b.Context().I32(), enc), 0, n)
}

// column tells which elements of a tensor of type t are in the column that the scalar n
// numbers.
func (c code) column(t *ir.TensorType, n *ir.Value) *ir.Value {
	return c.columns(c.equal(c.numbers(t, 1), n), t)
}

// columnsOf tells which elements of a tensor of type t are in columns whose bits the
// scalar mask has.
func (c code) columnsOf(t *ir.TensorType, mask *ir.Value) *ir.Value {
	n := c.numbers(t, 1)
	wide := c.b.Context().WithElem(n.Type(), mask.Type()).(*ir.TensorType)
	bits := c.shr(c.all(mask, wide), arith.Cast(c.b, arith.ExtUI, n, wide))
	return c.columns(c.is(arith.NE, c.by(arith.AndI, bits, 1), 0), t)
}

// anyOf is the or of the elements along a dimension of x.
func (c code) anyOf(x *ir.Value, dim int) *ir.Value {
	elem := ir.ElemOf(x.Type())
	reduce := tt.NewReduce(c.b, []*ir.Value{x}, dim)
	at := c.b.Save()
	body := tt.AsReduce(reduce).CombineOp().AddBlock()
	lhs, rhs := body.AddArg(elem, reduce.Loc()), body.AddArg(elem, reduce.Loc())
	c.b.SetToEnd(body)
	c.b.Op(tt.ReduceReturn, []*ir.Value{c.or(lhs, rhs)})
	c.b.Restore(at)
	return reduce.OneResult()
}

// only is x where cond holds, and 0 elsewhere.
func (c code) only(cond, x *ir.Value) *ir.Value { return c.choose(cond, x, c.num(x.Type(), 0)) }

// when emits what emit does under the condition cond.
func (c code) when(cond *ir.Value, emit func()) {
	choice := scf.NewIf(c.b, cond, false)
	at := c.b.Save()
	c.b.SetToEnd(scf.AsIf(choice).ThenRegion().First())
	emit()
	scf.NewYield(c.b)
	c.b.Restore(at)
}

// pointers are the addresses of a table's elements in global memory, columns one after
// the other.
func (c code) pointers(t table) *ir.Value {
	ctx := c.b.Context()
	p := tt.Unary(c.b, tt.Splat, t.value, ctx.Tensor(t.typ.Shape, t.value.Type(), t.typ.Encoding))
	stride := int64(1)
	for dim, n := range t.typ.Shape {
		at := c.by(arith.MulI, c.numbers(t.typ, dim), stride)
		if len(t.typ.Shape) == 2 {
			at = c.spread(at, t.typ, 1-dim)
		}
		p = tt.NewAddPtr(c.b, p, at)
		stride *= n
	}
	return p
}

func (c code) load(t table) *ir.Value {
	return tt.NewLoad(c.b, c.pointers(t), nil, nil, tt.Access{})
}

func (c code) store(t table, x *ir.Value) {
	tt.NewStore(c.b, c.pointers(t), x, nil, tt.Access{})
}

// replace stores x to a table from which all threads have loaded, and will again. One of
// them stores.
func (c code) replace(t table, x *ir.Value) {
	c.b.Op(gpu.Barrier, nil)
	c.store(t, x)
	c.b.Op(gpu.Barrier, nil)
}

// change stores x where cond holds to a table that holds old.
func (c code) change(t table, cond, x, old *ir.Value) { c.replace(t, c.choose(cond, x, old)) }
