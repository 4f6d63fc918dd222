package pipeline

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
)

// cluster is a group of operations of one iteration that stay together, in the
// order of the program. Its position among the others changes as clusters are
// put in between.
type cluster struct{ position int }

// slot is where a schedule puts an operation.
type slot struct {
	stage   int
	cluster *cluster
}

func (a slot) before(b slot) bool {
	if a.stage != b.stage {
		return a.stage < b.stage
	}
	return a.cluster.position < b.cluster.position
}

// schedule places operations of a loop's body in stages and clusters.
type schedule struct {
	loop     *ir.Operation
	stages   int
	clusters []*cluster
	slots    map[*ir.Operation]slot
}

func newSchedule(loop *ir.Operation, stages int) *schedule {
	return &schedule{loop: loop, stages: stages, slots: make(map[*ir.Operation]slot)}
}

// newCluster puts an empty cluster at position i, before those that are there
// and later.
func (s *schedule) newCluster(i int) *cluster {
	c := &cluster{}
	s.clusters = slices.Insert(s.clusters, i, c)
	for k := i; k < len(s.clusters); k++ {
		s.clusters[k].position = k
	}
	return c
}

func (s *schedule) clusterAtEnd() *cluster { return s.newCluster(len(s.clusters)) }

func (s *schedule) has(op *ir.Operation) bool {
	_, ok := s.slots[op]
	return ok
}

// placing gives each operation that it is called for the place that at tells.
func (s *schedule) placing(at *slot) func(*ir.Operation) {
	return func(op *ir.Operation) {
		if !op.Def().Has(ir.ConstantLike) {
			s.slots[op] = *at
		}
	}
}

// addIfAbsent places op unless it has a place.
func (s *schedule) addIfAbsent(op *ir.Operation, at slot) {
	if !s.has(op) {
		s.slots[op] = at
	}
}

// body ranges over the operations of the loop's body that have a place, in the
// order of the program.
func (s *schedule) body() []*ir.Operation {
	var ops []*ir.Operation
	for op := range s.loop.Body().Ops() {
		if s.has(op) {
			ops = append(ops, op)
		}
	}
	return ops
}

// inOrder lists the operations as one iteration of the pipelined loop executes them:
// by cluster, and within one in the order of the program.
func (s *schedule) inOrder() []*ir.Operation {
	ops := s.body()
	slices.SortStableFunc(ops, func(a, b *ir.Operation) int {
		return s.slots[a].cluster.position - s.slots[b].cluster.position
	})
	return ops
}

// nestedOperands are the operands of op and of everything inside it.
func nestedOperands(op *ir.Operation) []*ir.Value {
	if op.NumRegions() == 0 {
		return op.OperandValues()
	}
	var values []*ir.Value
	ir.Walk(op, func(o *ir.Operation) ir.WalkResult {
		values = append(values, o.OperandValues()...)
		return ir.Advance
	})
	return values
}

// addDeps places what op is computed from in the same iteration as op, and moves what is
// placed later than op. With carried it looks through values that the loop carries to what
// computes them in the iteration before, too.
func (s *schedule) addDeps(op *ir.Operation, at slot, carried bool) {
	body := s.loop.Body()
	for _, v := range nestedOperands(op) {
		for seen := map[*ir.Value]bool{}; carried && !seen[v]; {
			next := forloop.Next(s.loop, v)
			if next == nil {
				break
			}
			seen[v] = true
			v = next
		}
		d := v.Def()
		if d == nil || d.Block() != body {
			continue
		}
		have, placed := s.slots[d]
		if placed && !at.before(have) {
			continue
		}
		s.slots[d] = at
		s.addDeps(d, at, carried)
	}
}

// addAllDeps places what the placed operations are computed from, those of low
// stages first.
func (s *schedule) addAllDeps() {
	ops := s.inOrder()
	for stage := range s.stages {
		for _, op := range ops {
			if at := s.slots[op]; at.stage == stage {
				s.addDeps(op, at, false)
			}
		}
	}
}

// write puts the schedule on the operations.
func (s *schedule) write() {
	c := s.loop.Context()
	for _, op := range s.body() {
		at := s.slots[op]
		op.SetAttr(tt.StageAttr, c.I32Attr(int64(at.stage)))
		op.SetAttr(tt.ClusterAttr, c.I32Attr(int64(at.cluster.position)))
	}
	s.loop.SetAttr(tt.MaxStageAttr, c.I32Attr(int64(s.stages-1)))
}

// readSchedule is the schedule that is on loop's operations, nil when there
// is none.
func readSchedule(loop *ir.Operation) *schedule {
	last, ok := loop.IntAttr(tt.MaxStageAttr)
	if !ok {
		return nil
	}
	for op := range loop.Body().Ops() {
		// A schedule that is written by hand may name another last stage.
		if stage, ok := op.IntAttr(tt.StageAttr); ok {
			last = max(last, stage)
		}
	}
	s := newSchedule(loop, int(last)+1)
	first := firstCluster(loop)
	for op := range loop.Body().Ops() {
		stage, ok := op.IntAttr(tt.StageAttr)
		if !ok {
			continue
		}
		k, _ := op.IntAttr(tt.ClusterAttr)
		k -= first
		for int(k) >= len(s.clusters) {
			s.clusterAtEnd()
		}
		s.slots[op] = slot{int(stage), s.clusters[k]}
	}
	return s
}

// firstCluster is the lowest number of a cluster of loop's operations.
func firstCluster(loop *ir.Operation) int64 {
	first := int64(math.MaxInt64)
	for op := range loop.Body().Ops() {
		if op.HasAttr(tt.StageAttr) {
			k, _ := op.IntAttr(tt.ClusterAttr)
			first = min(first, k)
		}
	}
	return first
}

// readSchedules is readSchedule of all loops in module that have one.
func readSchedules(module *ir.Operation) []*schedule {
	var all []*schedule
	for _, loop := range forloop.All(module) {
		if s := readSchedule(loop); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// eraseSchedule takes all that a schedule wrote off loop and its operations.
func eraseSchedule(loop *ir.Operation) {
	loop.SetAttr(tt.MaxStageAttr, nil)
	for op := range loop.Body().Ops() {
		op.SetAttr(tt.StageAttr, nil)
		op.SetAttr(tt.ClusterAttr, nil)
	}
}

// topUsers lists the operations of loop's body that use results of op, or inside
// which they are used, in this iteration or, through what the loop carries, in a
// later one. Views of a buffer do not count but their users do.
func topUsers(loop, op *ir.Operation) []*ir.Operation {
	var users []*ir.Operation
	seen := map[*ir.Use]bool{}
	queue := usesOf(op.Results())
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		o := u.Owner()
		switch {
		case o == forloop.Yield(loop):
			queue = append(queue, usesOf(scf.IterArgs(loop)[u.Index():u.Index()+1])...)
		case sharedmem.IsView(o):
			queue = append(queue, usesOf(o.Results())...)
		default:
			if top := forloop.AncestorIn(loop.Body(), o); top != nil && !slices.Contains(users, top) {
				users = append(users, top)
			}
		}
	}
	return users
}

func usesOf(values []*ir.Value) []*ir.Use {
	var uses []*ir.Use
	for _, v := range values {
		for u := range v.Uses() {
			uses = append(uses, u)
		}
	}
	return uses
}

// carriesFar reports whether a value of one iteration of loop is handed on for more
// than one iteration: some carried value becomes another, or stays. Pipelining does
// not handle such loops.
func carriesFar(loop *ir.Operation) bool {
	for _, v := range forloop.Yield(loop).Operands() {
		if v.IsArgument() {
			return true
		}
	}
	return false
}
