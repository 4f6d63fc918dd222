package layouts

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// propagation carries the layouts of anchors (operations for which the layout
// matters) forward to all that is computed from them, picks one of those that
// reach a value, and retypes the function.
type propagation struct {
	machine.Machine
	ctx     *ir.Context
	reached map[*ir.Value][]ir.Attribute // in the order of arrival
	order   []*ir.Value                  // the keys of reached, in order of arrival
	// was is the encoding that a retyped value had before.
	was map[*ir.Value]ir.Attribute
	cvt map[conversion]*ir.Value
}

// conversion names a value in another layout.
type conversion struct {
	v   *ir.Value
	enc ir.Attribute
}

func newPropagation(f *ir.Operation, m machine.Machine) *propagation {
	return &propagation{
		Machine: m, ctx: f.Context(), reached: make(map[*ir.Value][]ir.Attribute),
		was: make(map[*ir.Value]ir.Attribute), cvt: make(map[conversion]*ir.Value),
	}
}

func propagate(f *ir.Operation, m machine.Machine) {
	p := newPropagation(f, m)
	p.anchors(f)
	p.spread()
	p.pick()
	p.retype(f)
}

// anchors starts from what memory, dots and callers dictate.
func (p *propagation) anchors(f *ir.Operation) {
	for _, arg := range f.Body().Args() {
		p.reach(arg, tensors.Encoding(arg))
	}
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if p.isAnchor(op) {
			for _, r := range op.Results() {
				p.reach(r, tensors.Encoding(r))
			}
		}
		return ir.Advance
	})
}

func (p *propagation) isAnchor(op *ir.Operation) bool {
	switch op.Def() {
	case tt.Load, tt.Store:
		return isExpensiveAccess(p.At(op), op)
	case tt.Dot, tt.DotScaled, tt.AtomicRMW, tt.AtomicCAS,
		tt.DescriptorLoad, tt.DescriptorStore, tt.DescriptorGather, tt.DescriptorScatter, tt.DescriptorReduce:
		return true
	case tt.Gather:
		return tt.AsGather(op).EfficientLayout()
	case tt.Reshape:
		// Its result may have any layout, so nothing comes through it.
		return tt.AsReshape(op).AllowReorder()
	}
	return isForeign(op)
}

// isForeign reports whether op belongs to a vendor's dialect: it was given the
// layouts that it needs.
func isForeign(op *ir.Operation) bool {
	switch op.Def().Dialect() {
	case "tt", "ttg", "arith", "math", "scf", "cf", "ub", "gpu", "llvm", "builtin":
		return false
	}
	return !isUniform(op) && !op.Def().Has(ir.PassesOperands)
}

// isExpensiveAccess reports whether a load or store moves at least an element a
// thread; below that all threads share cache lines, and the layout is free.
func isExpensiveAccess(m machine.Machine, op *ir.Operation) bool {
	ptr := tt.Address(op)
	t := tensors.Type(ptr)
	if t == nil {
		return tt.IsBlockPtr(ptr.Type())
	}
	return t.NumElements() > 1 && t.NumElements() >= int64(m.Threads())
}

// reach notes that v may have the encoding enc, and reports whether that is new.
func (p *propagation) reach(v *ir.Value, enc ir.Attribute) bool {
	if enc == nil || tensors.Type(v) == nil || slices.Contains(p.reached[v], enc) {
		return false
	}
	if p.reached[v] == nil {
		p.order = append(p.order, v)
	}
	p.reached[v] = append(p.reached[v], enc)
	return true
}

// spread follows the uses of what was reached until nothing is new.
func (p *propagation) spread() {
	queue := slices.Clone(p.order)
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for u := range v.Uses() {
			for _, w := range followers(u) {
				for _, enc := range p.reached[v] {
					if p.reach(w, carried(u.Owner(), enc)) {
						queue = append(queue, w)
					}
				}
			}
		}
	}
}

// followers are the values that take over the layout of the use u.
func followers(u *ir.Use) []*ir.Value {
	op := u.Owner()
	if vs := flowsTo(u); vs != nil {
		return vs
	}
	switch op.Def() {
	case tt.Gather:
		if v := tt.AsGather(op); v.EfficientLayout() || u != v.IndicesUse() {
			return nil
		}
		return op.Results()
	case tt.Reduce, tt.ExpandDims, tt.Reshape, tt.Trans, tt.Join, tt.Split, ttg.ConvertLayout:
		return op.Results()
	}
	if isUniform(op) {
		return op.Results()
	}
	return nil
}

// carried is the layout that the results of op get from an operand with enc.
// Conversions let it through, so that they vanish.
func carried(op *ir.Operation, enc ir.Attribute) ir.Attribute {
	switch op.Def() {
	case ttg.ConvertLayout, scf.For, scf.While, scf.Yield, scf.Condition:
		return enc
	}
	if op.Def().Has(ir.PassesOperands) {
		return enc
	}
	return forward(op, enc)
}

