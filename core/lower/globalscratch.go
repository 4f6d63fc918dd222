package lower

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Programs have scratch memory in global memory, which the launch allocates: as
// many bytes for each program, or for each CTA of its cluster, as the kernel's frame has, one program after the
// other. A frame holds what a function allocates, and the frames of the
// functions that it calls. Nothing in it is used twice, so that what engines
// still read stays.

// globalFrame is the scratch memory of one function.
type globalFrame struct {
	size, align int64
	// offsets has the places of its allocations and of the frames of its calls.
	offsets map[*ir.Operation]int64
	done    bool
}

// placeGlobalScratch places the frame of a function after those of its callees,
// of which shared memory's allocation has shown that none calls itself.
func (m *module) placeGlobalScratch(fn *function) *globalFrame {
	g := &fn.scratch
	if g.done {
		return g
	}
	g.done, g.align = true, 1
	place := func(op *ir.Operation, size, align int64) {
		if g.offsets == nil {
			g.offsets = make(map[*ir.Operation]int64)
		}
		g.align = max(g.align, align)
		at := (g.size + align - 1) / align * align
		g.offsets[op] = at
		g.size = at + size
	}
	ir.WalkPost(fn.op, func(op *ir.Operation) {
		switch {
		case op.Is(ttg.GlobalScratchAlloc):
			alloc := ttg.AsGlobalScratchAlloc(op)
			place(op, alloc.Nbytes(), alloc.Alignment())
		case op.Is(tt.Call):
			fn := m.funcs[tt.AsCall(op).Callee()]
			if fn == nil {
				return // its lowering tells
			}
			if callee := m.placeGlobalScratch(fn); callee.size > 0 {
				place(op, callee.size, callee.align)
			}
		}
	})
	g.size = (g.size + g.align - 1) / g.align * g.align
	return g
}

// globalFrameAt is the address of a byte of the function's frame. The parameter
// of a kernel is all programs' memory, that of another function its own.
func (e *emitter) globalFrameAt(off int64) llir.Value {
	base := e.f.Param(len(e.f.IR.Params) - kernelExtras)
	if e.fn.kernel {
		b := e.b
		id := func(axis int) llir.Value { return b.ZExt(e.programAt(axis), llir.I64) }
		n := func(axis int) llir.Value { return b.ZExt(e.programsAlong(axis), llir.I64) }
		program := b.Add(b.Mul(b.Add(b.Mul(id(2), n(1)), id(1)), n(0)), id(0))
		if e.m.ctas > 1 {
			program = b.Add(b.Mul(program, e.m.llvm.I64(int64(e.m.ctas))), b.ZExt(e.rank, llir.I64))
		}
		base = b.GEP(llir.I8, base, b.Mul(program, e.m.llvm.I64(e.fn.scratch.size)))
	}
	return e.b.PtrAdd(base, off)
}

func (e *emitter) globalScratchAlloc(op *ir.Operation) error {
	e.set(op.OneResult(), []llir.Value{e.globalFrameAt(e.fn.scratch.offsets[op])})
	return nil
}
