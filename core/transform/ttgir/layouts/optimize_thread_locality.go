package layouts

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// OptimizeThreadLocality chooses layouts in which threads need less of one
// another:
//
//   - the result of a reshape that may reorder, when it is reduced, has all
//     elements along the reduced dimension in one thread;
//   - a gather has all elements along its axis in one warp;
//   - a reduction of what a loop loads, accumulated in the loop, reduces within
//     each thread only; what the threads have is combined once, after the loop.
var OptimizeThreadLocality = &pass.Pass{
	Name:    "tritongpu-optimize-thread-locality",
	Doc:     "choose layouts for reductions and gathers that exchange less between threads",
	Example: optimizeThreadLocalityExample,
	Before:  []*pass.Fact{facts.Machine, facts.Layouts, facts.NoMatrixLayouts},
	Run: func(r *pass.Run) error {
		m := machine.Of(r.Module)
		b := ir.NewBuilder(r.Module.Context())
		var found []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Reshape) || op.Is(tt.Gather) || op.Is(tt.Reduce) {
				found = append(found, op)
			}
			return ir.Advance
		})
		for _, op := range found {
			switch op.Def() {
			case tt.Reshape:
				if localReshape(b, m.At(op), op) {
					r.Count("reshapes", 1)
				}
			case tt.Gather:
				if localGather(b, m.At(op), op) {
					r.Count("gathers", 1)
				}
			case tt.Reduce:
				if localReduce(b, op) {
					r.Count("reductions", 1)
				}
			}
		}
		return nil
	},
}

// relaid gives op's result the encoding enc, which was chosen for it, and its users
// a conversion back.
func relaid(b *ir.Builder, op *ir.Operation, enc ir.Attribute) {
	r := op.OneResult()
	old := tensors.Type(r)
	r.SetType(tensors.WithEncoding(b.Context(), old, enc))
	b.After(op)
	back := ttg.NewConvertLayout(b, r, old.Encoding)
	r.ReplaceUsesIf(back, func(u *ir.Use) bool { return u.Owner() != back.Def() })
}

// localReshape: a reordering reshape whose result is reduced along one
// dimension spreads its threads over the others first.
func localReshape(b *ir.Builder, m machine.Machine, op *ir.Operation) bool {
	v := tt.AsReshape(op)
	if !v.AllowReorder() {
		return false
	}
	axis := -1
	for u := range v.Result().Users() {
		if !u.Is(tt.Reduce) {
			continue
		}
		if axis >= 0 && axis != axisOf(u) {
			return false
		}
		axis = axisOf(u)
	}
	t := tensors.Type(v.Result())
	e, ok := encoding.Get(t).(*layout.Blocked)
	if axis < 0 || !ok || e.ThreadsPerWarp[axis] == 1 && e.WarpsPerCTA[axis] == 1 && layout.CTAs(e) == 1 {
		return false
	}
	var order []int
	for _, d := range e.Order {
		if d != axis {
			order = append(order, d)
		}
	}
	order = append(order, axis)
	size := slices.Repeat([]int{1}, len(order))
	enc := encoding.Of(b.Context(), layout.BlockedFor(t.Shape, size, order, m.Warps, m.Lanes, m.CTAs))
	if enc == t.Encoding || !keepsHolders(op, enc) {
		return false
	}
	v.SetEfficientLayout(true)
	relaid(b, op, enc)
	return true
}

