package ptx

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// bulk decodes cp.async.bulk and its tensor forms; cp, async and bulk are taken.
func (d *decoder) bulk(st *Stmt, m *mods) {
	switch m.oneOf("commit_group", "wait_group") {
	case 0:
		m.finish()
		d.want(st, 0)
		d.emit(st, simt.Inst{Op: simt.OpBulkCommit})
		return
	case 1:
		m.take("read")
		m.finish()
		d.want(st, 1)
		d.emit(st, simt.Inst{Op: simt.OpBulkWait, Imm: d.immediate(&st.Args[0], 1<<20)})
		return
	}
	d.bulkCopy(st, m, &simt.Bulk{})
}

// bulkReduce decodes cp.reduce.async.bulk of tensors.
func (d *decoder) bulkReduce(st *Stmt, m *mods) {
	op := m.oneOf("add", "min", "max", "inc", "dec", "and", "or", "xor")
	if op < 0 {
		d.fail(st.Pos, "%s names no operation", st.Name)
	}
	if !m.take("bulk") || !slices.Contains(m.list, "tensor") {
		d.fail(st.Pos, "%s: the simulator reduces tensors alone", st.Name)
	}
	d.bulkCopy(st, m, &simt.Bulk{Reduce: true, Atomic: simt.Atomic(op)})
}

func (d *decoder) bulkCopy(st *Stmt, m *mods, k *simt.Bulk) {
	if m.take("tensor") {
		k.Rank = 1 + m.oneOf("1d", "2d", "3d", "4d", "5d")
		if k.Rank == 0 {
			d.fail(st.Pos, "%s names no rank", st.Name)
		}
		m.take("tile")
	}
	d.bulkDirection(st, m, k)
	if k.Reduce && !k.Store {
		d.fail(st.Pos, "%s: there are no reductions to shared memory", st.Name)
	}
	hint := m.take("L2::cache_hint")
	m.finish()
	want := 2
	if k.Rank == 0 {
		want++ // the size
	}
	if !k.Store {
		want++ // the mbarrier
	}
	if hint {
		want++
	}
	d.want(st, want)
	shared, global := &st.Args[0], &st.Args[1]
	if k.Store {
		shared, global = global, shared
	}
	sp, gl := simt.SpaceShared, simt.SpaceGeneric
	k.Shared, k.SharedOff = d.addr(shared, &sp)
	g := *global
	if k.Rank > 0 {
		if len(g.List) != 1 || g.List[0].Kind != OpdVector || len(g.List[0].List) != k.Rank {
			d.fail(global.Pos, "%s takes a tensor map and %s in braces", st.Name, diag.Count(k.Rank, "coordinate"))
		}
		for i := range g.List[0].List {
			k.Coords = append(k.Coords, d.src(&g.List[0].List[i], simt.S32))
		}
		g.List = nil
	}
	k.Global, k.GlobalOff = d.addr(&g, &gl)
	rest := st.Args[2:]
	if k.Rank == 0 {
		k.Size = d.src(&rest[0], simt.U32)
		rest = rest[1:]
	}
	if !k.Store {
		k.Barrier, k.BarrierOff = d.addr(&rest[0], &sp)
		rest = rest[1:]
	}
	if hint {
		d.policy(&rest[0])
	}
	d.emit(st, simt.Inst{Op: simt.OpBulk, Bulk: k})
}

// bulkDirection consumes the spaces and the way of completion.
func (d *decoder) bulkDirection(st *Stmt, m *mods, k *simt.Bulk) {
	for i, s := range m.list {
		if m.used[i] {
			continue
		}
		switch s {
		case "shared::cluster", "shared::cta":
			m.used[i] = true
			k.Store = false
			if !m.take("global") || !m.take("mbarrier::complete_tx::bytes") {
				d.fail(st.Pos, "%s: the simulator copies from global memory with an mbarrier", st.Name)
			}
			return
		case "global":
			m.used[i] = true
			k.Store = true
			if !m.take("shared::cta") || !m.take("bulk_group") {
				d.fail(st.Pos, "%s: the simulator copies from shared memory in a bulk group", st.Name)
			}
			return
		}
	}
	d.fail(st.Pos, "%s names no spaces", st.Name)
}

// mapFields are the fields of a tensor map: place, size and number of items.
var mapFields = map[string]struct{ at, bytes, items int }{
	"global_address":    {simt.MapAddress, 8, 0},
	"rank":              {simt.MapRank, 4, 0},
	"box_dim":           {simt.MapBox, 4, 5},
	"global_dim":        {simt.MapDims, 4, 5},
	"global_stride":     {simt.MapStrides, 8, 4},
	"element_stride":    {simt.MapElementStride, 4, 5},
	"elemtype":          {simt.MapType, 4, 0},
	"interleave_layout": {simt.MapInterleave, 4, 0},
	"swizzle_mode":      {simt.MapSwizzle, 4, 0},
	"fill_mode":         {simt.MapFill, 4, 0},
}

