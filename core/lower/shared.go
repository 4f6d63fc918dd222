package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// sharedPlan is how the registers of a distributed tensor lie in a buffer.
type sharedPlan struct {
	tensor *tensorLayout
	elem   llir.Type
	size   int // bytes of an element
	offs   layout.Layout
	vec    int
	flip   int // offset of the part that the descriptor shows
	// padding maps offsets to places; nil where they are the same.
	padding *layout.PaddedShared
	// sideBySide has accesses follow one another whose places differ by constants.
	// Otherwise registers do.
	sideBySide bool
}

// planShared finds the places of a tensor in a buffer, or in the part of it that begins at
// offset.
func (m *module) planShared(t *ir.TensorType, desc *ttg.MemDescType, offset []int64) (*sharedPlan, error) {
	l, err := m.layoutOf(t)
	if err != nil {
		return nil, err
	}
	elem, bits, err := memoryType(t)
	if err != nil {
		return nil, err
	}
	enc, ok := desc.Encoding.(*encoding.Attr)
	if !ok {
		return nil, fmt.Errorf("the buffer has no arrangement")
	}
	shared, err := enc.Layout.Linear(wholeShape(desc))
	if err != nil {
		return nil, err
	}
	blocks := shared.BasesOf(layout.Block)
	shared = shared.Sub([]layout.Dim{layout.Offset}, outDims(shared))
	offs, ok := shared.InvertAndCompose(embed(l.layout, shared))
	if !ok {
		return nil, fmt.Errorf("the buffer does not hold every element of the tensor")
	}
	if err := inOwnBlock(l, shared, blocks); err != nil {
		return nil, err
	}
	at := make([]int, len(offset))
	for d, o := range offset {
		if o%desc.Shape[d] != 0 {
			return nil, fmt.Errorf("a part of a buffer begins at %d along dimension %d, which is not a multiple of its size %d", o, d, desc.Shape[d])
		}
		at[d] = int(o)
	}
	p := &sharedPlan{tensor: l, elem: elem, size: bits / 8, offs: offs}
	point, ok := shared.InvertAndCompose(pointLayout(shared, at))
	if !ok {
		return nil, fmt.Errorf("the part of the buffer is outside of it")
	}
	if cols := point.Columns(layout.Register); len(cols) > 0 {
		p.flip = int(cols[0])
	}
	most := maxAccess / 8 / p.size
	if p.padding, _ = enc.Layout.(*layout.PaddedShared); p.padding != nil {
		for i, n := range p.padding.Intervals { // an access crosses no padding, and is aligned after it
			k := p.padding.Paddings[i]
			most = min(most, n)
			for k%most != 0 {
				most /= 2
			}
		}
	}
	p.vec = vectorOf(offs, l, p.flip, most)
	return p, nil
}

// consecutive reports whether the lanes of every warp write vec elements one after the
// other, from a place that lane 0 knows.
func (p *sharedPlan) consecutive() bool {
	next := uint64(p.vec)
	for _, c := range p.offs.Columns(layout.Lane) {
		if c != next {
			return false
		}
		next *= 2
	}
	others := append([]uint64{uint64(p.flip)}, p.offs.Columns(layout.Warp)...)
	for _, c := range p.offs.Columns(layout.Register) {
		if c >= uint64(p.vec) {
			others = append(others, c)
		}
	}
	for _, c := range others {
		if c&(next-1) != 0 {
			return false
		}
	}
	return p.padding == nil || !slices.ContainsFunc(p.padding.Intervals, func(n int) bool { return n%int(next) != 0 })
}

// inOwnBlock checks that each CTA of a cluster has in its buffer what its threads hold
// of a tensor: that its part begins at the same element in both.
func inOwnBlock(l *tensorLayout, shared layout.Layout, blocks layout.Bases) error {
	for i, v := range reorder(l.layout, shared, l.block) {
		at := make([]int32, len(v))
		if i < len(blocks) {
			at = blocks[i]
		}
		if !slices.Equal(v, at) {
			return fmt.Errorf("the buffer and the tensor are divided differently among the CTAs of a cluster")
		}
	}
	return nil
}

func outDims(l layout.Layout) []layout.Dim {
	var ds []layout.Dim
	for _, o := range l.Outs() {
		ds = append(ds, o.Dim)
	}
	return ds
}

// embed is l as a map into the larger tensor of m's outputs.
func embed(l, m layout.Layout) layout.Layout {
	ins := make([]layout.Input, 0, 3)
	for _, d := range []layout.Dim{layout.Register, layout.Lane, layout.Warp} {
		ins = append(ins, layout.Input{Dim: d, Bases: reorder(l, m, l.BasesOf(d))})
	}
	return layout.New(m.Outs(), ins...)
}

// reorder gives coordinates in l's order of dimensions in m's.
func reorder(l, m layout.Layout, bases layout.Bases) layout.Bases {
	out := make(layout.Bases, len(bases))
	for i, v := range bases {
		out[i] = make([]int32, len(v))
		for k, o := range m.Outs() {
			for j, p := range l.Outs() {
				if p.Dim == o.Dim {
					out[i][k] = v[j]
				}
			}
		}
	}
	return out
}

