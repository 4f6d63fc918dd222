package ptx

import (
	"github.com/tritonc/tritonc/driver/sim/simt"

	"github.com/tritonc/tritonc/core/diag"
)

// instDecoder decodes one instruction whose modifiers are m.
type instDecoder func(d *decoder, st *Stmt, m *mods)

// instTable maps opcodes to their decoders.
var instTable = map[string]instDecoder{
	"mov":            (*decoder).mov,
	"selp":           (*decoder).selp,
	"slct":           (*decoder).slct,
	"add":            arith(simt.OpAdd, 2),
	"addc":           carry(simt.OpAdd, 2),
	"sub":            arith(simt.OpSub, 2),
	"subc":           carry(simt.OpSub, 2),
	"mul":            arith(simt.OpMul, 2),
	"mad":            arith(simt.OpMad, 3),
	"madc":           carry(simt.OpMad, 3),
	"mul24":          arith(simt.OpMul24, 2),
	"mad24":          arith(simt.OpMad24, 3),
	"fma":            arith(simt.OpFma, 3),
	"div":            arith(simt.OpDiv, 2),
	"rem":            arith(simt.OpRem, 2),
	"abs":            arith(simt.OpAbs, 1),
	"neg":            arith(simt.OpNeg, 1),
	"min":            arith(simt.OpMin, 2),
	"max":            arith(simt.OpMax, 2),
	"sad":            arith(simt.OpSad, 3),
	"copysign":       arith(simt.OpCopysign, 2),
	"testp":          (*decoder).testp,
	"and":            logic(simt.OpAnd, 2),
	"or":             logic(simt.OpOr, 2),
	"xor":            logic(simt.OpXor, 2),
	"not":            logic(simt.OpNot, 1),
	"cnot":           logic(simt.OpCnot, 1),
	"shl":            shift(simt.OpShl),
	"shr":            shift(simt.OpShr),
	"shf":            (*decoder).shf,
	"lop3":           (*decoder).lop3,
	"prmt":           (*decoder).prmt,
	"bfe":            (*decoder).bfe,
	"bfi":            (*decoder).bfi,
	"bfind":          bitCount(simt.OpBfind),
	"brev":           bitCount(simt.OpBrev),
	"popc":           bitCount(simt.OpPopc),
	"clz":            bitCount(simt.OpClz),
	"fns":            (*decoder).fns,
	"dp4a":           (*decoder).dp4a,
	"dp2a":           (*decoder).dp2a,
	"bmsk":           (*decoder).bmsk,
	"szext":          (*decoder).szext,
	"setp":           (*decoder).setp,
	"set":            (*decoder).set,
	"cvt":            (*decoder).cvt,
	"ex2":            approx(simt.OpEx2),
	"lg2":            approx(simt.OpLg2),
	"rcp":            approx(simt.OpRcp),
	"sqrt":           approx(simt.OpSqrt),
	"rsqrt":          approx(simt.OpRsqrt),
	"sin":            approx(simt.OpSin),
	"cos":            approx(simt.OpCos),
	"tanh":           approx(simt.OpTanh),
	"ld":             (*decoder).ld,
	"ldu":            (*decoder).ld,
	"st":             (*decoder).st,
	"atom":           (*decoder).atom,
	"red":            (*decoder).atom,
	"cvta":           (*decoder).cvta,
	"mapa":           (*decoder).mapa,
	"getctarank":     (*decoder).getctarank,
	"isspacep":       (*decoder).isspacep,
	"prefetch":       (*decoder).prefetch,
	"prefetchu":      (*decoder).prefetch,
	"applypriority":  (*decoder).prefetch,
	"discard":        (*decoder).prefetch,
	"createpolicy":   (*decoder).createpolicy,
	"ldmatrix":       (*decoder).ldmatrix,
	"stmatrix":       (*decoder).stmatrix,
	"cp":             (*decoder).cp,
	"mma":            (*decoder).mma,
	"wgmma":          (*decoder).wgmma,
	"mbarrier":       (*decoder).mbarrier,
	"tensormap":      (*decoder).tensormap,
	"shfl":           (*decoder).shfl,
	"vote":           (*decoder).vote,
	"match":          (*decoder).match,
	"redux":          (*decoder).redux,
	"elect":          (*decoder).elect,
	"activemask":     (*decoder).activemask,
	"bar":            (*decoder).bar,
	"barrier":        (*decoder).bar,
	"membar":         (*decoder).fence,
	"fence":          (*decoder).fence,
	"bra":            (*decoder).bra,
	"brx":            (*decoder).brx,
	"call":           (*decoder).call,
	"ret":            plain(simt.OpRet),
	"exit":           plain(simt.OpExit),
	"trap":           plain(simt.OpTrap),
	"brkpt":          plain(simt.OpBrkpt),
	"nanosleep":      (*decoder).nanosleep,
	"pmevent":        (*decoder).nanosleep,
	"griddepcontrol": (*decoder).griddepcontrol,
	"setmaxnreg":     (*decoder).setmaxnreg,
}

