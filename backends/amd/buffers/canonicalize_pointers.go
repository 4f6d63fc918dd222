package buffers

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// CanonicalizePointers has every pointer into a buffer of less than 2 GiB be the kernel's
// argument and one offset of 32 bits. Loops and conditions then carry the offset:
//
//	%p = tt.addptr splat(%x), %a
//	scf.for … iter_args(%q = %p) { tt.load %q; yield tt.addptr %q, %b }
//
// becomes
//
//	scf.for … iter_args(%o = %a) { tt.load (tt.addptr splat(%x), %o); yield %o + %b }
//
// What was carried before is carried unchanged, for canonicalize to drop.
var CanonicalizePointers = &pass.Pass{
	Name:    "tritonamdgpu-canonicalize-pointers",
	Doc:     "make pointers into small buffers an argument and one offset of 32 bits",
	Example: canonicalizePointersExample,
	Run: func(r *pass.Run) error {
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if !op.Is(tt.Func) {
				return ir.Advance
			}
			if body := op.Body(); body != nil {
				c := newCanonicalizer(op)
				if len(c.bases) > 0 {
					c.find(op)
					c.block(body)
					r.Count("accesses", c.count)
				}
			}
			return ir.Skip
		})
		return nil
	},
}

// rangeAttr is 32 on arguments that point to buffers of less than 2 GiB.
const rangeAttr = "tt.pointer_range"

// isSmall reports whether v is an argument of a function that says that it points to the
// beginning of a buffer of less than 2 GiB.
func isSmall(v *ir.Value) bool {
	if !v.IsArgument() || v.Block() == nil || tt.PointeeOf(v.Type()) == nil {
		return false
	}
	f := v.Block().Parent()
	if f == nil || !f.Is(tt.Func) || v.Block() != f.Body() {
		return false
	}
	attrs, _ := tt.AsFunc(f).ArgAttrs().(*ir.ArrayAttr)
	if attrs == nil || v.Index() >= len(attrs.Elems) {
		return false
	}
	d, _ := attrs.Elems[v.Index()].(*ir.DictAttr)
	if d == nil {
		return false
	}
	n, ok := d.Get(rangeAttr).(*ir.IntegerAttr)
	return ok && n.Value == 32
}

// canonicalizer works on one function.
type canonicalizer struct {
	b *ir.Builder
	// bases are the arguments that pointers point into; other is for those that point
	// elsewhere, or whose way is not followed.
	bases map[*ir.Value]*ir.Value
	other *ir.Value
	// offsets are those of the pointers with a base, in elements; nil for 0.
	offsets map[*ir.Value]*ir.Value
	narrow  narrower
	count   int
}

func newCanonicalizer(f *ir.Operation) *canonicalizer {
	b := ir.NewBuilder(f.Context())
	c := &canonicalizer{b: b, bases: map[*ir.Value]*ir.Value{}, offsets: map[*ir.Value]*ir.Value{}, narrow: newNarrower(b), other: new(ir.Value)}
	for _, v := range f.Body().Args() {
		if isSmall(v) {
			c.bases[v] = v
		}
	}
	return c
}

// find gives each pointer its base, going round until loops have agreed.
func (c *canonicalizer) find(f *ir.Operation) {
	for changed := true; changed; {
		changed = false
		meet := func(v, with *ir.Value) {
			if tt.PointeeOf(v.Type()) == nil || with == nil || c.bases[v] == c.other || c.bases[v] == with {
				return
			}
			if c.bases[v] != nil {
				with = c.other
			}
			c.bases[v] = with
			changed = true
		}
		ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
			c.meet(op, meet)
			return ir.Advance
		})
	}
}

// meet tells where op's results point, and the arguments of its blocks.
func (c *canonicalizer) meet(op *ir.Operation, meet func(v, base *ir.Value)) {
	switch {
	case op.Is(scf.For):
		yield := forloop.Yield(op)
		for i, arg := range scf.IterArgs(op) {
			meet(arg, c.bases[scf.Inits(op)[i]])
			meet(arg, c.bases[yield.Operand(i)])
			meet(op.Result(i), c.bases[arg])
		}
		return
	case op.Is(scf.If):
		for i, v := range op.Results() {
			for _, region := range op.Regions() {
				meet(v, c.bases[region.First().Terminator().Operand(i)])
			}
		}
		return
	case op.Is(arith.Select):
		s := arith.AsSelect(op)
		meet(s.Result(), c.bases[s.TrueValue()])
		meet(s.Result(), c.bases[s.FalseValue()])
		return
	case followed(op):
		meet(op.OneResult(), c.bases[source(op)])
		return
	}
	for _, v := range op.Results() {
		meet(v, c.other)
	}
	for _, region := range op.Regions() {
		for b := range region.Blocks() {
			for _, v := range b.Args() {
				if c.bases[v] == nil {
					meet(v, c.other)
				}
			}
		}
	}
}

