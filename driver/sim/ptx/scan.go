package ptx

import (
	"strconv"

	"github.com/tritonc/tritonc/core/diag"
)

// tokenKind classifies the tokens of PTX.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokIdent            // names, opcodes with all their modifiers, registers
	tokDot              // directives and bare modifiers: ".reg", ".b32"
	tokInt              // integer constant
	tokF32              // 0fXXXXXXXX
	tokF64              // 0dXXXXXXXXXXXXXXXX or a decimal floating-point constant
	tokString           // "…"
	tokPunct            // one character
)

// token is one lexical element; text aliases the source.
type token struct {
	kind tokenKind
	text string
	bits uint64 // value of constants
	line int
	col  int
}

// scanner cuts the source into tokens on demand.
type scanner struct {
	file      string
	src       string
	pos       int
	line      int
	lineStart int
}

// bailout carries the first error out of the recursive descent.
type bailout struct{ d *diag.Diagnostic }

func (s *scanner) fail(line, col int, format string, args ...any) {
	d := diag.Errorf(diag.Pos{File: s.file, Line: line, Col: col}, format, args...)
	panic(bailout{d.WithSource(s.src)})
}

// identByte marks the bytes that may be inside a name.
var identByte = func() (t [256]bool) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	t['_'], t['$'], t['%'] = true, true, true
	return t
}()

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// skipSpace passes white space and comments.
func (s *scanner) skipSpace() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.pos++
			s.line++
			s.lineStart = s.pos
		case c == ' ' || c == '\t' || c == '\r' || c == 0:
			s.pos++
		case c == '/' && s.peek(1) == '/':
			for s.pos < len(s.src) && s.src[s.pos] != '\n' {
				s.pos++
			}
		case c == '/' && s.peek(1) == '*':
			line, col := s.line, s.pos-s.lineStart+1
			s.pos += 2
			for {
				if s.pos >= len(s.src) {
					s.fail(line, col, "comment is not closed")
				}
				if s.src[s.pos] == '*' && s.peek(1) == '/' {
					s.pos += 2
					break
				}
				if s.src[s.pos] == '\n' {
					s.line++
					s.lineStart = s.pos + 1
				}
				s.pos++
			}
		default:
			return
		}
	}
}

func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// next returns the next token.
func (s *scanner) next() token {
	s.skipSpace()
	t := token{line: s.line, col: s.pos - s.lineStart + 1}
	if s.pos >= len(s.src) {
		return t
	}
	start := s.pos
	switch c := s.src[s.pos]; {
	case isDigit(c):
		s.number(&t)
	case identByte[c]:
		t.kind = tokIdent
		s.dotted()
		t.text = s.src[start:s.pos]
	case c == '.' && identByte[s.peek(1)]:
		t.kind = tokDot
		s.pos++
		s.component()
		t.text = s.src[start:s.pos]
	case c == '"':
		t.kind = tokString
		s.pos++
		for s.pos < len(s.src) && s.src[s.pos] != '"' {
			if s.src[s.pos] == '\n' {
				s.fail(t.line, t.col, "string is not closed")
			}
			s.pos++
		}
		if s.pos >= len(s.src) {
			s.fail(t.line, t.col, "string is not closed")
		}
		t.text = s.src[start+1 : s.pos]
		s.pos++
	default:
		t.kind = tokPunct
		s.pos++
		t.text = s.src[start:s.pos]
	}
	return t
}

// dotted passes a name with its dotted suffixes and their "::" parts.
func (s *scanner) dotted() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case identByte[c]:
			s.pos++
		case c == '.' && identByte[s.peek(1)]:
			s.pos += 2
		case c == ':' && s.peek(1) == ':' && identByte[s.peek(2)]:
			s.pos += 3
		default:
			return
		}
	}
}

// component passes one directive or modifier, so that ".v4.f32" is two tokens.
func (s *scanner) component() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case identByte[c]:
			s.pos++
		case c == ':' && s.peek(1) == ':' && identByte[s.peek(2)]:
			s.pos += 3
		default:
			return
		}
	}
}

// number reads integer and floating-point constants.
func (s *scanner) number(t *token) {
	start := s.pos
	if s.src[s.pos] == '0' {
		switch s.peek(1) {
		case 'f', 'F':
			s.hexFloat(t, tokF32, 8)
			return
		case 'd', 'D':
			s.hexFloat(t, tokF64, 16)
			return
		}
	}
	for s.pos < len(s.src) && identByte[s.src[s.pos]] {
		s.pos++
	}
	if s.peek(0) == '.' && isDigit(s.peek(1)) || isDecimalExp(s.src[start:s.pos]) {
		s.decimalFloat(t, start)
		return
	}
	text := s.src[start:s.pos]
	digits := text
	if n := len(digits); n > 1 && digits[n-1] == 'U' {
		digits = digits[:n-1]
	}
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		s.fail(t.line, t.col, "malformed integer constant %q", text)
	}
	t.kind, t.text, t.bits = tokInt, text, v
}

// isDecimalExp reports whether text is digits followed by an exponent mark.
func isDecimalExp(text string) bool {
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i > 0 && i < len(text) && (text[i] == 'e' || text[i] == 'E')
}

func (s *scanner) decimalFloat(t *token, start int) {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		sign := (c == '+' || c == '-') && (s.src[s.pos-1] == 'e' || s.src[s.pos-1] == 'E')
		if !isDigit(c) && c != '.' && c != 'e' && c != 'E' && !sign {
			break
		}
		s.pos++
	}
	t.kind, t.text = tokF64, s.src[start:s.pos]
	v, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		s.fail(t.line, t.col, "malformed floating-point constant %q", t.text)
	}
	t.bits = f64bits(v)
}

func (s *scanner) hexFloat(t *token, kind tokenKind, digits int) {
	start := s.pos
	s.pos += 2
	for s.pos < len(s.src) && identByte[s.src[s.pos]] {
		s.pos++
	}
	t.kind, t.text = kind, s.src[start:s.pos]
	v, err := strconv.ParseUint(t.text[2:], 16, 64)
	if err != nil || len(t.text) != digits+2 {
		s.fail(t.line, t.col, "malformed floating-point constant %q: it needs %d hexadecimal digits", t.text, digits)
	}
	t.bits = v
}
