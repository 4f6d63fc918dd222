package eval

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// maxShift bounds the integers that compile-time code can build, in bits.
const maxShift = 1 << 16

// number is a Python number in one of three forms.
type number struct {
	kind byte // 'i', 'b' (big) or 'f'
	i    int64
	b    *big.Int
	f    float64
}

func asNumber(v any) (number, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return number{kind: 'i', i: 1}, true
		}
		return number{kind: 'i'}, true
	case int64:
		return number{kind: 'i', i: v}, true
	case *big.Int:
		return number{kind: 'b', b: v}, true
	case float64:
		return number{kind: 'f', f: v}, true
	}
	return number{}, false
}

func (n number) big() *big.Int {
	if n.kind == 'b' {
		return n.b
	}
	return big.NewInt(n.i)
}

func (n number) float() float64 {
	switch n.kind {
	case 'i':
		return float64(n.i)
	case 'b':
		f, _ := new(big.Float).SetInt(n.b).Float64()
		return f
	}
	return n.f
}

// IsNumber reports whether v is a bool, int or float.
func IsNumber(v any) bool {
	_, ok := asNumber(v)
	return ok
}

// AsInt returns the integer v (bool counts as one) when int64 holds it.
func AsInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// Fits64 fails if v is an int of more than 64 bits, which help is for.
func Fits64(v any, help string) {
	if b, ok := v.(*big.Int); ok {
		FailHelp(help, "integer %s does not fit in 64 bits", b)
	}
}

// AsFloat returns the number v as a float.
func AsFloat(v any) (float64, bool) {
	n, ok := asNumber(v)
	return n.float(), ok
}

// Int makes the Python int b, in its smallest form.
func Int(b *big.Int) any {
	if b.IsInt64() {
		return b.Int64()
	}
	return b
}

// Binary computes a op b.
func Binary(op syntax.Operator, a, b any) any {
	x, ok := asNumber(a)
	y, ok2 := asNumber(b)
	if ok && ok2 {
		if p, isBool := a.(bool); isBool {
			if q, isBool := b.(bool); isBool {
				switch op {
				case syntax.BitAnd:
					return p && q
				case syntax.BitOr:
					return p || q
				case syntax.BitXor:
					return p != q
				}
			}
		}
		if x.kind == 'f' || y.kind == 'f' {
			return floatBinary(op, x.float(), y.float(), a, b)
		}
		if x.kind == 'i' && y.kind == 'i' {
			if r, done := intBinary(op, x.i, y.i); done {
				return r
			}
		}
		return bigBinary(op, x.big(), y.big())
	}
	return sequenceBinary(op, a, b)
}

func intBinary(op syntax.Operator, x, y int64) (any, bool) {
	switch op {
	case syntax.Add:
		if r := x + y; (r > x) == (y > 0) {
			return r, true
		}
	case syntax.Sub:
		if r := x - y; (r < x) == (y > 0) {
			return r, true
		}
	case syntax.Mult:
		hi, lo := bits.Mul64(uint64(abs64(x)), uint64(abs64(y)))
		if hi == 0 && lo < 1<<63 && x != math.MinInt64 && y != math.MinInt64 {
			return x * y, true
		}
	case syntax.Div:
		if y == 0 {
			raise("ZeroDivisionError", "division by zero")
		}
		if abs64(x) < 1<<53 && abs64(y) < 1<<53 {
			return float64(x) / float64(y), true
		}
		f, _ := new(big.Rat).SetFrac64(x, y).Float64()
		return f, true
	case syntax.FloorDiv, syntax.Mod:
		if y == 0 {
			raise("ZeroDivisionError", "integer division or modulo by zero")
		}
		if x == math.MinInt64 && y == -1 {
			return nil, false
		}
		q, r := x/y, x%y
		if r != 0 && (r < 0) != (y < 0) {
			q, r = q-1, r+y
		}
		if op == syntax.Mod {
			return r, true
		}
		return q, true
	case syntax.BitAnd:
		return x & y, true
	case syntax.BitOr:
		return x | y, true
	case syntax.BitXor:
		return x ^ y, true
	case syntax.RShift:
		if y < 0 {
			raise("ValueError", "negative shift count")
		}
		return x >> min(uint64(y), 63), true
	case syntax.LShift:
		if y < 0 {
			raise("ValueError", "negative shift count")
		}
		if y < 62 && abs64(x) < 1<<(62-y) {
			return x << uint(y), true
		}
	}
	return nil, false
}

