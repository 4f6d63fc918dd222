package adapter

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// form is an integer or pointer, or a tensor of such, that is linear in the indices:
// base + axes[0]*i0 + axes[1]*i1 + …, in elements, and what remainders and quotients of
// indices add to it. A scalar has no axes.
type form struct {
	root  *ir.Value // the kernel's argument that a pointer points into; nil for integers
	base  poly
	axes  []poly
	wraps []wrap // at most one for each axis
}

// uniform reports whether all elements are the same.
func (f *form) uniform() bool {
	return len(f.wraps) == 0 && !slices.ContainsFunc(f.axes, func(p poly) bool { return len(p) > 0 })
}

// analysis finds the forms of a function's values. Values that a loop or conditional
// carries, and pointers that are chosen there, are values of their own: the base of
// their form is the value itself, and its axes are those of what it begins with.
type analysis struct {
	algebra
	forms map[*ir.Value]*form
	// irregular are carried values whose form changes on the way.
	irregular map[*ir.Value]bool
}

// analyze readies the analysis of a function.
func analyze(f *ir.Operation) *analysis {
	a := &analysis{algebra: algebra{make(map[*ir.Value]int)}, irregular: make(map[*ir.Value]bool)}
	var carried []*ir.Value
	ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
		if op.Is(scf.For) || op.Is(scf.If) || op.Is(scf.While) {
			carried = append(carried, op.Results()...)
			for _, r := range op.Regions() {
				for b := range r.Blocks() {
					carried = append(carried, b.Args()...)
				}
			}
		}
		return ir.Advance
	})
	carried = slices.DeleteFunc(carried, func(v *ir.Value) bool { return !compound(v.Type()) || sources(v) == nil })
	for changed := true; changed; {
		changed = false
		a.forms = make(map[*ir.Value]*form)
		for _, v := range carried {
			if !a.irregular[v] && !a.keepsForm(v) {
				a.irregular[v], changed = true, true
			}
		}
	}
	return a
}

// compound reports whether values of a type are more than a scalar of the kernel:
// pointers, and tensors of integers.
func compound(t ir.Type) bool {
	_, tensor := t.(*ir.TensorType)
	return tt.PtrLike.Test(t) || tensor && integer(ir.ElemOf(t))
}

// width is how many bits of memory an element takes.
func width(t ir.Type) int { return max(ir.BitWidth(t), 8) }

func integer(t ir.Type) bool {
	it, ok := t.(*ir.IntegerType)
	_, index := t.(*ir.IndexType)
	return ok && it.Width > 1 || index
}

// sources are the values that a carried value may have; nil for one that is not carried.
func sources(v *ir.Value) []*ir.Value {
	if op := v.Def(); op != nil {
		switch {
		case op.Is(scf.For):
			return []*ir.Value{scf.Inits(op)[v.Index()], op.Body().Terminator().Operand(v.Index())}
		case op.Is(scf.If):
			return []*ir.Value{scf.AsIf(op).ThenRegion().First().Terminator().Operand(v.Index()), scf.AsIf(op).ElseRegion().First().Terminator().Operand(v.Index())}
		case op.Is(scf.While):
			return []*ir.Value{passed(op, v)}
		}
		return nil
	}
	op := v.Block().Parent()
	switch {
	case op.Is(scf.For) && scf.CarriedIndex(v) >= 0:
		i := scf.CarriedIndex(v)
		return []*ir.Value{scf.Inits(op)[i], op.Body().Terminator().Operand(i)}
	case op.Is(scf.While) && v.Block().Region() == scf.AsWhile(op).Before():
		return []*ir.Value{op.Operand(v.Index()), scf.AsWhile(op).After().First().Terminator().Operand(v.Index())}
	case op.Is(scf.While):
		return []*ir.Value{passed(op, v)}
	}
	return nil
}

// passed is what the condition of a while loop passes on to a result, or to an argument of
// the second region.
func passed(loop *ir.Operation, v *ir.Value) *ir.Value {
	return scf.AsCondition(scf.AsWhile(loop).Before().First().Terminator()).Args()[v.Index()]
}

