package membar

import (
	"maps"
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
)

// Result says where barriers are due.
type Result struct {
	before, after, fence map[*ir.Operation]bool
}

func (r *Result) clone() Result {
	return Result{before: maps.Clone(r.before), after: maps.Clone(r.after), fence: maps.Clone(r.fence)}
}

// marks is the number of barriers and fences.
func (r *Result) marks() int { return len(r.before) + len(r.after) + len(r.fence) }

// Before reports whether all threads must wait before op.
func (r *Result) Before(op *ir.Operation) bool { return r.before[op] }

// After reports whether all threads must wait after op: after the end of an
// asynchronous copy, whose bytes other threads will read, and after a fence that
// directly follows it, so that one barrier serves for both.
func (r *Result) After(op *ir.Operation) bool { return r.after[op] }

// Fence reports whether all threads must order what they wrote before what
// engines do, and only then wait before op.
func (r *Result) Fence(op *ir.Operation) bool { return r.fence[op] }

// Analyze finds the barriers of every function of a module whose shared memory
// is placed by alloc. foreign tells of operations of a target's dialect, and may
// be nil.
func Analyze(mod *ir.Operation, alloc *allocation.Result, foreign Foreign) *Result {
	return AnalyzeWaited(mod, alloc, foreign, nil)
}

// AnalyzeWaited is Analyze of a module in which a buffer that is copied to has a part for
// every copy in flight and one more: loads for which waited holds, which come after a wait
// for copies, need no other order with copies to the same buffer.
func AnalyzeWaited(mod *ir.Operation, alloc *allocation.Result, foreign Foreign, waited func(load *ir.Operation) bool) *Result {
	a := &analysis{
		Result: Result{
			before: make(map[*ir.Operation]bool), after: make(map[*ir.Operation]bool), fence: make(map[*ir.Operation]bool),
		},
		alloc: alloc, foreign: foreign, waited: waited,
	}
	if alloc.Size() == 0 {
		return &a.Result // no shared memory, no order to keep
	}
	if foreign != nil {
		a.oldest = oldest(mod, foreign)
	}
	for op := range mod.Body().Ops() {
		if op.Is(tt.Func) {
			a.function(op)
		}
	}
	return &a.Result
}

type analysis struct {
	Result
	alloc   *allocation.Result
	foreign Foreign
	waited  func(load *ir.Operation) bool // nil: of none
	// oldest is the age from which on all reads in flight are joined together.
	oldest int
	// again is set while a loop is walked whose barriers are known: those of its later
	// iterations are there in the first one, too.
	again bool
	// parts is set where the part of a buffer that a copy goes to was known.
	parts bool
	// apart is set while what is walked has half of the threads a barrier late.
	apart bool
}

// oldest is the most operations that a module's operations leave pending.
func oldest(mod *ir.Operation, foreign Foreign) int {
	n := 0
	ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
		if e, ok := foreign(op); ok && e.Joins {
			n = max(n, e.Pending)
		}
		return ir.Advance
	})
	return n
}

func (a *analysis) function(f *ir.Operation) {
	region := tt.AsFunc(f).Body()
	if region.Empty() {
		return
	}
	var start state
	if a.foreign != nil && tt.AsFunc(f).SymVisibility() == "private" {
		start = state{{hi: math.MaxInt, kind: unfenced}} // by its callers
	}
	if region.First() == region.Last() {
		a.block(region.First(), start)
		return
	}
	// Blocks take what their predecessors leave, until nothing is new.
	in := map[*ir.Block]state{region.First(): start}
	order := ir.ReversePostorder(region)
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			out := a.block(b, in[b])
			if b.Last() == nil {
				continue
			}
			for _, s := range b.Last().Successors() {
				if j := join(in[s], out); len(j) != len(in[s]) {
					in[s], changed = j, true
				}
			}
		}
	}
}

// block walks a block from the state at its start to that at its end.
func (a *analysis) block(b *ir.Block, s state) state {
	for op := range b.Ops() {
		s = a.op(op, s)
	}
	return s
}

func (a *analysis) region(r *ir.Region, s state) state {
	if r.Empty() {
		return s
	}
	return a.block(r.First(), s)
}

