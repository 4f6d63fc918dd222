package signature

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Spec is one signature of one kernel.
type Spec struct {
	// Kernel is the name, or "" where the text does not say.
	Kernel string
	Args   []Arg
	// Options are the compile options that a comment gives.
	Options []Option
	// Text is where the signature was read from.
	Text Text
}

// Text is a piece of text with its place: a flag's value, or part of a line of
// a source file.
type Text struct {
	File string // as diagnostics show it: "-s", or the source file
	Line int    // from 1
	Full string // the whole line
	Col  int    // where in Full the signature begins, from 0
}

// Arg is one entry.
type Arg struct {
	Name string // of the parameter, or "" by position
	// Type is the type's text without the hint; "" for anything else.
	Type string
	Hint int // 16, 1, or 0
	// Small: the pointer is to a buffer of less than 2 GiB.
	Small bool
	// Expr is a constant as a Python expression; nil for a type or a tuple.
	Expr syntax.Expr
	// Elems are the elements of a tuple that holds types.
	Elems []Arg
	Tuple bool
	// Start and End are the entry's place in Text.Full.
	Start, End int
	// Source is the entry as written, without the name.
	Source string
}

// Option is one compile option. Value is int64, float64, bool or string.
type Option struct {
	Name       string
	Value      any
	Start, End int
}

// Errorf makes a diagnostic at a place of the text.
func (t *Text) Errorf(start, end int, format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(diag.Pos{File: t.File, Line: t.Line, Col: start + 1}, format, args...)
	d.EndCol = end + 1
	d.Line = t.Full
	return d
}

// Errorf makes a diagnostic at the place of an entry.
func (s *Spec) Errorf(a *Arg, format string, args ...any) *diag.Diagnostic {
	return s.Text.Errorf(a.Start, a.End, format, args...)
}

// Parse reads a signature given as a flag's value, such as
// "*fp32:16, i32, BLOCK=1024"; flag is the flag's name for messages.
func Parse(flag, text string) (*Spec, error) {
	p := &parser{Text{File: flag, Line: 1, Full: text}}
	args, err := p.entries(0, len(text))
	if err != nil {
		return nil, err
	}
	return &Spec{Args: args, Text: p.Text}, nil
}

// marker begins a comment that holds a signature.
const marker = "tritonc:"

