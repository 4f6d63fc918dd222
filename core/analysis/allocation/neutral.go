package allocation

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// Neutral is the Scratch of no target in particular: reductions and scans exchange what
// each warp has, tensors that change between warps pass through shared memory in as few
// parts as registers of both sides allow, and atomics hand their result to all threads.
// The sizes are those that Triton's own test passes report. A lowering, which
// knows what its target's instructions do, needs at most as much for most operations
// and has a Scratch of its own. place says where an operation is, for errors.
func Neutral(place func(op *ir.Operation) diag.Pos) Scratch {
	return func(op *ir.Operation) (size, align int, err error) {
		size, align, err = neutralScratch(op)
		if err != nil {
			err = diag.Errorf(place(op), "%v", err).WithHelp("scratch memory follows from the layouts, which convert-triton-to-tritongpu chooses")
		}
		return size, align, err
	}
}

func neutralScratch(op *ir.Operation) (size, align int, err error) {
	n := &neutral{op: op}
	switch {
	case op.Is(tt.Reduce):
		r := tt.AsReduce(op)
		size = n.reduce(r.Srcs(), int(r.Axis()))
	case op.Is(tt.Scan):
		s := tt.AsScan(op)
		size = n.scan(s.Srcs(), int(s.Axis()))
	case op.Is(tt.Gather):
		size = n.gather(tt.AsGather(op))
	case op.Is(tt.Histogram):
		t := op.OneResult().Type().(*ir.TensorType)
		size = max(elements(t.Shape), n.lanes()) * elementBytes(t.Elem)
	case op.Is(ttg.ConvertLayout):
		size = n.convert(ttg.AsConvertLayout(op).Src().Type(), op.OneResult().Type())
	case op.Is(tt.AtomicRMW), op.Is(tt.AtomicCAS):
		size = n.atomic(op.OneResult())
	case op.Is(ttg.WarpSpecialize):
		return captures(ttg.AsWarpSpecialize(op))
	case op.Is(tt.Func):
		return groupWarps(op), 1, nil
	default:
		return 0, 0, nil
	}
	if n.err != nil {
		return 0, 0, n.err
	}
	return size, neutralAlign, nil
}

// neutralAlign is the alignment of scratch memory in bytes.
const neutralAlign = 128

// neutral computes the scratch memory of one operation, and keeps the first error.
type neutral struct {
	op  *ir.Operation
	err error
}

// layout is the layout of t, a tensor of ttgir.
func (n *neutral) layout(t ir.Type) layout.Layout {
	if tensor, ok := t.(*ir.TensorType); ok {
		if e := encoding.Get(tensor); e != nil {
			l, err := e.Linear(tensor.Shape)
			if err != nil && n.err == nil {
				n.err = fmt.Errorf("%s: %w", n.op.Name(), err)
			}
			return l
		}
	}
	if n.err == nil {
		n.err = fmt.Errorf("%s has a tensor without a layout", n.op.Name())
	}
	return layout.Layout{}
}

// lanes is the number of lanes of a warp of the module.
func (n *neutral) lanes() int {
	for op := n.op; op != nil; op = op.Parent() {
		if lanes, ok := op.IntAttr(ttg.ThreadsPerWarpAttr); ok {
			return int(lanes)
		}
	}
	return 32
}

// reduce: each warp along the axis leaves one element of each row.
func (n *neutral) reduce(srcs []*ir.Value, axis int) int {
	shape := ir.ShapeOf(srcs[0].Type())
	l := n.layout(srcs[0].Type())
	if n.err != nil {
		return 0
	}
	warps := l.Along(layout.Warp, layout.TensorDim(axis))
	if warps == 1 {
		return 0
	}
	return rowBytes(srcs) * elements(shape) / int(shape[axis]) * warps
}

// scan: each warp leaves the last element of each row of each of its blocks.
func (n *neutral) scan(srcs []*ir.Value, axis int) int {
	t := srcs[0].Type().(*ir.TensorType)
	l := n.layout(t)
	if n.err != nil || l.Along(layout.Warp, layout.TensorDim(axis)) == 1 {
		return 0
	}
	count := 1
	for i, size := range t.Shape {
		d := layout.TensorDim(i)
		contig, lanes, warps := l.Contig(d), l.Along(layout.Lane, d), l.Along(layout.Warp, d)
		block := contig * lanes * warps
		count *= warps * ((int(size) + block - 1) / block)
		if i != axis {
			count *= contig * lanes
		}
	}
	return rowBytes(srcs) * count
}