func (a *analysis) op(op *ir.Operation, s state) state {
	switch {
	case op.Is(scf.For), op.Is(scf.While):
		return a.loop(op, s)
	case op.Is(scf.If):
		return join(a.region(scf.AsIf(op).ThenRegion(), s), a.region(scf.AsIf(op).ElseRegion(), s))
	case op.Is(ttg.WarpSpecialize):
		return a.groups(op, s)
	case op.Is(gpu.Barrier), op.Is(ttg.LocalBarrier):
		return a.barrier(s)
	case op.Is(ttg.AsyncWait):
		return a.copiesEnded(op, s)
	case op.Is(cf.Br), op.Is(cf.CondBr):
		return s
	}
	if a.again && a.before[op] {
		if a.fence[op] {
			s = s.fenced()
		}
		s = s.met()
	}
	if a.foreign != nil {
		if e, ok := a.foreign(op); ok {
			return a.foreignOp(op, e, s)
		}
	}
	if area, ok := a.alloc.Area(op); ok {
		if s = a.area(op, area, s); !op.Is(tt.Call) {
			return s
		}
	}
	for _, x := range a.bufferAccesses(op) {
		s = a.access(op, x, s)
	}
	return s
}

// barrier is the state after a barrier of the program.
func (a *analysis) barrier(s state) state {
	if a.apart {
		return s.halfMet()
	}
	return s.met()
}

// loop accounts for a loop. Barriers and fences that its first iteration alone needs,
// for what was done before the loop, are put before the loop.
func (a *analysis) loop(op *ir.Operation, s state) state {
	before := a.clone()
	end := a.iterations(op, s)
	least := a.marks()
	var met, fenced bool
	for _, fence := range [...]bool{false, true} {
		start := s
		if fence {
			start = s.fenced()
		}
		if start = start.met(); len(start) == len(s) || least == before.marks() {
			continue
		}
		inside := a.Result
		a.Result = before.clone()
		if e := a.iterations(op, start); a.marks() < least {
			least, end, met, fenced = a.marks(), e, true, fence
		} else {
			a.Result = inside
		}
	}
	if met {
		a.before[op] = true
	}
	if fenced {
		a.fence[op] = true
	}
	return end
}

// iterations walks a loop whose first iteration starts in state s. Where its parts of
// buffers are known, a barrier may be due in a later iteration alone; then it is walked again.
func (a *analysis) iterations(op *ir.Operation, s state) state {
	outer := a.again
	defer func() { a.again = outer }()
	for {
		marks := a.marks()
		end := a.stable(op, s)
		if a.marks() == marks || !a.parts {
			return end.left(op)
		}
		a.again = true
	}
}

// stable walks the body of a loop, which may run, any number of times, after itself.
func (a *analysis) stable(op *ir.Operation, s state) state {
	for {
		end, again := s, s
		if op.Is(scf.For) {
			again = join(s, a.region(scf.AsFor(op).Region(), s).later(op))
		} else {
			end = a.region(scf.AsWhile(op).Before(), s)
			again = join(s, a.region(scf.AsWhile(op).After(), end))
		}
		if len(again) == len(s) {
			return end
		}
		s = again
	}
}

// groups accounts for groups of warps that run at once. All threads meet before they
// begin, when captures were handed over, and at their end. Groups order what they do to
// the same memory by operations of the program.
func (a *analysis) groups(op *ir.Operation, s state) state {
	if area, ok := a.alloc.Area(op); ok {
		s = a.access(op, access{lo: area.Offset, hi: area.Offset + area.Size, write: true}, s)
	}
	start := s.met()
	end := a.region(ttg.AsWarpSpecialize(op).DefaultRegion(), start)
	for _, r := range ttg.Partitions(op) {
		end = join(end, a.region(r, start))
	}
	return end.met()
}

// lastFence is the last of the fences that directly follow op, or op.
func (a *analysis) lastFence(op *ir.Operation) *ir.Operation {
	for a.foreign != nil {
		next := op.Next()
		if next == nil {
			break
		}
		if e, ok := a.foreign(next); !ok || !e.Fences {
			break
		}
		op = next
	}
	return op
}

