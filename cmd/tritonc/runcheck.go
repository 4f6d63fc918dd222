package main

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch/calc"
)

// saving is one --save.
type saving struct {
	name, path string
	array      *array.Array
}

// expectation is one --expect.
type expectation struct {
	name, text string
	got, want  *array.Array
}

// memory finds the array of an argument that a flag names.
func (r *runner) memory(flag, name string) (*array.Array, error) {
	a := r.vals.find(name)
	if a == nil {
		return nil, usagef("%s %s: no --arg has that name", flag, name).withHelp("%s", r.vals.names())
	}
	x, ok := a.value.(*array.Array)
	if !ok {
		return nil, usagef("%s %s: it is a number, not memory", flag, name)
	}
	return x, nil
}

func (r *runner) planSaves(list []string) ([]saving, error) {
	var out []saving
	for _, text := range list {
		name, path, err := pair("--save", text, "FILE.npy")
		if err != nil {
			return nil, err
		}
		x, err := r.memory("--save", name)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(path, npyEnding) {
			return nil, usagef("--save %s: the file is written in NumPy's format, and its name must end in %s", text, npyEnding)
		}
		out = append(out, saving{name, path, x})
	}
	return out, nil
}

// planExpects finds out what is expected, before the run changes anything.
func (r *runner) planExpects(list []string) ([]expectation, error) {
	var out []expectation
	for _, text := range list {
		name, what, err := pair("--expect", text, "FILE.npy")
		if err != nil {
			return nil, err
		}
		x, err := r.memory("--expect", name)
		if err != nil {
			return nil, err
		}
		want, err := r.expected(name, what, x)
		if err != nil {
			return nil, err
		}
		if x.Len() != want.Len() {
			return nil, usagef("--expect %s: the argument has %s %v, and %d %v are expected", text, diag.Count(x.Len(), "element"), x.Shape, want.Len(), want.Shape)
		}
		out = append(out, expectation{name, what, x, want})
	}
	return out, nil
}

func (r *runner) expected(name, what string, x *array.Array) (*array.Array, error) {
	if path, ok := strings.CutPrefix(what, "@"); ok || strings.HasSuffix(what, npyEnding) {
		return readNPY(path)
	}
	if g := generatorOf(what); g != nil {
		want, err := r.vals.generate(g, name, what[len(g.name):])
		if err != nil {
			return nil, usagef("--expect %s=%s: %v", name, what, err)
		}
		return want, nil
	}
	v, err := calc.Eval(what, r.written)
	if err != nil {
		usage := usagef("--expect %s=%s: %v", name, what, err)
		usage.help = r.vals.names()
		return nil, usage
	}
	switch v := v.(type) {
	case *array.Array:
		return v.Clone(), nil // the run changes the argument itself
	case int64:
		return array.New(x.Type, x.Shape...).Fill(float64(v)), nil
	case float64:
		return array.New(array.Named("fp64"), x.Shape...).Fill(v), nil
	}
	return nil, usagef("--expect %s=%s: %v is nothing to compare memory with", name, what, v)
}

// written is the scope of expectations: arguments that have values before the
// run.
func (r *runner) written(name string) (any, bool, error) {
	v, ok, err := r.vals.scope(name)
	if x, isArray := v.(*array.Array); isArray && x.Unset {
		return nil, false, fmt.Errorf("%s has no values before the run", name)
	}
	return v, ok, err
}

// compare holds the results to the expectations; the error tells all that are
// not met.
func (r *runner) compare() error {
	var wrong diag.List
	for _, e := range r.expects {
		m, err := array.Compare(e.got, e.want, r.flags.rtol, r.flags.atol)
		if err != nil {
			return err
		}
		if m == nil {
			if n := e.got.Len(); n == 1 {
				fmt.Fprintf(r.out, "%s: the element is as expected\n", e.name)
			} else {
				fmt.Fprintf(r.out, "%s: all %d elements are as expected\n", e.name, n)
			}
			continue
		}
		wrong = append(wrong, diag.Errorf(diag.Pos{}, "%s is not %s: %s", e.name, e.text, m).
			WithHelp("--rtol %g and --atol %g are allowed", r.flags.rtol, r.flags.atol))
	}
	return wrong.Err()
}