// flowsTo are the block arguments and results to which structured control flow, or
// an operation that gives its operands back, passes an operand; nil when its operation
// is not of that kind.
func flowsTo(u *ir.Use) []*ir.Value {
	switch op := u.Owner(); op.Def() {
	case scf.For:
		if i := scf.AsFor(op).InitArgsIndex(u); i >= 0 {
			return []*ir.Value{scf.IterArg(op, i), op.Result(i)}
		}
	case scf.While:
		return []*ir.Value{scf.AsWhile(op).Before().First().Arg(u.Index())}
	case scf.Yield:
		i := u.Index()
		switch parent := op.Parent(); parent.Def() {
		case scf.For:
			return []*ir.Value{parent.Result(i), scf.IterArg(parent, i)}
		case scf.While:
			return []*ir.Value{scf.AsWhile(parent).Before().First().Arg(i)}
		case scf.If:
			return []*ir.Value{parent.Result(i)}
		}
	case scf.Condition:
		if i := scf.AsCondition(op).ArgsIndex(u); i >= 0 {
			loop := scf.AsWhile(op.Parent())
			return []*ir.Value{loop.After().First().Arg(i), loop.Op.Result(i)}
		}
	}
	if u.Owner().Def().Has(ir.PassesOperands) {
		return []*ir.Value{u.Owner().Result(u.Index())}
	}
	return nil
}

// pick leaves one encoding a value. Memory accesses keep a blocked layout,
// others prefer that of a matrix instruction, whose values are costly to move;
// else the first to arrive stays. The carried argument of a loop and its result
// are one value and get one encoding.
func (p *propagation) pick() {
	for _, v := range p.order {
		encs := p.reached[v]
		want := func(enc ir.Attribute) bool { return tensors.IsMatrix(layoutOf(enc.(*encoding.Attr), true)) }
		if d := v.Def(); d != nil && (d.Is(tt.Load) || d.Is(tt.AtomicRMW) || d.Is(tt.AtomicCAS)) {
			want = func(enc ir.Attribute) bool {
				_, blocked := enc.(*encoding.Attr).Layout.(*layout.Blocked)
				return blocked
			}
		}
		best := encs[0]
		if i := slices.IndexFunc(encs, want); i >= 0 {
			best = encs[i]
		}
		p.reached[v] = []ir.Attribute{best}
	}
}

// picked is the encoding that v is to have.
func (p *propagation) picked(v *ir.Value) ir.Attribute {
	if encs := p.reached[v]; encs != nil {
		return encs[0]
	}
	return tensors.Encoding(v)
}

// retype gives every value its encoding, and then converts at the uses where an
// operation needs another one than its operand has.
func (p *propagation) retype(f *ir.Operation) {
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.For) {
			p.unify(op.Results(), scf.IterArgs(op))
		}
		if op.Is(scf.While) {
			p.unify(op.Results(), scf.AsWhile(op).After().First().Args())
		}
		return ir.Advance
	})
	for _, v := range p.order {
		t := tensors.Type(v)
		if enc := p.picked(v); enc != t.Encoding {
			p.was[v] = t.Encoding
			v.SetType(tensors.WithEncoding(p.ctx, t, enc))
		}
	}
	if len(p.was) == 0 {
		return
	}
	b := ir.NewBuilder(p.ctx)
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op != f && !op.Is(ttg.ConvertLayout) {
			for i, v := range op.Operands() {
				if tensors.Type(v) == nil {
					continue
				}
				if enc := p.needed(op.OperandUse(i)); enc != tensors.Encoding(v) {
					op.SetOperand(i, p.converted(b, v, enc))
				}
			}
		}
		return ir.Advance
	})
}

// unify makes the second values follow the first.
func (p *propagation) unify(first, second []*ir.Value) {
	for i, v := range first {
		if p.reached[v] != nil {
			if p.reached[second[i]] == nil {
				p.order = append(p.order, second[i])
			}
			p.reached[second[i]] = p.reached[v]
		} else if p.reached[second[i]] != nil {
			p.order = append(p.order, v)
			p.reached[v] = p.reached[second[i]]
		}
	}
}

// before is the encoding that v had before retyping.
func (p *propagation) before(v *ir.Value) ir.Attribute {
	if enc, ok := p.was[v]; ok {
		return enc
	}
	return tensors.Encoding(v)
}

// needed is the encoding that an operand must have, now that the results of its
// operation have theirs.
func (p *propagation) needed(u *ir.Use) ir.Attribute {
	if vs := flowsTo(u); vs != nil {
		return tensors.Encoding(vs[0])
	}
	op, have := u.Owner(), tensors.Encoding(u.Value())
	result := tensorResult(op)
	switch {
	case op.Is(tt.Assert):
		return have // any layout will do
	case op.Is(tt.Reduce) && result == nil:
		// A reduction to a scalar takes any layout that its operands share; one
		// that was spread to it comes first.
		for _, v := range op.Operands() {
			if p.reached[v] != nil {
				return tensors.Encoding(v)
			}
		}
		return have
	case result == nil || !p.retyped(op):
		return p.before(u.Value())
	}
	enc := tensors.Encoding(result)
	for _, v := range op.Operands() {
		if e := tensors.Encoding(v); e != nil && forward(op, e) == enc {
			return e
		}
	}
	if e := backward(op, enc); e != nil {
		return e
	}
	panic("BUG: ttgir: no layout of the operands of " + op.Name())
}

// retyped reports whether a result of op got another encoding.
func (p *propagation) retyped(op *ir.Operation) bool {
	for _, r := range op.Results() {
		if _, ok := p.was[r]; ok {
			return true
		}
	}
	return false
}

// converted is v with the encoding enc, made once, next to its definition.
func (p *propagation) converted(b *ir.Builder, v *ir.Value, enc ir.Attribute) *ir.Value {
	key := conversion{v, enc}
	if w := p.cvt[key]; w != nil {
		return w
	}
	b.SetAfterValue(v)
	b.Loc = v.Loc()
	w := ttg.NewConvertLayout(b, v, enc)
	p.cvt[key] = w
	return w
}
