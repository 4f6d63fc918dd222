package pipeline

import (
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// Staging is the schedule of one loop, for targets that pipeline loops by rules of their
// own: a stage and a cluster for each operation of the body. One iteration of the pipelined
// loop executes clusters in the order of their numbers, and within one the operations in the
// order of the program.
type Staging struct{ s *schedule }

// NewStaging is an empty schedule of so many stages and clusters.
func NewStaging(loop *ir.Operation, stages, clusters int) Staging {
	s := newSchedule(loop, stages)
	for range clusters {
		s.clusterAtEnd()
	}
	return Staging{s}
}

// StagingOf reads the schedule that Write has put on loop's operations, with so many
// clusters at least, in a module with facts.BoundedSchedules; false when there is none.
// Schedules of more stages than a loop may have are an error.
func StagingOf(loop *ir.Operation, clusters int) (Staging, bool, error) {
	last, ok := loop.IntAttr(tt.MaxStageAttr)
	if !ok {
		return Staging{}, false, nil
	}
	for op := range loop.Body().Ops() {
		if stage, ok := op.IntAttr(tt.StageAttr); ok {
			k, _ := op.IntAttr(tt.ClusterAttr)
			last, clusters = max(last, stage), max(clusters, int(k)+1)
		}
	}
	p := NewStaging(loop, int(last)+1, clusters)
	if err := p.s.checkStages(); err != nil {
		return Staging{}, false, err
	}
	for op := range loop.Body().Ops() {
		if stage, ok := op.IntAttr(tt.StageAttr); ok {
			k, _ := op.IntAttr(tt.ClusterAttr)
			p.Place(op, int(stage), int(k))
		}
	}
	return p, true, nil
}

// Loop is the loop, which Carry and Expand make again.
func (p Staging) Loop() *ir.Operation { return p.s.loop }

// Stages is the number of stages.
func (p Staging) Stages() int { return p.s.stages }

// At is where op is; false if it has no place.
func (p Staging) At(op *ir.Operation) (stage, cluster int, ok bool) {
	at, ok := p.s.slots[op]
	if !ok {
		return 0, 0, false
	}
	return at.stage, at.cluster.position, true
}

// Place puts op where it says.
func (p Staging) Place(op *ir.Operation, stage, cluster int) {
	p.s.slots[op] = slot{stage, p.s.clusters[cluster]}
}

// Write puts the schedule on the operations.
func (p Staging) Write() { p.s.write() }

// Erase takes what Write has written off the operations.
func (p Staging) Erase() { eraseSchedule(p.s.loop) }

// Carry lets the loop carry another value, which starts as init, and returns the body's
// argument for it. What is to be yielded for it the caller appends to the yield.
func (p Staging) Carry(b *ir.Builder, init *ir.Value) *ir.Value {
	loop, args := forloop.AddCarried(b, p.s.loop, init)
	p.s.loop = loop
	return args[0]
}

// Complete gives each operation of the body that has no place one: with what needs it, and
// what nothing needs in the last stage, in the cluster of that number or later. Clusters
// have other numbers afterwards.
func (p Staging) Complete(rest int) {
	first := p.s.clusters[rest]
	p.s.addAllDeps()
	p.s.addCarriedDeps()
	p.s.addRest(first)
}

// Precedes reports whether x of an iteration comes before y of the one so many iterations
// later. Both are in the loop's body and have a place.
func (p Staging) Precedes(x, y *ir.Operation, iterations int) bool {
	a, b := p.s.slots[x], p.s.slots[y]
	switch late := a.stage - b.stage - iterations; {
	case late != 0:
		return late < 0
	case a.cluster != b.cluster:
		return a.cluster.position < b.cluster.position
	}
	return x.IsBeforeInBlock(y)
}

// Predicate lets op do nothing where pred is false, and returns the values in place of its
// results; false for operations that it leaves to the pipeliner.
type Predicate func(b *ir.Builder, op *ir.Operation, pred *ir.Value, part Part) ([]*ir.Value, bool)

// CanSwitchOff reports whether the pipeliner knows how to let op do nothing for an iteration
// that does not exist.
func CanSwitchOff(op *ir.Operation) bool { return canPredicate(op, nil, dots.MultiplyAdd{}) }

// Expand runs the stages in different iterations. The last iterations end after the loop;
// before and after it also is asked first how to switch an operation off. If guarded, all of
// it is in a condition that there is an iteration, and the first needs no predicates. It is false, and
// nothing changes, if the schedule would use a value before it is computed or let an access
// to memory overtake another.
func (p Staging) Expand(b *ir.Builder, also Predicate, guarded bool) bool {
	if !p.s.isOrdered(dots.MultiplyAdd{}) {
		return false
	}
	eraseSchedule(p.s.loop)
	if p.s.stages > 1 {
		e := &expansion{b: b, s: p.s, unit: dots.MultiplyAdd{}, drains: true, also: also}
		if guarded {
			e.guard()
		}
		e.expand()
	}
	return true
}

// UpdateWaits sets how many groups of copies may be under way after each wait, and joins
// waits between which no copy starts.
func UpdateWaits(module *ir.Operation) { updateWaits(ir.NewBuilder(module.Context()), module) }

// CanPipeline reports whether the iterations of loop can overlap: no loop is in it, nothing
// that it carries goes on for more than one iteration, and no barrier orders it.
func CanPipeline(loop *ir.Operation) bool {
	return !carriesFar(loop) && forloop.IsInnermost(loop) && !hasBarrier(loop)
}

// StagesOf is how many stages loop is to have: its own number, or n, and whether it is its
// own.
func StagesOf(loop *ir.Operation, n int) (stages int, own bool) { return stagesOf(loop, n) }

// NeededLoad is a load that a dot, or another operation of a loop, is computed from.
type NeededLoad struct {
	Load *ir.Operation
	// Level is the number of loads that are computed from it on the way.
	Level int
	// Use is the next of these loads, or what the last one is for first.
	Use *ir.Operation
}

// NeededLoads lists the loads of loop that its dots need, and with ofAll those that anything
// needs, through at most so many further loads, in the order in which they are found. Those
// that are needed at different levels are not among them, nor are those from memory that the
// loop writes, and those for which takes is false.
func NeededLoads(loop *ir.Operation, ofAll bool, deepest int, takes func(load *ir.Operation) bool) []NeededLoad {
	f := &loadFinder{
		unit: dots.MultiplyAdd{}, takes: takes, loop: loop,
		level: make(map[*ir.Operation]int), excluded: make(map[*ir.Operation]bool), uses: make(map[*ir.Operation]*ir.Operation),
	}
	f.find(loop, ofAll)
	var loads []NeededLoad
	for _, load := range f.loads {
		if level, ok := f.level[load]; ok && level <= deepest {
			loads = append(loads, NeededLoad{load, level, f.uses[load]})
		}
	}
	return loads
}

// AccessBytes is the number of bytes that a thread loads at once.
func AccessBytes(info *axisinfo.Result, load *ir.Operation) int64 { return accessBytes(info, load) }

// CopyBytes is the number of bytes that lie side by side, and start at a multiple of it,
// both in a thread's registers of a tensor of type t and in a buffer of layout enc; 0 where
// that has no such buffers.
func CopyBytes(t *ir.TensorType, enc ir.Attribute) int64 { return copyBytes(t, enc) }
