package warpspec

import (
	"cmp"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

const (
	// warpgroup is how many warps change their registers together.
	warpgroup = 4
	// fileRegisters is how many registers a multiprocessor has.
	fileRegisters = 64 << 10
	// registerStep is the unit in which registers are given, fewestRegisters what a
	// thread has at least, and idleRegisters what is asked for a partition that does
	// nothing.
	registerStep    = 8
	fewestRegisters = 24
	idleRegisters   = 16
)

// AllocateWarpGroups gives the partitions of each ttg.warp_specialize their warps, after
// the kernel's own, the largest first. Partitions that do nothing fill the last
// warpgroup, since registers are given away by whole ones. Where partitions ask for
// registers, each warpgroup has what its greediest partition asks for, and the kernel's
// own warps have what is left.
var AllocateWarpGroups = &pass.Pass{
	Name:    "tritongpu-allocate-warp-groups",
	Doc:     "number the warps of partitions and share the registers out",
	Example: allocateWarpGroupsExample,
	Before:  []*pass.Fact{facts.Machine},
	Run: func(r *pass.Run) error {
		var splits []ttg.WarpSpecializeOp
		most := 0
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(ttg.WarpSpecialize) {
				splits = append(splits, ttg.AsWarpSpecialize(op))
				most = max(most, sum(splits[len(splits)-1].PartitionNumWarps()))
			}
			return ir.Advance
		})
		extra := (most + warpgroup - 1) / warpgroup * warpgroup
		ctx := r.Module.Context()
		warps, _ := r.Module.IntAttr(ttg.NumWarpsAttr)
		lanes := ttg.ThreadsPerWarp(r.Module)
		a := &allocator{warps: int(warps), extra: extra}
		if n, ok := r.Module.IntAttr(ttg.MaxNRegAttr); ok {
			a.registers = int(n)
		} else {
			a.registers = down(fileRegisters / ((a.warps + extra) * int(lanes)))
		}
		for _, s := range splits {
			pad(s, extra-sum(s.PartitionNumWarps()))
			starts := a.place(s)
			s.SetWarpGroupStartIds(starts)
			if regs := a.share(s, starts); regs != nil {
				s.SetActualRegisters(regs)
				r.Module.SetAttr(ttg.MaxNRegAttr, ctx.I32Attr(int64(a.registers)))
			}
		}
		r.Module.SetAttr(ttg.TotalNumWarpsAttr, ctx.I32Attr(int64(a.warps+extra)))
		return nil
	},
}

func sum(list []int64) int {
	n := 0
	for _, x := range list {
		n += int(x)
	}
	return n
}

// down is the number of registers that can be given of n.
func down(n int) int { return n / registerStep * registerStep }

// up is the number of registers that must be given for n.
func up(n int) int { return (n + registerStep - 1) / registerStep * registerStep }

// pad adds partitions that do nothing, of so many warps together.
func pad(s ttg.WarpSpecializeOp, warps int) {
	if warps == 0 {
		return
	}
	holder := s.PartitionOpHolder().First().First()
	counts, asked := slices.Clone(s.PartitionNumWarps()), slices.Clone(s.RequestedRegisters())
	b := ir.NewBuilder(s.Op.Context())
	b.Loc = s.Op.Loc()
	for warps > 0 {
		n := 1
		for 2*n <= warps {
			n *= 2
		}
		warps -= n
		counts = append(counts, int64(n))
		if asked != nil {
			asked = append(asked, idleRegisters)
		}
		body := holder.AddRegion().AddBlock()
		for _, c := range s.ExplicitCaptures() {
			body.AddArg(c.Type(), c.Loc())
		}
		b.SetToEnd(body)
		b.Create(ttg.WarpReturn, ir.State{})
	}
	s.SetPartitionNumWarps(counts)
	if asked != nil {
		s.SetRequestedRegisters(asked)
	}
}

// allocator knows what all of a module's partitions share.
type allocator struct {
	warps, extra int // the kernel's own, and the workers
	registers    int // of a thread at the start
}

// place is the first warp of each partition.
func (a *allocator) place(s ttg.WarpSpecializeOp) []int64 {
	counts := s.PartitionNumWarps()
	starts := make([]int64, len(counts))
	next := int64(a.warps)
	for _, i := range bySize(counts) {
		starts[i] = next
		next += counts[i]
	}
	return starts
}

// bySize are the indices of counts, those of the largest first.
func bySize(counts []int64) []int {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(counts[k], counts[i]) })
	return order
}

// share is how many registers a thread of each group has, the kernel's own first; nil
// where partitions do not ask, or there are too few, or no whole warpgroups.
func (a *allocator) share(s ttg.WarpSpecializeOp, starts []int64) []int64 {
	asked := s.RequestedRegisters()
	if asked == nil || a.warps%warpgroup != 0 {
		return nil // the first workers would be in a warpgroup with the kernel's own
	}
	counts := s.PartitionNumWarps()
	// The most that a partition of each warpgroup of workers asks for. Partitions of
	// several warpgroups begin with one of their own.
	groups := make(map[int64]int)
	group := func(i int) int64 { return starts[i] / warpgroup }
	for _, i := range bySize(counts) {
		groups[group(i)] = max(groups[group(i)], up(int(asked[i])), fewestRegisters)
	}
	left := a.registers * (a.warps + a.extra)
	for _, i := range bySize(counts) {
		left -= groups[group(i)] * int(counts[i])
	}
	own := down(left / a.warps)
	if own < fewestRegisters {
		return nil
	}
	out := []int64{int64(own)}
	for i := range counts {
		out = append(out, int64(groups[group(i)]))
	}
	return out
}
