package npusim

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// writers are how operations are written that are neither scalar ones nor without effect.
var writers map[*ir.OpDef]func(w *writer, op *ir.Operation)

func init() {
	writers = map[*ir.OpDef]func(w *writer, op *ir.Operation){
		arith.Constant: (*writer).constant,
		arith.Select:   (*writer).selection,
		// Of two results.
		arith.AddUIExtended: extended("arith.addi", "arith.addui_carry"),
		arith.MulSIExtended: extended("arith.muli", "arith.mulhsi"),
		arith.MulUIExtended: extended("arith.muli", "arith.mulhui"),
		cf.Assert: func(w *writer, op *ir.Operation) {
			v := cf.AsAssert(op)
			w.emit("assert %s %s", w.value(op, v.Arg()), strings.Join(strings.Fields(v.Msg()), " "))
		},

		scf.For:   (*writer).forLoop,
		scf.If:    (*writer).condition,
		scf.While: (*writer).whileLoop,
		// What these say is written with the operation around them.
		scf.Yield:          nothing,
		scf.Condition:      nothing,
		linalg.AtomicYield: nothing,

		linalg.Return:           func(w *writer, _ *ir.Operation) { w.emit("return") },
		linalg.Alloc:            (*writer).alloc,
		linalg.ReinterpretCast:  (*writer).cast,
		linalg.SubView:          (*writer).subview,
		linalg.Load:             (*writer).load,
		linalg.Store:            (*writer).store,
		linalg.AtomicRMW:        (*writer).atomic,
		linalg.GenericAtomicRMW: (*writer).genericAtomic,

		npuir.DMA: func(w *writer, op *ir.Operation) {
			atomic := ""
			if name := npuir.AsDMA(op).Atomic(); name != "" {
				atomic = " atomic=" + name
			}
			w.emit("dma %s%s", w.values(op, op.OperandValues()), atomic)
		},
		npuir.Fill:      plain("fill"),
		npuir.Iota:      (*writer).iota,
		npuir.Vector:    (*writer).vector,
		npuir.Broadcast: dimensions("broadcast", "dimensions"),
		npuir.Transpose: dimensions("transpose", "permutation"),
		npuir.Reduce: func(w *writer, op *ir.Operation) {
			w.emit("reduce %s %s %d", npuir.AsReduce(op).OpAttr(), w.values(op, op.OperandValues()), npuir.AsReduce(op).Dimension())
		},
		npuir.Gather:  plain("gather"),
		npuir.Scatter: plain("scatter"),
		npuir.MMAD: func(w *writer, op *ir.Operation) {
			init := ""
			if npuir.AsMMAD(op).Init() {
				init = " init"
			}
			w.emit("mmad %s%s", w.values(op, op.OperandValues()), init)
		},
		npuir.CoreID:    func(w *writer, op *ir.Operation) { w.assign(op, op.OneResult(), "core_id") },
		npuir.NumCores:  func(w *writer, op *ir.Operation) { w.assign(op, op.OneResult(), "num_cores") },
		npuir.Workspace: (*writer).workspace,
		npuir.SetFlag:   setFlag,
		npuir.WaitFlag:  waitFlag,
		npuir.Barrier:   func(w *writer, op *ir.Operation) { w.emit("barrier %s", pipe(npuir.AsBarrier(op).Pipe())) },
		npuir.SyncBlock: func(w *writer, op *ir.Operation) {
			w.emit("sync_block %s %d", npuir.AsSyncBlock(op).Mode(), npuir.AsSyncBlock(op).Event())
		},
	}
}

func nothing(*writer, *ir.Operation) {}

// op writes an operation.
func (w *writer) op(op *ir.Operation) {
	w.at(op)
	if f := writers[op.Def()]; f != nil {
		f(w, op)
		return
	}
	if dialect := op.Def().Dialect(); dialect != "arith" && dialect != "math" || op.NumResults() != 1 {
		w.refuse(op, "%s has no instruction of the simulated NPU", op.Name())
	}
	predicate := ""
	if op.Is(arith.CmpI) || op.Is(arith.CmpF) {
		predicate = predicateOf(arith.AsCompare(op).Predicate())
	}
	w.assign(op, op.OneResult(), "%s %s%s", op.Name(), w.values(op, op.OperandValues()), predicate)
}

