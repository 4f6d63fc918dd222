package amdgcn

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// policies are the modifiers that say how caches treat an access; which of them make it
// see what others write depends on the processor.
var policies = [...]string{"glc", "slc", "dlc", "nt", "sc0", "sc1", "scope", "th", "nv", "lds", "tfe"}

// memoryInst decodes instructions of vector and of shared memory.
func (d *decoder) memoryInst() (simt.Inst, bool) {
	name := d.name
	if in, ok := d.fence(); ok {
		return in, true
	}
	family, rest, _ := strings.Cut(name, "_")
	switch family {
	case "ds":
		return d.sharedInst(rest)
	case "global", "flat", "scratch", "buffer":
	default:
		return simt.Inst{}, false
	}
	if op, ok := strings.CutPrefix(rest, "atomic_"); ok {
		return d.atomicInst(family, op)
	}
	verb, typ, _ := strings.Cut(rest, "_")
	toShared := false
	if t, ok := strings.CutPrefix(typ, "lds_"); ok {
		typ, toShared = t, true
	}
	t, ok := memoryTypes[typ]
	if !ok || verb != "load" && verb != "store" {
		return simt.Inst{}, false
	}
	t.clobbers = t.half != 0 && d.g.clobbersHalves()
	p := &memop{typ: t, write: verb == "store", align: 1, toShared: toShared || d.has("lds")}
	if p.toShared && (p.write || !d.g.copiesToShared(t)) {
		d.fail(0, "%s cannot copy %s of each lane to LDS, as %s does", d.g.name, diag.Count(t.size, "byte"), d.in.Op)
	}
	at := 0
	data := func() {
		p.reg = d.vreg(d.operand(at), t.regs())
		at++
	}
	switch {
	case p.toShared:
	case !p.write, family == "buffer":
		data()
	}
	if p.write && family != "buffer" {
		p.addr = d.address(family, &at)
		// The data stands between the two parts of the address.
	} else {
		p.addr = d.address(family, &at)
	}
	d.count(at)
	if p.write && family != "buffer" {
		p.reg = d.vreg(d.operand(1), t.regs())
	}
	p.counter = d.counters(family, p.write, false)
	p.inOrder = !p.write && !p.toShared && family != "flat" && d.g.major < 12
	if p.poll = d.coherent() && !p.write; p.poll {
		d.p.Ordered = true
	}
	class := simt.ClassGlobalMem
	if family == "scratch" {
		class = simt.ClassLocalMem
	}
	in := plain(p.do, class, 0)
	return in, true
}

// coherent reports whether a load sees what other blocks write, and notes the
// modifiers that say so.
func (d *decoder) coherent() bool {
	seen := map[string]bool{}
	for _, m := range policies {
		seen[m] = d.has(m)
	}
	switch {
	case d.g.cdna3:
		return seen["sc1"]
	case d.g.major >= 12:
		m := d.mod("scope")
		return m != nil && (m.Text == "SCOPE_DEV" || m.Text == "SCOPE_SYS")
	}
	return seen["glc"] && (d.g.major < 10 || seen["dlc"])
}

