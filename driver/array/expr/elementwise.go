package expr

import (
	"errors"
	"fmt"
	"math"

	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// number reports whether a value is a number, not an array.
func number(v any) bool {
	switch v.(type) {
	case int64, float64, bool:
		return true
	}
	return false
}

// promote is the kind in which two kinds meet.
func promote(a, b kind) kind { return max(a, b, signed) }

func unary(op syntax.UnaryOperator, v any) (any, error) {
	if number(v) {
		if op == syntax.Not {
			return scalarTensor(v).as(boolean).i[0] == 0, nil
		}
		if b, ok := v.(bool); ok && op == syntax.Invert {
			return !b, nil // as of an array of bools
		}
		return calc.Unary(op, v)
	}
	t, err := tensorOf(v)
	if err != nil {
		return nil, err
	}
	switch op {
	case syntax.UAdd:
		return t, nil
	case syntax.USub:
		if t.kind == floating {
			return mapFloats(t, func(x float64) float64 { return -x }), nil
		}
		return mapInts(t, promote(t.kind, signed), func(x int64) int64 { return -x }), nil
	case syntax.Invert:
		switch t.kind {
		case boolean:
			return mapInts(t, boolean, func(x int64) int64 { return 1 - x }), nil
		case floating:
			return nil, fmt.Errorf("~ is for integers and bools, not for %s", t)
		}
		return mapInts(t, t.kind, func(x int64) int64 { return ^x }), nil
	}
	return nil, &helped{fmt.Errorf("not %s is not defined", t), "~x and logical_not(x) go element by element"}
}

func mapFloats(t *Tensor, f func(float64) float64) *Tensor {
	in := t.floats()
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return &Tensor{shape: t.shape, kind: floating, f: out}
}

func mapInts(t *Tensor, k kind, f func(int64) int64) *Tensor {
	out := make([]int64, len(t.i))
	for i, v := range t.i {
		out[i] = f(v)
	}
	return &Tensor{shape: t.shape, kind: k, i: out}
}

// align brings operands to the shape that they go together in, but for single
// elements, whose step is 0.
func align(ts ...*Tensor) (out []*Tensor, shape, steps []int, err error) {
	shapes := make([][]int, len(ts))
	for i, t := range ts {
		shapes[i] = t.shape
	}
	if shape, err = broadcast(shapes...); err != nil {
		return nil, nil, nil, err
	}
	if _, err := elements(shape); err != nil {
		return nil, nil, nil, err
	}
	steps = make([]int, len(ts))
	for i, t := range ts {
		if t.len() != 1 {
			steps[i] = 1
			if t, err = t.expand(shape); err != nil {
				return nil, nil, nil, err
			}
		}
		out = append(out, t)
	}
	return out, shape, steps, nil
}

// zip applies f to the elements of two tensors of one kind.
func zip[E, R any](n int, a, b []E, steps []int, f func(x, y E) R) []R {
	out := make([]R, n)
	p, q := steps[0], steps[1]
	for i := range out {
		out[i] = f(a[i*p], b[i*q])
	}
	return out
}

// functionOps are the operators that are written as functions.
var functionOps = map[string]bool{"min": true, "max": true, "atan2": true}

// scalar is the number that a tensor of one element holds.
func (t *Tensor) scalar() any {
	switch t.kind {
	case floating:
		return t.f[0]
	case boolean:
		return t.i[0] != 0
	}
	return t.i[0]
}

// floatOps are the operators on float64.
var floatOps = map[string]func(a, b float64) float64{
	"+":  func(a, b float64) float64 { return a + b },
	"-":  func(a, b float64) float64 { return a - b },
	"*":  func(a, b float64) float64 { return a * b },
	"/":  func(a, b float64) float64 { return a / b },
	"//": func(a, b float64) float64 { return math.Floor(a / b) },
	"%": func(a, b float64) float64 {
		r := math.Mod(a, b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	},
	"**":    math.Pow,
	"min":   func(a, b float64) float64 { return min(a, b) },
	"max":   func(a, b float64) float64 { return max(a, b) },
	"atan2": math.Atan2,
}

// intOps are the operators on signed integers that have no conditions.
var intOps = map[string]func(a, b int64) int64{
	"+":   func(a, b int64) int64 { return a + b },
	"-":   func(a, b int64) int64 { return a - b },
	"*":   func(a, b int64) int64 { return a * b },
	"&":   func(a, b int64) int64 { return a & b },
	"|":   func(a, b int64) int64 { return a | b },
	"^":   func(a, b int64) int64 { return a ^ b },
	"min": func(a, b int64) int64 { return min(a, b) },
	"max": func(a, b int64) int64 { return max(a, b) },
	"<<":  func(a, b int64) int64 { return a << uint(b) },
	">>":  func(a, b int64) int64 { return a >> uint(b) },
	"//": func(a, b int64) int64 {
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q
	},
	"%": func(a, b int64) int64 {
		r := a % b
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	},
	"**": intPower,
}

// uintOps are those that differ for unsigned integers.
var uintOps = map[string]func(a, b int64) int64{
	"min": func(a, b int64) int64 { return int64(min(uint64(a), uint64(b))) },
	"max": func(a, b int64) int64 { return int64(max(uint64(a), uint64(b))) },
	">>":  func(a, b int64) int64 { return int64(uint64(a) >> uint(b)) },
	"//":  func(a, b int64) int64 { return int64(uint64(a) / uint64(b)) },
	"%":   func(a, b int64) int64 { return int64(uint64(a) % uint64(b)) },
}

// intPower wraps around; b is not negative.
func intPower(a, b int64) int64 {
	out := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			out *= a
		}
		a *= a
	}
	return out
}

