package npu

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// magic is the first line of a file.
const magic = "npusim 1"

// Read decodes a file of the format npusim; name stands for it in errors, which are
// *diag.Diagnostic values with the line.
func Read(name string, text []byte) (*Program, error) {
	if len(text) > maxFile {
		return nil, diag.Errorf(diag.Pos{File: name}, "the file has %s; npusim files have at most %d", diag.Count(len(text), "byte"), maxFile)
	}
	if first, _, _ := bytes.Cut(text, []byte("\n")); string(first) != magic {
		return nil, diag.Errorf(diag.Pos{File: name, Line: 1}, "this is not a file of the format npusim, version 1").
			WithHelp("such a file begins with the line %q", magic)
	}
	r := &reader{p: &Program{file: name, text: strings.Split(string(text), "\n")}, labels: map[string]int{}}
	r.read()
	if r.err != nil {
		return nil, r.err
	}
	return r.p, nil
}

// reader reads a file line by line. The first mistake is kept in err, and ends it.
type reader struct {
	p    *Program
	err  error
	line int
	// words are those of the line that are not read yet.
	words  []string
	files  []string
	labels map[string]int
	jumps  []jump
	seen   map[string]bool
}

// jump is a use of a label.
type jump struct {
	inst, target, line int
	label              string
}

func (r *reader) fail(format string, args ...any) {
	if r.err != nil {
		return
	}
	source := ""
	if r.line <= len(r.p.text) {
		source = strings.TrimSpace(r.p.text[r.line-1])
	}
	d := diag.Errorf(diag.Pos{File: r.p.file, Line: r.line}, format, args...)
	if len(source) > 0 && len(source) < 200 {
		d.WithNote(diag.Pos{}, "the line is: %s", source)
	}
	r.err = d
}

func (r *reader) read() {
	code := false
	r.seen = map[string]bool{}
	for i, text := range r.p.text {
		if r.line = i + 1; i == 0 {
			continue
		}
		if r.words = strings.Fields(text); len(r.words) == 0 {
			continue
		}
		switch {
		case code:
			r.instruction()
		case r.words[0] == "code":
			code = true
		default:
			r.header()
		}
		if r.err != nil {
			return
		}
	}
	for _, name := range []string{"format", "kernel", "chip", "core"} {
		if !r.seen[name] {
			r.fail("the header does not say the %s", name)
		}
	}
	if n := len(r.p.code); n == 0 || !r.p.code[n-1].op.ends {
		r.fail("the code does not end in a jump or a return")
	}
	if n := r.p.Core.trailing(); len(r.p.params) < n {
		r.fail("the program has %s; the grid alone takes %d", diag.Count(len(r.p.params), "parameter"), n)
	} else if r.err == nil {
		for _, reg := range r.p.params[len(r.p.params)-n:] {
			if r.p.regs[reg] != (regType{elem: I32}) {
				r.fail("parameter %%%d is one of the grid, and is not of type i32", reg)
			}
		}
	}
	for _, j := range r.jumps {
		at, ok := r.labels[j.label]
		if r.line = j.line; !ok || at >= len(r.p.code) {
			r.fail("no instruction has the label %s", j.label)
		}
		r.p.code[j.inst].targets[j.target] = at
	}
}

// header reads a line before the code.
func (r *reader) header() {
	key := r.word()
	switch key {
	case "format", "kernel", "chip", "core", "workspace":
		if r.seen[key] {
			r.fail("%s is said twice", key)
		}
		r.seen[key] = true
	}
	switch key {
	case "format":
		if w := r.word(); w != "sim" {
			r.fail("the format is %s, not sim", w)
		}
	case "kernel":
		r.p.Kernel = r.word()
	case "chip":
		r.p.Chip = r.word()
	case "core":
		r.p.Core = CoreKind(r.choice(coreNames[:], "kind of core"))
	case "workspace":
		r.p.Workspace = r.count(maxWork)
	case "space":
		s := Space(r.choice(spaceNames[:], "space"))
		r.p.Used[s] = r.count(maxSpace)
	case "file":
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(r.p.text[r.line-1]), "file"))
		name, err := strconv.Unquote(rest)
		if err != nil {
			r.fail("%s is not a quoted name", rest)
		}
		r.files = append(r.files, name)
		r.words = nil
	case "param":
		t, reg := r.definition()
		if len(r.p.params) >= maxParam || t.memory && t.space != GM {
			r.fail("a program has at most %d parameters, scalars and global memory", maxParam)
		}
		r.p.params = append(r.p.params, reg)
	default:
		r.fail("the header has no %q", key)
	}
	r.end()
}

