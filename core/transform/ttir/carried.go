package ttir

import (
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/std"
)

// parts is a value of a compound type taken apart.
type parts interface {
	// carried are the values that stand for it where a loop, condition or
	// function hands it on.
	carried() []*ir.Value
	// with is the same compound with other carried values.
	with(carried []*ir.Value) parts
	// fits reports whether the compound may be handed on as q: what is not
	// carried must be the same.
	fits(q parts) bool
}

// expander replaces values of one compound type by their parts throughout a
// function: it visits operations in order, knows how loops and conditions hand
// values on, and leaves all others to visit.
type expander struct {
	of   map[*ir.Value]parts
	b    *ir.Builder
	dead []*ir.Operation // in order; erased at the end, when nothing refers to them
	// compound reports whether values of a type are expanded.
	compound func(ir.Type) bool
	// what names the type in messages.
	what string
	// visit rewrites an operation that makes or uses a compound value; false
	// means that it knows no such operation.
	visit func(op *ir.Operation) bool
	// stays reports whether an operation that makes or uses a compound value is
	// left as it is; nil: none is.
	stays func(op *ir.Operation) bool
}

func (x *expander) function(f *ir.Operation) error {
	if f.Body() == nil {
		return nil
	}
	for _, r := range f.Regions() {
		if err := x.region(r); err != nil {
			return err
		}
	}
	return nil
}

// finish erases what was replaced and says how much that was.
func (x *expander) finish() int {
	for _, op := range slices.Backward(x.dead) {
		op.Erase()
	}
	return len(x.dead)
}

