package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tritonc/tritonc/core/diag"
)

// lexer cuts a source into tokens, one logical line at a time: the parser never
// looks further ahead than that, the buffer stays in cache, and a mistake in
// line 9 cannot hide one in line 3.
type lexer struct {
	file string
	src  string

	pos       int   // next byte
	line      int32 // its line
	lineStart int   // offset of that line
	newLine   bool  // pos is at the start of a line whose indentation counts

	indents  []indent
	brackets []bracket
	fstrings []fstring // open f-strings, innermost last

	toks     []token // the current logical line
	comments []Comment
	// fieldComments are the (start, end) offsets of comments inside fields of
	// f-strings, which the text of {x=} leaves out.
	fieldComments [][2]int32
	err           *diag.Diagnostic
}

// indent is a level of indentation, measured with tabs of eight columns and
// of one: where the two disagree about an order, tabs and spaces are mixed.
type indent struct{ col, alt int32 }

// bracket is an open (, [ or {.
type bracket struct {
	char  byte
	field bool // the { of an f-string's replacement field
	line  int32
	col   int32
	off   int32
}

// lexError ends lexing; fill recovers it.
type lexError struct{}

func (l *lexer) init(file, src string, toks []token) {
	*l = lexer{file: file, src: src, line: 1, newLine: true, toks: toks[:0]}
	l.indents = append(make([]indent, 0, 16), indent{})
	l.brackets = make([]bracket, 0, 16)
}

// fail records the diagnostic at an offset of the current line and stops.
func (l *lexer) fail(off int, format string, args ...any) {
	l.failAt(l.line, int32(off-l.lineStart), nil, format, args...)
}

// failHelp is fail with a next step for the user.
func (l *lexer) failHelp(off int, help, message string) {
	l.failAt(l.line, int32(off-l.lineStart), &help, "%s", message)
}

func (l *lexer) failAt(line, col int32, help *string, format string, args ...any) {
	d := &diag.Diagnostic{
		Pos:     diag.Pos{File: l.file, Line: int(line), Col: int(col) + 1},
		Message: fmt.Sprintf(format, args...),
	}
	if help != nil {
		d.Help = *help
	}
	l.err = d.WithSource(l.src)
	panic(lexError{})
}

// fill replaces toks by the next logical line: indentation tokens, the line,
// tNewline; at the end dedents and tEOF; after a mistake it ends in tError.
func (l *lexer) fill() {
	l.toks = l.toks[:0]
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(lexError); !ok {
				panic(r)
			}
			l.toks = append(l.toks, token{
				Span: Span{l.line, 0, l.line, 0}, off: int32(l.pos), end: int32(l.pos), kind: tError,
			})
		}
	}()
	if l.newLine && !l.indentation() {
		l.emit(tEOF, l.pos)
		return
	}
	for l.scan() {
	}
}

// emit adds a token that starts at off on the current line and ends at pos.
func (l *lexer) emit(k tokenKind, off int) {
	l.toks = append(l.toks, token{
		Span: Span{l.line, int32(off - l.lineStart), l.line, int32(l.pos - l.lineStart)},
		off:  int32(off),
		end:  int32(l.pos),
		kind: k,
	})
}

// emitFrom adds a token that may span lines.
func (l *lexer) emitFrom(k tokenKind, off int, line, col int32) {
	l.toks = append(l.toks, token{
		Span: Span{line, col, l.line, int32(l.pos - l.lineStart)},
		off:  int32(off),
		end:  int32(l.pos),
		kind: k,
	})
}

// advanceLine notes that a line ends just before pos.
func (l *lexer) advanceLine() {
	l.line++
	l.lineStart = l.pos
}

