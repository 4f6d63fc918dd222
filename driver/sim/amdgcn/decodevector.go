package amdgcn

import (
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// accumulators is where the accumulation registers begin among the vector registers.
const accumulators = 256

// vreg is the index of a vector register operand of n registers.
func (d *decoder) vreg(o *Operand, n int) int {
	if o.Kind != KindReg || o.File == FileS {
		d.fail(o.Col, "%s takes a vector register here", d.in.Op)
	}
	if n > 0 && o.N != n {
		d.fail(o.Col, "%s takes %d vector registers here, given %d", d.in.Op, n, o.N)
	}
	at := o.Index
	if o.File == FileA {
		at += accumulators
	}
	d.vectors = max(d.vectors, at+o.N)
	return at
}

// mask makes a mask of an operand.
func (d *decoder) mask(o *Operand) mask {
	wide := d.g.lanes == 64
	n := 1
	if wide {
		n = 2
	}
	if o.Kind != KindReg || o.File != FileS || o.N != n && o.Index != regNull {
		d.fail(o.Col, "%s takes a mask of %d lanes here", d.in.Op, d.g.lanes)
	}
	return mask{o.Index, wide}
}

// vcc is the mask that instructions use without naming it.
func (d *decoder) vcc() mask { return mask{regVCC, d.g.lanes == 64} }

// constants with names.
var namedConstants = map[string]uint64{
	"src_shared_base": simt.SharedAperture, "src_private_base": simt.LocalAperture,
	"src_shared_limit": simt.SharedAperture | 0xffffffff, "src_private_limit": simt.LocalAperture | 0xffffffff,
}

// source makes a source of type t of an operand.
func (d *decoder) source(o *Operand, t dtype) source {
	width := t.bits()
	s := source{neg: o.Neg, abs: o.Abs, sext: o.Sext}
	if t.float() || o.Neg || o.Abs {
		s.sign = 1 << (width - 1)
	}
	switch o.Kind {
	case KindReg:
		s.wide = width == 64
		n := 1
		if s.wide {
			n = 2
		}
		s.reg = o.Index
		switch {
		case o.File != FileS:
			s.where, s.reg = fromV, d.vreg(o, n)
		case o.Index == regNull:
			s.where = fromConst
		case o.Index == regExec || o.Index == regExec+1:
			s.where = fromExec
		case o.N != n:
			d.fail(o.Col, "%s takes %d scalar registers here, given %d", d.in.Op, n, o.N)
		default:
			s.where = fromS
		}
		if width == 16 {
			s.width = 16
			if o.Half == 'h' {
				s.shift = 16
			}
		}
	case KindInt, KindFloat:
		s.value = o.bits(int(width))
		if t == dF64 && o.Kind == KindInt && int64(o.Value) > 64 {
			s.value = o.Value << 32 // a literal is the upper half
		}
	case KindSymbol:
		s.value = d.symbol(o)
	default:
		v, ok := namedConstants[o.Name]
		if !ok {
			d.fail(o.Col, "%s is not an operand that %s takes", o.Name, d.in.Op)
		}
		s.value = v
	}
	if s.where == fromConst && width < 64 {
		s.value &= 1<<width - 1
	}
	return s
}

// vectorInst decodes a vector instruction.
func (d *decoder) vectorInst() (simt.Inst, bool) {
	if in, ok := d.crossLane(); ok {
		return in, true
	}
	if r, ok := d.packed[d.name]; ok {
		return d.packedInst(&r), true
	}
	if d.name == "v_pk_mov_b32" {
		return d.packedMove(), true
	}
	if strings.HasPrefix(d.name, "v_fma_mix") {
		return d.mix()
	}
	if types := bitop3[d.name]; types != "" {
		r := op3(d.name, types, tableOfBits(uint64(d.number("bitop3"))))
		return plain(d.vop(&r, false).do, r.class, 0), true
	}
	if d.name == "v_dot4_i32_iu8" && d.g.major >= 11 {
		r := op3(d.name, "u=uuu", dot4(d.list("neg_lo", 0, 0) != 0, d.list("neg_lo", 1, 0) != 0))
		return plain(d.vop(&r, false).do, r.class, 0), true
	}
	if in, ok := d.scalarSpecial(); ok {
		return in, true
	}
	name := d.name
	exec := strings.HasPrefix(name, "v_cmpx_")
	if exec {
		name = "v_cmp_" + name[len("v_cmpx_"):]
	}
	r, ok := d.vector[name]
	if !ok {
		return simt.Inst{}, false
	}
	if r.cmp != nil {
		return d.compare(r, exec), true
	}
	if r.class == simt.ClassMove && strings.HasPrefix(name, "v_accvgpr_") {
		d.enc = "e32"
	}
	op := d.vop(r, false)
	return plain(op.do, r.class, r.flops), true
}

// sources makes the sources of a row from the operands from at on, and returns how many
// operands they are.
func (d *decoder) sources(r *row, at int) (src []source, n int) {
	for i, t := range r.src {
		if t == dAcc {
			o := *d.operand(0)
			o.Neg, o.Abs = false, false
			src = append(src, d.source(&o, r.dst))
			continue
		}
		s := d.source(d.operand(at+n), t)
		if sel := d.list("op_sel", i, 0); sel != 0 && t.bits() == 16 {
			s.shift, s.width = 16, 16
			if s.where == fromConst {
				s.shift, s.width = 0, 0
			}
		}
		src = append(src, s)
		n++
	}
	if r.byteOfWord {
		src[0].shift, src[0].width = uint(8*(d.list("op_sel", 0, 0)|d.list("op_sel", 1, 0)<<1)), 8
	}
	return src, n
}

// vop decodes an instruction of a table; in a dual one the mask of a choice is VCC.
func (d *decoder) vop(r *row, inDual bool) *vop {
	p := &vop{row: r, in: mask{reg: -1}, out: mask{reg: -1}}
	at := 1
	if strings.HasPrefix(r.masks, "o") {
		p.out = d.mask(d.operand(at))
		at++
	}
	src, n := d.sources(r, at)
	p.src = src
	at += n
	switch {
	case strings.Contains(r.masks, "v"), inDual && strings.Contains(r.masks, "i"):
		p.in = d.vcc()
	case strings.Contains(r.masks, "i"):
		p.in = d.mask(d.operand(at))
		at++
	}
	d.count(at)
	p.dst = d.dest(d.operand(0), r, len(src))
	d.subwords(p)
	p.clamp = d.has("clamp")
	switch {
	case d.number("mul") != 0:
		p.omod = float64(d.number("mul"))
	case d.number("div") != 0:
		p.omod = 1 / float64(d.number("div"))
	}
	d.permuted(p)
	return p
}

// dest makes the destination of a row.
func (d *decoder) dest(o *Operand, r *row, sources int) dest {
	t := dest{bits: r.dst.bits()}
	n := 1
	if t.bits == 64 {
		n = 2
	}
	t.reg = d.vreg(o, n)
	if t.bits == 16 {
		t.width = 16
		// The instructions of gfx9 write zero above; of those with three sources only the legacy ones do.
		t.keep = d.g.major >= 10 || sources == 3 && !strings.Contains(d.name, "_legacy_") || d.mod("op_sel") != nil
		if o.Half == 'h' || d.list("op_sel", sources, 0) != 0 || d.list("op_sel", 3, 0) != 0 {
			t.shift = 16
		}
	}
	return t
}

// parts are the values of the modifiers that select a part of a register.
var parts = map[string][2]uint{
	"BYTE_0": {0, 8}, "BYTE_1": {8, 8}, "BYTE_2": {16, 8}, "BYTE_3": {24, 8}, "WORD_0": {0, 16}, "WORD_1": {16, 16}, "DWORD": {0, 0},
}

// part reads such a modifier.
func (d *decoder) part(name string) (shift, width uint, ok bool) {
	m := d.mod(name)
	if m == nil {
		return 0, 0, false
	}
	p, ok := parts[m.Text]
	if !ok {
		d.fail(m.Col, "%s has the value %s", name, m.Text)
	}
	return p[0], p[1], p[1] != 0
}

// subwords applies the modifiers of SDWA.
func (d *decoder) subwords(p *vop) {
	for i, name := range [...]string{"src0_sel", "src1_sel"} {
		if shift, width, ok := d.part(name); ok && i < len(p.src) {
			p.src[i].shift, p.src[i].width = shift, width
		}
	}
	if m := d.mod("dst_unused"); m != nil {
		switch m.Text {
		case "UNUSED_PAD":
		case "UNUSED_PRESERVE":
			p.dst.keep = true
		default:
			d.fail(m.Col, "dst_unused:%s is not supported", m.Text)
		}
	}
	if shift, width, ok := d.part("dst_sel"); ok {
		p.dst.shift, p.dst.width = shift, width
	}
}

// permuted applies the modifiers of DPP.
func (d *decoder) permuted(p *vop) {
	t := d.dpp()
	if t == nil {
		return
	}
	if p.src[0].where != fromV {
		d.fail(0, "%s permutes the lanes of its first source, which is not a vector register", d.in.Op)
	}
	p.src[0].dpp, p.dst.dpp = t, t
}

// dpp reads the modifiers that permute lanes; nil where there is none.
func (d *decoder) dpp() *dpp {
	t := &dpp{}
	found := false
	set := func(f func(l int) int) {
		found = true
		for l := range t.perm {
			p := -1
			if l < d.g.lanes {
				if p = f(l); p >= d.g.lanes {
					p = -1
				}
			}
			t.perm[l] = int8(p)
		}
	}
	inRow := func(l, p int) int {
		if p < 0 || p > 15 {
			return -1
		}
		return l&^15 + p
	}
	for _, m := range d.in.Mods {
		n := int(m.Value)
		switch m.Name {
		case "quad_perm":
			if len(m.List) != 4 {
				d.fail(m.Col, "quad_perm needs four lanes")
			}
			set(func(l int) int { return l&^3 + m.List[l&3]&3 })
		case "dpp8":
			if len(m.List) != 8 {
				d.fail(m.Col, "dpp8 needs eight lanes")
			}
			set(func(l int) int { return l&^7 + m.List[l&7]&7 })
		case "row_shl":
			set(func(l int) int { return inRow(l, l&15+n) })
		case "row_shr":
			set(func(l int) int { return inRow(l, l&15-n) })
		case "row_ror":
			set(func(l int) int { return inRow(l, (l&15-n)&15) })
		case "row_mirror":
			set(func(l int) int { return l ^ 15 })
		case "row_half_mirror":
			set(func(l int) int { return l ^ 7 })
		case "row_newbcast", "row_share":
			set(func(l int) int { return inRow(l, n) })
		case "row_xmask":
			set(func(l int) int { return l ^ n&15 })
		case "row_bcast":
			set(func(l int) int {
				if n == 15 {
					return l&^15 - 1
				}
				if l < 32 {
					return -1
				}
				return 31
			})
		case "wave_shl":
			set(func(l int) int { return l + 1 })
		case "wave_shr":
			set(func(l int) int { return l - 1 })
		case "wave_rol":
			set(func(l int) int { return (l + 1) & (d.g.lanes - 1) })
		case "wave_ror":
			set(func(l int) int { return (l - 1) & (d.g.lanes - 1) })
		default:
			continue
		}
		d.mod(m.Name)
	}
	if !found {
		return nil
	}
	rows, banks := uint64(15), uint64(15)
	if d.has("row_mask") {
		rows = uint64(d.number("row_mask"))
	}
	if d.has("bank_mask") {
		banks = uint64(d.number("bank_mask"))
	}
	for l := range t.perm {
		if rows>>(l/16)&1 != 0 && banks>>(l%16/4)&1 != 0 {
			t.rows |= 1 << l
		}
	}
	t.zero, t.fetch = d.has("bound_ctrl"), d.number("fi") != 0
	return t
}

// compare decodes v_cmp and v_cmpx.
func (d *decoder) compare(r *row, exec bool) simt.Inst {
	p := &vcmp{row: r, exec: exec, out: mask{reg: -1}}
	at := 0
	if len(d.in.Operands) == 3 {
		p.out = d.mask(d.operand(0))
		at = 1
	}
	if at == 0 && !exec {
		d.count(3)
	}
	src, n := d.sources(r, at)
	p.src = src
	d.count(at + n)
	for i, name := range [...]string{"src0_sel", "src1_sel"} {
		if shift, width, ok := d.part(name); ok {
			p.src[i].shift, p.src[i].width = shift, width
		}
	}
	if t := d.dpp(); t != nil {
		p.src[0].dpp = t
	}
	return plain(p.do, r.class, 0)
}

// dual decodes two instructions in one.
func (d *decoder) dual() simt.Inst {
	if d.in.Second == nil {
		d.fail(0, "%s has no second instruction", d.in.Op)
	}
	first := d.in
	var ops [2]*vop
	var flops uint64
	for i, in := range [...]*Inst{first, first.Second} {
		d.in, d.used = in, make([]bool, len(in.Mods))
		name := "v_" + strings.TrimPrefix(in.Op, "v_dual_")
		r, ok := d.vector[name]
		if !ok || r.cmp != nil || !strings.HasPrefix(in.Op, "v_dual_") {
			d.fail(0, "unknown instruction %s of %s", in.Op, d.g.name)
		}
		if len(in.Mods) > 0 {
			d.fail(in.Mods[0].Col, "%s has the modifier %s, which is not known there", in.Op, in.Mods[0].Name)
		}
		ops[i] = d.vop(r, true)
		flops += r.flops
	}
	d.in, d.used = first, make([]bool, len(first.Mods))
	return plain(dual(ops[0], ops[1]), ops[0].row.class, flops)
}

// packedInst decodes an instruction on pairs.
func (d *decoder) packedInst(r *row) simt.Inst {
	p := &packed{row: r, clamp: d.has("clamp"), wide: r.dst == dF32}
	n := 1
	if p.wide {
		n = 2
	}
	p.dst = d.vreg(d.operand(0), n)
	for i, t := range r.src {
		o := d.operand(1 + i)
		lo := d.pairSource(o, t, p.wide, d.list("op_sel", i, 0))
		hi := d.pairSource(o, t, p.wide, d.list("op_sel_hi", i, 1))
		lo.neg = lo.neg != (d.list("neg_lo", i, 0) != 0)
		hi.neg = hi.neg != (d.list("neg_hi", i, 0) != 0)
		p.lo, p.hi = append(p.lo, lo), append(p.hi, hi)
	}
	d.count(1 + len(r.src))
	d.has("op_sel")
	return plain(p.do, r.class, r.flops)
}

// pairSource is one element of a pair.
func (d *decoder) pairSource(o *Operand, t dtype, wide bool, high int) source {
	if o.Kind != KindReg {
		s := d.source(o, t)
		if high != 0 && !wide {
			// A constant has its value in the lower half alone.
			if o.Kind == KindInt && o.Value>>16 != 0 && int64(o.Value) > 0 {
				s.value = o.Value >> 16 & 0xffff
			} else if o.Kind == KindInt && int64(o.Value) < 0 {
				s.value = 0xffff
			} else {
				s.value = 0
			}
		}
		return s
	}
	if wide {
		one := *o
		if o.N != 2 {
			d.fail(o.Col, "%s takes two registers here, given %d", d.in.Op, o.N)
		}
		one.Index, one.N = o.Index+high, 1
		if o.File != FileS {
			d.vreg(o, 2)
		}
		return d.source(&one, t)
	}
	s := d.source(o, t)
	s.shift, s.width = uint(16*high), 16
	return s
}

// packedMove decodes v_pk_mov_b32, whose results are each of one source.
func (d *decoder) packedMove() simt.Inst {
	d.count(3)
	lo := d.pairSource(d.operand(1), dU32, true, d.list("op_sel", 0, 0))
	hi := d.pairSource(d.operand(2), dU32, true, d.list("op_sel", 1, 0))
	d.has("op_sel_hi")
	p := &packed{row: d.vector["v_mov_b32"], wide: true, dst: d.vreg(d.operand(0), 2), lo: []source{lo}, hi: []source{hi}}
	return plain(p.do, simt.ClassMove, 0)
}

// bitop3 are the instructions of gfx950 that look bits up in a table of their modifier.
var bitop3 = map[string]string{"v_bitop3_b32": "u=uuu", "v_bitop3_b16": "s=sss"}

// tableOfBits gives each bit of the result: the bit of the table whose number the bits of
// the sources make, the first the highest.
func tableOfBits(table uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) (y uint64) {
		for i := range uint64(8) {
			if table>>i&1 == 0 {
				continue
			}
			y |= (a ^ -(^i >> 2 & 1)) & (b ^ -(^i >> 1 & 1)) & (c ^ -(^i & 1))
		}
		return y
	}
}