// keepsForm reports whether all that a carried value may be has the same root and axes,
// and axes that are known outside of what carries it.
func (a *analysis) keepsForm(v *ir.Value) bool {
	first := a.of(v)
	if first == nil {
		return false
	}
	carrier := v.Def()
	if carrier == nil {
		carrier = v.Block().Parent()
	}
	for _, p := range first.polys() {
		for _, t := range p {
			if slices.ContainsFunc(t.factors, func(f *ir.Value) bool { return within(carrier, f) }) {
				return false
			}
		}
	}
	for _, s := range sources(v) {
		f := a.of(s)
		if f == nil || f.root != first.root || !slices.EqualFunc(f.axes, first.axes, equal) || !equalWraps(f.wraps, first.wraps) {
			return false
		}
	}
	return true
}

// within reports whether a value is defined in a region of op.
func within(op *ir.Operation, v *ir.Value) bool {
	for at := v.Block().Parent(); at != nil; at = at.Parent() {
		if at == op {
			return true
		}
	}
	return false
}

// of is the form of a value, or nil for one that has none.
func (a *analysis) of(v *ir.Value) *form {
	if f, ok := a.forms[v]; ok {
		return f
	}
	a.forms[v] = nil // of what is on the way
	f := a.find(v)
	a.forms[v] = f
	return f
}

func (a *analysis) find(v *ir.Value) *form {
	if sources := sources(v); sources != nil && compound(v.Type()) {
		if a.irregular[v] {
			return nil
		}
		first := a.of(sources[0])
		if first == nil {
			return nil
		}
		return &form{first.root, value(v), first.axes, first.wraps}
	}
	op := v.Def()
	if op == nil {
		switch {
		case tt.ScalarPtr.Test(v.Type()):
			return &form{root: v}
		case integer(v.Type()):
			return &form{base: value(v)}
		}
		return nil
	}
	if f := a.computed(op); f != nil {
		return f
	}
	if integer(v.Type()) { // a scalar that the kernel computes
		return &form{base: value(v)}
	}
	return nil
}

// computed is the form of an operation's result, as far as it follows from operands.
func (a *analysis) computed(op *ir.Operation) *form {
	unary := func() *form { return a.of(op.OneOperand()) }
	switch op.Def() {
	case arith.Constant:
		n, ok := arith.ConstantInt(op.OneResult())
		if !ok || !integer(ir.ElemOf(op.OneResult().Type())) {
			return nil
		}
		return &form{base: number(n), axes: make([]poly, len(ir.ShapeOf(op.OneResult().Type())))}
	case arith.AddI, tt.AddPtr:
		return a.combine(op, a.add)
	case arith.SubI:
		return a.combine(op, a.sub)
	case arith.MulI:
		x, y, _ := op.Pair()
		return a.product(a.of(x), a.of(y))
	case arith.ShLI:
		x, y, _ := op.Pair()
		n, ok := arith.ConstantInt(y)
		if f := a.of(x); ok && n >= 0 && n < 63 && f != nil {
			return a.product(f, &form{base: number(1 << n), axes: make([]poly, len(f.axes))})
		}
	case arith.RemSI, arith.DivSI:
		x, y, _ := op.Pair()
		return a.divided(a.of(x), a.of(y), op.Is(arith.DivSI))
	case arith.Select:
		return a.chosen(arith.AsSelect(op))
	case arith.ExtSI, arith.IndexCast:
		if integer(ir.ElemOf(op.OneOperand().Type())) && integer(ir.ElemOf(op.OneResult().Type())) {
			return unary()
		}
	case tt.Splat:
		if f := unary(); f != nil {
			return &form{root: f.root, base: f.base, axes: make([]poly, len(ir.ShapeOf(op.OneResult().Type())))}
		}
	case tt.Bitcast: // of pointers; their accesses convert elements
		if from := tt.PointeeOf(op.OneOperand().Type()); from != nil && width(from) == width(tt.PointeeOf(op.OneResult().Type())) {
			return unary()
		}
	case tt.MakeRange:
		return &form{base: number(tt.AsMakeRange(op).Start()), axes: []poly{number(1)}}
	case tt.ExpandDims:
		if f := unary(); f != nil {
			axis := int(tt.AsExpandDims(op).Axis())
			wraps := moveWraps(f.wraps, func(i int) int {
				if i >= axis {
					i++
				}
				return i
			})
			return &form{f.root, f.base, slices.Insert(slices.Clone(f.axes), axis, nil), wraps}
		}
	case tt.Broadcast:
		if f := unary(); f != nil {
			from, to := ir.ShapeOf(op.OneOperand().Type()), ir.ShapeOf(op.OneResult().Type())
			axes, wraps := slices.Clone(f.axes), f.wraps
			for i := range axes {
				if from[i] != to[i] {
					axes[i] = nil
					if slices.ContainsFunc(wraps, func(w wrap) bool { return w.axis == i }) {
						return nil // of one index, so that it is a scalar
					}
				}
			}
			return &form{f.root, f.base, axes, wraps}
		}
	case tt.Trans:
		if f := unary(); f != nil {
			order := tt.AsTrans(op).Order()
			axes := make([]poly, len(f.axes))
			for i, from := range order {
				axes[i] = f.axes[from]
			}
			return &form{f.root, f.base, axes, moveWraps(f.wraps, func(i int) int { return slices.Index(order, int64(i)) })}
		}
	}
	return nil
}

