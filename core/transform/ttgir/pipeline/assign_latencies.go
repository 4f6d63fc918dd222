package pipeline

import (
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// smallestCopy is the number of bytes that one thread copies asynchronously at
// least.
const smallestCopy = 4

// AssignLatencies is the pass for a target without a matrix unit.
var AssignLatencies = NewAssignLatencies(dots.MultiplyAdd{}, nil)

// NewAssignLatencies makes the pass that says which loads of innermost loops are
// worth starting iterations ahead of their use, and by how many: the loads that
// operands of dots come from, and, where the user asks for stages on the loop, those
// that anything comes from. With n stages, n-1 iterations are shared between a load
// and those that its address depends on; with the option numbers, as in Triton, entries
// of a table that are single numbers count, too.
// Loads that could not be copied asynchronously are left alone, and those from memory
// that the loop writes, which would read too early. Loads through a descriptor can be
// copied, but for one that another iteration makes or that is made under a condition.
// Loops that carry a value further than one iteration are left alone, and those in which
// an operation has a latency already, which the user chose.
//
// Dots of the unit that run beside the program's threads get latencies from async, which
// may be nil.
func NewAssignLatencies(unit dots.MatrixUnit, async AsyncDots) *pass.Pass {
	return &pass.Pass{
		Name: "tritongpu-assign-latencies",
		Doc:  "set how many iterations ahead of their use loads start",
		Options: []pass.Option{
			{Name: "num-stages", Doc: "iterations of a loop in flight, unless the loop says", Default: 3},
			{Name: "tables", Doc: "start loads of single numbers early, too, that other loads need for their addresses", Default: true},
		},
		Example:  assignLatenciesExample,
		ByTarget: true,
		Before:   []*pass.Fact{facts.Layouts},
		Run: func(r *pass.Run) error {
			var info *axisinfo.Result
			c := r.Module.Context()
			for _, loop := range forloop.All(r.Module) {
				if stages, _ := stagesOf(loop, r.Int("num-stages")); stages > pass.MaxStages {
					return pass.OverLimit(loop.Loc(), "what more stages hold does not fit in shared memory", "the loop has num_stages %d; it may have %d", stages, pass.MaxStages)
				}
				if !mayStartEarly(loop, r.Int("num-stages")) || hasLatencies(loop) {
					continue
				}
				if info == nil {
					info = axisinfo.Analyze(r.Module)
				}
				early := earlyLoads(unit, async, info, loop, r.Int("num-stages"), r.Bool("tables"))
				isEarly := make(map[*ir.Operation]bool)
				for _, e := range early {
					e.Load.SetAttr(tt.LatencyAttr, c.I32Attr(int64(e.Ahead)))
					isEarly[e.Load] = e.Ahead > 0
				}
				r.Count("loads", len(early))
				if async != nil {
					async.SetLatencies(loop, isEarly)
				}
			}
			return nil
		},
	}
}

// hasLatencies reports whether an operation of loop's body has a latency: the user chose
// them.
func hasLatencies(loop *ir.Operation) bool {
	for op := range loop.Body().Ops() {
		if op.HasAttr(tt.LatencyAttr) {
			return true
		}
	}
	return false
}

// EarlyLoad is a load that starts iterations ahead of its use.
type EarlyLoad struct {
	Load  *ir.Operation
	Ahead int // iterations
}

// EarlyLoads lists the loads of loop that AssignLatencies starts early if numStages
// is what its option says, and tables are left alone. In a module without layouts,
// pointers are taken to be copied in pieces as wide as their alignment allows.
func EarlyLoads(unit dots.MatrixUnit, info *axisinfo.Result, loop *ir.Operation, numStages int) []EarlyLoad {
	return earlyLoads(unit, nil, info, loop, numStages, false)
}

func earlyLoads(unit dots.MatrixUnit, async AsyncDots, info *axisinfo.Result, loop *ir.Operation, numStages int, tables bool) []EarlyLoad {
	if !mayStartEarly(loop, numStages) {
		return nil
	}
	stages, wanted := stagesOf(loop, numStages)
	f := &loadFinder{unit: unit, async: async, tables: tables, info: info, loop: loop, level: make(map[*ir.Operation]int), excluded: make(map[*ir.Operation]bool)}
	f.find(loop, wanted)
	deepest := 0
	for _, load := range f.loads {
		if level, ok := f.level[load]; ok && level < stages-1 {
			deepest = max(deepest, level)
		}
	}
	var early []EarlyLoad
	for _, load := range f.loads {
		if level, ok := f.level[load]; ok && level < stages-1 {
			early = append(early, EarlyLoad{load, (stages - 1) / (deepest + 1)})
		}
	}
	return early
}

// stagesOf is how many stages loop has, of its own or by the option, and whether
// they are its own.
func stagesOf(loop *ir.Operation, numStages int) (stages int, own bool) {
	if n, ok := loop.IntAttr(tt.NumStagesAttr); ok {
		return int(n), true
	}
	return numStages, false
}

// mayStartEarly reports whether loads of loop may start iterations ahead.
func mayStartEarly(loop *ir.Operation, numStages int) bool {
	stages, _ := stagesOf(loop, numStages)
	return stages > 1 && !carriesFar(loop) && forloop.IsInnermost(loop)
}

// loadFinder finds loads that something is computed from, and through how many
// further loads.
type loadFinder struct {
	unit     dots.MatrixUnit
	async    AsyncDots // or nil
	tables   bool      // whether loads of numbers count that addresses are computed from
	info     *axisinfo.Result
	loop     *ir.Operation
	takes    func(load *ir.Operation) bool   // or nil: those that copiesWell takes
	loads    []*ir.Operation                 // in the order of discovery
	uses     map[*ir.Operation]*ir.Operation // what loads are for first; nil if nobody asks
	level    map[*ir.Operation]int
	excluded map[*ir.Operation]bool // needed at different levels
	seen     map[*ir.Operation]bool
	written  map[*ir.Value]bool // what the loop's stores and atomics point into
}

func (f *loadFinder) find(loop *ir.Operation, ofAll bool) {
	f.written = make(map[*ir.Value]bool)
	ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		switch op.Def() {
		case tt.Store, tt.AtomicRMW, tt.AtomicCAS, tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorScatter:
			f.written[basePointer(tt.Address(op))] = true
		}
		return ir.Advance
	})
	f.seen = make(map[*ir.Operation]bool)
	for op := range loop.Body().Ops() {
		if _, ok := accumulator(f.unit, op); ok || f.async != nil && f.async.Fills(op) {
			f.seen = make(map[*ir.Operation]bool)
			f.from(op, op, 0)
		}
	}
	if !ofAll {
		return
	}
	// From the end of the iteration, so that a load is found by what it is for before
	// it is found as what another load's address comes from.
	for op := loop.Body().Last().Prev(); op != nil; op = op.Prev() {
		if !isLoad(op) {
			f.from(op, op, 0)
		}
	}
}

