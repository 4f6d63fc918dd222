package pipeline

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// ScheduleLoops spreads the bodies of loops that hold operations with a latency
// over stages: an operation starts as many stages before what uses it as its
// latency says. Later stages come first within an iteration, so that a buffer is read
// before the copy into it starts that will be read iterations later. The schedule
// is on the operations as loop.stage and loop.cluster.
//
// A loop that has a schedule keeps it where no operation has a latency. If it is a part
// of a warp-specialized loop, the schedule is that of the whole loop: it then loses the
// stages that the part has nothing in, and what has no place gets one.
//
// Nothing moves here; tritongpu-pipeline carries the schedule out.
var ScheduleLoops = &pass.Pass{
	Name:    "tritongpu-schedule-loops",
	Doc:     "assign the operations of loops to stages by their latencies",
	Example: scheduleLoopsExample,
	Before:  []*pass.Fact{facts.BoundedSchedules},
	After:   []*pass.Fact{facts.Scheduled},
	Breaks:  []*pass.Fact{facts.NoSchedule},
	Run: func(r *pass.Run) error {
		latency := make(map[*ir.Operation]int)
		var wrong *ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if n, ok := op.IntAttr(tt.LatencyAttr); ok {
				if n < 0 || n > mostLatency {
					wrong = op
					return ir.Stop
				}
				latency[op] = int(n)
				op.SetAttr(tt.LatencyAttr, nil)
			}
			return ir.Advance
		})
		if wrong != nil {
			n, _ := wrong.IntAttr(tt.LatencyAttr)
			return diag.Errorf(r.Place(wrong), "%s has the %s %d, which is from 0 to %d", wrong.Name(), tt.LatencyAttr, n, mostLatency).
				WithHelp("tritongpu-assign-latencies writes latencies")
		}
		for _, loop := range forloop.All(r.Module) {
			if carriesFar(loop) || !forloop.IsInnermost(loop) || hasBarrier(loop) {
				continue
			}
			s := stagesByLatency(loop, latency)
			if s == nil && loop.HasAttr(tt.WarpSpecializeAttr) {
				s = stagesLeft(loop)
			}
			if s != nil {
				s.complete()
				s.write()
				r.Count("scheduled", 1)
			}
		}
		return nil
	},
}

// mostLatency is the greatest latency of an operation, which nothing comes near to: a
// loop has as many stages as the latencies of what depends on one another have together.
const mostLatency = 1 << 6