func (x *expander) region(r *ir.Region) error {
	for b := range r.Blocks() {
		for op := range b.Ops() {
			if err := x.operation(op); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *expander) operation(op *ir.Operation) error {
	if x.stays != nil && x.stays(op) {
		return nil
	}
	for i, v := range op.Operands() {
		if x.compound(v.Type()) && x.of[v] == nil {
			return diag.Errorf(std.PosOf(op.Loc()), "operand %d of %s is %s that is not made in the kernel", i, op.Name(), x.what).
				WithHelp("it can be made, read, written and carried by loops and conditions only")
		}
	}
	x.b.At(op)
	switch op.Def() {
	case scf.For:
		return x.loop(op)
	case scf.While:
		return x.while(op)
	case scf.If:
		return x.choice(op)
	case scf.Yield, scf.Condition:
		return nil // the operation around it expands them
	}
	if x.visit(op) {
		x.dead = append(x.dead, op)
		return nil
	}
	for i, v := range op.Operands() {
		if x.compound(v.Type()) {
			return diag.Errorf(std.PosOf(op.Loc()), "%s cannot be operand %d of %s", x.what, i, op.Name()).
				WithHelp("it can be made, read, written and carried by loops and conditions only")
		}
	}
	for _, r := range op.Regions() {
		if err := x.region(r); err != nil {
			return err
		}
	}
	return nil
}

// flat replaces each compound of vs by its carried values.
func (x *expander) flat(vs []*ir.Value) []*ir.Value {
	var out []*ir.Value
	for _, v := range vs {
		if p := x.of[v]; p != nil {
			out = append(out, p.carried()...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

func typesOf(vs []*ir.Value) []ir.Type {
	ts := make([]ir.Type, len(vs))
	for i, v := range vs {
		ts[i] = v.Type()
	}
	return ts
}

func (x *expander) any(vs []*ir.Value) bool {
	return slices.ContainsFunc(vs, func(v *ir.Value) bool { return x.of[v] != nil })
}

// expandArgs gives b, from argument from on, arguments for the carried values
// of each compound that like has; the compound's own argument stays until
// dropArgs.
func (x *expander) expandArgs(b *ir.Block, from int, like []*ir.Value) {
	at := from
	for _, v := range like {
		p := x.of[v]
		if p == nil {
			at++
			continue
		}
		old := b.Arg(at)
		values := slices.Clone(p.carried())
		for k, c := range values {
			values[k] = b.InsertArg(at+1+k, c.Type(), old.Loc())
		}
		x.of[old] = p.with(values)
		at += 1 + len(values)
	}
}

// dropArgs erases the arguments that expandArgs replaced. What still uses them
// is dead.
func (x *expander) dropArgs(b *ir.Block) {
	for i := b.NumArgs() - 1; i >= 0; i-- {
		a := b.Arg(i)
		if x.of[a] == nil {
			continue
		}
		for u := range a.Uses() {
			u.Set(nil)
		}
		b.EraseArg(i)
	}
}

// replace lets n's results stand for those of old, whose values are as like's.
func (x *expander) replace(old, n *ir.Operation, like []*ir.Value) {
	k := 0
	for i, v := range like {
		if p := x.of[v]; p != nil {
			size := len(p.carried())
			x.of[old.Result(i)] = p.with(n.Results()[k : k+size])
			k += size
			continue
		}
		old.Result(i).ReplaceAllUsesWith(n.Result(k))
		k++
	}
	x.dead = append(x.dead, old)
}

// end expands what a terminator hands on, from operand skip on. Which of it
// nobody looks at, unread tells; such a value may be any.
func (x *expander) end(t *ir.Operation, skip int, like []*ir.Value, unread func(i int) bool) error {
	vs := t.OperandValues()
	for i, v := range vs[skip:] {
		if p, q := x.of[v], x.of[like[i]]; p != nil && q != nil && !p.fits(q) && !unread(i) {
			return diag.Errorf(std.PosOf(t.Loc()), "%s changes more than its offsets across a loop or condition", x.what).
				WithHelp("make it inside, or advance the one that is carried")
		}
	}
	t.SetOperands(append(vs[:skip:skip], x.flat(vs[skip:])...))
	if t.Segments() != nil {
		t.SetSegments([]int32{int32(skip), int32(t.NumOperands() - skip)})
	}
	return nil
}

// read is for end where every value counts.
func read(int) bool { return false }

func (x *expander) loop(op *ir.Operation) error {
	inits := scf.Inits(op)
	if !x.any(inits) {
		return x.region(scf.AsFor(op).Region())
	}
	fresh := make([]bool, len(inits)) // made anew in each round
	for i, a := range scf.IterArgs(op) {
		fresh[i] = !a.HasUses() && !op.Result(i).HasUses()
	}
	flat := x.flat(inits)
	n := x.b.Create(scf.For, ir.State{
		Operands: append([]*ir.Value{scf.LowerBound(op), scf.UpperBound(op), scf.Step(op)}, flat...), Types: typesOf(flat), Attrs: op.Attrs(), Regions: 1,
	})
	scf.AsFor(n).Region().TakeBody(scf.AsFor(op).Region())
	body := n.Body()
	x.expandArgs(body, 1, inits)
	if err := x.region(scf.AsFor(n).Region()); err != nil {
		return err
	}
	if err := x.end(body.Terminator(), 0, inits, func(i int) bool { return fresh[i] }); err != nil {
		return err
	}
	x.dropArgs(body)
	x.replace(op, n, inits)
	return nil
}

func (x *expander) while(op *ir.Operation) error {
	loop := scf.AsWhile(op)
	inits := loop.Inits()
	before, after := loop.Before().First(), loop.After().First()
	x.expandArgs(before, 0, inits)
	if err := x.region(loop.Before()); err != nil {
		return err
	}
	cond := scf.AsCondition(before.Terminator())
	passed := cond.Args()
	if !x.any(inits) && !x.any(passed) {
		return x.region(loop.After())
	}
	x.expandArgs(after, 0, passed)
	if err := x.region(loop.After()); err != nil {
		return err
	}
	if err := x.end(after.Terminator(), 0, inits, read); err != nil {
		return err
	}
	if err := x.end(cond.Op, 1, passed, read); err != nil {
		return err
	}
	x.b.At(op)
	n := x.b.Create(scf.While, ir.State{
		Operands: x.flat(inits), Types: typesOf(cond.Args()), Attrs: op.Attrs(), Regions: 2,
	})
	for i := range 2 {
		n.Region(i).TakeBody(op.Region(i))
	}
	x.dropArgs(before)
	x.dropArgs(after)
	x.replace(op, n, passed)
	return nil
}

func (x *expander) choice(op *ir.Operation) error {
	for _, r := range op.Regions() {
		if err := x.region(r); err != nil {
			return err
		}
	}
	if op.NumResults() == 0 {
		return nil
	}
	yes := scf.AsIf(op).ThenRegion().First().Terminator().OperandValues()
	if !x.any(yes) {
		return nil
	}
	for _, r := range op.Regions() {
		if err := x.end(r.First().Terminator(), 0, yes, func(i int) bool { return !op.Result(i).HasUses() }); err != nil {
			return err
		}
	}
	x.b.At(op)
	n := x.b.Create(scf.If, ir.State{
		Operands: op.OperandValues(), Types: typesOf(x.flat(yes)), Attrs: op.Attrs(), Regions: 2,
	})
	for i := range 2 {
		n.Region(i).TakeBody(op.Region(i))
	}
	x.replace(op, n, yes)
	return nil
}
