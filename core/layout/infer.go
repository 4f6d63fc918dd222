package layout

import (
	"fmt"
	"slices"
)

// The functions of this file tell which encoding the result of a shape
// operation has, so that no value moves between threads. They answer with a
// Blocked encoding where one describes the result, else with a Linear one.

// ExpandDims is the encoding of a tensor after a dimension of size 1 is put in
// at axis: the parent of a Slice along it.
func ExpandDims(e Encoding, axis int) (Encoding, error) {
	s, ok := e.(*Slice)
	if !ok || s.Dim != axis {
		return nil, fmt.Errorf("a dimension is put in at %d, but the operand's encoding is %s, not a slice along it", axis, e.Mnemonic())
	}
	return s.Parent, nil
}

// Trans is the encoding of a tensor of the given shape after its dimensions
// are permuted: dimension i of the result is perm[i] of the operand.
func Trans(e Encoding, shape []int64, perm []int) (Encoding, error) {
	if err := checkOrder(e, perm); err != nil {
		return nil, err
	}
	if len(perm) != len(shape) || e.Rank() != len(shape) {
		return nil, fmt.Errorf("encoding %s of rank %d: permutation %v of the shape %v", e.Mnemonic(), e.Rank(), perm, shape)
	}
	to := make([]int, len(perm)) // where each dimension goes
	for i, d := range perm {
		to[d] = i
	}
	switch e := e.(type) {
	case *Blocked:
		return &Blocked{
			SizePerThread: pick(e.SizePerThread, perm), ThreadsPerWarp: pick(e.ThreadsPerWarp, perm),
			WarpsPerCTA: pick(e.WarpsPerCTA, perm), Order: pick(to, e.Order), CGA: permuteBases(e.CGA, perm),
		}, nil
	case *SwizzledShared:
		return &SwizzledShared{e.Vec, e.PerPhase, e.MaxPhase, pick(to, e.Order), permuteBases(e.CGA, perm)}, nil
	case *AMDRotatingShared:
		return &AMDRotatingShared{e.Vec, e.PerPhase, e.MaxPhase, pick(to, e.Order), permuteBases(e.CGA, perm)}, nil
	case *NVMMAShared:
		if !slices.Equal(perm, []int{1, 0}) {
			break
		}
		t := *e
		t.Transposed = !e.Transposed
		t.CGA = permuteBases(e.CGA, perm)
		return &t, nil
	}
	l, err := e.Linear(shape)
	if err != nil {
		return nil, err
	}
	outs := make([]Axis, len(perm))
	order := make([]Dim, len(perm))
	for i, d := range perm {
		order[i] = TensorDim(d)
		outs[i] = Axis{TensorDim(i), l.OutBits(TensorDim(d))}
	}
	l = l.TransposeOuts(order...).ReshapeOuts(outs...)
	if _, ok := e.(Shared); ok {
		return &SharedLinear{Offset: l.BasesOf(Offset), Block: l.BasesOf(Block), Alignment: sharedLinearAlignment}, nil
	}
	return FromLayout(l), nil
}

// sharedLinearAlignment is the alignment, in bytes, of shared memory whose
// encoding no longer has a name.
const sharedLinearAlignment = 16

// pick returns list[i] for each i of at.
func pick(list, at []int) []int {
	r := make([]int, len(at))
	for i, k := range at {
		r[i] = list[k]
	}
	return r
}

func permuteBases(b Bases, perm []int) Bases {
	if b == nil {
		return nil
	}
	r := make(Bases, len(b))
	for i, v := range b {
		r[i] = make([]int32, len(perm))
		for j, d := range perm {
			r[i][j] = v[d]
		}
	}
	return r
}

// Reshape is the encoding of a tensor of shape from after its elements, in
// row-major order, are seen as a tensor of shape to.
func Reshape(e Encoding, from, to []int64) (Encoding, error) {
	if slices.Equal(from, to) {
		return e, nil
	}
	l, err := e.Linear(from)
	if err != nil {
		return nil, err
	}
	if err := checkShape(&Linear{}, to); err != nil {
		return nil, err
	}
	if product(from) != product(to) {
		return nil, fmt.Errorf("the shapes %v and %v have different numbers of elements", from, to)
	}
	// Packed with the last dimension lowest, the bits of an element are its
	// row-major index.
	in := tensorDims(len(from))
	slices.Reverse(in)
	axes := make([]Axis, len(to))
	for i := range to {
		d := len(to) - 1 - i
		axes[i] = Axis{TensorDim(d), log2(int(to[d]))}
	}
	l = l.TransposeOuts(in...).ReshapeOuts(axes...).TransposeOuts(tensorDims(len(to))...)
	if m, ok := e.(*NVMMAShared); ok {
		if r, ok := reshapeNVMMA(m, to, l); ok {
			return r, nil
		}
	}
	if _, ok := e.(Shared); ok {
		return &SharedLinear{Offset: l.BasesOf(Offset), Block: l.BasesOf(Block), Alignment: sharedLinearAlignment}, nil
	}
	return like(e, l), nil
}

