package syntax

import "strings"

// fstring is an f-string that is being read. Its text and what is in its
// fields are tokens of the same stream (PEP 701).
type fstring struct {
	quote  byte
	triple bool
	raw    bool
	// inText: pos is in literal text or a format spec, not in an expression.
	inText bool
	fields int // open fields; more than one are within format specs
	off    int
	line   int32
	col    int32
}

// stringLiteral reads the literal whose prefix starts at off and whose first
// quote is at pos.
func (l *lexer) stringLiteral(off int) {
	line, col := l.line, int32(off-l.lineStart)
	prefix := l.src[off:l.pos]
	quote := l.src[l.pos]
	triple := strings.HasPrefix(l.src[l.pos+1:], l.src[l.pos:l.pos+1]+l.src[l.pos:l.pos+1])
	formatted, raw := false, false
	for i := range len(prefix) {
		switch prefix[i] | 0x20 {
		case 'f':
			formatted = true
		case 'r':
			raw = true
		}
	}
	l.pos++
	if triple {
		l.pos += 2
	}
	switch {
	case formatted:
		if len(l.fstrings) >= maxFStrings {
			l.fail(off, "too many nested f-strings")
		}
		l.emit(tFStringStart, off)
		l.fstrings = append(l.fstrings, fstring{
			quote: quote, triple: triple, raw: raw, inText: true, off: off, line: line, col: col,
		})
	case triple:
		l.tripleQuoted(quote, line, col)
		l.emitFrom(tString, off, line, col)
	default:
		l.singleQuoted(quote, line, col)
		l.emitFrom(tString, off, line, col)
	}
}

func (l *lexer) singleQuoted(quote byte, line, col int32) {
	src, pos := l.src, l.pos
	for pos < len(src) && src[pos] != '\n' {
		switch src[pos] {
		case quote:
			l.pos = pos + 1
			return
		case '\\':
			pos++
			if pos < len(src) && src[pos] == '\n' {
				l.pos = pos + 1
				l.advanceLine()
			}
		}
		pos++
	}
	if n := len(l.fstrings); n > 0 && l.fstrings[n-1].quote == quote && !l.fstrings[n-1].triple {
		l.failAt(line, col, nil, "f-string: expecting '}'")
	}
	help := "close it with " + string(rune(quote)) + " on the same line, or use " +
		strings.Repeat(string(rune(quote)), 3) + " for a text of several lines"
	l.failAt(line, col, &help, "unterminated string literal (detected at line %d)", l.line)
}

func (l *lexer) tripleQuoted(quote byte, line, col int32) {
	src := l.src
	for {
		i := strings.IndexByte(src[l.pos:], quote)
		if i < 0 {
			break
		}
		end := l.pos + i
		pos := l.pos
		for pos < end {
			j := strings.IndexByte(src[pos:end], '\\')
			if j < 0 {
				pos = end
			} else {
				pos += j + 2
			}
		}
		l.countLines(pos)
		switch {
		case pos > end: // this quote was escaped
		case end+2 < len(src) && src[end+1] == quote && src[end+2] == quote:
			l.pos = end + 3
			return
		default:
			l.pos = end + 1
		}
	}
	l.countLines(len(src))
	l.failAt(line, col, nil, "unterminated triple-quoted string literal (detected at line %d)", l.lastLine())
}

// countLines moves pos to end past any number of lines.
func (l *lexer) countLines(end int) {
	text := l.src[l.pos:end]
	if n := strings.Count(text, "\n"); n > 0 {
		l.line += int32(n)
		l.lineStart = l.pos + strings.LastIndexByte(text, '\n') + 1
	}
	l.pos = end
}

// lastLine is the number of the last line that has text; pos is at the end.
func (l *lexer) lastLine() int32 {
	if l.lineStart == len(l.src) && l.line > 1 {
		return l.line - 1
	}
	return l.line
}

// fstringText reads text of the innermost f-string up to a field, the end of
// the field's format spec, or the end of the string.
func (l *lexer) fstringText() {
	f := &l.fstrings[len(l.fstrings)-1]
	src, off := l.src, l.pos
	line, col := l.line, int32(off-l.lineStart)
	spec := f.fields > 0
	for l.pos < len(src) {
		c := src[l.pos]
		next := byte(0)
		if l.pos+1 < len(src) {
			next = src[l.pos+1]
		}
		switch c {
		case '\n':
			if !f.triple {
				if spec {
					// As CPython has it, the spec ends here; only } may follow.
					l.middle(off, line, col)
					f.inText = false
					return
				}
				l.unterminatedFString()
			}
			l.pos++
			l.advanceLine()
		case '\\':
			l.escape(f, next)
		case '{':
			if next == '{' && !spec {
				l.pos += 2
				continue
			}
			l.middle(off, line, col)
			if f.fields >= maxFields {
				l.fail(l.pos, "f-string: expressions nested too deeply")
			}
			l.open('{', true)
			f.fields++
			f.inText = false
			l.pos++
			l.emit(tLBrace, l.pos-1)
			return
		case '}':
			if next == '}' && !spec {
				l.pos += 2
				continue
			}
			if !spec {
				l.failHelp(l.pos, "write }} for a brace", "f-string: single '}' is not allowed")
			}
			l.middle(off, line, col)
			f.inText = false
			return
		case f.quote:
			if f.triple && (next != c || l.pos+2 >= len(src) || src[l.pos+2] != c) {
				l.pos++
				continue
			}
			if spec {
				l.fail(l.pos, "f-string: expecting '}', or format specs")
			}
			l.middle(off, line, col)
			start := l.pos
			l.pos++
			if f.triple {
				l.pos += 2
			}
			l.emit(tFStringEnd, start)
			l.fstrings = l.fstrings[:len(l.fstrings)-1]
			return
		default:
			l.pos++
		}
	}
	l.unterminatedFString()
}

