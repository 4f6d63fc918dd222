package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
)

// function is a function of the expressions. Where its first parameter is x it is a
// method of arrays, too.
type function struct {
	// names are what it is called, the first one in messages.
	names []string
	// params in order. One that ends in "=" may be left out; one that begins with
	// "*" takes what is left, at least one argument.
	params []string
	do     func(a *args) (any, error)
}

// def makes a function of its names and parameters, each separated by spaces.
func def(names, params string, do func(a *args) (any, error)) *function {
	return &function{strings.Fields(names), strings.Fields(params), do}
}

// usage is how the function is called.
func (f *function) usage() string {
	parts := make([]string, len(f.params))
	for i, p := range f.params {
		if parts[i] = p; strings.HasSuffix(p, "=") {
			parts[i] += "…"
		}
	}
	return f.names[0] + "(" + strings.Join(parts, ", ") + ")"
}

// functionNamed finds a function, or nil.
func (c *evaluator) functionNamed(name string) *function {
	i := slices.IndexFunc(c.functions, func(f *function) bool { return slices.Contains(f.names, name) })
	if i < 0 {
		return nil
	}
	return c.functions[i]
}

// noFunction is the error of a name that no function has, with the nearest that one has.
func (c *evaluator) noFunction(name string) error {
	err := fmt.Errorf("there is no function %s", name)
	var names []string
	for _, f := range c.functions {
		names = append(names, f.names...)
	}
	if near := diag.Closest(name, names); near != "" {
		return &helped{err, fmt.Sprintf("did you mean '%s'?", near)}
	}
	return err
}

// otherNames are what PyTorch calls a parameter of NumPy's, and Triton.
var otherNames = map[string]string{"dim": "axis", "keepdim": "keepdims", "keep_dims": "keepdims", "input": "x", "min": "lo", "max": "hi", "correction": "ddof"}

// call evaluates a call.
func (c *evaluator) call(e *syntax.Call) (any, error) {
	if name, ok := afterOf(e); ok {
		return c.after(name)
	}
	name, receiver := "", syntax.Expr(nil)
	switch f := e.Func.(type) {
	case *syntax.Name:
		name = f.ID
	case *syntax.Attribute:
		if name = f.Attr; !c.isModule(f.Value) {
			receiver = f.Value
		}
	default:
		return nil, errors.New("only functions and methods can be called")
	}
	if d := array.Named(name); d != nil && receiver == nil {
		name = "cast"
		e = &syntax.Call{Func: e.Func, Args: append(slices.Clone(e.Args), e.Func), Keywords: e.Keywords}
	}
	// As in Python, min and max of several values are the least and the greatest.
	if _, plain := e.Func.(*syntax.Name); plain && len(e.Args) > 1 && (name == "min" || name == "max") {
		name += "imum"
	}
	f := c.functionNamed(name)
	switch {
	case name == after:
		return nil, errors.New("after takes the name of an argument alone: slice and compute with what it gives")
	case f == nil && receiver != nil:
		return nil, fmt.Errorf("arrays have no method %s", name)
	case f == nil:
		return nil, c.noFunction(name)
	case receiver != nil && f.params[0] != "x":
		return nil, &helped{fmt.Errorf("%s is not a method of arrays", name), "call it as " + f.usage()}
	}
	a := &args{c: c, f: f, values: map[string]any{}, nodes: map[string]syntax.Expr{}}
	positional := e.Args
	if receiver != nil {
		positional = append([]syntax.Expr{receiver}, e.Args...)
	}
	if err := a.bind(positional, e.Keywords); err != nil {
		return nil, err
	}
	return f.do(a)
}

// args are the arguments of a call by the names of its parameters.
type args struct {
	c      *evaluator
	f      *function
	values map[string]any
	nodes  map[string]syntax.Expr
	rest   []any // of the parameter that takes what is left
}

