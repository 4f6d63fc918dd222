package ptx

import (
	"math"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Decode gives a module's instructions their meaning. The error, if any, is a
// *diag.Diagnostic at the first instruction that cannot be executed.
func Decode(m *Module) (p *simt.Program, err error) {
	d := &decoder{
		m:       m,
		p:       &simt.Program{File: m.File, Target: m.Target, RegNames: map[simt.Reg]string{}},
		globals: map[string]int{},
		funcs:   map[string]int{},
		protos:  map[string]*Func{},
		consts:  map[constKey]simt.Reg{},
		specs:   map[simt.Special]simt.Reg{},
		bits:    map[simt.Reg]int{},
		files:   map[int]string{},
		locs:    map[Loc]int{},
	}
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bailout)
			if !ok {
				panic(r)
			}
			p, err = nil, b.d
		}
	}()
	d.module()
	return d.p, nil
}

type constKey struct {
	class  simt.Class
	value  uint64
	symbol int
}

// decoder is the state of one Decode.
type decoder struct {
	m       *Module
	p       *simt.Program
	globals map[string]int // module variables: index in p.Symbols
	funcs   map[string]int // defined functions: index in p.Funcs
	protos  map[string]*Func
	consts  map[constKey]simt.Reg
	specs   map[simt.Special]simt.Reg
	bits    map[simt.Reg]int // declared width of every register
	files   map[int]string
	locs    map[Loc]int
	space   int // running size of constant memory
	frames  map[*Func]*scope
	fn      *funcState
}

// funcState is the state of the function being decoded.
type funcState struct {
	f      *Func
	out    *simt.Func
	scopes []*scope
	stmt   *Stmt
	loc    int
	local  int // running size of local memory
	// fixups are branches whose targets are statements.
	fixups []fixup
	// labelPC is the instruction index of every label, by statement.
	labelPC map[int]int
	scratch [4]simt.Reg
}

type fixup struct {
	pc      int
	targets []int // statement indices of labels
}

// scope is a block of a body.
type scope struct {
	regs   map[string]simt.Reg
	ranges []regRange
	vars   map[string]int // index in p.Symbols
	labels map[string]int // statement index
	tables map[string]*Stmt
}

type regRange struct {
	prefix string
	count  int
	typ    string
}

func (d *decoder) fail(pos Pos, format string, args ...any) {
	s := scanner{file: d.m.File, src: d.m.Src}
	s.fail(pos.Line, pos.Col, format, args...)
}

func (d *decoder) module() {
	for _, f := range d.m.Files {
		d.files[f.Index] = f.Name
	}
	for _, v := range d.m.Vars {
		d.globals[v.Name] = d.symbol(v)
	}
	for _, v := range d.m.Vars {
		d.initialise(v, d.globals[v.Name])
	}
	for _, f := range d.m.Funcs {
		if old := d.protos[f.Name]; old != nil && old.HasBody && f.HasBody {
			d.fail(f.Pos, "function %s is defined twice", f.Name)
		}
		if f.HasBody || d.protos[f.Name] == nil {
			d.protos[f.Name] = f
		}
	}
	for _, f := range d.m.Funcs {
		if f.HasBody {
			d.funcs[f.Name] = len(d.p.Funcs)
			d.p.Funcs = append(d.p.Funcs, simt.Func{Name: f.Name, Kernel: f.Entry, ReqBlock: f.ReqNTid, MaxBlock: f.MaxNTid, MaxRegs: f.MaxNReg, Cluster: f.Cluster})
		}
	}
	// Parameters of device functions get their places first: calls refer to them.
	d.frames = map[*Func]*scope{}
	for _, f := range d.m.Funcs {
		if f.HasBody {
			d.frames[f] = d.formals(f, &d.p.Funcs[d.funcs[f.Name]])
		}
	}
	for _, f := range d.m.Funcs {
		if f.HasBody {
			d.function(f, d.frames[f])
		}
	}
	d.noRecursion()
	d.layoutShared()
	d.p.Ordered = d.ordered()
}

