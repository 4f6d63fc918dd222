package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func shapeHandlers(h map[*ir.OpDef]handler) {
	h[tt.MakeRange] = on(tt.AsMakeRange, (*emitter).makeRange)
	h[tt.Splat] = (*emitter).splat
	h[tt.Unsplat] = (*emitter).unsplat
	h[tt.ExpandDims] = sameElements
	h[tt.Broadcast] = sameElements
	h[tt.Trans] = on(tt.AsTrans, (*emitter).trans)
	h[tt.Reshape] = on(tt.AsReshape, (*emitter).reshape)
	h[tt.Join] = on(tt.AsJoin, (*emitter).join)
	h[tt.Split] = on(tt.AsSplit, (*emitter).split)
	h[tt.Cat] = on(tt.AsCat, (*emitter).cat)
	h[ub.Poison] = (*emitter).poison
	h[ttg.ConvertLayout] = (*emitter).convertLayout
}

func (e *emitter) makeRange(op tt.MakeRangeOp) error {
	l, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	regs := e.coords(l, 0)
	for r := range regs {
		regs[r] = e.b.Add(regs[r], e.m.llvm.I32(int(op.Start())))
	}
	e.set(op.Result(), regs)
	return nil
}

func (e *emitter) splat(op *ir.Operation) error {
	n, err := e.m.regsOf(op.OneResult().Type())
	if err != nil {
		return err
	}
	v := e.scalar(tt.AsSplat(op).Src())
	regs := make([]llir.Value, n)
	for r := range regs {
		regs[r] = v
	}
	e.set(op.OneResult(), regs)
	return nil
}

func (e *emitter) unsplat(op *ir.Operation) error {
	e.set(op.OneResult(), e.value(tt.AsUnsplat(op).Src())[:1])
	return nil
}

// poison is zero. LLVM's poison would give each use a value of its own, so that
// addresses and masks made of one variable need not agree.
func (e *emitter) poison(op *ir.Operation) error {
	t, err := scalarType(op.OneResult().Type())
	if err != nil {
		return err
	}
	n, err := e.m.regsOf(op.OneResult().Type())
	if err != nil {
		return err
	}
	regs := make([]llir.Value, n)
	for r := range regs {
		regs[r] = e.m.llvm.Zero(t)
	}
	e.set(op.OneResult(), regs)
	return nil
}

// sameElements lowers an operation whose result in each thread consists of
// elements that the thread holds already: for each register of the result, the
// operand's register with the element that the operation takes from there.
func sameElements(e *emitter, op *ir.Operation) error {
	src, err := e.layout(tt.AsUnary(op).Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.OneResult())
	if err != nil {
		return err
	}
	// project keeps the dimensions of the result that the operand has, and of
	// those only where the operand is not of size 1.
	var project []int
	axis := -1
	if op.Is(tt.ExpandDims) {
		axis = int(tt.AsExpandDims(op).Axis())
	}
	for d := range dst.shape {
		if d != axis {
			project = append(project, d)
		}
	}
	return e.pick(op, src, dst, func(coord []int32) []int32 {
		out := make([]int32, len(project))
		for i, d := range project {
			if src.shape[i] > 1 {
				out[i] = coord[d]
			}
		}
		return out
	})
}

// pick fills each register of the result from the operand's register that holds
// the element at from(coordinates), given that thread by thread both layouts
// agree: it checks that the thread's part of the coordinates is carried over
// too.
func (e *emitter) pick(op *ir.Operation, src, dst *tensorLayout, from func([]int32) []int32) error {
	v := tt.AsUnary(op)
	return e.pickFrom(v.Src(), v.Result(), src, dst, from, nil)
}

// pickFrom is pick for any operand and result, with the element at
// from(coordinates) XOR offset; from is linear, a nil offset is zero.
func (e *emitter) pickFrom(operand, result *ir.Value, src, dst *tensorLayout, from func([]int32) []int32, offset []int32) error {
	for i := range dst.thread {
		want := from(dst.thread[i])
		for d, w := range want {
			if src.thread[i][d] != w {
				return fmt.Errorf("the result's layout puts elements in other threads than the operand's")
			}
		}
	}
	for i, v := range dst.block {
		if !slices.Equal(from(v), src.block[i]) {
			return fmt.Errorf("the result's layout puts elements in other CTAs than the operand's")
		}
	}
	in := e.value(operand)
	at := make(map[int64]int, src.regs)
	places := src.places(src.reg, func(c []int32) []int32 { return c })
	for r := src.regs - 1; r >= 0; r-- {
		at[places[r]] = r
	}
	moved := int64(0)
	if offset != nil {
		moved = src.place(offset)
	}
	out := make([]llir.Value, dst.regs)
	for r, place := range src.places(dst.reg, from) {
		k, ok := at[place^moved]
		if !ok {
			return fmt.Errorf("the result's layout holds elements that the operand's thread lacks")
		}
		out[r] = in[k]
	}
	e.set(result, out)
	return nil
}

