package ttir

import (
	"fmt"
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/std"
)

// RewriteTensorDescriptor replaces tensor descriptors by pointers, for targets
// without the hardware that reads them. A descriptor is its base, shape,
// strides and what it pads with, all of them carried; as an argument or a result
// of a function it becomes those values, in that order.
var RewriteTensorDescriptor = NewRewriteTensorDescriptor(nil)

// Options of RewriteTensorDescriptor for hardware that copies blocks through
// descriptors, and the values of the first.
const (
	keepOption   = "keep-descriptors"
	stagesOption = "num-stages"
	warpsOption  = "num-warps"
	sharedOption = "shared-memory"

	keepNone = "none"
	keepDots = "dots"
	keepAll  = "all"
)

// RemarkSubject is the subject of the remarks about descriptors.
const RemarkSubject = "descriptor"

// ByPointers is the decision of a remark about a descriptor that is not kept.
const ByPointers = "pointers"

// NewRewriteTensorDescriptor is RewriteTensorDescriptor for a target that has such
// hardware. With the option keep-descriptors=all, a descriptor that a kernel takes or
// makes, once, for nothing but loads, stores and reductions of blocks, stays if the
// hardware takes it and the kernel has the shared memory, see keptDescriptors; with
// keep-descriptors=dots one that the kernel makes does where a loop with a dot copies
// through one. There is a remark on each. A nil unit stands for hardware that takes
// none.
func NewRewriteTensorDescriptor(unit CopyUnit) *pass.Pass {
	return &pass.Pass{
		Name:    "triton-rewrite-tensor-descriptor-to-pointer",
		Doc:     "replace tensor descriptors by pointers",
		Example: rewriteTensorDescriptorExample,
		Options: []pass.Option{
			{Name: keepOption, Doc: "which descriptors to keep, of those that the hardware supports: none, dots (arguments, and those that kernels make whose loops with dots use one) or all", Default: keepNone, After: map[any][]*pass.Fact{keepNone: {facts.NoDescriptors}}},
			{Name: stagesOption, Doc: "iterations of a loop in flight, unless the loop says", Default: 3},
			{Name: warpsOption, Doc: "warps of a program, for kept descriptors", Default: 4},
			{Name: sharedOption, Doc: "bytes of shared memory that a program may have, for kept descriptors; 0: any", Default: 0},
		},
		Before: []*pass.Fact{facts.NoLayouts, facts.BlockIndices},
		After:  []*pass.Fact{facts.KnownDescriptors},
		Run: func(r *pass.Run) error {
			kept := make(map[*ir.Value]bool)
			rows := make(map[*ir.Value]int64)
			switch keep := r.Text(keepOption); keep {
			case keepNone:
			case keepDots, keepAll:
				if unit == nil {
					break
				}
				for _, d := range keptDescriptors(r.Module, keeping{unit, keep == keepDots, r.Int(stagesOption), r.Int(warpsOption), int64(r.Int(sharedOption))}) {
					remark := pass.Remark{Subject: RemarkSubject, At: d.desc.Loc(), Decision: ByPointers, Why: d.why}
					if d.kept {
						kept[d.desc] = true
						remark.Decision, remark.Open = unit.Name(), true
						if d.rows > 0 {
							rows[d.desc] = d.rows
							remark.Why += "; by pointers where its rows are not a multiple of " + diag.Count(d.rows, "element")
						}
					}
					r.Remark(remark)
				}
				r.Count("kept", len(kept))
			default:
				return fmt.Errorf("option %s is %q, not %s, %s or %s", keepOption, keep, keepNone, keepDots, keepAll)
			}
			return rewriteDescriptors(r, kept, rows)
		},
	}
}

func rewriteDescriptors(r *pass.Run, kept map[*ir.Value]bool, rows map[*ir.Value]int64) error {
	d := &descriptors{expander: expander{
		of: make(map[*ir.Value]parts), b: ir.NewBuilder(r.Module.Context()),
		compound: tt.DescLike.Test, what: "a tensor descriptor",
		stays: func(op *ir.Operation) bool {
			if op.Is(tt.MakeTensorDesc) {
				return kept[op.OneResult()]
			}
			through := tt.Address(op)
			return through != nil && kept[through]
		},
	}, kept: kept, called: make(map[string]bool)}
	ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Call) {
			d.called[tt.AsCall(op).Callee()] = true
		}
		return ir.Advance
	})
	d.visit = d.access
	for op := range r.Module.Body().Ops() {
		if op.Is(tt.Func) {
			d.signature(op)
		}
		if err := d.function(op); err != nil {
			return err
		}
		if d.err != nil {
			return d.err
		}
	}
	n := d.finish()
	ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.MakeTensorDesc) && rows[op.OneResult()] > 0 {
			d.keepFromPartialRows(op.OneResult(), rows[op.OneResult()])
		}
		return ir.Advance
	})
	for op := range r.Module.Body().Ops() {
		if op.Is(tt.Func) && op.Body() != nil {
			d.dropArgs(op.Body())
		}
	}
	r.Count("rewritten", n)
	return nil
}

