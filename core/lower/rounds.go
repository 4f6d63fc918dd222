package lower

import (
	"slices"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// A conversion through shared memory would take room for the whole tensor. Where
// both sides have a basis vector in registers, the elements with it and those
// without can go one after the other through the same memory: that bit of the
// register's index numbers the round.

// maxStaging is the number of bytes of shared memory that a conversion takes where
// it can go in rounds: about what a pipeline's buffers of a dot are.
const maxStaging = 32 << 10

// tightStaging is what a conversion takes at most, where it can do with less, on a device
// whose programs shall take as little as they can.
const tightStaging = 64 << 10

// rounds are the rounds of a conversion.
type rounds struct {
	// src and dst are the bits of the registers' indices that number the rounds,
	// those of one vector at the same place.
	src, dst []int
	// part is one round.
	part *conversionPlan
}

// splitRounds has a plan go in as many rounds as it needs to take no more than
// maxStaging bytes, or as many as there are.
func (m *module) splitRounds(p *conversionPlan) {
	vector := p.staging.Offset.BasesOf(layout.Offset)[:bitLen(p.staging.Vec)]
	if _, ok := m.caps.Residents.(tight); ok && p.bytes > tightStaging {
		vector = nil // narrower accesses, rather than a kernel that does not fit
	}
	holds := func(list [][]int32, v []int32) int {
		return slices.IndexFunc(list, func(w []int32) bool { return slices.Equal(v, w) })
	}
	for i := len(p.src.reg) - 1; i >= 0 && p.bytes > maxStaging; i-- {
		v := p.src.reg[i]
		j := holds(p.dst.reg, v)
		if j < 0 || holds(vector, v) >= 0 || p.src.freeRegs>>i&1 != 0 || p.dst.freeRegs>>j&1 != 0 {
			continue
		}
		r := &rounds{src: []int{i}, dst: []int{j}}
		if p.rounds != nil {
			r.src, r.dst = append(r.src, p.rounds.src...), append(r.dst, p.rounds.dst...)
		}
		part := &conversionPlan{src: p.src.without(r.src), dst: p.dst.without(r.dst), means: p.means, elem: p.elem}
		if !part.src.layout.SameImage(part.dst.layout) {
			continue // elements of one round of src are in several of dst
		}
		if m.stage(part); part.bytes >= p.bytes {
			continue
		}
		r.part = part
		p.rounds, p.bytes = r, part.bytes
	}
}

// without is the layout of the registers whose index has zeros at some bits.
func (l *tensorLayout) without(bits []int) *tensorLayout {
	s := &tensorLayout{shape: l.shape, thread: l.thread, block: l.block}
	for i, v := range l.reg {
		if !slices.Contains(bits, i) {
			s.reg = append(s.reg, v)
		}
	}
	s.regs = 1 << len(s.reg)
	s.layout = layout.New(l.layout.Outs(), layout.Input{Dim: layout.Register, Bases: s.reg},
		layout.Input{Dim: layout.Lane, Bases: l.layout.BasesOf(layout.Lane)},
		layout.Input{Dim: layout.Warp, Bases: l.layout.BasesOf(layout.Warp)})
	s.findReplicas()
	return s
}

// register is the index of a register of a round in the whole: r with the round's
// number at some bits.
func register(r int, bits []int, round int) int {
	whole := 0
	for i := 0; r != 0 || round != 0; i++ {
		if k := slices.Index(bits, i); k >= 0 {
			whole |= round >> k & 1 << i
			round &^= 1 << k
			continue
		}
		whole |= r & 1 << i
		r >>= 1
	}
	return whole
}

// inRounds carries the rounds out, one after the other.
func (e *emitter) inRounds(p *conversionPlan, base int, in []llir.Value) []llir.Value {
	r := p.rounds
	out := make([]llir.Value, p.dst.regs)
	for round := range 1 << len(r.src) {
		if round > 0 {
			e.barrier() // what the round before stored has been read
		}
		part := make([]llir.Value, r.part.src.regs)
		for i := range part {
			part[i] = in[register(i, r.src, round)]
		}
		for i, v := range e.viaShared(r.part, base, part) {
			out[register(i, r.dst, round)] = v
		}
	}
	return out
}
