package amdgcn

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// Decode gives a module's instructions their meaning. The error, if any, is a
// *diag.Diagnostic at the first instruction that cannot be executed.
func Decode(m *Module) (p *simt.Program, err error) {
	g, ok := generation(m.Processor)
	if !ok {
		return nil, diag.Errorf(diag.Pos{File: m.File, Line: 1}, "code for processor %q: the known ones are %s", m.Processor, known()).WithSource(m.Src)
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
	d := &decoder{
		m: m, g: g, locs: map[Loc]int{}, data: map[string]int{}, got: map[string]int{},
		vector: map[string]*row{}, scalar: map[string]*scalarRow{}, packed: packedRows(), atomics: atomicRows(),
		p: &simt.Program{
			File: m.File, Target: m.Processor, NumP: 2, Num32: 1,
			Wavefront: &simt.WavefrontState{Scalars: numS},
			Inits:     []simt.Init{{Reg: simt.ExecReg}, {Reg: simt.ScalarReg}, {Reg: barrierReg}},
		},
	}
	for _, rows := range [...][]row{floatRows(), integerRows(), convertRows(g), compareRows()} {
		for i := range rows {
			d.vector[rows[i].name] = &rows[i]
		}
	}
	rows := scalarRows()
	for i := range rows {
		d.scalar[rows[i].name] = &rows[i]
	}
	d.module()
	return d.p, nil
}

// barrierReg holds the number of the barrier that s_barrier means.
var barrierReg = simt.MakeReg(simt.Class32, 0)

type decoder struct {
	m       *Module
	g       gen
	p       *simt.Program
	vector  map[string]*row
	scalar  map[string]*scalarRow
	packed  map[string]row
	atomics map[string]atomicRow
	locs    map[Loc]int
	data    map[string]int // offsets of data in constant memory
	got     map[string]int // those of addresses of symbols
	vectors int            // registers that are used

	// The instruction in hand: its name without the encoding, how it is encoded, and
	// the modifiers that have been heeded.
	in   *Inst
	pc   int
	name string
	enc  string
	used []bool
}

func (d *decoder) fail(col int, format string, args ...any) {
	pos := d.in.Pos
	if col > 0 {
		pos.Col = col
	}
	panic(bailout{diag.Errorf(pos, format, args...).WithSource(d.m.Src)})
}

func (d *decoder) module() {
	kernels := map[string]*Kernel{}
	for _, k := range d.m.Kernels {
		kernels[k.Name] = k
		start, ok := d.m.Labels[k.Name]
		if !ok {
			panic(bailout{diag.Errorf(k.Pos, "kernel %s has a descriptor and no code", k.Name).WithSource(d.m.Src)})
		}
		d.kernel(k, start)
	}
	if len(d.m.Kernels) > 0 && d.m.Kernels[0].Wavefront > 0 {
		d.g.lanes = d.m.Kernels[0].Wavefront
	}
	for _, k := range d.m.Kernels {
		if n := k.Wavefront; n > 0 && n != d.g.lanes {
			panic(bailout{diag.Errorf(k.Pos, "kernel %s has wavefronts of %s, another kernel of the file %d", k.Name, diag.Count(n, "lane"), d.g.lanes).WithSource(d.m.Src)})
		}
	}
	d.p.Code = make([]simt.Inst, 0, len(d.m.Insts)+1)
	for i := range d.m.Insts {
		d.in, d.pc = &d.m.Insts[i], i
		out := d.instruction()
		out.Text, out.Line, out.Loc = d.in.Op, d.in.Pos.Line, d.loc(d.in.Loc)
		d.p.Code = append(d.p.Code, out)
	}
	// What runs past the end of the text ends there, as code is padded.
	d.p.Code = append(d.p.Code, simt.Inst{Op: simt.OpExit, Text: "s_code_end"})
	d.p.Wavefront.Vectors = d.vectors + 1
	var settings []*Kernel
	settings = append(settings, d.m.Kernels...)
	g := d.g
	d.p.Wavefront.Start = func(v *simt.Wavefront, a *simt.WavefrontStart) { start(g, settings[a.Kernel], v, a) }
	for _, s := range settings {
		d.p.LocalBytes = max(d.p.LocalBytes, int(s.Settings["private_segment_fixed_size"]))
		d.p.DynShared = max(d.p.DynShared, int(s.Settings["group_segment_fixed_size"]))
	}
	d.p.SharedBytes = d.p.DynShared
	for _, p := range d.m.Prints {
		d.p.Records = append(d.p.Records, simt.Record(p))
	}
}

// Lanes of a wavefront of a decoded program's target, as its file says or the
// processor has it.
func Lanes(m *Module) int {
	for _, k := range m.Kernels {
		if k.Wavefront > 0 {
			return k.Wavefront
		}
	}
	g, _ := generation(m.Processor)
	return g.lanes
}

// kernel makes the function of a kernel.
func (d *decoder) kernel(k *Kernel, start int) {
	f := simt.Func{Name: k.Name, Kernel: true, Start: start, End: start, ParamBytes: int(k.Settings["kernarg_size"])}
	if k.Settings["user_sgpr_kernarg_preload_length"] > 0 {
		// Code for firmware that does not preload arguments comes first, padded.
		for i := start + 1; i <= len(d.m.Insts); i++ {
			if d.m.Aligned[i] {
				f.Start, f.End = i, i
				break
			}
		}
	}
	for _, a := range k.Args {
		if what, ok := implicit[a.Kind]; ok {
			f.Implicit = append(f.Implicit, simt.Implicit{Offset: a.Offset, Size: a.Size, What: what})
			continue
		}
		if a.Kind == "hidden_printf_buffer" {
			f.Implicit = append(f.Implicit, simt.Implicit{Offset: a.Offset, Size: a.Size, Prints: true})
			continue
		}
		if strings.HasPrefix(a.Kind, "hidden_") {
			continue // stays zero
		}
		p := simt.Param{Name: a.Name, Offset: a.Offset, Size: a.Size, Type: simt.B64}
		if a.Kind == "by_value" {
			p.Type = map[int]simt.Type{1: simt.B8, 2: simt.B16, 4: simt.B32, 8: simt.B64}[a.Size]
		}
		f.Params = append(f.Params, p)
		f.ParamBytes = max(f.ParamBytes, a.Offset+a.Size)
	}
	if k.MaxThreads > 0 {
		f.MaxBlock = [3]int{k.MaxThreads, 1, 1}
	}
	d.p.Funcs = append(d.p.Funcs, f)
}

// implicit are the hidden arguments that a launch fills in.
var implicit = map[string]simt.Special{
	"hidden_block_count_x": simt.SpecNCtaX, "hidden_block_count_y": simt.SpecNCtaY, "hidden_block_count_z": simt.SpecNCtaZ,
	"hidden_group_size_x": simt.SpecNTidX, "hidden_group_size_y": simt.SpecNTidY, "hidden_group_size_z": simt.SpecNTidZ,
}

// loc returns the index of a place plus one, or 0.
func (d *decoder) loc(l Loc) int {
	if l.Line == 0 {
		return 0
	}
	if i, ok := d.locs[l]; ok {
		return i
	}
	d.p.Locs = append(d.p.Locs, simt.Loc{File: d.m.Files[l.File], Line: l.Line, Col: l.Col})
	d.locs[l] = len(d.p.Locs)
	return len(d.p.Locs)
}

// addThread is the bit of the fourth word of a buffer's descriptor that has each lane
// access memory of its own.
const addThread = 1 << 23

// privateBuffer is the descriptor of the lanes' local memory, through which processors
// without scratch instructions access it.
var privateBuffer = [4]uint32{0, simt.LocalAperture >> 32, 1<<32 - 1, addThread}

// start sets the registers that the processor sets before a kernel's first instruction.
func start(g gen, k *Kernel, v *simt.Wavefront, a *simt.WavefrontStart) {
	set := k.Settings
	at := 0
	put := func(name string, words ...uint32) {
		if name != "" && set[name] == 0 {
			return
		}
		for _, w := range words {
			v.SetS(at, w, 0)
			at++
		}
	}
	skip := func(name string, n int) { // what the simulator has nothing for
		if set[name] != 0 {
			at += n
		}
	}
	put("user_sgpr_private_segment_buffer", privateBuffer[:]...)
	skip("user_sgpr_dispatch_ptr", 2)
	skip("user_sgpr_queue_ptr", 2)
	put("user_sgpr_kernarg_segment_ptr", uint32(a.Params), uint32(a.Params>>32))
	skip("user_sgpr_dispatch_id", 2)
	put("user_sgpr_flat_scratch_init", 0, 0)
	put("user_sgpr_private_segment_size", uint32(set["private_segment_fixed_size"]))
	for i := range int(set["user_sgpr_kernarg_preload_length"]) {
		put("", v.Param(4*(int(set["user_sgpr_kernarg_preload_offset"])+i)))
	}
	at = max(at, int(set["user_sgpr_count"]))
	x, y, z := uint32(a.Block[0]), uint32(a.Block[1]), uint32(a.Block[2])
	if g.major >= 12 {
		v.SetS(regTTMP+9, x, 0)
		v.SetS(regTTMP+7, y&0xffff|z<<16, 0)
	} else {
		put("system_sgpr_workgroup_id_x", x)
		put("system_sgpr_workgroup_id_y", y)
		put("system_sgpr_workgroup_id_z", z)
	}
	put("system_sgpr_workgroup_info", uint32(a.Waves))
	put("system_sgpr_private_segment_wavefront_offset", 0)
	ids := set["system_vgpr_workitem_id"]
	for l := range v.Lanes {
		t := a.First + l
		id := uint32(t % a.Threads[0])
		if ids > 0 {
			id |= uint32(t/a.Threads[0]%a.Threads[1]) << 10
		}
		if ids > 1 {
			id |= uint32(t/a.Threads[0]/a.Threads[1]) << 20
		}
		v.SetV(0, l, id, 0)
	}
	v.Mode = uint32(set["float_round_mode_32"] | set["float_round_mode_16_64"]<<2 |
		set["float_denorm_mode_32"]<<4 | set["float_denorm_mode_16_64"]<<6)
	if set["fp16_overflow"] != 0 {
		v.Mode |= modeOverflow
	}
}

// mod returns a modifier of the instruction, or nil.
func (d *decoder) mod(name string) *Mod {
	for i := range d.in.Mods {
		if d.in.Mods[i].Name == name {
			d.used[i] = true
			return &d.in.Mods[i]
		}
	}
	return nil
}

// has reports whether the instruction has a modifier.
func (d *decoder) has(name string) bool { return d.mod(name) != nil }

// list is the i-th number of a modifier's list, or otherwise.
func (d *decoder) list(name string, i, otherwise int) int {
	if m := d.mod(name); m != nil && i < len(m.List) {
		return m.List[i]
	}
	return otherwise
}

// number is the value of a modifier, or zero.
func (d *decoder) number(name string) int64 {
	m := d.mod(name)
	if m == nil {
		return 0
	}
	if !m.IsNum {
		d.fail(m.Col, "%s of %s is not a number", name, d.in.Op)
	}
	return m.Value
}

// operand returns the i-th operand.
func (d *decoder) operand(i int) *Operand {
	if i >= len(d.in.Operands) {
		d.fail(0, "%s has too few operands: %d", d.in.Op, len(d.in.Operands))
	}
	return &d.in.Operands[i]
}

func (d *decoder) count(n int) {
	if len(d.in.Operands) != n {
		d.fail(0, "%s takes %s, given %d", d.in.Op, diag.Count(n, "operand"), len(d.in.Operands))
	}
}

// instruction decodes the instruction in hand.
func (d *decoder) instruction() simt.Inst {
	op := d.in.Op
	d.used = make([]bool, len(d.in.Mods))
	d.name, d.enc = op, ""
	for _, e := range [...]string{"_e64_dpp", "_e32", "_e64", "_dpp8", "_dpp", "_sdwa"} {
		if n, ok := strings.CutSuffix(op, e); ok {
			d.name, d.enc = n, e[1:]
			break
		}
	}
	out, ok := d.dispatch()
	if !ok {
		e := diag.Errorf(d.in.Pos, "unknown instruction %s of %s", op, d.g.name)
		if near := diag.Closest(d.name, d.names()); near != "" {
			e = e.WithHelp("a similar one is %s", near)
		}
		panic(bailout{e.WithSource(d.m.Src)})
	}
	for i, m := range d.in.Mods {
		if !d.used[i] {
			d.fail(m.Col, "%s has the modifier %s, which is not known there", op, m.Name)
		}
	}
	return out
}

// dispatch decodes by the kind of instruction.
func (d *decoder) dispatch() (simt.Inst, bool) {
	name := d.name
	switch {
	case strings.HasPrefix(name, "v_dual_"):
		return d.dual(), true
	case strings.HasPrefix(name, "v_mfma_"), strings.HasPrefix(name, "v_wmma_"):
		return d.matrix()
	case strings.HasPrefix(name, "v_"):
		return d.vectorInst()
	case strings.HasPrefix(name, "s_"):
		return d.scalarInst()
	}
	return d.memoryInst()
}

// names are those of the tables.
func (d *decoder) names() (all []string) {
	for n := range d.vector {
		all = append(all, n)
	}
	for n := range d.scalar {
		all = append(all, n)
	}
	for n := range d.packed {
		all = append(all, n)
	}
	return all
}

// plain makes an instruction under EXEC.
func plain(do func(v *simt.Wavefront), class simt.InstClass, flops uint64) simt.Inst {
	return simt.Inst{Op: simt.OpWavefront, Guard: simt.ExecReg, Wavefront: &simt.WavefrontInst{Do: do, Class: class, FLOPs: flops}}
}

// whole makes a vector instruction that heeds no EXEC.
func whole(do func(v *simt.Wavefront), class simt.InstClass) simt.Inst {
	return simt.Inst{Op: simt.OpWavefront, Wavefront: &simt.WavefrontInst{Do: do, Class: class}}
}

// once makes an instruction of the scalar unit.
func once(do func(v *simt.Wavefront), class simt.InstClass) simt.Inst {
	return simt.Inst{Op: simt.OpWavefront, Guard: simt.ScalarReg, Wavefront: &simt.WavefrontInst{Do: do, Class: class}}
}
