package eval

import (
	"math/big"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Truth is bool(v).
func Truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case syntax.Bytes:
		return v != ""
	case *Tuple:
		return len(v.Elems) > 0
	case *List:
		return len(v.Elems) > 0
	case *Dict:
		return len(v.Keys) > 0
	case *Set:
		return len(v.Keys) > 0
	case *Range:
		return v.Len() > 0
	case *Constexpr:
		return Truth(v.Value)
	case *Missing:
		v.Fail()
	}
	return true
}

// Equal is a == b.
func Equal(a, b any) bool {
	if c, ok := a.(*Constexpr); ok {
		a = c.Value
	}
	if c, ok := b.(*Constexpr); ok {
		b = c.Value
	}
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return ok && compareNumbers(x, y) == 0
	}
	switch a := a.(type) {
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && equalLists(a.Elems, b.Elems)
	case *List:
		b, ok := b.(*List)
		return ok && equalLists(a.Elems, b.Elems)
	case *Dict:
		b, ok := b.(*Dict)
		return ok && equalDicts(a, b)
	case *Set:
		b, ok := b.(*Set)
		return ok && equalDicts(&a.Dict, &b.Dict)
	case *Range:
		b, ok := b.(*Range)
		return ok && *a == *b
	case Equaler:
		return a.Equal(b)
	}
	if b, ok := b.(Equaler); ok {
		return b.Equal(a)
	}
	return a == b
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Identical(a[i], b[i]) && !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalDicts(a, b *Dict) bool {
	if len(a.Keys) != len(b.Keys) {
		return false
	}
	for i, k := range a.Keys {
		if v, ok := b.Get(k); !ok || !Equal(a.Values[i], v) {
			return false
		}
	}
	return true
}

// unordered is what compareNumbers says of a NaN.
const unordered = 2

func compareNumbers(x, y number) int {
	if x.kind == 'i' && y.kind == 'i' {
		switch {
		case x.i < y.i:
			return -1
		case x.i > y.i:
			return 1
		}
		return 0
	}
	if x.kind != 'f' && y.kind != 'f' {
		return x.big().Cmp(y.big())
	}
	a, b := x.float(), y.float()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return unordered
}

// Identical is a is b.
func Identical(a, b any) bool {
	switch a := a.(type) {
	case *big.Int, float64:
		return Equal(a, b) && TypeName(a) == TypeName(b)
	case *Constexpr:
		return Identical(a.Value, b)
	}
	if c, ok := b.(*Constexpr); ok {
		return Identical(a, c.Value)
	}
	if e, ok := a.(Equaler); ok {
		if _, ok := a.(interface{ Refuse() }); !ok {
			return e.Equal(b)
		}
	}
	return a == b
}

// Compare computes a op b.
func Compare(op syntax.CmpOperator, a, b any) bool {
	switch op {
	case syntax.Eq:
		return Equal(a, b)
	case syntax.NotEq:
		return !Equal(a, b)
	case syntax.Is:
		return Identical(a, b)
	case syntax.IsNot:
		return !Identical(a, b)
	case syntax.In:
		return Contains(b, a)
	case syntax.NotIn:
		return !Contains(b, a)
	}
	c := order(op, a, b)
	switch op {
	case syntax.Lt:
		return c == -1
	case syntax.LtE:
		return c == -1 || c == 0
	case syntax.Gt:
		return c == 1
	default:
		return c == 1 || c == 0
	}
}

func order(op syntax.CmpOperator, a, b any) int {
	if c, ok := a.(*Constexpr); ok {
		a = c.Value
	}
	if c, ok := b.(*Constexpr); ok {
		b = c.Value
	}
	if x, ok := asNumber(a); ok {
		if y, ok := asNumber(b); ok {
			return compareNumbers(x, y)
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	}
	if x, ok := a.(*Set); ok {
		if y, ok := b.(*Set); ok {
			return orderSets(x, y)
		}
	}
	x, ok := elements(a)
	y, ok2 := elements(b)
	if ok && ok2 && TypeName(a) == TypeName(b) {
		for i := range min(len(x), len(y)) {
			if !Equal(x[i], y[i]) {
				return order(op, x[i], y[i])
			}
		}
		return compareNumbers(number{kind: 'i', i: int64(len(x))}, number{kind: 'i', i: int64(len(y))})
	}
	for _, v := range []any{a, b} {
		if m, ok := v.(*Missing); ok {
			m.Fail()
		}
	}
	help := ""
	if TypeName(a) == "tensor" || TypeName(b) == "tensor" {
		help = "this is computed at compile time, where the value of a tensor is not known"
	}
	raiseHelp("TypeError", help, "'%s' not supported between instances of '%s' and '%s'", op.Symbol(), TypeName(a), TypeName(b))
	return 0
}

// orderSets gives -1 for a proper subset, 1 for a proper superset.
func orderSets(x, y *Set) int {
	common := 0
	for _, k := range x.Keys {
		if y.find(k) >= 0 {
			common++
		}
	}
	switch {
	case common == len(x.Keys) && common == len(y.Keys):
		return 0
	case common == len(x.Keys):
		return -1
	case common == len(y.Keys):
		return 1
	}
	return unordered
}

// elements is the contents of a tuple or list.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case *Tuple:
		return v.Elems, true
	case *List:
		return v.Elems, true
	}
	return nil, false
}

// Contains is item in container.
func Contains(container, item any) bool {
	switch c := container.(type) {
	case *Dict:
		return c.find(item) >= 0
	case *Set:
		return c.find(item) >= 0
	case string:
		s, ok := item.(string)
		if !ok {
			raise("TypeError", "'in <string>' requires string as left operand, not %s", TypeName(item))
		}
		return strings.Contains(c, s)
	}
	for _, v := range Iterate(container) {
		if Identical(v, item) || Equal(v, item) {
			return true
		}
	}
	return false
}
