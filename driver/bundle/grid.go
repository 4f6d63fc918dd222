package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// Function is a kernel on a device. Several goroutines may launch it.
type Function struct {
	*kernel.Function
	// Grid is what the kernel's formula gives for a launch. Without a formula a launch
	// with it fails.
	Grid kernel.Grid
}

// Load returns the kernel on a device, of whose code it takes what the device can run.
func (k *Kernel) Load(dev driver.Device) (*Function, error) {
	f, err := k.Set().Load(dev)
	if err != nil {
		return nil, err
	}
	grid, err := k.GridFunc()
	return &Function{Function: f, Grid: grid}, err
}

// Run launches the kernel on the grid that its formula gives; arguments are those of
// kernel.Function's Launch.
func (f *Function) Run(ctx context.Context, args ...any) (*driver.Result, error) {
	return f.Launch(ctx, f.Grid, args...)
}

// GridFunc is the grid of the kernel's formula.
func (k *Kernel) GridFunc() (kernel.Grid, error) {
	if k.Grid == "" {
		return kernel.BadGrid(fmt.Errorf("%s has no formula of its grid: a launch has to say it", k.Name)), nil
	}
	dims, err := k.GridDims()
	if err != nil {
		return kernel.Grid{}, err
	}
	return kernel.GridFunc(func(c kernel.Constants) kernel.Grid {
		scope := func(name string) (any, bool, error) { return int64(c.Int(name)), true, nil }
		n := make([]int, len(dims))
		for i, e := range dims {
			v, err := calc.EvalExpr(e, scope)
			size, ok := v.(int64)
			if err == nil && !ok {
				err = fmt.Errorf("its dimension %c is %v, not an integer", "xyz"[i], v)
			}
			if err != nil {
				return kernel.BadGrid(fmt.Errorf("the grid %s: %w", k.Grid, err))
			}
			n[i] = int(size)
		}
		return kernel.Dims(n...)
	}), nil
}

// GridDims are the expressions of the kernel's formula, one per dimension. Their names
// are those of arguments and constants.
func (k *Kernel) GridDims() ([]syntax.Expr, error) {
	dims, err := gridDims(k.Grid)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: its grid %w", k.Name, err)
	}
	for _, e := range dims {
		names, err := namesIn(e)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: its grid: %w", k.Name, err)
		}
		if len(names) == 0 {
			if v, err := calc.EvalExpr(e, nil); err != nil {
				return nil, fmt.Errorf("kernel %s: its grid: %w", k.Name, err)
			} else if n, ok := v.(int64); !ok || n < 1 {
				return nil, fmt.Errorf("kernel %s: its grid has the dimension %v, and not an integer above 0", k.Name, v)
			}
		}
		for _, name := range names {
			isParam := slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Name == name })
			isConstant := slices.ContainsFunc(k.Variants, func(v Variant) bool {
				return slices.ContainsFunc(v.Constants, func(a kernel.Arg) bool { return a.Name == name })
			})
			if !isParam && !isConstant {
				return nil, fmt.Errorf("kernel %s: its grid asks for %s, which is neither an argument nor a constant", k.Name, name)
			}
		}
	}
	return dims, nil
}

// gridDims are the expressions of the dimensions.
func gridDims(text string) ([]syntax.Expr, error) {
	e, err := calc.Parse(text)
	if err != nil {
		return nil, err
	}
	dims := []syntax.Expr{e}
	if t, ok := e.(*syntax.Tuple); ok {
		dims = t.Elts
	}
	if len(dims) < 1 || len(dims) > 3 {
		return nil, errors.New("has no dimension, or more than three")
	}
	return dims, nil
}

// namesIn are the names that a formula asks for, in the order in which it does.
func namesIn(e syntax.Expr) ([]string, error) {
	var list []string
	var parts []syntax.Expr
	switch e := e.(type) {
	case *syntax.Constant:
	case *syntax.Name:
		list = []string{e.ID}
	case *syntax.UnaryOp:
		parts = []syntax.Expr{e.Operand}
	case *syntax.BinOp:
		parts = []syntax.Expr{e.Left, e.Right}
	case *syntax.Call:
		parts = e.Args
	default:
		return nil, &calc.NotArithmetic{Text: syntax.Unparse(e, 60)}
	}
	for _, p := range parts {
		more, err := namesIn(p)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}