// isLoad reports whether op loads a block from global memory, through pointers or
// through a descriptor.
func isLoad(op *ir.Operation) bool { return op.Is(tt.Load) || loadsThroughDescriptor(op) }

// loadsThroughDescriptor reports whether op loads a block, or rows, through a descriptor.
func loadsThroughDescriptor(op *ir.Operation) bool {
	return op.Is(tt.DescriptorLoad) || op.Is(tt.DescriptorGather)
}

// keepsDescriptor reports whether what op loads through, if it is a descriptor, is one of
// those made outside of the loop, through which the loop does not write, or made by each
// iteration, which can have a place of its own for it.
func (f *loadFinder) keepsDescriptor(op *ir.Operation) bool {
	through := tt.Address(op)
	if !tt.DescLike.Test(through.Type()) || !forloop.DefinedInside(through, f.loop) {
		return true
	}
	if through.DefIs(tt.MakeTensorDesc) {
		return through.Block() == f.loop.Body()
	}
	seen := make(map[*ir.Value]bool)
	var outside func(v *ir.Value) bool
	outside = func(v *ir.Value) bool {
		if seen[v] {
			return true
		}
		seen[v] = true
		switch next := forloop.Next(f.loop, v); {
		case !forloop.DefinedInside(v, f.loop):
			return !f.written[basePointer(v)]
		case next != nil:
			return outside(next) && outside(scf.AsFor(f.loop).InitArgsAt(scf.CarriedIndex(v)))
		case v.DefIs(arith.Select):
			choice := arith.AsSelect(v.Def())
			return outside(choice.TrueValue()) && outside(choice.FalseValue())
		}
		op := v.Def() // an invariant that is in the loop still
		return op != nil && ir.IsPure(op) && !op.Is(tt.MakeTensorDesc) && op.NumRegions() == 0 && !slices.ContainsFunc(op.OperandValues(), func(o *ir.Value) bool {
			return forloop.DefinedInside(o, f.loop) || f.written[basePointer(o)]
		})
	}
	return outside(through)
}

// accumulator is what op adds its product to; false if op is not a dot.
func accumulator(unit dots.MatrixUnit, op *ir.Operation) (*ir.Value, bool) {
	switch {
	case op.Is(tt.Dot):
		return tt.AsDot(op).C(), true
	case op.Is(tt.DotScaled):
		return tt.AsDotScaled(op).C(), true
	}
	made, ok := unit.Made(op)
	return made.Acc, ok
}

