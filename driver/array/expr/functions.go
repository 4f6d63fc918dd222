package expr

import (
	"errors"
	"fmt"
	"math"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// elementary are the functions of one float, by their names.
var elementary = []struct {
	names string
	f     func(float64) float64
}{
	{"exp", math.Exp},
	{"exp2", math.Exp2},
	{"expm1", math.Expm1},
	{"log", math.Log},
	{"log2", math.Log2},
	{"log10", math.Log10},
	{"log1p", math.Log1p},
	{"sqrt sqrt_rn", math.Sqrt},
	{"rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{"cbrt", math.Cbrt},
	{"reciprocal", func(x float64) float64 { return 1 / x }},
	{"sin", math.Sin},
	{"cos", math.Cos},
	{"tan", math.Tan},
	{"asin arcsin", math.Asin},
	{"acos arccos", math.Acos},
	{"atan arctan", math.Atan},
	{"sinh", math.Sinh},
	{"cosh", math.Cosh},
	{"tanh", math.Tanh},
	{"erf", math.Erf},
	{"erfc", math.Erfc},
	{"sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"silu", func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
}

// rounding are functions of one float that leave integers as they are.
var rounding = []struct {
	names string
	f     func(float64) float64
}{
	{"floor", math.Floor},
	{"ceil", math.Ceil},
	{"trunc", math.Trunc},
	{"rint round", math.RoundToEven},
}

// ofElements is a function of one value that goes element by element; integers go
// by i, or are taken as floats where it is nil.
func ofElements(f func(float64) float64, i func(int64) int64) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		t, err := a.tensor("x")
		if err != nil {
			return nil, err
		}
		out := t
		switch {
		case t.kind == floating || i == nil:
			out = mapFloats(t, f)
		case t.kind == signed:
			out = mapInts(t, signed, i)
		}
		if number(a.values["x"]) {
			return out.scalar(), nil
		}
		return out, nil
	}
}

// ofOne is a function of one array that cannot fail, or fails for its shape alone.
func ofOne(f func(t *Tensor) (*Tensor, error)) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		t, err := a.tensor("x")
		if err != nil {
			return nil, err
		}
		return f(t)
	}
}

// test makes bools of floats; no integer is one of what is asked for.
func test(f func(float64) bool, ofInts int64) func(a *args) (any, error) {
	return ofOne(func(t *Tensor) (*Tensor, error) {
		out := &Tensor{shape: t.shape, kind: boolean, i: make([]int64, t.len())}
		for i := range out.i {
			if t.kind == floating {
				out.i[i] = bit(f(t.f[i]))
			} else {
				out.i[i] = ofInts
			}
		}
		return out, nil
	})
}

// fold applies an operator to several values, element by element.
func fold(op string) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		best := a.rest[0]
		for _, v := range a.rest[1:] {
			var err error
			if best, err = binary(op, best, v); err != nil {
				return nil, err
			}
		}
		return best, nil
	}
}

// two applies an operator to x and y.
func two(op string) func(a *args) (any, error) {
	return func(a *args) (any, error) { return binary(op, a.values["x"], a.values["y"]) }
}

// logical is an operator on what is and is not zero.
func logical(op string) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		x, err := a.tensor("x")
		if err != nil {
			return nil, err
		}
		y, err := a.tensor("y")
		if err != nil {
			return nil, err
		}
		return tensorBinary(op, x.as(boolean), y.as(boolean))
	}
}

// filled makes an array of one value; v is nil where the call gives it.
func filled(v any) func(a *args) (any, error) {
	return func(a *args) (any, error) {
		shape, value := a.rest, v
		if v == nil {
			shape, value = []any{a.values["shape"]}, a.values["value"]
		}
		if len(shape) == 1 {
			if list, ok := shape[0].([]any); ok {
				shape = list
			}
		}
		dims, err := shapeOf(shape)
		if err != nil {
			return nil, err
		}
		t, err := tensorOf(value)
		if err != nil {
			return nil, err
		}
		return t.expand(dims)
	}
}