// align rounds n up to a multiple of a.
func align(n, a int) int {
	if a < 1 {
		a = 1
	}
	return (n + a - 1) / a * a
}

var types = map[string]simt.Type{
	"pred": simt.Pred,
	"b8":   simt.B8, "b16": simt.B16, "b32": simt.B32, "b64": simt.B64, "b128": simt.B128,
	"u8": simt.U8, "u16": simt.U16, "u32": simt.U32, "u64": simt.U64,
	"s8": simt.S8, "s16": simt.S16, "s32": simt.S32, "s64": simt.S64,
	"f16": simt.F16, "bf16": simt.BF16, "f32": simt.F32, "f64": simt.F64, "tf32": simt.TF32,
	"f16x2": simt.F16x2, "bf16x2": simt.BF16x2,
	"e4m3": simt.E4M3, "e5m2": simt.E5M2, "e4m3x2": simt.E4M3x2, "e5m2x2": simt.E5M2x2,
	"u16x2": simt.U16x2, "s16x2": simt.S16x2,
	"b1": simt.B1, "s4": simt.S4, "u4": simt.U4,
}

var spaces = map[string]simt.Space{
	"global": simt.SpaceGlobal, "shared": simt.SpaceShared, "local": simt.SpaceLocal,
	"const": simt.SpaceConst, "param": simt.SpaceParam,
	"shared::cta": simt.SpaceShared, "param::entry": simt.SpaceParam, "param::func": simt.SpaceParam,
}

// size returns the bytes of a variable.
func (d *decoder) size(v *Var) (elem, total int) {
	t, ok := types[v.Type]
	if !ok || t == simt.Pred {
		d.fail(v.Pos, "variable %s has the unsupported type .%s", v.Name, v.Type)
	}
	elem = t.Bits() / 8
	if v.Count > maxElements {
		d.fail(v.Pos, "variable %s is too large", v.Name)
	}
	return elem, elem * v.Vec * v.Count
}

// maxElements bounds arrays, so that sizes cannot overflow.
const maxElements = min(1<<32, math.MaxInt/64)

// symbol adds a variable to the program.
func (d *decoder) symbol(v *Var) int {
	elem, total := d.size(v)
	al := v.Align
	if al == 0 {
		al = elem * v.Vec
	}
	s := simt.Symbol{Name: v.Name, Space: spaces[v.Space], Size: total, Align: al}
	switch s.Space {
	case simt.SpaceGlobal:
		if v.Extern {
			d.fail(v.Pos, "global variable %s is not defined in this file", v.Name)
		}
	case simt.SpaceConst:
		s.Offset = align(d.space, al)
		d.space = s.Offset + total
	case simt.SpaceShared:
		s.Offset = -1 // see layoutShared
	}
	d.p.Symbols = append(d.p.Symbols, s)
	return len(d.p.Symbols) - 1
}

// initialise fills a variable's initial contents.
func (d *decoder) initialise(v *Var, sym int) {
	if !v.HasInit {
		return
	}
	elem, total := d.size(v)
	if len(v.Init)*elem > total {
		d.fail(v.Pos, "variable %s has more initial values than elements", v.Name)
	}
	s := &d.p.Symbols[sym]
	s.Data = make([]byte, total)
	for i, o := range v.Init {
		at := i * elem
		bits := o.Bits
		switch o.Kind {
		case OpdInt:
		case OpdF32, OpdF64:
			bits = d.floatBits(&o, types[v.Type])
		case OpdName:
			target, ok := d.globals[o.Name]
			if !ok {
				d.fail(o.Pos, "initial value %s is not a variable of this file", o.Name)
			}
			if elem < 4 {
				d.fail(o.Pos, "an address does not fit in .%s", v.Type)
			}
			s.Relocs = append(s.Relocs, simt.Reloc{Offset: at, Size: elem, Symbol: target, Generic: o.Generic})
			bits = uint64(o.Off)
		default:
			d.fail(o.Pos, "initial value of %s is not a constant", v.Name)
		}
		for b := range elem {
			s.Data[at+b] = byte(bits >> (8 * b))
		}
	}
}