func predicateOf(n int64) string { return fmt.Sprintf(" predicate=%d", n) }

// plain writes the operands.
func plain(name string) func(w *writer, op *ir.Operation) {
	return func(w *writer, op *ir.Operation) { w.emit("%s %s", name, w.values(op, op.OperandValues())) }
}

func dimensions(name, attr string) func(w *writer, op *ir.Operation) {
	return func(w *writer, op *ir.Operation) {
		w.emit("%s %s %s", name, w.values(op, op.OperandValues()), list(linalg.Ints(op, attr)))
	}
}

func list(ns []int64) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = fmt.Sprint(n)
	}
	return "[" + strings.Join(words, ",") + "]"
}

func extended(low, high string) func(w *writer, op *ir.Operation) {
	return func(w *writer, op *ir.Operation) {
		operands := w.values(op, op.OperandValues())
		for i, r := range op.Results() {
			w.assign(op, r, "%s %s", []string{low, high}[i], operands)
		}
	}
}

func pipe(n int64) string { return npuir.Pipes[n].Keyword }

func setFlag(w *writer, op *ir.Operation) {
	v := npuir.AsSetFlag(op)
	w.emit("set_flag %s %s %d", pipe(v.From()), pipe(v.To()), v.Event())
}

func waitFlag(w *writer, op *ir.Operation) {
	v := npuir.AsWaitFlag(op)
	w.emit("wait_flag %s %s %d", pipe(v.From()), pipe(v.To()), v.Event())
}

func (w *writer) constant(op *ir.Operation) {
	var bits uint64
	switch a := arith.AsConstant(op).Value().(type) {
	case *ir.IntegerAttr:
		bits = uint64(a.Value)
	case *ir.FloatAttr:
		bits = a.Bits
	default:
		w.refuse(op, "a constant has several values")
	}
	w.assign(op, op.OneResult(), "const 0x%x", bits)
}

// selection writes a choice, of memory by jumps.
func (w *writer) selection(op *ir.Operation) {
	v := arith.AsSelect(op)
	if linalg.MemRefOf(w.ctx, v.Result().Type()) == nil {
		w.assign(op, v.Result(), "arith.select %s", w.values(op, op.OperandValues()))
		return
	}
	w.define(op, v.Result())
	other, end := w.label(), w.label()
	to := w.regs[v.Result()]
	w.move(to, w.value(op, v.TrueValue()))
	w.emit("branch %s %s %s", w.value(op, v.Condition()), end, other)
	w.mark(other)
	w.move(to, w.value(op, v.FalseValue()))
	w.mark(end)
}

// alloc writes a buffer at its place.
func (w *writer) alloc(op *ir.Operation) {
	m := linalg.MemRefOf(w.ctx, op.OneResult().Type())
	s, _ := npuir.SpaceOf(w.ctx, op.OneResult().Type())
	offset, ok := op.IntAttr(npuir.OffsetAttr)
	if !ok || s == npuir.Global {
		w.refuse(op, "the buffer has no place in a memory of the core")
	}
	bytes := int64(max(ir.BitWidth(m.Elem), 8)) / 8
	if _, index := m.Elem.(*ir.IndexType); index {
		bytes = 8
	}
	for _, n := range m.Shape {
		bytes *= n
	}
	w.used[s] = max(w.used[s], offset+bytes)
	w.assign(op, op.OneResult(), "alloc %d %s", offset, list(m.Shape))
}

func (w *writer) workspace(op *ir.Operation) {
	offset, _ := op.IntAttr(npuir.OffsetAttr)
	w.assign(op, op.OneResult(), "workspace %d %s", offset, list(linalg.MemRefOf(w.ctx, op.OneResult().Type()).Shape))
}

// mixed is a list of numbers, of which the Dynamic ones are operands.
func (w *writer) mixed(op *ir.Operation, static []int64, dynamic []*ir.Value) string {
	words := make([]string, len(static))
	for i, n := range static {
		if n != linalg.Dynamic {
			words[i] = fmt.Sprint(n)
			continue
		}
		words[i] = w.value(op, dynamic[0])
		dynamic = dynamic[1:]
	}
	return "[" + strings.Join(words, ",") + "]"
}

