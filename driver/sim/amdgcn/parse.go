package amdgcn

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
)

// Module is a parsed file.
type Module struct {
	File, Src string
	// Processor is that of the target triple, such as "gfx942".
	Processor string
	Kernels   []*Kernel
	Insts     []Inst
	// Labels are the instructions that labels of code stand before, by index; one at
	// the end is len(Insts).
	Labels map[string]int
	// Aligned are the instructions that a directive aligns, by index.
	Aligned map[int]bool
	Data    map[string]*Data
	Files   map[int]string
	// Prints are the formats of what kernels print, as the metadata have them.
	Prints []Print
}

// Print is a format of printf with its number and the bytes of its arguments.
type Print struct {
	Number, Bytes int
	Format        string
}

// Kernel is a kernel descriptor with the metadata of the same name.
type Kernel struct {
	Name string
	Pos  diag.Pos
	// Settings are the .amdhsa_ directives, by name without that prefix.
	Settings map[string]int64
	Args     []Arg
	// MaxThreads is the most threads of a workgroup, Wavefront the lanes of a wave.
	MaxThreads, Wavefront int
}

// Arg is an argument of a kernel in its kernarg segment.
type Arg struct {
	Name, Kind   string // Kind is the metadata's .value_kind
	Offset, Size int
}

// Data is the contents at a label of a data section.
type Data struct {
	Name  string
	Bytes []byte
}

// Loc is a .loc directive. Col is 0 where it has none.
type Loc struct{ File, Line, Col int }

// Inst is one instruction.
type Inst struct {
	Pos      diag.Pos
	Op       string
	Operands []Operand
	Mods     []Mod
	Loc      Loc
	// Second is the other half of an instruction that executes two.
	Second *Inst
}

// bailout carries the first error out of the parser.
type bailout struct{ d *diag.Diagnostic }

type parser struct {
	m    *Module
	line int
	loc  Loc
	text bool     // in a section of code
	sect string   // the section's name
	last []string // labels of data since the last content
	kern *Kernel  // in .amdhsa_kernel
}

// Parse reads assembly; file names it in errors.
func Parse(file string, text []byte) (m *Module, err error) {
	p := &parser{m: &Module{
		File: file, Src: string(text), Labels: map[string]int{}, Aligned: map[int]bool{},
		Data: map[string]*Data{}, Files: map[int]string{},
	}, text: true}
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			m, err = nil, b.d
		}
	}()
	p.parse()
	return p.m, nil
}

// fail ends parsing with an error at a column, which counts from 1.
func (p *parser) fail(col int, format string, args ...any) {
	d := diag.Errorf(diag.Pos{File: p.m.File, Line: p.line, Col: col}, format, args...)
	panic(bailout{d.WithSource(p.m.Src)})
}

func (p *parser) parse() {
	lines := strings.Split(p.m.Src, "\n")
	for i := 0; i < len(lines); i++ {
		p.line = i + 1
		line := uncomment(lines[i])
		if strings.TrimSpace(line) == ".amdgpu_metadata" {
			i = p.metadata(lines, i+1)
			continue
		}
		p.statement(line)
	}
	if p.kern != nil {
		p.fail(1, "the descriptor of kernel %s has no .end_amdhsa_kernel", p.kern.Name)
	}
}

// uncomment cuts a line at its comment.
func uncomment(line string) string {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == ';', c == '/' && i+1 < len(line) && line[i+1] == '/':
			return line[:i]
		}
	}
	return line
}

// statement reads a line: labels, then a directive or an instruction.
func (p *parser) statement(line string) {
	at := 0
	for {
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		if at == len(line) {
			return
		}
		end := nameEnd(line, at)
		if end == at || end >= len(line) || line[end] != ':' || strings.HasPrefix(line[end:], "::") {
			break
		}
		p.label(unquote(line[at:end]), at+1)
		at = end + 1
	}
	if line[at] == '.' {
		p.directive(line, at)
		return
	}
	if !p.text {
		p.fail(at+1, "an instruction in section %s", p.sect)
	}
	p.instruction(line, at)
}

