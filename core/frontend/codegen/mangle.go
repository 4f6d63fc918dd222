package codegen

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
)

// find returns the symbol of fn compiled for vals, and the function if the
// module has it. A symbol does not say everything: tuples are flattened in it,
// and two functions made by one factory share a name. Where another function
// has the symbol already, a number follows it.
func (u *unit) find(fn *eval.Function, vals []any) (string, *compiled) {
	base := mangle(fn, vals)
	symbol := base
	for n := 1; ; n++ {
		c := u.funcs[symbol]
		if c == nil || c.fn.Equal(fn) && sameArgs(c.args, vals) {
			return symbol, c
		}
		symbol = base + "_" + strconv.Itoa(n)
	}
}

func sameArgs(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameArg(a[i], b[i]) {
			return false
		}
	}
	return true
}

// sameArg reports whether a function compiled for a serves b, given that their
// symbols are the same, and so numbers and strings among them.
func sameArg(a, b any) bool {
	switch a := a.(type) {
	case lang.Value:
		b, ok := b.(lang.Value)
		return ok && a.Type().Equal(b.Type())
	case *eval.Tuple:
		b, ok := b.(*eval.Tuple)
		return ok && a.Class == b.Class && sameArgs(a.Elems, b.Elems)
	case *eval.Instance:
		b, ok := b.(*eval.Instance)
		if !ok || a.Class != b.Class {
			return false
		}
		for _, f := range a.Class.Fields {
			if !sameArg(a.Vars[f.Name], b.Vars[f.Name]) {
				return false
			}
		}
		return true
	case *bound:
		b, ok := b.(*bound)
		return ok && sameArg(a.fn, b.fn) && sameArg(a.recv, b.recv)
	case *eval.Function:
		return a.Equal(b)
	case *eval.Class:
		return a == b
	}
	return eval.TypeName(a) == eval.TypeName(b)
}

// mangle is the symbol of fn compiled for the arguments, as far as Triton tells
// them apart: the name, the types of the run-time values, and each constant
// with its path.
func mangle(fn *eval.Function, vals []any) string {
	var types, consts []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case lang.Value:
			types = append(types, v.Type().Mangle())
		case *eval.Tuple:
			for i, e := range v.Elems {
				walk(path+", "+strconv.Itoa(i), e)
			}
		case *eval.Instance:
			if v.Class.Aggregate {
				types = append(types, mangleType(v))
				return
			}
			for i, f := range v.Class.Fields {
				walk(path+", "+strconv.Itoa(i), v.Vars[f.Name])
			}
		case nil:
			consts = append(consts, pathText(path)+"cNone")
		default:
			consts = append(consts, pathText(path)+"cconstexpr["+eval.Str(v)+"]")
		}
	}
	for i, v := range vals {
		walk(strconv.Itoa(i), v)
	}
	c := escapes.Replace(strings.Join(consts, "_"))
	return fn.Module.File.ModuleName + "." + fn.QualName() + "__" + strings.Join(types, "_") + "__" + c
}

// mangleType writes the type of a field of an aggregate.
func mangleType(v any) string {
	switch v := v.(type) {
	case lang.Value:
		return v.Type().Mangle()
	case *eval.Tuple:
		parts := make([]string, len(v.Elems))
		for i, e := range v.Elems {
			parts[i] = mangleType(e)
		}
		return "T" + strings.Join(parts, "_") + "T"
	case *eval.Instance:
		parts := make([]string, len(v.Class.Fields))
		for i, f := range v.Class.Fields {
			parts[i] = mangleType(v.Vars[f.Name])
		}
		return v.Class.Module.File.ModuleName + "." + v.Class.Name + "<" + strings.Join(parts, ", ") + ">"
	}
	return "constexpr_type[" + eval.Str(v) + "]"
}

var escapes = strings.NewReplacer(".", "_d_", "'", "_sq_", "[", "_", "]", "_")

// pathText writes a path as Python writes a tuple.
func pathText(path string) string {
	if strings.Contains(path, ",") {
		return "(" + path + ")"
	}
	return "(" + path + ",)"
}