func (w *writer) cast(op *ir.Operation) {
	v := linalg.AsReinterpretCast(op)
	w.assign(op, v.Result(), "cast %s %s %s %s", w.value(op, v.Source()),
		w.mixed(op, v.StaticOffsets(), v.Offsets()), w.mixed(op, v.StaticSizes(), v.Sizes()), w.mixed(op, v.StaticStrides(), v.Strides()))
}

func (w *writer) subview(op *ir.Operation) {
	v := linalg.AsSubView(op)
	sizes := v.StaticSizes()
	w.assign(op, v.Result(), "subview %s %s %s %s%s", w.value(op, v.Source()),
		w.mixed(op, v.StaticOffsets(), v.Offsets()), w.mixed(op, sizes, v.Sizes()), w.mixed(op, v.StaticStrides(), v.Strides()),
		dropped(sizes, linalg.MemRefOf(w.ctx, v.Result().Type()).Shape))
}

// dropped says which dimensions of size 1 the result of a part lacks: the first ones that
// are not its own.
func dropped(sizes, kept []int64) string {
	if len(sizes) == len(kept) {
		return ""
	}
	var drop []int64
	k := 0
	for d, n := range sizes {
		if k < len(kept) && kept[k] == n && (n != 1 || len(sizes)-d <= len(kept)-k || len(drop) == len(sizes)-len(kept)) {
			k++
			continue
		}
		drop = append(drop, int64(d))
	}
	return " drop=" + list(drop)
}

func (w *writer) indices(op *ir.Operation, list []*ir.Value) string {
	return "[" + strings.ReplaceAll(w.values(op, list), " ", ",") + "]"
}

func (w *writer) load(op *ir.Operation) {
	v := linalg.AsLoad(op)
	w.assign(op, v.Result(), "load %s %s", w.value(op, v.Memref()), w.indices(op, v.Indices()))
}

func (w *writer) store(op *ir.Operation) {
	v := linalg.AsStore(op)
	w.emit("store %s %s %s", w.value(op, v.Value()), w.value(op, v.Memref()), w.indices(op, v.Indices()))
}

// atomicOps are the operations of memref.atomic_rmw in the order of linalg.AtomicKinds.
var atomicOps = [...]string{
	"arith.addf", "arith.addi", "assign", "arith.maximumf", "arith.maxsi", "arith.maxui", "arith.minimumf", "arith.minsi", "arith.minui",
	"arith.mulf", "arith.muli", "arith.ori", "arith.andi", "arith.maxnumf", "arith.minnumf", "arith.xori",
}

func (w *writer) atomic(op *ir.Operation) {
	v := linalg.AsAtomicRMW(op)
	w.assign(op, v.Result(), "atomic %s %s %s %s", atomicOps[v.Kind()], w.value(op, v.Value()), w.value(op, v.Memref()), w.indices(op, v.Indices()))
}

// genericAtomic writes a load, what the region computes, and a store, between which no
// other core gets.
func (w *writer) genericAtomic(op *ir.Operation) {
	v := linalg.AsGenericAtomicRMW(op)
	body := v.AtomicBody().First()
	memory, indices := w.value(op, v.Memref()), w.indices(op, v.Indices())
	w.assign(op, v.Result(), "load %s %s atomic", memory, indices)
	w.regs[body.Arg(0)] = w.regs[v.Result()]
	w.block(body)
	w.at(op)
	w.emit("store %s %s %s atomic", w.value(op, linalg.AsAtomicYield(body.Last()).Result()), memory, indices)
}

func (w *writer) iota(op *ir.Operation) {
	w.emit("iota %s %d", w.value(op, npuir.AsIota(op).Target()), npuir.AsIota(op).Dimension())
}

func (w *writer) vector(op *ir.Operation) {
	v := npuir.AsVector(op)
	predicate := ""
	if n, ok := v.Predicate(); ok {
		predicate = predicateOf(n)
	}
	w.emit("vector %s %s %s%s", v.OpAttr(), w.value(op, v.Target()), w.values(op, v.Inputs()), predicate)
}
