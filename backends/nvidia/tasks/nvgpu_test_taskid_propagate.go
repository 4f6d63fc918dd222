package tasks

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// TaskIDPropagate marks what marked operations need for the same tasks: what computes
// their operands, also through loops and branches, and the bounds and conditions of
// those around them.
//
//	%k = arith.addi %i, %j
//	tt.descriptor_load %d[%k] {async_task_id = array<i32: 0>}
//
// becomes
//
//	%k = arith.addi %i, %j {async_task_id = array<i32: 0>}
//	tt.descriptor_load %d[%k] {async_task_id = array<i32: 0>}
//
// With no warp groups it takes all marks away.
var TaskIDPropagate = &pass.Pass{
	Name:    "nvgpu-test-taskid-propagate",
	Doc:     "mark what marked operations need for their tasks",
	Example: taskIDPropagateExample,
	Options: []pass.Option{warpGroups},
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		for f := range r.Module.Body().Ops() {
			if !f.Is(tt.Func) {
				continue
			}
			if r.Int("num-warp-groups") == 0 {
				ir.Walk(f, func(op *ir.Operation) ir.WalkResult {
					op.SetAttr(idsAttr, nil)
					return ir.Advance
				})
				continue
			}
			r.Count("marked", propagate(f))
		}
		return nil
	},
}

// idsOf are the tasks that op is marked for, sorted.
func idsOf(op *ir.Operation) []int64 {
	a, ok := op.Attr(idsAttr).(*ir.DenseArrayAttr)
	if !ok {
		return nil
	}
	ids := slices.Clone(a.Values)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func mark(op *ir.Operation, ids []int64) { op.SetAttr(idsAttr, op.Context().I32Array(ids...)) }

// both are the tasks of x and y, sorted.
func both(x, y []int64) []int64 {
	all := slices.Concat(x, y)
	slices.Sort(all)
	return slices.Compact(all)
}

// flow holds the tasks that need each value.
type flow struct {
	of      map[*ir.Value][]int64
	changed bool
}

func (f *flow) need(v *ir.Value, ids []int64) {
	if n := both(f.of[v], ids); len(n) > len(f.of[v]) {
		f.of[v], f.changed = n, true
	}
}

// control has the bounds and conditions of what is around op computed in its tasks.
func (f *flow) control(op *ir.Operation, ids []int64) {
	if len(ids) == 0 {
		return
	}
	for p := op.Parent(); p != nil && !p.Is(tt.Func); p = p.Parent() {
		switch {
		case p.Is(scf.For):
			f.need(scf.LowerBound(p), ids)
			f.need(scf.UpperBound(p), ids)
			f.need(scf.Step(p), ids)
		case p.Is(scf.If):
			f.need(scf.AsIf(p).Condition(), ids)
		case p.Is(scf.While):
			f.need(scf.AsCondition(p.Body().Terminator()).Condition(), ids)
		}
	}
}

// visit passes on what the results of op are needed for.
func (f *flow) visit(op *ir.Operation) {
	switch {
	case op.Is(scf.For):
		yield := op.Body().Terminator()
		for i, res := range op.Results() {
			ids := both(f.of[res], f.of[scf.IterArg(op, i)])
			f.need(scf.Inits(op)[i], ids)
			f.need(yield.Operand(i), ids)
			f.control(yield, f.of[res])
		}
		return
	case op.Is(scf.If):
		for i, res := range op.Results() {
			for _, r := range op.Regions() {
				f.need(r.First().Terminator().Operand(i), f.of[res])
				f.control(r.First().Terminator(), f.of[res])
			}
		}
		return
	case op.Is(scf.While):
		w := scf.AsWhile(op)
		cond, yield := w.Before().First().Terminator(), w.After().First().Terminator()
		for i, res := range op.Results() {
			f.need(scf.AsCondition(cond).Args()[i], both(f.of[res], f.of[w.After().First().Arg(i)]))
		}
		for i, v := range op.OperandValues() {
			ids := f.of[w.Before().First().Arg(i)]
			f.need(v, ids)
			f.need(yield.Operand(i), ids)
		}
		return
	case op.IsTerminator() && !op.Is(tt.Return):
		return // as the operation around it says
	}
	ids := idsOf(op)
	if ids == nil {
		for _, res := range op.Results() {
			ids = both(ids, f.of[res])
		}
	}
	for _, v := range op.Operands() {
		f.need(v, ids)
	}
	for _, r := range op.Regions() {
		if end := r.First().Terminator(); end != nil {
			for _, v := range end.Operands() {
				f.need(v, ids)
			}
		}
	}
	f.control(op, ids)
}

// propagate marks what the marked operations of a function need, and returns how many
// operations that is.
func propagate(fn *ir.Operation) (marked int) {
	var ops []*ir.Operation
	anchors := false
	ir.WalkPost(fn, func(op *ir.Operation) {
		if op == fn {
			return
		}
		if ids := idsOf(op); ids != nil {
			mark(op, ids)
			anchors = anchors || !op.Is(arith.Constant)
		}
		ops = append(ops, op)
	})
	if !anchors {
		return 0
	}
	f := &flow{of: make(map[*ir.Value][]int64), changed: true}
	for f.changed {
		f.changed = false
		for _, op := range slices.Backward(ops) {
			f.visit(op)
		}
	}
	for _, op := range ops {
		var ids []int64
		for _, v := range op.Results() {
			ids = both(ids, f.of[v])
		}
		if op.NumResults() == 0 {
			for _, v := range op.Operands() {
				ids = both(ids, f.of[v])
			}
		}
		if op.HasAttr(idsAttr) && !op.Is(arith.Constant) {
			// As is; a loop or branch also has the tasks of what is in it.
			ids = idsOf(op)
		}
		if len(ids) == 0 {
			continue
		}
		if !op.HasAttr(idsAttr) {
			marked++
		}
		mark(op, ids)
		for p := op.Parent(); p != nil && p != fn; p = p.Parent() {
			mark(p, both(idsOf(p), ids))
		}
	}
	return marked
}
