package ptx

import (
	"math/bits"
	"slices"
)

// words counts the registers of 32 bits that numbers take, for mostLive.
func words(v *value) int {
	if v.class == r32 || v.class == r64 {
		return v.class.bits() / 32
	}
	return 0
}

// mostLive is how much is live at once in some blocks, at most, of what weight counts. It is about
// what ptxas has to keep: some of it, it computes anew. Values must know their blocks.
func (f *fn) mostLive(blocks []*block, weight func(*value) int) int {
	weights := make([]int, f.lastID+1) // by ids
	counts := func(a *value) bool {
		if a.rooted() || a.block == nil {
			return false
		}
		w := weight(a)
		weights[a.id] = w
		return w > 0
	}
	ends := make(map[*block]bitset) // what lives at the end of each block, by ids
	var work []*block
	atEnd := func(a *value, b *block) {
		for work = append(work[:0], b); len(work) > 0; {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if ends[b] == nil {
				ends[b] = newBitset(len(weights))
			}
			if ends[b].has(a.id) {
				continue
			}
			ends[b].add(a.id)
			if b != a.block {
				work = append(work, b.preds...)
			}
		}
	}
	use := func(a *value, b *block) {
		if counts(a) && a.block != b {
			for _, p := range b.preds {
				atEnd(a, p)
			}
		}
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, a := range p.args {
				if counts(a) {
					atEnd(a, b.preds[i])
				}
			}
		}
		for _, v := range b.insts {
			for _, a := range v.args {
				use(a, b)
			}
		}
		b.term.each(func(a **value) { use(*a, b) })
	}
	most := 0
	for _, b := range blocks {
		live, n := ends[b], 0
		if live == nil {
			live = newBitset(len(weights))
		}
		for i, set := range live {
			for ; set != 0; set &= set - 1 {
				n += weights[i*64+bits.TrailingZeros64(set)]
			}
		}
		add := func(a *value) {
			if weights[a.id] > 0 && !live.has(a.id) {
				live.add(a.id)
				n += weights[a.id]
			}
		}
		b.term.each(func(a **value) { add(*a) })
		most = max(most, n)
		for _, v := range slices.Backward(b.insts) {
			if live.has(v.id) {
				live.drop(v.id)
				n -= weights[v.id]
			}
			for _, a := range v.args {
				add(a)
			}
			most = max(most, n)
		}
	}
	return most
}
