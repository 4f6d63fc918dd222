package ptx

import (
	"math"

	"github.com/tritonc/tritonc/driver/sim/simt"

	"github.com/tritonc/tritonc/core/diag"
)

// label finds the statement of a label visible here.
func (d *decoder) label(o *Operand) int {
	for i := len(d.fn.scopes) - 1; i >= 0; i-- {
		if at, ok := d.fn.scopes[i].labels[o.Name]; ok && d.fn.f.Body[at].Kind == StmtLabel {
			return at
		}
	}
	d.fail(o.Pos, "label %s is not defined", o.Name)
	return 0
}

func (d *decoder) bra(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpBra}
	m.take("uni") // a promise that the simulator does not need
	m.finish()
	d.want(st, 1)
	if st.Args[0].Kind != OpdName {
		d.fail(st.Args[0].Pos, "%s takes a label", st.Name)
	}
	d.fn.fixups = append(d.fn.fixups, fixup{len(d.p.Code), []int{d.label(&st.Args[0])}})
	d.emit(st, in)
}

func (d *decoder) brx(st *Stmt, m *mods) {
	if !m.take("idx") {
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	m.take("uni")
	m.finish()
	d.want(st, 2)
	in := simt.Inst{Op: simt.OpBrx, A: d.src(&st.Args[0], simt.U32)}
	var targets []int
	for i := len(d.fn.scopes) - 1; i >= 0 && targets == nil; i-- {
		if t := d.fn.scopes[i].tables[st.Args[1].Name]; t != nil {
			for k := range t.Args {
				targets = append(targets, d.label(&t.Args[k]))
			}
		}
	}
	if targets == nil {
		d.fail(st.Args[1].Pos, "%s is not a list of branch targets", st.Args[1].Name)
	}
	d.fn.fixups = append(d.fn.fixups, fixup{len(d.p.Code), targets})
	d.emit(st, in)
}

// hostFuncs are the functions that the driver provides, by their number of
// parameters.
var hostFuncs = map[string]struct{ host, params, rets int }{
	"vprintf":      {simt.HostPrintf, 2, 1},
	"__assertfail": {simt.HostAssert, 5, 0},
}

// call decodes "call (ret), f, (args)" and its shorter forms.
func (d *decoder) call(st *Stmt, m *mods) {
	m.take("uni")
	m.finish()
	args := st.Args
	var rets, params []Operand
	if len(args) > 0 && args[0].Kind == OpdList {
		rets, args = args[0].List, args[1:]
	}
	if len(args) == 0 || args[0].Kind != OpdName {
		d.fail(st.Pos, "%s names no function", st.Name)
	}
	name := args[0]
	args = args[1:]
	if len(args) > 0 && args[0].Kind == OpdList {
		params, args = args[0].List, args[1:]
	}
	if len(args) > 0 {
		d.fail(args[0].Pos, "indirect calls are not supported by the simulator")
	}
	if h, ok := hostFuncs[name.Name]; ok && !d.defined(name.Name) {
		if len(params) != h.params || len(rets) != h.rets {
			d.fail(name.Pos, "%s takes %s and returns %d", name.Name, diag.Count(h.params, "parameter"), h.rets)
		}
		in := simt.Inst{Op: simt.OpCallExt, Imm: int64(h.host)}
		for i := range params {
			s := d.frameArg(&params[i])
			in.Params = append(in.Params, simt.Copy{From: s.Offset, Size: s.Size})
		}
		d.emit(st, in)
		return
	}
	callee := d.protos[name.Name]
	at, ok := d.funcs[name.Name]
	if !ok || callee.Entry {
		d.fail(name.Pos, "function %s is not defined in this file", name.Name)
	}
	if len(params) != len(callee.Params) || len(rets) != len(callee.Rets) {
		d.fail(name.Pos, "%s takes %s and returns %d, called with %d and %d",
			name.Name, diag.Count(len(callee.Params), "parameter"), len(callee.Rets), len(params), len(rets))
	}
	in := simt.Inst{Op: simt.OpCall, Target: at}
	for i := range params {
		from, to := d.frameArg(&params[i]), d.formal(callee, callee.Params[i])
		if from.Size != to.Size {
			d.fail(params[i].Pos, "argument %s has %s, the parameter of %s has %d", params[i].Name, diag.Count(from.Size, "byte"), name.Name, to.Size)
		}
		in.Params = append(in.Params, simt.Copy{From: from.Offset, To: to.Offset, Size: to.Size})
	}
	fn := &d.p.Funcs[d.funcs[d.fn.f.Name]]
	fn.Callees = append(fn.Callees, at)
	if len(rets) == 0 {
		d.emit(st, in)
		return
	}
	d.emit(st, in)
	// The results are copied back by a call of nothing: a copy of parameters.
	back := simt.Inst{Op: simt.OpCopyFrame}
	for i := range rets {
		from, to := d.formal(callee, callee.Rets[i]), d.frameArg(&rets[i])
		if from.Size != to.Size {
			d.fail(rets[i].Pos, "result %s has %s, that of %s has %d", rets[i].Name, diag.Count(to.Size, "byte"), name.Name, from.Size)
		}
		back.Params = append(back.Params, simt.Copy{From: from.Offset, To: to.Offset, Size: to.Size})
	}
	d.emit(st, back)
}

func (d *decoder) defined(name string) bool {
	_, ok := d.funcs[name]
	return ok
}

// frameArg is the parameter variable that a call passes.
func (d *decoder) frameArg(o *Operand) *simt.Symbol {
	if o.Kind == OpdName {
		if i, ok := d.lookupVar(o.Name); ok && d.p.Symbols[i].Space == simt.SpaceFrame {
			return &d.p.Symbols[i]
		}
	}
	d.fail(o.Pos, "%s passes variables declared with .param only", d.fn.stmt.Name)
	return nil
}

// formal is the place of a callee's parameter.
func (d *decoder) formal(f *Func, v *Var) *simt.Symbol {
	return &d.p.Symbols[d.frames[f].vars[v.Name]]
}

// sync consumes .sync.
func (m *mods) sync() {
	if !m.take("sync") {
		m.d.fail(m.st.Pos, "%s without .sync does not exist on processors since sm_70", m.st.Name)
	}
}

func (d *decoder) shfl(st *Stmt, m *mods) {
	m.sync()
	mode := m.oneOf("up", "down", "bfly", "idx")
	if mode < 0 {
		d.fail(st.Pos, "%s names no mode", st.Name)
	}
	t := m.typ()
	m.finish()
	d.want(st, 5)
	in := simt.Inst{Op: simt.OpShfl, Type: t, Imm: int64(mode)}
	o := &st.Args[0]
	if o.Kind == OpdPair {
		in.Dsts = []simt.Reg{d.dst(&o.List[1], simt.Pred)}
		o = &o.List[0]
	}
	in.D = d.dst(o, simt.B32)
	in.A = d.src(&st.Args[1], simt.B32)
	in.B = d.src(&st.Args[2], simt.B32)
	in.Regs = []simt.Reg{d.src(&st.Args[4], simt.B32), d.src(&st.Args[3], simt.B32)}
	d.emit(st, in)
}

func (d *decoder) vote(st *Stmt, m *mods) {
	m.sync()
	mode := m.oneOf("all", "any", "uni", "ballot")
	if mode < 0 {
		d.fail(st.Pos, "%s names no mode", st.Name)
	}
	t := m.typ()
	m.finish()
	d.want(st, 3)
	in := simt.Inst{Op: simt.OpVote, Type: t, Imm: int64(mode), D: d.dst(&st.Args[0], t)}
	p, not := d.pred(&st.Args[1])
	in.A = p
	if not {
		in.Flags |= simt.FlagPredNot
	}
	in.Regs = []simt.Reg{d.src(&st.Args[2], simt.B32)}
	d.emit(st, in)
}

func (d *decoder) match(st *Stmt, m *mods) {
	mode := m.oneOf("any", "all")
	m.sync()
	t := m.typ()
	m.finish()
	d.want(st, 3)
	in := simt.Inst{Op: simt.OpMatch, Type: t, Imm: int64(mode)}
	o := &st.Args[0]
	if o.Kind == OpdPair {
		in.Dsts = []simt.Reg{d.dst(&o.List[1], simt.Pred)}
		o = &o.List[0]
	}
	in.D, in.A = d.dst(o, simt.B32), d.src(&st.Args[1], t)
	in.Regs = []simt.Reg{d.src(&st.Args[2], simt.B32)}
	d.emit(st, in)
}

func (d *decoder) redux(st *Stmt, m *mods) {
	m.sync()
	in := simt.Inst{Op: simt.OpRedux}
	op := m.oneOf("add", "min", "max", "inc", "dec", "and", "or", "xor")
	if op < 0 || op == int(simt.AtomInc) || op == int(simt.AtomDec) {
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	in.Atomic = simt.Atomic(op)
	if m.take("abs") {
		in.Flags |= simt.FlagAbs
	}
	if m.take("NaN") {
		in.Flags |= simt.FlagNaN
	}
	in.Type = m.typ()
	m.finish()
	d.want(st, 3)
	in.D, in.A = d.dst(&st.Args[0], in.Type), d.src(&st.Args[1], in.Type)
	in.Regs = []simt.Reg{d.src(&st.Args[2], simt.B32)}
	d.emit(st, in)
}

func (d *decoder) elect(st *Stmt, m *mods) {
	m.sync()
	m.finish()
	d.want(st, 2)
	o := &st.Args[0]
	if o.Kind != OpdPair {
		d.fail(o.Pos, "%s takes a register and a predicate", st.Name)
	}
	d.emit(st, simt.Inst{
		Op: simt.OpElect, D: d.dst(&o.List[0], simt.B32), Dsts: []simt.Reg{d.dst(&o.List[1], simt.Pred)},
		Regs: []simt.Reg{d.src(&st.Args[1], simt.B32)},
	})
}

func (d *decoder) activemask(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 1)
	d.emit(st, simt.Inst{Op: simt.OpActive, Type: t, D: d.dst(&st.Args[0], t)})
}

// bar decodes bar and barrier, bar.warp.sync among them.
func (d *decoder) bar(st *Stmt, m *mods) {
	if m.take("cluster") {
		d.clusterBar(st, m)
		return
	}
	if m.take("warp") {
		m.sync()
		m.finish()
		d.want(st, 1)
		d.emit(st, simt.Inst{Op: simt.OpWarpSync, Regs: []simt.Reg{d.src(&st.Args[0], simt.B32)}})
		return
	}
	m.take("cta")
	in := simt.Inst{Op: simt.OpBar}
	switch m.oneOf("sync", "arrive", "red") {
	case 0:
		in.Imm = simt.BarSync
	case 1:
		in.Imm = simt.BarArrive
	case 2:
		in.Imm = simt.BarRedPopc + int64(m.oneOf("popc", "and", "or"))
		if in.Imm < simt.BarRedPopc {
			d.fail(st.Pos, "%s names no reduction", st.Name)
		}
	default:
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	if m.take("aligned") || m.op == "bar" {
		in.Flags |= simt.FlagAligned
	}
	args := st.Args
	if in.Imm >= simt.BarRedPopc {
		t := m.typ()
		d.wantFrom(st, 3, 4)
		in.D = d.dst(&args[0], t)
		p, not := d.pred(&args[len(args)-1])
		in.C = p
		if not {
			in.Flags |= simt.FlagNot
		}
		args = args[1 : len(args)-1]
	} else {
		d.wantFrom(st, 1, 2)
	}
	m.finish()
	in.A = d.src(&args[0], simt.U32)
	switch {
	case len(args) == 2:
		in.B = d.src(&args[1], simt.U32)
	case in.Imm == simt.BarArrive:
		d.fail(st.Pos, "%s needs a number of threads", st.Name)
	}
	d.emit(st, in)
}

// clusterBar decodes barrier.cluster.
func (d *decoder) clusterBar(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpClusterBar}
	switch m.oneOf("arrive", "wait") {
	case 0:
		if m.oneOf("release", "relaxed") == 1 {
			in.Imm = simt.ClusterArriveRelaxed
		}
	case 1:
		in.Imm = simt.ClusterWait
		m.take("acquire")
	default:
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	if m.take("aligned") {
		in.Flags |= simt.FlagAligned
	}
	m.finish()
	d.want(st, 0)
	d.emit(st, in)
}

// fence decodes membar and fence. Within a block and in the rotation of ordered
// programs all accesses are in order already.
func (d *decoder) fence(st *Stmt, m *mods) {
	kind := int64(0)
	if m.take("proxy") {
		if m.take("tensormap::generic") {
			acquires := m.oneOf("acquire", "release") == 0
			m.oneOf("cta", "cluster", "gpu", "sys")
			m.finish()
			if !acquires {
				d.want(st, 0)
				d.emit(st, simt.Inst{Op: simt.OpFence})
				return
			}
			d.want(st, 2)
			in, space := simt.Inst{Op: simt.OpMapFence}, simt.SpaceGeneric
			in.A, in.Imm2 = d.addr(&st.Args[0], &space)
			d.immediate(&st.Args[1], simt.MapBytes)
			d.emit(st, in)
			return
		}
		switch m.oneOf("alias", "async") {
		case -1:
			d.fail(st.Pos, "%s: the simulator does not execute this fence", st.Name)
		case 1:
			kind = simt.FenceProxy
		}
		m.space()
	}
	m.take("mbarrier_init")
	m.oneOf("sc", "acq_rel", "acquire", "release")
	m.oneOf("cta", "cluster", "gpu", "gl", "sys")
	m.finish()
	d.want(st, 0)
	d.emit(st, simt.Inst{Op: simt.OpFence, Imm: kind})
}

func (d *decoder) nanosleep(st *Stmt, m *mods) {
	m.tryType()
	m.take("mask")
	m.finish()
	d.want(st, 1)
	d.emit(st, simt.Inst{Op: simt.OpNanosleep})
}

// griddepcontrol orders a grid with the one before it: launches run one after
// another here.
func (d *decoder) griddepcontrol(st *Stmt, m *mods) {
	if m.oneOf("launch_dependents", "wait") < 0 {
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	m.finish()
	d.emit(st, simt.Inst{Op: simt.OpNop})
}

// setmaxnreg decodes what moves registers between warpgroups.
func (d *decoder) setmaxnreg(st *Stmt, m *mods) {
	less := m.oneOf("inc", "dec")
	if less < 0 {
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	m.sync()
	m.take("aligned")
	m.tryType()
	m.finish()
	d.want(st, 1)
	n := d.immediate(&st.Args[0], math.MaxUint32)
	if n < simt.FewestRegs || n > simt.MostRegs || n%simt.RegStep != 0 {
		d.fail(st.Args[0].Pos, "%s takes a multiple of %d from %d to %d, not %d", st.Name, simt.RegStep, simt.FewestRegs, simt.MostRegs, n)
	}
	d.emit(st, simt.Inst{Op: simt.OpSetRegs, Imm: n, Imm2: int64(less), Flags: simt.FlagAligned})
}

// mma decodes mma.sync of dense matrices.
func (d *decoder) mma(st *Stmt, m *mods) {
	m.sync()
	if !m.take("aligned") {
		d.fail(st.Pos, "%s needs .aligned", st.Name)
	}
	if m.oneOf("sp", "sp::ordered_metadata") >= 0 {
		d.fail(st.Pos, "%s: sparse matrices are not supported by the simulator", st.Name)
	}
	for _, b := range []string{"block_scale", "kind::mxf8f6f4", "kind::mxf4", "kind::f8f6f4", "kind::mxf4nvf4"} {
		if m.take(b) {
			d.fail(st.Pos, "%s: this kind of mma is not supported by the simulator", st.Name)
		}
	}
	mm := &simt.Mma{}
	for _, name := range m.list {
		if s, ok := mmaShapes[name]; ok {
			m.take(name)
			mm.M, mm.N, mm.K = s[0], s[1], s[2]
		}
	}
	if mm.M == 0 {
		d.fail(st.Pos, "%s: this shape is not supported by the simulator", st.Name)
	}
	if !m.take("row") || !m.take("col") {
		d.fail(st.Pos, "%s: only .row.col is supported by the simulator", st.Name)
	}
	in := simt.Inst{Op: simt.OpMma, Flags: simt.FlagAligned, Mma: mm, Round: m.round()}
	if m.take("satfinite") {
		in.Flags |= simt.FlagSat
	}
	mm.DType, mm.AType, mm.BType, mm.CType = m.typ(), m.typ(), m.typ(), m.typ()
	if mm.AType == simt.B1 {
		switch m.oneOf("xor", "and") {
		case 0:
			mm.Xor = true
		case -1:
			d.fail(st.Pos, "%s names no operation", st.Name)
		}
		if !m.take("popc") {
			d.fail(st.Pos, "%s needs .popc", st.Name)
		}
	}
	m.finish()
	d.want(st, 4)
	regs := func(o *Operand, t simt.Type, elems int, dst bool) []simt.Reg {
		reg, per := simt.B32, 32/t.Bits()
		if t == simt.F64 {
			reg, per = simt.B64, 1
		}
		n := max(elems/(32*per), 1)
		var out []simt.Reg
		for _, e := range d.elements(o, n) {
			if dst {
				out = append(out, d.dst(&e, reg))
			} else {
				out = append(out, d.src(&e, reg))
			}
		}
		return out
	}
	mm.DRegs = regs(&st.Args[0], mm.DType, mm.M*mm.N, true)
	mm.ARegs = regs(&st.Args[1], mm.AType, mm.M*mm.K, false)
	mm.BRegs = regs(&st.Args[2], mm.BType, mm.K*mm.N, false)
	mm.CRegs = regs(&st.Args[3], mm.CType, mm.M*mm.N, false)
	in.Type = mm.DType
	d.emit(st, in)
}

var mmaShapes = map[string][3]int{
	"m8n8k4": {8, 8, 4}, "m8n8k16": {8, 8, 16}, "m8n8k32": {8, 8, 32}, "m8n8k128": {8, 8, 128},
	"m16n8k4": {16, 8, 4}, "m16n8k8": {16, 8, 8}, "m16n8k16": {16, 8, 16}, "m16n8k32": {16, 8, 32},
	"m16n8k64": {16, 8, 64}, "m16n8k128": {16, 8, 128}, "m16n8k256": {16, 8, 256},
}
