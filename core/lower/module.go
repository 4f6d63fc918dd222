package lower

import (
	"errors"
	"fmt"

	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/work"
)

// Options are the facts of a compile that the module does not carry.
type Options struct {
	// Producer names the compiler in the debug information.
	Producer string
	// LineInfo asks for line tables that point to the source.
	LineInfo bool
}

// Result is a lowered module.
type Result struct {
	LLVM *llir.Module
	// Kernel is the name of the entry function.
	Kernel string
	// Shared is the number of bytes of shared memory of a program.
	Shared int
	// GlobalScratch is the number of bytes of global memory that the launch must
	// allocate for each program, a multiple of GlobalScratchAlign, 0 for none.
	GlobalScratch, GlobalScratchAlign int
	// Threads is the number of threads of a program.
	Threads int
	// Externs are the functions that are still to be linked, in the order of
	// their first calls.
	Externs []Extern

	kernel *ir.Operation
	alloc  *allocation.Result
}

// Module lowers a module of GPU dialects to LLVM IR. A user's mistake comes
// back as a *diag.Diagnostic at the line of the source.
//
// A module that becomes more than llir.MaxInstructions is such a mistake. When the
// Meter of the module's context stops the lowering, the error is the Meter's.
func Module(mod *ir.Operation, t Target, o Options) (res *Result, err error) {
	meter := mod.Context().Meter()
	meter.Enter("lowering to LLVM IR")
	defer work.Catch(&err)
	m := &module{
		target:  t,
		caps:    capabilities(t),
		opts:    o,
		layouts: make(map[*encoding.Attr][]*tensorLayout),
		funcs:   make(map[string]*function),
	}
	defer m.catchTooLarge(&err)
	if err := m.readAttrs(mod); err != nil {
		return nil, err
	}
	widenNarrowFloats(mod)
	m.ownWarps, m.otherLayouts = m.warps, make(map[int]map[*encoding.Attr][]*tensorLayout)
	m.axis = axisinfo.Analyze(mod)
	m.handlers, m.own = handlers(), m.ownOps()
	m.llvm = llir.NewModule("", t.Triple(), t.DataLayout())
	m.llvm.SetMeter(meter)
	var kernel *function
	for op := range mod.Body().Ops() {
		if !op.Is(tt.Func) {
			return nil, failure(op, fmt.Errorf("only functions can appear in a module that is lowered"))
		}
		f := tt.AsFunc(op)
		fn := &function{op: op, name: f.SymName(), kernel: f.SymVisibility() != "private"}
		m.funcs[fn.name] = fn
		m.order = append(m.order, fn)
		if fn.kernel {
			if kernel != nil {
				return nil, failure(op, fmt.Errorf("a module has one kernel, this one %s and %s", kernel.name, fn.name))
			}
			kernel = fn
		}
	}
	if kernel == nil {
		return nil, failure(mod, fmt.Errorf("the module has no kernel: no public tt.func"))
	}
	if err := m.findWorkers(mod, kernel); err != nil {
		return nil, err
	}
	if o.LineInfo {
		m.llvm.EnableDebug(fileOf(kernel.op), o.Producer)
	}
	if m.alloc, err = allocation.Analyze(mod, m.scratch, m.sharedRoom(mod)); err != nil {
		return nil, err
	}
	m.setWarps(m.ownWarps)
	m.crowded = m.loadsLarge(mod)
	m.bars = membar.Analyze(mod, m.alloc, m.effects())
	if m.alloc.Size() > 0 {
		m.smem = m.llvm.AddGlobal("global_smem", m.llvm.Array(0, llir.I8), sharedSpace, m.alloc.Align(), nil)
	}
	frame := m.placeGlobalScratch(kernel)
	for _, fn := range m.order {
		if err := m.declare(fn); err != nil {
			return nil, err
		}
	}
	for _, fn := range m.order {
		if err := m.lowerFunc(fn); err != nil {
			return nil, err
		}
	}
	return &Result{
		LLVM: m.llvm, Kernel: kernel.name,
		Shared: m.alloc.Size(), Threads: m.threads(), Externs: m.externs,
		GlobalScratch: int(frame.size), GlobalScratchAlign: int(frame.align),
		kernel: kernel.op, alloc: m.alloc,
	}, nil
}

// The address spaces that GPU vendors share.
const (
	globalSpace = 1
	sharedSpace = 3
)

