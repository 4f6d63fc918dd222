package eval

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// FormatValue is one replacement field of an f-string.
func FormatValue(v any, conversion rune, spec string) string {
	v = unwrap(v)
	switch conversion {
	case 'r', 'a':
		v = Repr(v)
	case 's':
		v = Str(v)
	}
	return Format(v, spec)
}

// Format is format(v, spec), with Python's format mini-language.
func Format(v any, spec string) string {
	if spec == "" {
		return Str(v)
	}
	f := parseSpec(spec)
	var s string
	numeric := false
	switch x := v.(type) {
	case string:
		s = x
		if f.prec >= 0 && f.prec < len([]rune(s)) {
			s = string([]rune(s)[:f.prec])
		}
	case float64:
		s, numeric = f.float(x), true
	case bool, int64, *big.Int:
		numeric = true
		n, _ := asNumber(x)
		switch f.verb {
		case 'e', 'E', 'f', 'F', 'g', 'G', '%':
			s = f.float(n.float())
		default:
			s = f.integer(n.big())
		}
	default:
		s = Str(v)
	}
	return f.pad(s, numeric)
}

// formatSpec is [[fill]align][sign][#][0][width][,][.prec][verb].
type formatSpec struct {
	fill  string
	align byte
	sign  byte
	alt   bool
	width int
	comma string
	prec  int
	verb  byte
}

func parseSpec(spec string) formatSpec {
	f := formatSpec{fill: " ", prec: -1}
	rs := []rune(spec)
	i := 0
	isAlign := func(r rune) bool { return strings.ContainsRune("<>=^", r) }
	if len(rs) > 1 && isAlign(rs[1]) {
		f.fill, f.align, i = string(rs[0]), byte(rs[1]), 2
	} else if len(rs) > 0 && isAlign(rs[0]) {
		f.align, i = byte(rs[0]), 1
	}
	next := func(set string) byte {
		if i < len(rs) && strings.ContainsRune(set, rs[i]) {
			i++
			return byte(rs[i-1])
		}
		return 0
	}
	number := func() int {
		n := -1
		for i < len(rs) && rs[i] >= '0' && rs[i] <= '9' && n < 1<<16 {
			n = max(n, 0)*10 + int(rs[i]-'0')
			i++
		}
		return n
	}
	f.sign = next("+- ")
	f.alt = next("#") != 0
	if next("0") != 0 && f.align == 0 {
		f.fill, f.align = "0", '='
	}
	f.width = max(number(), 0)
	if c := next(",_"); c != 0 {
		f.comma = string(c)
	}
	if next(".") != 0 {
		f.prec = number()
	}
	if i < len(rs) {
		f.verb = byte(rs[i])
		i++
	}
	if i != len(rs) || f.width > maxRepeat || f.prec > 1000 {
		raise("ValueError", "Invalid format specifier '%s'", spec)
	}
	return f
}

func (f formatSpec) integer(n *big.Int) string {
	neg := n.Sign() < 0
	abs := new(big.Int).Abs(n)
	var s, prefix string
	group := 3
	switch f.verb {
	case 0, 'd', 'n':
		s = abs.String()
	case 'x', 'X':
		s, prefix, group = abs.Text(16), "0x", 4
	case 'b':
		s, prefix, group = abs.Text(2), "0b", 4
	case 'o':
		s, prefix, group = abs.Text(8), "0o", 4
	case 'c':
		return string(rune(abs.Int64()))
	default:
		raise("ValueError", "Unknown format code '%c' for object of type 'int'", f.verb)
	}
	s = f.group(s, group)
	if f.alt {
		s = prefix + s
	}
	if f.verb == 'X' {
		s = strings.ToUpper(s)
	}
	return f.signed(neg) + s
}

func (f formatSpec) group(s string, n int) string {
	if f.comma == "" {
		return s
	}
	for i := len(s) - n; i > 0; i -= n {
		s = s[:i] + f.comma + s[i:]
	}
	return s
}

func (f formatSpec) signed(neg bool) string {
	switch {
	case neg:
		return "-"
	case f.sign == '+' || f.sign == ' ':
		return string(f.sign)
	}
	return ""
}

