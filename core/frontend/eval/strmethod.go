package eval

import (
	"slices"
	"strings"
	"unicode"
)

// strMethodNames are the names of the methods of str.
var strMethodNames = []string{
	"capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format", "index", "isalnum", "isalpha", "isascii",
	"isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower",
	"lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split",
	"splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill",
}

// strMethod is a method of str, bound to v. Positions count characters, as Python's do.
func strMethod(v, name string) method {
	text := func(f func(args []any) string) method {
		return func(_ *Session, args []any, _ []Keyword) any { return f(args) }
	}
	test := func(f func(args []any) bool) method {
		return func(_ *Session, args []any, _ []Keyword) any { return f(args) }
	}
	trim := func(f func(string, func(rune) bool) string) method {
		return text(func(args []any) string {
			set := arg(args, 0, nil)
			if set == nil {
				return f(v, unicode.IsSpace)
			}
			return f(v, func(r rune) bool { return strings.ContainsRune(strArg(args, 0, ""), r) })
		})
	}
	if of, ok := strTests[name]; ok {
		return test(func([]any) bool { return of(v) })
	}
	switch name {
	case "upper":
		return text(func([]any) string { return strings.ToUpper(v) })
	case "lower", "casefold":
		return text(func([]any) string { return strings.ToLower(v) })
	case "capitalize":
		return text(func([]any) string {
			first := true
			return strings.Map(func(r rune) rune {
				if first {
					first = false
					return unicode.ToUpper(r)
				}
				return unicode.ToLower(r)
			}, v)
		})
	case "title":
		return text(func([]any) string { return titled(v) })
	case "swapcase":
		return text(func([]any) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, v)
		})
	case "strip":
		return trim(strings.TrimFunc)
	case "lstrip":
		return trim(strings.TrimLeftFunc)
	case "rstrip":
		return trim(strings.TrimRightFunc)
	case "ljust", "rjust", "center", "zfill":
		return text(func(a []any) string { return padded(v, name, a) })
	case "expandtabs":
		return func(_ *Session, a []any, kw []Keyword) any {
			size, _ := AsInt(named(arg(a, 0, int64(8)), kw, "tabsize"))
			return withSpaces(v, int(size))
		}
	case "removeprefix":
		return text(func(a []any) string { return strings.TrimPrefix(v, strArg(a, 0, "")) })
	case "removesuffix":
		return text(func(a []any) string { return strings.TrimSuffix(v, strArg(a, 0, "")) })
	case "replace":
		return func(_ *Session, a []any, kw []Keyword) any {
			old, with := strArg(a, 0, ""), strArg(a, 1, "")
			most, _ := AsInt(named(arg(a, 2, int64(-1)), kw, "count"))
			n := len(v) + strings.Count(v, old)*max(len(with)-len(old), 0)
			return strings.Replace(bounded(v, n), old, with, int(max(most, -1)))
		}
	case "startswith", "endswith":
		return test(func(a []any) bool { return anyAffix(part(v, a), a, name == "startswith") })
	case "join":
		return text(func(a []any) string {
			var parts []string
			n := 0
			for i, e := range Iterate(arg(a, 0, nil)) {
				s, ok := unwrap(e).(string)
				if !ok {
					raise("TypeError", "sequence item %d: expected str instance, %s found", i, TypeName(unwrap(e)))
				}
				parts = append(parts, s)
				n += len(s) + len(v)
				bounded(0, n)
			}
			return strings.Join(parts, v)
		})
	case "split", "rsplit":
		return func(_ *Session, a []any, kw []Keyword) any {
			most, ok := AsInt(named(arg(a, 1, int64(-1)), kw, "maxsplit"))
			if !ok || most < 0 {
				most = int64(len(v)) + 1
			}
			sep := named(arg(a, 0, nil), kw, "sep")
			if sep == nil {
				return strList(words(v, int(most), name == "rsplit"))
			}
			s, ok := sep.(string)
			if !ok {
				raise("TypeError", "must be str or None, not %s", TypeName(sep))
			}
			if s == "" {
				raise("ValueError", "empty separator")
			}
			parts := strings.Split(v, s)
			switch extra := len(parts) - 1 - int(most); {
			case extra <= 0:
			case name == "split":
				parts = append(parts[:most:most], strings.Join(parts[most:], s))
			default:
				parts = append([]string{strings.Join(parts[:extra+1], s)}, parts[extra+1:]...)
			}
			return strList(parts)
		}
	case "splitlines":
		return func(_ *Session, a []any, kw []Keyword) any {
			return strList(textLines(v, Truth(named(arg(a, 0, false), kw, "keepends"))))
		}
	case "partition", "rpartition":
		return func(_ *Session, a []any, _ []Keyword) any {
			sep := strArg(a, 0, "")
			if sep == "" {
				raise("ValueError", "empty separator")
			}
			if name == "partition" {
				if before, after, ok := strings.Cut(v, sep); ok {
					return NewTuple(before, sep, after)
				}
				return NewTuple(v, "", "")
			}
			if i := strings.LastIndex(v, sep); i >= 0 {
				return NewTuple(v[:i], sep, v[i+len(sep):])
			}
			return NewTuple("", "", v)
		}
	case "find", "index", "rfind", "rindex":
		return func(_ *Session, a []any, _ []Keyword) any {
			in, find := part(v, a), strings.Index
			if name[0] == 'r' {
				find = strings.LastIndex
			}
			i := find(in.text, strArg(a, 0, ""))
			switch {
			case i >= 0:
				return int64(in.start + len([]rune(in.text[:i])))
			case strings.HasSuffix(name, "index"):
				raise("ValueError", "substring not found")
			}
			return int64(-1)
		}
	case "count":
		return func(_ *Session, a []any, _ []Keyword) any {
			return int64(strings.Count(part(v, a).text, strArg(a, 0, "")))
		}
	case "format":
		return func(_ *Session, a []any, kw []Keyword) any { return strFormat(v, a, kw) }
	}
	return nil
}