// bind gives each parameter its argument.
func (a *args) bind(positional []syntax.Expr, keywords []*syntax.Keyword) error {
	wrong := func(format string, args ...any) error {
		return &helped{fmt.Errorf(format, args...), "it is " + a.f.usage()}
	}
	set := func(name string, e syntax.Expr) error {
		v, err := a.c.eval(e)
		a.values[name], a.nodes[name] = v, e
		return err
	}
	params := a.f.params
	for i, e := range positional {
		if s, ok := e.(*syntax.Starred); ok {
			return a.c.fail(s, errors.New("* is not known here"))
		}
		switch {
		case i >= len(params)-1 && strings.HasPrefix(params[len(params)-1], "*"):
			v, err := a.c.eval(e)
			if err != nil {
				return err
			}
			a.rest = append(a.rest, v)
		case i >= len(params):
			return wrong("%s takes %s, given %d", a.f.names[0], diag.Count(len(params), "argument"), len(positional))
		default:
			if err := set(strings.TrimSuffix(params[i], "="), e); err != nil {
				return err
			}
		}
	}
	for _, k := range keywords {
		name := k.Arg
		if !a.takes(name) && a.takes(otherNames[name]) {
			name = otherNames[name]
		}
		if !a.takes(name) {
			return a.c.fail(k.Value, wrong("%s has no parameter %s", a.f.names[0], k.Arg))
		}
		if _, twice := a.nodes[name]; twice {
			return a.c.fail(k.Value, wrong("%s is given twice", k.Arg))
		}
		if err := set(name, k.Value); err != nil {
			return err
		}
	}
	for _, p := range params {
		switch _, given := a.nodes[p]; {
		case strings.HasSuffix(p, "="), given:
		case !strings.HasPrefix(p, "*"), len(a.rest) == 0:
			return wrong("%s lacks its argument %s", a.f.names[0], strings.TrimPrefix(p, "*"))
		}
	}
	return nil
}

// takes reports whether a parameter can be given by its name.
func (a *args) takes(name string) bool {
	return name != "" && (slices.Contains(a.f.params, name) || slices.Contains(a.f.params, name+"="))
}

// given reports whether the call has an argument other than None for a parameter.
func (a *args) given(name string) bool { return a.values[name] != nil }

// wrong places an error at an argument.
func (a *args) wrong(name string, err error) error {
	if at := a.nodes[name]; at != nil && err != nil {
		return a.c.fail(at, err)
	}
	return err
}

// tensor is an argument that has to be a number or an array.
func (a *args) tensor(name string) (*Tensor, error) {
	t, err := tensorOf(a.values[name])
	return t, a.wrong(name, err)
}

// integer is an argument that has to be an integer.
func (a *args) integer(name string, standard int64) (int64, error) {
	if !a.given(name) {
		return standard, nil
	}
	n, err := integerOf(a.values[name])
	return n, a.wrong(name, err)
}

// flag is an argument that is True or False.
func (a *args) flag(name string) (bool, error) {
	switch v := a.values[name].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	}
	return false, a.wrong(name, fmt.Errorf("%s is True or False", name))
}

// axes are the dimensions that an argument names, in order; all of them where it is
// not given.
func (a *args) axes(name string, t *Tensor) ([]int, error) {
	v := a.values[name]
	if v == nil {
		return seq(0, len(t.shape)), nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []int
	for _, v := range list {
		d, err := axisOf(v, t)
		if err != nil {
			return nil, a.wrong(name, err)
		}
		if slices.Contains(out, d) {
			return nil, a.wrong(name, fmt.Errorf("dimension %d is given twice", d))
		}
		out = append(out, d)
	}
	slices.Sort(out)
	return out, nil
}

// needAxis refuses a call without an axis where there are several: NumPy, PyTorch and
// Triton do not agree on which it would be.
func (a *args) needAxis(t *Tensor) error {
	if a.given("axis") || len(t.shape) < 2 {
		return nil
	}
	return fmt.Errorf("%s of %s needs an axis=", a.f.names[0], t)
}

// axis is the one dimension that an argument names.
func (a *args) axis(name string, t *Tensor, standard int) (int, error) {
	v := a.values[name]
	if v == nil {
		v = int64(standard)
	}
	d, err := axisOf(v, t)
	return d, a.wrong(name, err)
}

// axisOf counts a dimension from the first one.
func axisOf(v any, t *Tensor) (int, error) {
	n, err := integerOf(v)
	if err != nil {
		return 0, err
	}
	rank := int64(len(t.shape))
	if n < -rank || n >= rank {
		return 0, fmt.Errorf("there is no dimension %d of %s", n, t)
	}
	return int((n + rank) % rank), nil
}

// integerOf is a number, or an array of one, that has to be an integer.
func integerOf(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case bool:
		return scalarTensor(v).i[0], nil
	case *Tensor:
		if v.len() == 1 && v.kind != floating {
			return v.i[0], nil
		}
	}
	return 0, fmt.Errorf("%s is not an integer", Describe(v))
}

// shapeOf reads a shape: an integer, or a list of them.
func shapeOf(v any) ([]int, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]int, len(list))
	for i, v := range list {
		n, err := integerOf(v)
		if err != nil {
			return nil, err
		}
		out[i] = int(n)
	}
	return out, nil
}

// seq counts from lo to hi-1.
func seq(lo, hi int) []int {
	out := make([]int, 0, max(hi-lo, 0))
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}

func reversed(n int) []int {
	out := seq(0, n)
	slices.Reverse(out)
	return out
}