// foreignOp accounts for an operation of a target's dialect.
func (a *analysis) foreignOp(op *ir.Operation, e Effects, s state) state {
	switch {
	case e.Apart && a.apart:
		a.apart, s = false, s.together()
	case e.Apart:
		a.apart = true
	case e.Meets:
		s = a.barrier(s)
	}
	if e.Fences {
		s = s.fenced()
	}
	if e.Drains {
		s = s.drained()
	}
	if area, ok := a.alloc.Area(op); ok {
		s = a.access(op, access{lo: area.Offset, hi: area.Offset + area.Size, write: true, Effect: e.Scratch}, s)
	}
	if slices.ContainsFunc(e.Operands, func(x Effect) bool { return x&(Reads|Async|Leader) == Reads|Async }) {
		s = s.aged(a.oldest)
	}
	for i, v := range op.OperandValues() {
		if i >= len(e.Operands) || e.Operands[i] == 0 {
			continue
		}
		if _, ok := v.Type().(*ttg.MemDescType); !ok {
			continue // in registers, which this operand may also be
		}
		for _, x := range a.buffersOf(v) {
			if e.Operands[i] == Copies {
				x.write, x.counted = true, true
				a.parts = a.parts || x.ring.loop != nil
				s = a.access(op, x, s)
				continue
			}
			x.Effect = e.Operands[i]
			if x.write = x.Effect&Writes != 0; x.write || x.Effect&Reads != 0 {
				s = a.access(op, x, s)
			}
		}
	}
	if e.Joins {
		s = s.joined(e.Pending)
	}
	if e.Waits {
		return a.copiesEnded(op, s)
	}
	return s
}

// copiesEnded puts a barrier after a wait for copies.
func (a *analysis) copiesEnded(op *ir.Operation, s state) state {
	a.after[a.lastFence(op)] = true
	return s.met()
}

// area accounts for what an operation does in the memory placed for it.
func (a *analysis) area(op *ir.Operation, area allocation.Area, s state) state {
	lo, hi := area.Offset, area.Offset+area.Size
	switch {
	case area.Scratch:
		s = a.access(op, access{lo: lo, hi: hi, write: true}, s)
		return s.met().with(access{lo: lo, hi: hi}) // after its own barrier it reads
	case op.Is(tt.Call):
		s = a.access(op, access{lo: lo, hi: hi, write: true}, s)
		return s.with(access{lo: lo, hi: hi})
	case op.NumOperands() > 0: // a local_alloc with its contents
		return a.access(op, access{lo: lo, hi: hi, write: true, root: op}, s)
	}
	return s
}

// access adds x to the state, after a barrier before op where one is due, and a
// fence.
func (a *analysis) access(op *ir.Operation, x access, s state) state {
	if x.Effect&Async != 0 && s.unfenced(x) {
		a.before[op], a.fence[op] = true, true
		s = s.fenced().met()
	}
	if s.conflicts(x) {
		a.before[op] = true
		s = s.met()
	}
	s = s.with(x)
	if a.foreign != nil && x.write && x.Effect&(Async|Sync) == 0 {
		s = s.with(access{lo: x.lo, hi: x.hi, kind: unfenced, counted: x.counted})
	}
	return s
}

// buffersOf lists the buffers that v may be a view of.
func (a *analysis) buffersOf(v *ir.Value) []access {
	set := alias.Of(v)
	out := make([]access, 0, len(set.Buffers)+1)
	part := ringOf(v)
	for _, root := range set.Buffers {
		area, _ := a.alloc.Area(root)
		out = append(out, access{lo: area.Offset, hi: area.Offset + area.Size, root: root, ring: part})
	}
	if set.Any {
		out = append(out, access{hi: math.MaxInt})
	}
	return out
}

// bufferAccesses lists the buffers that an operation reads and writes.
func (a *analysis) bufferAccesses(op *ir.Operation) []access {
	var out []access
	for i, v := range op.Operands() {
		if _, ok := v.Type().(*ttg.MemDescType); !ok {
			continue
		}
		var reads, writes, counted, waited bool
		switch {
		case op.Is(ttg.LocalLoad):
			reads, counted = true, op.NumOperands() > 1
			waited = a.waited != nil && a.waited(op)
		case op.Is(ttg.LocalStore):
			writes = true
		case op.Is(ttg.AsyncCopy):
			writes, counted = i == 1, true
		case alias.IsView(op), op.Is(ttg.LocalDealloc), op.IsTerminator():
		default:
			reads, writes = true, true
		}
		for _, x := range a.buffersOf(v) {
			x.counted, x.waited = counted, waited
			a.parts = a.parts || writes && x.ring.loop != nil
			if reads {
				out = append(out, x)
			}
			if writes {
				x.write = true
				out = append(out, x)
			}
		}
	}
	return out
}