// followed reports whether op makes pointers of its first operand's, with the same base.
func followed(op *ir.Operation) bool {
	switch op.Def() {
	case tt.AddPtr, tt.Splat, tt.Broadcast, tt.ExpandDims, tt.Reshape, tt.Trans, ttg.ConvertLayout:
		return tt.PointeeOf(op.OneResult().Type()) != nil && !tt.IsBlockPtr(op.OneResult().Type())
	}
	return false
}

// source is the pointer of which op, which followed reports, makes others.
func source(op *ir.Operation) *ir.Value {
	if op.Is(ttg.ConvertLayout) {
		return ttg.AsConvertLayout(op).Src()
	}
	return tt.PointsInto(op)
}

// base is the argument that v points into, or nil.
func (c *canonicalizer) base(v *ir.Value) *ir.Value {
	if b := c.bases[v]; b != nil && b != c.other {
		return b
	}
	return nil
}

// block rewrites the operations of a block, and of those in it.
func (c *canonicalizer) block(b *ir.Block) {
	var next *ir.Operation
	for op := b.First(); op != nil; op = next {
		next = op.Next()
		c.operation(op)
	}
}

func (c *canonicalizer) operation(op *ir.Operation) {
	switch {
	case op.Is(scf.For):
		c.loop(op)
		return
	case op.Is(scf.If):
		c.condition(op)
		return
	case op.Is(scf.Yield): // what is yielded is its operation's concern
		return
	}
	known := op.NumResults() == 1 && c.base(op.OneResult()) != nil
	switch {
	case known && followed(op):
		c.b.At(op)
		c.offsets[op.OneResult()] = c.follow(op)
		return
	case known && op.Is(arith.Select):
		s := arith.AsSelect(op)
		c.b.At(op)
		c.offsets[s.Result()] = arith.NewSelect(c.b, s.Condition(), c.offset(s.TrueValue()), c.offset(s.FalseValue()))
		return
	}
	for i, v := range op.OperandValues() {
		if c.base(v) == nil || c.isCanonical(v) {
			continue
		}
		c.b.At(op)
		op.SetOperand(i, c.pointer(v))
		c.count++
	}
	for _, region := range op.Regions() {
		for b := range region.Blocks() {
			c.block(b)
		}
	}
}

// follow makes the offset of an operation that makes pointers of others.
func (c *canonicalizer) follow(op *ir.Operation) *ir.Value {
	from := c.offsets[source(op)]
	if op.Is(tt.AddPtr) {
		by := c.narrow.value(tt.AsAddPtr(op).Offset())
		if from == nil {
			return by
		}
		c.b.At(op)
		return arith.Binary(c.b, arith.AddI, from, by)
	}
	if from == nil {
		return nil
	}
	t := offsetType(c.b, op.OneResult().Type())
	return c.b.Create(op.Def(), ir.State{Operands: []*ir.Value{from}, Types: []ir.Type{t}, Attrs: op.Attrs()}).OneResult()
}

// offset is v's offset, a constant where it is 0.
func (c *canonicalizer) offset(v *ir.Value) *ir.Value {
	if o := c.offsets[v]; o != nil {
		return o
	}
	return arith.Int(c.b, offsetType(c.b, v.Type()), 0)
}

// offsetType is the type of offsets of pointers of a type.
func offsetType(b *ir.Builder, t ir.Type) ir.Type {
	c := b.Context()
	if tensor, ok := t.(*ir.TensorType); ok {
		return c.Tensor(tensor.Shape, c.I32(), tensor.Encoding)
	}
	return c.I32()
}

// isCanonical reports whether v is an argument, or an argument with one offset of 32 bits.
func (c *canonicalizer) isCanonical(v *ir.Value) bool {
	base := v
	if v.DefIs(tt.AddPtr) {
		sum := tt.AsAddPtr(v.Def())
		if _, tensor := v.Type().(*ir.TensorType); tensor && ir.BitWidth(ir.ElemOf(sum.Offset().Type())) != 32 {
			return false
		}
		base = sum.Ptr()
	}
	if base.DefIs(tt.Splat) {
		base = tt.AsSplat(base.Def()).Src()
	}
	return base == c.base(v)
}

