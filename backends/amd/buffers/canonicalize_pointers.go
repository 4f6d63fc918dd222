package buffers

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/rewrite"
)

// optionLarge of CanonicalizePointers.
const optionLarge = "enable-large-tensor-ptr-canon"

// CanonicalizePointers takes pointers apart into a base, which is one pointer, and a
// tensor of offsets. Loops, conditions and branches then carry both:
//
//	%p = tt.addptr splat(%x), %a
//	scf.for … iter_args(%q = %p) { tt.load %q; yield tt.addptr %q, %b }
//
// becomes
//
//	scf.for … iter_args(%y = %x, %o = %a) { tt.load (tt.addptr splat(%y), %o); yield %y, %o + %b }
//
// The base of a buffer of less than 2 GiB stays the argument, so that offsets have 32 bits,
// and canonicalize drops it from loops. A base of a larger buffer moves by what is the
// same for all elements, and the rest has 64 bits.
var CanonicalizePointers = &pass.Pass{
	Name:    "tritonamdgpu-canonicalize-pointers",
	Doc:     "make pointers a base that all threads share and a tensor of offsets",
	Example: canonicalizePointersExample,
	Options: []pass.Option{{
		Name: optionLarge, Default: false,
		Doc: "also pointers into larger buffers, where sums of offsets do not wrap around and what differs between elements has 32 bits",
	}},
	Run: func(r *pass.Run) error {
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if !op.Is(tt.Func) {
				return ir.Advance
			}
			if body := op.Body(); body != nil {
				c := newCanonicalizer(op, r.Bool(optionLarge))
				if len(c.reach.root) == 0 {
					return ir.Skip
				}
				if p := poison(op); p != nil {
					r.Say(p, "skipping canonicalize-pointers due to ub.poison")
					return ir.Skip
				}
				c.function(op)
				r.Count("accesses", c.count)
			}
			return ir.Skip
		})
		return nil
	},
}

// poison is an operation that makes pointers that are undefined, or nil.
func poison(f *ir.Operation) (found *ir.Operation) {
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ub.Poison) && isPointer(op.OneResult().Type()) {
			found = op
			return ir.Stop
		}
		return ir.Advance
	})
	return found
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

// pointer is a pointer, or a tensor of pointers, taken apart: a base, which is one
// pointer, and an offset in elements.
type pointer struct {
	base, offset *ir.Value
	fits         bool           // the offset, of 64 bits, fits in 32
	hints        []ir.NamedAttr // what the user says of the sum
}

// canonicalizer works on one function.
type canonicalizer struct {
	b        *ir.Builder
	entry    *ir.Block
	reach    reaches
	pointers map[*ir.Value]pointer // of the values that are carried as two
	zeros    map[ir.Type]*ir.Value // scalars
	narrow   narrower
	count    int
	// What nothing uses once all is rewritten.
	replaced []*ir.Operation
	args     []*ir.Value
}

func newCanonicalizer(f *ir.Operation, withLarge bool) *canonicalizer {
	b := ir.NewBuilder(f.Context())
	c := &canonicalizer{b: b, entry: f.Body(), pointers: map[*ir.Value]pointer{}, zeros: map[ir.Type]*ir.Value{}, reach: newReaches(), narrow: newNarrower(b)}
	for _, v := range f.Body().Args() {
		switch {
		case !isPointer(v.Type()):
		case isSmall(v):
			c.reach.argument(v, small)
		case withLarge && !isTensor(v):
			c.reach.argument(v, large)
		default:
			c.reach.of[v] = opaque
		}
	}
	return c
}

// function rewrites a function.
func (c *canonicalizer) function(f *ir.Operation) {
	args := slices.Clone(c.entry.Args())
	c.reach.find(f)
	for _, v := range args {
		if c.reach.isFat(v) {
			c.pointers[v] = pointer{base: v, offset: c.zero(v), fits: c.reach.of[v] == large}
		}
	}
	c.region(c.entry.Region())
	for i := len(c.replaced) - 1; i >= 0; i-- {
		c.replaced[i].Erase()
	}
	for _, v := range c.args {
		v.Block().EraseArg(v.Index())
	}
	eraseDead(f)
}

// eraseDead erases what offsets were computed of and nothing uses any more.
func eraseDead(op *ir.Operation) {
	for _, region := range op.Regions() {
		for b := range region.Blocks() {
			for last := b.Last(); last != nil; {
				prev := last.Prev()
				eraseDead(last)
				if rewrite.IsDead(last) {
					last.Erase()
				}
				last = prev
			}
		}
	}
}

// region rewrites the operations of a region. Arguments of blocks that branches give
// pointers become two.
func (c *canonicalizer) region(region *ir.Region) {
	blocks := c.reach.ordered(region)
	for _, b := range blocks {
		if !b.IsEntry() {
			c.split(b, b.Args())
		}
	}
	for _, b := range blocks {
		c.block(b)
	}
}

