package expr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// Expr is a parsed expression.
type Expr struct {
	label, text string
	root        syntax.Expr
}

// Parse reads an expression. The label stands for it in errors, as a file's name
// does.
func Parse(label, text string) (*Expr, error) {
	root, err := syntax.ParseExpr(label, []byte(text))
	if err != nil {
		var d *diag.Diagnostic
		if errors.As(err, &d) {
			return nil, d.WithSource(text)
		}
		return nil, err
	}
	return &Expr{label, text, root}, nil
}

// Names calls f for each name that the expression looks up, and says whether it
// asks for the value after the run.
func (e *Expr) Names(f func(name string, after bool)) {
	syntax.Inspect(e.root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			if name, ok := afterOf(n); ok {
				f(name, true)
				return false
			}
		case *syntax.Name:
			f(n.ID, false)
		}
		return true
	})
}

// after is what names memory after the run: after(x).
const after = "after"

// afterOf is the name in after(NAME).
func afterOf(call *syntax.Call) (string, bool) {
	if f, ok := call.Func.(*syntax.Name); !ok || f.ID != after || len(call.Args) != 1 || len(call.Keywords) > 0 {
		return "", false
	}
	name, ok := call.Args[0].(*syntax.Name)
	if !ok {
		return "", false
	}
	return name.ID, true
}

// Env is what an expression is about.
type Env struct {
	// Lookup finds the value of a name before the run: a number, an
	// *array.Array, or a value of this package. ok is false where nothing has
	// the name.
	Lookup calc.Scope
	// After finds what after(NAME) means, memory as the run left it; nil where
	// there is no run.
	After calc.Scope
	// Known lists the names that Lookup finds, for the help of an error.
	Known string
}

// Eval evaluates the expression. The error is a *diag.Diagnostic, or the context's.
func (e *Expr) Eval(ctx context.Context, env Env) (any, error) {
	c := &evaluator{ctx: ctx, env: env, expr: e, tensors: map[string]*Tensor{}, functions: functionTable()}
	return c.eval(e.root)
}

// Check looks up all names without evaluating anything: an expression that waits for a
// run should not fail after it for a typing mistake. The error is a *diag.Diagnostic.
func (e *Expr) Check(env Env) error {
	c := &evaluator{ctx: context.Background(), env: env, expr: e, functions: functionTable()}
	var wrong error
	syntax.Inspect(e.root, func(n syntax.Node) bool {
		if wrong != nil {
			return false
		}
		more := true
		var err error
		switch n := n.(type) {
		case *syntax.Call:
			if name, ok := afterOf(n); ok {
				more, err = false, c.has(env.After, name)
			}
			wrong = c.failed(n, err)
		case *syntax.Name:
			_, ok := builtin(n.ID)
			if !ok && n.ID != after && c.functionNamed(n.ID) == nil && !slices.Contains(modules, n.ID) {
				err = c.has(env.Lookup, n.ID)
			}
			wrong = c.failed(n, err)
		}
		return more
	})
	return wrong
}

// has is the error of a name that a scope, which may be nil, does not know.
func (c *evaluator) has(scope calc.Scope, id string) error {
	if scope != nil {
		if _, ok, err := scope(id); ok || err != nil {
			return err
		}
	}
	return c.unknown(id)
}

// unknown is the error of a name that nothing has.
func (c *evaluator) unknown(id string) error {
	return &helped{fmt.Errorf("nothing is called '%s'", id), c.env.Known}
}

// failed is fail for an error that may be nil.
func (c *evaluator) failed(at syntax.Expr, err error) error {
	if err == nil {
		return nil
	}
	return c.fail(at, err)
}

// Array is a value as an array: numbers have no dimensions. It is nil for what is
// neither a number nor an array.
func Array(v any) *array.Array {
	t, _ := tensorOf(v)
	if t == nil {
		return nil
	}
	return t.Array()
}

// Describe says what a value is: its text for a number, kind and shape of a
// tensor.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".en") {
			text += ".0"
		}
		return strings.ToLower(text)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = Describe(v[i])
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case *array.DType:
		return "the type " + v.Name
	case string:
		return "a text"
	}
	return fmt.Sprint(v)
}