// address decodes the address of global, flat and scratch instructions, from operand at
// on, where a store has its data after the vector part.
func (d *decoder) address(family string, at *int) address {
	a := address{vector: -1, descriptor: -1, scalar: source{where: fromNull}, offset: d.number("offset")}
	store := strings.Contains(d.name, "_store_") || strings.Contains(d.name, "_atomic_")
	vector := d.operand(*at)
	*at++
	if family == "buffer" {
		d.bufferAddress(&a, vector, at)
		return a
	}
	if store {
		*at++
	}
	switch family {
	case "global":
		a.space = simt.SpaceGlobal
	case "flat":
		a.space = simt.SpaceGeneric
	case "scratch":
		a.space = simt.SpaceLocal
	}
	if vector.Kind == KindReg {
		a.vector, a.wide = d.vreg(vector, 0), vector.N == 2
		if vector.N > 2 || family == "scratch" && a.wide {
			d.fail(vector.Col, "%s takes an address of fewer registers here", d.in.Op)
		}
	} else if vector.Name != "off" || family != "scratch" {
		d.fail(vector.Col, "%s takes a vector register here", d.in.Op)
	}
	if family == "flat" && *at >= len(d.in.Operands) {
		if !a.wide {
			d.fail(vector.Col, "%s takes an address of two registers here", d.in.Op)
		}
		return a
	}
	o := d.operand(*at)
	*at++
	switch {
	case o.Kind == KindReg && o.Index != regNull:
		bits := uint8(64)
		if family == "scratch" {
			bits = 32
		}
		a.scalar = d.ssource(o, bits)
		if a.wide {
			d.fail(vector.Col, "%s takes an offset of one register beside a scalar address", d.in.Op)
		}
	case o.Name == "off" || o.Kind == KindReg:
		if !a.wide && family != "scratch" {
			d.fail(vector.Col, "%s takes an address of two registers here", d.in.Op)
		}
	default:
		d.fail(o.Col, "%s takes a scalar address or off here", d.in.Op)
	}
	return a
}

// bufferAddress decodes what follows the vector part of a buffer's address.
func (d *decoder) bufferAddress(a *address, vector *Operand, at *int) {
	a.space = simt.SpaceGlobal
	offen, idxen := d.has("offen"), d.has("idxen")
	if vector.Kind == KindReg {
		a.vector, a.index, a.hasBoth = d.vreg(vector, 0), idxen, idxen && offen
		if !offen && !idxen {
			d.fail(vector.Col, "%s has a vector register and neither offen nor idxen", d.in.Op)
		}
	} else if vector.Name != "off" {
		d.fail(vector.Col, "%s takes a vector register or off here", d.in.Op)
	}
	r := d.operand(*at)
	if r.Kind != KindReg || r.File != FileS || r.N != 4 {
		d.fail(r.Col, "%s takes a descriptor of four scalar registers here", d.in.Op)
	}
	a.descriptor = r.Index
	if o := d.operand(*at + 1); o.Kind != KindReg || o.Index != regNull {
		a.scalar = d.ssource(o, 32)
	}
	*at += 2
}

// counters are the wait counters of an access to vector memory.
func (d *decoder) counters(family string, write, returns bool) []simt.WaitCounter {
	c := []simt.WaitCounter{simt.WaitLoad}
	if write && !returns && d.g.major >= 10 {
		c[0] = simt.WaitStore
	}
	if family == "flat" {
		c = append(c, simt.WaitShared)
	}
	return c
}

// atomicInst decodes an atomic of vector memory.
func (d *decoder) atomicInst(family, op string) (simt.Inst, bool) {
	r, ok := d.atomics[op]
	if !ok {
		return simt.Inst{}, false
	}
	p := &atomic{row: r, cmp: -1, dst: -1}
	n := r.size / 4
	regs := n
	if r.compare {
		regs = 2 * n
	}
	returns := d.has("glc")
	if d.g.cdna3 {
		returns = d.has("sc0")
	}
	if m := d.mod("th"); m != nil && strings.Contains(m.Text, "ATOMIC_RETURN") {
		returns = true
	}
	at := 0
	if family == "buffer" {
		p.x = d.vreg(d.operand(0), regs)
		if returns {
			p.dst = p.x
		}
		at = 1
		p.addr = d.address(family, &at)
	} else {
		if returns {
			p.dst = d.vreg(d.operand(0), n)
			at = 1
		}
		p.x = d.vreg(d.operand(at+1), regs)
		p.addr = d.address(family, &at)
	}
	d.count(at)
	if r.compare {
		p.cmp = p.x + n
	}
	p.counter = d.counters(family, true, returns)
	for _, m := range policies {
		d.has(m)
	}
	d.p.Ordered = true
	in := plain(p.do, simt.ClassAtomicMem, 0)
	in.Flags = simt.FlagAcquire | simt.FlagRelease
	in.Atomic = r.kind()
	return in, true
}