// tensormap decodes tensormap.replace, a store to a field of the map, and
// tensormap.cp_fenceproxy.
func (d *decoder) tensormap(st *Stmt, m *mods) {
	if m.take("cp_fenceproxy") {
		m.sync()
		for _, s := range []string{"aligned", "global", "shared::cta", "tensormap::generic", "release"} {
			if !m.take(s) {
				d.fail(st.Pos, "%s has no .%s", st.Name, s)
			}
		}
		m.oneOf("cta", "cluster", "gpu", "sys")
		m.finish()
		d.want(st, 3)
		in := simt.Inst{Op: simt.OpCopyMap}
		gl, sh := simt.SpaceGlobal, simt.SpaceShared
		in.D, in.Imm = d.addr(&st.Args[0], &gl)
		in.A, in.Imm2 = d.addr(&st.Args[1], &sh)
		d.immediate(&st.Args[2], simt.MapBytes)
		d.emit(st, in)
		return
	}
	if !m.take("replace") || !m.take("tile") {
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	}
	in := simt.Inst{Op: simt.OpSt}
	var field struct{ at, bytes, items int }
	for _, s := range m.list {
		if f, ok := mapFields[s]; ok && m.take(s) {
			field = f
		}
	}
	if field.bytes == 0 || !m.take("b1024") {
		d.fail(st.Pos, "%s names no field of a .b1024 map", st.Name)
	}
	in.Space = m.space()
	in.Type = m.typ()
	m.finish()
	if in.Type.Bits() != 8*field.bytes {
		d.fail(st.Pos, "%s: the field has %s", st.Name, diag.Count(field.bytes, "byte"))
	}
	args := 2
	if field.items > 0 {
		args = 3
	}
	d.want(st, args)
	in.A, in.Imm = d.addr(&st.Args[0], &in.Space)
	in.Imm += int64(field.at)
	if field.items > 0 {
		in.Imm += d.immediate(&st.Args[1], uint64(field.items-1)) * int64(field.bytes)
	}
	value := d.src(&st.Args[args-1], in.Type)
	if field.at == simt.MapStrides { // the map has it without the four lowest bits
		whole := d.plainReg(simt.Class64)
		d.emit(st, simt.Inst{Op: simt.OpAnd, Type: simt.B64, D: whole, A: value, B: d.constReg(simt.Class64, ^uint64(15), 0)})
		value = whole
	}
	in.Regs = []simt.Reg{value}
	d.emit(st, in)
}

// mbarrier decodes the operations on mbarrier objects in the block's own shared
// memory.
func (d *decoder) mbarrier(st *Stmt, m *mods) {
	in := simt.Inst{Op: simt.OpMbarrier, Space: simt.SpaceShared}
	op := m.oneOf("init", "inval", "arrive", "expect_tx", "complete_tx", "test_wait", "try_wait")
	switch op {
	case -1:
		d.fail(st.Pos, "unknown instruction %s", st.Name)
	case 2:
		in.Imm = simt.MbarArrive
		if m.take("expect_tx") {
			in.Imm = simt.MbarArriveExpect
		}
		if m.take("noComplete") {
			d.fail(st.Pos, "%s: .noComplete is not supported by the simulator", st.Name)
		}
	case 5, 6:
		in.Imm = simt.MbarTestState
		if m.take("parity") {
			in.Imm = simt.MbarTestParity
		}
	default:
		in.Imm = []int64{simt.MbarInit, simt.MbarInval, 0, simt.MbarExpect, simt.MbarComplete}[op]
	}
	m.oneOf("relaxed", "acquire", "release")
	m.oneOf("cta", "cluster")
	if m.space() != simt.SpaceShared {
		d.fail(st.Pos, "%s: the simulator has mbarrier objects in shared memory only", st.Name)
	}
	if in.Imm != simt.MbarExpect && in.Imm != simt.MbarComplete && !m.take("b64") {
		d.fail(st.Pos, "%s has no .b64", st.Name)
	}
	m.take("b64")
	m.finish()
	args := st.Args
	if op == 2 || op >= 5 {
		d.wantFrom(st, 2, 4)
		t := simt.B64
		if op >= 5 {
			t = simt.Pred
		}
		in.D = d.dst(&args[0], t)
		args = args[1:]
	}
	if len(args) == 0 {
		d.want(st, 2)
	}
	in.A, in.Imm2 = d.addr(&args[0], &in.Space)
	args = args[1:]
	switch {
	case in.Imm == simt.MbarInval:
	case in.Imm == simt.MbarArrive && len(args) == 0:
		in.B = d.constReg(simt.Class32, 1, 0)
	case len(args) == 0:
		d.fail(st.Pos, "%s has too few operands", st.Name)
	case in.Imm == simt.MbarTestState:
		in.B = d.src(&args[0], simt.B64)
		args = args[1:]
	default:
		in.B = d.src(&args[0], simt.U32)
		args = args[1:]
	}
	if op == 6 && len(args) == 1 {
		d.src(&args[0], simt.U32) // a hint how long to wait
		args = args[1:]
	}
	if len(args) > 0 {
		d.fail(args[0].Pos, "%s has too many operands", st.Name)
	}
	d.emit(st, in)
}
