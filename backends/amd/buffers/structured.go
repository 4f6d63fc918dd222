package buffers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// structured rewrites loops, conditions and branches, and reports whether op is one, or
// the end of one, which is rewritten with it.
func (c *canonicalizer) structured(op *ir.Operation) bool {
	switch op.Def() {
	case scf.For:
		c.loop(op)
	case scf.While:
		c.while(op)
	case scf.If:
		c.condition(op)
	case cf.Br:
		dest := op.Successor(0)
		args := c.targets(dest)
		c.fitAs(args, op.OperandValues())
		c.b.At(op)
		cf.AsBr(op).SetDestOperands(c.flat(args, op.OperandValues()))
	case cf.CondBr:
		c.branch(cf.AsCondBr(op))
	case scf.Yield, scf.Condition:
	default:
		return false
	}
	return true
}

// flat are values for places that are carried as two, or as they are: as the pointers of
// to are.
func (c *canonicalizer) flat(to, values []*ir.Value) []*ir.Value {
	list := make([]*ir.Value, 0, len(values))
	for i, v := range values {
		switch {
		case c.reach.isFat(to[i]):
			p := c.pointers[v]
			list = append(list, p.base, p.offset)
		case c.reach.isFat(v):
			list = append(list, c.whole(v))
			c.count++
		default:
			list = append(list, v)
		}
	}
	return list
}

// flatTypes are the types of values that are carried so.
func (c *canonicalizer) flatTypes(values []*ir.Value) []ir.Type {
	list := make([]ir.Type, 0, len(values))
	for _, v := range values {
		if c.reach.isFat(v) {
			list = append(list, ir.ElemOf(v.Type()), c.offsetType(v))
		} else {
			list = append(list, v.Type())
		}
	}
	return list
}

// fitAs notes that offsets of to fit in 32 bits as those of from do.
func (c *canonicalizer) fitAs(to, from []*ir.Value) {
	for i, v := range to {
		if p, ok := c.pointers[v]; ok {
			p.fits = c.pointers[from[i]].fits
			c.pointers[v] = p
		}
	}
}

// replace has made's results take the place of op's.
func (c *canonicalizer) replace(op, made *ir.Operation) {
	results := made.Results()
	for _, v := range op.Results() {
		if c.reach.isFat(v) {
			c.pointers[v] = pointer{base: results[0], offset: results[1]}
			results = results[2:]
			continue
		}
		v.ReplaceAllUsesWith(results[0])
		c.reach.of[results[0]] = c.reach.of[v]
		results = results[1:]
	}
	c.replaced = append(c.replaced, op)
}

// carriesFat reports whether any of values is carried as two.
func (c *canonicalizer) carriesFat(values []*ir.Value) bool {
	for _, v := range values {
		if c.reach.isFat(v) {
			return true
		}
	}
	return false
}

// loop rewrites a counted loop.
func (c *canonicalizer) loop(op *ir.Operation) {
	args := append([]*ir.Value(nil), scf.IterArgs(op)...)
	inits := scf.Inits(op)
	c.b.At(op)
	flat := c.flat(args, inits)
	if !c.carriesFat(args) {
		for i, v := range flat {
			scf.AsFor(op).SetInitArgsAt(i, v)
		}
		c.block(op.Body())
		c.end(forloop.Yield(op), args)
		return
	}
	made := c.b.Create(scf.For, ir.State{
		Operands: append([]*ir.Value{scf.LowerBound(op), scf.UpperBound(op), scf.Step(op)}, flat...),
		Types:    c.flatTypes(args), Attrs: c.renumbered(op.Attrs(), args), Regions: 1,
	})
	scf.AsFor(made).Region().TakeBody(scf.AsFor(op).Region())
	c.split(made.Body(), args)
	c.fitAs(args, inits)
	c.replace(op, made)
	c.fitAs(op.Results(), inits)
	c.block(made.Body())
	c.end(forloop.Yield(made), args)
}

