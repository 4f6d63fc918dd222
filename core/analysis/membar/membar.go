package membar

import (
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
	before, after map[*ir.Operation]bool
}

// Before reports whether all threads must wait before op.
func (r *Result) Before(op *ir.Operation) bool { return r.before[op] }

// After reports whether all threads must wait after op: behind the end of an
// asynchronous copy, whose bytes other threads will read.
func (r *Result) After(op *ir.Operation) bool { return r.after[op] }

// Analyze finds the barriers of every function of a module whose shared memory
// is placed by alloc.
func Analyze(mod *ir.Operation, alloc *allocation.Result) *Result {
	a := &analysis{
		Result: Result{before: make(map[*ir.Operation]bool), after: make(map[*ir.Operation]bool)},
		alloc:  alloc,
	}
	if alloc.Size() == 0 {
		return &a.Result // no shared memory, no order to keep
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
	alloc *allocation.Result
}

// access is a range of bytes that was read or written.
type access struct {
	lo, hi int
	write  bool
	// counted is the buffer of an access that is ordered behind the asynchronous
	// copies into the same buffer by tokens: another copy, or a load that waited
	// for one. Nil for all others.
	counted *ir.Operation
}

// state is the set of pending accesses.
type state []access

func (s state) conflicts(x access) bool {
	for _, p := range s {
		if p.write && p.counted != nil && p.counted == x.counted {
			continue // a copy behind a load is not: other threads may still read
		}
		if (p.write || x.write) && p.lo < x.hi && x.lo < p.hi {
			return true
		}
	}
	return false
}

func (s state) with(x access) state {
	if x.lo == x.hi || slices.Contains(s, x) {
		return s
	}
	return append(slices.Clip(s), x)
}

func join(a, b state) state {
	for _, x := range b {
		a = a.with(x)
	}
	return a
}

func (a *analysis) function(f *ir.Operation) {
	region := f.Region(0)
	if region.Empty() {
		return
	}
	if region.First() == region.Last() {
		a.block(region.First(), nil)
		return
	}
	// Blocks take what their predecessors leave, until nothing is new.
	in := make(map[*ir.Block]state)
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
	case op.Is(scf.For):
		// The body may run, any number of times, after itself.
		for {
			again := join(s, a.region(op.Region(0), s))
			if len(again) == len(s) {
				return s
			}
			s = again
		}
	case op.Is(scf.While):
		for {
			tested := a.region(op.Region(0), s)
			again := join(s, a.region(op.Region(1), tested))
			if len(again) == len(s) {
				return tested
			}
			s = again
		}
	case op.Is(scf.If):
		return join(a.region(op.Region(0), s), a.region(op.Region(1), s))
	case op.Is(gpu.Barrier), op.Is(ttg.LocalBarrier):
		return nil
	case op.Is(ttg.AsyncWait):
		a.after[op] = true
		return nil
	case op.Is(cf.Br), op.Is(cf.CondBr):
		return s
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

// area accounts for what an operation does in the memory placed for it.
func (a *analysis) area(op *ir.Operation, area allocation.Area, s state) state {
	lo, hi := area.Offset, area.Offset+area.Size
	switch {
	case area.Scratch:
		a.access(op, access{lo: lo, hi: hi, write: true}, s)
		return state{{lo: lo, hi: hi}} // behind its own barrier it reads
	case op.Is(tt.Call):
		s = a.access(op, access{lo: lo, hi: hi, write: true}, s)
		return s.with(access{lo: lo, hi: hi})
	case op.NumOperands() > 0: // a local_alloc with its contents
		return a.access(op, access{lo: lo, hi: hi, write: true}, s)
	}
	return s
}

// access adds x to the state, behind a barrier before op where one is due.
func (a *analysis) access(op *ir.Operation, x access, s state) state {
	if s.conflicts(x) {
		a.before[op] = true
		s = nil
	}
	return s.with(x)
}

// bufferAccesses lists the buffers that an operation reads and writes.
func (a *analysis) bufferAccesses(op *ir.Operation) []access {
	var out []access
	for i, v := range op.Operands() {
		if _, ok := v.Type().(*ttg.MemDescType); !ok {
			continue
		}
		var reads, writes, counted bool
		switch {
		case op.Is(ttg.LocalLoad):
			reads, counted = true, op.NumOperands() > 1
		case op.Is(ttg.LocalStore):
			writes = true
		case op.Is(ttg.AsyncCopy):
			writes, counted = i == 1, true
		case alias.IsView(op), op.Is(ttg.LocalDealloc), op.IsTerminator():
		default:
			reads, writes = true, true
		}
		set := alias.Of(v)
		from := set.Buffers
		if set.Any {
			from = append(from, nil)
		}
		for _, root := range from {
			x := access{hi: math.MaxInt}
			if area, ok := a.alloc.Area(root); ok {
				x = access{lo: area.Offset, hi: area.Offset + area.Size}
			}
			if counted {
				x.counted = root
			}
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