func abs64(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

func tooLarge() {
	raise("OverflowError", "integer is too large: compile-time code may build integers of %d bits", maxShift)
}

func bigBinary(op syntax.Operator, x, y *big.Int) any {
	r := new(big.Int)
	switch op {
	case syntax.Add:
		r.Add(x, y)
	case syntax.Sub:
		r.Sub(x, y)
	case syntax.Mult:
		if x.BitLen()+y.BitLen() > maxShift {
			tooLarge()
		}
		r.Mul(x, y)
	case syntax.Div:
		if y.Sign() == 0 {
			raise("ZeroDivisionError", "division by zero")
		}
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		return f
	case syntax.FloorDiv, syntax.Mod:
		if y.Sign() == 0 {
			raise("ZeroDivisionError", "integer division or modulo by zero")
		}
		m := new(big.Int)
		r.QuoRem(x, y, m)
		if m.Sign() != 0 && m.Sign() != y.Sign() {
			r.Sub(r, big.NewInt(1))
			m.Add(m, y)
		}
		if op == syntax.Mod {
			r = m
		}
	case syntax.Pow:
		return bigPow(x, y)
	case syntax.LShift, syntax.RShift:
		if y.Sign() < 0 {
			raise("ValueError", "negative shift count")
		}
		if op == syntax.RShift {
			n := uint(x.BitLen() + 1) // beyond which only the sign is left
			if y.IsUint64() {
				n = uint(min(y.Uint64(), uint64(n)))
			}
			r.Rsh(x, n)
			break
		}
		if x.Sign() == 0 {
			break
		}
		if !y.IsInt64() || y.Int64() > maxShift-int64(x.BitLen()) {
			tooLarge()
		}
		r.Lsh(x, uint(y.Int64()))
	case syntax.BitAnd:
		r.And(x, y)
	case syntax.BitOr:
		r.Or(x, y)
	case syntax.BitXor:
		r.Xor(x, y)
	default:
		raise("TypeError", "unsupported operand type(s) for %s: 'int' and 'int'", op.Symbol())
	}
	return Int(r)
}

func bigPow(x, y *big.Int) any {
	if y.Sign() < 0 {
		return floatBinary(syntax.Pow, number{kind: 'b', b: x}.float(), number{kind: 'b', b: y}.float(), nil, nil)
	}
	if !y.IsInt64() || (x.BitLen() > 1 && y.Int64() > maxShift/int64(x.BitLen())) {
		if x.BitLen() <= 1 { // -1, 0 and 1 have the powers that the exponent's last bit tells
			return Int(new(big.Int).Exp(x, big.NewInt(2-int64(y.Bit(0))), nil))
		}
		tooLarge()
	}
	return Int(new(big.Int).Exp(x, y, nil))
}

func floatBinary(op syntax.Operator, x, y float64, a, b any) any {
	switch op {
	case syntax.Add:
		return x + y
	case syntax.Sub:
		return x - y
	case syntax.Mult:
		return x * y
	case syntax.Div:
		if y == 0 {
			raise("ZeroDivisionError", "float division by zero")
		}
		return x / y
	case syntax.FloorDiv, syntax.Mod:
		if y == 0 {
			raise("ZeroDivisionError", "float floor division by zero")
		}
		m := math.Mod(x, y)
		if m != 0 && (m < 0) != (y < 0) {
			m += y
		}
		if op == syntax.Mod {
			return m
		}
		return math.Round((x - m) / y)
	case syntax.Pow:
		if x == 0 && y < 0 {
			raise("ZeroDivisionError", "0.0 cannot be raised to a negative power")
		}
		return math.Pow(x, y)
	}
	raise("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", op.Symbol(), TypeName(a), TypeName(b))
	return nil
}

// Unary computes op a.
func Unary(op syntax.UnaryOperator, a any) any {
	if op == syntax.Not {
		return !Truth(a)
	}
	n, ok := asNumber(a)
	if !ok {
		if m, missing := a.(*Missing); missing {
			m.Fail()
		}
		raise("TypeError", "bad operand type for unary %s: '%s'", op.Symbol(), TypeName(a))
	}
	switch {
	case op == syntax.UAdd && n.kind == 'i':
		return n.i
	case op == syntax.UAdd:
		return a
	case n.kind == 'f' && op == syntax.USub:
		return -n.f
	case n.kind == 'f':
		raise("TypeError", "bad operand type for unary ~: 'float'")
	case op == syntax.USub:
		if n.kind == 'i' && n.i != math.MinInt64 {
			return -n.i
		}
		return Int(new(big.Int).Neg(n.big()))
	}
	if n.kind == 'i' {
		return ^n.i
	}
	return Int(new(big.Int).Not(n.b))
}

// ToBig is the integer v as a new big.Int; v is an int or bool.
func ToBig(v any) *big.Int {
	n, ok := asNumber(v)
	if !ok || n.kind == 'f' {
		panic("BUG: eval: ToBig of " + TypeName(v))
	}
	return new(big.Int).Set(n.big())
}
