package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/array/arrayfile"
	"github.com/tritonc/tritonc/driver/array/expr"
)

// saving is one --save.
type saving struct {
	name, path string
	array      *array.Array
}

// expectation is one --expect: what is compared, and with what.
type expectation struct {
	name, text string
	// got is the argument's memory, or nil where the name is an expression, which
	// is evaluated after the run.
	got     *array.Array
	gotExpr *expr.Expr
	// want is the value before the run; where it asks for what comes after it,
	// wantExpr gives it then.
	want     any
	wantExpr *expr.Expr
}

// letting is one --let.
type letting struct {
	name, text string
	expr       *expr.Expr // nil of a file
	value      any
	state      evalState
}

// readArray reads what follows an @.
func readArray(text string) (*array.Array, error) {
	x, err := arrayfile.Read(text)
	var d *diag.Diagnostic
	if err != nil && !errors.As(err, &d) {
		return nil, unreadable(arrayfile.Path(text), err)
	}
	return x, err
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
		if !strings.HasSuffix(path, arrayfile.NPY) {
			return nil, usagef("--save %s: the file is written in NumPy's format, and its name must end in %s", text, arrayfile.NPY)
		}
		out = append(out, saving{name, path, x})
	}
	return out, nil
}

// planLets reads --let. Values are found when an expression asks for them.
func (r *runner) planLets(list []string) ([]*letting, error) {
	var out []*letting
	for _, text := range list {
		name, what, err := pair("--let", text, "EXPRESSION")
		if err != nil {
			return nil, err
		}
		switch {
		case identifiers().FindString(name) != name:
			return nil, usagef("--let %s: %s is not a name", text, name)
		case r.vals.find(name) != nil:
			return nil, usagef("--let %s: there is an --arg %s already", text, name)
		case slices.ContainsFunc(out, func(l *letting) bool { return l.name == name }):
			return nil, usagef("--let %s is given twice", name)
		}
		l := &letting{name: name, text: what}
		if path, ok := strings.CutPrefix(what, "@"); ok {
			x, err := readArray(path)
			if err != nil {
				return nil, err
			}
			l.value, l.state = x, evaluated
		} else if l.expr, err = expr.Parse("--let "+name, what); err != nil {
			return nil, usageAt(err)
		}
		out = append(out, l)
	}
	return out, nil
}

// splitExpect splits LEFT=RIGHT at the first sign that is neither in brackets nor a
// part of a comparison.
func splitExpect(text string) (left, right string, err error) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '=':
			if depth > 0 || i > 0 && strings.IndexByte("=!<>", text[i-1]) >= 0 || i+1 < len(text) && text[i+1] == '=' {
				continue
			}
			left, right = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
			if left != "" && right != "" {
				return left, right, nil
			}
		}
	}
	return "", "", usagef("--expect %s is not of the form NAME=EXPRESSION", text)
}