// later names instructions of newer processors, for a better error.
var later = map[string]string{
	"tcgen05": "tensor memory", "clusterlaunchcontrol": "cluster launch control",
	"multimem": "multicast memory",
	"tex":      "textures", "tld4": "textures", "suld": "surfaces", "sust": "surfaces", "sured": "surfaces", "txq": "textures", "suq": "surfaces",
	"wmma":      "the wmma form of matrix instructions (mma.sync is supported)",
	"stacksave": "dynamic stacks", "stackrestore": "dynamic stacks", "alloca": "dynamic stacks",
	"st_async": "asynchronous stores", "red_async": "asynchronous reductions",
}

func (d *decoder) inst(st *Stmt) {
	m := d.mods(st)
	f := instTable[m.op]
	if f == nil {
		if what, ok := later[m.op]; ok {
			d.fail(st.Pos, "%s: the simulator does not execute %s", st.Name, what)
		}
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	f(d, st, m)
}

func plain(op simt.Op) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		if op == simt.OpRet {
			m.take("uni")
		}
		m.finish()
		d.want(st, 0)
		d.emit(st, simt.Inst{Op: op})
	}
}

// mov copies, takes addresses, and packs and unpacks vectors.
func (d *decoder) mov(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 2)
	a, b := &st.Args[0], &st.Args[1]
	switch {
	case a.Kind == OpdVector:
		n := len(a.List)
		part := d.partType(a, t, n)
		in := simt.Inst{Op: simt.OpUnpack, Type: t, A: d.src(b, t)}
		for i := range a.List {
			in.Dsts = append(in.Dsts, d.dst(&a.List[i], part))
		}
		d.emit(st, in)
	case b.Kind == OpdVector:
		n := len(b.List)
		part := d.partType(b, t, n)
		in := simt.Inst{Op: simt.OpPack, Type: t, D: d.dst(a, t)}
		for i := range b.List {
			in.Regs = append(in.Regs, d.src(&b.List[i], part))
		}
		d.emit(st, in)
	case b.Kind == OpdName && clocks[b.Name] != 0:
		d.emit(st, simt.Inst{Op: simt.OpClock, Type: t, D: d.dst(a, t), Imm: int64(clocks[b.Name])})
	case t == simt.Pred:
		d.emit(st, simt.Inst{Op: simt.OpMov, Type: t, D: d.dst(a, t), A: d.plainPred(st, b)})
	default:
		d.emit(st, simt.Inst{Op: simt.OpMov, Type: t, D: d.dst(a, t), A: d.src(b, t)})
	}
}

// clocks are the special registers that change while a warp runs.
var clocks = map[string]int{
	"%clock": 1, "%clock_hi": 2, "%clock64": 3, "%globaltimer": 4, "%globaltimer_lo": 5, "%globaltimer_hi": 6,
}

// partType is the type of the n parts of a t.
func (d *decoder) partType(o *Operand, t simt.Type, n int) simt.Type {
	if n == 2 || n == 4 || n == 8 {
		switch t.Bits() / n {
		case 8:
			return simt.B8
		case 16:
			return simt.B16
		case 32:
			return simt.B32
		}
	}
	d.fail(o.Pos, "%s cannot split its operand in %s", d.fn.stmt.Name, diag.Count(n, "part"))
	return 0
}

