package syntax

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// strings reads adjacent string literals, which are one constant, or one
// f-string if any of them is.
func (p *parser) strings() Expr {
	m := p.mark()
	if p.kind == tString && p.peek() != tString && p.peek() != tFStringStart {
		sp := p.tok.Span
		v, u := p.literal()
		p.next()
		c := p.newConstant(sp, v)
		c.UKind = u
		return c
	}
	base := len(p.exprs)
	formatted, h := false, int32(0)
	for p.kind == tString || p.kind == tFStringStart {
		if p.kind == tFStringStart {
			formatted = true
			p.fstring()
		} else {
			sp := p.tok.Span
			v, u := p.literal()
			p.next()
			c := p.newConstant(sp, v)
			c.UKind = u
			p.exprs = append(p.exprs, c)
		}
		h = max(h, p.height)
	}
	p.uniformStrings(p.exprs[base:], formatted)
	p.fold(base, formatted)
	parts := p.takeExprs(base)
	if !formatted {
		return parts[0]
	}
	p.higher(h)
	return &JoinedStr{exprNode{p.since(m)}, parts}
}

// uniformStrings refuses bytes among strings.
func (p *parser) uniformStrings(parts []Expr, formatted bool) {
	raw := 0
	for _, e := range parts {
		if c, ok := e.(*Constant); ok {
			if _, ok := c.Value.(Bytes); ok {
				raw++
			}
		}
	}
	if raw > 0 && (formatted || raw < len(parts)) {
		p.fail(parts[0].Loc(), "cannot mix bytes and nonbytes literals")
	}
}

// fold joins neighbouring constants of the expressions since base; an f-string
// keeps no empty ones.
func (p *parser) fold(base int, formatted bool) {
	parts := p.exprs[base:]
	kept := parts[:0]
	for i := 0; i < len(parts); {
		c, ok := parts[i].(*Constant)
		if !ok {
			kept = append(kept, parts[i])
			i++
			continue
		}
		j := i + 1
		for j < len(parts) && isConstant(parts[j]) {
			j++
		}
		if j > i+1 {
			joinConstants(c, parts[i:j])
		}
		if !formatted || c.Value != "" {
			kept = append(kept, c)
		}
		i = j
	}
	p.exprs = p.exprs[:base+len(kept)]
}

func isConstant(e Expr) bool {
	_, ok := e.(*Constant)
	return ok
}

// joinConstants gives c the joined value and span of all.
func joinConstants(c *Constant, all []Expr) {
	var b strings.Builder
	for _, e := range all {
		switch v := e.(*Constant).Value.(type) {
		case string:
			b.WriteString(v)
		case Bytes:
			b.WriteString(string(v))
		}
	}
	last := all[len(all)-1].Loc()
	c.EndLine, c.EndCol = last.EndLine, last.EndCol
	if _, ok := c.Value.(Bytes); ok {
		c.Value = Bytes(b.String())
	} else {
		c.Value = b.String()
	}
}

// literal works out the value of the current string token, and whether its
// prefix is u.
func (p *parser) literal() (value any, u bool) {
	s := p.text()
	raw, bytes := false, false
	i := 0
	for s[i] != '"' && s[i] != '\'' {
		switch s[i] | 0x20 {
		case 'r':
			raw = true
		case 'b':
			bytes = true
		case 'u':
			u = s[i] == 'u' // CPython's kind knows the lower-case letter alone
		}
		i++
	}
	n := 1
	if len(s) >= i+6 && s[i+1] == s[i] && s[i+2] == s[i] {
		n = 3
	}
	body := s[i+n : len(s)-n]
	if bytes {
		for j := range len(body) {
			if body[j] >= utf8.RuneSelf {
				p.fail(p.tok.Span, "bytes can only contain ASCII literal characters")
			}
		}
	}
	if !raw && strings.IndexByte(body, '\\') >= 0 {
		body = p.unescape(body, bytes)
	}
	if bytes {
		return Bytes(body), false
	}
	return body, u
}