// kind is the operation as reports see it.
func (r *atomicRow) kind() simt.Atomic {
	switch {
	case r.compare:
		return simt.AtomCas
	case r.swap:
		return simt.AtomExch
	}
	return simt.AtomAdd
}

// fence decodes what orders memory between blocks, which is always in order here. Those of
// gfx12 count as loads and stores do.
func (d *decoder) fence() (simt.Inst, bool) {
	counted := func(c simt.WaitCounter) func(v *simt.Wavefront) {
		return func(v *simt.Wavefront) { v.Issue(c, false, 0, 0, false, false) }
	}
	do := func(*simt.Wavefront) {}
	switch d.name {
	case "global_inv":
		do = counted(simt.WaitLoad)
	case "global_wb", "global_wbinv":
		do = counted(simt.WaitStore)
	}
	switch d.name {
	case "buffer_inv", "buffer_wbl2", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_invl2",
		"global_inv", "global_wb", "global_wbinv", "global_prefetch_b8":
		for _, m := range policies {
			d.has(m)
		}
		return once(do, simt.ClassBarrierOp), true
	}
	return simt.Inst{}, false
}

// sharedInst decodes an instruction of shared memory, by its name without "ds_".
func (d *decoder) sharedInst(name string) (simt.Inst, bool) {
	src := func(i int) source { return d.source(d.operand(i), dU32) }
	switch name {
	case "bpermute_b32", "permute_b32":
		d.count(3)
		return plain(doPermute(d.vreg(d.operand(0), 1), src(1), src(2), d.number("offset"), name == "bpermute_b32", simt.WaitShared), simt.ClassWarpOp, 0), true
	case "swizzle_b32":
		d.count(2)
		return plain(doSwizzle(d.vreg(d.operand(0), 1), src(1), d.swizzle(), simt.WaitShared), simt.ClassWarpOp, 0), true
	case "nop":
		return once(func(*simt.Wavefront) {}, simt.ClassControl), true
	}
	verb, typ, _ := strings.Cut(name, "_")
	write := verb == "write" || verb == "store" || verb == "write2" || verb == "write2st64"
	switch verb {
	case "read2", "write2", "read2st64", "write2st64":
		return d.sharedPair(typ, write, strings.HasSuffix(verb, "st64"))
	case "read", "write", "load", "store":
		if t, ok := strings.CutPrefix(typ, "2addr_"); ok {
			u, wide := strings.CutPrefix(t, "stride64_")
			return d.sharedPair(u, write, wide)
		}
		t, ok := memoryTypes[typ]
		if !ok {
			return simt.Inst{}, false
		}
		d.count(2)
		t.clobbers = t.half != 0 && d.g.clobbersHalves()
		p := &memop{typ: t, write: write, align: 1, counter: []simt.WaitCounter{simt.WaitShared}}
		a, v := 1, 0
		if write {
			a, v = 0, 1
		}
		p.addr = d.sharedAddress(a, d.number("offset"))
		if o := d.operand(v); write && o.Half == 'h' {
			p.typ.half = 'h'
		}
		p.reg = d.vreg(d.operand(v), t.regs())
		return plain(p.do, simt.ClassSharedMem, 0), true
	}
	return d.sharedAtomic(name)
}

func (d *decoder) sharedAddress(i int, offset int64) address {
	return address{space: simt.SpaceShared, vector: d.vreg(d.operand(i), 1), descriptor: -1, scalar: source{where: fromNull}, offset: offset}
}

