package eval

import (
	"math"
	"math/big"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// builtinModule finds the modules of Python's own library that compile-time
// code may use: what has no effect outside the process. Nil for others.
func builtinModule(name string) any {
	if m, ok := stdlib()[name]; ok {
		return m
	}
	if name == "importlib" {
		return importlib()
	}
	return nil
}

func importlib() *Package {
	return &Package{"importlib", map[string]any{
		"util": &Package{"importlib.util", map[string]any{
			"find_spec": native("find_spec", -1, func(s *Session, a []any) any {
				if m := s.load(strArg(a, 0, "")); m != nil {
					return &moduleSpec{m}
				}
				return nil
			}),
			"module_from_spec": native("module_from_spec", 1, func(_ *Session, a []any) any {
				if m, ok := a[0].(*moduleSpec); ok {
					return m.module
				}
				return &Missing{Name: "importlib.util.module_from_spec()"}
			}),
		}},
		"import_module": native("import_module", -1, func(s *Session, a []any) any {
			name := strArg(a, 0, "")
			if m := s.load(name); m != nil {
				return m
			}
			return &Missing{Name: name}
		}),
	}}
}

// moduleSpec says that a module can be imported. Its loader has nothing left to
// do.
type moduleSpec struct{ module any }

// Attr finds the loader.
func (m *moduleSpec) Attr(name string) (any, bool) {
	if name != "loader" {
		return &Missing{Name: "importlib.machinery.ModuleSpec." + name}, true
	}
	return &Package{"importlib.machinery.loader", map[string]any{
		"exec_module": native("exec_module", 1, func(*Session, []any) any { return nil }),
	}}, true
}

func (m *moduleSpec) TypeName() string { return "ModuleSpec" }

var stdlib = sync.OnceValue(func() map[string]*Package {
	return map[string]*Package{
		"math": {"math", map[string]any{
			"pi": math.Pi, "e": math.E, "inf": math.Inf(1), "nan": math.NaN(), "tau": 2 * math.Pi,
			"sqrt": floatFn("sqrt", math.Sqrt), "exp": floatFn("exp", math.Exp), "log2": floatFn("log2", math.Log2),
			"log10": floatFn("log10", math.Log10), "sin": floatFn("sin", math.Sin), "cos": floatFn("cos", math.Cos),
			"log": native("log", -1, func(_ *Session, a []any) any {
				x := number1("log", arg(a, 0, nil))
				if len(a) > 1 {
					return math.Log(x) / math.Log(number1("log", a[1]))
				}
				return math.Log(x)
			}),
			"pow":   native("pow", 2, func(_ *Session, a []any) any { return math.Pow(number1("pow", a[0]), number1("pow", a[1])) }),
			"ceil":  roundFn("ceil", math.Ceil),
			"floor": roundFn("floor", math.Floor),
			"trunc": roundFn("trunc", math.Trunc),
			"isinf": native("isinf", 1, func(_ *Session, a []any) any { return math.IsInf(number1("isinf", a[0]), 0) }),
			"isnan": native("isnan", 1, func(_ *Session, a []any) any { return math.IsNaN(number1("isnan", a[0])) }),
			"gcd": native("gcd", 2, func(_ *Session, a []any) any {
				return Int(new(big.Int).GCD(nil, nil, bigArg("gcd", a[0]), bigArg("gcd", a[1])))
			}),
			"prod": native("prod", 1, func(_ *Session, a []any) any {
				var p any = int64(1)
				for _, v := range Iterate(a[0]) {
					p = Binary(syntax.Mult, p, v)
				}
				return p
			}),
		}},
		"functools": {"functools", map[string]any{
			"wraps":     native("wraps", 1, func(*Session, []any) any { return native("wraps", 1, first) }),
			"cache":     native("cache", 1, first),
			"lru_cache": native("lru_cache", -1, decoratorOrFactory),
			"partial": &Native{Name: "partial", Fn: func(_ *Session, fixed []any, fixedKw []Keyword) any {
				if len(fixed) == 0 {
					raise("TypeError", "partial() needs a function")
				}
				return &Native{Name: "partial", Fn: func(s *Session, a []any, kw []Keyword) any {
					return s.Apply(fixed[0], concat(fixed[1:], a), append(append([]Keyword(nil), fixedKw...), kw...))
				}}
			}},
			"reduce": native("reduce", -1, func(s *Session, a []any) any {
				vals := Iterate(arg(a, 1, nil))
				var acc any
				if len(a) > 2 {
					acc = a[2]
				} else if len(vals) > 0 {
					acc, vals = vals[0], vals[1:]
				} else {
					raise("TypeError", "reduce() of empty iterable with no initial value")
				}
				for _, v := range vals {
					acc = s.Apply(a[0], []any{acc, v}, nil)
				}
				return acc
			}),
		}},
		"itertools": {"itertools", map[string]any{
			"product": &Native{Name: "product", Fn: func(_ *Session, a []any, _ []Keyword) any { return product(a) }},
			"chain": native("chain", -1, func(_ *Session, a []any) any {
				l := &List{}
				for _, x := range a {
					l.Elems = append(l.Elems, Iterate(x)...)
				}
				return l
			}),
		}},
		"typing": {"typing", map[string]any{
			"NamedTuple": &Type{Name: "NamedTuple"}, "Optional": anything{}, "Union": anything{}, "List": anything{}, "Tuple": anything{},
			"Dict": anything{}, "Any": anything{}, "Callable": anything{}, "Sequence": anything{}, "Literal": anything{},
			"TYPE_CHECKING": false, "Iterable": anything{}, "Type": anything{}, "Set": anything{}, "Mapping": anything{},
			"cast": native("cast", 2, func(_ *Session, a []any) any { return a[1] }), "overload": native("overload", 1, first),
		}},
		"collections": {"collections", map[string]any{
			"namedtuple": native("namedtuple", -1, func(_ *Session, a []any) any {
				c := &NamedTuple{Name: strArg(a, 0, "")}
				names := arg(a, 1, nil)
				if s, ok := names.(string); ok {
					names = strMethod(s, "split")(nil, nil, nil)
				}
				for _, n := range Iterate(names) {
					c.Fields = append(c.Fields, Str(n))
				}
				return c
			}),
		}},
		"operator":          {"operator", operators()},
		"packaging.version": {"packaging.version", map[string]any{"Version": parseVersion, "parse": parseVersion}},
		"packaging":         {"packaging", map[string]any{"version": &Package{"packaging.version", map[string]any{"Version": parseVersion, "parse": parseVersion}}}},
		"enum":              {"enum", map[string]any{"Enum": enumClass, "IntEnum": enumClass, "auto": native("auto", 0, func(*Session, []any) any { return int64(0) })}},
		"re":                {"re", regexps()},
		"__future__":        {"__future__", map[string]any{"annotations": nil}},
		"dataclasses": {"dataclasses", map[string]any{
			"dataclass": native("dataclass", -1, decoratorOrFactory),
		}},
	}
})

// operators are the functions of module operator.
func operators() map[string]any {
	m := map[string]any{}
	for name, op := range map[string]syntax.CmpOperator{"eq": syntax.Eq, "ne": syntax.NotEq, "lt": syntax.Lt, "le": syntax.LtE, "gt": syntax.Gt, "ge": syntax.GtE} {
		m[name] = native(name, 2, func(_ *Session, a []any) any { return Compare(op, a[0], a[1]) })
	}
	for name, op := range map[string]syntax.Operator{"add": syntax.Add, "sub": syntax.Sub, "mul": syntax.Mult, "floordiv": syntax.FloorDiv, "mod": syntax.Mod} {
		m[name] = native(name, 2, func(_ *Session, a []any) any { return Binary(op, a[0], a[1]) })
	}
	return m
}

// parseVersion reads "3.6.0+git1" as the tuple (3, 6, 0), which compares as
// versions do.
var parseVersion = native("Version", 1, func(_ *Session, a []any) any {
	if m, ok := a[0].(*Missing); ok {
		return m
	}
	t := &Tuple{}
	for _, part := range strings.Split(strArg(a, 0, ""), ".") {
		n := 0
		for n < len(part) && isDigit(part[n]) {
			n++
		}
		v, ok := new(big.Int).SetString(part[:n], 10)
		if !ok {
			break
		}
		t.Elems = append(t.Elems, Int(v))
		if n < len(part) {
			break
		}
	}
	return t
})

// anything stands for typing's generics: it may be subscripted and called.
type anything struct{}

func (anything) Index(any) any                       { return anything{} }
func (anything) Call(*Session, []any, []Keyword) any { return anything{} }
func (anything) TypeName() string                    { return "typing" }

// decoratorOrFactory is a decorator that may also be called with options.
func decoratorOrFactory(_ *Session, a []any) any {
	if len(a) == 1 {
		switch a[0].(type) {
		case *Function, *Class:
			return a[0]
		}
	}
	return native("decorator", 1, first)
}

func product(lists []any) any {
	rows := [][]any{nil}
	for _, l := range lists {
		var next [][]any
		for _, r := range rows {
			for _, v := range Iterate(l) {
				next = append(next, concat(r, []any{v}))
			}
		}
		if len(next) > maxRepeat {
			raise("MemoryError", "product is too long")
		}
		rows = next
	}
	out := &List{}
	for _, r := range rows {
		out.Elems = append(out.Elems, NewTuple(r...))
	}
	return out
}

func number1(name string, v any) float64 {
	f, ok := AsFloat(unwrap(v))
	if !ok {
		if m, missing := v.(*Missing); missing {
			m.Fail()
		}
		raise("TypeError", "%s() needs a number, not %s", name, TypeName(v))
	}
	return f
}

func bigArg(name string, v any) *big.Int {
	n, ok := asNumber(unwrap(v))
	if !ok || n.kind == 'f' {
		raise("TypeError", "%s() needs an integer, not %s", name, TypeName(v))
	}
	return n.big()
}

func floatFn(name string, f func(float64) float64) *Native {
	return native(name, 1, func(_ *Session, a []any) any {
		x := number1(name, a[0])
		r := f(x)
		if math.IsNaN(r) && !math.IsNaN(x) || name == "log2" && x == 0 {
			raise("ValueError", "math domain error")
		}
		return r
	})
}

func roundFn(name string, f func(float64) float64) *Native {
	return native(name, 1, func(_ *Session, a []any) any {
		if isInt(unwrap(a[0])) {
			return unwrap(a[0])
		}
		r, _ := big.NewFloat(f(number1(name, a[0]))).Int(nil)
		return Int(r)
	})
}