func (d *decoder) selp(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 4)
	in := simt.Inst{Op: simt.OpSelp, Type: t, D: d.dst(&st.Args[0], t)}
	in.A, in.B = d.src(&st.Args[1], t), d.src(&st.Args[2], t)
	p, not := d.pred(&st.Args[3])
	if not {
		in.A, in.B = in.B, in.A
	}
	in.C = p
	d.emit(st, in)
}

func (d *decoder) slct(st *Stmt, m *mods) {
	f := m.flags()
	t := m.typ()
	c := m.typ()
	m.finish()
	d.want(st, 4)
	if c != simt.S32 && c != simt.F32 {
		d.fail(st.Pos, "%s: the selector is .s32 or .f32", st.Name)
	}
	d.emit(st, simt.Inst{
		Op: simt.OpSlct, Type: t, From: c, Flags: f, D: d.dst(&st.Args[0], t),
		A: d.src(&st.Args[1], t), B: d.src(&st.Args[2], t), C: d.src(&st.Args[3], c),
	})
}

// arith decodes arithmetic with n sources of one type.
func arith(op simt.Op, n int) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		in := simt.Inst{Op: op, Flags: m.flags(), Round: m.round()}
		if m.take("cc") {
			in.Flags |= simt.FlagCarry
		}
		d.arith(st, m, in, n)
	}
}

// carry decodes the forms that take the carry.
func carry(op simt.Op, n int) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		in := simt.Inst{Op: op, Flags: simt.FlagCarryIn}
		if m.take("cc") {
			in.Flags |= simt.FlagCarry
		}
		d.arith(st, m, in, n)
	}
}

func (d *decoder) arith(st *Stmt, m *mods, in simt.Inst, n int) {
	switch m.oneOf("lo", "hi", "wide") {
	case 1:
		in.Flags |= simt.FlagHi
	case 2:
		in.Flags |= simt.FlagWide
	}
	switch m.oneOf("approx", "full") {
	case 0:
		in.Flags |= simt.FlagApprox
	case 1:
		in.Flags |= simt.FlagFull
	}
	if m.take("relu") {
		in.Flags |= simt.FlagRelu
	}
	if m.take("NaN") {
		in.Flags |= simt.FlagNaN
	}
	if m.take("xorsign") {
		in.Flags |= simt.FlagXorSign
	}
	if m.take("abs") {
		in.Flags |= simt.FlagAbs
	}
	t := m.typ()
	in.Type = t
	m.finish()
	if (in.Op == simt.OpMin || in.Op == simt.OpMax) && len(st.Args) == 4 {
		in.Op += simt.OpMin3 - simt.OpMin
		n = 3
	}
	d.want(st, n+1)
	dt := t
	if in.Flags&simt.FlagWide != 0 {
		switch t {
		case simt.U16:
			dt = simt.U32
		case simt.S16:
			dt = simt.S32
		case simt.U32:
			dt = simt.U64
		case simt.S32:
			dt = simt.S64
		default:
			d.fail(st.Pos, "%s: .wide takes 16- and 32-bit integers", st.Name)
		}
	}
	in.D = d.dst(&st.Args[0], dt)
	in.A = d.src(&st.Args[1], t)
	if n > 1 {
		in.B = d.src(&st.Args[2], t)
	}
	if n > 2 {
		in.C = d.src(&st.Args[3], dt)
	}
	d.emit(st, in)
}

func (d *decoder) testp(st *Stmt, m *mods) {
	kind := m.oneOf("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	if kind < 0 {
		d.fail(st.Pos, "%s names no class of numbers", st.Name)
	}
	t := m.typ()
	m.finish()
	d.want(st, 2)
	d.emit(st, simt.Inst{
		Op: simt.OpTestp, Type: t, Imm: int64(kind),
		D: d.dst(&st.Args[0], simt.Pred), A: d.src(&st.Args[1], t),
	})
}