// nameEnd is where the name at line[at:] ends.
func nameEnd(line string, at int) int {
	if at < len(line) && line[at] == '"' {
		if i := strings.IndexByte(line[at+1:], '"'); i >= 0 {
			return at + i + 2
		}
		return at
	}
	for at < len(line) && isName(line[at]) {
		at++
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(c byte) bool {
	return c == '_' || c == '.' || c == '$' || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unquote takes the quotes off a name that has them.
func unquote(name string) string {
	if s, err := strconv.Unquote(name); err == nil {
		return s
	}
	return name
}

func (p *parser) label(name string, col int) {
	if p.text {
		if _, ok := p.m.Labels[name]; ok {
			p.fail(col, "label %s is defined twice", name)
		}
		p.m.Labels[name] = len(p.m.Insts)
		return
	}
	p.last = append(p.last, name)
	p.m.Data[name] = &Data{Name: name}
}

// directive reads a line that begins with a dot.
func (p *parser) directive(line string, at int) {
	end := nameEnd(line, at)
	name, rest := line[at:end], strings.TrimSpace(line[end:])
	col := at + 1
	if set, ok := strings.CutPrefix(name, ".amdhsa_"); ok {
		p.setting(set, rest, col)
		return
	}
	switch name {
	case ".amdgcn_target":
		target := unquote(rest)
		p.m.Processor, _, _ = strings.Cut(target[strings.LastIndexByte(target, '-')+1:], ":")
	case ".end_amdhsa_kernel":
		p.kern = nil
	case ".text":
		p.section(".text")
	case ".section":
		name, _, _ := strings.Cut(rest, ",")
		p.section(unquote(strings.TrimSpace(name)))
	case ".data", ".bss", ".rodata":
		p.section(name)
	case ".p2align", ".p2alignl", ".align", ".balign":
		if p.text {
			p.m.Aligned[len(p.m.Insts)] = true
		}
	case ".file":
		p.file(rest, col)
	case ".loc":
		p.location(rest, col)
	case ".ascii", ".asciz", ".byte", ".short", ".long", ".quad", ".zero", ".fill", ".space", ".2byte", ".4byte", ".8byte":
		if !p.text {
			p.content(name, rest, col)
		}
	}
	// Others (.globl, .type, .size, .set, .cfi_…) say nothing about what is executed.
}

// section changes to a section. Only the contents of sections with code and constants
// are kept.
func (p *parser) section(name string) {
	p.sect, p.last = name, nil
	p.text = name == ".text" || strings.HasPrefix(name, ".text.")
}

// setting is a directive of a kernel descriptor.
func (p *parser) setting(name, rest string, col int) {
	switch {
	case name == "kernel":
		p.kern = &Kernel{Name: unquote(rest), Pos: diag.Pos{File: p.m.File, Line: p.line, Col: col}, Settings: map[string]int64{}}
		p.m.Kernels = append(p.m.Kernels, p.kern)
	case name == "code_object_version":
	case p.kern == nil:
		p.fail(col, ".amdhsa_%s outside a kernel descriptor", name)
	default:
		v, err := strconv.ParseInt(rest, 0, 64)
		if err != nil {
			p.fail(col, ".amdhsa_%s has the value %q, which is not a number", name, rest)
		}
		p.kern.Settings[name] = v
	}
}

// file is .file INDEX "directory" "name", or without the directory.
func (p *parser) file(rest string, col int) {
	num, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(num)
	if err != nil {
		return // .file "name": of the whole object
	}
	var parts []string
	for rest = strings.TrimSpace(rest); strings.HasPrefix(rest, `"`); rest = strings.TrimSpace(rest) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			p.fail(col, "the name of file %d is not a string", n)
		}
		parts = append(parts, unquote(q))
		rest = rest[len(q):]
	}
	if len(parts) == 0 {
		p.fail(col, "file %d has no name", n)
	}
	name := parts[len(parts)-1]
	if len(parts) > 1 && parts[0] != "" && !strings.HasPrefix(name, "/") {
		name = parts[0] + "/" + name
	}
	p.m.Files[n] = name
}

// location is .loc FILE LINE [COLUMN] and flags.
func (p *parser) location(rest string, col int) {
	f := strings.Fields(rest)
	var n [3]int
	for i := range n {
		if i == 2 && (len(f) < 3 || !isDigit(f[2][0])) {
			break
		}
		if i >= len(f) {
			p.fail(col, ".loc needs a file and a line")
		}
		v, err := strconv.Atoi(f[i])
		if err != nil {
			p.fail(col, ".loc has %q where a number stands", f[i])
		}
		n[i] = v
	}
	// Line 0 says that the code has no place of its own: it keeps the last one.
	if n[1] != 0 {
		p.loc = Loc{n[0], n[1], n[2]}
	}
}

// content adds to the data at the labels before it.
func (p *parser) content(name, rest string, col int) {
	if len(p.last) == 0 || strings.HasPrefix(p.sect, ".debug") || strings.HasPrefix(p.sect, ".AMDGPU") || strings.HasPrefix(p.sect, ".note") {
		return
	}
	var out []byte
	switch name {
	case ".ascii", ".asciz":
		s, err := unescape(rest)
		if err != nil {
			p.fail(col, "%s %s: %v", name, rest, err)
		}
		out = s
		if name == ".asciz" {
			out = append(out, 0)
		}
	case ".zero", ".space", ".fill":
		f := strings.Split(rest, ",")
		var n [3]int64
		n[1] = 1
		for i := range f {
			v, err := strconv.ParseInt(strings.TrimSpace(f[i]), 0, 64)
			if err != nil || i >= len(n) || i < 2 && v < 0 {
				p.fail(col, "%s %s: not up to three numbers", name, rest)
			}
			n[i] = v
		}
		if name != ".fill" {
			n[1], n[2] = 1, n[1]
			if len(f) < 2 {
				n[2] = 0
			}
		}
		const most = 1 << 26
		if n[1] > 8 || n[0] > most {
			p.fail(col, "%s %s: more than %s", name, rest, diag.Count(most, "byte"))
		}
		for range n[0] {
			for k := range n[1] {
				out = append(out, byte(n[2]>>(8*k)))
			}
		}
	default:
		size := map[string]int{".byte": 1, ".short": 2, ".2byte": 2, ".long": 4, ".4byte": 4, ".quad": 8, ".8byte": 8}[name]
		for _, v := range strings.Split(rest, ",") {
			x, ok := number(strings.TrimSpace(v))
			if !ok {
				p.fail(col, "%s %s: only numbers are supported", name, rest)
			}
			for k := range size {
				out = append(out, byte(x>>(8*k)))
			}
		}
	}
	for _, l := range p.last {
		d := p.m.Data[l]
		d.Bytes = append(d.Bytes, out...)
	}
}

// unescape reads a string as the assembler does: octal escapes are of up to three
// digits.
func unescape(s string) ([]byte, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, strconv.ErrSyntax
	}
	s = s[1 : len(s)-1]
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i++; i == len(s) {
			return nil, strconv.ErrSyntax
		}
		if k := strings.IndexByte(`nrtbf"\`, s[i]); k >= 0 {
			out = append(out, "\n\r\t\b\f\"\\"[k])
			continue
		}
		n, v := 0, 0
		for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
			v = 8*v + int(s[i+n]-'0')
			n++
		}
		if n == 0 {
			return nil, strconv.ErrSyntax
		}
		out = append(out, byte(v))
		i += n - 1
	}
	return out, nil
}

// number is an integer constant of up to 64 bits, with a sign.
func number(s string) (uint64, bool) {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v), true
	}
	v, err := strconv.ParseUint(s, 0, 64)
	return v, err == nil
}
