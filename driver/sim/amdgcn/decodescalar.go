package amdgcn

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// sdst makes a scalar destination of n registers of an operand.
func (d *decoder) sdst(o *Operand, n int) mask {
	if o.Kind != KindReg || o.File != FileS {
		d.fail(o.Col, "%s takes a scalar register here", d.in.Op)
	}
	if o.N != n && o.Index != regNull {
		d.fail(o.Col, "%s takes %d scalar registers here, given %d", d.in.Op, n, o.N)
	}
	return mask{o.Index, n == 2}
}

// ssource makes a scalar source of so many bits.
func (d *decoder) ssource(o *Operand, bits uint8) source {
	t := map[uint8]dtype{16: dU16, 32: dU32, 64: dU64}[bits]
	s := d.source(o, t)
	if s.where == fromV {
		d.fail(o.Col, "%s takes a scalar operand here", d.in.Op)
	}
	return s
}

// ignored are instructions that change nothing that is modelled.
var ignored = map[string]bool{
	"s_nop": true, "s_delay_alu": true, "s_clause": true, "s_set_inst_prefetch_distance": true, "s_inst_prefetch": true,
	"s_setprio": true, "s_code_end": true, "s_waitcnt_depctr": true, "s_wait_alu": true, "s_dcache_inv": true,
	"s_icache_inv": true, "s_dcache_wb": true, "s_prefetch_inst": true, "s_prefetch_data": true, "s_wait_expcnt": true,
	"s_wait_samplecnt": true, "s_wait_bvhcnt": true, "s_ttracedata": true, "s_ttracedata_imm": true, "s_waitcnt_expcnt": true,
	"s_prefetch_inst_pc_rel": true, "s_prefetch_data_pc_rel": true, "s_round_mode": false,
}

// scalarInst decodes an instruction of the scalar unit, of control or of waiting.
func (d *decoder) scalarInst() (simt.Inst, bool) {
	if r, ok := d.scalar[d.name]; ok {
		return d.sop(r), true
	}
	if in, ok := d.floatSum(); ok {
		return in, true
	}
	if ignored[d.name] {
		return once(func(*simt.Wavefront) {}, simt.ClassControl), true
	}
	for _, p := range [...]string{"s_load_", "s_buffer_load_"} {
		if t, ok := strings.CutPrefix(d.name, p); ok {
			return d.scalarLoad(t, p == "s_buffer_load_")
		}
	}
	if strings.HasPrefix(d.name, "s_wait") {
		return d.wait()
	}
	if i := strings.LastIndexByte(d.name, '_'); i > 0 {
		if op, ok := saveExec[d.name[:i]]; ok {
			d.count(2)
			dst := d.mask(d.operand(0))
			src := d.ssource(d.operand(1), uint8(d.g.lanes))
			return once(doSaveExec(dst, src, op), simt.ClassControl), true
		}
	}
	if in, ok := d.branch(); ok {
		return in, true
	}
	return d.system()
}

// sop decodes an instruction of the table.
func (d *decoder) sop(r *scalarRow) simt.Inst {
	p := &sop{row: r, dst: mask{reg: -1}}
	at := 0
	if r.dst != 0 {
		p.dst = d.sdst(d.operand(0), (int(r.dst)+31)/32)
		at = 1
		if r.old {
			p.src = append(p.src, d.ssource(d.operand(0), r.a))
		}
	}
	widths := []uint8{r.a, r.b}
	if r.old {
		widths = widths[1:]
	}
	for _, w := range widths {
		if w != 0 {
			p.src = append(p.src, d.ssource(d.operand(at), w))
			at++
		}
	}
	d.count(at)
	class := simt.ClassInteger
	switch {
	case strings.HasPrefix(r.name, "s_mov"), strings.HasPrefix(r.name, "s_cselect"), strings.HasPrefix(r.name, "s_cmov"):
		class = simt.ClassMove
	case strings.HasSuffix(r.name, "_f32"), strings.HasSuffix(r.name, "_f16"):
		class = simt.ClassFloat
	}
	return once(p.do, class)
}