// ellipsis is the value of "...".
type ellipsis struct{}

type evaluator struct {
	ctx  context.Context
	env  Env
	expr *Expr
	// tensors are the arrays that names stand for; those after the run have a
	// name that begins with a space.
	tensors map[string]*Tensor
	// functions are held here, since they evaluate their arguments.
	functions []*function
}

// fail places an error at a part of the expression, unless it has its place.
func (c *evaluator) fail(at syntax.Expr, err error) error {
	var d *diag.Diagnostic
	if errors.As(err, &d) || c.ctx.Err() != nil {
		return err
	}
	s := at.Loc()
	d = diag.Errorf(diag.Pos{File: c.expr.label, Line: int(s.Line), Col: int(s.Col) + 1}, "%v", err)
	if d.EndCol = int(s.EndCol) + 1; s.EndLine != s.Line {
		d.EndCol = 1 + len(diag.LineAt(c.expr.text, int(s.Line)))
	}
	var h *helped
	if errors.As(err, &h) {
		d.Help = h.help
	}
	return d.WithSource(c.expr.text)
}

// helped is an error with a next step.
type helped struct {
	error
	help string
}

// eval evaluates a part of the expression; an error has its place.
func (c *evaluator) eval(e syntax.Expr) (any, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	v, err := c.value(e)
	if err != nil {
		return nil, c.fail(e, err)
	}
	return v, nil
}

// list evaluates several parts.
func (c *evaluator) list(elts []syntax.Expr) ([]any, error) {
	out := make([]any, len(elts))
	for i, e := range elts {
		var err error
		if out[i], err = c.eval(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *evaluator) value(e syntax.Expr) (any, error) {
	switch e := e.(type) {
	case *syntax.Constant:
		switch v := e.Value.(type) {
		case int64, float64, bool, string:
			return v, nil
		case syntax.None:
			return nil, nil
		case syntax.Ellipsis:
			return ellipsis{}, nil
		case *big.Int:
			return nil, errors.New("the number does not fit into 64 bits")
		}
	case *syntax.Name:
		return c.name(e.ID)
	case *syntax.Tuple:
		return c.values(e.Elts)
	case *syntax.List:
		return c.values(e.Elts)
	case *syntax.UnaryOp:
		v, err := c.eval(e.Operand)
		if err != nil {
			return nil, err
		}
		return unary(e.Op, v)
	case *syntax.BinOp:
		a, err := c.eval(e.Left)
		if err != nil {
			return nil, err
		}
		b, err := c.eval(e.Right)
		if err != nil {
			return nil, err
		}
		if e.Op == syntax.MatMult {
			return c.matmul(a, b)
		}
		return binary(e.Op.Symbol(), a, b)
	case *syntax.Compare:
		return c.compare(e)
	case *syntax.BoolOp:
		return c.boolOp(e)
	case *syntax.IfExp:
		test, err := c.truth(e.Test)
		switch {
		case err != nil:
			return nil, err
		case test:
			return c.eval(e.Body)
		}
		return c.eval(e.Orelse)
	case *syntax.Call:
		return c.call(e)
	case *syntax.Attribute:
		return c.attribute(e)
	case *syntax.Subscript:
		return c.subscript(e)
	}
	return nil, errors.New("this is more Python than expressions know")
}

// values are those of a tuple or list.
func (c *evaluator) values(elts []syntax.Expr) (any, error) {
	list, err := c.list(elts)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// modules may stand before the name of a function or a type, as in torch.where.
var modules = []string{"np", "numpy", "torch", "math", "tl", "triton", "libdevice", "F"}

func (c *evaluator) name(id string) (any, error) {
	if c.env.Lookup != nil {
		v, ok, err := c.env.Lookup(id)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return c.known(id, v)
		}
	}
	if v, ok := builtin(id); ok {
		return v, nil
	}
	if c.functionNamed(id) != nil {
		return nil, fmt.Errorf("%s is a function", id)
	}
	return nil, c.unknown(id)
}

// builtin is the value of a name that expressions know by themselves.
func builtin(id string) (v any, ok bool) {
	switch id {
	case "pi":
		return math.Pi, true
	case "inf":
		return math.Inf(1), true
	case "nan":
		return math.NaN(), true
	case "newaxis":
		return nil, true
	}
	if d := array.Named(id); d != nil {
		return d, true
	}
	return nil, false
}

// known is the value that the environment has for a name.
func (c *evaluator) known(id string, v any) (any, error) {
	switch v := v.(type) {
	case *array.Array:
		if t := c.tensors[id]; t != nil {
			return t, nil
		}
		t, err := FromArray(v)
		c.tensors[id] = t
		return t, err
	case nil, int64, float64, bool, *Tensor, []any, *array.DType:
		return v, nil
	}
	return nil, fmt.Errorf("%s is neither a number nor memory", id)
}

// after is the value of after(NAME).
func (c *evaluator) after(id string) (any, error) {
	if c.env.After == nil {
		return nil, errors.New("nothing is known of what comes after the run")
	}
	v, ok, err := c.env.After(id)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, c.unknown(id)
	}
	return c.known(" "+id, v)
}

// truth evaluates a condition, which has to be one number.
func (c *evaluator) truth(e syntax.Expr) (bool, error) {
	v, err := c.eval(e)
	if err != nil {
		return false, err
	}
	t, _ := tensorOf(v)
	if t == nil || t.len() != 1 {
		return false, c.fail(e, &helped{fmt.Errorf("%s is neither true nor false", Describe(v)), "& | ~ and where(…) go element by element"})
	}
	return t.as(boolean).i[0] != 0, nil
}

func (c *evaluator) boolOp(e *syntax.BoolOp) (any, error) {
	for _, v := range e.Values {
		is, err := c.truth(v)
		if err != nil {
			return nil, err
		}
		if is == (e.Op == syntax.Or) {
			return is, nil
		}
	}
	return e.Op == syntax.And, nil
}

// compare evaluates a < b < c as (a < b) & (b < c).
func (c *evaluator) compare(e *syntax.Compare) (any, error) {
	left, err := c.eval(e.Left)
	if err != nil {
		return nil, err
	}
	var all any
	for i, op := range e.Ops {
		right, err := c.eval(e.Comparators[i])
		if err != nil {
			return nil, err
		}
		v, err := comparison(op, left, right)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = v
		} else if all, err = binary("&", all, v); err != nil {
			return nil, err
		}
		left = right
	}
	if t, ok := all.(int64); ok { // of the & of two bools
		return t != 0, nil
	}
	return all, nil
}

