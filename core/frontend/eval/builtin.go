package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Builtin finds a name of Python's builtins module.
func Builtin(name string) (any, bool) {
	v, ok := builtins[name]
	return v, ok
}

// The classes of Python's own values.
var (
	BoolType  = &Type{Name: "bool", Has: func(v any) bool { _, ok := v.(bool); return ok }, New: newBool}
	IntType   = &Type{Name: "int", Has: isInt, New: newInt}
	FloatType = &Type{Name: "float", Has: func(v any) bool { _, ok := v.(float64); return ok }, New: newFloat}
	StrType   = &Type{Name: "str", Has: func(v any) bool { _, ok := v.(string); return ok }, New: newStr}
	TupleType = &Type{Name: "tuple", Has: func(v any) bool { _, ok := v.(*Tuple); return ok }, New: newTuple}
	ListType  = &Type{Name: "list", Has: func(v any) bool { _, ok := v.(*List); return ok }, New: newList}
	DictType  = &Type{Name: "dict", Has: func(v any) bool { _, ok := v.(*Dict); return ok }, New: newDict}
	SetType   = &Type{Name: "set", Has: func(v any) bool { _, ok := v.(*Set); return ok }, New: newSet}
	RangeType = &Type{Name: "range", Has: func(v any) bool { _, ok := v.(*Range); return ok }, New: newRange}
)

func isInt(v any) bool {
	switch v.(type) {
	case int64, *big.Int, bool:
		return true
	}
	return false
}

var builtins = map[string]any{
	"bool": BoolType, "int": IntType, "float": FloatType, "str": StrType, "tuple": TupleType,
	"list": ListType, "dict": DictType, "set": SetType, "frozenset": SetType, "range": RangeType,
	"object": &Type{Name: "object", Has: func(any) bool { return true }},
	"len":    native("len", 1, func(_ *Session, a []any) any { return Len(a[0]) }),
	"repr":   native("repr", 1, func(_ *Session, a []any) any { return Repr(a[0]) }),
	"abs": native("abs", 1, func(_ *Session, a []any) any {
		n, ok := asNumber(unwrap(a[0]))
		switch {
		case !ok:
			raise("TypeError", "bad operand type for abs(): '%s'", TypeName(a[0]))
		case n.kind == 'f':
			return math.Abs(n.f)
		}
		return Int(new(big.Int).Abs(n.big()))
	}),
	"min": &Native{Name: "min", Fn: func(s *Session, a []any, kw []Keyword) any { return extreme(s, "min", a, kw) }},
	"max": &Native{Name: "max", Fn: func(s *Session, a []any, kw []Keyword) any { return extreme(s, "max", a, kw) }},
	"sum": native("sum", -1, func(_ *Session, a []any) any {
		total := arg(a, 1, int64(0))
		for _, v := range Iterate(arg(a, 0, nil)) {
			total = Binary(syntax.Add, total, v)
		}
		return total
	}),
	"any": native("any", 1, func(_ *Session, a []any) any {
		for _, v := range Iterate(a[0]) {
			if Truth(v) {
				return true
			}
		}
		return false
	}),
	"all": native("all", 1, func(_ *Session, a []any) any {
		for _, v := range Iterate(a[0]) {
			if !Truth(v) {
				return false
			}
		}
		return true
	}),
	"sorted":   &Native{Name: "sorted", Fn: func(s *Session, a []any, kw []Keyword) any { return &List{sortedBy(s, Iterate(arg(a, 0, nil)), kw)} }},
	"reversed": native("reversed", 1, func(_ *Session, a []any) any { return &List{reversed(Iterate(a[0]))} }),
	"enumerate": native("enumerate", -1, func(_ *Session, a []any) any {
		start, _ := AsInt(arg(a, 1, int64(0)))
		l := &List{}
		for i, v := range Iterate(arg(a, 0, nil)) {
			l.Elems = append(l.Elems, NewTuple(start+int64(i), v))
		}
		return l
	}),
	"zip": native("zip", -1, func(_ *Session, a []any) any {
		l := &List{}
		for i := 0; len(a) > 0; i++ {
			t := &Tuple{}
			for _, x := range a {
				vals := Iterate(x)
				if i >= len(vals) {
					return l
				}
				t.Elems = append(t.Elems, vals[i])
			}
			l.Elems = append(l.Elems, t)
		}
		return l
	}),
	"map": native("map", -1, func(s *Session, a []any) any {
		l := &List{}
		for _, v := range Iterate(arg(a, 1, nil)) {
			l.Elems = append(l.Elems, s.Apply(a[0], []any{v}, nil))
		}
		return l
	}),
	"filter": native("filter", 2, func(s *Session, a []any) any {
		l := &List{}
		for _, v := range Iterate(a[1]) {
			if a[0] == nil && Truth(v) || a[0] != nil && Truth(s.Apply(a[0], []any{v}, nil)) {
				l.Elems = append(l.Elems, v)
			}
		}
		return l
	}),
	"isinstance": native("isinstance", 2, func(_ *Session, a []any) any { return IsInstance(a[0], a[1]) }),
	"hasattr":    native("hasattr", 2, func(s *Session, a []any) any { return s.HasAttr(a[0], strArg(a, 1, "")) }),
	"getattr": native("getattr", -1, func(s *Session, a []any) any {
		name := strArg(a, 1, "")
		if len(a) > 2 && !s.HasAttr(a[0], name) {
			return a[2]
		}
		return s.attr(arg(a, 0, nil), name)
	}),
	"callable": native("callable", 1, func(_ *Session, a []any) any { _, ok := a[0].(Caller); return ok }),
	"id":       native("id", 1, func(*Session, []any) any { return int64(0) }),
	"type": native("type", 1, func(_ *Session, a []any) any {
		for _, t := range []*Type{BoolType, IntType, FloatType, StrType, TupleType, ListType, DictType, SetType, RangeType} {
			if t.Has(a[0]) {
				return t
			}
		}
		if o, ok := a[0].(*Instance); ok {
			return o.Class
		}
		return &Type{Name: TypeName(a[0]), Has: func(v any) bool { return TypeName(v) == TypeName(a[0]) }}
	}),
	"round": native("round", -1, func(_ *Session, a []any) any {
		f, ok := AsFloat(arg(a, 0, nil))
		if !ok {
			raise("TypeError", "type %s doesn't define __round__ method", TypeName(arg(a, 0, nil)))
		}
		if d, ok := AsInt(arg(a, 1, nil)); ok {
			r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(min(max(d, 0), 17)), 64), 64)
			return r
		}
		return int64(math.RoundToEven(f))
	}),
	"pow": native("pow", 2, func(_ *Session, a []any) any { return Binary(syntax.Pow, a[0], a[1]) }),
	"divmod": native("divmod", 2, func(_ *Session, a []any) any {
		return NewTuple(Binary(syntax.FloorDiv, a[0], a[1]), Binary(syntax.Mod, a[0], a[1]))
	}),
	"print": &Native{Name: "print", Fn: func(s *Session, a []any, kw []Keyword) any {
		s.PrintValues(a, kw)
		return nil
	}},
	"NotImplementedError": exception("NotImplementedError"), "ValueError": exception("ValueError"),
	"ImportError": exception("ImportError"), "Exception": exception("Exception"),
	"True": true, "False": false, "None": nil, "Ellipsis": syntax.Ellipsis{},
	"property": wrapper("property"), "staticmethod": wrapper("staticmethod"), "classmethod": wrapper("classmethod"),
}