// symbol is the value of a symbol as an operand. Addresses relative to the instruction
// are relative to the one after s_getpc_b64, to which code adds them.
func (d *decoder) symbol(o *Operand) uint64 {
	if o.From != "" {
		far := codeAddr(d.label(o, o.Name)) - codeAddr(d.label(o, o.From))
		if o.Reloc == "hi" {
			return far >> 32
		}
		return far & 0xffffffff
	}
	var addr uint64
	got := strings.Contains(o.Reloc, "gotpcrel")
	switch label, ok := d.m.Labels[o.Name]; {
	case got:
		addr = d.slot(o)
	case ok:
		addr = codeAddr(label)
	default:
		data, ok := d.m.Data[o.Name]
		if !ok {
			d.fail(o.Col, "%s is not defined in the file", o.Name)
		}
		addr = simt.ConstAperture + uint64(d.place(data.Name, data.Bytes))
	}
	if !strings.Contains(o.Reloc, "rel32") {
		switch o.Reloc {
		case "", "abs32@lo":
			return addr + o.Value
		case "abs32@hi":
			return (addr + o.Value) >> 32
		}
		d.fail(o.Col, "the relocation %s is not supported", o.Reloc)
	}
	for i := d.pc - 1; i >= max(0, d.pc-8); i-- {
		if d.m.Insts[i].Op != "s_getpc_b64" {
			continue
		}
		rel := addr - codeAddr(i+1)
		if strings.HasSuffix(o.Reloc, "@hi") {
			return rel >> 32
		}
		return rel & 0xffffffff
	}
	d.fail(o.Col, "%s is relative to an address that no s_getpc_b64 before it has", o.Name)
	return 0
}

// codeAddr is the address of an instruction.
func codeAddr(pc int) uint64 { return simt.CodeAperture + 8*uint64(pc) }

// place puts data into constant memory and returns its offset.
func (d *decoder) place(name string, data []byte) int {
	if at, ok := d.data[name]; ok {
		return at
	}
	at := 0
	for i := range d.p.Symbols {
		at = max(at, d.p.Symbols[i].Offset+d.p.Symbols[i].Size)
	}
	at = (at + 15) &^ 15
	d.data[name] = at
	d.p.Symbols = append(d.p.Symbols, simt.Symbol{Name: name, Space: simt.SpaceConst, Size: len(data), Align: 16, Offset: at, Data: data})
	return at
}

// slot is the address of a word that has the address of a symbol.
func (d *decoder) slot(o *Operand) uint64 {
	plain := *o
	plain.Reloc, plain.Value = "", 0
	addr := d.symbol(&plain)
	var data [8]byte
	putWord(data[:], 8, addr)
	return simt.ConstAperture + uint64(d.place("got "+o.Name, data[:]))
}

// flow makes an instruction that may branch.
func flow(f func(v *simt.Wavefront, pc int) int) simt.Inst {
	return simt.Inst{Op: simt.OpWavefrontFlow, Guard: simt.ScalarReg, Wavefront: &simt.WavefrontInst{Flow: f, Class: simt.ClassControl}}
}

// target is the instruction that a label names.
func (d *decoder) target(o *Operand) int {
	if o.Kind != KindName {
		d.fail(o.Col, "%s is not a label of the file", o.Name)
	}
	return d.label(o, o.Name)
}

// label is the instruction that a label in an operand stands before.
func (d *decoder) label(o *Operand, name string) int {
	t, ok := d.m.Labels[name]
	if !ok {
		d.fail(o.Col, "%s is not a label of the file", name)
	}
	return t
}

// branch decodes branches and calls.
func (d *decoder) branch() (simt.Inst, bool) {
	if d.name == "s_branch" {
		d.count(1)
		to := d.target(d.operand(0))
		return flow(func(*simt.Wavefront, int) int { return to }), true
	}
	if cond, ok := strings.CutPrefix(d.name, "s_cbranch_"); ok {
		vcc := d.vcc()
		test, ok := map[string]func(v *simt.Wavefront) (bool, uint64){
			"scc0":   func(v *simt.Wavefront) (bool, uint64) { return v.S[regSCC]&1 == 0, uint64(v.UndefinedS(regSCC)) },
			"scc1":   func(v *simt.Wavefront) (bool, uint64) { return v.S[regSCC]&1 != 0, uint64(v.UndefinedS(regSCC)) },
			"vccz":   func(v *simt.Wavefront) (bool, uint64) { x, u := vcc.get(v); return x == 0, decides(x, u) },
			"vccnz":  func(v *simt.Wavefront) (bool, uint64) { x, u := vcc.get(v); return x != 0, decides(x, u) },
			"execz":  func(v *simt.Wavefront) (bool, uint64) { return v.Exec() == 0, 0 },
			"execnz": func(v *simt.Wavefront) (bool, uint64) { return v.Exec() != 0, 0 },
		}[cond]
		if !ok {
			return simt.Inst{}, false
		}
		d.count(1)
		to := d.target(d.operand(0))
		return flow(func(v *simt.Wavefront, pc int) int {
			yes, undef := test(v)
			if undef != 0 {
				v.Undefined(0, "where the branch goes depends on an undefined value")
			}
			if yes {
				return to
			}
			return pc + 1
		}), true
	}
	var dst *mask
	at := 0
	switch d.name {
	case "s_getpc_b64":
		d.count(1)
		to := d.sdst(d.operand(0), 2)
		pc := codeAddr(d.pc + 1)
		return once(func(v *simt.Wavefront) { to.set(v, pc, 0) }, simt.ClassControl), true
	case "s_setpc_b64":
	case "s_swappc_b64", "s_call_b64":
		m := d.sdst(d.operand(0), 2)
		dst, at = &m, 1
	default:
		return simt.Inst{}, false
	}
	d.count(at + 1)
	if d.name == "s_call_b64" {
		to := d.target(d.operand(at))
		return flow(func(v *simt.Wavefront, pc int) int {
			dst.set(v, codeAddr(pc+1), 0)
			return to
		}), true
	}
	src := d.ssource(d.operand(at), 64)
	last := len(d.m.Insts)
	return flow(func(v *simt.Wavefront, pc int) int {
		src.use(v)
		if src.undef(v, 0) != 0 {
			v.Undefined(0, "where the branch goes depends on an undefined value")
		}
		to := src.raw(v, 0)
		if dst != nil {
			dst.set(v, codeAddr(pc+1), 0)
		}
		i := (to - simt.CodeAperture) / 8
		if to < simt.CodeAperture || to%8 != 0 || i > uint64(last) {
			v.Fault(simt.FindBranch, 0, "branch to 0x%x, where there is no code", to)
			return pc
		}
		return int(i)
	}), true
}