// FromComments reads the signatures in a file's comments, in order. All
// mistakes are reported.
func FromComments(tree *syntax.Module) ([]*Spec, error) {
	var specs []*Spec
	var errs diag.List
	for _, c := range tree.Comments {
		body := strings.TrimLeft(c.Text, "# \t")
		if !strings.HasPrefix(body, marker) {
			continue
		}
		line := diag.LineAt(tree.Source, int(c.Line))
		start := int(c.Col) + len(c.Text) - len(body) + len(marker)
		p := &parser{Text{File: tree.Filename, Line: int(c.Line), Full: line, Col: start}}
		s, err := p.variant(start, int(c.Col)+len(c.Text))
		if err != nil {
			errs = append(errs, diag.All(err)...)
			continue
		}
		specs = append(specs, s)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return specs, nil
}

type parser struct{ Text }

// variant reads kernel(entries) option=value …
func (p *parser) variant(start, end int) (*Spec, error) {
	s := &Spec{Text: p.Text}
	i := p.skip(start, end)
	from := i
	for i < end && isName(p.Full[i]) {
		i++
	}
	s.Kernel = p.Full[from:i]
	if s.Kernel == "" || i >= end || p.Full[i] != '(' {
		return nil, p.Errorf(from, max(i, from+1), "expected a kernel's name and its arguments in parentheses").
			WithHelp("write: # tritonc: kernel(*fp32:16, i32, BLOCK=1024) num_warps=4")
	}
	close := p.matching(i, end)
	if close < 0 {
		return nil, p.Errorf(i, i+1, "this parenthesis is never closed")
	}
	var err error
	if s.Args, err = p.entries(i+1, close); err != nil {
		return nil, err
	}
	for i = p.skip(close+1, end); i < end; i = p.skip(i, end) {
		from := i
		for i < end && p.Full[i] != ' ' && p.Full[i] != '\t' && p.Full[i] != ',' {
			i++
		}
		name, value, ok := strings.Cut(p.Full[from:i], "=")
		if !ok || name == "" || value == "" {
			return nil, p.Errorf(from, i, "expected an option as name=value").WithHelp("for example num_warps=4")
		}
		s.Options = append(s.Options, Option{name, OptionValue(value), from, i})
		for i < end && p.Full[i] == ',' {
			i++
		}
	}
	return s, nil
}

// OptionValue reads the text of an option's value: a number, True or False, or a
// string, in quotes or not.
func OptionValue(s string) any {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	switch s {
	case "True", "true":
		return true
	case "False", "false":
		return false
	}
	return strings.Trim(s, `'"`)
}

func (p *parser) skip(i, end int) int {
	for i < end && (p.Full[i] == ' ' || p.Full[i] == '\t') {
		i++
	}
	return i
}

func isName(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// matching finds the bracket that closes the one at i, or -1; text in quotes
// does not count.
func (p *parser) matching(i, end int) int {
	depth := 0
	for ; i < end; i++ {
		switch c := p.Full[i]; c {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"':
			for i++; i < end && p.Full[i] != c; i++ {
			}
		}
	}
	return -1
}

// maxEntries bounds a signature.
const maxEntries = 4096

// entries reads what comes between commas.
func (p *parser) entries(start, end int) ([]Arg, error) {
	var args []Arg
	named := false
	for i := p.skip(start, end); i < end; {
		from, depth := i, 0
	scan:
		for ; i < end; i++ {
			switch p.Full[i] {
			case '(', '[', '{', '<', '\'', '"':
				if strings.IndexByte(`'"`, p.Full[i]) >= 0 {
					q := strings.IndexByte(p.Full[i+1:end], p.Full[i])
					if q < 0 {
						return nil, p.Errorf(i, i+1, "this string is never closed")
					}
					i += q + 1
					continue
				}
				depth++
			case ')', ']', '}', '>':
				if depth--; depth < 0 {
					return nil, p.Errorf(i, i+1, "nothing is open here to be closed")
				}
			case ',':
				if depth == 0 {
					break scan
				}
			}
		}
		if depth > 0 {
			return nil, p.Errorf(from, i, "a bracket is never closed")
		}
		a, err := p.entry(from, i)
		if err != nil {
			return nil, err
		}
		if a.Name == "" && named {
			return nil, p.Errorf(a.Start, a.End, "an argument by position cannot follow one by name")
		}
		named = named || a.Name != ""
		if args = append(args, a); len(args) > maxEntries {
			return nil, p.Errorf(from, i, "a signature has at most %d entries", maxEntries)
		}
		i = p.skip(i+1, end)
	}
	return args, nil
}

func (p *parser) entry(start, end int) (Arg, error) {
	start = p.skip(start, end)
	for end > start && (p.Full[end-1] == ' ' || p.Full[end-1] == '\t') {
		end--
	}
	a := Arg{Start: start, End: max(end, start+1)}
	if start == end {
		return a, p.Errorf(start, start+1, "expected an argument's type or value before this comma")
	}
	i := start
	for i < end && isName(p.Full[i]) {
		i++
	}
	if eq := p.skip(i, end); i > start && eq < end && p.Full[eq] == '=' && (eq+1 >= end || p.Full[eq+1] != '=') {
		a.Name = p.Full[start:i]
		start = p.skip(eq+1, end)
		if start >= end {
			return a, p.Errorf(a.Start, end, "'%s' has no type or value", a.Name).WithHelp("write %s=i32 or %s=1024", a.Name, a.Name)
		}
	}
	a.Source = p.Full[start:end]
	if t, hints := splitHints(a.Source); IsType(t) {
		a.Type = t
		return a, p.hints(&a, hints, start, end)
	}
	if strings.HasPrefix(a.Source, "*") {
		return a, p.Errorf(start, end, "unknown type '%s'", a.Source).WithHelp("pointers are * and one of %s", typeList)
	}
	if p.Full[start] == '(' && p.matching(start, end) == end-1 {
		elems, err := p.entries(start+1, end-1)
		if err == nil && hasTypes(elems) {
			a.Elems, a.Tuple = elems, true
			return a, nil
		}
	}
	e, err := syntax.ParseExpr(p.File, []byte(a.Source))
	if err != nil {
		return a, p.Errorf(start, end, "'%s' is neither a type nor a value", a.Source).
			WithHelp("types are %s, pointers *fp32; values are Python literals, tl.float16, names of the file", typeList)
	}
	a.Expr = e
	return a, nil
}

// hints reads the hints of a type's entry.
func (p *parser) hints(a *Arg, hints []string, start, end int) error {
	t := a.Type
	for _, hint := range hints {
		switch {
		case hint == "16" && a.Hint == 0:
			a.Hint = 16
		case hint == "1" && a.Hint == 0:
			a.Hint = 1
		case hint == SmallHint && !a.Small:
			a.Small = true
		default:
			return p.Errorf(start+len(t), end, "'%s' is not a hint", strings.Join(hints, ":")).
				WithHelp("a hint is :16 (a multiple of 16) or :1 (equal to 1); of a pointer also :%s (to a buffer of less than 2 GiB)", SmallHint)
		}
	}
	isPtr := strings.HasPrefix(t, "*")
	switch {
	case isPtr && a.Hint == 1:
		return p.Errorf(start, end, "a pointer cannot be equal to 1")
	case a.Hint == 1 && !isIntType(t):
		return p.Errorf(start, end, "the hint :1 is for integers, not for %s", t)
	case a.Small && !isPtr:
		return p.Errorf(start, end, "the hint :%s is for pointers, not for %s", SmallHint, t)
	}
	return nil
}

// SmallHint says of a pointer that it is to a buffer of less than 2 GiB, as in
// Triton's specialization keys.
const SmallHint = "S"

func splitHints(s string) (t string, hints []string) {
	parts := strings.Split(s, ":")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts[0], parts[1:]
}

func hasTypes(args []Arg) bool {
	for i := range args {
		if args[i].Type != "" || hasTypes(args[i].Elems) {
			return true
		}
	}
	return false
}

// scalarTypes are the scalar types of Triton's signatures.
var scalarTypes = map[string]bool{
	"i1": true, "i8": true, "i16": true, "i32": true, "i64": true, "u1": true, "u8": true, "u16": true, "u32": true, "u64": true,
	"fp16": true, "bf16": true, "fp32": true, "fp64": true,
	"fp8e4nv": true, "fp8e5": true, "fp8e4b8": true, "fp8e5b16": true, "fp8e4b15": true,
}

const typeList = "i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b8 fp8e5b16 fp8e4b15"

// IsType reports whether s is the text of a type.
func IsType(s string) bool {
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		return scalarTypes[strings.TrimPrefix(rest, "k")] || scalarTypes[rest] || strings.HasPrefix(rest, "*") && IsType(rest)
	}
	return scalarTypes[s] || strings.HasPrefix(s, "tensordesc<") && strings.HasSuffix(s, ">")
}

func isIntType(t string) bool {
	t = strings.TrimPrefix(strings.TrimPrefix(t, "*k"), "*")
	return t != "" && (t[0] == 'i' || t[0] == 'u')
}