// indentation skips blank lines and comments, measures the next line's
// indentation and emits what changes. It reports whether there is such a line.
func (l *lexer) indentation() bool {
	l.newLine = false
	src := l.src
	for {
		var col, alt int32
		continued := int32(0) // the indentation of a line that is but a \, if any
		pos := l.pos
	measure:
		for pos < len(src) {
			switch src[pos] {
			case ' ':
				col++
				alt++
			case '\t':
				col = (col/8 + 1) * 8
				alt++
			case '\f':
				col, alt = 0, 0
			case '\\':
				if pos+1 >= len(src) || src[pos+1] != '\n' {
					break measure
				}
				// The first of the joined lines that is indented counts.
				if continued == 0 {
					continued = col
				}
				pos += 2
				l.pos = pos
				l.advanceLine()
				if pos >= len(src) {
					l.fail(pos, "unexpected EOF while parsing")
				}
				continue
			default:
				break measure
			}
			pos++
		}
		l.pos = pos
		if pos >= len(src) {
			for range l.indents[1:] {
				l.emit(tDedent, pos)
			}
			return false
		}
		switch src[pos] {
		case '#':
			l.comment()
			continue
		case '\n':
			l.pos++
			l.advanceLine()
			continue
		}
		if continued > 0 {
			col, alt = continued, continued
		}
		l.setIndent(col, alt)
		return true
	}
}

func (l *lexer) setIndent(col, alt int32) {
	const mixed = "inconsistent use of tabs and spaces in indentation"
	const mixedHelp = "indent this block with spaces alone, or with tabs alone"
	top := l.indents[len(l.indents)-1]
	switch {
	case col == top.col:
		if alt != top.alt {
			l.failHelp(l.pos, mixedHelp, mixed)
		}
	case col > top.col:
		if len(l.indents) > maxIndents {
			l.fail(l.pos, "too many levels of indentation")
		}
		if alt <= top.alt {
			l.failHelp(l.pos, mixedHelp, mixed)
		}
		l.indents = append(l.indents, indent{col, alt})
		l.emit(tIndent, l.pos)
	default:
		for len(l.indents) > 1 && col < l.indents[len(l.indents)-1].col {
			l.indents = l.indents[:len(l.indents)-1]
			l.emit(tDedent, l.pos)
		}
		top = l.indents[len(l.indents)-1]
		if col != top.col {
			l.failHelp(l.pos, "align this line with the start of an enclosing block",
				"unindent does not match any outer indentation level")
		}
		if alt != top.alt {
			l.failHelp(l.pos, mixedHelp, mixed)
		}
	}
}

// comment reads from # up to the end of the line, which stays.
func (l *lexer) comment() {
	off := l.pos
	if i := strings.IndexByte(l.src[off:], '\n'); i >= 0 {
		l.pos = off + i
	} else {
		l.pos = len(l.src)
	}
	l.comments = append(l.comments, Comment{
		Span: Span{l.line, int32(off - l.lineStart), l.line, int32(l.pos - l.lineStart)},
		Text: l.src[off:l.pos],
	})
	if len(l.fstrings) > 0 {
		l.fieldComments = append(l.fieldComments, [2]int32{int32(off), int32(l.pos)})
	}
}

// scan reads one token and reports whether the logical line goes on.
func (l *lexer) scan() bool {
	if n := len(l.fstrings); n > 0 && l.fstrings[n-1].inText {
		l.fstringText()
		return true
	}
	src := l.src
	for l.pos < len(src) {
		c := src[l.pos]
		switch class[c] {
		case cSpace:
			l.pos++
			continue
		case cLetter:
			l.name()
			return true
		case cDigit:
			l.number()
			return true
		case cQuote:
			l.stringLiteral(l.pos)
			return true
		case cOperator:
			l.operator(c)
			return true
		case cUnicode:
			l.unicodeName()
			return true
		}
		switch c {
		case '#':
			l.comment()
			continue
		case '\n':
			off := l.pos
			l.pos++
			if len(l.brackets) > 0 {
				l.advanceLine()
				continue
			}
			l.emit(tNewline, off)
			l.advanceLine()
			l.newLine = true
			return false
		case '\\':
			l.continuation()
			continue
		case '.':
			if l.pos+1 < len(src) && class[src[l.pos+1]] == cDigit {
				l.number()
			} else {
				l.operator(c)
			}
			return true
		}
		l.badCharacter()
	}
	if n := len(l.fstrings); n > 0 {
		l.unclosedField()
	}
	if n := len(l.brackets); n > 0 {
		b := l.brackets[n-1]
		l.failAt(b.line, b.col, nil, "'%c' was never closed", b.char)
	}
	// A last line without a newline ends here all the same.
	l.emit(tNewline, l.pos)
	l.newLine = true
	return false
}

