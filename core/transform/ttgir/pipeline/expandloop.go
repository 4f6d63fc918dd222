package pipeline

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// expansion carries out the schedule of one loop: software pipelining without
// an epilogue, but for those of peel.go and drain.go. With stages 0 … n, iteration t of the new loop executes stage k of
// iteration t+n-k of the old one, so the old iterations 0 … n-1 are begun before the loop,
// and the loop's last iterations begin old iterations that do not exist; both are switched
// off by predicates.
//
// A value that is used in a later stage than it is computed in lives on through
// some iterations: the loop carries one version of it for each. The algorithm is that
// of MLIR's loop pipelining.
type expansion struct {
	b    *ir.Builder
	s    *schedule
	loop *ir.Operation // the old one
	last int           // the greatest stage
	ops  []*ir.Operation
	// blocks and unit made operations that only they can switch off; blocks may be nil.
	blocks BlockCopies
	unit   dots.MatrixUnit
	// drains says that the last iterations end after the loop, which then needs no
	// predicates.
	drains bool
	// begins says that there is a first iteration.
	begins bool
	// also switches off what only the target knows how to; nil: nothing.
	also Predicate

	// versions are, for a value of the old loop, its values in the old iterations
	// begun before the new loop, by iteration.
	versions map[*ir.Value][]*ir.Value
	// made are the operations of the last stage in the new loop.
	made []*ir.Operation
	// crossing are the values used in later stages than their own, in the order
	// of their first such use, and how far they live.
	crossing []*ir.Value
	lives    map[*ir.Value]liveRange
	// carried is the number, among what the new loop carries, of the version of
	// a crossing value that is so many iterations old.
	carried map[versionKey]int
}

type liveRange struct{ from, to int } // stages

type versionKey struct {
	v   *ir.Value
	age int
}

// expandLoop replaces the loop of s by its pipelined form.
func expandLoop(b *ir.Builder, s *schedule, blocks BlockCopies, unit dots.MatrixUnit) {
	(&expansion{b: b, s: s, blocks: blocks, unit: unit}).expand()
}

// expand replaces the loop by its pipelined form.
func (e *expansion) expand() {
	b, s := e.b, e.s
	for op := range s.loop.Body().Ops() {
		if op.Def().Has(ir.ConstantLike) { // in all stages
			op.MoveBefore(s.loop)
			delete(s.slots, op)
		}
	}
	e.loop, e.last, e.ops = s.loop, s.stages-1, s.inOrder()
	e.versions, e.lives, e.carried = make(map[*ir.Value][]*ir.Value), make(map[*ir.Value]liveRange), make(map[versionKey]int)
	e.findCrossing()
	b.At(e.loop)
	e.prologue()
	var results []*ir.Value
	switch {
	case e.drains:
		results = e.drain(e.kernel(e.last))
	case e.peels():
		results = e.epilogue(e.kernel(1))
	default:
		results = e.kernel(0).Results()
	}
	for i, r := range e.loop.Results() {
		r.ReplaceAllUsesWith(results[i])
	}
	e.loop.Erase()
}

func (e *expansion) stage(op *ir.Operation) int { return e.s.slots[op].stage }

// source is the operation of the loop's body that computes v; for a carried
// value, as which it is yielded, one iteration before. It is nil when v comes from
// outside.
func (e *expansion) source(v *ir.Value) (op *ir.Operation, yielded *ir.Value) {
	if yielded = forloop.Next(e.loop, v); yielded == nil {
		yielded = v
	}
	if d := yielded.Def(); d != nil && e.s.has(d) {
		return d, yielded
	}
	return nil, nil
}

// fixedAfterFirst returns the value that v holds from the second iteration on, or nil if
// an iteration computes it.
func (e *expansion) fixedAfterFirst(v *ir.Value) *ir.Value {
	if d, _ := e.source(v); d != nil {
		return nil
	}
	return forloop.Next(e.loop, v)
}

// findCrossing finds the values that live from one stage to a later one. A
// carried value is in the stage of what computes it for the next iteration.
func (e *expansion) findCrossing() {
	for _, op := range e.ops {
		for _, v := range nestedOperands(op) {
			d, _ := e.source(v)
			if d == nil || e.stage(op) <= e.stage(d) {
				continue
			}
			have, ok := e.lives[v]
			if !ok {
				e.crossing = append(e.crossing, v)
				have.from = e.stage(d)
			}
			have.to = max(have.to, e.stage(op))
			e.lives[v] = have
		}
	}
}

