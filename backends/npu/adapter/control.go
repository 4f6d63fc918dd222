package adapter

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// carry is how a carried value is carried: by its base if it has a form, and by itself
// unless it is a pointer with a form. A pointer without one is carried as offsets.
type carry struct{ base, self bool }

func (c *converter) carry(v *ir.Value) carry {
	f := c.a.of(v)
	based := f != nil && sources(v) != nil && compound(v.Type())
	return carry{base: based, self: !based || !tt.PtrLike.Test(v.Type())}
}

// parts are the new values that stand for an old one where it is carried as how says.
func (c *converter) parts(v *ir.Value, how carry) []*ir.Value {
	var out []*ir.Value
	if how.base {
		out = append(out, c.sum(c.a.of(v).base))
	}
	if how.self {
		if tt.PtrLike.Test(v.Type()) {
			out = append(out, c.offsets(v))
		} else {
			out = append(out, c.value(v))
		}
	}
	return out
}

// take gives an old value the new ones that stand for it, and returns the others.
func (c *converter) take(v *ir.Value, how carry, from []*ir.Value) []*ir.Value {
	if how.base {
		c.bases[v], from = from[0], from[1:]
	}
	if how.self {
		c.values[v], from = from[0], from[1:]
	}
	return from
}

// refuseUnknown refuses carried pointers that no one argument is known for.
func (c *converter) refuseUnknown(op *ir.Operation, vs []*ir.Value) {
	for _, v := range vs {
		if !tt.PtrLike.Test(v.Type()) {
			continue
		}
		if _, tensor := v.Type().(*ir.TensorType); c.a.rootOf(v) == nil || !tensor && c.a.of(v) == nil {
			c.refuse(op, "carry the offset in place of the pointer", "it is not known which argument of the kernel a pointer points into that this carries")
		}
	}
}

// all are the parts of several values.
func (c *converter) all(vs []*ir.Value, how []carry) []*ir.Value {
	var out []*ir.Value
	for i, v := range vs {
		out = append(out, c.parts(v, how[i])...)
	}
	return out
}

func (c *converter) takeAll(vs []*ir.Value, how []carry, from []*ir.Value) {
	for i, v := range vs {
		from = c.take(v, how[i], from)
	}
}

func (c *converter) carries(vs []*ir.Value) []carry {
	out := make([]carry, len(vs))
	for i, v := range vs {
		out[i] = c.carry(v)
	}
	return out
}

// types are those of the parts of several values.
func (c *converter) types(vs []*ir.Value, how []carry) []ir.Type {
	var out []ir.Type
	for i, v := range vs {
		if how[i].base {
			out = append(out, c.Context().Index())
		}
		if how[i].self {
			t := v.Type()
			if tt.PtrLike.Test(t) {
				t = c.Context().WithElem(t, c.Context().I64())
			}
			out = append(out, t)
		}
	}
	return out
}

// loop converts an scf.for.
func (c *converter) loop(op *ir.Operation) {
	args := scf.IterArgs(op)
	c.refuseUnknown(op, args)
	how := c.carries(args)
	inits := c.all(scf.Inits(op), how)
	n := scf.NewFor(c.Builder, c.value(scf.LowerBound(op)), c.value(scf.UpperBound(op)), c.value(scf.Step(op)), inits...)
	c.values[scf.InductionVar(op)] = scf.InductionVar(n)
	c.takeAll(args, how, scf.IterArgs(n))
	c.region(op.Body(), n.Body(), how)
	c.takeAll(op.Results(), how, n.Results())
}

// region converts a block that ends in an scf.yield of values carried as how says.
func (c *converter) region(from, to *ir.Block, how []carry) {
	p := c.Save()
	c.SetToEnd(to)
	end := from.Terminator()
	for op := range from.Ops() {
		if op != end {
			c.Loc = op.Loc()
			c.operation(op)
		}
	}
	c.Loc = end.Loc()
	scf.NewYield(c.Builder, c.all(end.OperandValues(), how)...)
	c.Restore(p)
}

// conditional converts an scf.if.
func (c *converter) conditional(op *ir.Operation) {
	c.refuseUnknown(op, op.Results())
	how := c.carries(op.Results())
	v := scf.AsIf(op)
	n := scf.NewIf(c.Builder, c.value(v.Condition()), !v.ElseRegion().Empty(), c.types(op.Results(), how)...)
	for i, r := range op.Regions() {
		if !r.Empty() {
			c.region(r.First(), n.Region(i).First(), how)
		}
	}
	c.takeAll(op.Results(), how, n.Results())
}

// while converts an scf.while: the second region's arguments and the results are what its
// condition passes on, and its own arguments what it begins with and what an iteration yields.
func (c *converter) while(op *ir.Operation) {
	v := scf.AsWhile(op)
	before, after := v.Before().First(), v.After().First()
	c.refuseUnknown(op, before.Args())
	c.refuseUnknown(op, op.Results())
	begun, passed := c.carries(before.Args()), c.carries(op.Results())
	n := scf.NewWhile(c.Builder, c.all(op.OperandValues(), begun), c.types(op.Results(), passed)...)
	w := scf.AsWhile(n)
	c.takeAll(before.Args(), begun, w.Before().First().Args())
	c.takeAll(after.Args(), passed, w.After().First().Args())
	p := c.Save()
	c.SetToEnd(w.Before().First())
	end := before.Terminator()
	for o := range before.Ops() {
		if o != end {
			c.Loc = o.Loc()
			c.operation(o)
		}
	}
	cond := scf.AsCondition(end)
	scf.NewCondition(c.Builder, c.value(cond.Condition()), c.all(cond.Args(), passed)...)
	c.Restore(p)
	c.region(after, w.After().First(), begun)
	c.takeAll(op.Results(), passed, n.Results())
}