func (f formatSpec) float(x float64) string {
	neg := math.Signbit(x) && !math.IsNaN(x)
	a := math.Abs(x)
	prec := f.prec
	if prec < 0 && f.verb != 0 {
		prec = 6
	}
	var s string
	switch {
	case math.IsInf(a, 0):
		s = "inf"
	case math.IsNaN(a):
		s = "nan"
	default:
		switch f.verb {
		case 'e', 'E', 'f', 'F':
			s = strconv.FormatFloat(a, f.verb|0x20, prec, 64)
		case 'g', 'G':
			s = fmt.Sprintf("%.*g", max(prec, 1), a)
		case '%':
			s = strconv.FormatFloat(a*100, 'f', prec, 64) + "%"
		case 0:
			if prec < 0 {
				s = reprFloat(a)
			} else if s = fmt.Sprintf("%.*g", max(prec, 1), a); !strings.ContainsAny(s, ".e") {
				s += ".0"
			}
		default:
			raise("ValueError", "Unknown format code '%c' for object of type 'float'", f.verb)
		}
	}
	if f.comma != "" {
		whole, rest, _ := strings.Cut(s, ".")
		if len(rest) > 0 {
			rest = "." + rest
		}
		s = f.group(whole, 3) + rest
	}
	if f.verb == 'E' || f.verb == 'G' || f.verb == 'F' {
		s = strings.ToUpper(s)
	}
	return f.signed(neg) + s
}

func (f formatSpec) pad(s string, numeric bool) string {
	n := f.width - len([]rune(s))
	if n <= 0 {
		return s
	}
	align := f.align
	if align == 0 {
		align = '<'
		if numeric {
			align = '>'
		}
	}
	switch align {
	case '>':
		return strings.Repeat(f.fill, n) + s
	case '^':
		return strings.Repeat(f.fill, n/2) + s + strings.Repeat(f.fill, n-n/2)
	case '=':
		if len(s) > 0 && strings.ContainsRune("+- ", rune(s[0])) {
			return s[:1] + strings.Repeat(f.fill, n) + s[1:]
		}
		return strings.Repeat(f.fill, n) + s
	}
	return s + strings.Repeat(f.fill, n)
}

// percentFormat is s % args.
func percentFormat(s string, args any) string {
	vals := []any{args}
	if t, ok := args.(*Tuple); ok {
		vals = t.Elems
	}
	var b strings.Builder
	used := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		j := i + 1
		for j < len(s) && strings.IndexByte("+-# 0123456789.", s[j]) >= 0 {
			j++
		}
		if j == len(s) {
			raise("ValueError", "incomplete format")
		}
		if s[j] == '%' {
			b.WriteByte('%')
			i = j
			continue
		}
		if used == len(vals) {
			raise("TypeError", "not enough arguments for format string")
		}
		v := vals[used]
		used++
		flags := s[i+1 : j]
		if strings.HasPrefix(flags, "-") {
			flags = "<" + flags[1:]
		}
		switch s[j] {
		case 's':
			b.WriteString(Format(Str(v), flags))
		case 'r':
			b.WriteString(Format(Repr(v), flags))
		case 'd', 'i':
			b.WriteString(Format(v, flags+"d"))
		default:
			b.WriteString(Format(v, flags+string(s[j])))
		}
		i = j
	}
	if used != len(vals) {
		raise("TypeError", "not all arguments converted during string formatting")
	}
	return b.String()
}

// strFormat is s.format(*args, **kwargs) with plain fields: {}, {0}, {name}.
func strFormat(s string, args []any, kw []Keyword) string {
	var b strings.Builder
	auto := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c == '{' || c == '}') && i+1 < len(s) && s[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		if c != '{' {
			b.WriteByte(c)
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			raise("ValueError", "expected '}' before end of string")
		}
		name, spec, _ := strings.Cut(s[i+1:i+end], ":")
		i += end
		name, conv, _ := strings.Cut(name, "!")
		var v any
		if name == "" {
			name = strconv.Itoa(auto)
			auto++
		}
		if n, err := strconv.Atoi(name); err == nil {
			if n >= len(args) {
				raise("IndexError", "Replacement index %d out of range for positional args tuple", n)
			}
			v = args[n]
		} else {
			found := false
			for _, k := range kw {
				if k.Name == name {
					v, found = k.Value, true
				}
			}
			if !found {
				raise("KeyError", "'%s'", name)
			}
		}
		r := rune(-1)
		if conv != "" {
			r = rune(conv[0])
		}
		b.WriteString(FormatValue(v, r, spec))
	}
	return b.String()
}