func first(_ *Session, a []any) any { return a[0] }

func exception(name string) *Type {
	return &Type{Name: name, Has: func(any) bool { return false }}
}

// PrintValues is print(*values, sep=, end=).
func (s *Session) PrintValues(values []any, kw []Keyword) {
	s.told = true
	if s.Print == nil {
		return
	}
	sep, end := " ", "\n"
	for _, k := range kw {
		if t, ok := unwrap(k.Value).(string); ok {
			switch k.Name {
			case "sep":
				sep = t
			case "end":
				end = t
			}
		}
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = Str(unwrap(v))
	}
	s.Print(strings.Join(parts, sep) + end)
}

// native makes a function of n positional arguments, any number if n is -1.
func native(name string, n int, f func(s *Session, a []any) any) *Native {
	return &Native{Name: name, Fn: func(s *Session, args []any, kw []Keyword) any {
		for _, k := range kw {
			args = append(args, k.Value)
		}
		if n >= 0 && len(args) != n {
			raise("TypeError", "%s() takes exactly %s (%d given)", name, diag.Count(n, "argument"), len(args))
		}
		return f(s, args)
	}}
}

// IsInstance is isinstance(v, class), where class may be a tuple of classes.
func IsInstance(v, class any) bool {
	switch c := unwrap(class).(type) {
	case *Type:
		return c.Has(v)
	case *Tuple:
		for _, e := range c.Elems {
			if IsInstance(v, e) {
				return true
			}
		}
		return false
	case *Class:
		o, ok := v.(*Instance)
		return ok && o.Class == c
	case *NamedTuple:
		t, ok := v.(*Tuple)
		return ok && t.Class == c
	case *Missing:
		return false
	}
	raise("TypeError", "isinstance() arg 2 must be a type or a tuple of types")
	return false
}