// like is l as a blocked encoding, if it is one and comes from one, else as a linear one.
func like(from Encoding, l Layout) Encoding {
	if _, ok := from.(*Blocked); ok {
		if b, ok := AsBlocked(l); ok {
			return b
		}
	}
	return FromLayout(l)
}

// reshapeNVMMA is e for another shape, in which it must be the layout l.
func reshapeNVMMA(e *NVMMAShared, shape []int64, l Layout) (*NVMMAShared, bool) {
	if len(e.CGA) > 0 {
		return nil, false
	}
	r := *e
	r.NDims = len(shape)
	if r.NDims == 2 {
		r.NDims = 0
	}
	have, err := r.Linear(shape)
	return &r, err == nil && have.Equal(l)
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Join is the encoding of two tensors of the given shape put side by side
// along a new last dimension of size 2: each thread keeps both. The halves of a tensor
// that was split give its encoding.
func Join(e Encoding, shape []int64) (Encoding, error) {
	rank := len(shape)
	if s, ok := e.(*Slice); ok && s.Dim == rank && splitsTo(s.Parent, append(slices.Clone(shape), 2), e) {
		return s.Parent, nil
	}
	if b, ok := e.(*Blocked); ok && b.Rank() == rank {
		j := &Blocked{
			SizePerThread:  append(slices.Clone(b.SizePerThread), 2),
			ThreadsPerWarp: append(slices.Clone(b.ThreadsPerWarp), 1),
			WarpsPerCTA:    append(slices.Clone(b.WarpsPerCTA), 1),
			Order:          append([]int{rank}, b.Order...),
		}
		for _, v := range b.CGA {
			j.CGA = append(j.CGA, append(slices.Clone(v), 0))
		}
		return j, nil
	}
	l, err := e.Linear(shape)
	if err != nil {
		return nil, err
	}
	last := Identity(Register, TensorDim(rank), 2)
	return FromLayout(Product(last, l).TransposeOuts(tensorDims(rank + 1)...)), nil
}

// splitsTo reports whether the halves of a tensor of that shape, encoded as whole, are
// spread as half says.
func splitsTo(whole Encoding, shape []int64, half Encoding) bool {
	s, err := Split(whole, shape)
	if err != nil {
		return false
	}
	x, err := s.Linear(shape[:len(shape)-1])
	if err != nil {
		return false
	}
	y, err := half.Linear(shape[:len(shape)-1])
	return err == nil && x.Equal(y)
}

// Split is the encoding of the two halves of a tensor of the given shape,
// whose last dimension has size 2: the inverse of Join. It is an error when the
// halves of an element pair are in different threads.
func Split(e Encoding, shape []int64) (Encoding, error) {
	rank := len(shape) - 1
	if rank < 0 || shape[rank] != 2 {
		return nil, fmt.Errorf("splitting a tensor of shape %v, whose last dimension is not 2", shape)
	}
	if b, ok := e.(*Blocked); ok && b.Rank() == rank+1 && b.SizePerThread[rank] == 2 &&
		b.ThreadsPerWarp[rank] == 1 && b.WarpsPerCTA[rank] == 1 {
		s := &Blocked{
			SizePerThread: slices.Clone(b.SizePerThread[:rank]), ThreadsPerWarp: slices.Clone(b.ThreadsPerWarp[:rank]),
			WarpsPerCTA: slices.Clone(b.WarpsPerCTA[:rank]),
			Order:       slices.DeleteFunc(slices.Clone(b.Order), func(d int) bool { return d == rank }),
		}
		for _, v := range b.CGA {
			s.CGA = append(s.CGA, slices.Clone(v[:rank]))
		}
		return s, nil
	}
	l, err := e.Linear(shape)
	if err != nil {
		return nil, err
	}
	var pair uint64
	lo, _ := axisRange(l.outs, TensorDim(rank))
	for i, c := range l.Columns(Register) {
		if c == 1<<lo {
			pair = 1 << i
			break
		}
	}
	if pair == 0 {
		return nil, fmt.Errorf("splitting a tensor with encoding %s, which keeps the halves in different threads", e.Mnemonic())
	}
	l = l.dropRegisters(pair)
	return like(e, l.Sub(dims(l.ins), tensorDims(rank))), nil
}

// AsBlocked finds a blocked encoding that spreads a tensor as l does.
func AsBlocked(l Layout) (*Blocked, bool) {
	rank := len(l.outs)
	if l.InBits(Block) != 0 || rank == 0 {
		return nil, false
	}
	e := &Blocked{
		SizePerThread: onesIfNil(nil, rank), ThreadsPerWarp: onesIfNil(nil, rank), WarpsPerCTA: onesIfNil(nil, rank),
	}
	// The thread's tile is the registers up to the first that cannot belong to
	// it: each dimension's lowest bits, one dimension after the other.
	last := -1
	for _, c := range l.Columns(Register) {
		d := slices.IndexFunc(l.outs, func(o Axis) bool {
			lo, n := axisRange(l.outs, o.Dim)
			return c>>lo&mask(n) != 0
		})
		if d < 0 {
			return nil, false
		}
		lo, _ := axisRange(l.outs, TensorDim(d))
		if e.SizePerThread[d] == l.outs[d].Size() || c != uint64(e.SizePerThread[d])<<lo || e.SizePerThread[d] > 1 && last != d {
			break
		}
		e.SizePerThread[d] *= 2
		last = d
	}
	// Along each dimension the lanes follow the tile, then the warps; what is
	// left are registers again.
	for d, o := range l.outs {
		lo, _ := axisRange(l.outs, o.Dim)
		n := e.SizePerThread[d]
		for ; n < o.Size() && containsCol(l.Columns(Lane), uint64(n)<<lo); n *= 2 {
			e.ThreadsPerWarp[d] *= 2
		}
		for ; n < o.Size() && containsCol(l.Columns(Warp), uint64(n)<<lo); n *= 2 {
			e.WarpsPerCTA[d] *= 2
		}
	}
	if e.Order = blockedOrder(l, e.SizePerThread); e.Order == nil {
		return nil, false
	}
	// Lanes and warps that hold replicas are where their dimension was full.
	replicate(l, Lane, e.ThreadsPerWarp, e.Order)
	replicate(l, Warp, e.WarpsPerCTA, e.Order)
	got, err := e.Linear(l.Shape())
	if err != nil || !got.Equal(l.onHardware()) {
		return nil, false
	}
	return e, true
}

// blockedOrder is an order that agrees with the sequences in which the tile of
// a thread, the lanes, the warps and the repetitions move along the
// dimensions, or nil when there is none. Where they leave a choice, the
// dimension that registers, then lanes, then warps move along first comes
// first.
func blockedOrder(l Layout, sizePerThread []int) []int {
	rank := len(l.outs)
	var seqs [4][]uint64
	for _, c := range l.Columns(Register) {
		tile := false
		for d := range rank {
			lo, _ := axisRange(l.outs, TensorDim(d))
			tile = tile || c>>lo != 0 && c>>lo < uint64(sizePerThread[d]) && c&mask(lo) == 0
		}
		if tile {
			seqs[0] = append(seqs[0], c)
		} else {
			seqs[3] = append(seqs[3], c)
		}
	}
	seqs[1], seqs[2] = l.Columns(Lane), l.Columns(Warp)
	before := make([][]bool, rank) // before[a][b]: a moves and later b does
	for i := range before {
		before[i] = make([]bool, rank)
	}
	for _, seq := range seqs {
		var moved []int
		for _, c := range seq {
			for d := range rank {
				if lo, n := axisRange(l.outs, TensorDim(d)); c>>lo&mask(n) == 0 || slices.Contains(moved, d) {
					continue
				}
				for _, a := range moved {
					before[a][d] = true
				}
				moved = append(moved, d)
			}
		}
	}
	left := l.orderOf(Register, l.orderOf(Lane, l.orderOf(Warp, rowMajor(rank))))
	order := make([]int, 0, rank)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(d int) bool {
			return !slices.ContainsFunc(left, func(a int) bool { return before[a][d] })
		})
		if i < 0 {
			return nil
		}
		order = append(order, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return order
}

// replicate multiplies the size of the dimension that the zero bases of in
// follow.
func replicate(l Layout, in Dim, size, order []int) {
	at := 0 // position in order
	for _, c := range l.Columns(in) {
		if c == 0 {
			size[order[at]] *= 2
			continue
		}
		for i := range order {
			lo, n := axisRange(l.outs, TensorDim(order[i]))
			if c>>lo&mask(n) != 0 {
				at = i
			}
		}
	}
}
