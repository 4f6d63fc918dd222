package lower

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// scalarType is the LLVM type in which a thread holds one value of an IR type.
// Formats that LLVM lacks (the 8-bit floats) are held as integers.
func scalarType(t ir.Type) (llir.Type, error) {
	switch t := ir.ElemOf(t).(type) {
	case *ir.IntegerType:
		switch t.Width {
		case 1, 8, 16, 32, 64:
			return llir.IntN(t.Width), nil
		}
		return nil, fmt.Errorf("integers of %s are not lowered, only those of 1, 8, 16, 32 and 64", diag.Count(t.Width, "bit"))
	case *ir.IndexType:
		return llir.I64, nil
	case *ttg.AsyncTokenType:
		return llir.I1, nil // of which there are none
	case *ttg.MemDescType:
		return llir.PtrIn(sharedSpace), nil
	case *tt.TensorDescType:
		return llir.PtrIn(0), nil // to what the target keeps of it
	case *tt.PtrType:
		if _, block := t.Pointee.(*ir.TensorType); !block {
			return llir.PtrIn(t.AddrSpace), nil
		}
	case *ir.FloatType:
		switch t.Kind {
		case ir.F16:
			return llir.Half, nil
		case ir.BF16:
			return llir.BF16, nil
		case ir.F32, ir.TF32:
			return llir.F32, nil
		case ir.F64:
			return llir.F64, nil
		}
		if t.Width() == 8 {
			return llir.I8, nil
		}
	}
	return nil, fmt.Errorf("a value of this type has no form in LLVM IR")
}

// tensorLayout is what the lowering asks of a tensor type, computed once per type.
type tensorLayout struct {
	// layout has the inputs register, lane and warp, of the module's sizes; full
	// has the rank of the CTA in the cluster, too, as block.
	layout, full layout.Layout
	shape        []int64
	regs         int
	// thread and reg hold, for each bit of the thread's index and of the
	// register's, the coordinates that it adds, one for each dimension.
	thread [][]int32
	reg    [][]int32
	// block is the same for each bit of the rank.
	block [][]int32
	// freeThreads, freeRegs and freeBlocks mark index bits that reach nothing new.
	freeThreads uint64
	freeRegs    uint64
	freeBlocks  uint64
}

// layoutOf returns the layout of a tensor type; it must have an encoding.
func (m *module) layoutOf(t *ir.TensorType) (*tensorLayout, error) {
	enc := encoding.AttrOf(t)
	if enc == nil {
		return nil, fmt.Errorf("the tensor has no layout; convert it to the GPU dialect first")
	}
	for _, l := range m.layouts[enc] {
		if slices.Equal(l.shape, t.Shape) {
			return l, nil
		}
	}
	if _, shared := enc.Layout.(layout.Shared); shared {
		return nil, fmt.Errorf("the tensor's layout is one of shared memory")
	}
	lin, err := enc.Linear(t.Shape)
	if err != nil {
		return nil, err
	}
	if lin.InSize(layout.Lane) > m.lanes || lin.InSize(layout.Warp) > m.warps {
		return nil, fmt.Errorf("the layout needs %s of %s, the module has %d of %d",
			diag.Count(lin.InSize(layout.Warp), "warp"), diag.Count(lin.InSize(layout.Lane), "lane"), m.warps, m.lanes)
	}
	// As many as of the largest tensor, where one warp holds it. Layouts that have a
	// thread hold copies could have any number.
	if n, most := lin.Registers(), ir.MaxTensorElements/m.lanes; n > most {
		return nil, &registersError{n, most}
	}
	if n := lin.InSize(layout.Block); n > m.ctas {
		return nil, fmt.Errorf("the layout spreads the tensor over %s of a cluster, the module has %d", diag.Count(n, "CTA"), m.ctas)
	}
	// A layout with fewer lanes, warps or CTAs than the module leaves the rest as
	// replicas: zero vectors.
	zero := make([]int32, len(t.Shape))
	pad := func(bases layout.Bases, size int) layout.Bases {
		for 1<<len(bases) < size {
			bases = append(bases, zero)
		}
		return bases
	}
	l := &tensorLayout{shape: t.Shape, regs: lin.Registers(), reg: lin.BasesOf(layout.Register)}
	lane, warp := pad(lin.BasesOf(layout.Lane), m.lanes), pad(lin.BasesOf(layout.Warp), m.warps)
	l.layout = layout.New(lin.Outs(), layout.Input{Dim: layout.Register, Bases: l.reg},
		layout.Input{Dim: layout.Lane, Bases: lane}, layout.Input{Dim: layout.Warp, Bases: warp})
	l.thread = append(lane[:len(lane):len(lane)], warp...)
	l.block = pad(lin.BasesOf(layout.Block), m.ctas)
	l.findReplicas()
	m.layouts[enc] = append(m.layouts[enc], l)
	return l, nil
}