// mix decodes v_fma_mix: sums of products of floats and halves.
func (d *decoder) mix() (simt.Inst, bool) {
	half := strings.HasSuffix(d.name, "_bf16")
	conv := dF16
	if half {
		conv = dBF16
	}
	base := strings.TrimSuffix(d.name, "_bf16")
	wide := [3]bool{}
	p := &vop{in: mask{reg: -1}, out: mask{reg: -1}, clamp: d.has("clamp")}
	d.count(4)
	for i := range 3 {
		o := *d.operand(1 + i)
		wide[i] = d.list("op_sel_hi", i, 0) != 0
		o.Neg = o.Neg != (d.list("neg_lo", i, 0) != 0)
		o.Abs = o.Abs || d.list("neg_hi", i, 0) != 0
		t := dF32
		if wide[i] {
			t = conv
		}
		s := d.source(&o, t)
		if wide[i] && s.where != fromConst {
			s.shift, s.width = uint(16*d.list("op_sel", i, 0)), 16
		}
		p.src = append(p.src, s)
	}
	fma := func(a, b, c uint64) uint64 {
		x := [3]uint64{a, b, c}
		for i := range x {
			if wide[i] {
				x[i] = u32(float32(conv.value(x[i])))
			}
		}
		return fma32(x[0], x[1], x[2])
	}
	r := op3(d.name, "f=fff", fma)
	p.dst = dest{reg: d.vreg(d.operand(0), 1), bits: 32}
	switch base {
	case "v_fma_mix_f32":
	case "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_fma_mixlo", "v_fma_mixhi":
		r = op3(d.name, string(conv)+"=fff", func(a, b, c uint64) uint64 { return conv.encode(float64(f32(fma(a, b, c)))) })
		p.dst = dest{reg: p.dst.reg, bits: 16, width: 16, keep: true}
		if strings.Contains(base, "mixhi") {
			p.dst.shift = 16
		}
	default:
		return simt.Inst{}, false
	}
	p.row = &r
	return plain(p.do, simt.ClassFloat, 2), true
}

