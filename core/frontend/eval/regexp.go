package eval

import (
	"regexp"
	"strings"
)

// regexps is the module re, as far as Go's expressions are Python's: without
// back references and lookaround, which are missing.
func regexps() map[string]any {
	m := map[string]any{}
	for flag, f := range regexpFlags {
		m[f.name], m[f.short] = flag, flag
	}
	for name, f := range regexpMethods {
		m[name] = native(name, -1, func(_ *Session, a []any) any {
			p, ok := arg(a, 0, nil).(*pattern)
			if !ok {
				n := 2 // the expression and a text, then flags
				if name == "sub" {
					n = 3
				}
				n = min(n, len(a))
				re := compilePattern(a[:1], a[n:])
				if p, ok = re.(*pattern); !ok {
					return re
				}
				a = a[:n]
			}
			return f(p, a[1:])
		})
	}
	m["compile"] = native("compile", -1, func(_ *Session, a []any) any { return compilePattern(a[:min(1, len(a))], a[min(1, len(a)):]) })
	return m
}

var regexpFlags = map[int64]struct{ name, short, inline string }{
	2: {"IGNORECASE", "I", "i"}, 8: {"MULTILINE", "M", "m"}, 16: {"DOTALL", "S", "s"},
}

var regexpMethods = map[string]func(p *pattern, a []any) any{
	"match":     func(p *pattern, a []any) any { return p.find(`^(?:`+p.src+`)`, a) },
	"fullmatch": func(p *pattern, a []any) any { return p.find(`^(?:`+p.src+`)\z`, a) },
	"search":    func(p *pattern, a []any) any { return p.find(p.src, a) },
	"findall": func(p *pattern, a []any) any {
		l := &List{}
		for _, m := range p.compiled(p.src).FindAllStringSubmatch(textArg(a, 0), -1) {
			switch {
			case len(m) == 1:
				l.Elems = append(l.Elems, m[0])
			case len(m) == 2:
				l.Elems = append(l.Elems, m[1])
			default:
				t := &Tuple{}
				for _, g := range m[1:] {
					t.Elems = append(t.Elems, g)
				}
				l.Elems = append(l.Elems, t)
			}
		}
		return l
	},
	"split": func(p *pattern, a []any) any { return strList(p.compiled(p.src).Split(textArg(a, 0), -1)) },
	"sub": func(p *pattern, a []any) any {
		with := textArg(a, 0)
		if len(a) > 2 || strings.Contains(with, `\`) {
			return &Missing{Name: "re.sub with groups or a count"}
		}
		return p.compiled(p.src).ReplaceAllLiteralString(textArg(a, 1), with)
	},
}

// pattern is a compiled expression: its text, with flags.
type pattern struct{ flags, src string }

func compilePattern(src, flags []any) any {
	if m, ok := arg(src, 0, nil).(*Missing); ok {
		return m
	}
	p := &pattern{src: textArg(src, 0)}
	if len(flags) > 0 {
		n, ok := arg(flags, 0, nil).(int64)
		for flag, f := range regexpFlags {
			if n&flag != 0 {
				p.flags += f.inline
				n &^= flag
			}
		}
		if !ok || n != 0 {
			return &Missing{Name: "re.compile with flags"}
		}
		p.flags = "(?" + p.flags + ")"
	}
	if _, err := regexp.Compile(p.flags + p.src); err != nil {
		return &Missing{Name: "re.compile(" + Repr(p.src) + ")"}
	}
	return p
}

func (p *pattern) compiled(src string) *regexp.Regexp { return regexp.MustCompile(p.flags + src) }

// find is the match of an expression in a text, or None.
func (p *pattern) find(src string, a []any) any {
	re := p.compiled(src)
	s := textArg(a, 0)
	at := re.FindStringSubmatchIndex(s)
	if at == nil {
		return nil
	}
	m := &match{names: re.SubexpNames()}
	for i := 0; i < len(at); i += 2 {
		if at[i] < 0 {
			m.groups = append(m.groups, nil)
		} else {
			m.groups = append(m.groups, s[at[i]:at[i+1]])
		}
	}
	return m
}

// Attr finds the methods of an expression.
func (p *pattern) Attr(name string) (any, bool) {
	if name == "pattern" {
		return p.src, true
	}
	f, ok := regexpMethods[name]
	if !ok {
		return nil, false
	}
	return native(name, -1, func(_ *Session, a []any) any { return f(p, a) }), true
}

func (p *pattern) TypeName() string { return "re.Pattern" }

// match is where an expression matched: the text of its groups, None where one
// took no part.
type match struct {
	groups []any
	names  []string
}

// Index is a group by number or name.
func (m *match) Index(i any) any {
	switch i := unwrap(i).(type) {
	case int64:
		if 0 <= i && i < int64(len(m.groups)) {
			return m.groups[i]
		}
	case string:
		for k, n := range m.names {
			if n == i && i != "" {
				return m.groups[k]
			}
		}
	}
	raise("IndexError", "no such group")
	return nil
}

// Attr finds the methods of a match.
func (m *match) Attr(name string) (any, bool) {
	switch name {
	case "group":
		return native(name, -1, func(_ *Session, a []any) any {
			if len(a) < 2 {
				return m.Index(arg(a, 0, int64(0)))
			}
			t := &Tuple{}
			for _, i := range a {
				t.Elems = append(t.Elems, m.Index(i))
			}
			return t
		}), true
	case "groups":
		return native(name, -1, func(_ *Session, a []any) any {
			t := &Tuple{}
			for _, g := range m.groups[1:] {
				if g == nil {
					g = arg(a, 0, nil)
				}
				t.Elems = append(t.Elems, g)
			}
			return t
		}), true
	}
	return nil, false
}

func (m *match) TypeName() string { return "re.Match" }

// textArg is an argument that must be text.
func textArg(a []any, i int) string {
	if m, ok := arg(a, i, nil).(*Missing); ok {
		m.Fail()
	}
	return strArg(a, i, "")
}