// continuation skips a backslash and the line end that must follow it.
func (l *lexer) continuation() {
	off := l.pos
	switch {
	case off+1 >= len(l.src):
		l.fail(off+1, "unexpected EOF while parsing")
	case l.src[off+1] != '\n':
		l.failHelp(off+1, "only the end of the line may follow '\\'",
			"unexpected character after line continuation character")
	}
	l.pos += 2
	l.advanceLine()
	if l.pos >= len(l.src) {
		l.fail(l.pos, "unexpected EOF while parsing")
	}
}

func (l *lexer) badCharacter() {
	c, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	switch {
	case c == '!':
		l.failHelp(l.pos, "negation is written not, inequality !=", "invalid syntax")
	case c > ' ' && c < utf8.RuneSelf:
		l.fail(l.pos, "invalid syntax: '%c' means nothing in Python", c)
	default:
		l.fail(l.pos, "invalid non-printable character U+%04X", c)
	}
}

// Classes of bytes, by what may start there.
const (
	cOther = iota
	cSpace
	cLetter
	cDigit
	cQuote
	cOperator
	cUnicode
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == ' ' || c == '\t' || c == '\f':
			t[c] = cSpace
		case c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z':
			t[c] = cLetter
		case '0' <= c && c <= '9':
			t[c] = cDigit
		case c == '"' || c == '\'':
			t[c] = cQuote
		case strings.IndexByte("()[]{}:,;=+-*/%@<>|^&~!", byte(c)) >= 0:
			t[c] = cOperator
		case c >= utf8.RuneSelf:
			t[c] = cUnicode
		}
	}
	return t
}()

// name reads an identifier, a keyword, or a string with a prefix.
func (l *lexer) name() {
	src, off := l.src, l.pos
	pos := off + 1
	for pos < len(src) && (class[src[pos]] == cLetter || class[src[pos]] == cDigit) {
		pos++
	}
	if pos < len(src) {
		if c := src[pos]; class[c] == cQuote && pos-off <= 2 && isStringPrefix(src[off:pos]) {
			l.pos = pos
			l.stringLiteral(off)
			return
		} else if class[c] == cUnicode {
			l.unicodeName()
			return
		}
	}
	l.pos = pos
	l.emit(keyword(src[off:pos]), off)
}

// isStringPrefix reports whether s, of one or two letters, may precede a quote.
func isStringPrefix(s string) bool {
	a := s[0] | 0x20
	if len(s) == 1 {
		return a == 'r' || a == 'b' || a == 'u' || a == 'f'
	}
	b := s[1] | 0x20
	return a == 'r' && (b == 'b' || b == 'f') || b == 'r' && (a == 'b' || a == 'f')
}

// unicodeName reads an identifier that holds characters beyond ASCII.
func (l *lexer) unicodeName() {
	off := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if c < utf8.RuneSelf {
			if class[c] != cLetter && class[c] != cDigit {
				break
			}
			l.pos++
			continue
		}
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if l.pos == off && !isIDStart(r) || !isIDContinue(r) {
			if !isPrintable(r) {
				l.fail(l.pos, "invalid non-printable character U+%04X", r)
			}
			l.fail(l.pos, "invalid character '%c' (U+%04X)", r, r)
		}
		l.pos += size
	}
	l.emit(tName, off)
}

// operator reads the longest operator that starts with c.
func (l *lexer) operator(c byte) {
	off := l.pos
	var c1, c2 byte
	if off+1 < len(l.src) {
		c1 = l.src[off+1]
	}
	if off+2 < len(l.src) {
		c2 = l.src[off+2]
	}
	k, n := operatorKind(c, c1, c2)
	if len(l.fstrings) > 0 && len(l.brackets) > 0 && l.brackets[len(l.brackets)-1].field {
		switch {
		case c == ':':
			// A format spec begins, even where := or :: seems to follow.
			l.pos++
			l.emit(tColon, off)
			l.fstrings[len(l.fstrings)-1].inText = true
			return
		case c == '!' && c1 != '=':
			l.pos++
			l.emit(tExclam, off)
			return
		}
	}
	if n == 0 {
		l.badCharacter()
	}
	switch k {
	case tLParen, tLBracket, tLBrace:
		l.open(c, false)
	case tRParen, tRBracket, tRBrace:
		l.close(c)
	}
	l.pos += n
	l.emit(k, off)
}

