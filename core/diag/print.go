package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fprint writes d for a person, without colours.
func Fprint(w io.Writer, d *Diagnostic) { Printer{}.Fprint(w, d) }

// Printer writes diagnostics for people: the one-line form, the source line with
// a caret, the help, and the notes. What came from a user's file cannot command
// the terminal.
type Printer struct {
	// Color marks the parts of a message as clang does, for a terminal that
	// knows ANSI's escape sequences.
	Color bool
}

// Escape sequences that begin each part of a message.
const (
	stylePlain   = ""
	styleStrong  = "\x1b[1m"
	styleError   = "\x1b[1;31m"
	styleWarning = "\x1b[1;35m"
	styleNote    = "\x1b[1;36m"
	styleMark    = "\x1b[1;32m"
	styleReset   = "\x1b[0m"
)

func (p Printer) paint(style, text string) string {
	if !p.Color || style == stylePlain || text == "" {
		return text
	}
	return style + text + styleReset
}

// Heading writes the one line "who: severity: message"; an empty who leaves its
// part out.
func (p Printer) Heading(w io.Writer, who string, s Severity, message string) {
	label, text := styleError, styleStrong
	switch s {
	case Warning:
		label = styleWarning
	case Note:
		label, text = styleNote, stylePlain
	}
	if who = printable(who); who != "" {
		who = p.paint(styleStrong, who+":") + " "
	}
	fmt.Fprintf(w, "%s%s %s\n", who, p.paint(label, s.String()+":"), p.paint(text, printable(message)))
}

// Help writes the next step.
func (p Printer) Help(w io.Writer, text string) {
	fmt.Fprintf(w, "  %s %s\n", p.paint(styleNote, "help:"), printable(text))
}

// Fprint writes d.
func (p Printer) Fprint(w io.Writer, d *Diagnostic) {
	who := ""
	if d.Pos != (Pos{}) {
		who = d.Pos.String()
	}
	p.Heading(w, who, d.Severity, d.Message)
	if d.Line != "" && d.Pos.Line > 0 {
		p.line(w, d)
	}
	if d.Help != "" {
		p.Help(w, strings.ReplaceAll(d.Help, "\n", "\n        "))
	}
	for i := range d.Notes {
		p.Fprint(w, &d.Notes[i])
	}
}

// maxShown bounds how much of a long source line is printed around the caret, in
// bytes.
const maxShown = 160

// line writes the source line and below it the mark.
func (p Printer) line(w io.Writer, d *Diagnostic) {
	line, col, end := d.Line, d.Pos.Col, d.EndCol
	if col > maxShown/2 && len(line) > maxShown {
		cut := col - maxShown/2
		for cut < len(line) && !utf8.RuneStart(line[cut]) {
			cut++
		}
		line, col, end = line[min(cut, len(line)):], col-cut, end-cut
	}
	if len(line) > maxShown {
		line = strings.ToValidUTF8(line[:maxShown], "")
	}
	fmt.Fprintf(w, "%5d | %s\n", d.Pos.Line, strings.Map(printableRune, line))
	if col < 1 {
		return
	}
	var pad, mark strings.Builder
	for i, r := range line {
		r = printableRune(r)
		switch at := i + 1; {
		case at < col:
			pad.WriteString(under(r, " "))
		case at == col || at < end:
			if mark.Len() == 0 && r == '\t' {
				mark.WriteByte('^') // so that there is something to see
			} else {
				mark.WriteString(under(r, "^"))
			}
		}
	}
	if mark.Len() == 0 {
		mark.WriteByte('^') // past the end, or at a rune without width
	}
	fmt.Fprintf(w, "      | %s%s\n", pad.String(), p.paint(styleMark, mark.String()))
}

// under is what comes below r in the line of the mark, as wide as r: a tab below
// a tab, else c for each column.
func under(r rune, c string) string {
	if r == '\t' {
		return "\t"
	}
	return strings.Repeat(c, width(r))
}

// width is how many columns a terminal takes for r.
func width(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) && r != '\u00ad':
		return 0
	case r >= 0x1100 && isWide(r):
		return 2
	}
	return 1
}

// isWide reports whether r is one of the wide characters of East Asian scripts,
// or an emoji.
func isWide(r rune) bool {
	switch {
	case 0x1160 <= r && r <= 0x11ff, 0xd7b0 <= r && r <= 0xd7ff, 0xff61 <= r && r <= 0xffdf: // parts of syllables; half-width forms
		return false
	case 0x3000 <= r && r <= 0x303e, 0xfe30 <= r && r <= 0xfe6f, 0xff01 <= r && r <= 0xff60, 0xffe0 <= r && r <= 0xffe6: // punctuation, full-width forms
		return true
	case 0x1f300 <= r && r <= 0x1f64f, 0x1f680 <= r && r <= 0x1f6ff, 0x1f900 <= r && r <= 0x1f9ff, 0x1fa70 <= r && r <= 0x1faff:
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi)
}

// printable keeps what a terminal may obey out of a message.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return printableRune(r)
	}, text)
}

// printableRune replaces control characters, one by one, so that marks stay
// right, and the marks of writing direction, which could reorder a line.
func printableRune(r rune) rune {
	switch {
	case r < ' ' && r != '\t', 0x7f <= r && r < 0xa0,
		0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return '?'
	}
	return r
}
