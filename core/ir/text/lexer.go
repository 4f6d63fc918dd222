package text

import "strings"

// kind classifies a token.
type kind uint8

const (
	tokEOF    kind = iota
	tokIdent       // bare identifier or keyword: arith.addi
	tokValue       // %name
	tokBlock       // ^name
	tokSymbol      // @name or @"name"
	tokHash        // #name
	tokBang        // !name
	tokInt         // 12 or 0x1f
	tokFloat       // 1.0e+3
	tokString      // "…"
	tokArrow       // ->
	tokPunct       // one byte, see token.ch
	tokBad         // see lexer.bad
)

// token is a piece of the source: src[pos:end].
type token struct {
	kind     kind
	ch       byte // of tokPunct
	pos, end int
}

// lexer cuts src into tokens on demand; it keeps no state but its place.
type lexer struct {
	src string
	off int
	bad string // what is wrong with the last tokBad
}

const (
	clLetter = 1 << iota // a letter or _
	clDigit
	clDollarDot // $ and .
	clMinus
	clHex
	clSpace
)

var classes = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= clLetter
		t[c-'a'+'A'] |= clLetter
	}
	t['_'] |= clLetter
	for c := '0'; c <= '9'; c++ {
		t[c] |= clDigit | clHex
	}
	for c := 'a'; c <= 'f'; c++ {
		t[c] |= clHex
		t[c-'a'+'A'] |= clHex
	}
	t['$'], t['.'], t['-'] = clDollarDot, clDollarDot, clMinus
	t[' '], t['\t'], t['\n'], t['\r'] = clSpace, clSpace, clSpace, clSpace
	return t
}()

const (
	clBare   = clLetter | clDigit | clDollarDot
	clSuffix = clBare | clMinus
)

// span returns the end of the run of bytes of the classes in mask from i.
func (l *lexer) span(i int, mask uint8) int {
	for i < len(l.src) && classes[l.src[i]]&mask != 0 {
		i++
	}
	return i
}

// next returns the token at or after l.off and moves past it.
func (l *lexer) next() token {
	i := l.off
	for {
		i = l.span(i, clSpace)
		if !strings.HasPrefix(l.src[i:], "//") {
			break
		}
		if n := strings.IndexByte(l.src[i:], '\n'); n >= 0 {
			i += n
		} else {
			i = len(l.src)
		}
	}
	t := token{pos: i}
	if i == len(l.src) {
		t.end, l.off = i, i
		return t
	}
	c := l.src[i]
	switch {
	case classes[c]&clLetter != 0:
		t.kind, t.end = tokIdent, l.span(i+1, clBare)
	case classes[c]&clDigit != 0:
		t.kind, t.end = l.number(i)
	case c == '%' || c == '^' || c == '#' || c == '!':
		t.kind, t.end = l.sigil(c, i)
	case c == '@':
		t.kind, t.end = l.symbol(i)
	case c == '"':
		t.kind, t.end = tokString, l.str(i)
		if t.end < 0 {
			t.kind, t.end = tokBad, i+1
			l.bad = "string literal is not terminated on its line"
		}
	case c == '-' && strings.HasPrefix(l.src[i:], "->"):
		t.kind, t.end = tokArrow, i+2
	case strings.IndexByte("()[]{}<>=:,*+-?|/", c) >= 0:
		t.kind, t.ch, t.end = tokPunct, c, i+1
	default:
		t.kind, t.end = tokBad, i+1
		l.bad = "unexpected character"
	}
	l.off = t.end
	return t
}

// number reads an integer, hexadecimal integer or float that starts at i.
func (l *lexer) number(i int) (kind, int) {
	if l.src[i] == '0' && i+2 < len(l.src) && l.src[i+1] == 'x' && classes[l.src[i+2]]&clHex != 0 {
		return tokInt, l.span(i+2, clHex)
	}
	end := l.span(i, clDigit)
	if end == len(l.src) || l.src[end] != '.' {
		return tokInt, end
	}
	end = l.span(end+1, clDigit)
	if end < len(l.src) && (l.src[end] == 'e' || l.src[end] == 'E') {
		j := end + 1
		if j < len(l.src) && (l.src[j] == '+' || l.src[j] == '-') {
			j++
		}
		if k := l.span(j, clDigit); k > j {
			end = k
		}
	}
	return tokFloat, end
}

func (l *lexer) sigil(c byte, i int) (kind, int) {
	k := sigilKind(c)
	j := i + 1
	switch {
	case j < len(l.src) && classes[l.src[j]]&clDigit != 0:
		return k, l.span(j, clDigit)
	case j < len(l.src) && classes[l.src[j]]&clSuffix != 0:
		return k, l.span(j, clSuffix)
	}
	l.bad = "expected a name after '" + string(c) + "'"
	return tokBad, j
}

func sigilKind(c byte) kind {
	switch c {
	case '%':
		return tokValue
	case '^':
		return tokBlock
	case '#':
		return tokHash
	default:
		return tokBang
	}
}

func (l *lexer) symbol(i int) (kind, int) {
	j := i + 1
	if j < len(l.src) {
		switch {
		case l.src[j] == '"':
			if end := l.str(j); end > 0 {
				return tokSymbol, end
			}
		case classes[l.src[j]]&clLetter != 0:
			return tokSymbol, l.span(j+1, clBare)
		}
	}
	l.bad = "expected a symbol name after '@'"
	return tokBad, j
}

// str returns the end of the string literal that starts at i, or -1.
func (l *lexer) str(i int) int {
	for j := i + 1; j < len(l.src); j++ {
		switch l.src[j] {
		case '"':
			return j + 1
		case '\\':
			j++
		case '\n':
			return -1
		}
	}
	return -1
}

// unquote returns what a string literal (with its quotes) stands for: \\, \",
// \n, \t and two hexadecimal digits are escapes. It reports a bad one by ok.
func unquote(lit string) (s string, ok bool) {
	body := lit[1 : len(lit)-1]
	if strings.IndexByte(body, '\\') < 0 {
		return body, true
	}
	b := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			b = append(b, body[i])
			continue
		}
		i++
		switch {
		case i == len(body):
			return "", false
		case body[i] == '\\' || body[i] == '"':
			b = append(b, body[i])
		case body[i] == 'n':
			b = append(b, '\n')
		case body[i] == 't':
			b = append(b, '\t')
		case i+1 < len(body) && classes[body[i]]&clHex != 0 && classes[body[i+1]]&clHex != 0:
			b = append(b, hexDigit(body[i])<<4|hexDigit(body[i+1]))
			i++
		default:
			return "", false
		}
	}
	return string(b), true
}

func hexDigit(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}

// appendQuoted appends s as a string literal.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			b = append(b, '\\', '\\')
		case c >= ' ' && c <= '~' && c != '"':
			b = append(b, c)
		default:
			b = append(b, '\\', hex[c>>4], hex[c&15])
		}
	}
	return append(b, '"')
}

// isBareIdent reports whether s can appear without quotes as a name.
func isBareIdent(s string) bool {
	if s == "" || classes[s[0]]&clLetter == 0 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if classes[s[i]]&clBare == 0 {
			return false
		}
	}
	return true
}