// from finds the loads that op is computed from, itself among them, on the way to use.
func (f *loadFinder) from(op, use *ir.Operation, level int) {
	if f.seen[op] || f.excluded[op] {
		return
	}
	f.seen[op] = true
	if isLoad(op) {
		if op.Is(tt.Load) && !f.copiesWell(op, level) || f.written[basePointer(tt.Address(op))] || !f.keepsDescriptor(op) {
			return
		}
		have, ok := f.level[op]
		if ok && have != level {
			delete(f.level, op)
			f.excluded[op] = true
			return
		}
		if !ok {
			f.loads = append(f.loads, op)
			if f.uses != nil {
				f.uses[op] = use
			}
		}
		f.level[op] = level
		use = op
		level++
	}
	acc, _ := accumulator(f.unit, op)
	for _, v := range nestedOperands(op) {
		if v == acc {
			continue // the sum is carried from iteration to iteration
		}
		if d := v.Def(); d != nil && d.Block() == op.Block() {
			f.from(d, use, level)
		}
	}
}

// basePointer is the pointer that the pointers v were computed from: an argument
// of the function in most cases. Different ones are taken to point to different
// memory, as everywhere in Triton.
func basePointer(v *ir.Value) *ir.Value {
	for {
		op := v.Def()
		if op == nil {
			loop, i := v.Block().Parent(), scf.CarriedIndex(v)
			if loop == nil || !loop.Is(scf.For) || i < 0 {
				return v
			}
			v = scf.AsFor(loop).InitArgsAt(i)
			continue
		}
		switch from := tt.PointsInto(op); {
		case from != nil:
			v = from
		case op.Is(ttg.ConvertLayout):
			v = ttg.AsConvertLayout(op).Src()
		case op.Is(scf.For):
			v = scf.AsFor(op).InitArgsAt(v.Index())
		default:
			return v
		}
	}
}

// copiesWell reports whether a load can become a copy to shared memory, in wide
// enough pieces, from which all of its users can read.
func copiesWell(unit dots.MatrixUnit, info *axisinfo.Result, load *ir.Operation) bool {
	t := tensors.Type(load.OneResult())
	if t == nil || tensors.Type(tt.AsLoad(load).Ptr()) == nil {
		return false
	}
	if t.Encoding == nil {
		return alignedElems(info, load)*axisinfo.ElemBytes(t) >= smallestCopy
	}
	if accessBytes(info, load) < smallestCopy {
		return false
	}
	if _, ok := sharedForDots(unit, load.OneResult()); !ok {
		return false
	}
	allocs, same := allocsOf(load)
	return same && (allocs == nil || copyBytes(t, allocs.Encoding) >= smallestCopy)
}

// copiesWell reports whether a load can become a copy, of the kinds that f looks for at
// level.
func (f *loadFinder) copiesWell(load *ir.Operation, level int) bool {
	if f.takes != nil {
		return f.takes(load)
	}
	if tensors.Type(load.OneResult()) == nil {
		return (level == 0 || f.tables) && isWideScalar(load)
	}
	return copiesWell(f.unit, f.info, load)
}

// isWideScalar reports whether load loads one number, as large as a copy at least.
func isWideScalar(load *ir.Operation) bool {
	switch t := load.OneResult().Type().(type) {
	case *ir.IntegerType, *ir.FloatType:
		return axisinfo.ElemBytes(t) >= smallestCopy
	}
	return false
}

// accessElems is the number of neighbouring elements that a thread loads at
// once.
func accessElems(info *axisinfo.Result, load *ir.Operation) int64 {
	n := info.Vector(tt.AsLoad(load).Ptr())
	if mask := tt.AsLoad(load).Mask(); mask != nil {
		n = min(n, info.MaskRun(mask))
	}
	return n
}

// alignedElems is the most elements that accessElems can be once load has a layout.
func alignedElems(info *axisinfo.Result, op *ir.Operation) int64 {
	load := tt.AsLoad(op)
	most := int64(1)
	for d := range tensors.Type(load.Ptr()).Shape {
		n := info.Aligned(load.Ptr(), d)
		if mask := load.Mask(); mask != nil {
			n = min(n, info.Of(mask).Axes[d].Constancy)
		}
		most = max(most, n)
	}
	return most
}

func accessBytes(info *axisinfo.Result, load *ir.Operation) int64 {
	return accessElems(info, load) * axisinfo.ElemBytes(load.OneResult().Type())
}

// allocsOf is the type of the buffers that are filled from load, nil when there
// are none; false when they differ in layout.
func allocsOf(load *ir.Operation) (*ttg.MemDescType, bool) {
	var t *ttg.MemDescType
	for u := range load.OneResult().Users() {
		if !u.Is(ttg.LocalAlloc) {
			continue
		}
		a := u.OneResult().Type().(*ttg.MemDescType)
		if t != nil && t.Encoding != a.Encoding {
			return nil, false
		}
		t = a
	}
	return t, true
}

