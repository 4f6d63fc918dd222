package instrument

import (
	"strings"

	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
)

// The model has maxThreads threads with two peers each; masks have room for them.
const (
	maxThreads = 16
	maskBits   = 64
)

// ConcurrencySanitizer adds checks to a kernel that no access to a buffer in shared or
// tensor memory races with another while it runs:
//
//	tti.experimental_lock_acquire %lock
//	%ok = tt.call @__triton_consan_verify_write_visibility…(%buf, …)
//	tti.experimental_assert_in_thread %ok, "Buffer being accessed has outstanding writes."
//	tt.call @__triton_consan_set_read_visibility…(%buf, …)
//	tti.experimental_lock_release %lock
//	ttg.local_load …
//
// Buffers have their places already. A kernel without any stays as it is.
var ConcurrencySanitizer = &pass.Pass{
	Name:    "tritoninstrument-concurrency-sanitizer",
	Doc:     "add checks that accesses to buffers wait for one another",
	Example: concurrencySanitizerExample,
	Before:  []*pass.Fact{facts.Machine},
	Run: func(r *pass.Run) error {
		in := &instrumenter{
			run: r, module: r.Module, b: ir.NewBuilder(r.Module.Context()),
			lanes: int(ttg.ThreadsPerWarp(r.Module)), functions: make(map[string]*ir.Operation),
			active: make(map[*ir.Operation]int64),
		}
		warps, _ := r.Module.IntAttr(ttg.NumWarpsAttr)
		in.warps = int(warps)
		if err := in.findKernel(); err != nil {
			return err
		}
		if err := in.survey(); err != nil {
			return err
		}
		p, err := in.findPlaces()
		if err != nil {
			return err
		}
		found := len(p.barriers)
		for _, list := range p.buffers {
			found += len(list)
		}
		if found == 0 {
			return nil
		}
		if n := ttg.NumCTAs(r.Module); n > 1 {
			return diag.Errorf(r.Place(in.kernel), "the sanitizer does not know programs of %d CTAs", n).WithHelp("compile the kernel with num_ctas=1")
		}
		in.b.SetToStart(tt.AsFunc(in.kernel).Body().First())
		in.b.Loc = in.kernel.Loc()
		in.makeTables(p)
		for _, op := range in.ops {
			in.instrument(op)
		}
		return nil
	},
}

type instrumenter struct {
	run          *pass.Run
	module       *ir.Operation
	kernel       *ir.Operation
	b            *ir.Builder
	warps, lanes int

	// ops are the kernel's operations, commits which kinds are among them, and expects
	// whether barriers are told how many bytes come.
	ops     []*ir.Operation
	commits [numCommitKinds]bool
	expects bool

	states    map[*ir.Region]*state
	active    map[*ir.Operation]int64  // what activeAt found, by ttg.warp_specialize
	functions map[string]*ir.Operation // that were made, by name
}

// RemarkSubject is the subject of remarks on what is not checked.
const RemarkSubject = "concurrency sanitizer"

// unchecked tells of what is not checked at op.
func (in *instrumenter) unchecked(op *ir.Operation, why string) {
	in.run.Warn(op, "%s", why)
	in.run.Remark(pass.Remark{Subject: RemarkSubject, At: op.Loc(), Decision: "unchecked", Why: why})
}

// findKernel finds the one function that is public, in a module that no sanitizer has
// changed yet.
func (in *instrumenter) findKernel() error {
	kernels := 0
	for op := range in.module.Body().Ops() {
		if !op.Is(tt.Func) || tt.AsFunc(op).Body().Empty() {
			continue
		}
		if strings.HasPrefix(op.SymbolName(), prefix) {
			return diag.Errorf(in.run.Place(op), "the module has checks of the sanitizer already").WithHelp("run the pass once")
		}
		if !op.IsPrivate() {
			in.kernel = op
			kernels++
		}
	}
	if kernels != 1 {
		return diag.Errorf(in.run.Place(in.module), "the module has %s, and the sanitizer takes one", diag.Count(kernels, "kernel")).
			WithHelp("a kernel is a public function with a body")
	}
	return nil
}

// survey reads the module, and refuses what the model has no room for.
func (in *instrumenter) survey() (err error) {
	refuse := func(op *ir.Operation, help, format string, args ...any) ir.WalkResult {
		err = diag.Errorf(in.run.Place(op), format, args...).WithHelp("%s", help)
		return ir.Stop
	}
	ir.Walk(in.module, func(op *ir.Operation) ir.WalkResult {
		e := in.effectsOf(op)
		kind, commits := commitsOf(op)
		if e != nil && e.done == byNumber {
			kind, commits = e.kind, true
		}
		if commits {
			in.commits[kind] = true
		}
		inKernel := op.ParentOf(tt.Func) == in.kernel
		switch {
		case !inKernel && (e != nil || commits || isSync(op)):
			return refuse(op, "inline it first: the pass inline", "%s is in a function that the kernel calls", op.Name())
		case ttng.Is(op, "barrier_expect"):
			in.expects = true
		case ttng.Is(op, "init_barrier") && ttng.AsInitBarrier(op).Count() > maxCount,
			ttng.Is(op, "arrive_barrier") && ttng.AsArriveBarrier(op).Count() > maxCount:
			return refuse(op, "let fewer threads arrive", "the sanitizer counts %d arrivals at a barrier and no more", maxCount)
		case ttng.Is(op, "async_copy_mbarrier_arrive"):
			return refuse(op, "wait for the copies with ttg.async_wait", "the sanitizer does not know barriers at which cp.async arrives")
		case op.Is(ttg.WarpSpecialize) && op.ParentOf(ttg.WarpSpecialize) != nil:
			return refuse(op, "partitions cannot be divided again", "it is in a region of another ttg.warp_specialize")
		case op.Is(ttg.WarpSpecialize) && len(ttg.Partitions(op)) >= maxThreads:
			return refuse(op, "use fewer partitions", "the sanitizer knows %d partitions and no more", maxThreads-1)
		}
		if inKernel {
			in.ops = append(in.ops, op)
		}
		return ir.Advance
	})
	return err
}

