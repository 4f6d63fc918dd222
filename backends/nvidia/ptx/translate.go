package ptx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/work"
)

// Options are what PTX depends on beside the module.
type Options struct {
	// CC is the compute capability, 90 for 9.0; SM its name, sm_90a.
	CC int
	SM string
	// Version is the PTX ISA version to write, 84 for 8.4.
	Version int
	// Fusion lets a multiplication and an addition become one instruction.
	Fusion bool
}

// module is what the functions of one translation share.
type module struct {
	opts    *Options
	meter   *work.Meter
	layouts map[llir.Type][]class // of types, which are not changed
	forms   map[asmKey]*asmForm   // of inline assembly
	table   *gvnTable             // nil before the first one
}

// Unsupported is the error of LLVM IR that has no translation here. What is lowered
// from Triton's IR has one.
type Unsupported struct{ What string }

func (e *Unsupported) Error() string { return "there is no translation to PTX for " + e.What }

// ptxKernel is LLVM's number of the calling convention of entry functions.
const ptxKernel = 71

// Translate writes a module, whose values are numbered, as PTX.
func Translate(ll *llir.Module, opts Options) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(unsupported)
			if !ok {
				panic(p)
			}
			err = &Unsupported{string(u)}
		}
	}()
	m := &module{opts: &opts, meter: ll.Meter(), layouts: make(map[llir.Type][]class)}
	var fns []*fn
	var defs []*ir.Func
	for _, f := range ll.IR.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		c := m.convert(f)
		for _, row := range Phases {
			row.run(c)
		}
		fns, defs = append(fns, c), append(defs, f)
	}
	p := &printer{opts: &opts, files: make(map[string]int)}
	p.header(opts.Version)
	for _, f := range ll.IR.Funcs {
		p.declaration(m, f)
	}
	for _, g := range ll.IR.Globals {
		p.global(g)
	}
	for i, f := range fns {
		p.index = i
		p.function(m, f, defs[i])
	}
	p.footer()
	return p.Bytes(), nil
}

// mangle is a name as PTX can have it: letters, digits, "_" and "$".
func mangle(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }) < 0 {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case nameRune(r):
			b.WriteRune(r)
		case r == '.':
			b.WriteString("_$_")
		default:
			fmt.Fprintf(&b, "_$%x_", r)
		}
	}
	return b.String()
}

func nameRune(r rune) bool {
	return r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// declaration names a function before it is used.
func (p *printer) declaration(m *module, f *ir.Func) {
	if strings.HasPrefix(f.GlobalName, "llvm.") || f.CallingConv == ptxKernel {
		return
	}
	var args []class
	for _, a := range f.Params {
		for _, c := range m.layout(a.Typ) {
			args = append(args, max(c, r16))
		}
	}
	var rets []class
	if f.Sig.RetType != llir.Void {
		rets = m.layout(f.Sig.RetType)
	}
	if len(f.Blocks) == 0 {
		p.str(".extern ")
	}
	p.signature(mangle(f.GlobalName), args, rets)
	p.str(";\n")
}

func (p *printer) global(g *ir.Global) {
	space, ok := spaceNames[int(g.AddrSpace)]
	if !ok {
		space = "global"
	}
	if g.Init == nil {
		p.str(".extern ")
	}
	align := int(g.Align)
	if align == 0 {
		align = 1
	}
	p.str(".", space, " .align ", itoa(align), " .b8 ", mangle(g.GlobalName))
	if g.Init == nil {
		n := sizeOf(g.ContentType)
		p.str("[")
		if n > 0 {
			p.num(n)
		}
		p.str("];\n")
		return
	}
	data, ok := g.Init.(*llir.Bytes)
	if !ok {
		refuse("the initial value of %s", g.GlobalName)
	}
	p.str("[", itoa(len(data.Data)), "] = {")
	for i := range len(data.Data) {
		if i > 0 {
			p.str(", ")
		}
		p.num(int64(data.Data[i]))
	}
	p.str("};\n")
}

// function writes a function's head and body.
func (p *printer) function(m *module, f *fn, def *ir.Func) {
	p.str("\n")
	if def.CallingConv != ptxKernel {
		var args []class
		for _, v := range f.params {
			args = append(args, v.class)
		}
		p.signature(f.name, args, f.rets)
		p.body(f)
		return
	}
	p.str(".visible .entry ", f.name, "(")
	at := 0
	for i, a := range def.Params {
		if i > 0 {
			p.str(",")
		}
		p.str("\n\t")
		p.param(m, a, paramName(f.name, at))
		at += len(m.layout(a.Typ))
	}
	p.str("\n)\n")
	p.bounds(def)
	p.body(f)
}

// param declares a kernel's parameter.
func (p *printer) param(m *module, a *ir.Param, name string) {
	t, isPtr := a.Typ.(*llir.Ptr)
	if bytes := byValue(a); bytes > 0 {
		p.str(".param .align ", itoa(alignOf(a)), " .b8 ", name, "[", itoa(bytes), "]")
		return
	}
	if !isPtr {
		bits := m.layout(a.Typ)[0].bits()
		if w := llir.Width(a.Typ); w <= 8 {
			bits = 8
		}
		p.str(".param .u", itoa(bits), " ", name)
		return
	}
	p.str(".param .u64 .ptr ")
	if s := spaceNames[t.AddrSpace]; s != "" {
		p.str(".", s, " ")
	}
	p.str(".align ", itoa(alignOf(a)), " ", name)
}

// byValue is the size of a parameter that is memory itself: byval([128 x i8]).
func byValue(a *ir.Param) int {
	for _, attr := range a.Attrs {
		rest, ok := strings.CutPrefix(attr.String(), "byval([")
		if !ok {
			continue
		}
		n, _, _ := strings.Cut(rest, " ")
		bytes, err := strconv.Atoi(n)
		if err != nil || !strings.HasSuffix(rest, " x i8])") {
			refuse("a parameter %s", attr)
		}
		return bytes
	}
	return 0
}

func alignOf(a *ir.Param) int {
	for _, attr := range a.Attrs {
		if n, ok := strings.CutPrefix(attr.String(), "align "); ok {
			if k, err := strconv.Atoi(n); err == nil {
				return k
			}
		}
	}
	return 1
}

// bounds writes what a kernel says about its launch.
func (p *printer) bounds(def *ir.Func) {
	for _, row := range [...]struct{ attr, text string }{
		{"nvvm.reqntid", ".reqntid "},
		{"nvvm.maxntid", ".maxntid "},
		{"nvvm.cluster_dim", ".reqnctapercluster "},
		{"nvvm.minctasm", ".minnctapersm "},
		{"nvvm.maxnreg", ".maxnreg "},
	} {
		for _, a := range def.FuncAttrs {
			rest, ok := strings.CutPrefix(a.String(), `"`+row.attr+`"="`)
			if !ok {
				continue
			}
			if row.attr == "nvvm.cluster_dim" {
				p.str(".explicitcluster\n")
			}
			p.str(row.text, strings.TrimSuffix(rest, `"`), "\n")
		}
	}
}