// fstring reads an f-string and pushes its parts.
func (p *parser) fstring() {
	start := p.text()
	raw := strings.ContainsAny(start, "rR")
	p.next()
	h := int32(0)
	for p.kind != tFStringEnd {
		if p.kind == tFStringMiddle {
			p.pushText(raw, false)
			continue
		}
		p.field(raw)
		h = max(h, p.height)
	}
	p.next()
	p.height = h
}

// pushText pushes the text token as a constant.
func (p *parser) pushText(raw, spec bool) {
	sp, s := p.tok.Span, p.text()
	if !spec && strings.ContainsAny(s, "{}") {
		s = p.unbrace(s, raw)
	} else if !raw && strings.IndexByte(s, '\\') >= 0 {
		s = p.unescape(s, false)
	}
	p.next()
	p.exprs = append(p.exprs, p.newConstant(sp, s))
}

// unbrace halves doubled braces and, unless raw, resolves escapes, of which
// \N{NAME} has braces of its own.
func (p *parser) unbrace(s string, raw bool) string {
	var b strings.Builder
	b.Grow(len(s))
	flush := func(piece string) {
		if !raw && strings.IndexByte(piece, '\\') >= 0 {
			piece = p.unescape(piece, false)
		}
		b.WriteString(piece)
	}
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i+1 >= len(s) || s[i+1] == '{' || s[i+1] == '}' {
				continue
			}
			i++
			if s[i] == 'N' && !raw && i+1 < len(s) && s[i+1] == '{' {
				if n := strings.IndexByte(s[i:], '}'); n >= 0 {
					i += n
				}
			}
		case '{', '}':
			flush(s[from : i+1])
			i++ // the second of the two
			from = i + 1
		}
	}
	flush(s[min(from, len(s)):])
	return b.String()
}

// field reads {expression = !r :spec} and pushes what it is. The text that the
// = asks for is treated like the string's own: its escapes are resolved.
func (p *parser) field(raw bool) {
	brace := *p.tok
	m := p.mark()
	p.enter()
	defer p.leave()
	p.expect(tLBrace)
	switch p.kind {
	case tRBrace, tExclam, tColon, tEqual:
		p.fail(p.tok.Span, "f-string: valid expression required before %s", p.kind)
	case tLambda:
		p.fail(p.tok.Span, "f-string: lambda expressions are not allowed without parentheses")
	}
	v := &FormattedValue{Value: p.yieldOrStarExprs(), Conversion: -1}
	h := p.height
	var debug *Constant
	if p.kind == tEqual {
		p.next()
		sp := Span{brace.Line, brace.Col + 1, p.tok.Line, p.tok.Col}
		text := p.withoutComments(brace.end, p.tok.off)
		if !raw && strings.IndexByte(text, '\\') >= 0 {
			text = p.unescape(text, false)
		}
		debug = p.newConstant(sp, text)
	}
	if p.kind == tExclam {
		v.Conversion = p.conversion()
	}
	if p.kind == tColon {
		v.FormatSpec = p.formatSpec(raw)
		h = max(h, p.height)
	}
	if debug != nil && v.Conversion < 0 && v.FormatSpec == nil {
		v.Conversion = 'r'
	}
	if p.kind != tRBrace {
		if p.lx.err != nil {
			p.invalid()
		}
		p.fail(p.tok.Span, "f-string: expecting '}', found %s", p.found())
	}
	p.next()
	v.Span = p.since(m)
	if debug != nil {
		p.exprs = append(p.exprs, debug)
	}
	p.exprs = append(p.exprs, v)
	p.higher(h)
}

// withoutComments is a piece of source that lies within a field.
func (p *parser) withoutComments(from, to int32) string {
	all := p.lx.fieldComments
	i, _ := slices.BinarySearchFunc(all, from, func(c [2]int32, off int32) int { return int(c[0] - off) })
	if i == len(all) || all[i][0] >= to {
		return p.lx.src[from:to]
	}
	var b strings.Builder
	for ; i < len(all) && all[i][0] < to; i++ {
		b.WriteString(p.lx.src[from:all[i][0]])
		from = all[i][1]
	}
	b.WriteString(p.lx.src[from:to])
	return b.String()
}

