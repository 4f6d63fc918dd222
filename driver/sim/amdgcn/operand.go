package amdgcn

import (
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// Kind is what an operand is.
type Kind uint8

const (
	KindReg    Kind = iota
	KindInt         // Value
	KindFloat       // Float, of the instruction's type
	KindSymbol      // Name + Value, through the relocation Reloc, or less the label From
	KindName        // another name: off, a label, a constant of the hardware
	KindCall        // Name(Args…): hwreg, sendmsg, vmcnt
)

// File is a register file.
type File uint8

const (
	FileV File = iota
	FileA      // accumulation registers
	FileS      // scalar registers, VCC, M0 and EXEC among them
)

// Scalar registers with names of their own, by index.
const (
	regFlatScratch = 102
	regVCC         = 106
	regTTMP        = 108
	regM0          = 124
	regNull        = 125
	regExec        = 126
	regSCC         = 128
	numS           = 129
)

// Operand is one operand of an instruction, between commas.
type Operand struct {
	Kind  Kind
	File  File
	Index int // of the first register
	N     int // registers
	// Half is 'l' or 'h' for one half of a vector register, or 0.
	Half  byte
	Value uint64
	Float float64
	Name  string
	Reloc string
	From  string
	Args  []string
	// Neg, Abs and Sext are modifiers of the operand.
	Neg, Abs, Sext bool
	Col            int
}

// Mod is a modifier of an instruction: a name, and a value where it has one.
type Mod struct {
	Name  string
	Text  string // of the value
	Value int64  // where it is a number
	List  []int
	IsNum bool
	Col   int
}

// instruction reads an instruction at line[at:].
func (p *parser) instruction(line string, at int) {
	in := p.half(line, at)
	p.m.Insts = append(p.m.Insts, in)
}

// half reads an instruction, or the first half of two with "::" between.
func (p *parser) half(line string, at int) Inst {
	end := nameEnd(line, at)
	if end == at || line[at] == '"' {
		p.fail(at+1, "neither an instruction, nor a label, nor a directive")
	}
	in := Inst{Pos: diag.Pos{File: p.m.File, Line: p.line, Col: at + 1}, Op: line[at:end], Loc: p.loc}
	tail := line
	if i := strings.Index(line[end:], "::"); i >= 0 {
		tail = line[:end+i]
		next := end + i + 2
		for next < len(line) && isSpace(line[next]) {
			next++
		}
		second := p.half(line, next)
		in.Second = &second
	}
	for _, part := range cutCommas(tail, end) {
		p.operands(&in, tail, part[0], part[1])
	}
	return in
}

// cutCommas cuts line[at:] at its commas outside brackets and quotes.
func cutCommas(line string, at int) (parts [][2]int) {
	depth, from, quoted := 0, at, false
	for i := at; i < len(line); i++ {
		switch line[i] {
		case '"':
			quoted = !quoted
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 && !quoted {
				parts = append(parts, [2]int{from, i})
				from = i + 1
			}
		}
	}
	return append(parts, [2]int{from, len(line)})
}

// operands reads line[at:end], which is an operand and modifiers, or only these.
func (p *parser) operands(in *Inst, line string, at, end int) {
	first := true
	for at < end {
		if c := line[at]; isSpace(c) || (c == '|' || c == '&') && at+1 < end && isSpace(line[at+1]) {
			at++
			continue
		}
		to := wordEnd(line, at, end)
		word := line[at:to]
		switch {
		case first && !isModifier(word) || strings.HasSuffix(word, ")") && !strings.Contains(word, ":"):
			in.Operands = append(in.Operands, p.operand(word, at+1))
		default:
			in.Mods = append(in.Mods, p.modifier(word, at+1))
		}
		first = false
		at = to
	}
}

// wordEnd is where the word at line[at:end] ends: at a space outside brackets.
func wordEnd(line string, at, end int) int {
	depth, quoted := 0, false
	for ; at < end; at++ {
		switch c := line[at]; {
		case c == '"':
			quoted = !quoted
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case isSpace(c) && depth == 0 && !quoted:
			return at
		}
	}
	return at
}

// flags are the modifiers without a value.
var flags = map[string]bool{
	"offen": true, "idxen": true, "glc": true, "slc": true, "dlc": true, "nt": true, "sc0": true, "sc1": true,
	"lds": true, "gds": true, "clamp": true, "row_mirror": true, "row_half_mirror": true, "tfe": true,
}

// isModifier reports whether a word is a modifier rather than an operand.
func isModifier(word string) bool {
	if flags[word] {
		return true
	}
	name, _, ok := strings.Cut(word, ":")
	return ok && name != "" && !strings.ContainsAny(name, "[(\"|")
}

func (p *parser) modifier(word string, col int) Mod {
	name, value, ok := strings.Cut(word, ":")
	m := Mod{Name: name, Text: value, Col: col}
	if !ok {
		return m
	}
	if body, isList := strings.CutPrefix(value, "["); isList {
		for _, s := range strings.Split(strings.TrimSuffix(body, "]"), ",") {
			v, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				p.fail(col, "%s has %q where a number stands", name, s)
			}
			m.List = append(m.List, v)
		}
		return m
	}
	if v, ok := number(value); ok {
		m.Value, m.IsNum = int64(v), true
	}
	return m
}

