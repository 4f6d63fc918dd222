package syntax

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tritonc/tritonc/core/diag"
)

// decodeSource decodes a file to the text that the tree's positions refer to:
// UTF-8 without byte order mark, lines ended by \n.
func decodeSource(file string, src []byte) (string, *diag.Diagnostic) {
	at := func(line int, format string, args ...any) *diag.Diagnostic {
		d := diag.Errorf(diag.Pos{File: file, Line: line, Col: 1}, format, args...)
		d.Line = strings.ToValidUTF8(diag.LineAt(string(src), line), "\uFFFD")
		return d
	}
	if len(src) > maxSource {
		return "", diag.Errorf(diag.Pos{File: file}, "the file has %s, more than the limit of %d", diag.Count(len(src), "byte"), maxSource)
	}
	rest, bom := bytes.CutPrefix(src, []byte("\xef\xbb\xbf"))
	if i := bytes.IndexByte(rest, 0); i >= 0 {
		return "", at(1+bytes.Count(rest[:i], []byte{'\n'}), "source code cannot contain null bytes").
			WithHelp("is this a Python file, in UTF-8?")
	}
	name, line := encodingCookie(rest)
	encoding := normalEncoding(name)
	if bom && name != "" && encoding != "utf-8" {
		return "", at(line, "encoding problem: %s with BOM", name)
	}
	var text string
	if encoding == "" || encoding == "utf-8" || encoding == "ascii" {
		if !utf8.Valid(rest) {
			return "", badUTF8(file, rest)
		}
		text = string(rest)
	} else if high := upperHalf(encoding); high != nil {
		text = decodeByte(rest, high)
		if i := strings.IndexRune(text, utf8.RuneError); i >= 0 {
			return "", at(1+strings.Count(text[:i], "\n"), "a byte of this line means nothing in %s", name)
		}
	} else {
		return "", at(line, "unknown encoding: %s", name).WithHelp("save the file as UTF-8 and drop the coding comment")
	}
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text, nil
}

func badUTF8(file string, src []byte) *diag.Diagnostic {
	off := 0
	for off < len(src) {
		r, size := utf8.DecodeRune(src[off:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		off += size
	}
	start := bytes.LastIndexByte(src[:off], '\n') + 1
	pos := diag.Pos{File: file, Line: 1 + bytes.Count(src[:off], []byte{'\n'}), Col: off - start + 1}
	d := diag.Errorf(pos, "the byte 0x%02x is not UTF-8", src[off]).WithHelp("save the file as UTF-8")
	d.Line = strings.ToValidUTF8(diag.LineAt(string(src), pos.Line), "\uFFFD")
	return d
}

// encodingCookie finds "coding: NAME" or "coding=NAME" in a comment that has
// one of the first two lines for itself (PEP 263).
func encodingCookie(src []byte) (name string, line int) {
	for line = 1; line <= 2; line++ {
		text, rest, _ := bytes.Cut(src, []byte{'\n'})
		src = rest
		text = bytes.TrimLeft(text, " \t\f")
		if len(text) > 0 && text[0] != '#' && text[0] != '\r' {
			return "", 0
		}
		for {
			i := bytes.Index(text, []byte("coding"))
			if i < 0 {
				break
			}
			text = text[i+len("coding"):]
			if len(text) == 0 || text[0] != ':' && text[0] != '=' {
				continue
			}
			text = bytes.TrimLeft(text[1:], " \t")
			n := 0
			for n < len(text) && (class[text[n]] == cLetter || class[text[n]] == cDigit || text[n] == '-' || text[n] == '.') {
				n++
			}
			if n > 0 {
				return string(text[:n]), line
			}
		}
	}
	return "", 0
}

// normalEncoding maps the names that an encoding goes by to one.
func normalEncoding(name string) string {
	n := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch {
	case n == "utf-8" || n == "utf8" || n == "u8" || strings.HasPrefix(n, "utf-8-"):
		return "utf-8"
	case n == "ascii" || n == "us-ascii":
		return "ascii"
	case n == "latin-1" || n == "latin1" || n == "iso-8859-1" || n == "iso8859-1" || n == "iso-latin-1" ||
		n == "l1" || strings.HasPrefix(n, "latin-1-") || strings.HasPrefix(n, "iso-8859-1-"):
		return "latin-1"
	case n == "iso-8859-15" || n == "iso8859-15" || n == "latin-9" || n == "latin9":
		return "iso-8859-15"
	case n == "cp1252" || n == "windows-1252" || n == "1252":
		return "cp1252"
	case n == "koi8-r":
		return "koi8-r"
	}
	return n
}

// upperHalf is what the bytes from 0x80 on mean in an encoding of one byte a
// character; U+FFFD is none. It returns nil for an encoding it does not know.
func upperHalf(encoding string) []rune {
	latin1 := make([]rune, 128)
	for i := range latin1 {
		latin1[i] = rune(128 + i)
	}
	switch encoding {
	case "latin-1":
		return latin1
	case "iso-8859-15":
		for c, r := range map[int]rune{
			0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ',
		} {
			latin1[c-128] = r
		}
		return latin1
	case "cp1252":
		copy(latin1, []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ"))
		return latin1
	case "koi8-r":
		return []rune("─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u00a0⌡°²·÷═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©" +
			"юабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ")
	}
	return nil
}

func decodeByte(src []byte, high []rune) string {
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	for _, c := range src {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteRune(high[c-utf8.RuneSelf])
		}
	}
	return b.String()
}