// crossLane decodes instructions that move values between lanes.
func (d *decoder) crossLane() (simt.Inst, bool) {
	scalar := func(i int) source { return d.source(d.operand(i), dU32) }
	switch d.name {
	case "v_nop":
		return plain(func(*simt.Wavefront) {}, simt.ClassMove, 0), true
	case "v_readfirstlane_b32":
		d.count(2)
		src := scalar(1)
		return once(doReadLane(d.sdst(d.operand(0), 1), &src, nil), simt.ClassWarpOp), true
	case "v_readlane_b32":
		d.count(3)
		src, lane := scalar(1), scalar(2)
		return once(doReadLane(d.sdst(d.operand(0), 1), &src, &lane), simt.ClassWarpOp), true
	case "v_writelane_b32":
		d.count(3)
		return once(doWriteLane(d.vreg(d.operand(0), 1), scalar(1), scalar(2)), simt.ClassWarpOp), true
	case "v_permlane16_b32", "v_permlanex16_b32":
		d.count(4)
		fetch, bound := d.list("op_sel", 0, 0) != 0, d.list("op_sel", 1, 0) != 0
		return plain(doPermLane(d.vreg(d.operand(0), 1), scalar(1), scalar(2), scalar(3), d.name == "v_permlanex16_b32", fetch, bound), simt.ClassWarpOp, 0), true
	case "v_permlane64_b32":
		d.count(2)
		return plain(doPermLane64(d.vreg(d.operand(0), 1), scalar(1)), simt.ClassWarpOp, 0), true
	case "v_permlane16_swap_b32", "v_permlane32_swap_b32":
		d.count(2)
		n := 16
		if d.name == "v_permlane32_swap_b32" {
			n = 32
		}
		return plain(doSwapRows(d.vreg(d.operand(0), 1), d.vreg(d.operand(1), 1), n), simt.ClassWarpOp, 0), true
	case "v_swap_b32":
		d.count(2)
		return plain(doSwap(d.vreg(d.operand(0), 1), d.vreg(d.operand(1), 1)), simt.ClassMove, 0), true
	case "v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32":
		d.count(3)
		p := &vop{src: []source{scalar(1), scalar(2)}, dst: dest{reg: d.vreg(d.operand(0), 1), bits: 32}}
		return plain(doMbcnt(p, d.name == "v_mbcnt_hi_u32_b32"), simt.ClassInteger, 0), true
	}
	return simt.Inst{}, false
}