func logic(op simt.Op, n int) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		t := m.typ()
		m.finish()
		d.want(st, n+1)
		in := simt.Inst{Op: op, Type: t, D: d.dst(&st.Args[0], t)}
		get := func(o *Operand) simt.Reg {
			if t == simt.Pred {
				return d.plainPred(st, o)
			}
			return d.src(o, t)
		}
		in.A = get(&st.Args[1])
		if n > 1 {
			in.B = get(&st.Args[2])
		}
		d.emit(st, in)
	}
}

func shift(op simt.Op) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		t := m.typ()
		m.finish()
		d.want(st, 3)
		d.emit(st, simt.Inst{
			Op: op, Type: t, D: d.dst(&st.Args[0], t),
			A: d.src(&st.Args[1], t), B: d.src(&st.Args[2], simt.U32),
		})
	}
}

func (d *decoder) shf(st *Stmt, m *mods) {
	var f simt.Flag
	switch m.oneOf("l", "r") {
	case 0:
		f |= simt.FlagLeft
	case -1:
		d.fail(st.Pos, "%s is neither .l nor .r", st.Name)
	}
	switch m.oneOf("clamp", "wrap") {
	case 0:
		f |= simt.FlagClamp
	case -1:
		d.fail(st.Pos, "%s is neither .clamp nor .wrap", st.Name)
	}
	t := m.typ()
	m.finish()
	d.want(st, 4)
	d.emit(st, simt.Inst{
		Op: simt.OpShf, Type: t, Flags: f, D: d.dst(&st.Args[0], t),
		A: d.src(&st.Args[1], t), B: d.src(&st.Args[2], t), C: d.src(&st.Args[3], simt.U32),
	})
}

// immediate is an integer constant operand.
func (d *decoder) immediate(o *Operand, limit uint64) int64 {
	if o.Kind != OpdInt || o.Bits > limit {
		d.fail(o.Pos, "%s takes a constant from 0 to %d here", d.fn.stmt.Name, limit)
	}
	return int64(o.Bits)
}

func (d *decoder) lop3(st *Stmt, m *mods) {
	if m.oneOf("or", "and") >= 0 {
		d.fail(st.Pos, "%s: lop3 with a predicate is not supported by the simulator", st.Name)
	}
	t := m.typ()
	m.finish()
	d.want(st, 5)
	d.emit(st, simt.Inst{
		Op: simt.OpLop3, Type: t, D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t),
		B: d.src(&st.Args[2], t), C: d.src(&st.Args[3], t), Imm: d.immediate(&st.Args[4], 255),
	})
}

func (d *decoder) prmt(st *Stmt, m *mods) {
	t := m.typ()
	mode := 1 + m.oneOf("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	m.finish()
	d.want(st, 4)
	d.emit(st, simt.Inst{
		Op: simt.OpPrmt, Type: t, Imm: int64(mode), D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t),
		B: d.src(&st.Args[2], t), C: d.src(&st.Args[3], simt.U32),
	})
}

func (d *decoder) bfe(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 4)
	d.emit(st, simt.Inst{
		Op: simt.OpBfe, Type: t, D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t),
		B: d.src(&st.Args[2], simt.U32), C: d.src(&st.Args[3], simt.U32),
	})
}

func (d *decoder) bfi(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 5)
	d.emit(st, simt.Inst{
		Op: simt.OpBfi, Type: t, D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t), B: d.src(&st.Args[2], t),
		C: d.src(&st.Args[3], simt.U32), Regs: []simt.Reg{d.src(&st.Args[4], simt.U32)},
	})
}

// bitCount decodes operations whose result is a number of bits, and brev.
func bitCount(op simt.Op) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		in := simt.Inst{Op: op}
		if op == simt.OpBfind && m.take("shiftamt") {
			in.Flags |= simt.FlagShiftAmt
		}
		in.Type = m.typ()
		m.finish()
		d.want(st, 2)
		dt := simt.U32
		if op == simt.OpBrev {
			dt = in.Type
		}
		in.D, in.A = d.dst(&st.Args[0], dt), d.src(&st.Args[1], in.Type)
		d.emit(st, in)
	}
}

