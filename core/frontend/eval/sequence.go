package eval

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// maxRepeat bounds the sequences that compile-time code can build.
const maxRepeat = 1 << 20

// sequenceBinary is Binary for what is not two numbers.
func sequenceBinary(op syntax.Operator, a, b any) any {
	if c, ok := a.(*Constexpr); ok {
		return &Constexpr{Binary(op, c.Value, unwrap(b))}
	}
	if c, ok := b.(*Constexpr); ok {
		return &Constexpr{Binary(op, a, c.Value)}
	}
	switch op {
	case syntax.Add:
		switch x := a.(type) {
		case string:
			if y, ok := b.(string); ok {
				return x + bounded(y, len(x)+len(y))
			}
		case *Tuple:
			if y, ok := b.(*Tuple); ok {
				return NewTuple(concat(x.Elems, y.Elems)...)
			}
		case *List:
			if y, ok := b.(*List); ok {
				return &List{concat(x.Elems, y.Elems)}
			}
		}
	case syntax.Mult:
		if n, ok := AsInt(a); ok {
			a, b = b, n
		}
		if n, ok := AsInt(b); ok {
			if r, ok := repeat(a, n); ok {
				return r
			}
		}
	case syntax.Mod:
		if s, ok := a.(string); ok {
			return percentFormat(s, b)
		}
	case syntax.BitOr, syntax.BitAnd, syntax.Sub, syntax.BitXor:
		if r, ok := setBinary(op, a, b); ok {
			return r
		}
	}
	if x, ok := a.(Operand); ok {
		if r, ok := x.Binary(op, b, false); ok {
			return r
		}
	}
	if y, ok := b.(Operand); ok {
		if r, ok := y.Binary(op, a, true); ok {
			return r
		}
	}
	for _, v := range []any{a, b} {
		switch v := v.(type) {
		case *Missing:
			v.Fail()
		case interface{ Refuse() }:
			v.Refuse()
		}
	}
	raise("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", op.Symbol(), TypeName(a), TypeName(b))
	return nil
}

func unwrap(v any) any {
	if c, ok := v.(*Constexpr); ok {
		return c.Value
	}
	return v
}

func concat(a, b []any) []any {
	return bounded(append(append(make([]any, 0, len(a)+len(b)), a...), b...), len(a)+len(b))
}

// extended is list with more at its end.
func extended(list, more []any) []any { return append(bounded(list, len(list)+len(more)), more...) }

// bounded is v, a sequence of n elements or a part of one, unless that is more
// than compile-time code may build.
func bounded[T any](v T, n int) T {
	if n > maxRepeat {
		raise("MemoryError", "sequence is too long: compile-time code may build %d elements", maxRepeat)
	}
	return v
}

func repeat(v any, n int64) (any, bool) {
	n = max(n, 0)
	size := int64(1)
	switch v := v.(type) {
	case string:
		size = int64(len(v))
	case *Tuple:
		size = int64(len(v.Elems))
	case *List:
		size = int64(len(v.Elems))
	default:
		return nil, false
	}
	if size > 0 && n > maxRepeat/size {
		bounded(0, maxRepeat+1)
	}
	if size == 0 {
		return v, true
	}
	switch v := v.(type) {
	case string:
		return strings.Repeat(v, int(n)), true
	case *Tuple:
		return NewTuple(repeatList(v.Elems, n)...), true
	case *List:
		return &List{repeatList(v.Elems, n)}, true
	}
	return nil, false
}

func repeatList(elems []any, n int64) []any {
	out := make([]any, 0, int64(len(elems))*n)
	for range n {
		out = append(out, elems...)
	}
	return out
}

func setBinary(op syntax.Operator, a, b any) (any, bool) {
	if x, ok := a.(*Dict); ok && op == syntax.BitOr {
		y, ok := b.(*Dict)
		if !ok {
			return nil, false
		}
		r := &Dict{}
		for _, d := range []*Dict{x, y} {
			for i, k := range d.Keys {
				r.Set(k, d.Values[i])
			}
		}
		return r, true
	}
	x, ok := a.(*Set)
	y, ok2 := b.(*Set)
	if !ok || !ok2 {
		return nil, false
	}
	r := &Set{}
	for _, k := range x.Keys {
		in := y.find(k) >= 0
		if op == syntax.BitOr || in == (op == syntax.BitAnd) {
			r.Dict.Set(k, nil)
		}
	}
	if op == syntax.BitOr || op == syntax.BitXor {
		for _, k := range y.Keys {
			if x.find(k) < 0 {
				r.Dict.Set(k, nil)
			}
		}
	}
	return r, true
}

