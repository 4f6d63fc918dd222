package simt

import "math/bits"

// WavefrontAccess is an access to memory by lanes of a wavefront.
type WavefrontAccess struct {
	Space Space
	// Size in bytes of what each lane accesses, up to 16, and how it must be aligned.
	Size, Align int
	// Mask are the lanes, Addr their addresses: generic ones, or offsets in Space.
	Mask uint64
	Addr *[MaxLanes]uint64
}

// begin sets the warp up for an access.
func (v *Wavefront) begin(a *WavefrontAccess, kind accessKind) *step {
	w := v.w
	v.kind = kind
	copy(w.words, a.Addr[:w.n])
	w.mask = a.Mask
	return &w.cta.code[w.pc]
}

// reach calls f for each piece of memory that the lanes access.
func (w *warp) reach(s *step, a *WavefrontAccess, f func(v *view)) {
	switch a.Space {
	case SpaceGeneric:
		w.accessGeneric(s, a.Size, a.Align, f)
	case SpaceGlobal:
		w.accessGlobal(s, a.Mask, a.Size, a.Align, f)
	default:
		w.accessFlat(s, a.Space, a.Mask, 0, a.Size, a.Align, f)
	}
}

// Load calls f with what each lane reads, and with the bytes of it that are undefined.
func (v *Wavefront) Load(a *WavefrontAccess, f func(lane int, p []byte, undef uint64)) {
	w := v.w
	s := v.begin(a, accessRead)
	w.reach(s, a, func(m *view) {
		w.countAccess(m, a.Size, accessRead)
		bad := uint64(0)
		if m.space == SpaceShared && w.cta.sharedChk != nil {
			bad = w.sharedRead(m, a.Size)
		} else {
			w.checkRead(s, m, a.Size)
		}
		for k := m.mask; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			undef := uint64(0)
			if bad>>l&1 != 0 && v.VU != nil {
				undef = w.cta.sharedChk.unknownBytes(w.offs[l], a.Size)
			}
			f(l, m.data[w.offs[l]:w.offs[l]+a.Size], undef)
		}
	})
}

// unknownBytes is which of n bytes at an address nobody wrote.
func (c *sharedCheck) unknownBytes(at, n int) (u uint64) {
	for i := range n {
		if c.unknownBits(at+i, 1) != 0 {
			u |= 1 << i
		}
	}
	return u
}

// Store has each lane write what f puts into p. f returns which bytes of it are
// undefined; of bytes that go to global memory this is reported.
func (v *Wavefront) Store(a *WavefrontAccess, f func(lane int, p []byte) (undef uint64)) {
	w := v.w
	s := v.begin(a, accessWrite)
	var bytes [MaxLanes][16]byte
	known := a.Mask
	for k := a.Mask; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		undef := f(l, bytes[l][:a.Size])
		v.stored[l] = ^undef
		if undef != 0 {
			known &^= 1 << l
		}
	}
	w.reach(s, a, func(m *view) {
		w.countAccess(m, a.Size, accessWrite)
		if m.space == SpaceShared && w.cta.sharedChk != nil {
			w.sharedWrite(m, a.Size, known, s)
		} else {
			if lost := m.mask &^ known; lost != 0 && m.space == SpaceGlobal {
				w.note(FindUndefined, bits.TrailingZeros64(lost), 0, "the value stored is not defined in lanes 0x%x", lost)
			}
			w.checkWrite(s, m, a.Size)
		}
		for k := m.mask; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			copy(m.data[w.offs[l]:], bytes[l][:a.Size])
		}
		w.settleWrite(false)
		if m.buf != nil && m.buf == w.cta.run.prints {
			v.printed = w.offs[bits.TrailingZeros64(m.mask)]
		}
		if m.buf != nil && m.buf.known != nil {
			m.buf.markAll(w, m, a.Size)
		}
	})
}

// CopyToShared has each lane write what f puts into p to shared memory, in whole words, at
// any time until the wavefront has waited for the operation that it issues next: until
// then nobody may read or write these words.
func (v *Wavefront) CopyToShared(a *WavefrontAccess, f func(lane int, p []byte)) {
	w := v.w
	s := v.begin(a, accessWrite)
	w.reach(s, a, func(m *view) {
		w.countAccess(m, a.Size, accessCopy)
		w.checkAsyncWrite(m, a.Size)
		for k := m.mask; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			at := w.offs[l]
			f(l, m.data[at:at+a.Size])
			if w.cta.sharedChk != nil {
				v.landing = append(v.landing, byteRange{at, a.Size})
			}
		}
	})
}

// Atomic has each lane, one after the other, update what it accesses in place.
func (v *Wavefront) Atomic(a *WavefrontAccess, f func(lane int, p []byte)) {
	w := v.w
	s := v.begin(a, accessAtomic)
	w.cta.poll()
	w.reach(s, a, func(m *view) {
		w.countAtomic(s, m, a.Size)
		w.checkAtomic(s, m, a.Size)
		one := func(l int) { f(l, m.data[w.offs[l]:w.offs[l]+a.Size]) }
		if w.synchronizes(s, m, a.Size) {
			w.synchronize(s, m, a.Size, one)
			return
		}
		for k := m.mask; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			one(l)
			if m.buf != nil {
				m.buf.wrote(w.offs[l], a.Size)
			}
		}
	})
}

// Stopped reports whether the block has a fault, so that an instruction need not go on.
func (v *Wavefront) Stopped() bool { return v.w.cta.fault != nil }
