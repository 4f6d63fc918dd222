package pipeline

import (
	"slices"

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
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Prefetch is the pass for a target without a matrix unit: it changes nothing.
var Prefetch = NewPrefetch(dots.MultiplyAdd{})

// NewPrefetch makes the pass that reads the first part, along K, of a dot's operands from shared memory
// at the end of the iteration before, so that an iteration's first matrix instructions find
// them in registers, and the last part's run while the next iteration's first part is
// on its way:
//
//	for … iter_args(%a = %a0, %b = %b0, %acc) {
//	  %x = ttg.local_load %a
//	  %y = ttg.local_load %b
//	  %d = tt.dot %x, %y, %acc
//	  …
//	  scf.yield %a1, %b1, %d }
//
// becomes, with K cut in halves,
//
//	for … iter_args(%a = %a0, %b = %b0, %acc, %x0 = local_load %a0[first], %y0 = local_load %b0[first]) {
//	  %x1 = ttg.local_load %a[second]
//	  %y1 = ttg.local_load %b[second]
//	  %d0 = tt.dot %x0, %y0, %acc
//	  …
//	  %x2 = ttg.local_load %a1[first]
//	  %y2 = ttg.local_load %b1[first]
//	  %d = tt.dot %x1, %y1, %d0
//	  scf.yield %a1, %b1, %d, %x2, %y2 }
//
// It takes loops with one dot, of instructions that read their operands from
// registers, where both buffers are carried from iteration to iteration and written in the
// iteration before. The pipeliner's
// are not: they are found by an index that the loop counts up. With the option
// carry-buffers such a loop is rotated first so that they are (carrybuffers.go).
func NewPrefetch(unit dots.MatrixUnit) *pass.Pass {
	return &pass.Pass{
		Name:     "tritongpu-prefetch",
		Doc:      "read the first part of a dot's operands from shared memory one iteration ahead",
		Example:  prefetchExample,
		ByTarget: true,
		Options: []pass.Option{
			{Name: "carry-buffers", Doc: "also in loops that index their buffers by a counter", Default: false},
		},
		Before: []*pass.Fact{facts.Layouts},
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			for _, loop := range forloop.All(r.Module) {
				p := readAhead(b, unit, loop)
				if p == nil {
					continue
				}
				var head []*ir.Operation
				if !p.carried() {
					if head = p.head(); head == nil || !r.Bool("carry-buffers") {
						continue
					}
				}
				if p.disturbed(head) {
					continue
				}
				if head != nil {
					p.carryBuffers(head)
					r.Count("carried", 1)
				}
				p.run()
				r.Count("dots", 1)
			}
			return nil
		},
	}
}

// prefetch is the work on one loop.
type prefetch struct {
	b        *ir.Builder
	loop     *ir.Operation
	dot      tt.DotOp
	operands [2]bufferedOperand
	// k is the length of the dots, width that of the part read ahead.
	k, width int64
}

// bufferedOperand is how an operand of the dot comes out of shared memory.
type bufferedOperand struct {
	load  ttg.LocalLoadOp
	steps []*ir.Operation // from what it loads to the operand, each of one tensor
	kDim  int
}

// readAhead finds the loop's dot and its operands, nil when it is none of those
// that Prefetch takes, but for where the buffers come from.
func readAhead(b *ir.Builder, unit dots.MatrixUnit, loop *ir.Operation) *prefetch {
	p := &prefetch{b: b, loop: loop}
	for op := range loop.Body().Ops() {
		if !dots.IsDot(unit, op) {
			continue
		}
		if p.dot.Op != nil || !op.Is(tt.Dot) {
			return nil
		}
		p.dot = tt.AsDot(op)
	}
	if p.dot.Op == nil {
		return nil
	}
	operands := [2]*ir.Value{p.dot.A(), p.dot.B()}
	for _, v := range operands {
		operand, ok := encoding.Get(v.Type()).(*layout.DotOp)
		if !ok {
			return nil
		}
		n := unit.PartK(operand)
		if n == 0 {
			return nil
		}
		p.width = max(p.width, n)
	}
	shape := ir.ShapeOf(p.dot.A().Type())
	p.k = shape[len(shape)-1]
	if p.k < p.width {
		return nil
	}
	for i, v := range operands {
		o := bufferedFrom(v)
		if o == nil {
			return nil
		}
		o.kDim = len(shape) - 1 - i
		if buffer := o.load.Src().Type().(*ttg.MemDescType); !ttg.SplitsInto(buffer, o.kDim, p.width) {
			return nil
		}
		p.operands[i] = *o
	}
	return p
}

// bufferedFrom follows an operand back to the load that it comes from, over
// operations that nobody else uses the results of.
func bufferedFrom(v *ir.Value) *bufferedOperand {
	var o bufferedOperand
	for block := v.Block(); ; {
		op := v.Def()
		if op == nil || op.Block() != block || !v.HasOneUse() {
			return nil
		}
		if op.Is(ttg.LocalLoad) {
			_, ok := encoding.Get(v.Type()).(*layout.DotOp)
			if !ok {
				return nil // it is transposed or converted on its way
			}
			o.load = ttg.AsLocalLoad(op)
			slices.Reverse(o.steps)
			return &o
		}
		if op.NumOperands() != 1 || op.NumResults() != 1 || op.NumRegions() != 0 || !op.Def().Has(ir.Elementwise) || !ir.IsPure(op) {
			return nil
		}
		o.steps = append(o.steps, op)
		v = op.OneOperand()
	}
}

// carriedIndex is the place of v among what the loop carries, or -1.
func carriedIndex(loop *ir.Operation, v *ir.Value) int {
	if v.IsArgument() && v.Block() == loop.Body() {
		return scf.CarriedIndex(v)
	}
	return -1
}