// copyBytes is the number of bytes that lie side by side, and start at a multiple
// of it, both in a thread's registers of a tensor of type t and in a buffer with
// the encoding enc; 0 where that has no such buffers.
func copyBytes(t *ir.TensorType, enc ir.Attribute) int64 {
	shared, err := enc.(*encoding.Attr).Layout.Linear(t.Shape)
	if err != nil {
		return 0
	}
	to, ok := shared.InvertAndCompose(tensors.Linear(t))
	if !ok {
		return 0
	}
	consecutive := 0
	var others uint64 // offsets that the other bits of a place reach
	for _, in := range to.Ins() {
		for i, c := range to.Columns(in.Dim) {
			if in.Dim == layout.Register && i == consecutive && c == 1<<i {
				consecutive++
			} else {
				others |= c
			}
		}
	}
	if others != 0 {
		consecutive = min(consecutive, bits.TrailingZeros64(others))
	}
	return axisinfo.ElemBytes(t) << consecutive
}

// sharedForDots is the layout of a buffer for v if nothing but operands of dots
// is read from it, nil if there are other uses. It is false when the dots want
// different layouts.
func sharedForDots(unit dots.MatrixUnit, v *ir.Value) (*encoding.Attr, bool) {
	var enc *encoding.Attr
	for u := range v.Users() {
		if u.NumResults() != 1 {
			return nil, true
		}
		var want *encoding.Attr
		if m, ok := u.OneResult().Type().(*ttg.MemDescType); ok {
			want, _ = m.Encoding.(*encoding.Attr)
			if inner, ok := sharedForDots(unit, u.OneResult()); inner == nil || !ok {
				return nil, ok
			}
		} else {
			if !u.Is(ttg.ConvertLayout) && !u.Is(ttg.LocalLoad) {
				return nil, true
			}
			dot, transposed := dotBehind(u)
			if dot == nil {
				return nil, true
			}
			want = dotBuffer(unit, v, dot, transposed)
		}
		if enc != nil && want != enc {
			return nil, false
		}
		enc = want
	}
	return enc, true
}

// dotBehind is the layout of an operand of a dot that op gives, or that its
// result is used as after a transposition and in no other way; nil when there is
// none.
func dotBehind(op *ir.Operation) (dot *layout.DotOp, isTransposed bool) {
	if dot, ok := encoding.Get(op.OneResult().Type()).(*layout.DotOp); ok {
		return dot, false
	}
	var enc *encoding.Attr
	for u := range op.OneResult().Users() {
		if !u.Is(tt.Trans) || len(tensors.Permutation(u)) != 2 || enc != nil && enc != encoding.AttrOf(u.OneResult().Type()) {
			return nil, false
		}
		enc = encoding.AttrOf(u.OneResult().Type())
	}
	if enc != nil {
		dot, _ = enc.Layout.(*layout.DotOp)
	}
	return dot, true
}

// dotBuffer is the layout of a buffer that holds v, a tensor or a buffer itself,
// for the operand dot, which is v transposed if isTransposed.
func dotBuffer(unit dots.MatrixUnit, v *ir.Value, dot *layout.DotOp, isTransposed bool) *encoding.Attr {
	buffer := dots.Buffer{Transposed: isTransposed}
	switch t := v.Type().(type) {
	case *ir.TensorType:
		buffer.Shape, buffer.Order, buffer.Bits = t.Shape, sharedmem.Order(t), ir.BitWidth(t.Elem)
	case *ttg.MemDescType:
		buffer.Shape, buffer.Order, buffer.Bits = t.Shape, rowMajor(len(t.Shape)), ir.BitWidth(t.Elem)
		if s, ok := t.Encoding.(*encoding.Attr).Layout.(*layout.SwizzledShared); ok {
			buffer.Order = s.Order
		}
	default:
		panic("BUG: ttgir: operand of a dot that is neither a tensor nor a buffer")
	}
	e := unit.Buffer(dot, buffer)
	if t, ok := v.Type().(*ir.TensorType); ok {
		e = sharedmem.For(e, t)
	}
	return encoding.Of(dotContext(v), e)
}

// dotContext is the context of a value that has users.
func dotContext(v *ir.Value) *ir.Context {
	for u := range v.Users() {
		return u.Context()
	}
	panic("BUG: ttgir: a value without users")
}

// rowMajor is the order of dimensions with the last one fastest.
func rowMajor(rank int) []int {
	order := make([]int, rank)
	for i := range order {
		order[i] = rank - 1 - i
	}
	return order
}