// decides returns undefined bits that decide whether a mask is zero: none where a
// defined one is set.
func decides(x, undef uint64) uint64 {
	if x&^undef != 0 {
		return 0
	}
	return undef
}

// wait decodes the instructions that wait for memory.
func (d *decoder) wait() (simt.Inst, bool) {
	type need struct {
		c simt.WaitCounter
		n int
	}
	var needs []need
	immediate := func(i int) int {
		o := d.operand(i)
		if o.Kind != KindInt {
			d.fail(o.Col, "%s takes a number here", d.in.Op)
		}
		return int(o.Value)
	}
	switch d.name {
	case "s_waitcnt":
		for i := range d.in.Operands {
			o := d.operand(i)
			if o.Kind == KindInt && o.Value == 0 {
				needs = append(needs, need{simt.WaitLoad, 0}, need{simt.WaitShared, 0})
				continue
			}
			if o.Kind != KindCall || len(o.Args) != 1 {
				d.fail(o.Col, "%s takes counters here", d.in.Op)
			}
			n, err := strconv.Atoi(o.Args[0])
			if err != nil {
				d.fail(o.Col, "%s takes a number", o.Name)
			}
			switch o.Name {
			case "vmcnt":
				needs = append(needs, need{simt.WaitLoad, n})
			case "lgkmcnt":
				needs = append(needs, need{simt.WaitShared, n})
			case "expcnt":
			default:
				d.fail(o.Col, "unknown counter %s", o.Name)
			}
		}
	case "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt":
		d.count(2)
		c := map[string]simt.WaitCounter{"s_waitcnt_vscnt": simt.WaitStore, "s_waitcnt_vmcnt": simt.WaitLoad, "s_waitcnt_lgkmcnt": simt.WaitShared}[d.name]
		needs = append(needs, need{c, immediate(1)})
	case "s_wait_loadcnt":
		needs = append(needs, need{simt.WaitLoad, immediate(0)})
	case "s_wait_storecnt":
		needs = append(needs, need{simt.WaitStore, immediate(0)})
	case "s_wait_dscnt":
		needs = append(needs, need{simt.WaitShared, immediate(0)})
	case "s_wait_kmcnt":
		needs = append(needs, need{simt.WaitScalar, immediate(0)})
	case "s_wait_loadcnt_dscnt":
		needs = append(needs, need{simt.WaitLoad, immediate(0) >> 8}, need{simt.WaitShared, immediate(0) & 0xff})
	case "s_wait_storecnt_dscnt":
		needs = append(needs, need{simt.WaitStore, immediate(0) >> 8}, need{simt.WaitShared, immediate(0) & 0xff})
	case "s_wait_idle":
		for c := range simt.NumWaitCounters {
			needs = append(needs, need{c, 0})
		}
	default:
		return simt.Inst{}, false
	}
	return once(func(v *simt.Wavefront) {
		for _, n := range needs {
			v.Wait(n.c, n.n)
		}
	}, simt.ClassControl), true
}

// hardware reads hwreg(NAME, offset, width).
func (d *decoder) hardware(o *Operand) (name string, offset, width int) {
	if o.Kind != KindCall || o.Name != "hwreg" {
		d.fail(o.Col, "%s takes hwreg(…) here", d.in.Op)
	}
	name, width = o.Args[0], 32
	for i, p := range [...]*int{&offset, &width} {
		if 1+i >= len(o.Args) {
			break
		}
		n, err := strconv.Atoi(o.Args[1+i])
		if err != nil || n < 0 || n > 32 {
			d.fail(o.Col, "%s is not a bit of %s", o.Args[1+i], name)
		}
		*p = n
	}
	return name, offset, width
}

