package tmem

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
)

// The attributes by which an allocation says where it is, and a module how much of
// tensor memory it takes.
const (
	columnAttr     = "tensor_memory_col_offset"
	rowAttr        = "tensor_memory_row_offset"
	sizeAttr       = "ttg.tensor_memory_size"
	sharedSizeAttr = "ttg.shared"
)

// TensorMemoryAllocation gives each buffer in tensor memory columns, and 64 or all 128
// rows, that no other has while it lives:
//
//	ttng.tmem_alloc {tensor_memory_col_offset = 128 : i32, tensor_memory_row_offset = 0 : i32}
//
// It goes through the buffers in order and takes the first columns that are free. The
// module says how many columns it needs, a power of two from 32 to 512. More than 512,
// which no GPU has, it says as they are.
var TensorMemoryAllocation = &pass.Pass{
	Name:    "triton-tensor-memory-allocation",
	Doc:     "give buffers in tensor memory their columns and rows",
	Example: tensorMemoryAllocationExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		a := &allocator{ids: make(map[*ir.Operation]int), ends: make(map[*ir.Operation]int), sameRows: make(map[*ir.Operation]*int)}
		if err := a.number(r.Module); err != nil {
			return err
		}
		c := r.Module.Context()
		total := a.allocate(c)
		for _, n := range []int64{0, 32, 64, 128, 256, 512} {
			if total <= n {
				total = n
				break
			}
		}
		if shared, _ := r.Module.IntAttr(sharedSizeAttr); total > 0 && shared < 4 {
			// The hardware writes there where the columns begin.
			r.Module.SetAttr(sharedSizeAttr, c.I32Attr(4))
		}
		r.Module.SetAttr(sizeAttr, c.I32Attr(total))
		r.Count("columns", int(total))
		return nil
	},
}

// rowsAtOnce is the least number of rows of a buffer, and sparseRows the row offset of
// the second half: the rows of 64 are 16 of each warp's 32.
const (
	rowsAtOnce = 64
	sparseRows = 16
)

// columnAlign is what columns of buffers begin at a multiple of.
const columnAlign = 4

// A chunk is a part of tensor memory: columns, and halves 0 or 1 of the rows.
type chunk struct{ col, cols, half, halves int64 }

func (x chunk) meets(y chunk) bool {
	return x.col < y.col+y.cols && y.col < x.col+x.cols && x.half < y.half+y.halves && y.half < x.half+x.halves
}

type allocator struct {
	allocs []*ir.Operation
	// ids number operations, those in regions before the one around them; ends are the
	// numbers of the last operations that may touch a buffer.
	ids, ends map[*ir.Operation]int
	last      int
	// sameRows join allocations that must be in the same half of the rows; -1: not known yet.
	sameRows map[*ir.Operation]*int
}

// number finds the allocations and how long they live.
func (a *allocator) number(module *ir.Operation) error {
	var dots []*ir.Operation
	holders := make(map[string]bool) // functions with allocations
	var calls []*ir.Operation
	ir.WalkPost(module, func(op *ir.Operation) {
		a.ids[op] = a.last
		a.last++
		switch {
		case ttng.IsTmemAlloc(op):
			a.allocs = append(a.allocs, op)
			if f := op.ParentOf(tt.Func); f != nil {
				holders[f.SymbolName()] = true
			}
		case ttng.AsMMA(op) != nil:
			dots = append(dots, op)
		case op.Is(tt.Call):
			calls = append(calls, op)
		}
	})
	for _, c := range calls {
		if holders[tt.AsCall(c).Callee()] {
			return diag.Errorf(std.PosOf(c.Loc()), "function %s allocates tensor memory and is called", tt.AsCall(c).Callee()).
				WithHelp("inline it first: the pass inline")
		}
	}
	for _, op := range a.allocs {
		a.ends[op] = a.endOf(ttng.AsTmemAlloc(op).Result(), op.Block(), make(map[*ir.Value]bool))
	}
	for _, d := range dots {
		m := ttng.AsMMA(d)
		t := m.A().Type().(*ttg.MemDescType)
		if !ttng.InTensorMemory(m.A()) {
			continue
		}
		if rows, _ := size(t); rows == rowsAtOnce {
			// The hardware reads the operand where it writes the result.
			a.join(append(allocsOf(m.A(), nil), allocsOf(m.D(), nil)...))
		}
	}
	return nil
}

// endOf is the number of the last operation in block that may touch v, or what it is a
// view of; where v goes to places that are hard to follow, that of all operations.
func (a *allocator) endOf(v *ir.Value, block *ir.Block, seen map[*ir.Value]bool) int {
	if seen[v] {
		return 0
	}
	seen[v] = true
	end := a.ids[v.Def()]
	if v.Def() == nil {
		end = 0
	}
	for u := range v.Uses() {
		op := u.Owner()
		at := op
		for at != nil && at.Block() != block {
			at = at.Parent()
		}
		if at == nil || branches(op) {
			return a.last
		}
		end = max(end, a.ids[at])
		for _, r := range op.Results() {
			if _, ok := r.Type().(*ttg.MemDescType); ok {
				end = max(end, a.endOf(r, block, seen))
			}
		}
	}
	return end
}