// operand reads one operand.
func (p *parser) operand(word string, col int) Operand {
	o := Operand{Col: col}
	s := word
	if len(s) > 1 && s[0] == '-' && !isDigit(s[1]) && s[1] != '.' {
		o.Neg, s = true, s[1:]
	}
	if len(s) > 2 && s[0] == '|' && s[len(s)-1] == '|' {
		o.Abs, s = true, s[1:len(s)-1]
	}
	for _, w := range [...]struct {
		name string
		flag *bool
	}{{"neg(", &o.Neg}, {"abs(", &o.Abs}, {"sext(", &o.Sext}} {
		if body, ok := strings.CutPrefix(s, w.name); ok && strings.HasSuffix(body, ")") {
			*w.flag, s = true, strings.TrimSuffix(body, ")")
		}
	}
	if s == "" {
		p.fail(col, "an operand is missing")
	}
	switch {
	case p.register(&o, s):
	case p.constant(&o, s):
	case distance(&o, s):
	case strings.HasSuffix(s, ")"):
		name, args, ok := strings.Cut(strings.TrimSuffix(s, ")"), "(")
		if !ok || nameEnd(name, 0) != len(name) {
			p.fail(col, "%q is not an operand", word)
		}
		o.Kind, o.Name = KindCall, name
		for _, a := range strings.Split(args, ",") {
			o.Args = append(o.Args, strings.TrimSpace(a))
		}
	default:
		p.symbol(&o, s, word)
	}
	return o
}

// constant reads a number, which may be in lit(…).
func (p *parser) constant(o *Operand, s string) bool {
	for _, wrap := range [...]string{"lit(", "lit64("} {
		if body, ok := strings.CutPrefix(s, wrap); ok {
			s = strings.TrimSuffix(body, ")")
		}
	}
	if v, ok := number(s); ok {
		o.Kind, o.Value = KindInt, v
		return true
	}
	if isDigit(s[0]) || s[0] == '-' || s[0] == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			o.Kind, o.Float = KindFloat, f
			return true
		}
	}
	return false
}

// distance reads how far one label is from another, the lower or the upper half, which
// branches over more than 128 KiB add to the address of the other:
//
//	(.LBB0_9-.Lpost_getpc0)&4294967295
//	(.LBB0_9-.Lpost_getpc0)>>32
func distance(o *Operand, s string) bool {
	labels, half, ok := strings.Cut(strings.TrimPrefix(s, "("), ")")
	to, from, ok2 := strings.Cut(labels, "-")
	if !ok || !ok2 || s[0] != '(' || to == "" || from == "" || nameEnd(to, 0) != len(to) || nameEnd(from, 0) != len(from) {
		return false
	}
	switch half {
	case "&4294967295":
		o.Reloc = "lo"
	case ">>32":
		o.Reloc = "hi"
	default:
		return false
	}
	o.Kind, o.Name, o.From = KindSymbol, unquote(to), unquote(from)
	return true
}