// word takes a word of the line.
func (r *reader) word() string {
	if len(r.words) == 0 {
		r.fail("the line ends too early")
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// end fails where words are left.
func (r *reader) end() {
	if len(r.words) > 0 {
		r.fail("%q is too much", r.words[0])
	}
}

// choice takes a word of a list and returns its number.
func (r *reader) choice(names []string, what string) int {
	w := r.word()
	for i, n := range names {
		if n == w {
			return i
		}
	}
	r.fail("%q is not a %s", w, what)
	return 0
}

// count takes a number from 0 to most.
func (r *reader) count(most int) int {
	w := r.word()
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 || n > most {
		r.fail("%q is not a number from 0 to %d", w, most)
		return 0
	}
	return n
}

// number takes a number of 64 bits, decimal or 0x and its bits.
func (r *reader) number() int64 { return r.numberOf(r.word()) }

func (r *reader) numberOf(w string) int64 {
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseUint(w, 0, 64)
	if err != nil || !strings.HasPrefix(w, "0x") {
		r.fail("%q is not a number", w)
	}
	return int64(n)
}

// option takes NAME=VALUE if it is next.
func (r *reader) option(name string) (value string, ok bool) {
	if len(r.words) == 0 {
		return "", false
	}
	if value, ok = strings.CutPrefix(r.words[0], name+"="); ok {
		r.words = r.words[1:]
	}
	return value, ok
}

// keyword takes a word if it is next.
func (r *reader) keyword(word string) bool {
	if len(r.words) == 0 || r.words[0] != word {
		return false
	}
	r.words = r.words[1:]
	return true
}

// typ takes a type: f32, or ub<f32,2>.
func (r *reader) typ() regType {
	w := r.word()
	if t := typeNamed(w); t != NoType {
		return regType{elem: t}
	}
	space, rest, _ := strings.Cut(strings.TrimSuffix(w, ">"), "<")
	elem, dims, _ := strings.Cut(rest, ",")
	rank, err := strconv.Atoi(dims)
	for s, name := range spaceNames {
		if t := typeNamed(elem); name == space && t != NoType && err == nil && rank >= 0 && rank <= maxRank && strings.HasSuffix(w, ">") {
			return regType{elem: t, memory: true, space: Space(s), rank: rank}
		}
	}
	r.fail("%q is not a type", w)
	return regType{elem: I32}
}

// definition takes %N TYPE, a register that the line writes.
func (r *reader) definition() (regType, int) {
	reg := r.register(r.word(), true)
	t := r.typ()
	if r.err != nil {
		return t, 0
	}
	if old := r.p.regs[reg]; old.elem != NoType && old != t {
		r.fail("%%%d has the type %s already", reg, old)
	}
	r.p.regs[reg] = t
	return t, reg
}

// register is the number of %N. Unless it is written, it must have a type.
func (r *reader) register(w string, written bool) int {
	digits, ok := strings.CutPrefix(w, "%")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= maxRegs {
		r.fail("%q is not a register", w)
		return 0
	}
	if written {
		for n >= len(r.p.regs) {
			r.p.regs = append(r.p.regs, regType{})
		}
	} else if n >= len(r.p.regs) || r.p.regs[n].elem == NoType {
		r.fail("%s is read before a line that writes it", w)
		return 0
	}
	return n
}

// scalar takes a register with a scalar; with t, of that type.
func (r *reader) scalar(t Type) operand {
	reg := r.register(r.word(), false)
	if r.err != nil {
		return operand{}
	}
	if got := r.p.regs[reg]; got.memory || t != NoType && got.elem != t {
		want := "a scalar"
		if t != NoType {
			want = t.String()
		}
		r.fail("%%%d has the type %s, not %s", reg, got, want)
	}
	return operand{reg: reg}
}

// memory takes a register with memory of one of the spaces, of any where there are none.
func (r *reader) memory(spaces ...Space) operand {
	reg := r.register(r.word(), false)
	if r.err != nil {
		return operand{}
	}
	t := r.p.regs[reg]
	ok := t.memory && len(spaces) == 0
	for _, s := range spaces {
		ok = ok || t.memory && t.space == s
	}
	if !ok {
		r.fail("%%%d has the type %s, which the instruction does not access", reg, t)
	}
	return operand{reg: reg}
}

// list takes [N,%M,…] of n numbers.
func (r *reader) list(n int) []operand {
	w := r.word()
	inner, ok := strings.CutPrefix(w, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !ok || !closed {
		r.fail("%q is not a list", w)
		return nil
	}
	var out []operand
	if inner != "" {
		for _, item := range strings.SplitN(inner, ",", maxRank+2) {
			out = append(out, r.item(item))
		}
	}
	if len(out) != n {
		r.fail("%s has %s, not %d", w, diag.Count(len(out), "number"), n)
	}
	return out
}

// item is a number or a register of type index.
func (r *reader) item(w string) operand {
	if !strings.HasPrefix(w, "%") {
		return operand{reg: -1, num: r.numberOf(w)}
	}
	reg := r.register(w, false)
	if r.err == nil && r.p.regs[reg] != (regType{elem: Index}) {
		r.fail("%s has the type %s, not index", w, r.p.regs[reg])
	}
	return operand{reg: reg}
}

// dims takes a list of numbers, each a dimension.
func (r *reader) dims(n int) []operand {
	list := r.list(n)
	for _, o := range list {
		if o.reg >= 0 || o.num < 0 || o.num >= maxRank {
			r.fail("the list must be of dimensions")
			return nil
		}
	}
	return list
}

// place takes @FILE:LINE:COLUMN from the end of the line.
func (r *reader) place() (l Loc) {
	last := len(r.words) - 1
	if last < 0 || !strings.HasPrefix(r.words[last], "@") {
		return l
	}
	w := r.words[last]
	r.words = r.words[:last]
	var file int
	if n, err := fmt.Sscanf(w, "@%d:%d:%d", &file, &l.Line, &l.Col); n != 3 || err != nil || file < 0 || file >= len(r.files) || l.Line < 0 || l.Col < 0 {
		r.fail("%q is not a place in one of the files", w)
		return l
	}
	l.File = r.files[file]
	return l
}

// instruction reads a line of code: a label, or an instruction.
func (r *reader) instruction() {
	if label, ok := strings.CutSuffix(r.words[0], ":"); ok && len(r.words) == 1 {
		if _, twice := r.labels[label]; twice {
			r.fail("there are two labels %s", label)
		}
		r.labels[label] = len(r.p.code)
		return
	}
	in := inst{index: len(r.p.code), line: r.line, dst: -1, loc: r.place()}
	var result regType
	if len(r.words) > 0 && strings.HasPrefix(r.words[0], "%") {
		// The type of the register must not be known to the operands yet.
		def := r.words
		if len(def) < 3 || def[2] != "=" {
			r.fail("what is written is given as %%N TYPE =")
			return
		}
		r.words = def[3:]
		op := r.opcode(&in)
		if op == nil {
			return
		}
		if !op.result {
			r.fail("%s has no result", op.name)
		}
		rest := r.words
		r.words = def[:2]
		result, in.dst = r.definition()
		r.words = rest
	} else if op := r.opcode(&in); op != nil && op.result {
		r.fail("%s has a result, which the line does not write", op.name)
	}
	if r.err != nil {
		return
	}
	in.op.read(r, &in, result)
	r.end()
	r.p.code = append(r.p.code, in)
}

// opcode takes the name of an instruction.
func (r *reader) opcode(in *inst) *opcode {
	name := r.word()
	in.op = opcodes[name]
	if _, ok := scalarOps[name]; ok {
		in.op, in.name = opcodes["arith"], name
	}
	if in.op == nil {
		r.fail("there is no instruction %q", name)
	}
	return in.op
}