// ofRuns is the layout of one element for each run of equal ones, of these lengths
// along each dimension: all elements of a run are replicas of its first.
func (l *tensorLayout) ofRuns(runs []int64) *tensorLayout {
	starts := func(bases layout.Bases) layout.Bases {
		out := make(layout.Bases, len(bases))
		for i, v := range bases {
			out[i] = make([]int32, len(v))
			for d, c := range v {
				out[i][d] = c &^ int32(runs[d]-1)
			}
		}
		return out
	}
	q := &tensorLayout{shape: l.shape, regs: l.regs, reg: starts(l.reg), thread: starts(l.thread), block: starts(l.block)}
	q.layout = layout.New(l.layout.Outs(), layout.Input{Dim: layout.Register, Bases: q.reg},
		layout.Input{Dim: layout.Lane, Bases: starts(l.layout.BasesOf(layout.Lane))},
		layout.Input{Dim: layout.Warp, Bases: starts(l.layout.BasesOf(layout.Warp))})
	q.findReplicas()
	return q
}

// distinctRegs is the number of registers that hold different elements.
func (l *tensorLayout) distinctRegs() int {
	return l.regs >> bits.OnesCount64(l.freeRegs)
}

// findReplicas sets full, freeRegs, freeThreads and freeBlocks.
func (l *tensorLayout) findReplicas() {
	if l.full = l.layout; len(l.block) > 0 {
		ins := make([]layout.Input, 0, 4)
		for _, in := range l.layout.Ins() {
			ins = append(ins, layout.Input{Dim: in.Dim, Bases: l.layout.BasesOf(in.Dim)})
		}
		l.full = layout.New(l.layout.Outs(), append(ins, layout.Input{Dim: layout.Block, Bases: l.block})...)
		l.freeBlocks = l.full.FreeMask(layout.Block)
	}
	l.freeRegs = l.layout.FreeMask(layout.Register)
	l.freeThreads = l.layout.FreeMask(layout.Lane) | l.layout.FreeMask(layout.Warp)<<l.layout.InBits(layout.Lane)
}

// bitLen is log2 of a power of two.
func bitLen(n int) int {
	k := 0
	for 1<<k < n {
		k++
	}
	return k
}

// regCoord is the part of the coordinate along dimension d that register r adds.
func (l *tensorLayout) regCoord(r, d int) int32 {
	var c int32
	for i, v := range l.reg {
		if r>>i&1 != 0 {
			c ^= v[d]
		}
	}
	return c
}

// canonical is the register that holds the same element as r and has no free
// bit set.
func (l *tensorLayout) canonical(r int) int {
	if l.freeRegs == 0 || uint64(r)&l.freeRegs == 0 {
		return r
	}
	want := make([]int32, len(l.shape))
	for d := range want {
		want[d] = l.regCoord(r, d)
	}
next:
	for c := range r {
		if uint64(c)&l.freeRegs != 0 {
			continue
		}
		for d, w := range want {
			if l.regCoord(c, d) != w {
				continue next
			}
		}
		return c
	}
	panic("BUG: lower: no register holds the element of a replica")
}

// registersError says that a thread holds too much of a tensor.
type registersError struct{ registers, most int }

func (e *registersError) Error() string {
	return fmt.Sprintf("a thread holds %d elements of this tensor, and may hold %d", e.registers, e.most)
}

// regsOf is the number of values that a thread holds of a value of type t.
func (m *module) regsOf(t ir.Type) (int, error) {
	if _, ok := t.(*ttg.AsyncTokenType); ok {
		return 0, nil // an order in time, not a value
	}
	if tt, ok := t.(*ir.TensorType); ok {
		l, err := m.layoutOf(tt)
		if err != nil {
			return 0, err
		}
		return l.regs, nil
	}
	return 1, nil
}