// binary is an operator, or "min", "max" or "atan2", element by element.
func binary(op string, a, b any) (any, error) {
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && op == "+" { // of shapes
			return append(append([]any{}, x...), y...), nil
		}
	}
	numbers := number(a) && number(b)
	if numbers && !functionOps[op] {
		return calc.Binary(op, a, b)
	}
	x, err := tensorOf(a)
	if err != nil {
		return nil, err
	}
	y, err := tensorOf(b)
	if err != nil {
		return nil, err
	}
	t, err := tensorBinary(op, x, y)
	if err == nil && numbers {
		return t.scalar(), nil
	}
	return t, err
}

func tensorBinary(op string, x, y *Tensor) (*Tensor, error) {
	k := promote(x.kind, y.kind)
	switch op {
	case "/", "atan2":
		k = floating
	case "&", "|", "^":
		if x.kind == boolean && y.kind == boolean {
			k = boolean
		}
	case "**":
		if k != floating && anyInt(y, func(n int64) bool { return n < 0 && y.kind != unsigned }) {
			k = floating
		}
	}
	list, shape, steps, err := align(x.as(k), y.as(k))
	if err != nil {
		return nil, err
	}
	n, _ := elements(shape)
	out := &Tensor{shape: shape, kind: k}
	if k == floating {
		f := floatOps[op]
		if f == nil {
			return nil, fmt.Errorf("%s is for integers, not for %s and %s", op, x, y)
		}
		out.f = zip(n, list[0].f, list[1].f, steps, f)
		return out, nil
	}
	switch op {
	case "//", "%":
		if anyInt(y, func(n int64) bool { return n == 0 }) {
			return nil, errors.New("division by zero")
		}
	case "<<", ">>":
		if anyInt(y, func(n int64) bool { return n < 0 || n > 63 }) {
			return nil, errors.New("integers are shifted by 0 to 63 bits")
		}
	}
	f := intOps[op]
	if g := uintOps[op]; k == unsigned && g != nil {
		f = g
	}
	out.i = zip(n, list[0].i, list[1].i, steps, f)
	return out, nil
}

func anyInt(t *Tensor, is func(int64) bool) bool {
	for _, v := range t.i {
		if is(v) {
			return true
		}
	}
	return false
}

// comparison is an array of bools, or a bool of two numbers.
func comparison(op syntax.CmpOperator, a, b any) (any, error) {
	x, err := tensorOf(a)
	if err != nil {
		return nil, err
	}
	y, err := tensorOf(b)
	if err != nil {
		return nil, err
	}
	if op > syntax.GtE {
		return nil, fmt.Errorf("%s is not known here", op.Symbol())
	}
	k := promote(x.kind, y.kind)
	list, shape, steps, err := align(x.as(k), y.as(k))
	if err != nil {
		return nil, err
	}
	n, _ := elements(shape)
	out := &Tensor{shape: shape, kind: boolean}
	switch k {
	case floating:
		out.i = zip(n, list[0].f, list[1].f, steps, func(a, b float64) int64 { return holds(op, a == b, a < b, a > b) })
	case unsigned:
		out.i = zip(n, list[0].i, list[1].i, steps, func(a, b int64) int64 {
			return holds(op, a == b, uint64(a) < uint64(b), uint64(a) > uint64(b))
		})
	default:
		out.i = zip(n, list[0].i, list[1].i, steps, func(a, b int64) int64 { return holds(op, a == b, a < b, a > b) })
	}
	if number(a) && number(b) {
		return out.i[0] != 0, nil
	}
	return out, nil
}

// holds is 1 where a comparison does; of a NaN none holds but !=.
func holds(op syntax.CmpOperator, equal, less, greater bool) int64 {
	is := false
	switch op {
	case syntax.Eq:
		is = equal
	case syntax.NotEq:
		is = !equal
	case syntax.Lt:
		is = less
	case syntax.LtE:
		is = less || equal
	case syntax.Gt:
		is = greater
	case syntax.GtE:
		is = greater || equal
	}
	if is {
		return 1
	}
	return 0
}

// where chooses element by element.
func where(cond, a, b *Tensor) (*Tensor, error) {
	k := max(a.kind, b.kind)
	list, shape, steps, err := align(cond.as(boolean), a.as(k), b.as(k))
	if err != nil {
		return nil, err
	}
	n, _ := elements(shape)
	out := &Tensor{shape: shape, kind: k}
	if k == floating {
		out.f = choose(n, list[0].i, list[1].f, list[2].f, steps)
	} else {
		out.i = choose(n, list[0].i, list[1].i, list[2].i, steps)
	}
	return out, nil
}

func choose[E any](n int, cond []int64, a, b []E, steps []int) []E {
	out := make([]E, n)
	for i := range out {
		if cond[i*steps[0]] != 0 {
			out[i] = a[i*steps[1]]
		} else {
			out[i] = b[i*steps[2]]
		}
	}
	return out
}
