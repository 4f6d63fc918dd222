// Package calc evaluates the arithmetic of command lines and of
// tests: sizes such as cdiv(n, BLOCK).
//
// Expressions are Python's: integers stay integers under + - * // % ** and
// shifts, / gives a float. A value is an int64, a float64, a bool, or an
// *array.Array, which names alone can give: arithmetic on arrays is package
// driver/array/expr's. It imports core/frontend/syntax for the grammar.
package calc

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/array"
)

// Scope finds the value of a name: ok is false where there is none of it.
type Scope func(name string) (value any, ok bool, err error)

// UnknownName is the error for a name that the scope does not know.
type UnknownName struct{ Name string }

func (e *UnknownName) Error() string { return fmt.Sprintf("nothing is called '%s'", e.Name) }

// NotArithmetic is the error for Python that is valid, and not known here.
type NotArithmetic struct{ Text string }

func (e *NotArithmetic) Error() string {
	return fmt.Sprintf("'%s' is more than the arithmetic that is known here", e.Text)
}

// Parse reads one expression.
func Parse(text string) (syntax.Expr, error) {
	e, err := syntax.ParseExpr("", []byte(text))
	if err != nil {
		var d *diag.Diagnostic
		if errors.As(err, &d) {
			return nil, fmt.Errorf("'%s' is not an expression: %s", text, d.Message)
		}
		return nil, err
	}
	return e, nil
}

// Eval evaluates the text of an expression.
func Eval(text string, scope Scope) (any, error) {
	e, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return EvalExpr(e, scope)
}

// EvalInt is Eval for an expression that has to give an integer.
func EvalInt(text string, scope Scope) (int64, error) {
	v, err := Eval(text, scope)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("'%s' is %s, not an integer", text, describe(v))
	}
	return n, nil
}

func describe(v any) string {
	if a, ok := v.(*array.Array); ok {
		return "an array " + a.String()
	}
	return fmt.Sprint(v)
}

// EvalExpr evaluates a parsed expression.
func EvalExpr(e syntax.Expr, scope Scope) (any, error) {
	c := &evaluator{scope}
	return c.eval(e)
}

type evaluator struct{ scope Scope }

func (c *evaluator) eval(e syntax.Expr) (any, error) {
	switch e := e.(type) {
	case *syntax.Constant:
		switch v := e.Value.(type) {
		case int64, float64, bool:
			return v, nil
		}
	case *syntax.Name:
		if v, ok, err := c.scope(e.ID); ok || err != nil {
			return v, err
		}
		switch e.ID {
		case "pi":
			return math.Pi, nil
		case "inf":
			return math.Inf(1), nil
		case "nan":
			return math.NaN(), nil
		}
		return nil, &UnknownName{e.ID}
	case *syntax.UnaryOp:
		v, err := c.eval(e.Operand)
		if err != nil {
			return nil, err
		}
		return Unary(e.Op, v)
	case *syntax.BinOp:
		a, err := c.eval(e.Left)
		if err != nil {
			return nil, err
		}
		b, err := c.eval(e.Right)
		if err != nil {
			return nil, err
		}
		return Binary(e.Op.Symbol(), a, b)
	case *syntax.Call:
		return c.call(e)
	}
	return nil, &NotArithmetic{syntax.Unparse(e, 60)}
}

// Unary applies an operator to a number.
func Unary(op syntax.UnaryOperator, v any) (any, error) {
	switch x := number(v).(type) {
	case int64:
		switch op {
		case syntax.USub:
			return -x, nil
		case syntax.UAdd:
			return x, nil
		case syntax.Invert:
			return ^x, nil
		}
	case float64:
		switch op {
		case syntax.USub:
			return -x, nil
		case syntax.UAdd:
			return v, nil
		}
	}
	return nil, fmt.Errorf("%s%s is not defined", op.Symbol(), describe(v))
}

// Binary applies an operator, as it is written, to two numbers.
func Binary(op string, a, b any) (any, error) {
	a, b = number(a), number(b)
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok && op != "/" {
			return ofInts(op, x, y)
		}
	}
	var f func(a, b float64) float64
	switch op {
	case "+":
		f = func(a, b float64) float64 { return a + b }
	case "-":
		f = func(a, b float64) float64 { return a - b }
	case "*":
		f = func(a, b float64) float64 { return a * b }
	case "/":
		f = func(a, b float64) float64 { return a / b }
	case "//":
		f = func(a, b float64) float64 { return math.Floor(a / b) }
	case "%":
		f = func(a, b float64) float64 { return a - b*math.Floor(a/b) }
	case "**":
		f = math.Pow
	default:
		return nil, fmt.Errorf("%s is for integers", op)
	}
	return apply(f, a, b)
}

