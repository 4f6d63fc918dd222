package dots

import (
	"iter"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/machine"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// Dot is a tt.dot and what surrounds it.
type Dot struct {
	tt.DotOp
	// Machine is how many warps, lanes and CTAs compute the dot.
	machine.Machine
	// Target is the module's ttg.target, or "".
	Target string

	unit  MatrixUnit
	order map[*ir.Operation]int // numbers the module's dots as they were
}

// In lists the dots of a module of which facts.Machine holds, in the order of the
// program, for a unit to be asked about.
func In(module *ir.Operation, unit MatrixUnit) []Dot {
	m, order := machine.Of(module), make(map[*ir.Operation]int)
	var list []Dot
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Dot) {
			order[op] = len(list)
			list = append(list, Dot{tt.AsDot(op), m.At(op), TargetOf(module), unit, order})
		}
		return ir.Advance
	})
	return list
}

// Scaled is a tt.dot_scaled and what surrounds it.
type Scaled struct {
	tt.DotScaledOp
	// Machine is how many warps, lanes and CTAs compute the dot.
	machine.Machine
	// Target is the module's ttg.target, or "".
	Target string
}

// ScaledIn lists the scaled dots of a module of which facts.Machine holds, in the order
// of the program.
func ScaledIn(module *ir.Operation) (list []Scaled) {
	m := machine.Of(module)
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.DotScaled) {
			list = append(list, Scaled{tt.AsDotScaled(op), m.At(op), TargetOf(module)})
		}
		return ir.Advance
	})
	return list
}

// other is another dot of d's module.
func (d Dot) other(op *ir.Operation) Dot {
	o := d
	o.DotOp = tt.AsDot(op)
	return o
}

// TargetOf is the ttg.target of a module, or "".
func TargetOf(module *ir.Operation) string { return module.StringAttr(ttg.TargetAttr) }

// Elems are the types of the elements of A, B and the result.
func (d Dot) Elems() (a, b, result ir.Type) {
	return ir.ElemOf(d.A().Type()), ir.ElemOf(d.B().Type()), ir.ElemOf(d.Result().Type())
}

// Shape is the shape of the part of the result that one CTA computes.
func (d Dot) Shape() []int64 { return tensors.PerCTA(tensors.Type(d.Result())) }

// Cluster is how the dot's blocked layout spreads the result over the CTAs of a
// cluster: the CGA of the layouts that a Form gives it.
func (d Dot) Cluster() layout.Bases {
	if e, ok := encoding.Get(d.Result().Type()).(*layout.Blocked); ok {
		return e.CGA
	}
	return nil
}

// Chain ranges over the results of the other dots of d's region that are connected
// with d by what dots multiply, nearest first, not looking through transpositions, nor
// through dots that the unit does not take, which it leaves out. Dots that only have a
// constant in common come last. It looks at maxChain operations at most.
func (d Dot) Chain(takes func(Dot) bool) iter.Seq[*ir.Value] {
	return func(yield func(*ir.Value) bool) {
		c := chain{d: d, takes: takes, region: d.Op.Block().Region(), found: []*ir.Operation{d.Op}, seen: map[*ir.Operation]bool{d.Op: true}}
		if !c.follow(yield) {
			return
		}
		for i := 0; i < len(c.constants); i++ {
			for u := range c.constants[i].OneResult().Users() {
				if len(c.seen) > maxChain {
					return
				}
				if c.add(u); !c.follow(yield) {
					return
				}
			}
		}
	}
}

// maxChain is how many operations Chain looks at; the dots of kernels are connected by
// some hundred. Without a bound, the time for straight-line code would be quadratic in its
// dots.
const maxChain = 1024

// chain is what Chain has found.
type chain struct {
	d         Dot
	takes     func(Dot) bool
	region    *ir.Region
	found     []*ir.Operation // in the order in which they are looked at
	next      int             // the first of found that was not looked at
	seen      map[*ir.Operation]bool
	constants []*ir.Operation
}

// add has o looked at, if it may be.
func (c *chain) add(o *ir.Operation) {
	if o == nil || c.seen[o] || len(c.seen) > maxChain || o.Block().Region() != c.region || o.Is(tt.Trans) {
		return
	}
	c.seen[o] = true
	switch {
	case o.Def().Has(ir.ConstantLike):
		c.constants = append(c.constants, o)
	case !o.Is(tt.Dot), tensors.IsMatrix(encoding.Get(o.OneResult().Type())), c.takes(c.d.other(o)):
		c.found = append(c.found, o)
	}
}

