package ptx

import "slices"

// pressure is how many words of 32 bits are live at once in a function, at most. It is about what
// ptxas has to keep: some of it, it computes anew.
func (f *fn) pressure() int {
	f.place()
	out := make([]bitset, len(f.blocks))
	words := make([]int8, f.lastID+1)
	for i, b := range f.blocks {
		b.id, out[i] = i, newBitset(int(f.lastID)+1)
	}
	counts := func(a *value) bool {
		if a.rooted() || a.block == nil || a.class != r32 && a.class != r64 {
			return false
		}
		words[a.id] = int8(a.class.bits() / 32)
		return true
	}
	var work []*block
	atEnd := func(a *value, b *block) {
		for work = append(work[:0], b); len(work) > 0; {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if out[b.id].has(a.id) {
				continue
			}
			out[b.id].add(a.id)
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
	for _, b := range f.blocks {
		live, n := out[b.id], 0
		for id, w := range words {
			if w > 0 && live.has(int32(id)) {
				n += int(w)
			}
		}
		add := func(a *value) {
			if counts(a) && !live.has(a.id) {
				live.add(a.id)
				n += int(words[a.id])
			}
		}
		b.term.each(func(a **value) { add(*a) })
		most = max(most, n)
		for _, v := range slices.Backward(b.insts) {
			if live.has(v.id) {
				live.drop(v.id)
				n -= int(words[v.id])
			}
			for _, a := range v.args {
				add(a)
			}
			most = max(most, n)
		}
	}
	return most
}