// escape skips a backslash of f-string text and what it takes with it.
func (l *lexer) escape(f *fstring, next byte) {
	switch {
	case next == '{' || next == '}':
		l.pos++ // the brace keeps its meaning
	case next == '\n':
		l.pos += 2
		l.advanceLine()
	case next == 'N' && !f.raw && strings.HasPrefix(l.src[l.pos:], `\N{`):
		// The braces of \N{NAME} open no field.
		l.pos += 3
		for l.pos < len(l.src) {
			switch l.src[l.pos] {
			case '}':
				l.pos++
				return
			case '\n', f.quote:
				return
			}
			l.pos++
		}
	default:
		l.pos = min(l.pos+2, len(l.src))
	}
}

// middle emits the text between off and pos, if any.
func (l *lexer) middle(off int, line, col int32) {
	if l.pos > off {
		l.emitFrom(tFStringMiddle, off, line, col)
	}
}

func (l *lexer) unterminatedFString() {
	f := l.fstrings[len(l.fstrings)-1]
	if f.triple {
		l.failAt(f.line, f.col, nil, "unterminated triple-quoted f-string literal (detected at line %d)", l.lastLine())
	}
	l.failAt(f.line, f.col, nil, "unterminated f-string literal (detected at line %d)", l.line)
}

// unclosedField reports a field that the end of the file leaves open.
func (l *lexer) unclosedField() {
	b := l.brackets[len(l.brackets)-1]
	l.failAt(b.line, b.col, nil, "'%c' was never closed", b.char)
}

// number reads a numeric literal; its value is worked out by the parser.
func (l *lexer) number() {
	off := l.pos
	kind := "decimal"
	if l.src[off] == '0' && off+1 < len(l.src) {
		switch l.src[off+1] | 0x20 {
		case 'x':
			l.radix("hexadecimal", 16)
			l.emit(tNumber, off)
			return
		case 'o':
			l.radix("octal", 8)
			l.emit(tNumber, off)
			return
		case 'b':
			l.radix("binary", 2)
			l.emit(tNumber, off)
			return
		}
	}
	integer := true
	if l.src[off] != '.' {
		l.digits()
	}
	if l.at('.') {
		integer = false
		l.pos++
		if l.pos < len(l.src) && class[l.src[l.pos]] == cDigit {
			l.digits()
		}
	}
	if l.at('e') || l.at('E') {
		if l.exponent() {
			integer = false
		}
	}
	if l.at('j') || l.at('J') {
		kind = "imaginary"
		l.pos++
		integer = false
	}
	if integer && l.src[off] == '0' && strings.Trim(l.src[off:l.pos], "0_") != "" {
		l.failHelp(off, "use an 0o prefix for octal integers",
			"leading zeros in decimal integer literals are not permitted")
	}
	l.endOfNumber(kind)
	l.emit(tNumber, off)
}

func (l *lexer) at(c byte) bool { return l.pos < len(l.src) && l.src[l.pos] == c }

// digits reads decimal digits, single underscores between them.
func (l *lexer) digits() {
	for {
		for l.pos < len(l.src) && class[l.src[l.pos]] == cDigit {
			l.pos++
		}
		if !l.at('_') {
			return
		}
		l.pos++
		if l.pos >= len(l.src) || class[l.src[l.pos]] != cDigit {
			l.fail(l.pos, "invalid decimal literal")
		}
	}
}

// exponent reads e[+-]digits if that is what is at pos.
func (l *lexer) exponent() bool {
	pos := l.pos + 1
	signed := pos < len(l.src) && (l.src[pos] == '+' || l.src[pos] == '-')
	if signed {
		pos++
	}
	if pos < len(l.src) && class[l.src[pos]] == cDigit {
		l.pos = pos
		l.digits()
		return true
	}
	if signed {
		l.fail(pos, "invalid decimal literal")
	}
	return false // 1else: the e may begin a keyword
}

// radix reads 0x…, 0o… or 0b….
func (l *lexer) radix(kind string, base int) {
	l.pos += 2
	for {
		l.skipUnderscore()
		n := l.pos
		for l.pos < len(l.src) && digitValue(l.src[l.pos]) < base {
			l.pos++
		}
		if l.pos == n {
			if l.pos < len(l.src) && class[l.src[l.pos]] == cDigit {
				l.fail(l.pos, "invalid digit '%c' in %s literal", l.src[l.pos], kind)
			}
			l.fail(l.pos, "invalid %s literal", kind)
		}
		if !l.at('_') {
			break
		}
	}
	if l.pos < len(l.src) && class[l.src[l.pos]] == cDigit {
		l.fail(l.pos, "invalid digit '%c' in %s literal", l.src[l.pos], kind)
	}
	l.endOfNumber(kind)
}

func (l *lexer) skipUnderscore() {
	if l.at('_') {
		l.pos++
	}
}

// digitValue is the value of a digit up to f, 16 for any other byte.
func digitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 16
}

// endOfNumber refuses a name right after a number, other than a keyword that
// may follow one.
func (l *lexer) endOfNumber(kind string) {
	if l.pos >= len(l.src) {
		return
	}
	switch class[l.src[l.pos]] {
	case cLetter:
		for _, k := range [...]string{"and", "else", "for", "if", "in", "is", "not", "or"} {
			if strings.HasPrefix(l.src[l.pos:], k) {
				return
			}
		}
		l.fail(l.pos, "invalid %s literal", kind)
	case cUnicode:
		l.fail(l.pos, "invalid %s literal", kind)
	}
}