// gather: the whole source, unless each warp has what it takes.
func (n *neutral) gather(g tt.GatherOp) int {
	src := g.Src().Type().(*ir.TensorType)
	from, to := n.layout(src), n.layout(g.Indices().Type())
	if n.err != nil {
		return 0
	}
	axis := layout.TensorDim(int(g.Axis()))
	for _, in := range []layout.Dim{layout.Block, layout.Warp} {
		if from.Along(in, axis) > 1 || to.Along(in, axis) > 1 {
			return elements(src.Shape) * elementBytes(src.Elem)
		}
	}
	for _, in := range []layout.Dim{layout.Block, layout.Warp, layout.Lane} {
		if !slices.EqualFunc(from.BasesOf(in), to.BasesOf(in), func(a, b []int32) bool {
			for i := range a {
				if i != int(g.Axis()) && a[i] != b[i] {
					return false
				}
			}
			return true
		}) {
			return elements(src.Shape) * elementBytes(src.Elem)
		}
	}
	return 0
}

// convert: as much as differs between the registers of both sides.
func (n *neutral) convert(src, dst ir.Type) int {
	from, to := n.layout(src), n.layout(dst)
	if n.err != nil {
		return 0
	}
	c := layout.Convert(from, to)
	if c.Means <= layout.Registers || c.Means == layout.Shuffles && exchanges(c.Source) < 2 {
		return 0
	}
	size := elementBytes(ir.ElemOf(src))
	vec := 128 / 8 / size // elements that a thread moves at once
	var common []uint64
	for _, v := range from.Columns(layout.Register) {
		if v != 0 && slices.Contains(to.Columns(layout.Register), v) && !slices.Contains(common, v) {
			common = append(common, v)
		}
	}
	parts := max(len(common)-bits.Len(uint(vec))+1, 0)
	return max(elements(ir.ShapeOf(src))>>parts, 1) * size
}

// exchanges is the number of bits of a lane's number that come from a register's.
func exchanges(source layout.Layout) int {
	registers := uint64(1)<<source.OutBits(layout.Register) - 1
	count := 0
	for _, v := range source.Columns(layout.Lane) {
		if v&registers != 0 {
			count++
		}
	}
	return count
}

// atomic: one element for a scalar, all for a tensor that several threads hold, if
// anybody asks for the result.
func (n *neutral) atomic(result *ir.Value) int {
	if !result.HasUses() {
		return 0
	}
	t, ok := result.Type().(*ir.TensorType)
	if !ok {
		return elementBytes(result.Type())
	}
	l := n.layout(t)
	if n.err != nil || l.IsInjective() {
		return 0
	}
	return elements(t.Shape) * elementBytes(t.Elem)
}

// captures is the size of what the partitions of w take from outside, and its alignment.
func captures(w ttg.WarpSpecializeOp) (size, align int, err error) {
	for _, v := range w.ExplicitCaptures() {
		size += elementBytes(v.Type())
		if t, ok := v.Type().(*ttg.MemDescType); ok {
			size += descriptorBytes * len(t.Shape)
		}
	}
	return size, captureAlign, nil
}

// What is handed to partitions is packed: of a descriptor of shared memory a pointer, and
// where the view begins along each dimension.
const (
	captureAlign    = 8
	descriptorBytes = 4
)

// groupWarps is the most warps that partitions of the function have, each of which has
// a byte that says what it is to do.
func groupWarps(f *ir.Operation) int {
	most := 0
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.WarpSpecialize) {
			warps := 0
			for _, n := range ttg.AsWarpSpecialize(op).PartitionNumWarps() {
				warps += int(n)
			}
			most = max(most, warps)
		}
		return ir.Advance
	})
	return most
}

// rowBytes is the size of one element of each of srcs.
func rowBytes(srcs []*ir.Value) int {
	bytes := 0
	for _, s := range srcs {
		bytes += elementBytes(ir.ElemOf(s.Type()))
	}
	return bytes
}

// elementBytes is the size of a value of type t, at least one byte; of a pointer or
// descriptor, eight.
func elementBytes(t ir.Type) int {
	if n := ir.BitWidth(t); n > 0 {
		return (n + 7) / 8
	}
	return 8
}

func elements(shape []int64) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}
