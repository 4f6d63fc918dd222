package simt

import "math/bits"

// execShfl executes shfl.sync: every active lane reads A of another lane, chosen
// by B and, within segments, by the clamp value in Regs[1].
func execShfl(w *warp, s *step) {
	if s.imm == ShflBfly && w.mask == w.full && w.butterfly(s) {
		return
	}
	a, b, c := w.words, w.u32(s.b), w.u32(s.rs[1])
	src := w.u32(s.a)
	for i, v := range src {
		a[i] = uint64(v)
	}
	d := w.u32(s.d)
	mode := s.imm
	lanes := w.n - 1
	var valid, def, known uint64
	if w.check != nil {
		known = w.mask & w.check.regs[s.pa].def
	}
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		seg := int(c[l]>>8) & lanes
		clamp := int(c[l]) & lanes
		val := int(b[l]) & lanes
		maxLane := l&seg | clamp&^seg
		minLane := l & seg
		j := l
		ok := false
		switch mode {
		case ShflUp:
			j = l - val
			ok = j >= maxLane
		case ShflDown:
			j = l + val
			ok = j <= maxLane
		case ShflBfly:
			j = l ^ val
			ok = j <= maxLane
		default:
			j = minLane | val&^seg
			ok = j <= maxLane
		}
		if !ok {
			j = l
		} else {
			valid |= 1 << l
		}
		d[l] = uint32(a[j])
		if w.check != nil {
			w.check.from[l] = uint8(j)
			def |= known >> j & 1 << l
		}
	}
	if len(s.ds) > 0 && s.ds[0] >= 0 {
		w.setP(s.ds[0], valid)
		w.defined(s.in.Dsts[0], w.mask)
	}
	if w.check != nil {
		w.shuffled(s, w.mask, def)
	}
}

// uniform reports whether all lanes have one value.
func uniform(v []uint32) bool {
	diff := uint32(0)
	for _, x := range v {
		diff |= x ^ v[0]
	}
	return diff == 0
}

// butterfly executes shfl.bfly of a whole warp, which is one segment and exchanges
// lanes at one distance, all of them defined; it reports whether it is that.
func (w *warp) butterfly(s *step) bool {
	b, c := w.u32(s.b), w.u32(s.rs[1])
	lanes := uint32(w.n - 1)
	if c[0]>>8&lanes != 0 || c[0]&lanes != lanes || !uniform(b) || !uniform(c) {
		return false
	}
	if w.check != nil {
		if w.full&^w.check.regs[s.pa].def != 0 {
			return false
		}
		w.check.regs[s.pd].set(w.full, w.full)
	}
	src, d := w.t32, w.u32(s.d)
	copy(src, w.u32(s.a))
	by := int(b[0] & lanes)
	for l := range d {
		d[l] = src[l^by]
	}
	if len(s.ds) > 0 && s.ds[0] >= 0 {
		w.setP(s.ds[0], w.full)
		w.defined(s.in.Dsts[0], w.full)
	}
	return true
}

func execVote(w *warp, s *step) {
	p := w.p[s.a]
	if s.in.Flags&FlagPredNot != 0 {
		p = ^p
	}
	p &= w.mask
	switch s.imm {
	case VoteAll:
		w.setP(s.d, allIf(p == w.mask))
	case VoteAny:
		w.setP(s.d, allIf(p != 0))
	case VoteUni:
		w.setP(s.d, allIf(p == 0 || p == w.mask))
	default:
		if s.in.D.Class() == Class64 {
			w.each64(s.d, p)
		} else {
			w.each32(s.d, uint32(p))
		}
	}
}

// each32 writes a value to all active lanes.
func (w *warp) each32(off int32, v uint32) {
	d := w.u32(off)
	for m := w.mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros64(m)] = v
	}
}

func (w *warp) each64(off int32, v uint64) {
	d := w.u64(off)
	for m := w.mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros64(m)] = v
	}
}

// Match modes of OpMatch.
const (
	MatchAny = iota
	MatchAll
)

// execMatch executes match.sync on 32- and 64-bit values.
func execMatch(w *warp, s *step) {
	v := w.words
	if s.in.A.Class() == Class64 {
		copy(v, w.u64(s.a))
	} else {
		for i, x := range w.u32(s.a) {
			v[i] = uint64(x)
		}
	}
	d := w.u32(s.d)
	all := true
	first := v[bits.TrailingZeros64(w.mask)]
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		all = all && v[l] == first
		var same uint64
		for k := w.mask; k != 0; k &= k - 1 {
			j := bits.TrailingZeros64(k)
			if v[j] == v[l] {
				same |= 1 << j
			}
		}
		d[l] = uint32(same)
	}
	if s.imm == MatchAny {
		return
	}
	r := uint32(0)
	if all {
		r = uint32(w.mask)
	}
	w.each32(s.d, r)
	if len(s.ds) > 0 && s.ds[0] >= 0 {
		w.setP(s.ds[0], allIf(all))
	}
}

// chooseRedux executes redux.sync.
func chooseRedux(in *Inst) (execFunc, Class) {
	var f func(a, b uint32) uint32
	switch in.Type {
	case F32:
		f = minMax32(in.Atomic == AtomMax, in.Flags)
	default:
		f = atomic32(in.Atomic, in.Type)
	}
	if f == nil {
		return nil, ClassNone
	}
	return func(w *warp, s *step) {
		a := w.u32(s.a)
		first := bits.TrailingZeros64(w.mask)
		r := a[first]
		for m := w.mask &^ (1 << first); m != 0; m &= m - 1 {
			r = f(r, a[bits.TrailingZeros64(m)])
		}
		w.each32(s.d, r)
	}, ClassNone
}

// execElect chooses the lowest lane.
func execElect(w *warp, s *step) {
	l := bits.TrailingZeros64(w.mask)
	w.each32(s.d, uint32(l))
	w.setP(s.ds[0], 1<<l)
}

func execActive(w *warp, s *step) {
	d := w.d32(s)
	for i := range d {
		d[i] = uint32(w.mask)
	}
}

func execTrap(w *warp, s *step) {
	w.faultAt(FindTrap, bits.TrailingZeros64(w.mask), 0, "the kernel executed trap")
}
