package instrument

import (
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// commitKind is a kind of operations that threads wait for by number.
type commitKind int

const (
	cpAsync commitKind = iota
	wgmma
	tmaStore
	numCommitKinds
)

// state is the tables as a region knows them: the kernel's body, or a partition.
type state struct {
	warps    int
	buffers  [numSpaces]table
	barriers table

	writes, reads               [numSpaces]table // who sees them
	trackedWrites, trackedReads [numSpaces]table // which barriers pass them on
	barrierStates, waiting      table
	lock                        table
	commits                     [numCommitKinds]table
}

// inGlobalMemory are the tables to which regions have pointers, in the order in which
// partitions get them.
func (s *state) inGlobalMemory() []*table {
	list := []*table{&s.barrierStates, &s.waiting, &s.lock}
	for m := range numSpaces {
		list = append(list, &s.writes[m], &s.reads[m], &s.trackedWrites[m], &s.trackedReads[m])
	}
	for k := range s.commits {
		list = append(list, &s.commits[k])
	}
	return list
}

// makeTables makes the tables of the kernel where it begins, all zero.
func (in *instrumenter) makeTables(p *places) {
	c := code{in.b}
	s := &state{warps: in.warps}
	n, k := [numSpaces]int64{}, int64(len(p.barriers))
	for m := range numSpaces {
		if n[m] = int64(len(p.buffers[m])); n[m] == 0 {
			continue
		}
		s.buffers[m] = in.addressTable(c, in.warps, m, p.buffers[m])
		s.writes[m] = in.zeroTable(c, 64, n[m])
		s.reads[m] = in.zeroTable(c, 64, n[m], maskBits)
	}
	if k > 0 {
		s.barriers = in.addressTable(c, in.warps, sharedMemory, p.barriers)
		s.barrierStates = in.zeroTable(c, 32, k)
		s.waiting = in.zeroTable(c, 32, k)
		for m := range numSpaces {
			if n[m] > 0 {
				s.trackedWrites[m] = in.zeroTable(c, 8, n[m], k)
				s.trackedReads[m] = in.zeroTable(c, 64, n[m], k)
			}
		}
	}
	s.lock = in.makeLock(c)
	for kind := range s.commits {
		if in.commits[kind] && n[sharedMemory] > 0 {
			s.commits[kind] = in.zeroTable(c, 8, n[sharedMemory], maxThreads)
		}
	}
	in.states = map[*ir.Region]*state{tt.AsFunc(in.kernel).Body(): s}
	ir.Walk(in.kernel, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.WarpSpecialize) {
			in.passTables(ttg.AsWarpSpecialize(op), p, s)
		}
		return ir.Advance
	})
}

// passTables gives the partitions of op pointers to the kernel's tables. Addresses they
// make themselves, in layouts for their own warps.
func (in *instrumenter) passTables(op ttg.WarpSpecializeOp, p *places, kernel *state) {
	captures := append([]*ir.Value(nil), op.ExplicitCaptures()...)
	warps := op.PartitionNumWarps()
	for i, r := range ttg.Partitions(op.Op) {
		s := &state{warps: int(warps[i])}
		to := s.inGlobalMemory()
		for j, t := range kernel.inGlobalMemory() {
			if !t.there() {
				continue
			}
			to[j].value = r.First().AddArg(t.value.Type(), op.Op.Loc())
			if t.typ != nil {
				to[j].typ = tableType(in.module.Context(), in.lanes, s.warps, ir.BitWidth(t.typ.Elem), t.typ.Shape...)
			}
			if i == 0 {
				captures = append(captures, t.value)
			}
		}
		at := in.b.Save()
		in.b.SetToStart(r.First())
		c := code{in.b}
		for m := range numSpaces {
			if len(p.buffers[m]) > 0 {
				s.buffers[m] = in.addressTable(c, s.warps, m, p.buffers[m])
			}
		}
		if len(p.barriers) > 0 {
			s.barriers = in.addressTable(c, s.warps, sharedMemory, p.barriers)
		}
		in.b.Restore(at)
		in.states[r] = s
	}
	op.SetExplicitCaptures(captures)
}

// addressTable is the tensor of the addresses of buffers.
func (in *instrumenter) addressTable(c code, warps int, m space, offsets []int64) table {
	ctx := c.b.Context()
	t := tableType(ctx, in.lanes, warps, 64, int64(len(offsets)))
	op := c.b.Create(tti.Def("experimental_buffer_pointers"), ir.State{
		Types: []ir.Type{t},
		Attrs: []ir.NamedAttr{{Name: "memType", Attr: ctx.I32Attr(int64(m))}, {Name: "offsets", Attr: ctx.I32Array(offsets...)}},
	})
	return table{op.OneResult(), t}
}

// zeroTable makes a table in global memory with elements of so many bits.
func (in *instrumenter) zeroTable(c code, width int, shape ...int64) table {
	t := tableType(c.b.Context(), in.lanes, in.warps, width, shape...)
	zero := c.num(t, 0)
	out := table{scratch(c, t.Elem, int64(width/8), t.NumElements()), t}
	c.store(out, zero)
	return out
}

// scratch is a pointer to n elements of size bytes in the program's global memory.
func scratch(c code, elem ir.Type, size, n int64) *ir.Value {
	ctx := c.b.Context()
	return c.b.Create(ttg.GlobalScratchAlloc, ir.State{
		Types: []ir.Type{tt.Ptr(ctx, elem)},
		Attrs: []ir.NamedAttr{{Name: "alignment", Attr: ctx.I32Attr(size)}, {Name: "nbytes", Attr: ctx.I32Attr(size * n)}},
	}).OneResult()
}

// makeLock makes the lock, which nobody has.
func (in *instrumenter) makeLock(c code) table {
	ctx := c.b.Context()
	p := scratch(c, ctx.I32(), 4, 1)
	c.b.Create(tt.AtomicRMW, ir.State{
		Operands: []*ir.Value{p, c.i32(0)},
		Attrs: []ir.NamedAttr{
			{Name: "atomic_rmw_op", Attr: ctx.I32Attr(tt.RMWExch)},
			{Name: "sem", Attr: ctx.I32Attr(tt.SemAcqRel)},
			{Name: "scope", Attr: ctx.I32Attr(tt.ScopeGPU)},
		},
	})
	return table{value: p}
}

// stateAt is the state of the region that runs op.
func (in *instrumenter) stateAt(op *ir.Operation) *state {
	for r := op.Block().Region(); ; r = r.Parent().Block().Region() {
		if s := in.states[r]; s != nil {
			return s
		}
	}
}