// strTests are the methods that ask something of all characters.
var strTests = map[string]func(string) bool{
	"isalnum":     every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isalpha":     every(unicode.IsLetter),
	"isdecimal":   every(unicode.IsDigit),
	"isdigit":     every(unicode.IsDigit),
	"isnumeric":   every(unicode.IsNumber),
	"isspace":     every(unicode.IsSpace),
	"isascii":     func(s string) bool { return s == "" || every(func(r rune) bool { return r <= unicode.MaxASCII })(s) },
	"isprintable": func(s string) bool { return s == "" || every(unicode.IsPrint)(s) },
	"islower":     func(s string) bool { return s == strings.ToLower(s) && s != strings.ToUpper(s) },
	"isupper":     func(s string) bool { return s == strings.ToUpper(s) && s != strings.ToLower(s) },
	"istitle":     func(s string) bool { return s == titled(s) && strings.ToLower(s) != strings.ToUpper(s) },
	"isidentifier": func(s string) bool {
		letter := func(r rune) bool { return r == '_' || unicode.IsLetter(r) }
		return every(func(r rune) bool { return letter(r) || unicode.IsDigit(r) })(s) && letter([]rune(s)[0])
	},
}

// every asks something of every character, of which there is one at least.
func every(is func(rune) bool) func(string) bool {
	return func(s string) bool { return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) }) }
}

// span is a part of a string that begins at its start-th character.
type span struct {
	text  string
	start int
	empty bool // it begins beyond the end, where not even "" is
}

// part is what the second and third argument of a method leave of v.
func part(v string, args []any) span {
	if len(args) < 2 {
		return span{text: v}
	}
	r := []rune(v)
	at := func(i int, absent int) int {
		x := arg(args, i, nil)
		if x == nil {
			return absent
		}
		n := int(bound(x))
		if n < 0 {
			n += len(r)
		}
		return max(n, 0)
	}
	start, end := at(1, 0), min(at(2, len(r)), len(r))
	if start > end {
		return span{start: start, empty: true}
	}
	return span{text: string(r[start:end]), start: start}
}

