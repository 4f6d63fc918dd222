package npusim

import (
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// forLoop writes a loop: its carried values have registers, which are the results' after it.
func (w *writer) forLoop(op *ir.Operation) {
	loop := scf.AsFor(op)
	body := loop.Region().First()
	iv := body.Arg(0)
	carried := make([]string, len(loop.InitArgs()))
	w.define(op, iv)
	w.move(w.regs[iv], w.value(op, loop.LowerBound()))
	for i, init := range loop.InitArgs() {
		w.define(op, body.Arg(i+1))
		carried[i] = w.regs[body.Arg(i+1)]
		w.move(carried[i], w.value(op, init))
	}
	head, inside, end := w.label(), w.label(), w.label()
	less := w.register("i1")
	predicate := 2 // slt
	if loop.UnsignedCmp() {
		predicate = 6 // ult
	}
	place := w.place
	w.mark(head)
	w.emit("%s i1 = arith.cmpi %s %s predicate=%d", less, w.regs[iv], w.value(op, loop.UpperBound()), predicate)
	w.emit("branch %s %s %s", less, inside, end)
	w.mark(inside)
	w.block(body)
	w.at(body.Last())
	w.moves(body.Last(), carried, scf.AsYield(body.Last()).Results())
	w.place = place
	w.emit("%s %s = arith.addi %s %s", w.regs[iv], w.typ(w.regs[iv]), w.regs[iv], w.value(op, loop.Step()))
	w.emit("jump %s", head)
	w.mark(end)
	for i, r := range op.Results() {
		w.regs[r] = carried[i]
	}
}

// moves copies values to registers at once: what is also a target is copied first.
func (w *writer) moves(op *ir.Operation, to []string, from []*ir.Value) {
	sources := make([]string, len(to))
	for i, v := range from {
		sources[i] = w.value(op, v)
		for k, t := range to {
			if t == sources[i] && k != i {
				copied := w.register(w.typ(t))
				w.move(copied, sources[i])
				sources[i] = copied
				break
			}
		}
	}
	for i := range to {
		w.move(to[i], sources[i])
	}
}

// results makes registers for what an operation gives in several places.
func (w *writer) results(op *ir.Operation) []string {
	regs := make([]string, op.NumResults())
	for i, r := range op.Results() {
		w.define(op, r)
		regs[i] = w.regs[r]
	}
	return regs
}

func (w *writer) condition(op *ir.Operation) {
	cond := scf.AsIf(op)
	regs := w.results(op)
	then, otherwise, end := w.label(), w.label(), w.label()
	w.emit("branch %s %s %s", w.value(op, cond.Condition()), then, otherwise)
	for i, region := range []*ir.Region{cond.ThenRegion(), cond.ElseRegion()} {
		w.mark([]string{then, otherwise}[i])
		if !region.Empty() {
			body := region.First()
			w.block(body)
			if last := body.Last(); last != nil && last.Is(scf.Yield) {
				w.moves(last, regs, scf.AsYield(last).Results())
			}
		}
		w.at(op)
		w.emit("jump %s", end)
	}
	w.mark(end)
}

// whileLoop writes a loop whose first region computes whether it goes on.
func (w *writer) whileLoop(op *ir.Operation) {
	loop := scf.AsWhile(op)
	before, after := loop.Before().First(), loop.After().First()
	regs := w.results(op)
	carried := make([]string, before.NumArgs())
	for i, a := range before.Args() {
		w.define(op, a)
		carried[i] = w.regs[a]
	}
	for i, a := range after.Args() {
		w.regs[a] = regs[i]
	}
	w.moves(op, carried, loop.Inits())
	head, inside, end := w.label(), w.label(), w.label()
	w.mark(head)
	w.block(before)
	last := before.Last()
	w.at(last)
	w.moves(last, regs, scf.AsCondition(last).Args())
	w.emit("branch %s %s %s", w.value(last, scf.AsCondition(last).Condition()), inside, end)
	w.mark(inside)
	w.block(after)
	w.at(after.Last())
	w.moves(after.Last(), carried, scf.AsYield(after.Last()).Results())
	w.emit("jump %s", head)
	w.mark(end)
}
