package eval

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Str is str(v).
func Str(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Repr is repr(v).
func Repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return reprFloat(v)
	case string:
		return reprString(v)
	case syntax.Bytes:
		return "b" + reprString(string(v))
	case *Tuple:
		return reprTuple(v)
	case *List:
		return "[" + reprAll(v.Elems) + "]"
	case *Dict:
		var b strings.Builder
		for i, k := range v.Keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(Repr(k) + ": " + Repr(v.Values[i]))
		}
		return "{" + b.String() + "}"
	case *Set:
		if len(v.Keys) == 0 {
			return "set()"
		}
		return "{" + reprAll(v.Keys) + "}"
	case *Range:
		if v.Step == 1 {
			return fmt.Sprintf("range(%d, %d)", v.Start, v.Stop)
		}
		return fmt.Sprintf("range(%d, %d, %d)", v.Start, v.Stop, v.Step)
	case *Slice:
		return "slice(" + Repr(v.Start) + ", " + Repr(v.Stop) + ", " + Repr(v.Step) + ")"
	case *Constexpr:
		return "constexpr[" + Str(v.Value) + "]"
	case *Missing:
		return "<missing " + v.Name + ">"
	case syntax.Ellipsis:
		return "Ellipsis"
	case Reprer:
		return v.Repr()
	}
	return "<" + TypeName(v) + " object>"
}

func reprAll(vs []any) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = Repr(v)
	}
	return strings.Join(parts, ", ")
}

func reprTuple(t *Tuple) string {
	if t.Class != nil {
		parts := make([]string, len(t.Elems))
		for i, v := range t.Elems {
			parts[i] = t.Fields[i] + "=" + Repr(v)
		}
		return t.Class.Name + "(" + strings.Join(parts, ", ") + ")"
	}
	if len(t.Elems) == 1 {
		return "(" + Repr(t.Elems[0]) + ",)"
	}
	return "(" + reprAll(t.Elems) + ")"
}

// reprFloat writes the shortest text that reads back as f, in Python's form.
func reprFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64) // two exponent digits, as Python
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func reprString(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, "\"") {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80 && (r < 0x20 || r == 0x7f):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r >= 0x80 && !unicode.IsPrint(r) && r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r >= 0x80 && !unicode.IsPrint(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r >= 0x80 && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}
