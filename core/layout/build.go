package layout

import (
	"fmt"
	"slices"
)

// BlockedFor spreads a tensor over numWarps warps of threadsPerWarp lanes in
// numCTAs CTAs: as many threads as fit along order[0], what is left over along
// the following dimensions, and all that remains along the last of them, where
// it replicates if the tensor is too small.
func BlockedFor(shape []int64, sizePerThread, order []int, numWarps, threadsPerWarp, numCTAs int) *Blocked {
	rank := len(shape)
	if len(sizePerThread) != rank || len(order) != rank {
		panic(fmt.Sprintf("BUG: blocked encoding of shape %v with sizePerThread %v and order %v", shape, sizePerThread, order))
	}
	ctas, cga := splitCTAs(shape, sizePerThread, order, numCTAs)
	e := &Blocked{
		SizePerThread:  slices.Clone(sizePerThread),
		ThreadsPerWarp: make([]int, rank),
		WarpsPerCTA:    make([]int, rank),
		Order:          slices.Clone(order),
		CGA:            cga,
	}
	lanes, warps := threadsPerWarp, numWarps
	for _, d := range order[:max(rank-1, 0)] {
		part := max(1, int(shape[d])/ctas[d])
		threads := clamp(lanes*warps, max(1, part/sizePerThread[d]))
		e.ThreadsPerWarp[d] = clamp(threads, lanes)
		e.WarpsPerCTA[d] = clamp(threads/e.ThreadsPerWarp[d], warps)
		lanes /= e.ThreadsPerWarp[d]
		warps /= e.WarpsPerCTA[d]
	}
	if rank > 0 {
		last := order[rank-1]
		e.ThreadsPerWarp[last] = lanes
		e.WarpsPerCTA[last] = warps
	}
	return e
}

// splitCTAs gives each dimension its share of the CTAs, the slowest dimension
// first, and the basis vectors of that split. CTAs beyond the tensor are
// replicas.
func splitCTAs(shape []int64, sizePerThread, order []int, numCTAs int) (ctas []int, cga Bases) {
	rank := len(shape)
	ctas = make([]int, rank)
	for i := range ctas {
		ctas[i] = 1
	}
	if numCTAs == 1 || rank == 0 {
		return ctas, nil
	}
	left := numCTAs
	for i := rank - 1; i >= 0; i-- {
		d := order[i]
		ctas[d] = clamp(left, max(1, int(shape[d])/sizePerThread[d]))
		left /= ctas[d]
	}
	for _, d := range order {
		for n := 1; n < ctas[d]; n *= 2 {
			v := make([]int32, rank)
			v[d] = int32(n)
			cga = append(cga, v)
		}
	}
	for ; left > 1; left /= 2 {
		cga = append(cga, make([]int32, rank))
	}
	return ctas, cga
}

// DefaultBlocked is the encoding that a tensor gets before anything is known
// of its use: one element per thread, the last dimension fastest.
func DefaultBlocked(shape []int64, numWarps, threadsPerWarp, numCTAs int) *Blocked {
	return BlockedFor(shape, onesIfNil(nil, len(shape)), rowMajor(len(shape)), numWarps, threadsPerWarp, numCTAs)
}

// FromLayout is the linear encoding of a distributed layout.
func FromLayout(l Layout) *Linear {
	return &Linear{
		Register: l.BasesOf(Register),
		Lane:     l.BasesOf(Lane),
		Warp:     l.BasesOf(Warp),
		Block:    l.BasesOf(Block),
	}
}

func clamp(n, hi int) int { return max(1, min(n, hi)) }