func (d *decoder) fns(st *Stmt, m *mods) {
	t := m.typ()
	m.finish()
	d.want(st, 4)
	d.emit(st, simt.Inst{
		Op: simt.OpFns, Type: t, D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t),
		B: d.src(&st.Args[2], t), C: d.src(&st.Args[3], t),
	})
}

func (d *decoder) dp4a(st *Stmt, m *mods) { d.dot(st, m, simt.OpDp4a) }
func (d *decoder) dp2a(st *Stmt, m *mods) { d.dot(st, m, simt.OpDp2a) }

func (d *decoder) dot(st *Stmt, m *mods, op simt.Op) {
	in := simt.Inst{Op: op}
	if op == simt.OpDp2a {
		switch m.oneOf("lo", "hi") {
		case 1:
			in.Flags |= simt.FlagHi
		case -1:
			d.fail(st.Pos, "%s is neither .lo nor .hi", st.Name)
		}
	}
	in.Type, in.From = m.typ(), m.typ()
	m.finish()
	d.want(st, 4)
	in.D, in.A = d.dst(&st.Args[0], simt.B32), d.src(&st.Args[1], simt.B32)
	in.B, in.C = d.src(&st.Args[2], simt.B32), d.src(&st.Args[3], simt.B32)
	d.emit(st, in)
}

func (d *decoder) bmsk(st *Stmt, m *mods)  { d.clamped(st, m, simt.OpBmsk) }
func (d *decoder) szext(st *Stmt, m *mods) { d.clamped(st, m, simt.OpSzext) }

func (d *decoder) clamped(st *Stmt, m *mods, op simt.Op) {
	in := simt.Inst{Op: op}
	if m.oneOf("clamp", "wrap") == 0 {
		in.Flags |= simt.FlagClamp
	}
	in.Type = m.typ()
	m.finish()
	d.want(st, 3)
	in.D, in.A, in.B = d.dst(&st.Args[0], in.Type), d.src(&st.Args[1], in.Type), d.src(&st.Args[2], simt.U32)
	d.emit(st, in)
}

// compares maps the names of comparisons; lo, ls, hi and hs are the unsigned
// ones.
var compares = map[string]simt.Cmp{
	"eq": simt.CmpEQ, "ne": simt.CmpNE, "lt": simt.CmpLT, "le": simt.CmpLE, "gt": simt.CmpGT, "ge": simt.CmpGE,
	"lo": simt.CmpLT, "ls": simt.CmpLE, "hi": simt.CmpGT, "hs": simt.CmpGE,
	"equ": simt.CmpEQU, "neu": simt.CmpNEU, "ltu": simt.CmpLTU, "leu": simt.CmpLEU, "gtu": simt.CmpGTU, "geu": simt.CmpGEU,
	"num": simt.CmpNum, "nan": simt.CmpNaN,
}

func (m *mods) compare() (simt.Cmp, simt.BoolOp) {
	if len(m.list) == 0 {
		m.d.fail(m.st.Pos, "%s names no comparison", m.st.Name)
	}
	c, ok := compares[m.list[0]]
	if !ok {
		m.d.fail(m.st.Pos, "%s names no comparison", m.st.Name)
	}
	m.used[0] = true
	return c, simt.BoolOp(1 + m.oneOf("and", "or", "xor"))
}

// compareArgs decodes the operands of setp and set from the first source on.
func (d *decoder) compareArgs(st *Stmt, in *simt.Inst, t simt.Type) {
	n := 3
	if in.Bool != simt.BoolNone {
		n = 4
	}
	d.want(st, n)
	in.A, in.B = d.src(&st.Args[1], t), d.src(&st.Args[2], t)
	if n == 4 {
		p, not := d.pred(&st.Args[3])
		in.C = p
		if not {
			in.Flags |= simt.FlagPredNot
		}
	}
	if !t.Float() && t != simt.F16x2 && t != simt.BF16x2 && in.Cmp > simt.CmpGE {
		d.fail(st.Pos, "%s: this comparison is for floating-point types", st.Name)
	}
}