// localGather: as many lanes as fit are along the axis, and one warp, so that
// a warp holds all that it gathers from. Lanes and warps that are left over
// hold replicas.
func localGather(b *ir.Builder, m machine.Machine, op *ir.Operation) bool {
	v := tt.AsGather(op)
	if v.EfficientLayout() {
		return false
	}
	src, idx := tensors.Type(v.Src()), tensors.Type(v.Indices())
	e, err := encoding.Get(src).Linear(src.Shape)
	if err != nil || m.CTAs > 1 {
		return false
	}
	axis, rank := axisOf(op), len(src.Shape)
	if rank == 1 {
		return false // every warp would hold the whole source
	}
	one := func() []int { return slices.Repeat([]int{1}, rank) }
	g := &layout.Blocked{SizePerThread: one(), ThreadsPerWarp: one(), WarpsPerCTA: one(), Order: []int{axis}}
	// Replicas of the source are pointless; the indices may have fewer columns.
	lanes := min(m.Lanes, int(src.Shape[axis]))
	g.ThreadsPerWarp[axis] = lanes
	g.SizePerThread[axis] = int(src.Shape[axis]) / lanes
	left := m.Lanes / lanes
	for _, d := range e.LaneOrder() {
		if d != axis {
			n := min(left, int(src.Shape[d]))
			g.ThreadsPerWarp[d] = n
			left /= n
		}
	}
	g.ThreadsPerWarp[axis] *= left
	left = m.Warps
	for _, d := range e.WarpOrder() {
		if d != axis {
			n := min(left, int(src.Shape[d])/g.ThreadsPerWarp[d])
			g.WarpsPerCTA[d] = n
			left /= n
		}
	}
	g.WarpsPerCTA[axis] = left
	for _, d := range e.LaneOrder() {
		if d != axis {
			g.Order = append(g.Order, d)
		}
	}
	enc := encoding.Of(b.Context(), g)
	b.At(op)
	v.SetSrc(ttg.NewConvertLayout(b, v.Src(), enc))
	v.SetIndices(b.Op(ttg.ConvertLayout, []*ir.Value{v.Indices()}, tensors.WithEncoding(b.Context(), idx, enc)).OneResult())
	v.SetEfficientLayout(true)
	relaid(b, op, enc)
	return true
}

// An accumulation is  acc = combine(acc, reduce(load))  in a loop.
type accumulation struct {
	reduce *ir.Operation
	update *ir.Operation // the combine
	loop   *ir.Operation
	index  int // of acc among the carried values
	each   int // elements along the axis in each thread
}

// neutral is the number that leaves others alone under a combination of floats;
// ok is false for other operations.
func neutral(def *ir.OpDef) (v float64, ok bool) {
	switch def {
	case arith.AddF:
		return 0, true
	case arith.MulF:
		return 1, true
	case arith.MaximumF, arith.MaxNumF:
		return math.Inf(-1), true
	case arith.MinimumF, arith.MinNumF:
		return math.Inf(1), true
	}
	return 0, false
}

// accumulated recognises a reduction along the last dimension of a loaded
// tensor, several of whose elements a thread holds, that a loop accumulates
// with the reduction's own operation, starting from a constant.
func accumulated(op *ir.Operation) (a accumulation, ok bool) {
	if op.NumOperands() != 1 {
		return a, false
	}
	src, result := tt.AsReduce(op).SrcsAt(0), op.OneResult()
	if tensors.Type(result) == nil || !src.DefIs(tt.Load) {
		return a, false
	}
	t := tensors.Type(src)
	rank := len(t.Shape)
	e, blocked := encoding.Get(t).(*layout.Blocked)
	combine := op.Body().First()
	if !blocked || layout.CTAs(e) > 1 || axisOf(op) != rank-1 || combine.Next() != op.Body().Terminator() {
		return a, false
	}
	if _, ok := neutral(combine.Def()); !ok || !result.HasOneUse() {
		return a, false
	}
	l, err := e.Linear(t.Shape)
	if err != nil {
		return a, false
	}
	a = accumulation{reduce: op, each: l.Along(layout.Register, layout.TensorDim(rank-1))}
	for u := range result.Users() {
		a.update = u
	}
	if a.each == 1 || !a.update.Is(combine.Def()) || !a.update.OneResult().HasOneUse() {
		return a, false
	}
	for u := range a.update.OneResult().Uses() {
		if !u.Owner().Is(scf.Yield) || !u.Owner().Parent().Is(scf.For) || u.Owner().Block() != op.Block() {
			return a, false
		}
		a.loop, a.index = u.Owner().Parent(), u.Index()
	}
	acc := scf.IterArgs(a.loop)[a.index]
	if v := arith.AsBinary(a.update); !acc.HasOneUse() || v.Lhs() != acc && v.Rhs() != acc {
		return a, false
	}
	return a, arith.ConstantValue(scf.Inits(a.loop)[a.index]) != nil
}