// floatBits converts a floating-point constant to the encoding of t.
func (d *decoder) floatBits(o *Operand, t simt.Type) uint64 {
	switch {
	case t.Bits() == 32 && o.Kind == OpdF32, t.Bits() == 64 && o.Kind == OpdF64:
		return o.Bits
	case t.Bits() == 32:
		return uint64(math.Float32bits(float32(math.Float64frombits(o.Bits))))
	case t.Bits() == 64:
		return f64bits(float64(math.Float32frombits(uint32(o.Bits))))
	}
	d.fail(o.Pos, "a floating-point constant cannot have type .%s", t)
	return 0
}

// formals places a function's parameters.
func (d *decoder) formals(f *Func, out *simt.Func) *scope {
	sc := newScope()
	if f.Entry {
		off := 0
		for _, v := range f.Params {
			elem, total := d.size(v)
			al := max(v.Align, elem*v.Vec)
			off = align(off, al)
			out.Params = append(out.Params, simt.Param{Name: v.Name, Type: types[v.Type], Offset: off, Size: total, Array: v.Array})
			sc.vars[v.Name] = d.addSymbol(v, simt.SpaceParam, off, total)
			off += total
		}
		out.ParamBytes = off
		return sc
	}
	for _, v := range append(append([]*Var{}, f.Rets...), f.Params...) {
		sc.vars[v.Name] = d.frameVar(v)
	}
	return sc
}

func (d *decoder) addSymbol(v *Var, space simt.Space, off, size int) int {
	d.p.Symbols = append(d.p.Symbols, simt.Symbol{Name: v.Name, Space: space, Size: size, Align: 1, Offset: off})
	return len(d.p.Symbols) - 1
}

// frameVar places a parameter of a device function in the lanes' frames.
func (d *decoder) frameVar(v *Var) int {
	elem, total := d.size(v)
	off := align(d.p.FrameBytes, max(v.Align, elem*v.Vec))
	d.p.FrameBytes = off + total
	return d.addSymbol(v, simt.SpaceFrame, off, total)
}

func newScope() *scope {
	return &scope{regs: map[string]simt.Reg{}, vars: map[string]int{}, labels: map[string]int{}, tables: map[string]*Stmt{}}
}

// function decodes one body.
func (d *decoder) function(f *Func, frame *scope) {
	out := &d.p.Funcs[d.funcs[f.Name]]
	d.fn = &funcState{f: f, out: out, scopes: []*scope{frame}, labelPC: map[int]int{}}
	out.Start = len(d.p.Code)
	blocks := labelScopes(f.Body)
	d.push(blocks[-1])
	for i := range f.Body {
		st := &f.Body[i]
		d.fn.stmt = st
		switch st.Kind {
		case StmtOpen:
			d.push(blocks[i])
		case StmtClose:
			d.fn.scopes = d.fn.scopes[:len(d.fn.scopes)-1]
		case StmtLoc:
			d.fn.loc = d.place(st.Loc)
		case StmtVar:
			d.declare(st.Var)
		case StmtLabel:
			if d.fn.scopes[len(d.fn.scopes)-1].labels[st.Name] != i {
				d.fail(st.Pos, "label %s is defined twice", st.Name)
			}
			d.fn.labelPC[i] = len(d.p.Code)
		case StmtTable:
		case StmtInst:
			d.inst(st)
		}
	}
	// A body ends with ret, or as if it did.
	d.p.Code = append(d.p.Code, simt.Inst{Op: simt.OpRet, Text: "ret", Line: f.Pos.Line, Loc: d.fn.loc})
	out = &d.p.Funcs[d.funcs[f.Name]]
	out.End = len(d.p.Code)
	for _, fx := range d.fn.fixups {
		in := &d.p.Code[fx.pc]
		for _, t := range fx.targets {
			in.Targets = append(in.Targets, d.fn.labelPC[t])
		}
		if in.Op == simt.OpBra {
			in.Target = in.Targets[0]
			in.Targets = nil
		}
	}
	d.p.LocalBytes = max(d.p.LocalBytes, align(d.fn.local, 16))
}

