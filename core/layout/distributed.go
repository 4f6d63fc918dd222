package layout

import (
	"fmt"
	"slices"
)

// Linear is the map (register, lane, warp, block) → shape of a tensor with
// this encoding.
func (e *Blocked) Linear(shape []int64) (Layout, error) {
	if err := e.check(shape); err != nil {
		return Layout{}, err
	}
	l := IdentityND(Register, e.SizePerThread, e.Order)
	l = Product(l, IdentityND(Lane, e.ThreadsPerWarp, e.Order))
	l = Product(l, IdentityND(Warp, e.WarpsPerCTA, e.Order))
	return combine(l, e.CGA, shape), nil
}

func (e *Blocked) check(shape []int64) error {
	if err := checkShape(e, shape); err != nil {
		return err
	}
	if err := checkOrder(e, e.Order); err != nil {
		return err
	}
	rank := len(shape)
	if err := checkBases(e, rank, e.CGA); err != nil {
		return err
	}
	return checkPow2(e, rank, e.SizePerThread, e.ThreadsPerWarp, e.WarpsPerCTA)
}

// Linear is the map of the encoding's own bases, its registers repeated over a
// larger shape. On a smaller shape, registers outside are dropped and lanes
// and warps outside become replicas.
func (e *Linear) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := checkBases(e, rank, e.Register, e.Lane, e.Warp, e.Block); err != nil {
		return Layout{}, err
	}
	l := fromBases(rank, Input{Register, e.Register}, Input{Lane, e.Lane}, Input{Warp, e.Warp}, Input{Block, e.Block})
	before := l.ZeroMask(Register)
	l = clip(grow(l, shape), shape)
	return l.dropRegisters(l.ZeroMask(Register) &^ before), nil
}

// dropRegisters removes the register bits of m.
func (l Layout) dropRegisters(m uint64) Layout {
	if m == 0 {
		return l
	}
	lo, _ := axisRange(l.ins, Register)
	r := Layout{ins: slices.Clone(l.ins), outs: l.outs}
	for i, c := range l.cols {
		if i >= lo && m>>(i-lo)&1 == 1 {
			continue
		}
		r.cols = append(r.cols, c)
	}
	for i := range r.ins {
		if r.ins[i].Dim == Register {
			r.ins[i].Bits -= len(l.cols) - len(r.cols)
		}
	}
	return r
}

// Linear is the parent's map over the shape with a dimension of size 1 put in
// at Dim, that dimension forgotten. Registers that held nothing but other
// positions along Dim disappear.
func (e *Slice) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	if e.Dim < 0 || e.Dim > len(shape) {
		return Layout{}, fmt.Errorf("encoding slice: dim %d is outside its parent of rank %d", e.Dim, len(shape)+1)
	}
	p, err := e.Parent.Linear(slices.Insert(slices.Clone(shape), e.Dim, 1))
	if err != nil {
		return Layout{}, err
	}
	var outs []Axis
	for i, o := range p.outs {
		if i != e.Dim {
			outs = append(outs, Axis{TensorDim(len(outs)), o.Bits})
		}
	}
	return p.ReshapeOuts(outs...).DropZeroBases(Register), nil
}

// Linear is the map of an operand: with a Blocked parent, every thread holds
// all of K for the rows or columns that it owns of the result; with a
// matrix-instruction parent, the arrangement that the instruction reads.
func (e *DotOp) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if rank < 2 {
		return Layout{}, fmt.Errorf("encoding dot_op on a tensor of rank %d", rank)
	}
	if e.OpIdx != 0 && e.OpIdx != 1 {
		return Layout{}, fmt.Errorf("encoding dot_op: opIdx is %d, not 0 or 1", e.OpIdx)
	}
	switch p := e.Parent.(type) {
	case *Blocked:
		return e.fma(p, shape)
	case *NvidiaMMA:
		return e.nvidia(p, shape)
	case *AMDMFMA:
		return e.mfma(p, shape)
	case *AMDWMMA:
		return e.wmma(p, shape)
	default:
		return Layout{}, fmt.Errorf("encoding dot_op: %s cannot be its parent", e.Parent.Mnemonic())
	}
}

// kDim and freeDim are the operand's dimensions along and across the sum.
func (e *DotOp) kDim(rank int) int    { return rank - 1 - e.OpIdx }
func (e *DotOp) freeDim(rank int) int { return rank - 2 + e.OpIdx }

// cga is the parent's arrangement of CTAs; all CTAs along K hold the same.
func (e *DotOp) cga(parent Bases, rank int) Bases {
	return zeroAlong(parent, e.kDim(rank))
}

func zeroAlong(b Bases, d int) Bases {
	r := make(Bases, len(b))
	for i, v := range b {
		r[i] = slices.Clone(v)
		r[i][d] = 0
	}
	return r
}

// fma: the operand of a dot computed by multiply-adds of each thread.
func (e *DotOp) fma(p *Blocked, shape []int64) (Layout, error) {
	rank := len(shape)
	whole := make([]int64, rank)
	for i := range whole {
		whole[i] = 1
	}
	if err := p.check(whole); err != nil {
		return Layout{}, err
	}
	k := e.kDim(rank)
	size := slices.Clone(p.SizePerThread)
	size[k] = int(shape[k])
	l := IdentityND(Register, size, p.Order)
	l = Product(l, broadcastND(Lane, p.ThreadsPerWarp, p.Order, k))
	l = Product(l, broadcastND(Warp, p.WarpsPerCTA, p.Order, k))
	return combine(l, e.cga(p.CGA, rank), shape), nil
}

// broadcastND is IdentityND, but all indices along dimension k hold the same.
func broadcastND(in Dim, shape, order []int, k int) Layout {
	l := Layout{ins: []Axis{{in, 0}}}
	for _, d := range order {
		if d == k {
			l = Product(l, Zeros(in, TensorDim(d), shape[d]))
		} else {
			l = Product(l, Identity(in, TensorDim(d), shape[d]))
		}
	}
	return l
}