// planExpects finds out what is expected, before the run changes anything.
func (r *runner) planExpects(ctx context.Context, list []string) ([]expectation, error) {
	var out []expectation
	for _, text := range list {
		name, what, err := splitExpect(text)
		if err != nil {
			return nil, err
		}
		e := expectation{name: name, text: what}
		if identifiers().FindString(name) == name {
			e.got, err = r.memory("--expect", name)
		} else if e.gotExpr, err = expr.Parse("--expect", name); err != nil {
			err = usageAt(err)
		} else {
			err = usageAt(r.check(e.gotExpr, r.left(ctx), nil))
		}
		if err == nil {
			err = r.expected(ctx, &e)
		}
		if err != nil {
			return nil, err
		}
		if e.got != nil && e.wantExpr == nil {
			if _, err := e.wanted(e.got, e.want); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	// What is looked at after the run, as it is now.
	for i := range out {
		r.keep(out[i].wantExpr)
	}
	return out, nil
}

// expected finds the expected value, or the expression that gives it after the run.
func (r *runner) expected(ctx context.Context, e *expectation) (err error) {
	name, what := e.name, e.text
	if path, ok := strings.CutPrefix(what, "@"); ok || arrayfile.Named(what) {
		e.want, err = readArray(path)
		return err
	}
	if g := generatorOf(what); g != nil && g.memory(what[len(g.name):]) {
		if e.want, err = r.vals.generate(g, name, what[len(g.name):]); err != nil {
			return usagef("--expect %s=%s: %v", name, what, err)
		}
		return nil
	}
	x, err := expr.Parse("--expect "+name, what)
	if err != nil {
		return usageAt(err)
	}
	if r.later(x) {
		e.wantExpr = x
		return usageAt(r.check(x, r.scope(ctx), nil))
	}
	e.want, err = x.Eval(ctx, r.scope(ctx))
	return usageAt(err)
}

// later reports whether an expression asks for what comes after the run, itself or by
// a --let.
func (r *runner) later(e *expr.Expr) bool {
	found := false
	seen := map[string]bool{}
	var look func(e *expr.Expr)
	look = func(e *expr.Expr) {
		e.Names(func(name string, after bool) {
			found = found || after
			if l := r.let(name); l != nil && l.expr != nil && !seen[name] {
				seen[name] = true
				look(l.expr)
			}
		})
	}
	look(e)
	return found
}

// check looks for mistakes in an expression that is evaluated after the run; seen are
// the --let under way.
func (r *runner) check(e *expr.Expr, env expr.Env, seen []*letting) error {
	before := env.Lookup
	var inner error
	env.Lookup = func(name string) (any, bool, error) {
		l := r.let(name)
		if l == nil || l.expr == nil || !r.later(l.expr) {
			return before(name)
		}
		if slices.Contains(seen, l) {
			return nil, false, fmt.Errorf("--let %s depends on itself", name)
		}
		inner = cmp.Or(inner, r.check(l.expr, expr.Env{Lookup: before, After: env.After, Known: env.Known}, append(slices.Clone(seen), l)))
		return nil, true, nil
	}
	return cmp.Or(inner, e.Check(env))
}

// keep copies the arguments that an expression will look at after the run and that
// are then no longer what they were.
func (r *runner) keep(e *expr.Expr) {
	if e == nil {
		return
	}
	e.Names(func(name string, after bool) {
		if l := r.let(name); l != nil && !after && l.expr != nil && l.state == notYet {
			l.state = underWay // so that one that asks for itself ends here
			r.keep(l.expr)
			l.state = notYet
		}
		a := r.vals.find(name)
		if a == nil || after || r.before[name] != nil {
			return
		}
		if x, ok := a.value.(*array.Array); ok {
			if r.before == nil {
				r.before = map[string]*array.Array{}
			}
			r.before[name] = x.Clone()
		}
	})
}

// let finds a --let, or nil.
func (r *runner) let(name string) *letting {
	i := slices.IndexFunc(r.lets, func(l *letting) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return r.lets[i]
}

// scope is what expressions are about: values of --let, and arguments as they were
// before the run.
func (r *runner) scope(ctx context.Context) expr.Env {
	env := expr.Env{Known: r.vals.names()}
	env.Lookup = func(name string) (any, bool, error) {
		if l := r.let(name); l != nil {
			v, err := r.force(ctx, l)
			return v, err == nil, err
		}
		v, ok, err := r.vals.scope(name)
		if x, isArray := v.(*array.Array); isArray {
			if old := r.before[name]; old != nil {
				x = old
			}
			if x.Unset {
				return nil, false, fmt.Errorf("%s has no values before the run; after(%s) is what it has then", name, name)
			}
			return x, ok, err
		}
		return v, ok, err
	}
	env.After = r.after
	return env
}

// after finds an argument's memory, once the kernel has run.
func (r *runner) after(name string) (any, bool, error) {
	a := r.vals.find(name)
	if a == nil {
		return nil, false, nil
	}
	x, ok := a.value.(*array.Array)
	if !ok {
		return nil, false, fmt.Errorf("%s is a number, which no run changes", name)
	}
	return x, true, nil
}

// force evaluates a --let, once.
func (r *runner) force(ctx context.Context, l *letting) (any, error) {
	switch l.state {
	case evaluated:
		return l.value, nil
	case underWay:
		return nil, fmt.Errorf("--let %s depends on itself", l.name)
	}
	l.state = underWay
	v, err := l.expr.Eval(ctx, r.scope(ctx))
	if err != nil {
		return nil, err
	}
	l.value, l.state = v, evaluated
	return v, nil
}

// wanted is a value as an array to compare memory with: a number is expected of every
// element.
func (e *expectation) wanted(got *array.Array, v any) (*array.Array, error) {
	want, ok := v.(*array.Array)
	if !ok {
		if want = expr.Array(v); want == nil {
			return nil, usagef("--expect %s=%s: %s is nothing to compare memory with", e.name, e.text, expr.Describe(v))
		}
		if len(want.Shape) == 0 {
			typ := want.Type
			if typ.Name == "i64" && !got.Type.Float() {
				typ = got.Type
			}
			return array.New(typ, got.Shape...).Fill(want.At(0)), nil
		}
	}
	if got.Len() != want.Len() {
		return nil, usagef("--expect %s=%s: the argument has %s %v, and %d %v are expected", e.name, e.text, diag.Count(got.Len(), "element"), got.Shape, want.Len(), want.Shape)
	}
	if a, b := wide(got.Shape), wide(want.Shape); len(a) > 1 && len(b) > 1 && !slices.Equal(a, b) {
		return nil, usagef("--expect %s=%s: the argument has the shape %v, and %v is expected", e.name, e.text, got.Shape, want.Shape)
	}
	return want, nil
}

// wide is a shape without its dimensions of 1.
func wide(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
}

// compare holds the results to the expectations; the error tells all that are
// not met.
func (r *runner) compare(ctx context.Context) error {
	var wrong diag.List
	for i := range r.expects {
		e := &r.expects[i]
		got, want, err := r.sides(ctx, e)
		if err != nil {
			return err
		}
		m, err := array.Compare(got, want, r.flags.rtol, r.flags.atol)
		if err != nil {
			return err
		}
		if m == nil {
			if n := got.Len(); n == 1 {
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

// left is what the left side of an expectation is about: names mean memory as the run
// left it.
func (r *runner) left(ctx context.Context) expr.Env {
	env := r.scope(ctx)
	before := env.Lookup
	env.Lookup = func(name string) (any, bool, error) {
		if a := r.vals.find(name); a != nil {
			if x, ok := a.value.(*array.Array); ok {
				return x, true, nil
			}
		}
		return before(name)
	}
	return env
}

// sides are the two arrays that an expectation compares.
func (r *runner) sides(ctx context.Context, e *expectation) (got, want *array.Array, err error) {
	got = e.got
	if e.gotExpr != nil {
		v, err := e.gotExpr.Eval(ctx, r.left(ctx))
		if err != nil {
			return nil, nil, usageAt(err)
		}
		if got = expr.Array(v); got == nil {
			return nil, nil, usagef("--expect %s=%s: %s is nothing to compare", e.name, e.text, expr.Describe(v))
		}
	}
	v := e.want
	if e.wantExpr != nil {
		if v, err = e.wantExpr.Eval(ctx, r.scope(ctx)); err != nil {
			return nil, nil, usageAt(err)
		}
	}
	want, err = e.wanted(got, v)
	return got, want, err
}