// matrix decodes a dot.
func (d *decoder) matrix() (simt.Inst, bool) {
	if in, ok := d.scaledMatrix(); ok {
		return in, true
	}
	shape, ok := parseDot(d.name, d.g)
	if !ok {
		return simt.Inst{}, false
	}
	d.count(4)
	p := &dot{dotShape: shape, g: d.g}
	p.countRegs()
	for i, n := range [...]int{p.regsA, p.regsB, p.regsD} {
		o := d.operand(1 + i)
		if i == 2 && o.Kind != KindReg {
			t := dF32
			if p.d.bits == 64 {
				t = dF64
			}
			p.src[i] = d.source(o, t)
			if p.d.bits == 16 {
				p.src[i].value = o.bits(16) & 0xffff
			}
			continue
		}
		p.src[i] = source{where: fromV, reg: d.vreg(o, n)}
	}
	p.dst = d.vreg(d.operand(0), p.regsD)
	p.signedA, p.signedB = true, true
	if p.wmma && p.d.ints {
		p.signedA, p.signedB = d.list("neg_lo", 0, 0) != 0, d.list("neg_lo", 1, 0) != 0
	}
	p.clamp = d.has("clamp")
	if p.wmma && !p.d.ints {
		for _, name := range [...]string{"neg_lo", "neg_hi"} {
			for i := range 3 {
				if d.list(name, i, 0) != 0 {
					d.fail(0, "%s of %s is not supported", name, d.in.Op)
				}
			}
		}
	}
	if p.wmma && p.d.bits == 16 {
		p.high = d.list("op_sel", 2, 0) != 0
	}
	for i := range 3 { // of doubles this negates, of others it rearranges blocks
		if d.list("neg", i, 0) != 0 {
			if i == 2 {
				p.negC = true
			} else {
				p.src[i].neg = true
			}
		}
	}
	for _, x := range [...]struct {
		name  string
		field *int
	}{{"cbsz", &p.shared}, {"abid", &p.from}, {"blgp", nil}} {
		m := d.mod(x.name)
		switch {
		case m == nil || m.Value == 0:
		case x.field == nil || p.blocks == 1:
			d.fail(m.Col, "%s of %s is not supported", x.name, d.in.Op)
		default:
			*x.field = int(m.Value)
		}
	}
	if p.blocks>>p.shared == 0 || p.from>>p.shared != 0 {
		d.fail(0, "%s has no block %d of %d to share", d.in.Op, p.from, 1<<p.shared)
	}
	return whole(p.do, simt.ClassMatrix), true
}