// descriptor is a tensor descriptor in parts: shape and strides are i64, one per
// dimension; nan is an i1.
type descriptor struct {
	base           *ir.Value
	shape, strides []*ir.Value
	nan            *ir.Value
	block          *ir.TensorType
}

func (d *descriptor) carried() []*ir.Value {
	return slices.Concat([]*ir.Value{d.base}, d.shape, d.strides, []*ir.Value{d.nan})
}

func (d *descriptor) with(vs []*ir.Value) parts {
	n := len(d.shape)
	return &descriptor{vs[0], vs[1 : 1+n], vs[1+n : 1+2*n], vs[1+2*n], d.block}
}

func (d *descriptor) fits(q parts) bool { return d.block == q.(*descriptor).block }

type descriptors struct {
	expander
	kept   map[*ir.Value]bool // for the copy unit
	called map[string]bool    // functions by name; no kernels
	err    error
}

// partTypes are the types of the values that a descriptor becomes.
func (d *descriptors) partTypes(desc *tt.TensorDescType) []ir.Type {
	c := d.b.Context()
	own := []ir.Type{tt.Ptr(c, signless(c, desc.Block.Elem))}
	for range 2 * len(desc.Block.Shape) {
		own = append(own, c.I64())
	}
	return append(own, c.I1())
}

// parted is a descriptor of those values.
func parted(desc *tt.TensorDescType, values []*ir.Value) parts {
	like := &descriptor{shape: make([]*ir.Value, len(desc.Block.Shape)), block: desc.Block}
	return like.with(values)
}

// flatTypes replaces each descriptor by the types of its values.
func (d *descriptors) flatTypes(types []ir.Type) []ir.Type {
	var flat []ir.Type
	for _, t := range types {
		if desc, ok := t.(*tt.TensorDescType); ok {
			flat = append(flat, d.partTypes(desc)...)
		} else {
			flat = append(flat, t)
		}
	}
	return flat
}

// signature expands the descriptors among a function's arguments and results, but for
// those that are kept.
func (d *descriptors) signature(f *ir.Operation) {
	sig := tt.Signature(f)
	if f.Body() == nil || !slices.ContainsFunc(slices.Concat(sig.In, sig.Out), tt.DescLike.Test) {
		return
	}
	c := d.b.Context()
	entry := f.Body()
	keepsOne := slices.ContainsFunc(entry.Args(), func(a *ir.Value) bool { return d.kept[a] })
	var attrs []ir.Attribute
	var types []ir.Type
	fn := tt.AsFunc(f)
	old, _ := fn.ArgAttrs().(*ir.ArrayAttr)
	at := 0
	for i, t := range sig.In {
		arg := entry.Arg(at)
		at++
		desc, ok := t.(*tt.TensorDescType)
		if !ok || d.kept[arg] {
			a := ir.Attribute(c.DictAttr())
			if old != nil {
				a = old.Elems[i]
			}
			attrs, types = append(attrs, a), append(types, t)
			continue
		}
		var values []*ir.Value
		for _, t := range d.partTypes(desc) {
			values = append(values, entry.InsertArg(at, t, arg.Loc()))
			at++
			types = append(types, t)
		}
		d.of[arg] = parted(desc, values)
		if isPublic(f) && !d.called[fn.SymName()] {
			attrs = append(attrs, d.fromHost(entry, desc, d.of[arg].(*descriptor), keepsOne)...)
		} else {
			attrs = append(attrs, slices.Repeat([]ir.Attribute{c.DictAttr()}, len(values))...)
		}
	}
	fn.SetFunctionType(c.Func(types, d.flatTypes(sig.Out)))
	if old != nil || slices.ContainsFunc(attrs, func(a ir.Attribute) bool { return a != ir.Attribute(c.DictAttr()) }) {
		fn.SetArgAttrs(c.ArrayAttr(attrs...))
	}
}

// hostAlignment is what the bases of the host's descriptors, and the strides of all
// dimensions but the last, are multiples of, in bytes. The last stride is 1.
const hostAlignment = 16

// DescriptorPartsAttr marks the first of a kernel's arguments that stand for a
// descriptor, where other descriptors are still arguments: a launch tells by it which
// descriptor is which. The value is the descriptor's rank.
const DescriptorPartsAttr = "tt.tensordesc_parts"

