package layouts

import (
	"errors"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Convert takes a module of the tt dialect to the ttg dialect: it writes the
// machine onto the module and gives every tensor the default layout of its
// shape. Where an operation's semantics ties the layouts of its operands and
// results together (a reduction's result is a slice), conversions lead from
// and to the default.
//
//	%1 = tt.expand_dims %0 {axis = 1} : tensor<32xi32> -> tensor<32x1xi32>
//
// becomes
//
//	%s = ttg.convert_layout %0 : tensor<32xi32, #blocked> -> tensor<32xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>
//	%e = tt.expand_dims %s {axis = 1} : … -> tensor<32x1xi32, #blocked1>
//	%1 = ttg.convert_layout %e : tensor<32x1xi32, #blocked1> -> tensor<32x1xi32, #blocked2>
var Convert = &pass.Pass{
	Name:    "convert-triton-to-tritongpu",
	Doc:     "give every tensor a default layout, and the module its number of warps",
	Example: convertExample,
	Options: []pass.Option{
		{Name: "target", Doc: "the target, as written on the module", Default: ""},
		{Name: "num-warps", Doc: "warps of a CTA", Default: 4},
		{Name: "threads-per-warp", Doc: "lanes of a warp", Default: 0},
		{Name: "num-ctas", Doc: "CTAs of a cluster", Default: 1},
		{Name: "enable-source-remat", Doc: "as in Triton; values are always converted where their layouts differ", Default: false},
	},
	Before: []*pass.Fact{facts.NoLayouts, facts.Dimensions, facts.NoTensorPointers},
	After:  []*pass.Fact{facts.Machine, facts.Layouts, facts.NoMatrixLayouts},
	Breaks: []*pass.Fact{facts.NoLayouts},
	Run: func(r *pass.Run) error {
		m := machine.Machine{Warps: r.Int("num-warps"), Lanes: r.Int("threads-per-warp"), CTAs: r.Int("num-ctas")}
		for _, n := range []int{m.Warps, m.Lanes, m.CTAs} {
			if n < 1 || n&(n-1) != 0 {
				return errors.New("pass convert-triton-to-tritongpu: num-warps, threads-per-warp and num-ctas must be given, as powers of two")
			}
		}
		c := r.Module.Context()
		r.Module.SetAttr(ttg.NumCTAsAttr, c.I32Attr(int64(m.CTAs)))
		r.Module.SetAttr(ttg.NumWarpsAttr, c.I32Attr(int64(m.Warps)))
		r.Module.SetAttr(ttg.ThreadsPerWarpAttr, c.I32Attr(int64(m.Lanes)))
		if t := r.Text("target"); t != "" {
			r.Module.SetAttr(ttg.TargetAttr, c.StringAttr(t))
		}
		conv := &converter{ctx: c, Machine: m, b: ir.NewBuilder(c), defaults: make(map[ir.ShapeKey]*encoding.Attr)}
		conv.region(builtin.AsModule(r.Module).BodyRegion())
		return nil
	},
}

// converter walks the operations in order and keeps one invariant: every tensor
// that an operation not yet visited can use has the default layout.
type converter struct {
	machine.Machine
	ctx      *ir.Context
	b        *ir.Builder
	defaults map[ir.ShapeKey]*encoding.Attr
}

// blocked is the default layout of a shape.
func (c *converter) blocked(shape []int64) *encoding.Attr {
	key := ir.KeyOf(shape)
	a := c.defaults[key]
	if a == nil {
		a = encoding.Of(c.ctx, layout.DefaultBlocked(shape, c.Warps, c.Lanes, c.CTAs))
		c.defaults[key] = a
	}
	return a
}

// typ is t with the default layout, if it is a tensor without any.
func (c *converter) typ(t ir.Type) ir.Type {
	tt, ok := t.(*ir.TensorType)
	if !ok || tt.Encoding != nil {
		return t
	}
	return tensors.WithEncoding(c.ctx, tt, c.blocked(tt.Shape))
}

func (c *converter) region(r *ir.Region) {
	for b := range r.Blocks() {
		for _, arg := range b.Args() {
			arg.SetType(c.typ(arg.Type()))
		}
	}
	for b := range r.Blocks() {
		for op := range b.Ops() {
			c.operation(op)
		}
	}
}

func (c *converter) operation(op *ir.Operation) {
	for _, r := range op.Regions() {
		c.region(r)
	}
	c.b.At(op)
	switch op.Def() {
	case tt.Func:
		c.function(op)
	case arith.Constant:
		c.constant(op)
	case tt.ExpandDims:
		c.expandDims(op)
	case tt.Broadcast:
		spread := tt.AsBroadcast(op)
		c.result(op, tensors.WithEncoding(c.ctx, tensors.Type(spread.Result()), tensors.Encoding(spread.Src())))
	case tt.Reduce, tt.Trans, tt.Join:
		c.inferred(op, tensors.Encoding(firstTensor(op)))
	case tt.Split:
		c.split(op)
	case tt.Cat:
		c.cat(op)
	case tt.Dot:
		c.dot(op)
	case tt.DescriptorGather:
		c.offsets(tt.AsDescriptorGather(op).XOffsetsUse())
		c.result(op, tensors.WithEncoding(c.ctx, tensors.Type(op.OneResult()), c.blocked(tensors.Type(op.OneResult()).Shape)))
	case tt.DescriptorScatter:
		c.offsets(tt.AsDescriptorScatter(op).XOffsetsUse())
	default:
		for _, r := range op.Results() {
			r.SetType(c.typ(r.Type()))
		}
	}
}

// rowsAtOnce is how many rows one copy of a gather or scatter takes.
const rowsAtOnce = 4

// offsets gives the numbers of the rows that a gather or scatter copies the layout in
// which every thread of a warp has those of a whole copy.
func (c *converter) offsets(u *ir.Use) {
	if c.CTAs > 1 {
		return // each block of a cluster would need its own part
	}
	rows := &layout.Blocked{SizePerThread: []int{1, rowsAtOnce}, ThreadsPerWarp: []int{c.Lanes, 1}, WarpsPerCTA: []int{1, c.Warps}, Order: []int{1, 0}}
	c.operand(u, encoding.Slice(c.ctx, encoding.Of(c.ctx, rows), 0))
}

// function brings the function's type in line with its arguments, and with the
// default layouts that its results have.
func (c *converter) function(op *ir.Operation) {
	t := tt.Signature(op)
	in, out := slices.Clone(t.In), slices.Clone(t.Out)
	for i := range in {
		in[i] = c.typ(in[i])
	}
	for i := range out {
		out[i] = c.typ(out[i])
	}
	tt.AsFunc(op).SetFunctionType(c.ctx.Func(in, out))
}

func (c *converter) constant(op *ir.Operation) {
	k := arith.AsConstant(op)
	t := c.typ(k.Result().Type())
	k.SetValue(retyped(c.ctx, k.Value(), t))
	k.Result().SetType(t)
}

// retyped is a constant of the same elements with another type, or the same scalar.
func retyped(c *ir.Context, v ir.Attribute, t ir.Type) ir.Attribute {
	switch v := v.(type) {
	case *ir.DenseElementsAttr:
		if v.IsSplat() {
			return c.DenseSplat(t, v.Values[0])
		}
		return c.DenseElements(t, v.Values)
	case *ir.DenseResourceAttr:
		return c.DenseResource(v.Name, t)
	}
	return v
}

// result gives op's one result the type t and its users the default layout.
func (c *converter) result(op *ir.Operation, t *ir.TensorType) { c.resultAt(op, op.OneResult(), t) }

func (c *converter) resultAt(op *ir.Operation, r *ir.Value, t *ir.TensorType) {
	r.SetType(t)
	want := c.blocked(t.Shape)
	if t.Encoding == want || !r.HasUses() {
		return
	}
	c.b.SetAfter(op)
	cvt := ttg.NewConvertLayout(c.b, r, want)
	r.ReplaceUsesIf(cvt, func(u *ir.Use) bool { return u.Owner() != cvt.Def() })
}

// inferred gives the results the layout that follows from the operands'.
func (c *converter) inferred(op *ir.Operation, operand ir.Attribute) {
	// From the last to the first, since each conversion is right after op.
	for _, r := range slices.Backward(op.Results()) {
		if t := tensors.Type(r); t != nil {
			enc := forward(op, operand)
			if enc == nil {
				panic("BUG: ttgir: no layout of the result of " + op.Name())
			}
			c.resultAt(op, r, tensors.WithEncoding(c.ctx, t, enc))
		}
	}
}

// operand converts an operand to enc, before the operation.
func (c *converter) operand(u *ir.Use, enc ir.Attribute) {
	c.b.SetBefore(u.Owner())
	u.Set(ttg.NewConvertLayout(c.b, u.Value(), enc))
}

// expandDims: the operand's layout with one thread along the new dimension.
func (c *converter) expandDims(op *ir.Operation) {
	wide := tt.AsExpandDims(op)
	src := encoding.Get(wide.Src().Type()).(*layout.Blocked)
	axis := int(wide.Axis())
	with1 := func(l []int) []int { return slices.Insert(slices.Clone(l), axis, 1) }
	order := make([]int, len(src.Order)+1)
	for i := range order {
		order[i] = i
	}
	e := &layout.Blocked{
		SizePerThread: with1(src.SizePerThread), ThreadsPerWarp: with1(src.ThreadsPerWarp), WarpsPerCTA: with1(src.WarpsPerCTA),
		Order: order,
	}
	for _, v := range src.CGA {
		e.CGA = append(e.CGA, slices.Insert(slices.Clone(v), axis, 0))
	}
	enc := encoding.Of(c.ctx, e)
	c.operand(wide.SrcUse(), encoding.Slice(c.ctx, enc, axis))
	c.result(op, tensors.WithEncoding(c.ctx, tensors.Type(wide.Result()), enc))
}

// split: the halves of each pair must be in one thread. The default layout of
// the result with two elements per thread along the last dimension is such.
func (c *converter) split(op *ir.Operation) {
	cut := tt.AsSplit(op)
	half := tensors.Type(cut.OutLHS()).Shape
	pairs, err := layout.Join(c.blocked(half).Layout, half)
	if err != nil {
		panic("BUG: ttgir: split: " + err.Error())
	}
	src := encoding.Get(cut.Src().Type()).(*layout.Blocked)
	last := len(half)
	if src.SizePerThread[last] != 2 || src.ThreadsPerWarp[last] != 1 || src.WarpsPerCTA[last] != 1 {
		c.operand(cut.SrcUse(), encoding.Of(c.ctx, pairs))
	}
	c.inferred(op, tensors.Encoding(cut.Src()))
}

// cat: a thread holds in the result what it holds of both operands, so the
// layout must have room for that, and its replicas where theirs are. One that has twice as
// much of the operands' layout in each thread always does; it is taken where the default
// does not, as where there are more CTAs than elements.
func (c *converter) cat(op *ir.Operation) {
	t := tensors.Type(tt.AsCat(op).Result())
	have := tensors.Registers(t.Shape, c.blocked(t.Shape))
	need := 1
	for n := tensors.Registers(operandShape(op), c.blocked(operandShape(op))) * 2; need < n; {
		need *= 2
	}
	e := *c.blocked(t.Shape).Layout.(*layout.Blocked)
	if need > have {
		e.SizePerThread = slices.Clone(e.SizePerThread)
		e.SizePerThread[e.Order[0]] *= need / have
	}
	enc := encoding.Of(c.ctx, &e)
	if !keepsHolders(op, enc) {
		part := operandShape(op)
		e = *c.blocked(part).Layout.(*layout.Blocked)
		e.SizePerThread = slices.Clone(e.SizePerThread)
		for d := range part {
			e.SizePerThread[d] *= int(t.Shape[d] / part[d])
		}
		enc = encoding.Of(c.ctx, &e)
	}
	c.result(op, tensors.WithEncoding(c.ctx, t, enc))
}

// dot: a square of results in each thread, and all of K of their rows and
// columns.
func (c *converter) dot(op *ir.Operation) {
	dot := tt.AsDot(op)
	t := tensors.Type(dot.Result())
	rank := len(t.Shape)
	size := make([]int, rank)
	order := make([]int, rank)
	for i := range size {
		size[i] = 1
		order[i] = rank - 1 - i
	}
	side := 1
	switch each := int(t.NumElements()) / c.Threads(); {
	case each >= 16:
		side = 4
	case each >= 4:
		side = 2
	}
	size[rank-1], size[rank-2] = side, side
	d := layout.BlockedFor(t.Shape, size, order, c.Warps, c.Lanes, c.CTAs)
	for i, u := range []*ir.Use{dot.AUse(), dot.BUse()} {
		if _, ok := encoding.Get(u.Value().Type()).(*layout.DotOp); !ok {
			c.operand(u, encoding.Of(c.ctx, &layout.DotOp{OpIdx: i, Parent: d}))
		}
	}
	enc := encoding.Of(c.ctx, d)
	c.operand(dot.CUse(), enc)
	c.result(op, tensors.WithEncoding(c.ctx, t, enc))
}