// sharedPair decodes an access to two places.
func (d *decoder) sharedPair(typ string, write, wide bool) (simt.Inst, bool) {
	t, ok := memoryTypes[typ]
	if !ok || t.size != 4 && t.size != 8 {
		return simt.Inst{}, false
	}
	unit := int64(t.size)
	if wide {
		unit *= 64
	}
	p := &twoAddr{}
	for i, name := range [...]string{"offset0", "offset1"} {
		op := &p.ops[i]
		*op = memop{typ: t, write: write, align: 1, counter: []simt.WaitCounter{simt.WaitShared}}
		if write {
			d.count(3)
			op.addr = d.sharedAddress(0, unit*d.number(name))
			op.reg = d.vreg(d.operand(1+i), t.regs())
		} else {
			d.count(2)
			op.addr = d.sharedAddress(1, unit*d.number(name))
			op.reg = d.vreg(d.operand(0), 2*t.regs()) + i*t.regs()
		}
	}
	return plain(p.do, simt.ClassSharedMem, 0), true
}

// sharedAtomic decodes an atomic of shared memory.
func (d *decoder) sharedAtomic(name string) (simt.Inst, bool) {
	op := strings.Replace(name, "_rtn", "", 1)
	r, ok := d.atomics[op]
	if !ok {
		return simt.Inst{}, false
	}
	p := &atomic{row: r, cmp: -1, dst: -1, counter: []simt.WaitCounter{simt.WaitShared}}
	at := 0
	n := r.size / 4
	if op != name {
		p.dst = d.vreg(d.operand(0), n)
		at = 1
	}
	p.addr = d.sharedAddress(at, d.number("offset"))
	p.x = d.vreg(d.operand(at+1), n)
	if r.compare {
		p.cmp = d.vreg(d.operand(at+2), n)
		if strings.HasPrefix(op, "cmpst_") { // the value to compare with comes first
			p.x, p.cmp = p.cmp, p.x
		}
		at++
	}
	d.count(at + 2)
	in := plain(p.do, simt.ClassAtomicMem, 0)
	in.Atomic = r.kind()
	return in, true
}

// swizzle reads the offset of ds_swizzle: the lane that each lane of 32 reads.
func (d *decoder) swizzle() (from [32]int) {
	m := d.mod("offset")
	if m == nil {
		m = &Mod{IsNum: true}
	}
	bitmask := func(and, or, xor int) {
		for l := range from {
			from[l] = (l&and | or) ^ xor
		}
	}
	quad := func(n [4]int) {
		for l := range from {
			from[l] = l&^3 + n[l&3]&3
		}
	}
	if m.IsNum {
		v := int(m.Value)
		if v&0x8000 != 0 {
			quad([4]int{v, v >> 2, v >> 4, v >> 6})
		} else {
			bitmask(v&31, v>>5&31, v>>10&31)
		}
		return from
	}
	body, ok := strings.CutPrefix(strings.TrimSuffix(m.Text, ")"), "swizzle(")
	args := strings.Split(body, ",")
	mode := args[0]
	var n [5]int
	for i, a := range args[1:] {
		if mode == "BITMASK_PERM" || i >= len(n) {
			break
		}
		x, err := strconv.Atoi(strings.TrimSpace(a))
		ok = ok && err == nil
		n[i] = x
	}
	switch {
	case !ok:
	case mode == "QUAD_PERM":
		quad([4]int{n[0], n[1], n[2], n[3]})
		return from
	case mode == "SWAP":
		bitmask(31, 0, n[0])
		return from
	case mode == "REVERSE":
		bitmask(31, 0, n[0]-1)
		return from
	case mode == "BROADCAST":
		bitmask(32-n[0], n[1], 0)
		return from
	case mode == "BITMASK_PERM" && len(args) == 2:
		if bits := strings.Trim(strings.TrimSpace(args[1]), `"`); len(bits) == 5 {
			and, or, xor := 0, 0, 0
			for i, c := range bits {
				b := 1 << (4 - i)
				switch c {
				case '1':
					or |= b
				case 'p':
					and |= b
				case 'i':
					and, xor = and|b, xor|b
				}
			}
			bitmask(and, or, xor)
			return from
		}
	}
	d.fail(m.Col, "offset:%s is not a swizzle", m.Text)
	return from
}