// end has the end of a region give values to places.
func (c *canonicalizer) end(op *ir.Operation, to []*ir.Value) {
	c.b.At(op)
	op.SetOperands(c.flat(to, op.OperandValues()))
}

// renumbered are attributes of a loop that speak of the arguments of its body, by number.
// What is said of pointers that are carried as two is said of both.
func (c *canonicalizer) renumbered(attrs []ir.NamedAttr, args []*ir.Value) []ir.NamedAttr {
	var list []ir.NamedAttr
	for _, a := range attrs {
		name, number, ok := strings.Cut(a.Name, "_arg")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n == 0 || n > len(args) {
			list = append(list, a)
			continue
		}
		at := n + (len(c.flatTypes(args[:n-1])) - (n - 1))
		list = append(list, ir.NamedAttr{Name: fmt.Sprintf("%s_arg%d", name, at), Attr: a.Attr})
		if c.reach.isFat(args[n-1]) {
			list = append(list, ir.NamedAttr{Name: fmt.Sprintf("%s_arg%d", name, at+1), Attr: a.Attr})
		}
	}
	return list
}

// while rewrites a loop with a test.
func (c *canonicalizer) while(op *ir.Operation) {
	loop := scf.AsWhile(op)
	before := append([]*ir.Value(nil), loop.Before().First().Args()...)
	after := append([]*ir.Value(nil), loop.After().First().Args()...)
	inits := append([]*ir.Value(nil), loop.Inits()...)
	c.b.At(op)
	made := c.b.Create(scf.While, ir.State{Operands: c.flat(before, inits), Types: c.flatTypes(op.Results()), Attrs: op.Attrs(), Regions: 2})
	for i, region := range op.Regions() {
		made.Region(i).TakeBody(region)
	}
	loop = scf.AsWhile(made)
	c.split(loop.Before().First(), before)
	c.fitAs(before, inits)
	c.split(loop.After().First(), after)
	c.block(loop.Before().First())
	condition := scf.AsCondition(loop.Before().First().Terminator())
	given := append([]*ir.Value(nil), condition.Args()...)
	c.b.At(condition.Op)
	condition.SetArgs(c.flat(after, given))
	c.fitAs(after, given)
	c.replace(op, made)
	c.fitAs(op.Results(), given)
	c.block(loop.After().First())
	c.end(loop.After().First().Terminator(), before)
}

// condition rewrites a condition.
func (c *canonicalizer) condition(op *ir.Operation) {
	results := op.Results()
	var first []*ir.Value
	for _, region := range op.Regions() {
		if region.First() == nil {
			continue
		}
		c.block(region.First())
		yield := region.First().Terminator()
		if first == nil {
			first = append(first, yield.OperandValues()...)
		}
		c.end(yield, results)
	}
	if !c.carriesFat(results) {
		return
	}
	c.b.At(op)
	made := c.b.Create(scf.If, ir.State{Operands: op.OperandValues(), Types: c.flatTypes(results), Attrs: op.Attrs(), Regions: op.NumRegions()})
	for i, region := range op.Regions() {
		made.Region(i).TakeBody(region)
	}
	c.replace(op, made)
	c.fitAs(op.Results(), first)
}

// targets are the arguments of a block as they were.
func (c *canonicalizer) targets(b *ir.Block) []*ir.Value {
	var list []*ir.Value
	args := b.Args()
	for i := 0; i < len(args); i++ {
		list = append(list, args[i])
		if c.reach.isFat(args[i]) {
			i += 2
		}
	}
	return list
}

// branch rewrites a branch.
func (c *canonicalizer) branch(op cf.CondBrOp) {
	yes, no := c.targets(op.Op.Successor(0)), c.targets(op.Op.Successor(1))
	c.fitAs(yes, op.TrueDestOperands())
	c.fitAs(no, op.FalseDestOperands())
	c.b.At(op.Op)
	given, other := c.flat(yes, op.TrueDestOperands()), c.flat(no, op.FalseDestOperands())
	op.SetTrueDestOperands(given)
	op.SetFalseDestOperands(other)
}
