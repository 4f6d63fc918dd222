package ptx

import (
	"github.com/tritonc/tritonc/driver/sim/simt"

	"github.com/tritonc/tritonc/core/diag"
)

// space consumes a state space.
func (m *mods) space() simt.Space {
	for i, s := range m.list {
		if sp, ok := spaces[s]; ok && !m.used[i] {
			m.used[i] = true
			return sp
		}
		if s == "shared::cluster" && !m.used[i] {
			m.used[i], m.cluster = true, true
			return simt.SpaceShared
		}
	}
	return simt.SpaceGeneric
}

// far is the flag of an access to the shared memory of the whole cluster.
func (m *mods) far() simt.Flag {
	if m.cluster {
		return simt.FlagCluster
	}
	return 0
}

// mapa decodes the map to the shared memory of another block of the cluster.
func (d *decoder) mapa(st *Stmt, m *mods) {
	m.space()
	t := m.typ()
	m.finish()
	d.want(st, 3)
	d.emit(st, simt.Inst{
		Op: simt.OpMapa, Type: t, D: d.dst(&st.Args[0], t), A: d.src(&st.Args[1], t), B: d.src(&st.Args[2], simt.U32),
	})
}

// getctarank decodes the question whose shared memory an address is in.
func (d *decoder) getctarank(st *Stmt, m *mods) {
	m.space()
	t := m.typ()
	m.finish()
	d.want(st, 2)
	d.emit(st, simt.Inst{Op: simt.OpCtaRank, Type: t, D: d.dst(&st.Args[0], simt.B32), A: d.src(&st.Args[1], t)})
}

// orders are the memory orders of accesses, and what the simulator knows of each:
// one that is more than a plain access is volatile to it.
var (
	orders     = []string{"weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile", "mmio"}
	orderFlags = map[string]simt.Flag{"acquire": simt.FlagAcquire, "release": simt.FlagRelease, "acq_rel": simt.FlagAcquire | simt.FlagRelease}
)

// order consumes the memory order, the scope and the volatile marks of an access.
func (m *mods) order() (f simt.Flag) {
	o := m.oneOf(orders...)
	m.take("mmio")
	scope := m.oneOf("cta", "cluster", "gpu", "sys")
	if o > 0 {
		f = simt.FlagVolatile
		if scope > 0 { // beyond the block
			f |= orderFlags[orders[o]]
		}
	}
	return f
}

// cache consumes cache operators, eviction priorities, prefetch sizes and says
// whether a cache policy operand follows: none changes what is computed.
func (m *mods) cache() (hint bool) {
	m.oneOf("ca", "cg", "cs", "lu", "cv", "wb", "wt")
	m.take("nc")
	m.oneOf("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
	hint = m.take("L2::cache_hint")
	m.oneOf("L2::evict_first", "L2::evict_last", "L2::evict_normal")
	m.oneOf("L2::64B", "L2::128B", "L2::256B")
	m.oneOf("level::eviction_priority")
	return hint
}

// vec consumes .v2, .v4 or .v8.
func (m *mods) vec() int {
	return []int{1, 2, 4, 8}[1+m.oneOf("v2", "v4", "v8")]
}

// policy checks a cache policy operand.
func (d *decoder) policy(o *Operand) { d.src(o, simt.B64) }

func (d *decoder) ld(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpLd}
	in.Flags |= m.order()
	in.Space = m.space()
	in.Flags |= m.far()
	hint := m.cache()
	m.take("unified")
	n := m.vec()
	in.Type = m.typ()
	m.finish()
	args := 2
	if hint {
		args = 3
		d.wantFrom(st, 3, 3)
		d.policy(&st.Args[2])
	}
	d.want(st, args)
	in.A, in.Imm = d.addr(&st.Args[1], &in.Space)
	for _, o := range d.elements(&st.Args[0], n) {
		r := d.wideDst(&o, in.Type)
		in.Size = d.bits[r]
		in.Regs = append(in.Regs, r)
	}
	d.emit(st, in)
}

// elements are the registers of a vector of n; one may be alone.
func (d *decoder) elements(o *Operand, n int) []Operand {
	list := []Operand{*o}
	if o.Kind == OpdVector {
		list = o.List
	}
	if len(list) != n {
		d.fail(o.Pos, "%s takes %s here, given %d", d.fn.stmt.Name, diag.Count(n, "register"), len(list))
	}
	return list
}

func (d *decoder) st(st *Stmt, m *mods) {
	if m.take("async") || m.take("bulk") {
		d.fail(st.Pos, "%s: the simulator does not execute asynchronous stores", st.Name)
	}
	in := simt.Inst{Op: simt.OpSt}
	in.Flags |= m.order()
	in.Space = m.space()
	in.Flags |= m.far()
	hint := m.cache()
	n := m.vec()
	in.Type = m.typ()
	m.finish()
	args := 2
	if hint {
		args = 3
		d.wantFrom(st, 3, 3)
		d.policy(&st.Args[2])
	}
	d.want(st, args)
	in.A, in.Imm = d.addr(&st.Args[0], &in.Space)
	for _, o := range d.elements(&st.Args[1], n) {
		in.Regs = append(in.Regs, d.wideSrc(&o, in.Type))
	}
	d.emit(st, in)
}