func (c *canonicalizer) block(b *ir.Block) {
	var next *ir.Operation
	for op := b.First(); op != nil; op = next {
		next = op.Next()
		c.operation(op)
	}
}

// split puts two arguments after each of a block's that is carried as two, which goes in
// the end.
func (c *canonicalizer) split(b *ir.Block, args []*ir.Value) {
	for _, v := range slices.Clone(args) {
		if !c.reach.isFat(v) {
			continue
		}
		base := b.InsertArg(v.Index()+1, ir.ElemOf(v.Type()), v.Loc())
		offset := b.InsertArg(v.Index()+2, c.offsetType(v), v.Loc())
		c.pointers[v] = pointer{base: base, offset: offset}
		c.args = append(c.args, v)
	}
}

// zero is the scalar 0 that v's offsets are counted from.
func (c *canonicalizer) zero(v *ir.Value) *ir.Value {
	t := c.intType(v)
	if c.zeros[t] == nil {
		c.b.SetToStart(c.entry)
		c.b.Loc = c.entry.Parent().Loc()
		c.zeros[t] = arith.Int(c.b, t, 0)
	}
	return c.zeros[t]
}

// intType is the type of one offset of v.
func (c *canonicalizer) intType(v *ir.Value) ir.Type {
	if c.reach.of[v] == large {
		return c.b.Context().I64()
	}
	return c.b.Context().I32()
}

// offsetType is the type of v's offset.
func (c *canonicalizer) offsetType(v *ir.Value) ir.Type {
	return withElem(c.b.Context(), v.Type(), c.intType(v))
}

// withElem is a type like t with other elements.
func withElem(c *ir.Context, t, elem ir.Type) ir.Type {
	if tensor, ok := t.(*ir.TensorType); ok {
		return c.Tensor(tensor.Shape, elem, tensor.Encoding)
	}
	return elem
}

// whole makes v, which is carried as two, before the builder's place.
func (c *canonicalizer) whole(v *ir.Value) *ir.Value {
	p := c.pointers[v]
	offset := p.offset
	if isTensor(v) && p.fits && !arith.IsZero(scalarOf(offset)) {
		offset = c.narrow.cast(offset, withElem(c.b.Context(), v.Type(), c.b.Context().I32()), nil)
	}
	sum := p.base
	if isTensor(v) {
		sum = tt.Unary(c.b, tt.Splat, sum, v.Type())
	}
	if arith.IsZero(scalarOf(offset)) {
		return sum
	}
	sum = tt.NewAddPtr(c.b, sum, offset)
	for _, a := range p.hints {
		sum.Def().SetAttr(a.Name, a.Attr)
	}
	return sum
}

func isTensor(v *ir.Value) bool {
	_, ok := v.Type().(*ir.TensorType)
	return ok
}

// scalarOf is the scalar that all of v's elements are, or v.
func scalarOf(v *ir.Value) *ir.Value {
	if v.DefIs(tt.Splat) {
		return tt.AsSplat(v.Def()).Src()
	}
	return v
}

func (c *canonicalizer) operation(op *ir.Operation) {
	switch {
	case c.structured(op):
		return
	case op.NumResults() == 1 && c.reach.isFat(op.OneResult()):
		c.b.At(op)
		c.pointers[op.OneResult()] = c.made(op)
		c.replaced = append(c.replaced, op)
		return
	}
	for i, v := range op.OperandValues() {
		if c.reach.isFat(v) {
			c.b.At(op)
			op.SetOperand(i, c.whole(v))
			c.count++
		}
	}
	for _, region := range op.Regions() {
		c.region(region)
	}
}

// made takes what op makes apart: a choice, or pointers that follow from others.
func (c *canonicalizer) made(op *ir.Operation) pointer {
	if op.Is(arith.Select) {
		s := arith.AsSelect(op)
		yes, no := c.pointers[s.TrueValue()], c.pointers[s.FalseValue()]
		p := pointer{base: c.reach.root[s.Result()], fits: yes.fits && no.fits}
		if !isTensor(s.Condition()) {
			p.base = c.choice(s.Condition(), yes.base, no.base)
		}
		p.offset = c.choice(s.Condition(), yes.offset, no.offset)
		return p
	}
	p := c.pointers[c.reach.source(op)]
	if op.Is(tt.AddPtr) {
		if c.reach.of[op.OneResult()] == small {
			return c.addToSmall(p, tt.AsAddPtr(op))
		}
		return c.addToLarge(p, tt.AsAddPtr(op))
	}
	p.hints = nil
	p.offset = c.b.Create(op.Def(), ir.State{
		Operands: []*ir.Value{p.offset}, Types: []ir.Type{c.offsetType(op.OneResult())}, Attrs: op.Attrs(),
	}).OneResult()
	return p
}

// choice is yes or no, by a condition.
func (c *canonicalizer) choice(cond, yes, no *ir.Value) *ir.Value {
	if yes == no {
		return yes
	}
	return arith.NewSelect(c.b, cond, yes, no)
}
