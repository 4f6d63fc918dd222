package pipeline

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// Part is where an operation of a pipelined loop is switched off.
type Part int

const (
	// Prologue is before the loop, where the first iterations begin.
	Prologue Part = iota
	// Epilogue is after the loop, where the last iterations end.
	Epilogue
)

// guard has the loop of e executed only if it has an iteration, of which e then knows.
// Programs without work, such as those of a persistent kernel that get no tile, do nothing.
func (e *expansion) guard() {
	b, loop := e.b, e.s.loop
	e.begins = true
	lo, hi := scf.LowerBound(loop), scf.UpperBound(loop)
	first, ok1 := arith.ConstantInt(lo)
	end, ok2 := arith.ConstantInt(hi)
	if ok1 && ok2 && first < end {
		return
	}
	var used, inits []*ir.Value
	var types []ir.Type
	for i, r := range loop.Results() {
		if r.HasUses() {
			used, inits, types = append(used, r), append(inits, scf.Inits(loop)[i]), append(types, r.Type())
		}
	}
	b.At(loop)
	choice := scf.NewIf(b, arith.Compare(b, arith.CmpI, arith.SLT, lo, hi), true, types...)
	for i, r := range used {
		r.ReplaceAllUsesWith(choice.Result(i))
	}
	b.SetToEnd(scf.AsIf(choice).ElseRegion().First())
	scf.NewYield(b, inits...)
	b.SetToEnd(scf.AsIf(choice).ThenRegion().First())
	loop.MoveBefore(scf.NewYield(b, used...))
}

// drained is the iterations that a loop without predicates leaves to end after it. The
// loop of last+1 stages ends when stage 0 has begun the last of the old iterations:
//
//	for i = lo to hi - last*step { stages }
//	stages 1 … last, stages 2 … last, …, stage last
//
// If there are fewer old iterations than last, the loop has none, and what the prologue
// began ends here. The iterations that end here are numbered from 0.
type drained struct {
	*expansion
	n      *ir.Operation // the new loop
	values map[*ir.Value][]*ir.Value
	ivs    []*ir.Value
	there  []*ir.Value // whether there is an old iteration of that number
}

// drain ends the iterations that the loop n began, and returns the values in place of the
// old loop's results.
func (e *expansion) drain(n *ir.Operation) []*ir.Value {
	b, loop := e.b, e.loop
	d := &drained{expansion: e, n: n, values: make(map[*ir.Value][]*ir.Value)}
	b.At(loop)
	d.count()
	for i, a := range scf.IterArgs(loop) {
		if later := e.fixedAfterFirst(a); later != nil {
			d.set(a, n.Result(i), 0)
			for iter := range e.last {
				d.set(a, later, iter+1)
			}
		}
	}
	for turn := 1; turn <= e.last; turn++ {
		d.turn(turn)
	}
	var results []*ir.Value
	for i, a := range scf.IterArgs(loop) {
		v := d.at(a, e.last)
		if e.fixedAfterFirst(a) != nil && loop.Result(i).HasUses() {
			v = e.selected(d.there[0], v, n.Result(i))
		}
		results = append(results, v)
	}
	return results
}

// count computes the numbers of the iterations, and whether there are that many.
func (d *drained) count() {
	b, loop := d.b, d.loop
	lo, hi, step := scf.LowerBound(loop), scf.UpperBound(loop), scf.Step(loop)
	number := func(n int) *ir.Value { return arith.Int(b, lo.Type(), int64(n)) }
	back := arith.NewSelect(b, arith.Compare(b, arith.CmpI, arith.SLT, step, number(0)), number(1), number(-1))
	span := arith.Binary(b, arith.AddI, arith.Binary(b, arith.SubI, hi, lo), step)
	total := arith.Binary(b, arith.DivSI, arith.Binary(b, arith.AddI, span, back), step)
	first := arith.Binary(b, arith.MaxSI, arith.Binary(b, arith.SubI, total, number(d.last)), number(0))
	iv := arith.Binary(b, arith.AddI, lo, arith.Binary(b, arith.MulI, first, step))
	for i := range d.last {
		if i > 0 {
			iv = arith.Binary(b, arith.AddI, iv, step)
		}
		d.ivs = append(d.ivs, iv)
		exists := d.expansion.exists(i, func() *ir.Value { return arith.Compare(b, arith.CmpI, arith.SGE, total, number(i+1)) })
		d.there = append(d.there, exists)
	}
}

// turn makes the operations of the stages from turn on, each of another iteration.
func (d *drained) turn(turn int) {
	b, loop := d.b, d.loop
	type carry struct {
		is   *ir.Value
		iter int
	}
	carries := make([]carry, loop.NumResults())
	for _, op := range d.ops {
		stage := d.stage(op)
		if stage < turn {
			continue
		}
		iter := d.last - stage + turn - 1
		m := ir.NewMapping()
		for _, v := range nestedOperands(op) {
			if is := d.at(v, iter); is != nil {
				m.Map(v, is)
			}
		}
		c := op.Clone(m)
		b.Loc = op.Loc()
		b.Insert(c)
		at := b.Save()
		results := d.predicated(c, d.there[iter], Epilogue)
		b.Restore(at)
		for k, r := range op.Results() {
			d.set(r, results[k], iter)
			for j, y := range forloop.Yield(loop).Operands() {
				if y == r {
					d.set(scf.IterArgs(loop)[j], results[k], iter+1)
					carries[j] = carry{results[k], iter}
				}
			}
		}
	}
	b.Loc = loop.Loc()
	for j, c := range carries {
		if c.is != nil && loop.Result(j).HasUses() {
			a := scf.IterArgs(loop)[j]
			was := d.at(a, c.iter)
			if !chosen(c.is, d.there[c.iter], was) {
				d.set(a, d.selected(d.there[c.iter], c.is, was), c.iter+1)
			}
		}
	}
}

// chosen reports whether v is the result of a condition that gives was where pred is false.
func chosen(v, pred, was *ir.Value) bool {
	if !v.DefIs(scf.If) {
		return false
	}
	choice := scf.AsIf(v.Def())
	return choice.Condition() == pred && choice.ElseRegion().First().Terminator().Operand(v.Index()) == was
}

// set says what v is in the iteration of that number.
func (d *drained) set(v, is *ir.Value, iter int) {
	if d.values[v] == nil {
		d.values[v] = make([]*ir.Value, d.last+1)
	}
	d.values[v][iter] = is
}

// at is what v is in the iteration of that number; nil for a value from outside of the
// loop. What the loop has computed for it, it carries.
func (d *drained) at(v *ir.Value, iter int) *ir.Value {
	if v == scf.InductionVar(d.loop) {
		return d.ivs[iter]
	}
	if vs := d.values[v]; vs != nil && vs[iter] != nil {
		return vs[iter]
	}
	def, yielded := d.source(v)
	if def == nil {
		return nil
	}
	age := d.last - d.stage(def) - iter
	if age == 0 && v != yielded {
		return d.n.Result(scf.CarriedIndex(v))
	}
	i, ok := d.carried[versionKey{v, age}]
	if !ok {
		panic("BUG: ttgir: pipelining: a value is used after the loop that does not carry it")
	}
	return d.n.Result(i)
}