// symbol reads NAME, NAME@RELOCATION or either plus a number.
func (p *parser) symbol(o *Operand, s, word string) {
	end := nameEnd(s, 0)
	if end == 0 {
		p.fail(o.Col, "%q is not an operand", word)
	}
	o.Kind, o.Name = KindName, unquote(s[:end])
	rest := s[end:]
	if rest == "" {
		return
	}
	o.Kind = KindSymbol
	if i := strings.LastIndexAny(rest, "+-"); i >= 0 {
		v, ok := number(strings.TrimPrefix(rest[i:], "+"))
		if !ok {
			p.fail(o.Col, "%q is not an operand", word)
		}
		o.Value, rest = v, rest[:i]
	}
	if rest != "" && rest[0] != '@' {
		p.fail(o.Col, "%q is not an operand", word)
	}
	o.Reloc = strings.TrimPrefix(rest, "@")
}

// namedRegs are scalar registers with names of their own.
var namedRegs = map[string][2]int{ // index, count; a count of 0 is that of a wave's mask
	"vcc": {regVCC, 2}, "vcc_lo": {regVCC, 1}, "vcc_hi": {regVCC + 1, 1},
	"exec": {regExec, 2}, "exec_lo": {regExec, 1}, "exec_hi": {regExec + 1, 1},
	"flat_scratch": {regFlatScratch, 2}, "flat_scratch_lo": {regFlatScratch, 1}, "flat_scratch_hi": {regFlatScratch + 1, 1},
	"m0": {regM0, 1}, "null": {regNull, 1}, "scc": {regSCC, 1}, "src_scc": {regSCC, 1},
}

// register reads a register or a range of them.
func (p *parser) register(o *Operand, s string) bool {
	if r, ok := namedRegs[s]; ok {
		o.Kind, o.File, o.Index, o.N = KindReg, FileS, r[0], r[1]
		return true
	}
	base, most := 0, 512
	switch {
	case strings.HasPrefix(s, "ttmp"):
		o.File, base, most = FileS, regTTMP, 16
		s = s[4:]
	case s[0] == 'v':
		o.File = FileV
		s = s[1:]
	case s[0] == 'a':
		o.File = FileA
		s = s[1:]
	case s[0] == 's':
		o.File, most = FileS, regVCC
		s = s[1:]
	default:
		return false
	}
	if s == "" || !isDigit(s[0]) && s[0] != '[' {
		return false
	}
	lo, hi := s, s
	if s[0] == '[' {
		body := strings.TrimSuffix(s[1:], "]")
		var ok bool
		if lo, hi, ok = strings.Cut(body, ":"); !ok {
			hi = lo
		}
	} else if i := strings.IndexByte(s, '.'); i >= 0 {
		if half := s[i+1:]; half != "l" && half != "h" {
			return false
		}
		o.Half = s[i+1]
		lo, hi = s[:i], s[:i]
	}
	a, err := strconv.Atoi(lo)
	b, err2 := strconv.Atoi(hi)
	if err != nil || err2 != nil {
		return false
	}
	if b < a || b >= most {
		p.fail(o.Col, "registers %d to %d: this file has %d", a, b, most)
	}
	o.Kind, o.Index, o.N = KindReg, base+a, b-a+1
	return true
}

// bits are the bits of a constant as an operand of a type of so many bits.
func (o *Operand) bits(width int) uint64 {
	if o.Kind != KindFloat {
		return o.Value
	}
	switch width {
	case 64:
		return math.Float64bits(o.Float)
	case 16:
		return uint64(toHalf(o.Float))
	}
	return uint64(math.Float32bits(float32(o.Float)))
}