func extreme(s *Session, name string, args []any, kw []Keyword) any {
	var key any
	for _, k := range kw {
		if k.Name == "key" {
			key = k.Value
		}
	}
	if len(args) == 1 {
		args = Iterate(args[0])
	}
	if len(args) == 0 {
		raise("ValueError", "%s() arg is an empty sequence", name)
	}
	rank := func(v any) any {
		if key != nil {
			return s.Apply(key, []any{v}, nil)
		}
		return v
	}
	best := args[0]
	for _, v := range args[1:] {
		op := syntax.Lt
		if name == "max" {
			op = syntax.Gt
		}
		if Compare(op, rank(v), rank(best)) {
			best = v
		}
	}
	return best
}

func newBool(_ *Session, a []any, _ []Keyword) any { return Truth(arg(a, 0, false)) }

func newInt(_ *Session, a []any, _ []Keyword) any {
	switch v := arg(a, 0, int64(0)).(type) {
	case string:
		base := 10
		if b, ok := AsInt(arg(a, 1, nil)); ok {
			base = int(b)
		}
		s := strings.ReplaceAll(strings.TrimSpace(v), "_", "")
		if base != 10 && base != 0 && len(s) > 2 && s[0] == '0' && !isDigit(s[1]) {
			s = s[2:]
		}
		n, ok := new(big.Int).SetString(s, base)
		if !ok {
			raise("ValueError", "invalid literal for int() with base %d: %s", base, Repr(v))
		}
		return Int(n)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			raise("ValueError", "cannot convert float %s to integer", Repr(v))
		}
		n, _ := big.NewFloat(v).Int(nil)
		return Int(n)
	case bool:
		i, _ := AsInt(v)
		return i
	case int64, *big.Int:
		return v
	case *Missing:
		v.Fail()
	default:
		raise("TypeError", "int() argument must be a string or a real number, not '%s'", TypeName(v))
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func newFloat(_ *Session, a []any, _ []Keyword) any {
	v := arg(a, 0, 0.0)
	if s, ok := v.(string); ok {
		t := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
		f, err := strconv.ParseFloat(t, 64)
		if err != nil && !math.IsInf(f, 0) || strings.HasPrefix(strings.TrimLeft(t, "+-"), "0x") {
			raise("ValueError", "could not convert string to float: %s", Repr(s))
		}
		return f
	}
	f, ok := AsFloat(v)
	if !ok {
		raise("TypeError", "float() argument must be a string or a real number, not '%s'", TypeName(v))
	}
	return f
}

func newStr(_ *Session, a []any, _ []Keyword) any { return Str(arg(a, 0, "")) }

func newTuple(_ *Session, a []any, _ []Keyword) any {
	if len(a) == 0 {
		return NewTuple()
	}
	return NewTuple(append([]any(nil), Iterate(a[0])...)...)
}

func newList(_ *Session, a []any, _ []Keyword) any {
	if len(a) == 0 {
		return &List{}
	}
	return &List{append([]any(nil), Iterate(a[0])...)}
}

func newDict(_ *Session, a []any, kw []Keyword) any {
	d := &Dict{}
	if len(a) > 0 {
		updateDict(d, a[0])
	}
	for _, k := range kw {
		d.Set(k.Name, k.Value)
	}
	return d
}

func newSet(_ *Session, a []any, _ []Keyword) any {
	if len(a) == 0 {
		return &Set{}
	}
	return setOf(Iterate(a[0]))
}

func setOf(elems []any) *Set {
	s := &Set{}
	for _, e := range elems {
		s.Dict.Set(e, nil)
	}
	return s
}

func newRange(_ *Session, a []any, _ []Keyword) any {
	vals := make([]int64, len(a))
	for i, x := range a {
		n, ok := AsInt(unwrap(x))
		if !ok {
			raise("TypeError", "'%s' object cannot be interpreted as an integer", TypeName(x))
		}
		vals[i] = n
	}
	switch len(vals) {
	case 1:
		return &Range{0, vals[0], 1}
	case 2:
		return &Range{vals[0], vals[1], 1}
	case 3:
		if vals[2] == 0 {
			raise("ValueError", "range() arg 3 must not be zero")
		}
		return &Range{vals[0], vals[1], vals[2]}
	}
	raise("TypeError", "range expected 1 to 3 arguments, got %d", len(vals))
	return nil
}