func (d *decoder) setp(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpSetp}
	in.Cmp, in.Bool = m.compare()
	in.Flags = m.flags()
	in.Type = m.typ()
	m.finish()
	d.compareArgs(st, &in, in.Type)
	o := &st.Args[0]
	if o.Kind == OpdPair {
		in.D = d.dst(&o.List[0], simt.Pred)
		in.Dsts = []simt.Reg{d.dst(&o.List[1], simt.Pred)}
	} else {
		in.D = d.dst(o, simt.Pred)
	}
	d.emit(st, in)
}

func (d *decoder) set(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpSet}
	in.Cmp, in.Bool = m.compare()
	in.Flags = m.flags()
	in.Type = m.typ()
	in.From = m.typ()
	m.finish()
	d.compareArgs(st, &in, in.From)
	in.D = d.dst(&st.Args[0], in.Type)
	d.emit(st, in)
}

func approx(op simt.Op) instDecoder {
	return func(d *decoder, st *Stmt, m *mods) {
		in := simt.Inst{Op: op, Round: m.round(), Flags: m.flags()}
		if m.take("approx") {
			in.Flags |= simt.FlagApprox
		}
		in.Type = m.typ()
		m.finish()
		d.want(st, 2)
		in.D, in.A = d.dst(&st.Args[0], in.Type), d.src(&st.Args[1], in.Type)
		d.emit(st, in)
	}
}

// cvt takes its first type as the destination's.
func (d *decoder) cvt(st *Stmt, m *mods) {
	if m.take("pack") {
		d.cvtPack(st, m)
		return
	}
	in := simt.Inst{Op: simt.OpCvt, Flags: m.flags(), Round: simt.RoundNearest}
	integral := false
	switch m.oneOf("rni", "rzi", "rmi", "rpi") {
	case 0:
		integral = true
	case 1:
		in.Round, integral = simt.RoundZero, true
	case 2:
		in.Round, integral = simt.RoundDown, true
	case 3:
		in.Round, integral = simt.RoundUp, true
	default:
		in.Round = m.round()
	}
	if m.take("satfinite") {
		in.Flags |= simt.FlagFinite
	}
	if m.take("relu") {
		in.Flags |= simt.FlagRelu
	}
	in.Type, in.From = m.typ(), m.typ()
	m.finish()
	if in.Type.Float() && in.From.Float() && integral {
		in.Flags |= simt.FlagRound
	}
	if in.Flags&simt.FlagSat != 0 && !in.Type.Float() && !in.From.Float() && fits(in.From, in.Type) {
		d.fail(st.Pos, "%s: .sat is for conversions that can leave the range of the result", st.Name)
	}
	d.wantFrom(st, 2, 3)
	in.D = d.wideDst(&st.Args[0], in.Type)
	in.Size = d.bits[in.D]
	in.A = d.wideSrc(&st.Args[1], in.From)
	if len(st.Args) == 3 {
		if in.From != simt.F32 || in.Type.Float() {
			d.fail(st.Pos, "%s takes one source", st.Name)
		}
		in.B = d.wideSrc(&st.Args[2], in.From)
	}
	d.emit(st, in)
}

// fits reports whether integer type to holds every value of type from.
func fits(from, to simt.Type) bool {
	switch {
	case from.Signed() == to.Signed():
		return from.Bits() <= to.Bits()
	case from.Signed():
		return false
	}
	return from.Bits() < to.Bits()
}

func (d *decoder) cvtPack(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpCvtPack}
	if !m.take("sat") {
		d.fail(st.Pos, "%s needs .sat", st.Name)
	}
	in.Type = m.typ()
	in.From = m.typ()
	m.tryType()
	m.finish()
	d.wantFrom(st, 3, 4)
	in.D, in.A, in.B = d.dst(&st.Args[0], simt.B32), d.src(&st.Args[1], simt.S32), d.src(&st.Args[2], simt.S32)
	if len(st.Args) == 4 {
		in.C = d.src(&st.Args[3], simt.B32)
	}
	d.emit(st, in)
}