var atomics = []string{"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"}

func (d *decoder) atom(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpAtom}
	if m.op == "red" {
		in.Op = simt.OpRed
		if m.take("async") {
			d.fail(st.Pos, "%s: the simulator does not execute asynchronous reductions", st.Name)
		}
	}
	in.Flags |= m.order() &^ simt.FlagVolatile
	in.Space = m.space()
	in.Flags |= m.far()
	hint := m.cache()
	op := m.oneOf(atomics...)
	if op < 0 {
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	in.Atomic = simt.Atomic(op)
	m.take("noftz")
	n := m.vec()
	in.Type = m.typ()
	m.finish()
	i := 0
	if in.Op == simt.OpAtom {
		if len(st.Args) == 0 {
			d.want(st, 3)
		}
		for _, o := range d.elements(&st.Args[0], n) {
			in.Dsts = append(in.Dsts, d.dst(&o, in.Type))
		}
		i = 1
	}
	args := i + 2
	if in.Atomic == simt.AtomCas {
		args++
	}
	if hint {
		args++
	}
	d.want(st, args)
	in.A, in.Imm = d.addr(&st.Args[i], &in.Space)
	for _, o := range d.elements(&st.Args[i+1], n) {
		in.Regs = append(in.Regs, d.src(&o, in.Type))
	}
	if in.Atomic == simt.AtomCas {
		in.Regs = append(in.Regs, d.src(&st.Args[i+2], in.Type))
	}
	if hint {
		d.policy(&st.Args[args-1])
	}
	d.emit(st, in)
}

func (d *decoder) cvta(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpCvta}
	if m.take("to") {
		in.Flags |= simt.FlagNot
	}
	in.Space = m.space()
	in.Type = m.typ()
	m.finish()
	d.want(st, 2)
	in.D, in.A = d.dst(&st.Args[0], in.Type), d.src(&st.Args[1], in.Type)
	d.emit(st, in)
}

func (d *decoder) isspacep(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpIsSpace, Space: m.space()}
	m.finish()
	d.want(st, 2)
	in.D, in.A = d.dst(&st.Args[0], simt.Pred), d.src(&st.Args[1], simt.B64)
	d.emit(st, in)
}

// prefetch and its kin are hints that compute nothing.
func (d *decoder) prefetch(st *Stmt, m *mods) {
	space := m.space()
	m.oneOf("L1", "L2", "L2::evict_last", "L2::evict_normal")
	m.oneOf("L2::128B")
	m.finish()
	d.wantFrom(st, 1, 2)
	d.addr(&st.Args[0], &space)
	d.emit(st, simt.Inst{Op: simt.OpPrefetch, Space: space})
}

// createpolicy makes a cache policy: an opaque value, here zero.
func (d *decoder) createpolicy(st *Stmt, m *mods) {
	if m.oneOf("fractional", "range") == 1 {
		d.fail(st.Pos, "%s: policies by address range are not supported by the simulator", st.Name)
	}
	for range 2 {
		m.oneOf("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
	}
	t := m.typ()
	m.finish()
	d.wantFrom(st, 1, 2)
	d.emit(st, simt.Inst{Op: simt.OpMov, Type: t, D: d.dst(&st.Args[0], t), A: d.constReg(simt.Class64, 0, 0)})
}

// matrixShape consumes the modifiers of ldmatrix and stmatrix and returns the
// number of matrices.
func (d *decoder) matrixShape(st *Stmt, m *mods, in *simt.Inst) int {
	if !m.take("sync") || !m.take("aligned") {
		d.fail(st.Pos, "%s needs .sync.aligned", st.Name)
	}
	in.Flags |= simt.FlagAligned
	if !m.take("m8n8") {
		d.fail(st.Pos, "%s: the simulator has matrices of shape .m8n8 only", st.Name)
	}
	n := []int{0, 1, 2, 4}[1+m.oneOf("x1", "x2", "x4")]
	if n == 0 {
		d.fail(st.Pos, "%s names no number of matrices", st.Name)
	}
	if m.take("trans") {
		in.Flags |= simt.FlagTrans
	}
	in.Space = m.space()
	in.Type = m.typ()
	if in.Type != simt.B16 {
		d.fail(st.Pos, "%s: the simulator has matrices of .b16 only", st.Name)
	}
	m.finish()
	d.want(st, 2)
	return n
}

func (d *decoder) ldmatrix(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpLdMatrix}
	n := d.matrixShape(st, m, &in)
	in.A, in.Imm = d.addr(&st.Args[1], &in.Space)
	for _, o := range d.elements(&st.Args[0], n) {
		in.Regs = append(in.Regs, d.dst(&o, simt.B32))
	}
	d.emit(st, in)
}

