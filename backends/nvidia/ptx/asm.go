package ptx

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
)

func itoa(n int) string { return strconv.Itoa(n) }

// assembly is inline assembly, cut at its operands.
type assembly struct {
	text []string // what is between operands
	refs []int    // the operand after each piece but the last; uid for its own number
	outs int
	// tied is, by inputs, the output whose register it shares, or -1.
	tied []int
	// numbers says of inputs that they are constants, written in the text.
	numbers []bool
	// plain is what accesses reports.
	plain bool
	// early says of outputs that they are written before all inputs are read.
	early bool
}

// uid stands for a number that no other place has.
const uid = -1

// classes of LLVM's letters of constraints.
var letters = map[byte]class{'b': pred, 'c': r16, 'h': r16, 'r': r32, 'f': r32, 'l': r64, 'N': r64, 'd': r64}

// asmForm is what is known of inline assembly from its text and its constraints, which a
// kernel has many calls of.
type asmForm struct {
	assembly
	results, operands []class
}

// asmKey is a text with its constraints.
type asmKey struct{ text, constraints string }

// form returns that of a piece of inline assembly.
func (m *module) form(a *ir.InlineAsm) *asmForm {
	key := asmKey{a.Asm, a.Constraint}
	if known := m.forms[key]; known != nil {
		return known
	}
	s := newForm(a)
	if m.forms == nil {
		m.forms = map[asmKey]*asmForm{}
	}
	m.forms[key] = s
	return s
}

func newForm(a *ir.InlineAsm) *asmForm {
	s := &asmForm{}
	for _, word := range splitConstraints(a.Constraint) {
		word = strings.TrimSpace(word)
		if word == "" || word[0] == '~' {
			continue
		}
		if code, ok := strings.CutPrefix(word, "="); ok {
			s.early = s.early || strings.Contains(code, "&")
			code = strings.TrimLeft(code, "&*% ")
			s.results = append(s.results, letterClass(code))
			s.outs++
			continue
		}
		code := strings.TrimLeft(word, "&*% ")
		if n, err := strconv.Atoi(code); err == nil {
			s.tied, s.numbers = append(s.tied, n), append(s.numbers, false)
			s.operands = append(s.operands, s.results[n])
			continue
		}
		s.tied, s.numbers = append(s.tied, -1), append(s.numbers, code == "n" || code == "i")
		s.operands = append(s.operands, letterClass(code))
	}
	s.cut(a.Asm)
	s.plain = s.accesses()
	return s
}

// inline converts a call of inline assembly.
func (c *conv) inline(i *ir.InstCall, a *ir.InlineAsm) {
	form := c.mod.form(a)
	s := form.assembly // its own, whose offsets may change
	s.text = slices.Clone(form.text)
	outs, ins := form.results, form.operands
	args := make([]*value, 0, len(ins))
	n := 0
	for _, x := range i.Args {
		for _, v := range c.get(x) {
			if n == len(ins) {
				refuse("assembly with more operands than constraints")
			}
			if ins[n] != none {
				v = c.coerce(v, ins[n])
			}
			if s.numbers[n] && !v.isConst() {
				refuse("assembly whose operand %d is to be a constant and is not", len(outs)+n)
			}
			args = append(args, v)
			n++
		}
	}
	v := c.newValue(opAsm, tNone, none, args...)
	v.aux, v.loc = &s, c.loc
	if !a.SideEffect {
		v.flags = pure
	}
	c.b.append(v)
	if i.Typ == llir.Void {
		return
	}
	want := c.mod.layout(i.Typ)
	if len(want) != len(outs) {
		refuse("assembly with other results than its constraints name")
	}
	parts := make([]*value, len(outs))
	for k, cl := range outs {
		if cl == none {
			cl = want[k]
		}
		parts[k] = c.coerce(c.proj(v, k, cl), want[k])
	}
	c.set(i, parts...)
}

func letterClass(code string) class {
	if code != "" {
		if cl, ok := letters[code[0]]; ok {
			return cl
		}
	}
	return none // an immediate, or any register
}

// coerce gives a value a register of another class: the bits above are anything.
func (c *conv) coerce(v *value, cl class) *value {
	switch {
	case v.class == cl:
		return v
	case v.class == pred:
		return c.bit(v, cl)
	case cl == pred:
		return c.nonZero(c.and(v, c.constant(v.class, 1)))
	}
	return c.cvt(v, unsignedOf(v.class), unsignedOf(cl))
}

// splitConstraints cuts at the commas outside of braces.
func splitConstraints(text string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, text[from:i])
				from = i + 1
			}
		}
	}
	if text != "" {
		out = append(out, text[from:])
	}
	return out
}

// cut finds the operands in the text of assembly: $0, ${0:…}, ${:uid}; $$ is a
// dollar sign, and of alternatives in $( $| $) the first one counts.
func (s *assembly) cut(text string) {
	var b strings.Builder
	skip := false
	ref := func(n int) {
		s.text = append(s.text, b.String())
		s.refs = append(s.refs, n)
		b.Reset()
	}
	for i := 0; i < len(text); i++ {
		ch := text[i]
		if ch != '$' || i+1 == len(text) {
			if !skip {
				b.WriteByte(ch)
			}
			continue
		}
		i++
		switch ch = text[i]; {
		case ch == '(':
		case ch == '|':
			skip = true
		case ch == ')':
			skip = false
		case skip:
		case ch == '$':
			b.WriteByte('$')
		case ch == '{':
			end := i + strings.IndexByte(text[i:], '}')
			name, _, _ := strings.Cut(text[i+1:end], ":")
			i = end
			if name == "" {
				ref(uid)
				continue
			}
			n, _ := strconv.Atoi(name)
			ref(n)
		default:
			end := i
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			n, _ := strconv.Atoi(text[i:end])
			i = end - 1
			ref(n)
		}
	}
	s.text = append(s.text, b.String())
}
