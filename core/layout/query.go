package layout

import "slices"

// IsShared reports whether l arranges shared memory: whether its places are
// offsets rather than registers of threads.
func (l Layout) IsShared() bool { return hasAxis(l.ins, Offset) }

// Registers is the number of values that each thread holds, replicas
// included: the length of a lowered tensor value.
func (l Layout) Registers() int { return l.InSize(Register) }

// UniqueRegisters is the number of different elements that one thread holds.
func (l Layout) UniqueRegisters() int {
	return 1 << spanOf(l.Columns(Register)...).rank
}

// UniqueRegisterMask has a bit set for each bit of the register index that
// reaches new elements: registers that agree in these bits hold the same.
func (l Layout) UniqueRegisterMask() uint64 {
	var s span
	var m uint64
	for i, c := range l.Columns(Register) {
		if s.add(c) {
			m |= 1 << i
		}
	}
	return m
}

// Contig is the number of neighbours along output d that one thread holds side
// by side, starting from a multiple of that number.
func (l Layout) Contig(d Dim) int {
	lo, n := axisRange(l.outs, d)
	cols := l.Columns(Register)
	k := 0
	for k < n && containsCol(cols, 1<<(lo+k)) {
		k++
	}
	return 1 << k
}

// ConsecutiveRegisters is the number of neighbours along output d that are
// in registers with neighbouring indices, in the same order: what one wide
// memory access can move without a permutation.
func (l Layout) ConsecutiveRegisters(d Dim) int {
	lo, n := axisRange(l.outs, d)
	k := 0
	for _, c := range l.Columns(Register) {
		if k == n || c != 1<<(lo+k) {
			break
		}
		k++
	}
	return 1 << k
}

func containsCol(cols []uint64, v uint64) bool {
	for _, c := range cols {
		if c == v {
			return true
		}
	}
	return false
}

// Order lists the tensor dimensions in the order in which a thread's registers
// move along them; those along which they do not move follow, the last
// dimension first.
func (l Layout) Order() []int { return l.orderOf(Register, rowMajor(len(l.outs))) }

// LaneOrder is Order for the lanes of a warp, and then the registers' order.
func (l Layout) LaneOrder() []int { return l.orderOf(Lane, l.Order()) }

// WarpOrder is Order for the warps of a CTA, and then the registers' order.
func (l Layout) WarpOrder() []int { return l.orderOf(Warp, l.Order()) }

func (l Layout) orderOf(in Dim, rest []int) []int {
	order := make([]int, 0, len(l.outs))
	seen := make([]bool, len(l.outs))
	add := func(d int) {
		if !seen[d] {
			seen[d] = true
			order = append(order, d)
		}
	}
	for _, c := range l.Columns(in) {
		for i, o := range l.outs {
			if c&mask(o.Bits) != 0 {
				add(i)
				break
			}
			c >>= o.Bits
		}
	}
	for _, d := range rest {
		add(d)
	}
	return order
}

// Along projects l to output d and counts the different positions along d that
// the indices of the input reach: threads or registers that share the work of
// a reduction along d.
func (l Layout) Along(in, d Dim) int {
	lo, n := axisRange(l.outs, d)
	var s span
	for _, c := range l.Columns(in) {
		s.add(c >> lo & mask(n))
	}
	return 1 << s.rank
}

// CTAs is the number of CTAs of the cluster over which e spreads a tensor.
func CTAs(e Encoding) int {
	n := 0
	switch e := e.(type) {
	case *Blocked:
		n = len(e.CGA)
	case *Linear:
		n = len(e.Block)
	case *Slice:
		return CTAs(e.Parent)
	case *DotOp:
		return CTAs(e.Parent)
	case *NvidiaMMA:
		n = len(e.CGA)
	case *AMDMFMA:
		n = len(e.CGA)
	case *AMDWMMA:
		n = len(e.CGA)
	case *SwizzledShared:
		n = len(e.CGA)
	case *AMDRotatingShared:
		n = len(e.CGA)
	case *PaddedShared:
		n = len(e.CGA) + len(e.Block)
	case *SharedLinear:
		n = len(e.Block)
	case *NVMMAShared:
		n = len(e.CGA)
	default:
		panic("BUG: unknown encoding " + e.Mnemonic())
	}
	return 1 << n
}

// SameImage reports whether two layouts with the same outputs reach the same
// elements.
func (l Layout) SameImage(m Layout) bool {
	a, b := spanOf(l.cols...), spanOf(m.cols...)
	if a.rank != b.rank {
		return false
	}
	for _, c := range m.cols {
		if !a.contains(c) {
			return false
		}
	}
	return true
}

// CGA is how l divides its tensor among the CTAs of a cluster: for each bit of the CTA's
// rank how many parts further along each dimension its part is. It is false where a
// CTA's part is not a box.
func (l Layout) CGA() (Bases, bool) {
	l = l.TransposeOuts(tensorDims(len(l.outs))...)
	bases := l.BasesOf(Block)
	for _, v := range bases {
		for d, x := range v {
			part := int32(l.OutSize(TensorDim(d)) / l.Along(Block, TensorDim(d)))
			if x%part != 0 {
				return nil, false
			}
			v[d] = x / part
		}
	}
	return bases, true
}

// PartOf is the shape of the part of a tensor that one CTA of a cluster has.
func PartOf(e Encoding, shape []int64) ([]int64, error) {
	part := slices.Clone(shape)
	if CTAs(e) == 1 {
		return part, nil
	}
	l, err := e.Linear(shape)
	if err != nil {
		return nil, err
	}
	for d := range part {
		part[d] /= int64(l.Along(Block, TensorDim(d)))
	}
	return part, nil
}

// Undivided is the accumulator layout e, or that of an operand of its dots, for one CTA,
// which has what is the part of each in a cluster.
func Undivided(e Encoding) Encoding {
	if d, ok := e.(*DotOp); ok {
		c := *d
		c.Parent = Undivided(d.Parent)
		return &c
	}
	return withCGA(e, nil)
}

// Divided is s with the parts of CTAs that cga says; nil is those of one CTA.
func Divided(s Shared, cga Bases) Shared { return withCGA(s, cga).(Shared) }

// withCGA is e with other parts for the CTAs.
func withCGA(e Encoding, cga Bases) Encoding {
	switch e := e.(type) {
	case *Blocked:
		c := *e
		c.CGA = cga
		return &c
	case *NvidiaMMA:
		c := *e
		c.CGA = cga
		return &c
	case *AMDMFMA:
		c := *e
		c.CGA = cga
		return &c
	case *AMDWMMA:
		c := *e
		c.CGA = cga
		return &c
	case *SwizzledShared:
		c := *e
		c.CGA = cga
		return &c
	case *AMDRotatingShared:
		c := *e
		c.CGA = cga
		return &c
	case *NVMMAShared:
		c := *e
		c.CGA = cga
		return &c
	case *PaddedShared:
		c := *e
		c.CGA = cga
		return &c
	}
	panic("BUG: dividing the encoding " + e.Mnemonic() + " among CTAs")
}