func anyAffix(in span, args []any, first bool) bool {
	has := func(v any) bool {
		s, ok := v.(string)
		if !ok {
			raise("TypeError", "first arg must be str or a tuple of str, not %s", TypeName(v))
		}
		if first {
			return strings.HasPrefix(in.text, s)
		}
		return strings.HasSuffix(in.text, s)
	}
	if in.empty {
		return false
	}
	v := arg(args, 0, "")
	if t, ok := v.(*Tuple); ok {
		return slices.ContainsFunc(t.Elems, func(e any) bool { return has(unwrap(e)) })
	}
	return has(v)
}

// titled has the letters of v after others than letters in upper case, the rest in lower.
func titled(v string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		was := inWord
		inWord = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, v)
}

// padded is v as wide as the first argument says, by a method.
func padded(v, name string, args []any) string {
	width, ok := AsInt(arg(args, 0, nil))
	if !ok {
		raise("TypeError", "%s() takes a width", name)
	}
	with, more := strArg(args, 1, " "), int(width)-len([]rune(v))
	if more <= 0 {
		return v
	}
	bounded(0, more)
	switch name {
	case "ljust":
		return v + strings.Repeat(with, more)
	case "rjust":
		return strings.Repeat(with, more) + v
	case "zfill":
		sign := ""
		if v != "" && (v[0] == '-' || v[0] == '+') {
			sign, v = v[:1], v[1:]
		}
		return sign + strings.Repeat("0", more) + v
	}
	left := more/2 + more&int(width)&1
	return strings.Repeat(with, left) + v + strings.Repeat(with, more-left)
}

// withSpaces has spaces for tabs, up to the next multiple of size.
func withSpaces(v string, size int) string {
	var b strings.Builder
	column := 0
	for _, r := range v {
		switch {
		case r == '\t' && size > 0:
			n := size - column%size
			b.WriteString(strings.Repeat(" ", bounded(n, b.Len()+n)))
			column += n
		case r == '\t':
		case r == '\n' || r == '\r':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// words splits v at white space, at most so many times, from the right if fromRight.
func words(v string, most int, fromRight bool) []string {
	list := strings.Fields(v)
	extra := len(list) - 1 - most
	if extra <= 0 {
		return list
	}
	rest := v
	if fromRight {
		for i := len(list) - 1; i > extra; i-- {
			rest = strings.TrimSuffix(strings.TrimRightFunc(rest, unicode.IsSpace), list[i])
		}
		return append([]string{strings.TrimRightFunc(rest, unicode.IsSpace)}, list[extra+1:]...)
	}
	for _, w := range list[:most] {
		rest = strings.TrimPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), w)
	}
	return append(list[:most:most], strings.TrimLeftFunc(rest, unicode.IsSpace))
}

// textLines are the lines of v, with their ends if keep.
func textLines(v string, keep bool) []string {
	var list []string
	for v != "" {
		end := strings.IndexAny(v, "\n\r\v\f")
		if end < 0 {
			return append(list, v)
		}
		next := end + 1
		if strings.HasPrefix(v[end:], "\r\n") {
			next++
		}
		if keep {
			end = next
		}
		list, v = append(list, v[:end]), v[next:]
	}
	return list
}

func strArg(args []any, i int, absent string) string {
	v := arg(args, i, absent)
	s, ok := v.(string)
	if !ok {
		raise("TypeError", "expected str, not %s", TypeName(v))
	}
	return s
}

// named is the keyword argument of that name, else v.
func named(v any, kw []Keyword, name string) any {
	for _, k := range kw {
		if k.Name == name {
			return unwrap(k.Value)
		}
	}
	return v
}

func strList(parts []string) any {
	l := &List{Elems: make([]any, len(parts))}
	for i, p := range parts {
		l.Elems[i] = p
	}
	return l
}
