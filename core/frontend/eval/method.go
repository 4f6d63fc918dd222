package eval

import (
	"math/bits"
	"sort"
)

// methodOf finds a method of a built-in type, bound to v.
func methodOf(v any, name string) (any, bool) {
	var fn func(s *Session, args []any, kw []Keyword) any
	switch v := v.(type) {
	case string:
		fn = strMethod(v, name)
	case *List:
		fn = listMethod(v, name)
	case *Dict:
		fn = dictMethod(v, name)
	case *Set:
		fn = setMethod(v, name)
	case *Tuple:
		fn = tupleMethod(v, name)
	case int64:
		switch name {
		case "bit_length":
			fn = func(*Session, []any, []Keyword) any {
				n, _ := asNumber(v)
				return int64(n.big().BitLen())
			}
		case "bit_count":
			fn = func(*Session, []any, []Keyword) any { return int64(bits.OnesCount64(uint64(max(v, -v)))) }
		}
	case float64:
		if name == "is_integer" {
			fn = func(*Session, []any, []Keyword) any { return v == float64(int64(v)) }
		}
	case *Constexpr:
		if name == "value" {
			return v.Value, true
		}
		return methodOf(v.Value, name)
	}
	if fn == nil {
		return nil, false
	}
	return &Native{Name: name, Fn: fn}, true
}

// methodNames are the names of all methods, for suggestions.
var methodNames = append([]string{
	"_asdict", "_replace", "add", "append", "bit_count", "bit_length", "clear", "copy", "decode", "difference", "discard", "extend", "get", "insert",
	"intersection", "is_integer", "isdisjoint", "issubset", "issuperset", "items", "keys", "pop", "popitem", "remove", "reverse", "setdefault",
	"sort", "symmetric_difference", "union", "update", "values",
}, strMethodNames...)

// arg is the i-th argument, absent where it is not given.
func arg(args []any, i int, absent any) any {
	if i < len(args) {
		return unwrap(args[i])
	}
	return absent
}

type method = func(s *Session, args []any, kw []Keyword) any

func listMethod(v *List, name string) method {
	change := func(f func(a []any)) method {
		return func(_ *Session, a []any, _ []Keyword) any { f(a); return nil }
	}
	switch name {
	case "append":
		return change(func(a []any) { v.Elems = append(bounded(v.Elems, len(v.Elems)+1), arg(a, 0, nil)) })
	case "extend":
		return change(func(a []any) { v.Elems = extended(v.Elems, Iterate(arg(a, 0, nil))) })
	case "insert":
		return change(func(a []any) {
			i, _ := AsInt(arg(a, 0, int64(0)))
			if i < 0 {
				i += int64(len(v.Elems))
			}
			i = min(max(i, 0), int64(len(v.Elems)))
			v.Elems = append(v.Elems[:i:i], append([]any{arg(a, 1, nil)}, v.Elems[i:]...)...)
		})
	case "clear":
		return change(func([]any) { v.Elems = nil })
	case "reverse":
		return change(func([]any) { v.Elems = reversed(v.Elems) })
	case "sort":
		return func(s *Session, _ []any, kw []Keyword) any {
			v.Elems = sortedBy(s, v.Elems, kw)
			return nil
		}
	case "copy":
		return func(*Session, []any, []Keyword) any { return &List{append([]any(nil), v.Elems...)} }
	case "pop":
		return func(_ *Session, a []any, _ []Keyword) any {
			i, _ := AsInt(arg(a, 0, int64(-1)))
			p := position(i, len(v.Elems), "pop")
			e := v.Elems[p]
			v.Elems = append(v.Elems[:p:p], v.Elems[p+1:]...)
			return e
		}
	case "remove":
		return change(func(a []any) {
			i := int(findMethod(v.Elems, "index")(nil, a, nil).(int64))
			v.Elems = append(v.Elems[:i:i], v.Elems[i+1:]...)
		})
	case "index", "count":
		return findMethod(v.Elems, name)
	}
	return nil
}

func tupleMethod(v *Tuple, name string) method {
	switch name {
	case "index", "count":
		return findMethod(v.Elems, name)
	case "_asdict":
		return func(*Session, []any, []Keyword) any {
			d := &Dict{}
			for i, f := range v.Fields {
				d.Set(f, v.Elems[i])
			}
			return d
		}
	case "_replace":
		return func(_ *Session, _ []any, kw []Keyword) any {
			t := &Tuple{Elems: append([]any(nil), v.Elems...), Fields: v.Fields, Class: v.Class}
			for _, k := range kw {
				i := indexOf(v.Fields, k.Name)
				if i < 0 {
					raise("ValueError", "Got unexpected field name: '%s'", k.Name)
				}
				t.Elems[i] = k.Value
			}
			return t
		}
	}
	return nil
}

func findMethod(elems []any, name string) method {
	return func(_ *Session, a []any, _ []Keyword) any {
		n := int64(0)
		for i, e := range elems {
			if Equal(e, arg(a, 0, nil)) {
				if name == "index" {
					return int64(i)
				}
				n++
			}
		}
		if name == "index" {
			raise("ValueError", "%s is not in list", Repr(arg(a, 0, nil)))
		}
		return n
	}
}