// follow looks at what was found, and finds more. It reports false when yield does.
func (c *chain) follow(yield func(*ir.Value) bool) bool {
	for ; c.next < len(c.found); c.next++ {
		o := c.found[c.next]
		if c.next > 0 && IsDot(c.d.unit, o) && !yield(o.OneResult()) {
			return false
		}
		for _, v := range o.Operands() {
			if isFactor(v) {
				c.add(v.Def())
			}
		}
		for _, r := range o.Results() {
			if !isFactor(r) {
				continue
			}
			for u := range r.Users() {
				if len(c.seen) > maxChain {
					break
				}
				c.add(u)
			}
		}
	}
	return true
}

// isFactor reports whether v is a tensor of what dots multiply; others are places and
// masks, which dots have in common without feeding one another.
func isFactor(v *ir.Value) bool {
	t := tensors.Type(v)
	return t != nil && (ir.IsFloat(t.Elem) || ir.BitWidth(t.Elem) == 8)
}

// IsDot reports whether op is a tt.dot or what unit made of one.
func IsDot(unit MatrixUnit, op *ir.Operation) bool {
	if op.Is(tt.Dot) {
		return true
	}
	_, ok := unit.Made(op)
	return ok
}

// Unconverted is v before conversions between layouts: the value to fill a buffer
// with, to which it does not matter which thread of a CTA holds what.
func Unconverted(v *ir.Value) *ir.Value {
	for v.DefIs(ttg.ConvertLayout) {
		src := ttg.AsConvertLayout(v.Def()).Src()
		if !tensors.SameParts(tensors.Type(src), tensors.Type(v)) {
			break
		}
		v = src
	}
	return v
}

// LoadOf is the load of global memory that v comes from, but for conversions between
// layouts; nil if it comes from elsewhere, or if not all CTAs of a cluster can load any
// part, as by a gather, whose rows have a layout of their own.
func LoadOf(v *ir.Value) *ir.Operation {
	for v.DefIs(ttg.ConvertLayout) {
		v = ttg.AsConvertLayout(v.Def()).Src()
	}
	if !v.DefIs(tt.Load) && !v.DefIs(tt.DescriptorLoad) || tensors.Type(v) == nil {
		return nil
	}
	if _, ok := encoding.Get(v.Type()).(*layout.Blocked); !ok {
		return nil
	}
	return v.Def()
}

// SourceBits is the width in bits of the narrowest elements from which an operand
// comes: of itself, of the loads that feed element-wise operations and views, or of
// packed pairs. A unit whose lanes hold as many neighbours along K as fill a
// register with such elements keeps together what is loaded at once.
func SourceBits(operand *ir.Value) int {
	bits := ir.BitWidth(ir.ElemOf(operand.Type()))
	joined := false
	queue := []*ir.Value{operand}
	seen := map[*ir.Operation]bool{}
	for len(queue) > 0 {
		op := queue[len(queue)-1].Def()
		queue = queue[:len(queue)-1]
		if op == nil || seen[op] {
			continue
		}
		seen[op] = true
		switch {
		case op.Is(ttg.Fp4ToFp):
			return 4
		case op.Is(tt.Load), op.Is(tt.DescriptorLoad), op.Is(tt.DescriptorGather):
			if t := tensors.Type(op.OneResult()); t != nil {
				bits = min(bits, ir.BitWidth(t.Elem))
			}
		case op.Is(tt.Join):
			joined = true
		case op.Def().Has(ir.Elementwise) && ir.IsPure(op), isView(op), op.Is(tt.Broadcast), op.Is(ttg.ConvertLayout):
		default:
			continue
		}
		queue = append(queue, op.OperandValues()...)
	}
	if joined {
		// On its way back through the join the width along K is halved.
		bits /= 2
	}
	return bits
}

// isView reports whether op only sees its operand differently.
func isView(op *ir.Operation) bool {
	switch op.Def() {
	case tt.ExpandDims, tt.Reshape, tt.Trans, tt.Join, tt.Split:
		return true
	}
	return false
}

// IsFloat8 reports whether t is a float of 8 bits that tensors in memory have.
func IsFloat8(t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	if !ok {
		return false
	}
	switch f.Kind {
	case ir.F8E4M3FN, ir.F8E5M2, ir.F8E4M3FNUZ, ir.F8E5M2FNUZ:
		return true
	}
	return false
}