// setVersion says what v is in the iteration of that number.
func (e *expansion) setVersion(v, is *ir.Value, iter int) {
	vs := e.versions[v]
	if vs == nil {
		vs = make([]*ir.Value, e.last+2)
		e.versions[v] = vs
	}
	vs[iter] = is
}

// stepped is base plus n steps.
func (e *expansion) stepped(base *ir.Value, n int) *ir.Value {
	if n == 0 {
		return base
	}
	b, step := e.b, scf.Step(e.loop)
	return arith.Binary(b, arith.AddI, base, arith.Binary(b, arith.MulI, step, arith.Int(b, step.Type(), int64(n))))
}

// scaled is step times n.
func scaled(b *ir.Builder, step *ir.Value, n int) *ir.Value {
	if n == 1 {
		return step
	}
	return arith.Binary(b, arith.MulI, step, arith.Int(b, step.Type(), int64(n)))
}

// prologue begins the old iterations 0 … last-1.
func (e *expansion) prologue() {
	b, loop := e.b, e.loop
	for i, a := range scf.IterArgs(loop) {
		e.setVersion(a, scf.Inits(loop)[i], 0)
		if later := e.fixedAfterFirst(a); later != nil {
			for iter := range e.last {
				e.setVersion(a, later, iter+1)
			}
		}
	}
	yield := forloop.Yield(loop)
	predicates := make([]*ir.Value, e.last)
	for i := range e.last {
		iv := e.stepped(scf.LowerBound(loop), i)
		predicates[i] = e.exists(i, func() *ir.Value { return arith.Compare(b, arith.CmpI, arith.SLT, iv, scf.UpperBound(loop)) })
		e.setVersion(scf.InductionVar(loop), iv, i)
		for _, op := range e.ops {
			stage := e.stage(op)
			if stage > i {
				continue
			}
			iter := i - stage
			m := ir.NewMapping()
			for _, v := range nestedOperands(op) {
				if vs := e.versions[v]; vs != nil {
					if vs[iter] == nil {
						panic("BUG: ttgir: pipelining " + op.Name() + ": a value is used before it is computed")
					}
					m.Map(v, vs[iter])
				}
			}
			n := op.Clone(m)
			b.Loc = op.Loc()
			b.Insert(n)
			at := b.Save()
			results := e.predicated(n, predicates[iter], Prologue)
			b.Restore(at)
			for k, r := range op.Results() {
				e.setVersion(r, results[k], iter)
				for j, v := range yield.Operands() {
					if v != r {
						continue
					}
					is, arg := results[k], scf.IterArgs(loop)[j]
					if loop.Result(j).HasUses() {
						// After the loop the value of the last iteration that there
						// was is used.
						is = e.selected(predicates[iter], is, e.versions[arg][iter])
					}
					e.setVersion(arg, is, iter+1)
				}
			}
		}
		b.Loc = loop.Loc()
	}
}

// exists is test, or true for the first iteration of a loop that has one.
func (e *expansion) exists(iter int, test func() *ir.Value) *ir.Value {
	if e.begins && iter == 0 {
		return arith.NewConstant(e.b, e.b.Context().BoolAttr(true))
	}
	return test()
}

// isTrue reports whether v is the constant true.
func isTrue(v *ir.Value) bool {
	n, ok := arith.ConstantInt(v)
	return ok && n&1 == 1
}

// selected is is where pred holds, else was. A token only says what came before, and is was
// or comes after it.
func (e *expansion) selected(pred, is, was *ir.Value) *ir.Value {
	if is.Type() == ttg.AsyncToken(e.b.Context()) || isTrue(pred) {
		return is
	}
	return arith.NewSelect(e.b, pred, is, was)
}

// predicated lets op, which the builder made last, do nothing where pred is false, and
// returns the values in place of its results.
func (e *expansion) predicated(op *ir.Operation, pred *ir.Value, part Part) []*ir.Value {
	if e.also != nil && !isTrue(pred) {
		if results, ok := e.also(e.b, op, pred, part); ok {
			return results
		}
	}
	predicate(e.b, op, pred, e.blocks, e.unit)
	return op.Results()
}

