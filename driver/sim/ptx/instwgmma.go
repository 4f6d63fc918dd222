package ptx

import (
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// wgmma decodes the dots of warpgroups, their fences, groups and waits.
func (d *decoder) wgmma(st *Stmt, m *mods) {
	op := m.oneOf("fence", "commit_group", "wait_group", "mma_async")
	m.sync()
	if op < 0 || !m.take("aligned") {
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	if op < 3 {
		m.finish()
		in := simt.Inst{Op: [...]simt.Op{simt.OpDotFence, simt.OpDotCommit, simt.OpDotWait}[op], Flags: simt.FlagAligned}
		if op == 2 {
			d.want(st, 1)
			in.Imm = d.immediate(&st.Args[0], 7)
		} else {
			d.want(st, 0)
		}
		d.emit(st, in)
		return
	}
	if m.take("sp") {
		d.fail(st.Pos, "%s: sparse matrices are not supported by the simulator", st.Name)
	}
	mm, g := &simt.Mma{M: 16}, &simt.Wgmma{}
	in := simt.Inst{Op: simt.OpWgmma, Flags: simt.FlagAligned, Mma: mm, Wgmma: g}
	mm.N, mm.K = d.wgmmaShape(st, m)
	mm.DType, mm.AType, mm.BType = m.typ(), m.typ(), m.typ()
	mm.CType = mm.DType
	in.Type = mm.DType
	if m.take("satfinite") {
		in.Flags |= simt.FlagSat
	}
	m.finish()
	if mm.K*mm.AType.Bits() != 256 || mm.AType.Bits() != mm.BType.Bits() {
		d.fail(st.Pos, "%s: this shape has another depth for these types", st.Name)
	}
	integer := !mm.AType.Float()
	turns := mm.AType.Bits() == 16
	inRegs := len(st.Args) > 1 && st.Args[1].Kind == OpdVector
	want := 6 // d, a, b, scale-d, two signs
	switch {
	case integer:
		want = 4
	case turns && inRegs:
		want = 7
	case turns:
		want = 8
	}
	d.want(st, want)
	n := mm.N / 2
	if mm.DType == simt.F16 {
		n = mm.N / 4
	}
	for _, o := range d.elements(&st.Args[0], n) {
		mm.DRegs = append(mm.DRegs, d.dst(&o, simt.B32))
	}
	if inRegs {
		for _, o := range d.elements(&st.Args[1], 4) {
			mm.ARegs = append(mm.ARegs, d.src(&o, simt.B32))
		}
	} else {
		g.ADesc = d.src(&st.Args[1], simt.B64)
	}
	g.BDesc = d.src(&st.Args[2], simt.B64)
	if o := &st.Args[3]; o.Kind == OpdInt {
		g.Fresh = o.Bits == 0
	} else {
		g.ScaleD = d.plainPred(st, o)
	}
	for i := 4; i < want; i++ {
		o := &st.Args[i]
		switch {
		case i < 6 && (o.Kind != OpdInt || o.Bits != 1):
			d.fail(o.Pos, "%s: negated operands are not supported by the simulator", st.Name)
		case i >= 6:
			turned := d.immediate(o, 1) == 1
			if i == 6 && !inRegs {
				g.TransA = turned
			} else {
				g.TransB = turned
			}
		}
	}
	d.emit(st, in)
}

// wgmmaShape reads .m64nNkK.
func (d *decoder) wgmmaShape(st *Stmt, m *mods) (n, k int) {
	for i, s := range m.list {
		rest, ok := strings.CutPrefix(s, "m64n")
		if !ok || m.used[i] {
			continue
		}
		cols, depth, _ := strings.Cut(rest, "k")
		n, ok1 := decimal(cols)
		k, ok2 := decimal(depth)
		if ok1 && ok2 && n%8 == 0 && n >= 8 && n <= 256 {
			m.used[i] = true
			return n, k
		}
	}
	d.fail(st.Pos, "%s has no shape that the simulator knows", st.Name)
	return 0, 0
}
