package ccode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
)

// helpers are functions of formulas that C lacks, each once in a file that needs it.
// Quotients are Python's, rounded down; one by zero is 0, and so is the grid.
var helpers = []struct{ name, code string }{
	{"tt_floordiv", `static int64_t tt_floordiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
`},
	{"tt_mod", `static int64_t tt_mod(int64_t a, int64_t b) {
  return b == 0 ? 0 : (a % b + b) % b;
}
`},
	{"tt_cdiv", `static int64_t tt_cdiv(int64_t a, int64_t b) {
  return b <= 0 ? 0 : a / b + (a % b > 0);
}
`},
	{"tt_min", `static int64_t tt_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
`},
	{"tt_max", `static int64_t tt_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
`},
	{"tt_abs", `static int64_t tt_abs(int64_t a) {
  return a < 0 ? -a : a;
}
`},
	{"tt_next_power_of_2", `static int64_t tt_next_power_of_2(int64_t a) {
  int64_t p = 1;
  while (p < a && p < INT64_MAX / 2)
    p *= 2;
  return p;
}
`},
}

// grid writes the dimensions of a variant's grid, and the functions that these need.
func grid(k *bundle.Kernel, v *bundle.Variant, params []parameter, hint func(int) int) ([]dimension, string, error) {
	dims, err := k.GridDims()
	if err != nil {
		return nil, "", err
	}
	f := &formula{kernel: k, variant: v, params: params, hint: hint, used: map[string]bool{}}
	out := []dimension{{"tt_x", "1"}, {"tt_y", "1"}, {"tt_z", "1"}}
	for i, e := range dims {
		if out[i].Expr, err = f.write(e); err != nil {
			return nil, "", err
		}
	}
	var code strings.Builder
	for _, h := range helpers {
		if f.used[h.name] {
			code.WriteString(h.code + "\n")
		}
	}
	return out, code.String(), nil
}

// formula writes expressions as C, in int64_t.
type formula struct {
	kernel  *bundle.Kernel
	variant *bundle.Variant
	params  []parameter
	hint    func(int) int
	used    map[string]bool // helpers
}

func (f *formula) helper(name string, args ...string) string {
	f.used[name] = true
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (f *formula) write(e syntax.Expr) (string, error) {
	switch e := e.(type) {
	case *syntax.Constant:
		if n, ok := e.Value.(int64); ok {
			return literal(n), nil
		}
	case *syntax.Name:
		return f.name(e.ID)
	case *syntax.UnaryOp:
		x, err := f.write(e.Operand)
		switch e.Op {
		case syntax.USub:
			return "(-" + x + ")", err
		case syntax.UAdd:
			return x, err
		}
	case *syntax.BinOp:
		return f.binary(e)
	case *syntax.Call:
		return f.call(e)
	}
	return "", notC(e)
}

func notC(e syntax.Expr) error {
	return fmt.Errorf("the grid's %q cannot be written in C", syntax.Unparse(e, 60))
}

func literal(n int64) string {
	if n == int64(int32(n)) {
		return strconv.FormatInt(n, 10)
	}
	return "INT64_C(" + strconv.FormatInt(n, 10) + ")"
}

func (f *formula) name(id string) (string, error) {
	if i := slices.IndexFunc(f.kernel.Params, func(p kernel.Param) bool { return p.Name == id }); i >= 0 {
		switch t := f.params[i].typ; {
		case f.hint(i) == 1:
			return "1", nil
		case strings.HasPrefix(t, "int") || strings.HasPrefix(t, "uint"):
			return "(int64_t)" + f.params[i].name, nil
		}
		return "", fmt.Errorf("the grid asks for %s, which is not an integer", id)
	}
	for _, a := range f.variant.Constants {
		if a.Name != id {
			continue
		}
		switch v := a.Value.(type) {
		case int64:
			return literal(v), nil
		case bool:
			if v {
				return "1", nil
			}
			return "0", nil
		}
	}
	return "", fmt.Errorf("the grid asks for %s, which is not an integer", id)
}

func (f *formula) binary(e *syntax.BinOp) (string, error) {
	a, err := f.write(e.Left)
	if err != nil {
		return "", err
	}
	b, err := f.write(e.Right)
	if err != nil {
		return "", err
	}
	switch op := e.Op.Symbol(); op {
	case "+", "-", "*", "&", "|", "^", "<<", ">>":
		return "(" + a + " " + op + " " + b + ")", nil
	case "//":
		return f.helper("tt_floordiv", a, b), nil
	case "%":
		return f.helper("tt_mod", a, b), nil
	}
	return "", notC(e)
}

func (f *formula) call(e *syntax.Call) (string, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(syntax.Unparse(e.Func, 60), "triton."), "math.")
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = f.write(a); err != nil {
			return "", err
		}
	}
	switch {
	case len(e.Keywords) > 0:
	case name == "cdiv" && len(args) == 2, (name == "abs" || name == "next_power_of_2") && len(args) == 1:
		return f.helper("tt_"+name, args...), nil
	case (name == "min" || name == "max") && len(args) >= 2:
		x := args[0]
		for _, y := range args[1:] {
			x = f.helper("tt_"+name, x, y)
		}
		return x, nil
	case name == "int" && len(args) == 1:
		return args[0], nil
	}
	return "", notC(e)
}