func (l *lexer) open(c byte, field bool) {
	if len(l.brackets) >= maxBrackets {
		l.fail(l.pos, "too many nested parentheses")
	}
	l.brackets = append(l.brackets, bracket{
		char: c, field: field, line: l.line, col: int32(l.pos - l.lineStart), off: int32(l.pos),
	})
}

func (l *lexer) close(c byte) {
	n := len(l.brackets)
	if n == 0 {
		l.fail(l.pos, "unmatched '%c'", c)
	}
	b := l.brackets[n-1]
	if b.char != c-1 && b.char != c-2 { // in ASCII ( ) are neighbours, [ ] and { } two apart
		switch {
		case b.field:
			l.fail(l.pos, "f-string: closing parenthesis '%c' does not match opening parenthesis '%c'", c, b.char)
		case b.line != l.line:
			l.fail(l.pos, "closing parenthesis '%c' does not match opening parenthesis '%c' on line %d", c, b.char, b.line)
		}
		l.fail(l.pos, "closing parenthesis '%c' does not match opening parenthesis '%c'", c, b.char)
	}
	l.brackets = l.brackets[:n-1]
	if b.field {
		f := &l.fstrings[len(l.fstrings)-1]
		f.fields--
		f.inText = true
	}
}

// operatorKind returns the longest operator that c, c1, c2 begin with, and its
// length; 0 when there is none.
func operatorKind(c, c1, c2 byte) (tokenKind, int) {
	switch c {
	case '(':
		return tLParen, 1
	case ')':
		return tRParen, 1
	case '[':
		return tLBracket, 1
	case ']':
		return tRBracket, 1
	case '{':
		return tLBrace, 1
	case '}':
		return tRBrace, 1
	case ',':
		return tComma, 1
	case ';':
		return tSemi, 1
	case '~':
		return tTilde, 1
	case ':':
		return orEqual(tColon, tColonEqual, c1)
	case '=':
		return orEqual(tEqual, tEqEqual, c1)
	case '.':
		if c1 == '.' && c2 == '.' {
			return tEllipsis, 3
		}
		return tDot, 1
	case '!':
		if c1 == '=' {
			return tNotEqual, 2
		}
		return tExclam, 0
	case '+':
		return orEqual(tPlus, tPlusEqual, c1)
	case '-':
		if c1 == '>' {
			return tArrow, 2
		}
		return orEqual(tMinus, tMinusEqual, c1)
	case '*':
		return doubled(c, c1, c2, tStar, tStarEqual, tDoubleStar, tDoubleStarEqual)
	case '/':
		return doubled(c, c1, c2, tSlash, tSlashEqual, tDoubleSlash, tDoubleSlashEqual)
	case '<':
		if c1 == '>' {
			return tNotEqual, 2 // the parser refuses it with its own message
		}
		return doubled(c, c1, c2, tLess, tLessEqual, tLShift, tLShiftEqual)
	case '>':
		return doubled(c, c1, c2, tGreater, tGreaterEqual, tRShift, tRShiftEqual)
	case '%':
		return orEqual(tPercent, tPercentEqual, c1)
	case '@':
		return orEqual(tAt, tAtEqual, c1)
	case '|':
		return orEqual(tPipe, tPipeEqual, c1)
	case '^':
		return orEqual(tCaret, tCaretEqual, c1)
	case '&':
		return orEqual(tAmper, tAmperEqual, c1)
	}
	return tError, 0
}

func orEqual(plain, equal tokenKind, c1 byte) (tokenKind, int) {
	if c1 == '=' {
		return equal, 2
	}
	return plain, 1
}

// doubled tells c, c=, cc and cc= apart.
func doubled(c, c1, c2 byte, one, oneEqual, two, twoEqual tokenKind) (tokenKind, int) {
	switch {
	case c1 == '=':
		return oneEqual, 2
	case c1 != c:
		return one, 1
	case c2 == '=':
		return twoEqual, 3
	}
	return two, 2
}