// branches reports whether what op is given may have other names after it.
func branches(op *ir.Operation) bool {
	return op.NumSuccessors() > 0 || op.Is(scf.For) || op.Is(scf.While) || op.Is(scf.Yield) || op.Is(scf.Condition) || op.Is(tt.Return) || op.Is(tt.Call)
}

func (a *allocator) join(ops []*ir.Operation) {
	if len(ops) == 0 {
		return
	}
	half := new(int)
	*half = -1
	for _, op := range ops {
		if old := a.sameRows[op]; old != nil {
			for x, h := range a.sameRows {
				if h == old {
					a.sameRows[x] = half
				}
			}
		}
		a.sameRows[op] = half
	}
}

// allocate places all buffers and returns how many columns they need.
func (a *allocator) allocate(c *ir.Context) int64 {
	placed := make(map[*ir.Operation]chunk)
	var total int64
	for i, op := range a.allocs {
		var taken []chunk
		for _, other := range a.allocs[:i] {
			if a.ends[other] >= a.ids[op] || apart(op, other) {
				taken = append(taken, placed[other])
			}
		}
		rows, cols := size(ttng.AsTmemAlloc(op).Result().Type().(*ttg.MemDescType))
		half := -1
		if h := a.sameRows[op]; h != nil {
			half = *h
		}
		x := firstFit(cols, rows/rowsAtOnce, half, taken)
		placed[op] = x
		if h := a.sameRows[op]; h != nil {
			*h = int(x.half)
		}
		op.SetAttr(columnAttr, c.I32Attr(x.col))
		op.SetAttr(rowAttr, c.I32Attr(x.half*sparseRows))
		total = max(total, x.col+x.cols)
	}
	return total
}

// apart reports whether two allocations are in different regions of one
// ttg.warp_specialize, which run at the same time.
func apart(x, y *ir.Operation) bool {
	for p := x.ParentOf(ttg.WarpSpecialize); p != nil; p = p.ParentOf(ttg.WarpSpecialize) {
		if p.IsAncestorOf(y) {
			return regionIn(p, x) != regionIn(p, y)
		}
	}
	return false
}

// regionIn is the region around op that runs by itself in p, a ttg.warp_specialize: the
// default one or a partition.
func regionIn(p, op *ir.Operation) *ir.Region {
	for op != p {
		parent := op.Parent()
		if parent == p || parent.Is(ttg.WarpSpecializePartitions) && parent.Parent() == p {
			return op.Block().Region()
		}
		op = parent
	}
	return nil
}

// firstFit is the first chunk of that size that meets none of taken, in the given half
// of the rows, or in any if that is -1.
func firstFit(cols, halves int64, half int, taken []chunk) chunk {
	for col := int64(0); ; col += columnAlign {
		for h := int64(0); h+halves <= 2; h++ {
			if half >= 0 && int64(half) != h {
				continue
			}
			x := chunk{col, cols, h, halves}
			if !slices.ContainsFunc(taken, x.meets) {
				return x
			}
		}
	}
}

// allocsOf lists the allocations that v may be a view of.
func allocsOf(v *ir.Value, seen map[*ir.Value]bool) []*ir.Operation {
	if seen == nil {
		seen = make(map[*ir.Value]bool)
	}
	if seen[v] {
		return nil
	}
	seen[v] = true
	var list []*ir.Operation
	from := func(v *ir.Value) { list = append(list, allocsOf(v, seen)...) }
	op := v.Def()
	switch {
	case op == nil:
		p := v.Block().Parent()
		switch {
		case p != nil && p.Is(ttg.WarpSpecializePartitions):
			from(ttg.AsWarpSpecialize(p.Parent()).ExplicitCaptures()[v.Index()])
		case p != nil && p.Is(scf.For) && scf.CarriedIndex(v) >= 0:
			from(scf.Inits(p)[scf.CarriedIndex(v)])
			from(p.Body().Terminator().Operand(scf.CarriedIndex(v)))
		case !v.Block().IsEntry():
			for pred, i := range v.Block().Predecessors() {
				if arg := branchArg(pred, i, v.Index()); arg != nil {
					from(arg)
				}
			}
		}
	case ttng.IsTmemAlloc(op):
		list = append(list, op)
	case ttng.Is(op, "tmem_subslice"):
		from(ttng.AsTmemSubslice(op).Src())
	case ttg.Viewed(op) != nil:
		from(ttg.Viewed(op))
	case op.Is(arith.Select):
		from(arith.AsSelect(op).TrueValue())
		from(arith.AsSelect(op).FalseValue())
	case op.Is(scf.If):
		for _, r := range op.Regions() {
			from(r.First().Terminator().Operand(v.Index()))
		}
	case op.Is(scf.For):
		from(scf.Inits(op)[v.Index()])
		from(op.Body().Terminator().Operand(v.Index()))
	}
	return list
}

// branchArg is what pred gives argument i of its successor number s.
func branchArg(pred *ir.Operation, s, i int) *ir.Value {
	switch {
	case pred.Is(cf.Br):
		return pred.Operand(i)
	case pred.Is(cf.CondBr):
		c := cf.AsCondBr(pred)
		if s == 0 {
			return c.TrueDestOperands()[i]
		}
		return c.FalseDestOperands()[i]
	}
	return nil
}
