package ptx

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// mods are an opcode's dotted modifiers; each is taken once, and finish refuses
// those that nobody took.
type mods struct {
	d    *decoder
	st   *Stmt
	op   string
	list []string
	used []bool
	// cluster is set where the space is the shared memory of the whole cluster.
	cluster bool
}

func (d *decoder) mods(st *Stmt) *mods {
	parts := strings.Split(st.Name, ".")
	return &mods{d: d, st: st, op: parts[0], list: parts[1:], used: make([]bool, len(parts)-1)}
}

// take consumes a modifier if it is there.
func (m *mods) take(name string) bool {
	for i, s := range m.list {
		if s == name && !m.used[i] {
			m.used[i] = true
			return true
		}
	}
	return false
}

// oneOf consumes one of the names and returns its index, or -1.
func (m *mods) oneOf(names ...string) int {
	for k, n := range names {
		if m.take(n) {
			return k
		}
	}
	return -1
}

// typ consumes the next type modifier.
func (m *mods) typ() simt.Type {
	if t, ok := m.tryType(); ok {
		return t
	}
	m.d.fail(m.st.Pos, "%s has no type", m.st.Name)
	return 0
}

func (m *mods) tryType() (simt.Type, bool) {
	for i, s := range m.list {
		if t, ok := types[s]; ok && !m.used[i] {
			m.used[i] = true
			return t, true
		}
	}
	return 0, false
}

// flags consumes the modifiers common to arithmetic.
func (m *mods) flags() simt.Flag {
	var f simt.Flag
	if m.take("ftz") {
		f |= simt.FlagFTZ
	}
	if m.take("sat") {
		f |= simt.FlagSat
	}
	return f
}

// round consumes a rounding mode of floating-point results.
func (m *mods) round() simt.Round {
	switch m.oneOf("rn", "rz", "rm", "rp", "rna") {
	case 1:
		return simt.RoundZero
	case 2:
		return simt.RoundDown
	case 3:
		return simt.RoundUp
	case 4:
		return simt.RoundAway
	}
	return simt.RoundNearest
}

// finish refuses modifiers that were not understood.
func (m *mods) finish() {
	for i, s := range m.list {
		if !m.used[i] {
			m.d.fail(m.st.Pos, "modifier .%s of %s is not supported by the simulator", s, m.st.Name)
		}
	}
}

// want checks the number of operands.
func (d *decoder) want(st *Stmt, n int) {
	if len(st.Args) != n {
		d.fail(st.Pos, "%s takes %s, given %d", st.Name, diag.Count(n, "operand"), len(st.Args))
	}
}

func (d *decoder) wantFrom(st *Stmt, lo, hi int) {
	if len(st.Args) < lo || len(st.Args) > hi {
		d.fail(st.Pos, "%s takes %d to %s, given %d", st.Name, lo, diag.Count(hi, "operand"), len(st.Args))
	}
}

// classFor is the register file for values of n bits.
func classFor(n int) simt.Class {
	switch {
	case n == 1:
		return simt.ClassP
	case n <= 32:
		return simt.Class32
	}
	return simt.Class64
}

// specials are the special registers that have a value when a warp starts.
var specials = map[string]simt.Special{
	"%tid.x": simt.SpecTidX, "%tid.y": simt.SpecTidY, "%tid.z": simt.SpecTidZ,
	"%ntid.x": simt.SpecNTidX, "%ntid.y": simt.SpecNTidY, "%ntid.z": simt.SpecNTidZ,
	"%ctaid.x": simt.SpecCtaX, "%ctaid.y": simt.SpecCtaY, "%ctaid.z": simt.SpecCtaZ,
	"%nctaid.x": simt.SpecNCtaX, "%nctaid.y": simt.SpecNCtaY, "%nctaid.z": simt.SpecNCtaZ,
	"%laneid": simt.SpecLane, "%warpid": simt.SpecWarp, "%nwarpid": simt.SpecNWarp,
	"%smid": simt.SpecSM, "%nsmid": simt.SpecNSM, "%gridid": simt.SpecGrid,
	"%lanemask_eq": simt.SpecLaneEQ, "%lanemask_lt": simt.SpecLaneLT, "%lanemask_le": simt.SpecLaneLE,
	"%lanemask_gt": simt.SpecLaneGT, "%lanemask_ge": simt.SpecLaneGE,
	"%total_smem_size": simt.SpecSharedSize, "%dynamic_smem_size": simt.SpecDynShared,
	"%clusterid.x": simt.SpecClusterX, "%clusterid.y": simt.SpecClusterY, "%clusterid.z": simt.SpecClusterZ,
	"%nclusterid.x": simt.SpecNClusterX, "%nclusterid.y": simt.SpecNClusterY, "%nclusterid.z": simt.SpecNClusterZ,
	"%cluster_ctaid.x": simt.SpecClusterCtaX, "%cluster_ctaid.y": simt.SpecClusterCtaY, "%cluster_ctaid.z": simt.SpecClusterCtaZ,
	"%cluster_nctaid.x": simt.SpecClusterNCtaX, "%cluster_nctaid.y": simt.SpecClusterNCtaY, "%cluster_nctaid.z": simt.SpecClusterNCtaZ,
	"%cluster_ctarank": simt.SpecClusterRank, "%cluster_nctarank": simt.SpecClusterSize,
	"%is_explicit_cluster": simt.SpecExplicitCluster,
}