// fromHost notes what the host checks of a descriptor that it hands to a kernel in
// parts, and returns the attributes of these arguments.
func (d *descriptors) fromHost(entry *ir.Block, desc *tt.TensorDescType, p *descriptor, mark bool) []ir.Attribute {
	c := d.b.Context()
	rank := len(p.strides)
	multiple := func(n int64) []ir.NamedAttr {
		return []ir.NamedAttr{{Name: "tt.divisibility", Attr: c.I32Attr(n)}}
	}
	base := multiple(hostAlignment)
	if mark {
		base = append(base, ir.NamedAttr{Name: DescriptorPartsAttr, Attr: c.I32Attr(int64(rank))})
	}
	attrs := []ir.Attribute{c.DictAttr(base...)}
	for range rank {
		attrs = append(attrs, c.DictAttr())
	}
	size := max(int64(ir.BitWidth(desc.Block.Elem))/8, 1)
	for range rank - 1 {
		attrs = append(attrs, c.DictAttr(multiple(hostAlignment/size)...))
	}
	d.b.SetToStart(entry)
	d.b.Loc = entry.Arg(0).Loc()
	p.strides = slices.Clone(p.strides)
	p.strides[rank-1] = arith.Int(d.b, c.I64(), 1)
	return append(attrs, c.DictAttr(), c.DictAttr())
}

// call hands descriptors to a function and takes them from it, in parts; false:
// there are none.
func (d *descriptors) call(op *ir.Operation) bool {
	types := typesOf(op.Results())
	if !d.any(op.OperandValues()) && !slices.ContainsFunc(types, tt.DescLike.Test) {
		return false
	}
	n := d.b.Create(tt.Call, ir.State{Operands: d.flat(op.OperandValues()), Types: d.flatTypes(types), Attrs: op.Attrs()})
	k := 0
	for i, t := range types {
		desc, ok := t.(*tt.TensorDescType)
		if !ok {
			op.Result(i).ReplaceAllUsesWith(n.Result(k))
			k++
			continue
		}
		size := len(d.partTypes(desc))
		d.of[op.Result(i)] = parted(desc, n.Results()[k:k+size])
		k += size
	}
	return true
}

// signless is the type that memory of a descriptor's element type has in the IR.
func signless(c *ir.Context, t ir.Type) ir.Type {
	if i, ok := t.(*ir.IntegerType); ok {
		return c.Int(i.Width)
	}
	return t
}

func (d *descriptors) access(op *ir.Operation) bool {
	switch op.Def() {
	case tt.MakeTensorDesc:
		made := tt.AsMakeTensorDesc(op)
		block := made.Result().Type().(*tt.TensorDescType).Block
		nan := arith.NewConstant(d.b, d.b.Context().BoolAttr(made.Padding() == tt.PadNaN))
		d.of[made.Result()] = &descriptor{made.Base(), extend(d.b, made.Shape()), made.Strides(), nan, block}
	case tt.DescriptorLoad:
		load := tt.AsDescriptorLoad(op)
		desc := d.parts(load.Desc())
		op.ReplaceAllUsesWith(d.read(op, desc, d.indices(desc, load.Indices())))
	case tt.DescriptorGather:
		gather := tt.AsDescriptorGather(op)
		desc := d.parts(gather.Desc())
		op.ReplaceAllUsesWith(d.read(op, desc, d.rows(desc, gather.XOffsets(), gather.YOffset())))
	case tt.DescriptorStore:
		store := tt.AsDescriptorStore(op)
		desc := d.parts(store.Desc())
		d.write(op, desc, d.indices(desc, store.Indices()), store.Src())
	case tt.DescriptorScatter:
		scatter := tt.AsDescriptorScatter(op)
		desc := d.parts(scatter.Desc())
		d.write(op, desc, d.rows(desc, scatter.XOffsets(), scatter.YOffset()), scatter.Src())
	case tt.DescriptorReduce:
		reduce := tt.AsDescriptorReduce(op)
		desc := d.parts(reduce.Desc())
		d.reduce(reduce, desc, d.indices(desc, reduce.Indices()))
	case tt.Call:
		return d.call(op)
	case tt.Return:
		if !d.any(op.OperandValues()) {
			return false
		}
		d.b.Create(tt.Return, ir.State{Operands: d.flat(op.OperandValues())})
	default:
		return false
	}
	return true
}

func (d *descriptors) parts(desc *ir.Value) *descriptor { return d.of[desc].(*descriptor) }

// indices are the block's coordinates in the tensor, one tensor per dimension.
func (d *descriptors) indices(desc *descriptor, offsets []*ir.Value) []*ir.Value {
	wide := extend(d.b, offsets)
	out := make([]*ir.Value, len(wide))
	for k, o := range wide {
		out[k] = indexAlong(d.b, o, desc.block.Shape, k)
	}
	return out
}

