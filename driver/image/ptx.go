package image

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sizes of PTX's types, in bytes.
var sizes = map[string]int{
	".b8": 1, ".u8": 1, ".s8": 1,
	".b16": 2, ".u16": 2, ".s16": 2, ".f16": 2, ".bf16": 2,
	".b32": 4, ".u32": 4, ".s32": 4, ".f32": 4, ".f16x2": 4,
	".b64": 8, ".u64": 8, ".s64": 8, ".f64": 8,
	".b128": 16,
}

// parsePTX reads the heads of the entry functions.
func parsePTX(text string) (*File, error) {
	l := &lexer{text: text}
	if l.next() != ".version" {
		return nil, fmt.Errorf("it is neither a cubin, nor a code object, nor PTX, which begins with .version")
	}
	f := &File{}
	for tok := l.next(); tok != ""; tok = l.next() {
		if tok != ".entry" {
			continue
		}
		k := Kernel{Name: l.next(), Params: []Param{}}
		if err := l.head(&k); err != nil {
			return nil, fmt.Errorf("the head of %s: %w", k.Name, err)
		}
		f.Kernels = append(f.Kernels, k)
	}
	return f, nil
}

// head reads parameters and directives, up to the body.
func (l *lexer) head(k *Kernel) error {
	tok := l.next()
	if tok == "(" {
		for tok = l.next(); tok != ")"; tok = l.next() {
			switch tok {
			case ".param":
				k.Params = append(k.Params, Param{})
			case "[":
				n, err := strconv.Atoi(l.next())
				if err != nil {
					return fmt.Errorf("a parameter's size cannot be read: %w", err)
				}
				if len(k.Params) == 0 {
					return errors.New("a size comes before the first parameter")
				}
				k.Params[len(k.Params)-1].Size *= n
			case "":
				return fmt.Errorf("the text ends")
			default:
				if n := sizes[tok]; n > 0 && len(k.Params) > 0 {
					k.Params[len(k.Params)-1].Size = n
				}
			}
		}
		tok = l.next()
	}
	for ; tok != "{"; tok = l.next() {
		switch tok {
		case "":
			return fmt.Errorf("the text ends")
		case ".reqntid":
			k.Block = [3]int{1, 1, 1}
			for i := range k.Block {
				n, err := strconv.Atoi(l.next())
				if err != nil {
					return fmt.Errorf(".reqntid: %w", err)
				}
				k.Block[i] = n
				if !l.accept(",") {
					break
				}
			}
		}
	}
	for i, p := range k.Params {
		if p.Size == 0 {
			return fmt.Errorf("parameter %d has no type", i)
		}
	}
	return nil
}

// lexer parts PTX into words and signs; comments and strings are passed over.
type lexer struct{ text string }

func (l *lexer) next() string {
	for {
		l.text = strings.TrimLeft(l.text, " \t\r\n")
		switch {
		case l.text == "":
			return ""
		case strings.HasPrefix(l.text, "//"):
			l.skipPast("\n", 2)
		case strings.HasPrefix(l.text, "/*"):
			l.skipPast("*/", 2)
		case l.text[0] == '"':
			l.skipPast("\"", 1)
		default:
			n := strings.IndexFunc(l.text, func(r rune) bool { return !word(r) })
			if n < 0 {
				n = len(l.text)
			}
			n = max(n, 1) // a sign
			tok := l.text[:n]
			l.text = l.text[n:]
			return tok
		}
	}
}

// skipPast drops the text up to and with the next end, from byte from on.
func (l *lexer) skipPast(end string, from int) {
	if i := strings.Index(l.text[from:], end); i >= 0 {
		l.text = l.text[from+i+len(end):]
	} else {
		l.text = ""
	}
}

// accept takes the next token if it is tok.
func (l *lexer) accept(tok string) bool {
	rest := l.text
	if l.next() == tok {
		return true
	}
	l.text = rest
	return false
}

func word(r rune) bool {
	return r == '_' || r == '$' || r == '.' || r == '%' || r == '@' ||
		'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