// specialConsts are special registers with one value for all.
var specialConsts = map[string]uint64{
	"WARP_SZ": 32,
}

// src resolves a source operand of an instruction on type t.
func (d *decoder) src(o *Operand, t simt.Type) simt.Reg {
	r, bits := d.anySrc(o, t)
	want := t.Bits()
	if bits != 0 && bits != want {
		d.fail(o.Pos, "register %s has %s, %s takes %d", o.Name, diag.Count(bits, "bit"), d.fn.stmt.Name, want)
	}
	return r
}

// wideSrc resolves a source operand whose register may be wider than t, as in
// loads, stores and conversions.
func (d *decoder) wideSrc(o *Operand, t simt.Type) simt.Reg {
	r, bits := d.anySrc(o, t)
	if bits != 0 && bits < t.Bits() {
		d.fail(o.Pos, "register %s has %s, %s needs %d", o.Name, diag.Count(bits, "bit"), d.fn.stmt.Name, t.Bits())
	}
	if bits == 1 && t != simt.Pred {
		d.fail(o.Pos, "%s cannot take the predicate %s", d.fn.stmt.Name, o.Name)
	}
	return r
}

// anySrc resolves a source operand; bits is the width of a register, zero for
// constants, which take the width of t.
func (d *decoder) anySrc(o *Operand, t simt.Type) (r simt.Reg, bits int) {
	class := classFor(t.Bits())
	switch o.Kind {
	case OpdInt:
		if t == simt.Pred {
			if o.Bits != 0 {
				return d.constReg(class, 1, 0), 0
			}
			return d.constReg(class, 0, 0), 0
		}
		v := o.Bits
		if n := t.Bits(); n < 64 {
			v &= 1<<n - 1
		}
		return d.constReg(class, v, 0), 0
	case OpdF32, OpdF64:
		return d.constReg(class, d.floatBits(o, t), 0), 0
	case OpdName:
		if o.Neg || o.Not && t != simt.Pred {
			d.fail(o.Pos, "%s cannot negate the operand %s", d.fn.stmt.Name, o.Name)
		}
		if r, ok := d.lookupReg(o.Name); ok {
			return r, d.bits[r]
		}
		if s, ok := specials[o.Name]; ok {
			return d.special(s), 32
		}
		if v, ok := specialConsts[o.Name]; ok {
			return d.constReg(class, v, 0), 0
		}
		if sym, ok := d.lookupVar(o.Name); ok {
			if class == simt.ClassP || t.Bits() < 32 {
				d.fail(o.Pos, "the address of %s does not fit in .%s", o.Name, t)
			}
			return d.constReg(class, uint64(o.Off), sym+1), 0
		}
		if o.Name == "_" {
			d.fail(o.Pos, "'_' cannot be a source of %s", d.fn.stmt.Name)
		}
		d.fail(o.Pos, "%s is not declared", o.Name)
	}
	d.fail(o.Pos, "%s cannot take this operand here", d.fn.stmt.Name)
	return 0, 0
}

// pred resolves a predicate source; its complement is reported apart.
func (d *decoder) pred(o *Operand) (r simt.Reg, not bool) {
	if o.Kind != OpdName {
		return d.src(o, simt.Pred), false
	}
	p, ok := d.lookupReg(o.Name)
	if !ok {
		d.fail(o.Pos, "%s is not declared", o.Name)
	}
	if d.bits[p] != 1 {
		d.fail(o.Pos, "%s is not a predicate register", o.Name)
	}
	return p, o.Not
}

