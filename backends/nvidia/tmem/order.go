package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// entryAccess is what an operation of a loop's body, or one inside it, does to an entry of an
// array of buffers or of barriers that is made before the loop.
type entryAccess struct {
	op      *ir.Operation // of the loop's body
	array   *ir.Value
	index   *ir.Value // of the entry; nil for all of the array
	entries int64
	barrier bool
	reads   bool // and does not write
}

// KeepsOrder implements pipeline.AsyncUnit. Accesses to one barrier, or to one accumulator,
// keep the order of the program, and so do those to a barrier and to the buffer that it
// guards, which have the same index. An array of n entries is used again after n iterations:
// what takes an entry then comes after what gave it up.
func (Unit) KeepsOrder(loop *ir.Operation, precedes func(x, y *ir.Operation, iterations int) bool) bool {
	list := accessesIn(loop)
	for i, x := range list {
		for k, y := range list {
			later, ok := x.entryFor(y, loop)
			if x.op == y.op || !ok || later == 0 && i > k {
				continue
			}
			again := int(min(x.entries, y.entries)) - later
			if !precedes(x.op, y.op, later) || !precedes(y.op, x.op, again) {
				return false
			}
		}
	}
	return true
}

// entryFor reports whether x and y have to keep their order since the entry that x accesses
// is that which y does in the iteration that is so much later, 0 or 1.
func (x entryAccess) entryFor(y entryAccess, loop *ir.Operation) (later int, ok bool) {
	switch {
	case x.array == y.array && (x.barrier || ttng.InTensorMemory(x.array)):
		return 0, !(x.reads && y.reads)
	case x.index == nil || y.index == nil || !x.barrier && !y.barrier || x.index.Def() != nil && x.index.Def().Def().Has(ir.ConstantLike):
		return 0, false
	case forloop.Next(loop, y.index) == x.index:
		return 1, true
	}
	return 0, x.index == y.index
}

// accessesIn lists the accesses of loop to memory from before it, in the order of the
// program.
func accessesIn(loop *ir.Operation) (list []entryAccess) {
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op == loop || ttg.Viewed(op) != nil {
			return ir.Advance
		}
		for _, v := range op.Operands() {
			t, ok := v.Type().(*ttg.MemDescType)
			if !ok {
				continue
			}
			n, isInt := t.Elem.(*ir.IntegerType)
			a := entryAccess{
				op: forloop.AncestorIn(loop.Body(), op), entries: 1, reads: ttng.IsTmemLoad(op) || op.Is(ttg.LocalLoad),
				barrier: isInt && n.Width == 64 && op.Def().Dialect() == ttng.Name,
			}
			for v.Def() != nil && ttg.Viewed(v.Def()) != nil {
				if v.DefIs(ttg.MemDescIndex) {
					a.index = ttg.AsMemDescIndex(v.Def()).Index()
					a.entries = ttg.AsMemDescIndex(v.Def()).Src().Type().(*ttg.MemDescType).Shape[0]
				}
				v = ttg.Viewed(v.Def())
			}
			if a.array = v; a.op != nil && !forloop.DefinedInside(v, loop) {
				list = append(list, a)
			}
		}
		return ir.Advance
	})
	return list
}