// localReduce accumulates what each thread holds for itself. The dimension that
// is reduced becomes two: the threads' and, last, each thread's own elements.
func localReduce(b *ir.Builder, op *ir.Operation) bool {
	a, ok := accumulated(op)
	if !ok {
		return false
	}
	c := b.Context()
	src := tt.AsReduce(op).SrcsAt(0)
	t := tensors.Type(src)
	rank := len(t.Shape)
	e := encoding.Get(t).(*layout.Blocked)
	parted := append(slices.Clone(t.Shape), int64(a.each))
	parted[rank-1] /= int64(a.each)
	own := &layout.Blocked{
		SizePerThread:  append(slices.Clone(e.SizePerThread), a.each),
		ThreadsPerWarp: append(slices.Clone(e.ThreadsPerWarp), 1),
		WarpsPerCTA:    append(slices.Clone(e.WarpsPerCTA), 1),
		Order:          append([]int{rank}, e.Order...),
	}
	own.SizePerThread[rank-1] = 1
	enc := encoding.Of(c, own)
	view := c.Tensor(parted, t.Elem, enc)
	if !renamesColumns(e, t.Shape, own, parted) {
		return false
	}
	accType := c.Tensor(parted[:rank], t.Elem, encoding.Slice(c, enc, rank))

	b.Loc = op.Loc()
	b.SetAfter(scf.Inits(a.loop)[a.index].Def())
	start, _ := neutral(a.update.Def())
	init := arith.Float(b, accType, start)
	loop, accs := forloop.AddCarried(b, a.loop, init)

	b.SetBefore(op)
	parts := b.Create(tt.Reshape, ir.State{
		Operands: []*ir.Value{src}, Types: []ir.Type{view},
		Attrs: []ir.NamedAttr{{Name: "allow_reorder", Attr: c.Unit()}, {Name: "efficient_layout", Attr: c.Unit()}},
	}).OneResult()
	mine := reduceAgain(b, op, parts, rank)
	next := b.Op(a.update.Def(), []*ir.Value{accs[0], mine}).OneResult()
	loop.Body().Terminator().AppendOperand(next)

	result := loop.Result(a.index)
	b.SetAfter(loop)
	all := reduceAgain(b, op, loop.Result(loop.NumResults()-1), rank-1)
	total := ttg.NewConvertLayout(b, all, tensors.Encoding(result))
	whole := b.Op(a.update.Def(), []*ir.Value{scf.Inits(loop)[a.index], total}).OneResult()
	result.ReplaceUsesIf(whole, func(u *ir.Use) bool { return u.Owner() != whole.Def() })
	// The old accumulation is dead now: it leads to nothing but itself.
	loop.Body().Terminator().SetOperand(a.index, scf.IterArgs(loop)[a.index])
	return true
}

// renamesColumns reports whether a tensor of shape from under e becomes one of
// shape to under f, whose last two dimensions are from's last, when every value
// stays in its register: each register then holds what it held in all other
// dimensions, and replicas remain replicas.
func renamesColumns(e layout.Encoding, from []int64, f layout.Encoding, to []int64) bool {
	a, err := e.Linear(from)
	b, err2 := f.Linear(to)
	if err != nil || err2 != nil {
		return false
	}
	inputs := []layout.Dim{layout.Register, layout.Lane, layout.Warp}
	rows := make([]layout.Dim, len(from)-1)
	for i := range rows {
		rows[i] = layout.TensorDim(i)
	}
	for _, d := range inputs {
		if a.ZeroMask(d) != b.ZeroMask(d) {
			return false
		}
	}
	return a.Sub(inputs, rows).Equal(b.Sub(inputs, rows))
}

// reduceAgain is op's reduction of src along axis.
func reduceAgain(b *ir.Builder, op *ir.Operation, src *ir.Value, axis int) *ir.Value {
	n := op.Clone(ir.NewMapping())
	v := tt.AsReduce(n)
	v.SetSrcsAt(0, src)
	v.SetAxis(int64(axis))
	n.OneResult().SetType(tt.ReducedType(b.Context(), tensors.Type(src), axis))
	b.Insert(n)
	return n.OneResult()
}