// dst resolves a destination of type t.
func (d *decoder) dst(o *Operand, t simt.Type) simt.Reg {
	r := d.wideDst(o, t)
	if o.Name != "_" && d.bits[r] != t.Bits() {
		d.fail(o.Pos, "register %s has %s, %s writes %d", o.Name, diag.Count(d.bits[r], "bit"), d.fn.stmt.Name, t.Bits())
	}
	return r
}

// wideDst resolves a destination whose register may be wider than t.
func (d *decoder) wideDst(o *Operand, t simt.Type) simt.Reg {
	if o.Kind != OpdName {
		d.fail(o.Pos, "the destination of %s must be a register", d.fn.stmt.Name)
	}
	if o.Name == "_" {
		return d.scratch(classFor(t.Bits()))
	}
	r, ok := d.lookupReg(o.Name)
	if !ok {
		d.fail(o.Pos, "register %s is not declared", o.Name)
	}
	bits := d.bits[r]
	if bits < t.Bits() || (bits == 1) != (t == simt.Pred) {
		d.fail(o.Pos, "register %s has %s, %s writes %d", o.Name, diag.Count(bits, "bit"), d.fn.stmt.Name, t.Bits())
	}
	return r
}

// scratch is a register that is written and never read.
func (d *decoder) scratch(c simt.Class) simt.Reg {
	if d.fn.scratch[c] == 0 {
		d.fn.scratch[c] = d.plainReg(c)
	}
	return d.fn.scratch[c]
}

// addr resolves an address operand: the base register and the displacement. A
// variable's space replaces a missing one.
func (d *decoder) addr(o *Operand, space *simt.Space) (base simt.Reg, off int64) {
	if o.Kind != OpdAddr {
		d.fail(o.Pos, "%s takes an address in brackets here", d.fn.stmt.Name)
	}
	if len(o.List) > 0 {
		d.fail(o.List[0].Pos, "%s cannot take coordinates", d.fn.stmt.Name)
	}
	if o.Name == "" {
		return d.constReg(simt.Class64, uint64(o.Off), 0), 0
	}
	if r, ok := d.lookupReg(o.Name); ok {
		if n := d.bits[r]; n != 32 && n != 64 {
			d.fail(o.Pos, "register %s has %s: an address has 32 or 64", o.Name, diag.Count(n, "bit"))
		}
		if *space == simt.SpaceParam && !d.fn.f.Entry && !strings.Contains(d.fn.stmt.Name, "::entry") {
			*space = simt.SpaceFrame // a parameter of the function itself, whose address was taken
		}
		return r, o.Off
	}
	sym, ok := d.lookupVar(o.Name)
	if !ok {
		d.fail(o.Pos, "%s is not declared", o.Name)
	}
	have := d.p.Symbols[sym].Space
	switch {
	case *space == simt.SpaceParam && have == simt.SpaceFrame:
		*space = simt.SpaceFrame
	case *space == simt.SpaceGeneric && (have == simt.SpaceGlobal):
	case *space != have:
		d.fail(o.Pos, "%s is in %s memory, %s accesses %s", o.Name, have, d.fn.stmt.Name, *space)
	}
	return d.constReg(simt.Class64, 0, sym+1), o.Off
}

// emit adds an instruction with the statement's guard and place.
func (d *decoder) emit(st *Stmt, in simt.Inst) *simt.Inst {
	in.Text = st.Name
	in.Line = st.Pos.Line
	in.Loc = d.fn.loc
	if st.Guard != "" {
		g, ok := d.lookupReg(st.Guard)
		if !ok {
			d.fail(st.GuardPos, "predicate %s is not declared", st.Guard)
		}
		if d.bits[g] != 1 {
			d.fail(st.GuardPos, "%s is not a predicate register", st.Guard)
		}
		in.Guard, in.GuardNot = g, st.GuardNot
	}
	d.p.Code = append(d.p.Code, in)
	return &d.p.Code[len(d.p.Code)-1]
}

// notPred returns a register that holds the complement of p, computed by an
// instruction before the current one.
func (d *decoder) notPred(st *Stmt, p simt.Reg) simt.Reg {
	r := d.plainReg(simt.ClassP)
	in := d.emit(st, simt.Inst{Op: simt.OpNot, Type: simt.Pred, D: r, A: p})
	in.Guard = 0
	return r
}

// plainPred is pred with the complement computed where it is asked for.
func (d *decoder) plainPred(st *Stmt, o *Operand) simt.Reg {
	p, not := d.pred(o)
	if not {
		return d.notPred(st, p)
	}
	return p
}
