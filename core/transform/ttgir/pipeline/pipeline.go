package pipeline

import (
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// Pipeline carries out the schedules that tritongpu-schedule-loops wrote. Loads
// that start stages before their use become asynchronous copies into as many
// buffers; the loop then runs with its stages in different iterations; and each wait
// lets as many groups of copies stay under way as were started after the one
// that it is for. Loops that hold, in a stage that runs ahead, an operation that
// cannot be switched off for iterations that do not exist, stay as they are.
var Pipeline = New(dots.MultiplyAdd{}, nil)

// New is Pipeline for a target with a matrix unit, which says how operands of dots
// are buffered, and with copies of blocks through descriptors: loads through them
// become what blocks makes of them. Without blocks, which is nil, they stay. Triton's pass
// of the name does more, for which a target has passes of its own: more lists these, and
// they run where the option whole asks for it.
func New(unit dots.MatrixUnit, blocks BlockCopies, more ...*pass.Pass) *pass.Pass {
	return newPipeline(unit, blocks, false, more...)
}

// newPipeline is New, with loops lowered literally or not; see loopLowering.
func newPipeline(unit dots.MatrixUnit, blocks BlockCopies, literal bool, more ...*pass.Pass) *pass.Pass {
	return &pass.Pass{
		Name: "tritongpu-pipeline",
		Doc:  "pipeline scheduled loops, with loads as asynchronous copies",
		Options: []pass.Option{
			{Name: "num-stages", Doc: "of passes that whole adds; a schedule has its own number", Default: 3},
			{Name: "whole", Doc: "do all that Triton's pass of this name does: also pipeline dots and stores, for which a target has passes of their own", Default: false},
		},
		Example:  pipelineExample,
		ByTarget: true,
		Before:   []*pass.Fact{facts.Layouts, facts.Scheduled},
		After:    []*pass.Fact{facts.NoSchedule},
		Run: func(r *pass.Run) error {
			b := ir.NewBuilder(r.Module.Context())
			lowerDots(b, unit, r.Module, readSchedules(r.Module), blocks)
			var schedules []*schedule
			for _, s := range readSchedules(r.Module) {
				if err := s.checkStages(); err != nil {
					return err
				}
				switch {
				case !s.isExecutable(blocks, unit):
					eraseSchedule(s.loop)
					r.Count("impossible", 1)
				default:
					schedules = append(schedules, s)
				}
			}
			elems := accessesOf(r.Module, schedules)
			for _, s := range schedules {
				r.Count("copies", loopLowering{b, elems, unit, blocks, literal}.lower(s))
				if blocks != nil && r.Bool("whole") {
					bufferConditional(b, s, unit, blocks)
				}
				eraseSchedule(s.loop)
				if s.stages > 1 {
					expandLoop(b, s, blocks, unit)
					r.Count("loops", 1)
				}
			}
			updateWaits(b, r.Module)
			// A loop without a last stage may have stages on its operations, and dots latencies.
			ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
				op.SetAttr(tt.StageAttr, nil)
				op.SetAttr(tt.ClusterAttr, nil)
				op.SetAttr(tt.SelfLatencyAttr, nil)
				return ir.Advance
			})
			if !r.Bool("whole") {
				return nil
			}
			for _, p := range more {
				var with []pass.Setting
				if slices.ContainsFunc(p.Options, func(o pass.Option) bool { return o.Name == "num-stages" }) {
					with = append(with, pass.Setting{Name: "num-stages", Value: r.Int("num-stages")})
				}
				if err := r.Also(p, with...); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// accessesOf returns how many elements each load of the scheduled loops accesses at
// once. It looks before any loop changes: what a loop computes stays the same when
// others are pipelined, and one analysis serves all.
func accessesOf(module *ir.Operation, schedules []*schedule) map[*ir.Operation]int64 {
	elems := make(map[*ir.Operation]int64)
	if len(schedules) == 0 {
		return elems
	}
	info := axisinfo.Analyze(module)
	for _, s := range schedules {
		for op := range s.loop.Body().Ops() {
			if op.Is(tt.Load) {
				elems[op] = accessElems(info, op)
			}
		}
	}
	return elems
}

// keepsMemoryOrder reports whether all accesses to memory that the loop writes
// are in one stage and in the order of the program, so that none overtakes
// another.
func (s *schedule) keepsMemoryOrder() bool {
	last := make(map[*ir.Value]slot) // of the accesses through each pointer so far
	written, moved := make(map[*ir.Value]bool), make(map[*ir.Value]bool)
	return !ir.Walk(s.loop, func(op *ir.Operation) ir.WalkResult {
		switch op.Def() {
		case tt.Load, tt.Store, tt.AtomicRMW, tt.AtomicCAS, tt.DescriptorLoad, tt.DescriptorGather, tt.DescriptorStore, tt.DescriptorReduce, tt.DescriptorScatter:
		default:
			return ir.Advance
		}
		base := basePointer(tt.Address(op))
		at := s.slots[forloop.AncestorIn(s.loop.Body(), op)]
		if have, ok := last[base]; ok && (have.stage != at.stage || at.before(have)) {
			moved[base] = true
		}
		last[base] = at
		written[base] = written[base] || !isLoad(op)
		if written[base] && moved[base] {
			return ir.Stop
		}
		return ir.Advance
	})
}

// isExecutable reports whether every operation of the body has a place, those
// that run ahead can be switched off and do not overtake others, and no value is
// used before it is computed.
func (s *schedule) isExecutable(blocks BlockCopies, unit dots.MatrixUnit) bool {
	for op := range s.loop.Body().Ops() {
		if at, ok := s.slots[op]; ok && at.stage < s.stages-1 && !op.IsTerminator() && !op.Def().Has(ir.ConstantLike) && !canPredicate(op, blocks, unit) {
			return false
		}
	}
	return s.isOrdered(unit)
}

// isOrdered reports whether every operation of the body has a place, none overtakes another
// of those that access memory, and no value is used before it is computed.
func (s *schedule) isOrdered(unit dots.MatrixUnit) bool {
	position := make(map[*ir.Operation]int)
	for i, op := range s.inOrder() {
		position[op] = i
	}
	for op := range s.loop.Body().Ops() {
		if op.IsTerminator() || op.Def().Has(ir.ConstantLike) {
			continue
		}
		at, ok := s.slots[op]
		if !ok {
			return false
		}
		for _, v := range nestedOperands(op) {
			turnsBack := 0
			if next := forloop.Next(s.loop, v); next != nil {
				v, turnsBack = next, 1
			}
			d := v.Def()
			if d == nil || !s.has(d) {
				continue
			}
			// In one iteration of the pipelined loop an operation of stage k works for
			// the iteration of the old loop that is k iterations behind those of stage 0.
			late := s.slots[d].stage - turnsBack - at.stage
			if late > 0 || late == 0 && position[d] >= position[op] {
				return false
			}
		}
	}
	if u, ok := unit.(AsyncUnit); ok && !u.KeepsOrder(s.loop, func(x, y *ir.Operation, iterations int) bool {
		late := s.slots[x].stage - s.slots[y].stage - iterations
		return late < 0 || late == 0 && position[x] < position[y]
	}) {
		return false
	}
	return s.keepsMemoryOrder()
}

// updateWaits sets what each wait waits for, and joins waits between which no
// copy starts.
func updateWaits(b *ir.Builder, module *ir.Operation) {
	var waits []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		if op.Is(ttg.AsyncWait) {
			waits = append(waits, op)
		}
		return ir.Advance
	})
	commits := make(map[*ir.Operation]int)
	for _, w := range waits {
		ttg.AsAsyncWait(w).SetNum(int64(laterGroups(w, commits)))
	}
	gone := make(map[*ir.Operation]bool)
	for _, w := range waits {
		if !gone[w] {
			joinWaits(b, w, gone)
		}
	}
}

// laterGroups is the number of groups of copies that are surely started between
// those that w waits for and w, on whatever way. commits is for groupCounter.
func laterGroups(w *ir.Operation, commits map[*ir.Operation]int) int {
	if w.NumOperands() == 0 {
		return 0
	}
	least := math.MaxInt
	for _, token := range w.Operands() {
		c := groupCounter{least: math.MaxInt, commits: commits}
		least = min(least, c.back(token, w, 0))
	}
	return least
}

// groupCounter follows a token back to where its group was committed.
type groupCounter struct {
	least int
	// commits counts the groups committed before an operation in its block; it has
	// all operations of a block, or none.
	commits map[*ir.Operation]int
}

// back is the least number of groups committed between the definition of token
// and at, on top of so many after at.
func (c *groupCounter) back(token *ir.Value, at *ir.Operation, sum int) int {
	if d := token.Def(); d != nil {
		c.least = min(c.least, sum+c.between(d.Next(), at))
		return c.least
	}
	loop, i := token.Block().Parent(), scf.CarriedIndex(token)
	if loop == nil || !loop.Is(scf.For) || i < 0 {
		return 0
	}
	sum += c.between(loop.Body().First(), at)
	if sum >= c.least {
		return c.least
	}
	first := c.back(scf.AsFor(loop).InitArgsAt(i), loop, sum)
	before := c.back(forloop.Yield(loop).Operand(i), forloop.Yield(loop), sum)
	return min(first, before)
}

// between counts the groups committed from op up to end, in one block. It is 0 where
// end is not after op: the token comes from another block, and nothing counts.
func (c *groupCounter) between(op, end *ir.Operation) int {
	if op == nil || op.Block() != end.Block() || end.IsBeforeInBlock(op) {
		return 0
	}
	if _, ok := c.commits[op]; !ok {
		n := 0
		for o := range op.Block().Ops() {
			c.commits[o] = n
			if o.Is(ttg.AsyncCommitGroup) {
				n++
			}
		}
	}
	return c.commits[end] - c.commits[op]
}

// joinWaits lets w wait for what the waits after it wait for, up to the next
// group or the next operation with regions.
func joinWaits(b *ir.Builder, w *ir.Operation, gone map[*ir.Operation]bool) {
	tokens := w.OperandValues()
	num := ttg.AsAsyncWait(w).Num()
	var others []*ir.Operation
	for op := w.Next(); op != nil && !op.Is(ttg.AsyncCommitGroup) && !isBranching(op); op = op.Next() {
		if op.Is(ttg.AsyncWait) {
			num = min(num, ttg.AsAsyncWait(op).Num())
			tokens = append(tokens, op.OperandValues()...)
			others = append(others, op)
		}
	}
	if len(others) == 0 {
		return
	}
	if slices.ContainsFunc(tokens, func(v *ir.Value) bool {
		return v.Def() != nil && v.Def().Block() == w.Block() && !v.Def().IsBeforeInBlock(w)
	}) {
		return // a group of this iteration: it is not committed before w
	}
	b.At(w)
	joined := newWait(b, int(num), tokens...)
	for _, o := range append(others, w) {
		o.OneResult().ReplaceAllUsesWith(joined)
		gone[o] = true
		o.Erase()
	}
}

func isBranching(op *ir.Operation) bool { return op.Is(scf.For) || op.Is(scf.If) || op.Is(scf.While) }