func (d *decoder) stmatrix(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpStMatrix}
	n := d.matrixShape(st, m, &in)
	in.A, in.Imm = d.addr(&st.Args[0], &in.Space)
	for _, o := range d.elements(&st.Args[1], n) {
		in.Regs = append(in.Regs, d.src(&o, simt.B32))
	}
	d.emit(st, in)
}

// copyArrive decodes cp.async.mbarrier.arrive: the lane's copies complete, and with them
// it arrives. Without .noinc the phase first expects one arrival more, so that none is
// counted.
func (d *decoder) copyArrive(st *Stmt, m *mods) {
	if !m.take("arrive") {
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	arrivals := uint64(0)
	if m.take("noinc") {
		arrivals = 1
	}
	if m.space() != simt.SpaceShared {
		d.fail(st.Pos, "%s: the simulator has mbarrier objects in shared memory only", st.Name)
	}
	if !m.take("b64") {
		d.fail(st.Pos, "%s has no .b64", st.Name)
	}
	m.finish()
	d.want(st, 1)
	d.emit(st, simt.Inst{Op: simt.OpCpWait, Imm: -1})
	in := simt.Inst{Op: simt.OpMbarrier, Space: simt.SpaceShared, Imm: simt.MbarArrive, D: d.scratch(simt.Class64)}
	in.A, in.Imm2 = d.addr(&st.Args[0], &in.Space)
	in.B = d.constReg(simt.Class32, arrivals, 0)
	d.emit(st, in)
}

// cp decodes cp.async and its groups.
func (d *decoder) cp(st *Stmt, m *mods) {
	reduce := m.take("reduce")
	if !m.take("async") {
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	if reduce {
		d.bulkReduce(st, m)
		return
	}
	if m.take("bulk") {
		d.bulk(st, m)
		return
	}
	if m.take("mbarrier") {
		d.copyArrive(st, m)
		return
	}
	switch m.oneOf("commit_group", "wait_group", "wait_all") {
	case 0:
		m.finish()
		d.want(st, 0)
		d.emit(st, simt.Inst{Op: simt.OpCpCommit})
		return
	case 1:
		m.finish()
		d.want(st, 1)
		d.emit(st, simt.Inst{Op: simt.OpCpWait, Imm: d.immediate(&st.Args[0], 1<<20)})
		return
	case 2:
		m.finish()
		d.want(st, 0)
		d.emit(st, simt.Inst{Op: simt.OpCpWait, Imm: -1})
		return
	}
	in := simt.Inst{Op: simt.OpCpAsync, Space: simt.SpaceGlobal}
	m.oneOf("ca", "cg")
	if m.space() != simt.SpaceShared || !m.take("global") {
		d.fail(st.Pos, "%s: copies go from global to shared memory", st.Name)
	}
	hint := m.cache()
	m.finish()
	d.wantFrom(st, 3, 5)
	shared := simt.SpaceShared
	in.D, in.Imm = d.addr(&st.Args[0], &shared)
	in.A, in.Imm2 = d.addr(&st.Args[1], &in.Space)
	in.Size = int(d.immediate(&st.Args[2], 16))
	if in.Size != 4 && in.Size != 8 && in.Size != 16 {
		d.fail(st.Args[2].Pos, "%s copies 4, 8 or 16 bytes", st.Name)
	}
	rest := st.Args[3:]
	if hint {
		if len(rest) == 0 {
			d.fail(st.Pos, "%s has no cache policy", st.Name)
		}
		d.policy(&rest[len(rest)-1])
		rest = rest[:len(rest)-1]
	}
	switch {
	case len(rest) > 1:
		d.fail(rest[1].Pos, "%s has too many operands", st.Name)
	case len(rest) == 1 && d.isPred(&rest[0]):
		// A true predicate ignores the source: nothing is read.
		p, not := d.pred(&rest[0])
		in.B = d.plainReg(simt.Class32)
		zero, full := d.constReg(simt.Class32, 0, 0), d.constReg(simt.Class32, uint64(in.Size), 0)
		if not {
			zero, full = full, zero
		}
		d.emit(st, simt.Inst{Op: simt.OpSelp, Type: simt.B32, D: in.B, A: zero, B: full, C: p})
	case len(rest) == 1:
		in.B = d.src(&rest[0], simt.U32)
	}
	d.emit(st, in)
}

func (d *decoder) isPred(o *Operand) bool {
	if o.Kind != OpdName {
		return false
	}
	r, ok := d.lookupReg(o.Name)
	return ok && d.bits[r] == 1
}