// pointer makes v of its base and its offset.
func (c *canonicalizer) pointer(v *ir.Value) *ir.Value {
	p := c.base(v)
	if _, tensor := v.Type().(*ir.TensorType); tensor {
		p = tt.Unary(c.b, tt.Splat, p, v.Type())
	}
	if o := c.offsets[v]; o != nil {
		p = tt.NewAddPtr(c.b, p, o)
	}
	return p
}

// loop has a loop carry offsets.
func (c *canonicalizer) loop(op *ir.Operation) {
	c.b.At(op)
	var carried []int
	var inits []*ir.Value
	yield := forloop.Yield(op)
	for i, arg := range scf.IterArgs(op) {
		init := scf.Inits(op)[i]
		switch {
		case c.base(arg) == nil:
			if c.base(init) != nil && !c.isCanonical(init) { // the loop carries pointers of several bases
				scf.AsFor(op).SetInitArgsAt(i, c.pointer(init))
			}
		case yield.Operand(i) == arg: // it stays what it is
			c.offsets[arg], c.offsets[op.Result(i)] = c.offsets[init], c.offsets[init]
		default:
			carried = append(carried, i)
			inits = append(inits, c.offset(init))
		}
	}
	old := slices.Clone(op.Results())
	loop, args := forloop.AddCarried(c.b, op, inits...)
	for i, v := range old {
		c.bases[loop.Result(i)] = c.bases[v]
		if loop.Result(i) != v {
			c.offsets[loop.Result(i)] = c.offsets[v]
		}
	}
	for k, i := range carried {
		c.offsets[scf.IterArg(loop, i)] = args[k]
		c.offsets[loop.Result(i)] = loop.Result(len(old) + k)
	}
	c.block(loop.Body())
	yield = forloop.Yield(loop)
	c.b.At(yield)
	for _, i := range carried {
		yield.AppendOperand(c.offset(yield.Operand(i)))
		yield.SetOperand(i, scf.IterArg(loop, i))
	}
	c.finish(yield, loop.Results()[:len(old)])
}

// finish makes pointers of what is yielded for results without a base.
func (c *canonicalizer) finish(yield *ir.Operation, results []*ir.Value) {
	for i, v := range results {
		if p := yield.Operand(i); c.base(v) == nil && c.base(p) != nil && !c.isCanonical(p) {
			c.b.At(yield)
			yield.SetOperand(i, c.pointer(p))
		}
	}
}

// condition has a condition give offsets.
func (c *canonicalizer) condition(op *ir.Operation) {
	for _, region := range op.Regions() {
		if region.First() != nil {
			c.block(region.First())
			c.finish(region.First().Terminator(), op.Results())
		}
	}
	var given []int
	types := make([]ir.Type, 0, op.NumResults())
	for i, v := range op.Results() {
		types = append(types, v.Type())
		if c.base(v) != nil {
			given = append(given, i)
		}
	}
	if len(given) == 0 {
		return
	}
	for _, i := range given {
		types = append(types, offsetType(c.b, types[i]))
	}
	c.b.At(op)
	made := c.b.Create(scf.If, ir.State{Operands: op.OperandValues(), Types: types, Attrs: op.Attrs(), Regions: len(op.Regions())})
	for k, region := range op.Regions() {
		made.Regions()[k].TakeBody(region)
		yield := made.Regions()[k].First().Terminator()
		for _, i := range given {
			c.b.At(yield)
			p := yield.Operand(i)
			yield.AppendOperand(c.offset(p))
			yield.SetOperand(i, c.unmoved(p))
		}
	}
	for i, v := range op.Results() {
		c.bases[made.Result(i)] = c.bases[v]
		v.ReplaceAllUsesWith(made.Result(i))
	}
	for k, i := range given {
		c.offsets[made.Result(i)] = made.Result(op.NumResults() + k)
	}
	op.Erase()
}

// unmoved is the base of p as pointers of its type: what a condition gives in the place
// of a pointer that nothing uses any more.
func (c *canonicalizer) unmoved(p *ir.Value) *ir.Value {
	if _, tensor := p.Type().(*ir.TensorType); tensor {
		return tt.Unary(c.b, tt.Splat, c.base(p), p.Type())
	}
	return c.base(p)
}