// pointLayout maps register 1 to one point, given by dimension.
func pointLayout(m layout.Layout, at []int) layout.Layout {
	v := make([]int32, len(m.Outs()))
	for k, o := range m.Outs() {
		v[k] = int32(at[o.Dim-layout.TensorDim(0)])
	}
	return layout.New(m.Outs(), layout.Input{Dim: layout.Register, Bases: layout.Bases{v}})
}

// vectorOf is how many elements lie side by side in registers of one thread,
// such that every thread's begin at a multiple of that number.
func vectorOf(offs layout.Layout, l *tensorLayout, flip, most int) int {
	vec := 1
	for vec < most {
		found := false
		for i, c := range offs.Columns(layout.Register) {
			found = found || c == uint64(vec) && l.freeRegs>>i&1 == 0
		}
		if !found {
			break
		}
		vec *= 2
	}
	all := append(append([]uint64{uint64(flip)}, offs.Columns(layout.Lane)...), offs.Columns(layout.Warp)...)
	for _, c := range offs.Columns(layout.Register) {
		if c >= uint64(vec) {
			all = append(all, c)
		}
	}
	for _, c := range all {
		for c&uint64(vec-1) != 0 {
			vec /= 2
		}
	}
	return vec
}

// sharedAccesses calls f for each access of a thread to the memory at ptr +
// base bytes that a plan describes: the registers that lie side by side, vec at
// a time.
func (e *emitter) sharedAccesses(p *sharedPlan, ptr llir.Value, base int, f func(a *Access, regs []int)) {
	l := p.tensor
	regs := p.offs.Columns(layout.Register)
	at := make(map[int]int, l.regs) // register by offset
	for r := l.regs - 1; r >= 0; r-- {
		if l.canonical(r) == r {
			at[int(sum(regs, r))] = r
		}
	}
	threads := append(append([]uint64(nil), p.offs.Columns(layout.Lane)...), p.offs.Columns(layout.Warp)...)
	var firsts []int
	for r := range l.regs {
		if l.canonical(r) == r && sum(regs, r)%uint64(p.vec) == 0 {
			firsts = append(firsts, r)
		}
	}
	if p.sideBySide {
		sortByPlace(firsts, regs, threads)
	}
	place := e.sharedPlaces(p, threads, ptr, base)
	for _, r := range firsts {
		off := int(sum(regs, r))
		group := make([]int, p.vec)
		for i := range group {
			group[i] = at[off+i]
		}
		ptr, k := place(off)
		f(&Access{Ptr: ptr, Offset: k, Count: p.vec}, group)
	}
}

// sortByPlace brings registers together whose places differ by a constant, for
// all threads: which address they share is said by the bits that threads reach,
// too. The order of addresses is that of their first registers.
func sortByPlace(list []int, regs, threads []uint64) {
	var reach uint64
	for _, c := range threads {
		reach |= c
	}
	first := map[uint64]int{}
	for _, r := range list {
		at := sum(regs, r) & reach
		if _, ok := first[at]; !ok {
			first[at] = r
		}
	}
	slices.SortStableFunc(list, func(r, s int) int {
		return first[sum(regs, r)&reach] - first[sum(regs, s)&reach]
	})
}

// sum is the XOR of the columns at the bits of x.
func sum(cols []uint64, x int) uint64 {
	var s uint64
	for i, c := range cols {
		if x>>i&1 != 0 {
			s ^= c
		}
	}
	return s
}

// sharedPlaces gives the place of the element at the offset that is the XOR of
// a thread's part, cols by the bits of its index, the offset of the part of the
// buffer that is shown, and the given constant: a pointer and a number of bytes
// to add.
func (e *emitter) sharedPlaces(p *sharedPlan, cols []uint64, ptr llir.Value, base int) func(off int) (llir.Value, int64) {
	bytes := make([]uint32, len(cols))
	reach := 0
	for i, c := range cols {
		bytes[i] = uint32(c) * uint32(p.size)
		reach |= int(c)
	}
	thread := e.threadSum(bytes)
	return func(off int) (llir.Value, int64) {
		off ^= p.flip
		// Bits that no thread reaches add, so they can go into the instruction.
		index, rest := e.b.Xor(thread, e.m.llvm.I32((off&reach)*p.size)), off&^reach
		if p.padding != nil {
			index, rest = e.padded(p, index), p.padding.Pad(rest)
		}
		return llir.SplitPtr(e.b.PtrAdd(e.b.GEP(llir.I8, ptr, index), int64(base+rest*p.size)))
	}
}

// padded is the place, in bytes, of what would be at x bytes without padding.
func (e *emitter) padded(p *sharedPlan, x llir.Value) llir.Value {
	at := x
	for i, n := range p.padding.Intervals {
		count := e.b.LShr(x, bitLen(n*p.size))
		at = e.b.Add(at, e.b.Mul(count, e.m.llvm.I32(p.padding.Paddings[i]*p.size)))
	}
	return at
}