// module is the state of one lowering.
type module struct {
	target   Target
	caps     Capabilities // with defaults in the place of nil, but for those that defaults.go names
	opts     Options
	llvm     *llir.Module
	handlers map[*ir.OpDef]handler
	// own are the operations of the target's dialect; usesOwn is set where the
	// module has one of them.
	own     map[string]*VendorOp
	usesOwn bool
	layouts map[*encoding.Attr][]*tensorLayout // whatever the elements
	funcs   map[string]*function
	order   []*function
	externs []Extern

	axis  *axisinfo.Result
	alloc *allocation.Result
	bars  *membar.Result
	smem  llir.Value

	// warps is how many run what is looked at: ownWarps, or those of a partition.
	warps, lanes int
	ownWarps     int
	ctas         int // of the cluster that a program is
	maxRegs      int
	crowded      bool // see Copy
	// otherLayouts are those for other numbers of warps.
	otherLayouts map[int]map[*encoding.Attr][]*tensorLayout
	work         *workers // nil: there are none

	current *ir.Operation // the one being lowered
}

// threads is how many a program has, workers included.
func (m *module) threads() int {
	if m.work != nil {
		return m.work.total * m.lanes
	}
	return m.warps * m.lanes
}

// catchTooLarge is deferred: it makes the user's mistake of code that grew beyond
// all use.
func (m *module) catchTooLarge(err *error) {
	switch r := recover().(type) {
	case nil:
	case llir.TooLarge:
		d := diag.Errorf(position(m.current.Loc()), "%s makes the kernel longer than %d LLVM instructions, the limit", m.current.Name(), llir.MaxInstructions)
		addCallers(d, m.current.Loc())
		*err = d.WithHelp("a thread works on every element that it holds, one after another: smaller blocks, more warps (num_warps) or less that is unrolled make it shorter")
	default:
		panic(r)
	}
}

// function is a tt.func and what it becomes.
type function struct {
	op     *ir.Operation
	name   string
	kernel bool
	llvm   *llir.Func
	// results are the types of all registers of the results, ret what the LLVM
	// function returns.
	results []llir.Type
	ret     llir.Type
	scratch globalFrame
	notes   map[llir.Value]any // Site.Notes
}

func (m *module) readAttrs(mod *ir.Operation) error {
	read := func(name string, def int64) int64 {
		if v, ok := mod.IntAttr(name); ok {
			return v
		}
		return def
	}
	warps, lanes := read(ttg.NumWarpsAttr, 0), read(ttg.ThreadsPerWarpAttr, 0)
	if warps == 0 || lanes == 0 {
		return failure(mod, fmt.Errorf("attributes %q and %q are missing; convert the module to the GPU dialect first",
			ttg.NumWarpsAttr, ttg.ThreadsPerWarpAttr))
	}
	if warps < 1 || lanes < 1 || warps&(warps-1) != 0 || lanes&(lanes-1) != 0 || warps*lanes > 1<<16 {
		return failure(mod, fmt.Errorf("attributes %q and %q must be powers of two, not %d and %d",
			ttg.NumWarpsAttr, ttg.ThreadsPerWarpAttr, warps, lanes))
	}
	for f := range mod.Body().Ops() {
		if n, ok := f.IntAttr(ttg.NumWarpsAttr); ok && n != warps {
			return failure(f, fmt.Errorf("attribute %q is %d, and the module's is %d: all functions run on the module's warps",
				ttg.NumWarpsAttr, n, warps))
		}
	}
	ctas := read(ttg.NumCTAsAttr, 1)
	if ctas != 1 {
		if err := m.clusterOf(ctas); err != nil {
			d := diag.Errorf(position(mod.Loc()), "num_ctas is %d: %v", ctas, err)
			return d.WithHelp("num_ctas=1 gives the same results")
		}
	}
	m.ctas = int(ctas)
	m.warps, m.lanes = int(warps), int(lanes)
	m.maxRegs = int(read(ttg.MaxNRegAttr, 0))
	return nil
}

// failure makes a diagnostic at op's place in the source, unless err is one.
func failure(op *ir.Operation, err error) error {
	if diag.All(err) != nil {
		return err
	}
	d := diag.Errorf(position(op.Loc()), "%s: %v", op.Name(), err)
	addCallers(d, op.Loc())
	if errors.As(err, new(*registersError)) {
		d.WithHelp("smaller blocks or more warps (num_warps) leave less to each thread")
	}
	var helped *helpedError
	if errors.As(err, &helped) {
		d.WithHelp("%s", helped.help)
	}
	return d
}

// helpedError is an error with a next step.
type helpedError struct {
	error
	help string
}

// position is the innermost file position of a location.
func position(l ir.Location) diag.Pos {
	f := ir.FileLocOf(l)
	if f == nil {
		return diag.Pos{}
	}
	return diag.Pos{File: f.File, Line: f.Line, Col: f.Col + 1}
}

// addCallers notes the call sites through which the place was inlined.
func addCallers(d *diag.Diagnostic, l ir.Location) {
	for {
		switch x := l.(type) {
		case *ir.NameLoc:
			l = x.Child
		case *ir.CallSiteLoc:
			if p := position(x.Caller); p.IsValid() && p != d.Pos {
				d.WithNote(p, "called from here")
			}
			l = x.Caller
		default:
			return
		}
	}
}