// carried reports whether the loop carries the buffers, and the tokens.
func (p *prefetch) carried() bool {
	for i := range p.operands {
		o := &p.operands[i]
		if carriedIndex(p.loop, o.load.Src()) < 0 || o.load.Token() != nil && carriedIndex(p.loop, o.load.Token()) < 0 {
			return false
		}
	}
	return true
}

// disturbed reports whether something ahead of the loads, apart from the given
// operations, may change what they find in the buffers, so that it cannot be
// read in the iteration before.
func (p *prefetch) disturbed(apart []*ir.Operation) bool {
	for i := range p.operands {
		for op := p.loop.Body().First(); op != p.operands[i].load.Op; op = op.Next() {
			if changesBuffers(op) && !slices.Contains(apart, op) {
				return true
			}
		}
	}
	return false
}

// changesBuffers reports whether op, or an operation in it, may write to shared
// memory or wait for what others write there.
func changesBuffers(op *ir.Operation) bool {
	return ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		switch o.Def() {
		case tt.Store, tt.AtomicRMW, tt.AtomicCAS: // in global memory
			return ir.Advance
		}
		if o.NumRegions() == 0 && ir.HasEffect(o, ir.Effects.Writes) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// part makes the part of an operand from k on, of n elements along K, out of the
// given buffer and token (nil: none), at the builder's point.
func (p *prefetch) part(o *bufferedOperand, buffer, token *ir.Value, k, n int64) *ir.Value {
	b := p.b
	c := b.Context()
	b.Loc = o.load.Op.Loc()
	t := *buffer.Type().(*ttg.MemDescType)
	t.Shape = slices.Clone(t.Shape)
	t.Shape[o.kDim] = n
	offsets := make([]int64, len(t.Shape))
	offsets[o.kDim] = k
	buffer = b.Create(ttg.MemDescSubslice, ir.State{
		Operands: []*ir.Value{buffer}, Types: []ir.Type{ttg.MemDesc(c, t)},
		Attrs: []ir.NamedAttr{{Name: "offsets", Attr: c.I32Array(offsets...)}},
	}).OneResult()
	cut := func(v *ir.Value) ir.Type {
		t := tensors.Type(v)
		shape := slices.Clone(t.Shape)
		shape[o.kDim] = n
		return c.Tensor(shape, t.Elem, t.Encoding)
	}
	operands := []*ir.Value{buffer}
	if token != nil {
		operands = append(operands, token)
	}
	v := b.Op(ttg.LocalLoad, operands, cut(o.load.Result())).OneResult()
	for _, step := range o.steps {
		m := ir.NewMapping()
		m.Map(step.OneOperand(), v)
		s := step.Clone(m)
		s.OneResult().SetType(cut(step.OneResult()))
		b.Insert(s)
		v = s.OneResult()
	}
	return v
}

// run cuts the dot and reads its first part ahead.
func (p *prefetch) run() {
	b := p.b
	// The first part before the loop.
	b.SetBefore(p.loop)
	inits := scf.Inits(p.loop)
	var first [2]*ir.Value
	for i := range p.operands {
		o := &p.operands[i]
		first[i] = p.part(o, inits[carriedIndex(p.loop, o.load.Src())], p.incoming(o, inits), 0, p.width)
	}
	var args []*ir.Value
	p.loop, args = forloop.AddCarried(b, p.loop, first[:]...)
	yield := forloop.Yield(p.loop)
	// The other parts where the whole was, each as large as what was there before
	// it, so that it begins at a multiple of its size.
	b.SetBefore(p.dot.Op)
	last := p.product(args[0], args[1], p.dot.C())
	var rest [][2]*ir.Value
	for k := p.width; k < p.k; {
		n := k
		var parts [2]*ir.Value
		for i := range p.operands {
			o := &p.operands[i]
			b.SetBefore(o.load.Op) // after it, there may be something else in the buffer
			parts[i] = p.part(o, o.load.Src(), o.load.Token(), k, n)
		}
		rest = append(rest, parts)
		k += n
	}
	b.SetBefore(p.dot.Op)
	for _, x := range rest {
		last = p.product(x[0], x[1], last.Result())
	}
	p.dot.Op.ReplaceAllUsesWith(last.Result())
	// The next iteration's first part at the end of this one, and with it the last
	// dot, if nothing but the next iteration needs it.
	b.SetBefore(yield)
	carried := yield.OperandValues()
	for i := range p.operands {
		o := &p.operands[i]
		yield.AppendOperand(p.part(o, carried[carriedIndex(p.loop, o.load.Src())], p.incoming(o, carried), 0, p.width))
	}
	if last.Result().HasOneUse() && slices.Contains(yield.OperandValues(), last.Result()) {
		last.Op.MoveBefore(yield)
	}
	p.dot.Op.Erase()
	for i := range p.operands {
		p.operands[i].erase()
	}
}

// incoming is the value, among those that go into the loop or its next iteration, of
// the token that an operand's load waits for; nil when there is none.
func (p *prefetch) incoming(o *bufferedOperand, values []*ir.Value) *ir.Value {
	if o.load.Token() == nil {
		return nil
	}
	return values[carriedIndex(p.loop, o.load.Token())]
}

// product is the dot of other operands, at the builder's point.
func (p *prefetch) product(x, y, acc *ir.Value) tt.DotOp {
	n := tt.AsDot(p.dot.Op.Clone(ir.NewMapping()))
	n.SetA(x)
	n.SetB(y)
	n.SetC(acc)
	p.b.Insert(n.Op)
	return n
}

// erase removes the load of the whole operand, whose result nothing uses now.
func (o *bufferedOperand) erase() {
	for _, step := range slices.Backward(o.steps) {
		step.Erase()
	}
	o.load.Op.Erase()
}