// kernel makes the new loop, without so many of its last iterations.
func (e *expansion) kernel(peeled int) *ir.Operation {
	b, loop := e.b, e.loop
	var inits []*ir.Value
	for i, v := range forloop.Yield(loop).Operands() {
		if d := v.Def(); d != nil && e.s.has(d) {
			inits = append(inits, e.versions[scf.IterArgs(loop)[i]][e.last-e.stage(d)])
		} else {
			inits = append(inits, scf.Inits(loop)[i])
		}
	}
	for _, v := range e.crossing {
		l := e.lives[v]
		for k := range l.to - l.from {
			e.carried[versionKey{v, l.to - l.from - k}] = len(inits)
			inits = append(inits, e.versions[v][e.last-l.to+k])
		}
	}
	end := scf.UpperBound(loop)
	if peeled > 0 {
		end = arith.Binary(b, arith.SubI, end, scaled(b, scf.Step(loop), peeled))
	}
	n := scf.NewFor(b, scf.LowerBound(loop), end, scf.Step(loop), inits...)
	for _, a := range loop.Attrs() {
		n.SetAttr(a.Name, a.Attr)
	}
	b.SetToEnd(n.Body())
	m := ir.NewMapping()
	m.Map(scf.InductionVar(loop), scf.InductionVar(n))
	for i, a := range scf.IterArgs(loop) {
		m.Map(a, scf.IterArgs(n)[i])
	}
	predicates := make([]*ir.Value, e.last) // none where it drains
	for i := range predicates {
		if e.drains {
			break
		}
		step := scf.Step(loop)
		if loop.HasAttr(tt.KeepPredicateStageAttr) {
			predicates[i] = ttg.NewPredicateStage(b, scf.InductionVar(n), scf.UpperBound(loop), step, e.last, i)
			continue
		}
		if peeled > 0 && i == e.last-1 {
			predicates[i] = arith.NewConstant(b, b.Context().BoolAttr(true)) // there is another iteration
			continue
		}
		ahead := arith.Binary(b, arith.MulI, step, arith.Int(b, step.Type(), int64(e.last-i)))
		end := arith.Binary(b, arith.SubI, scf.UpperBound(loop), ahead)
		predicates[i] = arith.Compare(b, arith.CmpI, arith.SLT, scf.InductionVar(n), end)
	}
	for _, op := range e.ops {
		b.Loc = op.Loc()
		e.clone(op, n, m, predicates)
	}
	b.Loc = loop.Loc()
	e.yield(n, m, predicates)
	return n
}

// clone copies one operation into the new loop's body.
func (e *expansion) clone(op, n *ir.Operation, m *ir.Mapping, predicates []*ir.Value) {
	b, stage := e.b, e.stage(op)
	// What this operation uses in place of values of the old loop holds for it
	// alone, so the mapping is put back afterwards.
	type was struct{ v, is *ir.Value }
	var undo []was
	use := func(v, is *ir.Value) {
		undo = append(undo, was{v, m.Lookup(v)})
		m.Map(v, is)
	}
	for _, v := range nestedOperands(op) {
		if v == scf.InductionVar(e.loop) {
			if stage < e.last {
				use(v, e.stepped(scf.InductionVar(n), e.last-stage))
			}
			continue
		}
		d, yielded := e.source(v)
		if d == nil && stage < e.last { // for iterations after the first
			if later := e.fixedAfterFirst(v); later != nil {
				use(v, later)
			}
			continue
		}
		if d == nil || e.stage(d) == stage {
			continue
		}
		if v != yielded && e.stage(d) == stage+1 {
			// What the iteration before yields is computed in this very iteration.
			use(v, m.Lookup(yielded))
			continue
		}
		i, ok := e.carried[versionKey{v, stage - e.stage(d)}]
		if !ok {
			panic("BUG: ttgir: pipelining " + op.Name() + ": a value is used in an earlier stage than it is computed in")
		}
		use(v, scf.IterArgs(n)[i])
	}
	c := op.Clone(m)
	for _, u := range slices.Backward(undo) {
		m.Map(u.v, u.is)
	}
	b.Insert(c)
	switch {
	case e.drains:
	case stage == e.last:
		e.made = append(e.made, c)
	default:
		at := b.Save()
		predicate(b, c, predicates[stage], e.blocks, e.unit)
		b.Restore(at)
	}
}

// yield ends the new loop's body.
func (e *expansion) yield(n *ir.Operation, m *ir.Mapping, predicates []*ir.Value) {
	b := e.b
	var values []*ir.Value
	for i, v := range forloop.Yield(e.loop).Operands() {
		is := m.Lookup(v)
		if d := v.Def(); d != nil && e.s.has(d) && e.stage(d) < e.last && e.loop.Result(i).HasUses() && !e.drains {
			is = e.selected(predicates[e.stage(d)], is, scf.IterArgs(n)[i])
		}
		values = append(values, is)
	}
	for _, v := range e.crossing {
		l := e.lives[v]
		for range l.to - l.from - 1 {
			values = append(values, scf.IterArgs(n)[len(values)+1])
		}
		values = append(values, m.Lookup(v))
	}
	scf.NewYield(b, values...)
}
