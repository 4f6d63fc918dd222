package npuir

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// carried are buffers for the tensors among values, nil for the others.
func (l *lowering) carried(vs []*ir.Value) []*view {
	out := make([]*view, len(vs))
	for i, v := range vs {
		if isTensor(v) {
			out[i] = l.alloc(UB, ir.ShapeOf(v.Type()), ir.ElemOf(v.Type()))
		}
	}
	return out
}

// stands gives values their buffers.
func (l *lowering) stands(vs []*ir.Value, buffers []*view) {
	for i, b := range buffers {
		if b != nil {
			l.values[vs[i]] = operand{view: b}
		}
	}
}

// assign writes tensors to buffers, all at once: where one is in a buffer that is written,
// it is copied out first.
func (l *lowering) assign(user *ir.Operation, vs []*ir.Value, buffers []*view) {
	from := make([]operand, len(vs))
	for i, b := range buffers {
		if b == nil {
			continue
		}
		from[i] = l.of(user, vs[i])
		if v := from[i].view; v != nil && v.value != b.value {
			for _, other := range buffers {
				if other != nil && other.base == v.base {
					from[i].view = l.fresh(from[i], b.shape, l.elem(b))
					break
				}
			}
		}
	}
	for i, b := range buffers {
		if b != nil && (from[i].view == nil || from[i].view.value != b.value) {
			l.put(from[i], b)
		}
	}
}

// control lowers a loop or conditional: what it carries of tensors is in buffers that are
// written where it begins and at the ends of its regions.
func (l *lowering) control(op *ir.Operation) {
	if op.Is(scf.For) && l.atomicLoop(op) {
		return
	}
	if onTensors(op) {
		l.dead = append(l.dead, op)
	}
	switch op.Def() {
	case scf.For:
		l.loop(op)
	case scf.If:
		l.conditional(op)
	case scf.While:
		l.while(op)
	}
}

func (l *lowering) loop(op *ir.Operation) {
	buffers := l.carried(scf.IterArgs(op))
	for i := range buffers {
		if l.accumulates(op, i) {
			t := scf.IterArg(op, i).Type()
			buffers[i].base.Def().Erase()
			buffers[i] = l.alloc(L0C, ir.ShapeOf(t), ir.ElemOf(t))
			l.residents = append(l.residents, resident{op, op.Result(i), sizeL0C(t)})
		}
	}
	l.assign(op, scf.Inits(op), buffers)
	l.stands(scf.IterArgs(op), buffers)
	l.block(op.Body())
	l.atEnd(op.Body(), buffers)
	l.SetAfter(op)
	for i, b := range buffers {
		if l.in(b, L0C) && !storedOnly(op.Result(i)) {
			buffers[i] = l.fromL0C(b)
		}
	}
	l.stands(op.Results(), buffers)
}

// atEnd writes what a block yields of tensors, and has it yield the rest.
func (l *lowering) atEnd(b *ir.Block, buffers []*view) {
	end := b.Terminator()
	l.At(end)
	l.assign(end, end.OperandValues(), buffers)
	end.SetOperands(scalars(end.OperandValues()))
}

func (l *lowering) conditional(op *ir.Operation) {
	buffers := l.carried(op.Results())
	for _, r := range op.Regions() {
		if !r.Empty() {
			l.block(r.First())
			l.atEnd(r.First(), buffers)
		}
	}
	l.stands(op.Results(), buffers)
}

func (l *lowering) while(op *ir.Operation) {
	v := scf.AsWhile(op)
	before, after := v.Before().First(), v.After().First()
	in, out := l.carried(before.Args()), l.carried(after.Args())
	l.assign(op, op.OperandValues(), in)
	l.stands(before.Args(), in)
	l.block(before)
	end := before.Terminator()
	l.At(end)
	l.assign(end, scf.AsCondition(end).Args(), out)
	end.SetOperands(scalars(end.OperandValues()))
	l.stands(after.Args(), out)
	l.block(after)
	l.atEnd(after, in)
	l.stands(op.Results(), out)
}

// withoutTensors makes a loop or conditional anew without the tensors that it carries, and
// moves its body there.
func (l *lowering) withoutTensors(op *ir.Operation) {
	l.At(op)
	var made *ir.Operation
	switch op.Def() {
	case scf.For:
		made = scf.NewFor(l.Builder, scf.LowerBound(op), scf.UpperBound(op), scf.Step(op), scalars(scf.Inits(op))...)
	case scf.If:
		v := scf.AsIf(op)
		made = scf.NewIf(l.Builder, v.Condition(), !v.ElseRegion().Empty(), types(scalars(op.Results()))...)
	case scf.While:
		made = scf.NewWhile(l.Builder, scalars(op.OperandValues()), types(scalars(op.Results()))...)
	}
	for _, a := range op.Attrs() {
		made.SetAttr(a.Name, a.Attr)
	}
	for i, r := range op.Regions() {
		if r.Empty() {
			continue
		}
		from, to := r.First(), made.Region(i).First()
		for i, v := range scalars(from.Args()) {
			v.ReplaceAllUsesWith(to.Arg(i))
		}
		to.TakeOps(from.First())
	}
	for i, v := range scalars(op.Results()) {
		v.ReplaceAllUsesWith(made.Result(i))
	}
}

// scalars are the values that are not tensors.
func scalars(vs []*ir.Value) []*ir.Value {
	var out []*ir.Value
	for _, v := range vs {
		if !isTensor(v) {
			out = append(out, v)
		}
	}
	return out
}

func types(vs []*ir.Value) []ir.Type {
	out := make([]ir.Type, len(vs))
	for i, v := range vs {
		out[i] = v.Type()
	}
	return out
}