// place is the number of the element at c. Sizes are powers of two, so that it is linear
// in the coordinates.
func (l *tensorLayout) place(c []int32) int64 {
	n := int64(0)
	for d, x := range c {
		n = n*l.shape[d] + int64(x)
	}
	return n
}

// places are the places of the elements at from(the sum of the bases of r's bits), for each r.
func (l *tensorLayout) places(bases [][]int32, from func([]int32) []int32) []int64 {
	out := make([]int64, 1<<len(bases))
	for i, base := range bases {
		place := l.place(from(base))
		for r := range 1 << i {
			out[1<<i|r] = out[r] ^ place
		}
	}
	return out
}

// regCoords are the coordinates that register r adds.
func (l *tensorLayout) regCoords(r int) []int32 {
	c := make([]int32, len(l.shape))
	for i, v := range l.reg {
		if r>>i&1 != 0 {
			for d := range c {
				c[d] ^= v[d]
			}
		}
	}
	return c
}

// coordKey makes coordinates comparable.
func coordKey(c []int32) string {
	b := make([]byte, 0, 4*len(c))
	for _, x := range c {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return string(b)
}

func (e *emitter) trans(op tt.TransOp) error {
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	order := op.Order()
	if len(order) != len(src.shape) {
		return fmt.Errorf("the order does not fit the operand")
	}
	return e.pick(op.Op, src, dst, func(c []int32) []int32 {
		out := make([]int32, len(c))
		for i, d := range order {
			out[d] = c[i]
		}
		return out
	})
}

// reshape keeps the row-major index of each element. With allow_reorder any
// element may appear anywhere, so the registers stay as they are.
func (e *emitter) reshape(op tt.ReshapeOp) error {
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	if op.AllowReorder() && src.regs == dst.regs && src.freeThreads == dst.freeThreads && src.freeRegs == dst.freeRegs && src.freeBlocks == dst.freeBlocks {
		e.set(op.Result(), e.value(op.Src()))
		return nil
	}
	return e.pick(op.Op, src, dst, func(c []int32) []int32 {
		index := int64(0)
		for d, n := range dst.shape {
			index = index*n + int64(c[d])
		}
		out := make([]int32, len(src.shape))
		for d := len(src.shape) - 1; d >= 0; d-- {
			out[d] = int32(index % src.shape[d])
			index /= src.shape[d]
		}
		return out
	})
}

// join takes the elements with last coordinate 0 from the first operand, those
// with 1 from the second.
func (e *emitter) join(op tt.JoinOp) error {
	src, err := e.layout(op.Lhs())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.Result())
	if err != nil {
		return err
	}
	last := len(dst.shape) - 1
	halves := [2][]llir.Value{}
	for h, v := range []*ir.Value{op.Lhs(), op.Rhs()} {
		if err := e.pickFrom(v, op.Result(), src, dst, func(c []int32) []int32 { return c[:last] }, nil); err != nil {
			return err
		}
		halves[h] = e.value(op.Result())
	}
	out := make([]llir.Value, dst.regs)
	for i, v := range slices.Concat(dst.thread, dst.block) {
		if v[last] != 0 {
			return fmt.Errorf("thread bit %d of the result's layout moves along the joined dimension", i)
		}
	}
	for r := range out {
		out[r] = halves[dst.regCoord(r, last)][r]
	}
	e.set(op.Result(), out)
	return nil
}

// split is the inverse of join.
func (e *emitter) split(op tt.SplitOp) error {
	src, err := e.layout(op.Src())
	if err != nil {
		return err
	}
	dst, err := e.layout(op.OutLHS())
	if err != nil {
		return err
	}
	last := len(dst.shape)
	for h, half := range []*ir.Value{op.OutLHS(), op.OutRHS()} {
		offset := make([]int32, last+1)
		offset[last] = int32(h)
		err := e.pickFrom(op.Src(), half, src, dst, func(c []int32) []int32 {
			return append(append(make([]int32, 0, last+1), c...), 0)
		}, offset)
		if err != nil {
			return err
		}
	}
	return nil
}

// cat may put elements in any order: the registers of both, one after the other.
func (e *emitter) cat(op tt.CatOp) error {
	n, err := e.m.regsOf(op.Result().Type())
	if err != nil {
		return err
	}
	x, y := e.value(op.Lhs()), e.value(op.Rhs())
	if len(x)+len(y) != n {
		return fmt.Errorf("operands of %s per thread do not make a result of %d", diag.Count(len(x), "element"), n)
	}
	e.set(op.Result(), append(append(make([]llir.Value, 0, n), x...), y...))
	return nil
}