func (p *parser) conversion() rune {
	end := p.tok.end
	p.next()
	if p.kind != tName {
		p.fail(p.tok.Span, "f-string: invalid conversion character")
	}
	if p.tok.off != end {
		p.fail(p.tok.Span, "f-string: conversion type must come right after the exclamation mark")
	}
	s := p.text()
	if s != "s" && s != "r" && s != "a" {
		p.fail(p.tok.Span, "f-string: invalid conversion character '%s': expected 's', 'r', or 'a'", s)
	}
	p.next()
	return rune(s[0])
}

// formatSpec reads what follows a field's colon. CPython resolves escapes there
// even in a raw f-string, and so do we.
func (p *parser) formatSpec(raw bool) *JoinedStr {
	m := p.mark()
	p.next()
	base, h := len(p.exprs), int32(0)
	for p.kind == tFStringMiddle || p.kind == tLBrace {
		if p.kind == tFStringMiddle {
			p.pushText(false, true)
			continue
		}
		p.field(raw)
		h = max(h, p.height)
	}
	end := p.since(m)
	p.fold(base, true)
	p.height = h
	return &JoinedStr{exprNode{end}, p.takeExprs(base)}
}

// unescape resolves the escapes of a literal's body.
func (p *parser) unescape(s string, bytes bool) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '\\')
		if j < 0 {
			b = append(b, s[i:]...)
			break
		}
		b = append(b, s[i:i+j]...)
		i += j + 1
		if i >= len(s) {
			b = append(b, '\\')
			break
		}
		c := s[i]
		i++
		switch c {
		case '\n':
		case '\\', '\'', '"':
			b = append(b, c)
		case 'a':
			b = append(b, '\a')
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'v':
			b = append(b, '\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := rune(c - '0')
			for n := 1; n < 3 && i < len(s) && s[i]&^7 == '0'; n++ {
				v = v*8 + rune(s[i]-'0')
				i++
			}
			b = appendCode(b, v, bytes)
		case 'x':
			i, b = p.hexEscape(s, i, 2, `\xXX`, b, bytes)
		case 'u', 'U', 'N':
			if bytes {
				b = append(b, '\\', c)
				break
			}
			switch c {
			case 'u':
				i, b = p.hexEscape(s, i, 4, `\uXXXX`, b, false)
			case 'U':
				i, b = p.hexEscape(s, i, 8, `\UXXXXXXXX`, b, false)
			default:
				i, b = p.nameEscape(s, i, b)
			}
		default:
			// Not an escape, with which CPython too is content (it warns).
			b = append(b, '\\', c)
		}
	}
	return string(b)
}

// appendCode adds a code point, or the byte that it is in a bytes literal.
func appendCode(b []byte, v rune, bytes bool) []byte {
	switch {
	case bytes:
		return append(b, byte(v))
	case 0xd800 <= v && v < 0xe000:
		// UTF-8 has no surrogates; a Python string does.
		return append(b, 0xed, 0x80|byte(v>>6)&0x3f, 0x80|byte(v)&0x3f)
	}
	return utf8.AppendRune(b, v)
}

// hexEscape reads n hexadecimal digits at s[i].
func (p *parser) hexEscape(s string, i, n int, form string, b []byte, bytes bool) (int, []byte) {
	v := uint32(0)
	for j := range n {
		if i+j >= len(s) || digitValue(s[i+j]) > 15 {
			p.fail(p.tok.Span, "truncated %s escape", form)
		}
		v = v<<4 | uint32(digitValue(s[i+j]))
	}
	if v > utf8.MaxRune {
		p.fail(p.tok.Span, "illegal Unicode character \\U%08x", v)
	}
	return i + n, appendCode(b, rune(v&math.MaxInt32), bytes)
}

// nameEscape reads the {NAME} of \N{NAME}.
func (p *parser) nameEscape(s string, i int, b []byte) (int, []byte) {
	n := strings.IndexByte(s[i:], '}')
	if i >= len(s) || s[i] != '{' || n < 2 {
		p.fail(p.tok.Span, `malformed \N character escape`)
	}
	r, ok := runeNamed(s[i+1 : i+n])
	if !ok {
		p.fail(p.tok.Span, "unknown Unicode character name: %.80s", s[i+1:i+n])
	}
	return i + n + 1, utf8.AppendRune(b, r)
}