// Iterate lists the values that iterating over v gives.
func Iterate(v any) []any {
	switch v := v.(type) {
	case *Tuple:
		return v.Elems
	case *List:
		return v.Elems
	case *Dict:
		return v.Keys
	case *Set:
		return v.Keys
	case string:
		out := make([]any, 0, len(v))
		for _, r := range v {
			out = append(out, string(r))
		}
		return out
	case *Range:
		n := v.Len()
		if n > maxRepeat {
			raise("MemoryError", "range of %s is too long at compile time", diag.Count(n, "value"))
		}
		out := make([]any, n)
		for i := range out {
			out[i] = v.Start + int64(i)*v.Step
		}
		return out
	case *Constexpr:
		return Iterate(v.Value)
	case *Class:
		var members []any
		for _, n := range v.names {
			if o, ok := v.attrs[n].(*Instance); ok && o.Class == v {
				members = append(members, o)
			}
		}
		return members
	case *Missing:
		v.Fail()
	}
	help := ""
	switch v.(type) {
	case int64, float64, bool:
		help = "a tuple of one value is written (x,)"
	}
	raiseHelp("TypeError", help, "'%s' object is not iterable", TypeName(v))
	return nil
}

// Len is len(v).
func Len(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len([]rune(v)))
	case syntax.Bytes:
		return int64(len(v))
	case *Tuple:
		return int64(len(v.Elems))
	case *List:
		return int64(len(v.Elems))
	case *Dict:
		return int64(len(v.Keys))
	case *Set:
		return int64(len(v.Keys))
	case *Range:
		return v.Len()
	case *Constexpr:
		return Len(v.Value)
	case *Missing:
		v.Fail()
	}
	raise("TypeError", "object of type '%s' has no len()", TypeName(v))
	return 0
}

// Index is v[key].
func Index(v, key any) any {
	key = unwrap(key)
	if m, ok := key.(*Missing); ok {
		m.Fail()
	}
	switch v := v.(type) {
	case *Constexpr:
		return Index(v.Value, key)
	case *Dict:
		if r, ok := v.Get(key); ok {
			return r
		}
		raise("KeyError", "%s", Repr(key))
	case *Missing:
		return v.part("[" + Repr(key) + "]")
	case interface{ Index(key any) any }:
		return v.Index(key)
	}
	if s, ok := key.(*Slice); ok {
		return sliceOf(v, s)
	}
	i, ok := AsInt(key)
	if !ok {
		raise("TypeError", "%s indices must be integers or slices, not %s", TypeName(v), TypeName(key))
	}
	switch v := v.(type) {
	case *Tuple:
		return v.Elems[position(i, len(v.Elems), "tuple")]
	case *List:
		return v.Elems[position(i, len(v.Elems), "list")]
	case string:
		r := []rune(v)
		return string(r[position(i, len(r), "string")])
	case *Range:
		return v.Start + int64(position(i, int(v.Len()), "range object"))*v.Step
	}
	raise("TypeError", "'%s' object is not subscriptable", TypeName(v))
	return nil
}

func position(i int64, n int, what string) int {
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		raise("IndexError", "%s index out of range", what)
	}
	return int(i)
}

func sliceOf(v any, s *Slice) any {
	pick := func(n int) []int {
		step := int64(1)
		if s.Step != nil {
			step = bound(s.Step)
			if step == 0 {
				raise("ValueError", "slice step cannot be zero")
			}
		}
		clamp := func(x any, absent int64) int64 {
			if x == nil {
				return absent
			}
			i := bound(x)
			if i < 0 {
				i += int64(n)
			}
			if step > 0 {
				return min(max(i, 0), int64(n))
			}
			return min(max(i, -1), int64(n)-1)
		}
		lo, hi := int64(0), int64(n)
		if step < 0 {
			lo, hi = int64(n)-1, -1
		}
		var idx []int
		for i, e := clamp(s.Start, lo), clamp(s.Stop, hi); step > 0 && i < e || step < 0 && i > e; i += step {
			idx = append(idx, int(i))
		}
		return idx
	}
	take := func(elems []any) []any {
		out := []any{}
		for _, i := range pick(len(elems)) {
			out = append(out, elems[i])
		}
		return out
	}
	switch v := v.(type) {
	case *Tuple:
		return NewTuple(take(v.Elems)...)
	case *List:
		return &List{take(v.Elems)}
	case string:
		r := []rune(v)
		var b strings.Builder
		for _, i := range pick(len(r)) {
			b.WriteRune(r[i])
		}
		return b.String()
	}
	raise("TypeError", "'%s' object cannot be sliced", TypeName(v))
	return nil
}

func bound(v any) int64 {
	i, ok := AsInt(unwrap(v))
	if !ok {
		raise("TypeError", "slice indices must be integers or None, not %s", TypeName(v))
	}
	return i
}