func (d *decoder) push(labels map[string]int) {
	sc := newScope()
	if labels != nil {
		sc.labels = labels
	}
	for _, i := range labels {
		if st := &d.fn.f.Body[i]; st.Kind == StmtTable {
			sc.tables[st.Name] = st
		}
	}
	d.fn.scopes = append(d.fn.scopes, sc)
}

// labelScopes collects the labels of every block, by the index of its opening
// statement (-1 for the body): a branch may come before its label.
func labelScopes(body []Stmt) map[int]map[string]int {
	out := map[int]map[string]int{-1: {}}
	stack := []int{-1}
	for i := range body {
		top := stack[len(stack)-1]
		switch body[i].Kind {
		case StmtOpen:
			stack = append(stack, i)
			out[i] = map[string]int{}
		case StmtClose:
			stack = stack[:len(stack)-1]
		case StmtLabel, StmtTable:
			if _, dup := out[top][body[i].Name]; !dup {
				out[top][body[i].Name] = i
			}
		}
	}
	return out
}

// place converts a .loc to a source location and returns its index plus one.
func (d *decoder) place(l Loc) int {
	key := l
	inlined := 0
	if l.Inlined != nil {
		inlined = d.place(*l.Inlined)
		key.Inlined = nil
		key.Col = key.Col | inlined<<32 // one entry per call site
	}
	if at, ok := d.locs[key]; ok {
		return at
	}
	name := l.Name
	if name == "" {
		name = d.files[l.File]
	}
	if name == "" {
		name = "file " + itoa(l.File)
	}
	d.p.Locs = append(d.p.Locs, simt.Loc{File: name, Line: l.Line, Col: l.Col, Inlined: inlined})
	d.locs[key] = len(d.p.Locs)
	return len(d.p.Locs)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// declare adds a variable or registers to the innermost scope.
func (d *decoder) declare(v *Var) {
	sc := d.fn.scopes[len(d.fn.scopes)-1]
	switch v.Space {
	case "reg":
		if _, ok := types[v.Type]; !ok {
			d.fail(v.Pos, "registers of type .%s are not supported", v.Type)
		}
		if v.Vec > 1 {
			d.fail(v.Pos, "vector registers are not supported by the simulator")
		}
		if v.Count > 0 {
			sc.ranges = append(sc.ranges, regRange{v.Name, v.Count, v.Type})
			return
		}
		sc.regs[v.Name] = d.newReg(v.Type, v.Name, v.Pos)
	case "param":
		sc.vars[v.Name] = d.frameVar(v)
	case "local":
		elem, total := d.size(v)
		d.fn.local = align(d.fn.local, max(v.Align, elem*v.Vec))
		sc.vars[v.Name] = d.addSymbol(v, simt.SpaceLocal, d.fn.local, total)
		d.fn.local += total
	default:
		i := d.symbol(v)
		d.initialise(v, i)
		sc.vars[v.Name] = i
	}
}

// newReg makes a register of a declared type.
func (d *decoder) newReg(typ, name string, pos Pos) simt.Reg {
	t := types[typ]
	var r simt.Reg
	switch b := t.Bits(); {
	case t == simt.Pred:
		r = simt.MakeReg(simt.ClassP, d.p.NumP)
		d.p.NumP++
	case b <= 32:
		r = simt.MakeReg(simt.Class32, d.p.Num32)
		d.p.Num32++
	case b == 64:
		r = simt.MakeReg(simt.Class64, d.p.Num64)
		d.p.Num64++
	default:
		d.fail(pos, "register %s has the unsupported type .%s", name, typ)
	}
	d.bits[r] = t.Bits()
	d.p.RegNames[r] = name
	return r
}

// lookupReg finds a register by name.
func (d *decoder) lookupReg(name string) (simt.Reg, bool) {
	for i := len(d.fn.scopes) - 1; i >= 0; i-- {
		sc := d.fn.scopes[i]
		if r, ok := sc.regs[name]; ok {
			return r, true
		}
		for _, rg := range sc.ranges {
			if rest, ok := strings.CutPrefix(name, rg.prefix); ok {
				if n, ok := decimal(rest); ok && n < rg.count {
					r := d.newReg(rg.typ, name, d.fn.stmt.Pos)
					sc.regs[name] = r
					return r, true
				}
			}
		}
	}
	return 0, false
}

// decimal reads a plain decimal number.
func decimal(s string) (int, bool) {
	if s == "" || len(s) > 9 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// lookupVar finds a variable: the index of its symbol.
func (d *decoder) lookupVar(name string) (int, bool) {
	for i := len(d.fn.scopes) - 1; i >= 0; i-- {
		if s, ok := d.fn.scopes[i].vars[name]; ok {
			return s, true
		}
	}
	s, ok := d.globals[name]
	return s, ok
}

// constReg returns a register that holds a constant.
func (d *decoder) constReg(class simt.Class, value uint64, symbol int) simt.Reg {
	key := constKey{class, value, symbol}
	if r, ok := d.consts[key]; ok {
		return r
	}
	r := d.plainReg(class)
	d.consts[key] = r
	d.p.Inits = append(d.p.Inits, simt.Init{Reg: r, Value: value, Symbol: symbol})
	return r
}

// plainReg makes a register without a name.
func (d *decoder) plainReg(class simt.Class) simt.Reg {
	n := &d.p.NumP
	switch class {
	case simt.Class32:
		n = &d.p.Num32
	case simt.Class64:
		n = &d.p.Num64
	}
	*n++
	return simt.MakeReg(class, *n-1)
}

// special returns the register of a special value.
func (d *decoder) special(s simt.Special) simt.Reg {
	if r, ok := d.specs[s]; ok {
		return r
	}
	r := d.plainReg(simt.Class32)
	d.specs[s] = r
	d.p.Inits = append(d.p.Inits, simt.Init{Reg: r, Special: s})
	return r
}

// layoutShared places the variables of shared memory: those of known size, then
// the dynamic ones, which all begin at one address.
func (d *decoder) layoutShared() {
	at := 0
	dynAlign := 1
	for i := range d.p.Symbols {
		s := &d.p.Symbols[i]
		if s.Space != simt.SpaceShared {
			continue
		}
		if s.Size == 0 {
			dynAlign = max(dynAlign, s.Align)
			continue
		}
		at = align(at, s.Align)
		s.Offset = at
		at += s.Size
	}
	d.p.SharedBytes = at
	d.p.DynShared = align(at, dynAlign)
	for i := range d.p.Symbols {
		if s := &d.p.Symbols[i]; s.Space == simt.SpaceShared && s.Size == 0 {
			s.Offset = d.p.DynShared
		}
	}
}

// noRecursion refuses functions that call themselves: every function has one
// frame of parameters and registers.
func (d *decoder) noRecursion() {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(d.p.Funcs))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		for _, c := range d.p.Funcs[i].Callees {
			if state[c] == open {
				d.fail(d.protos[d.p.Funcs[c].Name].Pos, "function %s calls itself: recursion is not supported by the simulator", d.p.Funcs[c].Name)
			}
			if state[c] == unseen {
				visit(c)
			}
		}
		state[i] = done
	}
	for i := range d.p.Funcs {
		if state[i] == unseen {
			visit(i)
		}
	}
}

// ordered reports whether blocks may communicate while they run.
func (d *decoder) ordered() bool {
	for i := range d.p.Code {
		in := &d.p.Code[i]
		if in.Op == simt.OpBulk && in.Bulk.Reduce {
			return true
		}
		if in.Space != simt.SpaceGlobal && in.Space != simt.SpaceGeneric {
			continue
		}
		switch in.Op {
		case simt.OpAtom, simt.OpRed:
			return true
		case simt.OpLd, simt.OpSt:
			if in.Flags&simt.FlagVolatile != 0 {
				return true
			}
		}
	}
	return false
}