func dictMethod(v *Dict, name string) method {
	switch name {
	case "get":
		return func(_ *Session, a []any, _ []Keyword) any {
			if r, ok := v.Get(arg(a, 0, nil)); ok {
				return r
			}
			return arg(a, 1, nil)
		}
	case "keys":
		return func(*Session, []any, []Keyword) any { return &List{append([]any(nil), v.Keys...)} }
	case "values":
		return func(*Session, []any, []Keyword) any { return &List{append([]any(nil), v.Values...)} }
	case "items":
		return func(*Session, []any, []Keyword) any {
			l := &List{}
			for i, k := range v.Keys {
				l.Elems = append(l.Elems, NewTuple(k, v.Values[i]))
			}
			return l
		}
	case "update":
		return func(_ *Session, a []any, kw []Keyword) any {
			if len(a) > 0 {
				updateDict(v, a[0])
			}
			for _, k := range kw {
				v.Set(k.Name, k.Value)
			}
			return nil
		}
	case "setdefault":
		return func(_ *Session, a []any, _ []Keyword) any {
			k := arg(a, 0, nil)
			if r, ok := v.Get(k); ok {
				return r
			}
			v.Set(k, arg(a, 1, nil))
			return arg(a, 1, nil)
		}
	case "pop":
		return func(_ *Session, a []any, _ []Keyword) any {
			if r, ok := v.Delete(arg(a, 0, nil)); ok {
				return r
			}
			if len(a) < 2 {
				raise("KeyError", "%s", Repr(arg(a, 0, nil)))
			}
			return a[1]
		}
	case "popitem":
		return func(*Session, []any, []Keyword) any {
			if len(v.Keys) == 0 {
				raise("KeyError", "'popitem(): dictionary is empty'")
			}
			k := v.Keys[len(v.Keys)-1]
			r, _ := v.Delete(k)
			return NewTuple(k, r)
		}
	case "clear":
		return func(*Session, []any, []Keyword) any { *v = Dict{}; return nil }
	case "copy":
		return func(*Session, []any, []Keyword) any {
			d := &Dict{}
			updateDict(d, v)
			return d
		}
	}
	return nil
}

func updateDict(d *Dict, from any) {
	if o, ok := from.(*Dict); ok {
		for i, k := range o.Keys {
			d.Set(k, o.Values[i])
		}
		return
	}
	for _, item := range Iterate(from) {
		kv, ok := elements(item)
		if !ok || len(kv) != 2 {
			raise("ValueError", "dictionary update sequence needs pairs")
		}
		d.Set(kv[0], kv[1])
	}
}

func setMethod(v *Set, name string) method {
	switch name {
	case "add":
		return func(_ *Session, a []any, _ []Keyword) any { v.Dict.Set(arg(a, 0, nil), nil); return nil }
	case "discard", "remove":
		return func(_ *Session, a []any, _ []Keyword) any {
			if _, ok := v.Dict.Delete(arg(a, 0, nil)); !ok && name == "remove" {
				raise("KeyError", "%s", Repr(arg(a, 0, nil)))
			}
			return nil
		}
	case "copy":
		return func(*Session, []any, []Keyword) any { return setOf(v.Keys) }
	case "clear":
		return func(*Session, []any, []Keyword) any { v.Dict = Dict{}; return nil }
	case "pop":
		return func(*Session, []any, []Keyword) any {
			if len(v.Keys) == 0 {
				raise("KeyError", "'pop from an empty set'")
			}
			k := v.Keys[0]
			v.Dict.Delete(k)
			return k
		}
	case "intersection", "difference", "symmetric_difference":
		return func(_ *Session, a []any, _ []Keyword) any {
			r := v
			for _, x := range a {
				other := setOf(Iterate(x))
				keep := &Set{}
				for _, k := range r.Keys {
					if _, ok := other.Get(k); ok == (name == "intersection") {
						keep.Dict.Set(k, nil)
					}
				}
				if name == "symmetric_difference" {
					for _, k := range other.Keys {
						if _, ok := r.Get(k); !ok {
							keep.Dict.Set(k, nil)
						}
					}
				}
				r = keep
			}
			return setOf(r.Keys)
		}
	case "issubset", "issuperset", "isdisjoint":
		return func(_ *Session, a []any, _ []Keyword) any {
			in, of := v, setOf(Iterate(arg(a, 0, nil)))
			if name == "issuperset" {
				in, of = of, in
			}
			for _, k := range in.Keys {
				if _, ok := of.Get(k); ok == (name == "isdisjoint") {
					return false
				}
			}
			return true
		}
	case "update", "union":
		return func(_ *Session, a []any, _ []Keyword) any {
			r := v
			if name == "union" {
				r = &Set{}
				for _, k := range v.Keys {
					r.Dict.Set(k, nil)
				}
			}
			for _, x := range a {
				for _, k := range Iterate(x) {
					r.Dict.Set(k, nil)
				}
			}
			if name == "union" {
				return r
			}
			return nil
		}
	}
	return nil
}

func reversed(elems []any) []any {
	out := make([]any, len(elems))
	for i, e := range elems {
		out[len(elems)-1-i] = e
	}
	return out
}

// sortedBy sorts stably by < or by the key function.
func sortedBy(s *Session, elems []any, kw []Keyword) []any {
	var key any
	desc := false
	for _, k := range kw {
		switch k.Name {
		case "key":
			key = k.Value
		case "reverse":
			desc = Truth(k.Value)
		}
	}
	type item struct{ v, k any }
	items := make([]item, len(elems))
	for i, e := range elems {
		items[i] = item{e, e}
		if key != nil {
			items[i].k = s.Apply(key, []any{e}, nil)
		}
	}
	sort.SliceStable(items, func(i, j int) bool {
		if desc {
			i, j = j, i
		}
		return order(0, items[i].k, items[j].k) == -1
	})
	out := make([]any, len(items))
	for i, it := range items {
		out[i] = it.v
	}
	return out
}