// number is a bool as the integer that Python takes it for.
func number(v any) any {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

func ofInts(op string, a, b int64) (any, error) {
	switch op {
	case "+":
		if sum := a + b; (sum > a) == (b > 0) {
			return sum, nil
		}
	case "-":
		if diff := a - b; (diff < a) == (b > 0) {
			return diff, nil
		}
	case "*":
		return product(a, b)
	case "//", "%":
		if b == 0 {
			return nil, errors.New("division by zero")
		}
		q, m := a/b, a%b
		if m != 0 && (m < 0) != (b < 0) { // Python rounds down
			q, m = q-1, m+b
		}
		if op == "//" {
			return q, nil
		}
		return m, nil
	case "**":
		if b < 0 {
			return math.Pow(float64(a), float64(b)), nil
		}
		if a >= -1 && a <= 1 {
			b = min(b, 2+b%2) // its powers repeat
		}
		power := any(int64(1))
		for range b {
			var err error
			if power, err = product(power.(int64), a); err != nil {
				return nil, err
			}
		}
		return power, nil
	case "<<":
		if b >= 0 && b < 63 && a<<b>>b == a {
			return a << b, nil
		}
	case ">>":
		if b >= 0 {
			return a >> min(b, 63), nil
		}
	case "&":
		return a & b, nil
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	default:
		return nil, fmt.Errorf("%s is not known here", op)
	}
	return nil, fmt.Errorf("%d %s %d does not fit into 64 bits", a, op, b)
}

func product(a, b int64) (any, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return nil, fmt.Errorf("%d * %d does not fit into 64 bits", a, b)
	}
	return a * b, nil
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// function is one of a number.
type function struct {
	name string
	f    func(float64) float64
}

var functions = [...]function{
	{"exp", math.Exp},
	{"exp2", math.Exp2},
	{"log", math.Log},
	{"log2", math.Log2},
	{"sqrt", math.Sqrt},
	{"rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{"sin", math.Sin},
	{"cos", math.Cos},
	{"tanh", math.Tanh},
	{"erf", math.Erf},
	{"floor", math.Floor},
	{"ceil", math.Ceil},
	{"sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"float", func(x float64) float64 { return x }},
}

// others are the functions that are not maps of floats.
var others = [...]string{"cdiv", "next_power_of_2", "min", "max", "abs", "int"}

func known(name string) bool {
	return slices.Contains(others[:], name) ||
		slices.ContainsFunc(functions[:], func(f function) bool { return f.name == name })
}

func (c *evaluator) call(e *syntax.Call) (any, error) {
	name := syntax.Unparse(e.Func, 60)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "triton."), "math.")
	if !known(name) {
		return nil, &NotArithmetic{syntax.Unparse(e, 60)}
	}
	if len(e.Keywords) > 0 {
		return nil, fmt.Errorf("%s takes no arguments by name", name)
	}
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		v, err := c.eval(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return Call(name, args)
}

// Call applies a function to numbers.
func Call(name string, args []any) (any, error) {
	args = slices.Clone(args)
	for i := range args {
		args[i] = number(args[i])
	}
	want := 1
	switch name {
	case "cdiv":
		want = 2
	case "min", "max":
		want = max(len(args), 2)
	}
	if len(args) != want {
		return nil, fmt.Errorf("%s takes %s, given %d", name, diag.Count(want, "argument"), len(args))
	}
	switch name {
	case "cdiv":
		a, ok1 := args[0].(int64)
		b, ok2 := args[1].(int64)
		if !ok1 || !ok2 || b <= 0 {
			return nil, fmt.Errorf("cdiv(%s, %s) is not defined", describe(args[0]), describe(args[1]))
		}
		q := a / b
		if a%b > 0 {
			q++
		}
		return q, nil
	case "next_power_of_2":
		n, ok := args[0].(int64)
		if !ok || n > 1<<62 {
			return nil, fmt.Errorf("next_power_of_2(%s) is not defined", describe(args[0]))
		}
		return int64(1) << bits.Len64(uint64(max(n, 1)-1)), nil
	case "min", "max":
		return extreme(name == "max", args)
	case "abs":
		if n, ok := args[0].(int64); ok {
			return max(n, -n), nil
		}
		return apply(func(a, _ float64) float64 { return math.Abs(a) }, args[0], 0.0)
	case "int":
		switch v := args[0].(type) {
		case int64:
			return v, nil
		case float64:
			if math.Abs(v) < 1<<63 {
				return int64(v), nil
			}
		}
		return nil, fmt.Errorf("int(%s) is not defined", describe(args[0]))
	}
	i := slices.IndexFunc(functions[:], func(f function) bool { return f.name == name })
	if i < 0 {
		return nil, &NotArithmetic{name}
	}
	return apply(func(a, _ float64) float64 { return functions[i].f(a) }, args[0], 0.0)
}

// extreme is the least or greatest of several values.
func extreme(greatest bool, args []any) (any, error) {
	best := args[0]
	for _, v := range args[1:] {
		a, ok1 := best.(int64)
		b, ok2 := v.(int64)
		if ok1 && ok2 {
			if (b > a) == greatest {
				best = b
			}
			continue
		}
		var err error
		best, err = apply(func(a, b float64) float64 {
			if greatest {
				return max(a, b)
			}
			return min(a, b)
		}, best, v)
		if err != nil {
			return nil, err
		}
	}
	return best, nil
}

// apply is f of two numbers.
func apply(f func(a, b float64) float64, a, b any) (any, error) {
	for _, v := range []any{a, b} {
		if x, ok := v.(*array.Array); ok {
			return nil, fmt.Errorf("%s, and arithmetic here is on numbers", describe(x))
		}
	}
	return f(float(a), float(b)), nil
}

// float is a number as a float64.
func float(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	panic(fmt.Sprintf("BUG: %T is not a number", v))
}
