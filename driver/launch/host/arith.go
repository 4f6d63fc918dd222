package host

import (
	"math"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
)

// arithmetic are the operators that prepare data, with torch's names of them.
var arithmetic = map[syntax.Operator]struct {
	name string
	f    func(a, b float64) float64
}{
	syntax.Add:  {"add", func(a, b float64) float64 { return a + b }},
	syntax.Sub:  {"sub", func(a, b float64) float64 { return a - b }},
	syntax.Mult: {"mul", func(a, b float64) float64 { return a * b }},
	syntax.Div:  {"div", func(a, b float64) float64 { return a / b }},
	syntax.Pow:  {"pow", math.Pow},
}

// Binary is t op other, element by element.
func (t *Tensor) Binary(op syntax.Operator, other any, reflected bool) (any, bool) {
	row, ok := arithmetic[op]
	if !ok {
		missing("torch.Tensor.__%s__", op.Symbol())
	}
	t.program.prepares("torch." + row.name)
	f := row.f
	if reflected {
		f = func(a, b float64) float64 { return row.f(b, a) }
	}
	if n, ok := eval.AsFloat(eval.Require(plain(other))); ok {
		dtype := t.dtype
		if _, whole := eval.AsInt(plain(other)); !t.memory.elem.Float() && (!whole || op == syntax.Div) {
			dtype = dtypeNamed("float32")
		}
		return t.mapped(dtype, func(v float64) float64 { return f(v, n) }), true
	}
	o, ok := other.(*Tensor)
	if !ok {
		return nil, false
	}
	return t.combined(o, promoted(t.dtype, o.dtype, op), f), true
}

// prepares fails while a measurement is under way: what prepares data here is a
// kernel of torch's there.
func (p *Program) prepares(what string) {
	if p.recording != nil {
		missing("%s", what)
	}
}

// promoted is the dtype of what two tensors make.
func promoted(a, b *lang.TorchDType, op syntax.Operator) *lang.TorchDType {
	x, y := array.Named(a.Type().String()), array.Named(b.Type().String())
	switch {
	case !x.Float() && !y.Float() && op == syntax.Div:
		return dtypeNamed("float32")
	case a == b, x.Float() && !y.Float():
		return a
	case y.Float() && !x.Float():
		return b
	case x.Size == y.Size && x.Float():
		return dtypeNamed("float32")
	case x.Size >= y.Size:
		return a
	}
	return b
}

// like is a tensor of t's shape, in t's order where t is all of its memory.
func (t *Tensor) like(dtype *lang.TorchDType) *Tensor {
	out := t.program.newTensor(dtype, append([]int64(nil), t.shape...))
	if t.whole() {
		out.strides = append([]int64(nil), t.strides...)
	}
	return out
}

// mapped is f of every element.
func (t *Tensor) mapped(dtype *lang.TorchDType, f func(v float64) float64) *Tensor {
	from := t
	if !t.whole() {
		from = t.copied()
	}
	in := from.memory.values(t.program)
	return from.like(dtype).fill(in.Len(), func(x *array.Array) {
		for i := range x.Len() {
			x.Set(i, f(in.At(i)))
		}
	})
}

// combined is f of the elements of two tensors, of which one may be repeated.
func (t *Tensor) combined(o *Tensor, dtype *lang.TorchDType, f func(a, b float64) float64) *Tensor {
	shape := broadcast(t.shape, o.shape)
	a, b := t.expanded(shape), o.expanded(shape)
	if a.whole() && b.whole() && equalStrides(a, b) {
		x, y := a.memory.values(t.program), b.memory.values(t.program)
		n := max(x.Len(), y.Len())
		if x.Len() != y.Len() && min(x.Len(), y.Len()) > 1 {
			n = a.memory.n
		}
		return a.like(dtype).fill(n, func(out *array.Array) {
			for i := range out.Len() {
				out.Set(i, f(x.At(i%x.Len()), y.At(i%y.Len())))
			}
		})
	}
	x, y := a.copied().memory.values(t.program), b.copied().memory.values(t.program)
	out := t.program.newTensor(dtype, shape)
	return out.fill(out.memory.n, func(z *array.Array) {
		for i := range z.Len() {
			z.Set(i, f(x.At(i%x.Len()), y.At(i%y.Len())))
		}
	})
}

func equalStrides(a, b *Tensor) bool {
	for i, n := range a.shape {
		if n > 1 && a.strides[i] != b.strides[i] {
			return false
		}
	}
	return true
}

// broadcast is the common shape of two.
func broadcast(a, b []int64) []int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := append([]int64(nil), a...)
	for i, n := range b {
		at := len(a) - len(b) + i
		switch {
		case shape[at] == 1:
			shape[at] = n
		case n != 1 && n != shape[at]:
			eval.Fail("tensors of the shapes %s and %s do not go together", eval.Repr(tuple(a)), eval.Repr(tuple(b)))
		}
	}
	return shape
}

// convert is a copy of t in another type.
func (t *Tensor) convert(dtype *lang.TorchDType) *Tensor {
	t.program.note("torch.Tensor.to")
	from := t
	if !t.whole() {
		from = t.copied()
	}
	in := from.memory.values(t.program)
	out := from.like(dtype)
	out.memory.put(t.program, in.Convert(out.memory.elem))
	return out
}

// to is a conversion to a dtype, if there is one among its arguments.
func (t *Tensor) to(c *call) any {
	for _, name := range []string{"dtype", "other"} {
		switch v := c.args[name].(type) {
		case *lang.TorchDType:
			if v != t.dtype {
				return t.convert(v)
			}
		case *Tensor:
			if v.dtype != t.dtype {
				return t.convert(v.dtype)
			}
		}
	}
	return t
}

// set gives every element one value.
func (t *Tensor) set(v float64) *Tensor {
	t.program.note("torch.Tensor.fill_")
	return t.replace(1, func(x *array.Array) { x.Fill(v) })
}

// replace has f make new contents, of some elements that repeat.
func (t *Tensor) replace(most int, f func(x *array.Array)) *Tensor {
	if t.whole() {
		return t.fill(most, f)
	}
	all := t.memory.values(t.program)
	n := int(t.numel())
	part := array.New(t.memory.elem, min(n, most))
	f(part)
	data := array.New(t.memory.elem, t.memory.n)
	size := t.memory.elem.Size
	for i := 0; i < len(data.Data) && len(all.Data) > 0; i += len(all.Data) {
		copy(data.Data[i:], all.Data)
	}
	t.each(func(i int, at int64) {
		from := i % part.Len() * size
		copy(data.Data[int(at)*size:], part.Data[from:from+size])
	})
	t.memory.put(t.program, data)
	return t
}

func (t *Tensor) normal(c *call) any {
	mean, std := c.number("mean", 0), c.number("std", 1)
	return t.replace(period, func(x *array.Array) {
		for i := range x.Len() {
			x.Set(i, mean+std*t.program.rand.NormFloat64())
		}
	})
}

func (t *Tensor) uniform(c *call) any {
	from, to := c.number("from", 0), c.number("to", 1)
	return t.replace(period, func(x *array.Array) {
		for i := range x.Len() {
			x.Set(i, from+(to-from)*t.program.rand.Float64())
		}
	})
}
