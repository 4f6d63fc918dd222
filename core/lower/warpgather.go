package lower

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// axisInWarp is where the elements along an axis lie, if in the lanes and registers of one
// warp.
type axisInWarp struct {
	// lane holds, for each bit of the index, the bit of the lane's number that it
	// becomes; 0 for the bits that choose a register. keep are the other bits of
	// the lane's number, which stay.
	lane []uint32
	keep int
	// choices are the register bits that the index chooses, with the index bit of
	// each.
	choices []registerChoice
}

// warpGatherPlan is a gather whose source lies, along the axis, in the lanes and
// registers of one warp: each lane asks another for the element.
type warpGatherPlan struct {
	*axisInWarp
	// from is, for each register of the result, the register of the source with
	// the same other coordinates and none of the choices set.
	from []int
}

type registerChoice struct{ register, index int }

// mostChoices is how many registers a lane may ask for in the place of one before
// shared memory is the shorter way: 1<<mostChoices.
const mostChoices = 2

// planWarpGather returns nil where shared memory is needed.
func (m *module) planWarpGather(op *ir.Operation) (*warpGatherPlan, error) {
	var layouts [2]*tensorLayout
	gather := tt.AsGather(op)
	for i, v := range []*ir.Value{gather.Src(), gather.Result()} {
		t, ok := v.Type().(*ir.TensorType)
		if !ok {
			return nil, nil // gather itself says what is wrong
		}
		l, err := m.layoutOf(t)
		if err != nil {
			return nil, failure(op, err)
		}
		layouts[i] = l
	}
	src, dst := layouts[0], layouts[1]
	axis := int(gather.Axis())
	if !blocksStay(src, dst, axis) {
		return nil, nil
	}
	for bit, moves := range src.thread {
		if !sameBeside(axis, moves, dst.thread[bit]) {
			return nil, nil
		}
	}
	along := m.axisInWarp(src, axis)
	if along == nil || len(along.choices) > mostChoices {
		return nil, nil
	}
	p := &warpGatherPlan{axisInWarp: along}
	chosen := 0
	for _, c := range p.choices {
		chosen |= 1 << c.register
	}
	p.from = make([]int, dst.regs)
	for r := range p.from {
		p.from[r] = -1
		want := dst.regCoords(r)
		for c := 0; c < src.regs && p.from[r] < 0; c++ {
			if c&chosen == 0 && sameBeside(axis, src.regCoords(c), want) {
				p.from[r] = c
			}
		}
		if p.from[r] < 0 {
			return nil, nil
		}
	}
	return p, nil
}

// axisInWarp finds where the elements along an axis lie, nil where not in one warp, or
// where what a bit of the lane or the register adds to the index is not a power of two or
// not all that it does.
func (m *module) axisInWarp(src *tensorLayout, axis int) *axisInWarp {
	p := &axisInWarp{lane: make([]uint32, bitLen(int(src.shape[axis]))), keep: m.lanes - 1}
	held := 0 // bits of the coordinate along the axis that a lane or register bit is
	for bit, moves := range src.thread {
		at, along, pure := oneBit(moves, axis)
		switch {
		case !pure || along && 1<<bit >= m.lanes:
			return nil
		case along:
			if held>>at&1 == 0 {
				p.lane[at] = 1 << bit
			}
			held |= 1 << at
			p.keep &^= 1 << bit
		}
	}
	for bit, moves := range src.reg {
		at, along, pure := oneBit(moves, axis)
		switch {
		case !pure:
			return nil
		case along && held>>at&1 == 0:
			p.choices = append(p.choices, registerChoice{bit, at})
			held |= 1 << at
		}
	}
	if held != int(src.shape[axis])-1 {
		return nil
	}
	return p
}

// oneBit looks at how far a bit of a layout moves: whether it moves along the
// axis, by 1<<at, and whether that, or moving along other dimensions, is all.
func oneBit(moves []int32, axis int) (at int, along, pure bool) {
	by := moves[axis]
	if by == 0 {
		return 0, false, true
	}
	for d, x := range moves {
		if d != axis && x != 0 {
			return 0, true, false
		}
	}
	return bitLen(int(by)), true, by&(by-1) == 0
}

// sameBeside compares coordinates but for that along the axis.
func sameBeside(axis int, x, y []int32) bool {
	for d := range x {
		if d != axis && x[d] != y[d] {
			return false
		}
	}
	return true
}

func (e *emitter) warpGather(p *warpGatherPlan, op tt.GatherOp) {
	b, m := e.b, e.m.llvm
	in, index := e.value(op.Src()), e.value(op.Indices())
	own := b.And(e.tid, m.I32(p.keep))
	out := make([]llir.Value, len(p.from))
	for r := range out {
		at := b.Resize(index[r], llir.I32, true)
		lane := b.Or(own, e.linearSum(at, p.lane))
		// All registers that may be meant, then half of them, and so on.
		found := make([]llir.Value, 1<<len(p.choices))
		for i := range found {
			from := p.from[r]
			for k, c := range p.choices {
				from |= (i >> k & 1) << c.register
			}
			found[i] = e.shuffleIndex(in[from], lane)
		}
		for k := len(p.choices) - 1; k >= 0; k-- {
			bit := b.And(at, m.I32(1<<p.choices[k].index))
			set := b.ICmp(ipredNE, bit, m.I32(0))
			half := 1 << k
			for i := range half {
				found[i] = b.Select(set, found[i+half], found[i])
			}
		}
		out[r] = found[0]
	}
	e.set(op.Result(), out)
}