// system decodes barriers, messages, the end, and registers of the hardware.
func (d *decoder) system() (simt.Inst, bool) {
	switch d.name {
	case "s_endpgm":
		d.in.Operands = nil
		return simt.Inst{Op: simt.OpExit}, true
	case "s_barrier", "s_barrier_wait":
		return simt.Inst{Op: simt.OpBar, A: barrierReg, Flags: simt.FlagAligned}, true
	case "s_barrier_signal":
		return once(func(*simt.Wavefront) {}, simt.ClassBarrierOp), true
	case "s_trap":
		return once(func(v *simt.Wavefront) {
			if text := strings.TrimSpace(v.LastPrinted()); text != "" {
				v.Fault(simt.FindTrap, 0, "the kernel trapped; it printed last: %s", text)
				return
			}
			v.Fault(simt.FindTrap, 0, "the kernel trapped")
		}, simt.ClassControl), true
	case "s_sethalt": // for a debugger, where s_trap does not stop
		return once(func(v *simt.Wavefront) {
			v.Fault(simt.FindTrap, 0, "the kernel halts")
		}, simt.ClassControl), true
	case "s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64":
		d.count(2)
		n := 1 + bool64(d.name == "s_sendmsg_rtn_b64")
		dst := d.sdst(d.operand(0), int(n))
		return once(func(v *simt.Wavefront) {
			dst.set(v, 0, 0)
			v.Issue(d.scalarCounter(), true, dst.reg, int(n), true, false)
		}, simt.ClassMove), true
	case "s_sleep", "s_sleep_var":
		return once(func(v *simt.Wavefront) { v.Poll() }, simt.ClassControl), true
	case "s_sendmsg", "s_sendmsghalt":
		return once(func(v *simt.Wavefront) { v.Issue(simt.WaitShared, true, 0, 0, true, false) }, simt.ClassControl), true
	case "s_memtime", "s_memrealtime", "s_get_shader_cycles_u64":
		d.count(1)
		dst := d.sdst(d.operand(0), 2)
		return once(func(v *simt.Wavefront) {
			dst.set(v, v.Clock(), 0)
			v.Issue(d.scalarCounter(), true, dst.reg, 2, true, false)
		}, simt.ClassMove), true
	case "s_setreg_b32", "s_setreg_imm32_b32":
		d.count(2)
		name, offset, width := d.hardware(d.operand(0))
		src := d.ssource(d.operand(1), 32)
		if name != "HW_REG_MODE" {
			d.fail(d.operand(0).Col, "%s cannot be written here", name)
		}
		return once(func(v *simt.Wavefront) {
			m := uint32((1<<width - 1) << offset)
			v.Mode = v.Mode&^m | uint32(src.raw(v, 0))<<offset&m
		}, simt.ClassControl), true
	case "s_getreg_b32":
		d.count(2)
		name, offset, width := d.hardware(d.operand(1))
		dst := d.sdst(d.operand(0), 1)
		if name != "HW_REG_MODE" && name != "HW_REG_SHADER_CYCLES" {
			d.fail(d.operand(1).Col, "%s cannot be read here", name)
		}
		return once(func(v *simt.Wavefront) {
			x := uint64(v.Mode)
			if name != "HW_REG_MODE" {
				x = v.Clock()
			}
			dst.set(v, x>>offset&(1<<width-1), 0)
		}, simt.ClassMove), true
	}
	return simt.Inst{}, false
}

// scalarCounter is the counter of scalar loads.
func (d *decoder) scalarCounter() simt.WaitCounter {
	if d.g.major >= 12 {
		return simt.WaitScalar
	}
	return simt.WaitShared
}

// scalarLoad decodes s_load and s_buffer_load.
func (d *decoder) scalarLoad(name string, records bool) (simt.Inst, bool) {
	t, ok := memoryTypes[name]
	if !ok || t.half != 0 {
		return simt.Inst{}, false
	}
	d.count(3)
	base := *d.operand(1)
	if records && base.N == 4 {
		base.N = 2
	}
	p := &smem{size: t.size, sign: t.sign, records: records, dst: d.sdst(d.operand(0), t.regs()).reg, counter: d.scalarCounter(), offset: d.number("offset")}
	p.base = d.ssource(&base, 64)
	p.off = source{where: fromNull}
	if o := d.operand(2); o.Kind == KindInt {
		p.offset += int64(o.Value)
	} else if o.Index != regNull {
		p.off = d.ssource(o, 32)
	}
	for _, m := range [...]string{"glc", "dlc", "scope", "th", "nv"} {
		d.has(m)
	}
	return once(p.do, simt.ClassGlobalMem), true
}
