package lower

import (
	"fmt"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// The function's interface is Triton's: a kernel takes the user's arguments and
// then the pointers to global and to profile scratch memory. A device function
// takes its arguments register by register, then the base of its shared memory
// and the two scratch pointers; it gives its results register by register, as
// one struct when there is more than one.

const (
	kernelExtras = 2
	deviceExtras = 3
)

func (m *module) declare(fn *function) error {
	sig, ok := tt.AsFunc(fn.op).FunctionType().(*ir.FunctionType)
	if !ok {
		return failure(fn.op, fmt.Errorf("the function has no type"))
	}
	if fn.kernel {
		for _, t := range sig.In {
			switch t.(type) {
			case *tt.TensorDescType:
				if m.caps.Descriptors == nil {
					return failure(fn.op, fmt.Errorf("a kernel whose parameter is a descriptor cannot be lowered"))
				}
			case *ir.TensorType:
				return failure(fn.op, fmt.Errorf("a kernel's parameter is a scalar or a pointer, not a tensor"))
			}
		}
	}
	params, err := m.flatTypes(fn.op, sig.In)
	if err != nil {
		return err
	}
	results, err := m.flatTypes(fn.op, sig.Out)
	if err != nil {
		return err
	}
	fn.ret, fn.results = llir.Void, results
	switch {
	case fn.kernel && len(results) > 0:
		return failure(fn.op, fmt.Errorf("a kernel cannot return values"))
	case len(results) == 1:
		fn.ret = results[0]
	case len(results) > 1:
		fn.ret = m.llvm.Struct(results...)
	}
	if !fn.kernel {
		params = append(params, llir.PtrIn(sharedSpace))
	}
	params = append(params, llir.PtrIn(globalSpace), llir.PtrIn(globalSpace))
	fn.llvm = m.llvm.NewFunc(fn.name, !fn.kernel, fn.ret, params...)
	fn.llvm.AddAttr("nounwind")
	if !fn.kernel {
		fn.llvm.AddAttr("noinline")
		return nil
	}
	for i, t := range sig.In {
		if _, ok := t.(*tt.TensorDescType); ok { // of a kernel, each argument is one parameter
			m.caps.Descriptors.DescriptorParam(fn.llvm, i)
		}
	}
	return nil
}

// flatTypes is the LLVM type of every register of values of the given types.
func (m *module) flatTypes(op *ir.Operation, ts []ir.Type) ([]llir.Type, error) {
	var out []llir.Type
	for _, t := range ts {
		s, err := scalarType(t)
		if err != nil {
			return nil, failure(op, err)
		}
		n, err := m.regsOf(t)
		if err != nil {
			return nil, failure(op, err)
		}
		for range n {
			out = append(out, s)
		}
	}
	return out, nil
}

// emitter lowers one function. A value of the IR is a slice of LLVM values, one
// per register, in the order of its layout; a scalar is one register.
type emitter struct {
	m    *module
	fn   *function
	f    *llir.Func
	b    *llir.Builder
	vals map[*ir.Value][]llir.Value
	bufs map[*ir.Value]*buffer
	tid  llir.Value
	rank llir.Value // of the CTA in its cluster; nil where that is one CTA
	smem llir.Value // base of the function's shared memory
	locs map[ir.Location]llir.Location
	// scope and home are the function in the debug information and its file.
	scope llir.Scope
	home  string
	// blocks are the LLVM blocks of the IR blocks of the function's body.
	blocks map[*ir.Block]*blockState
	// strides and kept are about what loads give; arrival.go says what.
	strides map[*ir.Value]int
	kept    map[llir.Value]keptMask
	// reads are where the function reads memory; nil until it is asked for.
	reads *readers
	// due: a barrier is due before the reduction that is lowered accesses shared memory.
	due bool
	// apart: half of the threads are a barrier after the others, see membar.Effects.
	apart bool
	// unrolling is how many loops are being unrolled around what is lowered.
	unrolling int
	// matrix: a dot goes by matrix instructions. uneven: one of them is in an uneven loop.
	matrix, uneven bool
	// group is which of the groups of warps runs what is lowered; 0: the kernel's own.
	group int
	// exit is where the region ends that is being lowered; nil in the function's
	// own body.
	exit *regionExit
}

func (m *module) lowerFunc(fn *function) error {
	e := &emitter{
		m: m, fn: fn, f: fn.llvm, b: llir.NewBuilder(fn.llvm),
		vals: make(map[*ir.Value][]llir.Value, 64),
		bufs: make(map[*ir.Value]*buffer),
		locs: make(map[ir.Location]llir.Location),

		strides: make(map[*ir.Value]int), kept: make(map[llir.Value]keptMask),
	}
	entry := e.f.NewBlock(nil)
	e.b.SetBlock(entry)
	e.startDebug()
	region := tt.AsFunc(fn.op).Body()
	if region.Empty() {
		return failure(fn.op, fmt.Errorf("the function has no body"))
	}
	next := 0
	for _, arg := range region.First().Args() {
		n, err := m.regsOf(arg.Type())
		if err != nil {
			return failure(fn.op, err)
		}
		regs := make([]llir.Value, n)
		for i := range regs {
			regs[i] = e.f.Param(next)
			next++
		}
		e.vals[arg] = regs
	}
	if fn.kernel {
		e.smem = m.smem
	} else {
		e.smem = e.f.Param(next)
	}
	if fn.kernel && m.work != nil {
		e.divide()
		entry = e.b.Block()
	} else {
		e.tid = m.target.ThreadID(e.b, m.warps*m.lanes)
	}
	if m.ctas > 1 {
		e.rank = m.caps.Clusters.Rank(e.b, m.ctas)
	}
	if err := e.body(region, entry); err != nil {
		return err
	}
	if fn.kernel {
		if err := e.finishKernel(); err != nil {
			return err
		}
	}
	if e.matrix { // its loops have few registers to spare, and wait for their loads
		fn.llvm.ByteOffsets()
	}
	return nil
}

// finishKernel lowers what other groups of warps run, and tells the target what the
// kernel needs.
func (e *emitter) finishKernel() error {
	m, fn := e.m, e.fn
	if m.work != nil {
		if err := e.workers(); err != nil {
			return err
		}
	}
	registers, sunk, small := fn.llvm.SinkLoads(m.registerLimit(e.matrix))
	k := Kernel{
		Threads: m.threads(), Shared: m.alloc.Size(), MaxRegs: m.maxRegs, NumCTAs: m.ctas,
		Matrix: e.matrix, Uneven: e.uneven, InParts: sunk,
	}
	if small {
		k.Registers = &registers
	}
	m.target.DefineKernel(fn.llvm, k)
	return nil
}

// handler lowers one operation.
type handler func(e *emitter, op *ir.Operation) error

// op lowers one operation at the builder's place.
func (e *emitter) op(op *ir.Operation) error {
	e.m.current = op
	h, ok := e.m.handlers[op.Def()]
	if own := e.m.own[op.Name()]; !ok && own != nil {
		h, ok = own.lower, true
	}
	if !ok {
		d := diag.Errorf(position(op.Loc()), "%s: this operation cannot be lowered for this target", op.Name())
		addCallers(d, op.Loc())
		return d.WithHelp("the passes for this target make no such operation: compile the kernel's Python or ttir")
	}
	e.setLocation(op.Loc())
	if e.m.bars.Fence(op) {
		e.m.caps.VendorOps.FenceAsync(e.b)
	}
	if e.m.bars.Before(op) {
		if e.due = op.Def() == tt.Reduce; !e.due {
			e.barrier()
		}
	}
	if err := h(e, op); err != nil {
		return failure(op, err)
	}
	if e.m.bars.After(op) {
		e.barrier()
	}
	return nil
}

// value returns the registers of an IR value.
func (e *emitter) value(v *ir.Value) []llir.Value {
	regs, ok := e.vals[v]
	if !ok {
		panic("BUG: lower: a value is used before it is lowered")
	}
	return regs
}

// scalar returns the single register of an IR value.
func (e *emitter) scalar(v *ir.Value) llir.Value { return e.value(v)[0] }

// set gives an IR value its registers.
func (e *emitter) set(v *ir.Value, regs []llir.Value) { e.vals[v] = regs }

// layout returns the layout of a tensor value.
func (e *emitter) layout(v *ir.Value) (*tensorLayout, error) {
	t, ok := v.Type().(*ir.TensorType)
	if !ok {
		return nil, fmt.Errorf("needs a tensor")
	}
	return e.m.layoutOf(t)
}

// call lowers tt.call.
func (e *emitter) call(op tt.CallOp) error {
	name := op.Callee()
	if name == "" {
		return fmt.Errorf("the call names no function")
	}
	callee, ok := e.m.funcs[name]
	if !ok {
		return fmt.Errorf("no function %q in the module", name)
	}
	var args []llir.Value
	for _, v := range op.Operands() {
		args = append(args, e.value(v)...)
	}
	global := e.f.Param(len(e.f.IR.Params) - kernelExtras)
	if off, ok := e.fn.scratch.offsets[op.Op]; ok {
		global = e.globalFrameAt(off)
	}
	args = append(args, e.sharedAt(e.m.alloc.CallOffset(op.Op)), global, e.f.Param(len(e.f.IR.Params)-1))
	ret := e.b.Call(callee.llvm.IR, args...)
	next := 0
	for _, r := range op.Results() {
		regs, err := e.m.regsOf(r.Type())
		if err != nil {
			return err
		}
		out := make([]llir.Value, regs)
		for i := range out {
			out[i] = ret
			if len(callee.results) > 1 {
				out[i] = e.b.ExtractValue(ret, next)
			}
			next++
		}
		e.set(r, out)
	}
	return nil
}

// sharedAt is the address of a byte of the function's shared memory.
func (e *emitter) sharedAt(off int) llir.Value {
	if e.smem == nil {
		return e.m.llvm.Zero(llir.PtrIn(sharedSpace))
	}
	return e.b.PtrAdd(e.smem, int64(off))
}

// ret lowers tt.return.
func (e *emitter) ret(op *ir.Operation) error {
	var vals []llir.Value
	for _, v := range op.Operands() {
		vals = append(vals, e.value(v)...)
	}
	switch len(vals) {
	case 0:
		if e.fn.kernel && e.m.work != nil {
			e.dismiss()
		}
		e.b.Ret(nil)
	case 1:
		e.b.Ret(vals[0])
	default:
		agg := e.m.llvm.Poison(e.fn.ret)
		for i, v := range vals {
			agg = e.b.InsertValue(agg, v, i)
		}
		e.b.Ret(agg)
	}
	return nil
}

// programID lowers tt.get_program_id, numPrograms tt.get_num_programs.
func (e *emitter) programID(op tt.GetProgramIDOp) error {
	e.set(op.Result(), []llir.Value{e.programAt(int(op.Axis()))})
	return nil
}

func (e *emitter) numPrograms(op tt.GetNumProgramsOp) error {
	e.set(op.Result(), []llir.Value{e.programsAlong(int(op.Axis()))})
	return nil
}

// programAt is the index of the program along an axis: of the cluster, where a program
// is one.
func (e *emitter) programAt(axis int) llir.Value {
	if e.m.ctas > 1 {
		return e.m.caps.Clusters.ClusterID(e.b, axis)
	}
	return e.m.target.ProgramID(e.b, axis)
}

// programsAlong is the number of programs along an axis.
func (e *emitter) programsAlong(axis int) llir.Value {
	if e.m.ctas > 1 {
		return e.m.caps.Clusters.NumClusters(e.b, axis)
	}
	return e.m.target.NumPrograms(e.b, axis)
}