// isSync reports whether threads start or wait for one another by op, or prepare that.
func isSync(op *ir.Operation) bool {
	return ttng.Is(op, "init_barrier") || ttng.Is(op, "wait_barrier") || op.Is(ttg.WarpSpecialize) ||
		op.Is(ttg.LocalAlloc) || ttng.IsTmemAlloc(op)
}

// threadOf is the thread of the model that runs op: 0, or that of its partition.
func threadOf(op *ir.Operation) int64 {
	for p := op.Parent(); p != nil; op, p = p, p.Parent() {
		if !p.Is(ttg.WarpSpecializePartitions) {
			continue
		}
		for i, r := range p.Regions() {
			if r == op.Block().Region() {
				return int64(i) + 1
			}
		}
	}
	return 0
}

// activeAt are the flags, in elements of the table waiting, of the threads beside op that
// wait for barriers or arrive at them. Others, such as those that fill a group of warps up,
// keep no one from a deadlock.
func (in *instrumenter) activeAt(op *ir.Operation) int64 {
	p := op.ParentOf(ttg.WarpSpecialize)
	if p == nil {
		return 1
	}
	if active := in.active[p]; active != 0 {
		return active
	}
	var active int64
	ir.Walk(p, func(op *ir.Operation) ir.WalkResult {
		e := in.effectsOf(op)
		if e != nil && len(e.arrivals) > 0 || ttng.Is(op, "wait_barrier") {
			active |= 1 << (2 * threadOf(op))
		}
		return ir.Advance
	})
	in.active[p] = active
	return active
}

// instrument adds the checks of op before it; those that need its result, or that it has
// waited, after it.
func (in *instrumenter) instrument(op *ir.Operation) {
	e := in.effectsOf(op)
	c := &caller{in: in, code: code{in.b}, op: op, base: threadOf(op)}
	c.thread = c.base
	if e != nil {
		c.thread += int64(e.by)
	}
	section := func(pred *ir.Value, emit func()) {
		c.s = in.stateAt(op)
		in.locked(c.s, pred, emit)
	}
	after := op.Is(ttg.LocalAlloc) || ttng.IsTmemAlloc(op)
	in.b.SetBefore(op)
	if after {
		in.b.SetAfter(op)
	}
	in.b.Loc = unnamed(op.Loc())
	switch {
	case e != nil:
		section(nil, func() { c.effects(e) })
	case op.Is(ttg.WarpSpecialize):
		section(nil, func() { c.startPartitions(len(ttg.Partitions(op))) })
		in.b.SetAfter(op)
		section(nil, func() { c.endPartitions(len(ttg.Partitions(op))) })
	case ttng.Is(op, "init_barrier"):
		v := ttng.AsInitBarrier(op)
		section(nil, func() { c.initBarrier(v.Alloc(), v.Count()) })
	case ttng.Is(op, "wait_barrier"):
		v := ttng.AsWaitBarrier(op)
		section(v.Pred(), func() { c.startWait(v.Alloc(), v.Phase(), v.Pred(), in.activeAt(op)) })
		in.b.SetAfter(op)
		section(nil, func() { c.endWait(v.Alloc(), v.Pred()) })
	case op.Is(ttg.AsyncCommitGroup):
		section(nil, func() { c.commit(cpAsync) })
	case op.Is(ttg.AsyncWait):
		section(nil, func() { c.waitCommits(cpAsync, max(ttg.AsAsyncWait(op).Num(), 0)) })
	case ttng.Is(op, "warp_group_dot_wait"):
		section(nil, func() { c.waitCommits(wgmma, ttng.AsWarpGroupDotWait(op).Pendings()) })
	case ttng.Is(op, "async_tma_store_wait"):
		section(nil, func() { c.waitCommits(tmaStore, ttng.AsAsyncTmaStoreWait(op).Pendings()) })
	}
}

// unnamed is a location without the name that it gives a value.
func unnamed(l ir.Location) ir.Location {
	for {
		n, ok := l.(*ir.NameLoc)
		if !ok {
			return l
		}
		l = n.Child
	}
}

// locked puts what emit emits, if anything, between taking the lock and giving it back.
func (in *instrumenter) locked(s *state, pred *ir.Value, emit func()) {
	operands := []*ir.Value{s.lock.value}
	if pred != nil {
		operands = append(operands, pred)
	}
	acquire := in.b.Op(tti.Def("experimental_lock_acquire"), operands)
	emit()
	if last := in.b.Op(tti.Def("experimental_lock_release"), operands); last.Prev() == acquire {
		last.Erase()
		acquire.Erase()
	}
}