// rows are the coordinates of whole rows chosen by x, from column y on.
func (d *descriptors) rows(desc *descriptor, x, y *ir.Value) []*ir.Value {
	c := d.b.Context()
	xt := x.Type().(*ir.TensorType)
	shape := []int64{xt.Shape[0], desc.block.Shape[1]}
	wide := arith.Cast(d.b, arith.ExtSI, x, c.Tensor(xt.Shape, c.I64(), nil))
	column := arith.Cast(d.b, arith.ExtSI, y, c.I64())
	return []*ir.Value{expandAround(d.b, wide, 2, 0), indexAlong(d.b, column, shape, 1)}
}

// pointers makes the tensor of pointers at the indices and the mask of those
// inside the tensor.
func (d *descriptors) pointers(desc *descriptor, indices []*ir.Value) (ptrs, mask *ir.Value) {
	c := d.b.Context()
	shape := make([]int64, len(indices))
	for k, v := range indices {
		shape[k] = ir.ShapeOf(v.Type())[k]
	}
	whole := c.Tensor(shape, c.I64(), nil)
	ptrs = tt.Unary(d.b, tt.Splat, desc.base, c.Tensor(shape, desc.base.Type(), nil))
	for k, v := range indices {
		stride := tt.Unary(d.b, tt.Splat, desc.strides[k], v.Type())
		ptrs = tt.NewAddPtr(d.b, ptrs, broadcastTo(d.b, arith.Binary(d.b, arith.MulI, v, stride), whole))
	}
	for k, v := range indices {
		mask = both(d.b, mask, within(d.b, v, desc.shape[k], shape))
	}
	return ptrs, mask
}

func (d *descriptors) read(op *ir.Operation, desc *descriptor, indices []*ir.Value) *ir.Value {
	ptrs, mask := d.pointers(desc, indices)
	t := ir.ShapeOf(ptrs.Type())
	block := d.b.Context().Tensor(t, tt.PointeeOf(ptrs.Type()), nil)
	other := padding(d.b, block, tt.PadZero)
	if ir.IsFloat(block.Elem) {
		nan := arith.Float(d.b, block.Elem, math.NaN())
		zero := arith.Float(d.b, block.Elem, 0)
		other = tt.Unary(d.b, tt.Splat, arith.NewSelect(d.b, desc.nan, nan, zero), block)
	}
	v := d.b.Create(tt.Load, ir.State{
		Operands: []*ir.Value{ptrs, mask, other}, Segments: []int32{1, 1, 1}, Types: []ir.Type{block}, Attrs: op.Attrs(),
	}).OneResult()
	if to := op.OneResult().Type(); to != ir.Type(block) { // a load that drops leading dimensions of size 1
		v = tt.Unary(d.b, tt.Reshape, v, to)
	}
	return v
}

func (d *descriptors) write(op *ir.Operation, desc *descriptor, indices []*ir.Value, v *ir.Value) {
	ptrs, mask := d.pointers(desc, indices)
	d.b.Create(tt.Store, ir.State{Operands: []*ir.Value{ptrs, v, mask}, Attrs: op.Attrs()})
}

// The reductions of a descriptor as atomic operations; those of signed and
// unsigned integers differ for min and max.
var (
	signedReductions   = map[string]int64{"add": tt.RMWAdd, "min": tt.RMWMin, "max": tt.RMWMax, "and": tt.RMWAnd, "or": tt.RMWOr, "xor": tt.RMWXor}
	unsignedReductions = map[string]int64{"add": tt.RMWAdd, "min": tt.RMWUMin, "max": tt.RMWUMax, "and": tt.RMWAnd, "or": tt.RMWOr, "xor": tt.RMWXor}
	floatReductions    = map[string]int64{"add": tt.RMWFAdd, "min": tt.RMWMin, "max": tt.RMWMax}
)

func (d *descriptors) reduce(op tt.DescriptorReduceOp, desc *descriptor, indices []*ir.Value) {
	table := signedReductions
	switch e := desc.block.Elem.(type) {
	case *ir.FloatType:
		table = floatReductions
	case *ir.IntegerType:
		if e.Sign == ir.Unsigned {
			table = unsignedReductions
		}
	}
	name := tt.DescriptorReduceKeyword(op.Op)
	rmw, ok := table[name]
	if !ok {
		d.err = diag.Errorf(std.PosOf(op.Op.Loc()), "there is no atomic %s of floats", name)
		return
	}
	c := d.b.Context()
	ptrs, mask := d.pointers(desc, indices)
	d.b.Create(tt.AtomicRMW, ir.State{
		Operands: []*ir.Value{ptrs, op.Src(), mask},
		Attrs: []ir.NamedAttr{
			{Name: "atomic_rmw_op", Attr: c.I32Attr(rmw)},
			{Name: "scope", Attr: c.I32Attr(tt.ScopeGPU)},
			{Name: "sem", Attr: c.I32Attr(tt.SemRelaxed)},
		},
	})
}
