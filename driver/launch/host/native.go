package host

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// call is one call of a stand-in: its arguments by parameter.
type call struct {
	name string
	args map[string]any
	rest []any // of a parameter *name
	s    *eval.Session
}

// function makes a function of parameters as Python lists them, apart by blanks:
// "size fill_value / dtype", where those after the stroke are keywords alone, and
// *name takes the rest of the positional arguments. The keywords of ignored may be
// given, too.
func function(name, params string, ignored []string, f func(c *call) any) *eval.Native {
	positional, keywords, _ := strings.Cut(params, "/")
	names := strings.Fields(positional)
	rest := ""
	if n := len(names); n > 0 && names[n-1][0] == '*' {
		rest, names = names[n-1][1:], names[:n-1]
	}
	all := append(slices.Clone(names), strings.Fields(keywords)...)
	return &eval.Native{Name: name, Fn: func(s *eval.Session, args []any, kw []eval.Keyword) any {
		c := &call{name: name, args: map[string]any{}, s: s}
		for i, v := range args {
			switch {
			case i < len(names):
				c.args[names[i]] = plain(v)
			case rest != "":
				c.rest = append(c.rest, plain(v))
			default:
				eval.Fail("%s() takes at most %d positional arguments", name, len(names))
			}
		}
		for _, k := range kw {
			switch _, twice := c.args[k.Name]; {
			case twice:
				eval.Fail("%s() got multiple values for argument '%s'", name, k.Name)
			case slices.Contains(all, k.Name):
				c.args[k.Name] = plain(k.Value)
			case rest != "" && k.Name == rest:
				c.rest = []any{plain(k.Value)}
			case !slices.Contains(ignored, k.Name):
				eval.FailKeyword(name, k.Name, append(slices.Clone(all), ignored...), "")
			}
		}
		return f(c)
	}}
}

func plain(v any) any {
	if c, ok := v.(*eval.Constexpr); ok {
		return c.Value
	}
	return v
}

// has reports whether an argument is given, and is not None.
func (c *call) has(name string) bool { return c.args[name] != nil }

// need is an argument that has to be given.
func (c *call) need(name string) any {
	v, ok := c.args[name]
	if !ok {
		eval.Fail("%s() missing a required argument: '%s'", c.name, name)
	}
	return eval.Require(v)
}

// integer is an argument that is one.
func (c *call) integer(name string, absent int64) int64 {
	v, ok := c.args[name]
	if !ok {
		return absent
	}
	return integer(c.name, v)
}

// number is an argument that is a float or an integer.
func (c *call) number(name string, absent float64) float64 {
	v, ok := c.args[name]
	if !ok {
		return absent
	}
	f, ok := eval.AsFloat(eval.Require(v))
	if !ok {
		eval.Fail("%s(): %s must be a number, not %s", c.name, name, eval.TypeName(v))
	}
	return f
}

func integer(fn string, v any) int64 {
	n, ok := eval.AsInt(plain(eval.Require(v)))
	if !ok {
		eval.Fail("%s() needs an integer, not %s", fn, eval.TypeName(v))
	}
	return n
}

// sizes are integers given one by one or as one list.
func sizes(fn string, args []any) []int64 {
	if len(args) == 1 {
		switch args[0].(type) {
		case *eval.Tuple, *eval.List:
			args = eval.Iterate(args[0])
		}
	}
	out := make([]int64, len(args))
	for i, v := range args {
		out[i] = integer(fn, v)
	}
	return out
}

// tuple is a Python tuple of integers.
func tuple(list []int64) *eval.Tuple {
	t := &eval.Tuple{}
	for _, n := range list {
		t.Elems = append(t.Elems, n)
	}
	return t
}