func hasBarrier(loop *ir.Operation) bool {
	return ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
		if op.Is(gpu.Barrier) || op.Is(ttg.LocalBarrier) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// stagesByLatency places the operations with a latency and all that depends on
// them within an iteration; nil when there are none.
func stagesByLatency(loop *ir.Operation, latency map[*ir.Operation]int) *schedule {
	body := loop.Body()
	distance := make(map[*ir.Operation]int) // to the end of the iteration, by latencies
	var order []*ir.Operation
	var far func(op *ir.Operation) int
	far = func(op *ir.Operation) int {
		if d, ok := distance[op]; ok {
			return d
		}
		d := 0
		for _, v := range op.Results() {
			for u := range v.Users() {
				if top := forloop.AncestorIn(body, u); top != nil && !top.IsTerminator() {
					d = max(d, far(top))
				}
			}
		}
		d += latency[op]
		distance[op] = d
		order = append(order, op)
		return d
	}
	farthest, found := 0, false
	for op := range body.Ops() {
		if _, ok := latency[op]; ok {
			found = true
			farthest = max(farthest, far(op))
		}
	}
	if !found {
		return nil
	}
	last := 0
	for _, op := range order {
		last = max(last, farthest-distance[op])
	}
	s := newSchedule(loop, last+1)
	for range s.stages {
		s.clusterAtEnd()
	}
	for _, op := range order {
		stage := farthest - distance[op]
		s.slots[op] = slot{stage, s.clusters[last-stage]}
	}
	// Conditions after which nothing is scheduled go to the end of the iteration.
	end := s.clusterAtEnd()
	for _, op := range order {
		if _, ok := latency[op]; !ok && op.Is(scf.If) && !s.leadsToPlaced(op) {
			s.slots[op] = slot{s.slots[op].stage, end}
		}
	}
	return s
}

// stagesLeft is the schedule that a part of a warp-specialized loop has from the whole;
// nil if there is none. It begins at stage 0, and has one stage if all that waits for
// memory or for others is in one.
func stagesLeft(loop *ir.Operation) *schedule {
	s := readSchedule(loop)
	if s == nil {
		return nil
	}
	first, last, waiting := s.stages, 0, make(map[int]bool)
	for op, at := range s.slots {
		first, last = min(first, at.stage), max(last, at.stage)
		if awaits(op) {
			waiting[at.stage] = true
		}
	}
	if len(waiting) <= 1 {
		s = newSchedule(loop, 1)
		all := slot{0, s.clusterAtEnd()}
		for op := range loop.Body().Ops() {
			if !op.IsTerminator() && !op.Def().Has(ir.ConstantLike) {
				s.slots[op] = all
			}
		}
		return s
	}
	s.stages = last - first + 1
	for op, at := range s.slots {
		s.slots[op] = slot{at.stage - first, at.cluster}
	}
	return s
}

// awaits reports whether op accesses memory or meets other warps: what a stage may be
// there for. Operations of vendors do, unless they say otherwise.
func awaits(op *ir.Operation) bool {
	switch op.Def() {
	case tt.Load, tt.DescriptorLoad, tt.DescriptorGather, ttg.LocalStore, ttg.LocalLoad, ttg.AsyncCopy:
		return true
	}
	switch op.Def().Dialect() {
	case "tt", "ttg", "scf", "gpu":
		return false
	}
	return !op.Def().Unregistered && !ir.IsPure(op)
}

// leadsToPlaced reports whether a placed operation depends on op within the
// iteration.
func (s *schedule) leadsToPlaced(op *ir.Operation) bool {
	seen := map[*ir.Operation]bool{op: true}
	queue := []*ir.Operation{op}
	for len(queue) > 0 {
		o := queue[0]
		queue = queue[1:]
		for _, v := range o.Results() {
			for u := range v.Users() {
				top := forloop.AncestorIn(s.loop.Body(), u)
				if top == nil || seen[top] {
					continue
				}
				if s.has(top) {
					return true
				}
				seen[top] = true
				queue = append(queue, top)
			}
		}
	}
	return false
}

// complete places the rest of the body around what is placed already.
func (s *schedule) complete() {
	first := s.placeConditions()
	s.addAllDeps()
	s.addCarriedDeps()
	s.addRest(first)
}

// placeConditions puts the conditions that placed operations depend on to the
// start of the iteration and the others to its end. It returns the first of the
// clusters that there were.
func (s *schedule) placeConditions() *cluster {
	first := s.clusters[0]
	needed := make(map[*ir.Operation]int)
	var order []*ir.Operation
	ops := s.inOrder()
	for stage := range s.stages {
		for _, op := range ops {
			if s.slots[op].stage != stage {
				continue
			}
			for _, c := range s.conditionsBehind(op) {
				if _, ok := needed[c]; !ok {
					needed[c] = stage
					order = append(order, c)
				}
			}
		}
	}
	if len(order) > 0 {
		start := s.newCluster(0)
		for _, c := range order {
			s.addIfAbsent(c, slot{needed[c], start})
		}
	}
	end := s.clusterAtEnd()
	for op := range s.loop.Body().Ops() {
		if _, ok := needed[op]; op.Is(scf.If) && !ok {
			s.addIfAbsent(op, slot{s.stages - 1, end})
		}
	}
	return first
}

// conditionsBehind lists the conditions that op depends on within the iteration.
func (s *schedule) conditionsBehind(op *ir.Operation) []*ir.Operation {
	var list []*ir.Operation
	seen := map[*ir.Operation]bool{}
	queue := []*ir.Operation{op}
	for len(queue) > 0 {
		o := queue[0]
		queue = queue[1:]
		for _, v := range nestedOperands(o) {
			d := v.Def()
			if d == nil || d.Block() != s.loop.Body() || seen[d] {
				continue
			}
			seen[d] = true
			queue = append(queue, d)
			if d.Is(scf.If) {
				list = append(list, d)
			}
		}
	}
	return list
}

// addCarriedDeps places what computes, for the next iteration, a carried value that a
// placed operation uses: a stage later, and before that operation, so that it
// need not be kept any longer. A load stays with its user instead.
func (s *schedule) addCarriedDeps() {
	before := make(map[*cluster]*cluster)
	for _, op := range s.body() {
		at := s.slots[op]
		if at.stage == s.stages-1 {
			continue
		}
		for _, v := range nestedOperands(op) {
			next := forloop.Next(s.loop, v)
			if next == nil {
				continue
			}
			d := next.Def()
			if d == nil || d.Block() != s.loop.Body() || s.has(d) {
				continue
			}
			place := at
			if !isLoad(d) {
				if before[at.cluster] == nil {
					before[at.cluster] = s.newCluster(at.cluster.position)
				}
				place = slot{at.stage + 1, before[at.cluster]}
			}
			s.slots[d] = place
			s.addDeps(d, place, true)
		}
	}
}

// addRest places everything else in the last stage, as early as what it uses
// allows.
func (s *schedule) addRest(first *cluster) {
	last := s.stages - 1
	rest := make(map[*ir.Operation]*cluster)
	var order []*ir.Operation
	for op := range s.loop.Body().Ops() {
		if !op.IsTerminator() && !s.has(op) {
			rest[op] = first
			order = append(order, op)
		}
	}
	var queue []*ir.Operation
	for _, op := range s.inOrder() {
		if s.slots[op].stage == last {
			queue = append(queue, op)
		}
	}
	for len(queue) > 0 {
		op := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		here := rest[op]
		if here == nil {
			here = s.slots[op].cluster
		}
		for _, v := range op.Results() {
			for u := range v.Users() {
				top := forloop.AncestorIn(s.loop.Body(), u)
				if c := rest[top]; c != nil && c.position < here.position {
					rest[top] = here
					queue = append(queue, top)
				}
			}
		}
	}
	for _, op := range order {
		s.slots[op] = slot{last, rest[op]}
	}
}