// functionTable lists the functions.
func functionTable() []*function {
	list := []*function{
		def("cast to astype", "x dtype", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			d, ok := a.values["dtype"].(*array.DType)
			if !ok {
				return nil, a.wrong("dtype", &helped{fmt.Errorf("%s is not a type", Describe(a.values["dtype"])), "types are " + array.Names()})
			}
			return cast(t, d), nil
		}),
		def("float", "x", ofElements(func(x float64) float64 { return x }, nil)),
		def("int", "x", func(a *args) (any, error) {
			if number(a.values["x"]) {
				return calc.Call("int", []any{a.values["x"]})
			}
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			return t.as(promote(min(t.kind, unsigned), signed)), nil
		}),
		def("len", "x", func(a *args) (any, error) {
			if list, ok := a.values["x"].([]any); ok {
				return int64(len(list)), nil
			}
			t, err := a.tensor("x")
			if err == nil && len(t.shape) == 0 {
				err = errors.New("a number has no length")
			}
			if err != nil {
				return nil, err
			}
			return int64(t.shape[0]), nil
		}),
		def("cdiv", "x y", func(a *args) (any, error) {
			if number(a.values["x"]) && number(a.values["y"]) {
				return calc.Call("cdiv", []any{a.values["x"], a.values["y"]})
			}
			down, err := binary("//", a.values["x"], a.values["y"])
			if err != nil {
				return nil, err
			}
			rest, err := binary("%", a.values["x"], a.values["y"])
			if err != nil {
				return nil, err
			}
			return binary("+", down, rest.(*Tensor).as(boolean))
		}),
		def("next_power_of_2", "x", func(a *args) (any, error) {
			return calc.Call("next_power_of_2", []any{a.values["x"]})
		}),
		def("abs absolute", "x", ofElements(math.Abs, func(n int64) int64 { return max(n, -n) })),
		def("sign", "x", ofElements(func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x
		}, func(n int64) int64 { return bit(n > 0) - bit(n < 0) })),
		def("square", "x", func(a *args) (any, error) { return binary("*", a.values["x"], a.values["x"]) }),
		def("relu", "x", func(a *args) (any, error) { return binary("max", a.values["x"], int64(0)) }),
		def("isnan", "x", test(func(x float64) bool { return x != x }, 0)),
		def("isinf", "x", test(func(x float64) bool { return math.IsInf(x, 0) }, 0)),
		def("isfinite", "x", test(func(x float64) bool { return x-x == 0 }, 1)),
		def("minimum", "*values", fold("min")),
		def("maximum", "*values", fold("max")),
		def("pow power", "x y", two("**")),
		def("atan2 arctan2", "x y", two("atan2")),
		def("fdiv div_rn truediv", "x y", two("/")),
		def("fma", "x y z", func(a *args) (any, error) { return fma(a) }),
		def("clamp clip", "x lo= hi=", func(a *args) (any, error) {
			v, err := a.values["x"], error(nil)
			if a.given("lo") {
				if v, err = binary("max", v, a.values["lo"]); err != nil {
					return nil, err
				}
			}
			if a.given("hi") {
				v, err = binary("min", v, a.values["hi"])
			}
			return v, err
		}),
		def("logical_and", "x y", logical("&")),
		def("logical_or", "x y", logical("|")),
		def("logical_xor", "x y", logical("^")),
		def("logical_not", "x", ofOne(func(t *Tensor) (*Tensor, error) {
			return mapInts(t.as(boolean), boolean, func(n int64) int64 { return 1 - n }), nil
		})),
		def("where", "condition x y", func(a *args) (any, error) {
			var t [3]*Tensor
			for i, name := range []string{"condition", "x", "y"} {
				var err error
				if t[i], err = a.tensor(name); err != nil {
					return nil, err
				}
			}
			return where(t[0], t[1], t[2])
		}),
		def("matmul dot bmm mm", "x y", func(a *args) (any, error) { return a.c.matmul(a.values["x"], a.values["y"]) }),
		def("outer", "x y", func(a *args) (any, error) {
			x, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			y, err := a.tensor("y")
			if err != nil {
				return nil, err
			}
			return tensorBinary("*", x.reshaped([]int{x.len(), 1}), y.reshaped([]int{1, y.len()}))
		}),
		def("var", "x axis= keepdims= ddof=", variance(false)),
		def("std", "x axis= keepdims= ddof=", variance(true)),
		def("sort", "x axis= descending=", sorted(false)),
		def("argsort", "x axis= descending=", sorted(true)),
		def("flip", "x axis=", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			if err := a.needAxis(t); err != nil {
				return nil, err
			}
			axes, err := a.axes("axis", t)
			if err != nil {
				return nil, err
			}
			return t.flip(axes)
		}),
		def("reshape view", "x *shape", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			shape, err := a.shapeArgument()
			if err != nil {
				return nil, err
			}
			return t.reshape(shape)
		}),
		def("broadcast_to expand", "x *shape", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			shape, err := a.shapeArgument()
			if err != nil {
				return nil, err
			}
			return t.expand(shape)
		}),
		def("ravel flatten", "x", ofOne(func(t *Tensor) (*Tensor, error) { return t.reshaped([]int{t.len()}), nil })),
		def("transpose", "x *axes=", transpose(true)),
		def("permute trans", "x *axes=", transpose(false)),
		def("swapaxes", "x axis0 axis1", func(a *args) (any, error) {
			a.rest = []any{a.values["axis0"], a.values["axis1"]}
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			p, err := a.axis("axis0", t, 0)
			if err != nil {
				return nil, err
			}
			q, err := a.axis("axis1", t, 0)
			if err != nil {
				return nil, err
			}
			order := seq(0, len(t.shape))
			order[p], order[q] = q, p
			return t.permute(order)
		}),
		def("squeeze", "x axis=", squeeze),
		def("unsqueeze expand_dims", "x axis", unsqueeze),
		def("concatenate cat concat", "list axis=", func(a *args) (any, error) {
			values, ok := a.values["list"].([]any)
			if !ok {
				return nil, a.wrong("list", errors.New("it joins the arrays of a list"))
			}
			list := make([]*Tensor, len(values))
			for i, v := range values {
				var err error
				if list[i], err = tensorOf(v); err != nil {
					return nil, a.wrong("list", err)
				}
			}
			if len(list) == 0 {
				return nil, a.wrong("list", errors.New("there is nothing to join"))
			}
			d, err := a.axis("axis", list[0], 0)
			if err != nil {
				return nil, err
			}
			return concatenate(list, d)
		}),
		def("stack", "list axis=", func(a *args) (any, error) {
			values, ok := a.values["list"].([]any)
			if !ok || len(values) == 0 {
				return nil, a.wrong("list", errors.New("it joins the arrays of a list"))
			}
			t, err := tensorOf(values[0])
			if err != nil {
				return nil, a.wrong("list", err)
			}
			d, err := a.axis("axis", &Tensor{shape: make([]int, len(t.shape)+1)}, 0)
			if err != nil {
				return nil, err
			}
			return stack(values, d)
		}),
		def("array tensor", "x", ofOne(func(t *Tensor) (*Tensor, error) { return t, nil })),
		def("tril", "x k=", triangle(true)),
		def("triu", "x k=", triangle(false)),
		def("take index_select", "x indices axis=", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			places, err := a.tensor("indices")
			if err != nil {
				return nil, err
			}
			if !a.given("axis") {
				return t.reshaped([]int{t.len()}).index([]any{places})
			}
			d, err := a.axis("axis", t, 0)
			if err != nil {
				return nil, err
			}
			items := make([]any, d, d+1)
			for i := range items {
				items[i] = span{}
			}
			return t.index(append(items, places))
		}),
		def("gather take_along_axis", "x indices axis", func(a *args) (any, error) {
			t, err := a.tensor("x")
			if err != nil {
				return nil, err
			}
			places, err := a.tensor("indices")
			if err != nil {
				return nil, err
			}
			d, err := a.axis("axis", t, 0)
			if err != nil {
				return nil, err
			}
			return t.takeAlong(places, d)
		}),
		def("arange iota", "*bounds", arange),
		def("zeros", "*shape", filled(0.0)),
		def("ones", "*shape", filled(1.0)),
		def("full", "shape value", filled(nil)),
		def("eye", "n", func(a *args) (any, error) {
			n, err := a.integer("n", 0)
			if err != nil {
				return nil, err
			}
			t, err := makeTensor(floating, []int{int(n), int(n)})
			if err != nil {
				return nil, a.wrong("n", err)
			}
			for i := range int(n) {
				t.f[i*int(n)+i] = 1
			}
			return t, nil
		}),
	}
	for _, e := range elementary {
		list = append(list, def(e.names, "x", ofElements(e.f, nil)))
	}
	for _, e := range rounding {
		list = append(list, def(e.names, "x", ofElements(e.f, func(n int64) int64 { return n })))
	}
	for _, r := range reductions {
		names := r.name
		if r.name == "max" || r.name == "min" {
			names += " a" + r.name
		}
		list = append(list, def(names, "x axis= keepdims=", r.reduce))
	}
	for _, s := range sequences {
		list = append(list, def(s.name, "x axis= reverse=", s.run))
	}
	return list
}

// fma rounds once.
func fma(a *args) (any, error) {
	var t [3]*Tensor
	for i, name := range []string{"x", "y", "z"} {
		v, err := a.tensor(name)
		if err != nil {
			return nil, err
		}
		t[i] = v.as(floating)
	}
	list, shape, steps, err := align(t[:]...)
	if err != nil {
		return nil, err
	}
	n, _ := elements(shape)
	out := &Tensor{shape: shape, kind: floating, f: make([]float64, n)}
	for i := range out.f {
		out.f[i] = math.FMA(list[0].f[i*steps[0]], list[1].f[i*steps[1]], list[2].f[i*steps[2]])
	}
	return out, nil
}