// chosen is the form of pointers that a scalar condition chooses: they differ in their base.
func (a *analysis) chosen(v arith.SelectOp) *form {
	if _, tensor := v.Condition().Type().(*ir.TensorType); tensor || !tt.PtrLike.Test(v.Result().Type()) {
		return nil
	}
	x, y := a.of(v.TrueValue()), a.of(v.FalseValue())
	if x == nil || y == nil || x.root != y.root || !slices.EqualFunc(x.axes, y.axes, equal) || !equalWraps(x.wraps, y.wraps) {
		return nil
	}
	return &form{x.root, value(v.Result()), x.axes, x.wraps}
}

// combine is the sum or difference of both operands, of which the first may be a pointer.
func (a *analysis) combine(op *ir.Operation, with func(x, y poly) poly) *form {
	first, second, _ := op.Pair()
	x, y := a.of(first), a.of(second)
	if x == nil || y == nil || y.root != nil {
		return nil
	}
	wraps, ok := a.addWraps(x.wraps, y.wraps, with)
	if !ok {
		return nil
	}
	out := &form{x.root, with(x.base, y.base), make([]poly, len(x.axes)), wraps}
	for i := range out.axes {
		out.axes[i] = with(x.axes[i], y.axes[i])
	}
	return out
}

// product is that of two integers, one of which has the same value in all elements.
func (a *analysis) product(x, y *form) *form {
	if x == nil || y == nil {
		return nil
	}
	if !y.uniform() {
		x, y = y, x
	}
	if !y.uniform() {
		return nil
	}
	out := &form{base: a.mul(x.base, y.base), axes: make([]poly, len(x.axes)), wraps: a.scaleWraps(x.wraps, y.base)}
	for i := range out.axes {
		out.axes[i] = a.mul(x.axes[i], y.base)
	}
	return out
}

// rootOf is the kernel's argument that pointers point into, whether they have a form or
// not; nil where it is not one argument.
func (a *analysis) rootOf(v *ir.Value) *ir.Value {
	var root *ir.Value
	seen := make(map[*ir.Value]bool)
	for work := []*ir.Value{v}; len(work) > 0; {
		v, work = work[len(work)-1], work[:len(work)-1]
		if seen[v] {
			continue
		}
		seen[v] = true
		if f := a.of(v); f != nil {
			if root != nil && f.root != root {
				return nil
			}
			root = f.root
			continue
		}
		from := sources(v)
		if op := v.Def(); from == nil && op != nil {
			switch op.Def() {
			case tt.AddPtr:
				from = []*ir.Value{tt.AsAddPtr(op).Ptr()}
			case tt.Splat, tt.Broadcast, tt.ExpandDims, tt.Trans, tt.Reshape, tt.Bitcast:
				from = []*ir.Value{op.OneOperand()}
			case arith.Select:
				from = []*ir.Value{arith.AsSelect(op).TrueValue(), arith.AsSelect(op).FalseValue()}
			}
		}
		if len(from) == 0 {
			return nil
		}
		work = append(work, from...)
	}
	return root
}