// attribute is a property of an array, or a type of a module.
func (c *evaluator) attribute(e *syntax.Attribute) (any, error) {
	if c.isModule(e.Value) {
		return c.name(e.Attr)
	}
	v, err := c.eval(e.Value)
	if err != nil {
		return nil, err
	}
	t, err := tensorOf(v)
	if err != nil {
		return nil, err
	}
	switch e.Attr {
	case "shape":
		return sizes(t.shape), nil
	case "ndim":
		return int64(len(t.shape)), nil
	case "size":
		return int64(t.len()), nil
	case "T":
		return t.permute(reversed(len(t.shape)))
	case "mT":
		return t.swapLast()
	}
	return nil, fmt.Errorf("arrays have no attribute %s; they have shape, ndim, size, T and mT", e.Attr)
}

// isModule reports whether e is a module's name, such as torch or
// torch.nn.functional, that nothing else has.
func (c *evaluator) isModule(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Attribute:
		return c.isModule(e.Value)
	case *syntax.Name:
		if !slices.Contains(modules, e.ID) {
			return false
		}
		if c.env.Lookup != nil {
			if _, ok, err := c.env.Lookup(e.ID); ok || err != nil {
				return false
			}
		}
		return true
	}
	return false
}

// sizes are a shape as a value.
func sizes(shape []int) []any {
	out := make([]any, len(shape))
	for i, n := range shape {
		out[i] = int64(n)
	}
	return out
}

// tensorOf is a number, an array or a list of such as a tensor.
func tensorOf(v any) (*Tensor, error) {
	switch v := v.(type) {
	case *Tensor:
		return v, nil
	case []any:
		return stack(v, 0)
	}
	if t := scalarTensor(v); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s is neither a number nor an array", Describe(v))
}
