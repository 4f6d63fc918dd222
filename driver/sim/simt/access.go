package simt

import (
	"encoding/binary"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// view is memory that some lanes of an instruction access: lane l at
// data[offs[l]:].
type view struct {
	space Space
	data  []byte
	buf   *Buffer // of global memory
	base  uint64  // generic address of data[0], for reports
	mask  uint64
	// dense says that all lanes access one run of memory, one after the other.
	dense bool
	// cta is the other block of the cluster whose shared memory it is, or nil.
	cta *cta
}

// access translates the addresses of the active lanes, register areg of class
// class plus imm, checks that size bytes there exist and are aligned to align,
// and calls f for every piece of memory they lie in: mostly once. The offsets
// are in w.offs.
func (w *warp) access(s *step, class Class, areg int32, imm int64, space Space, size, align int, f func(v *view)) {
	addr := w.words
	if class == Class64 {
		a := w.u64(areg)
		for i := range a {
			addr[i] = a[i] + uint64(imm)
		}
	} else {
		a := w.u32(areg)
		for i := range a {
			addr[i] = uint64(a[i] + uint32(imm))
		}
	}
	if space == SpaceGeneric {
		w.accessGeneric(s, size, align, f)
		return
	}
	if space == SpaceGlobal {
		w.accessGlobal(s, w.mask, size, align, f)
		return
	}
	if s.in.Flags&FlagCluster != 0 {
		w.accessCluster(s, w.mask, 0, size, align, f)
		return
	}
	w.accessFlat(s, space, w.mask, 0, size, align, f)
}

// accessGeneric sorts lanes by the window their addresses lie in.
func (w *warp) accessGeneric(s *step, size, align int, f func(v *view)) {
	var shared, local, param, konst uint64
	global := w.mask
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		switch w.words[l] >> windowShift {
		case windowShared:
			shared |= 1 << l
		case windowLocal:
			local |= 1 << l
		case windowParam:
			param |= 1 << l
		case windowConst:
			konst |= 1 << l
		}
	}
	global &^= shared | local | param | konst
	if global != 0 {
		w.accessGlobal(s, global, size, align, f)
	}
	for _, p := range [...]struct {
		mask  uint64
		space Space
	}{{shared, SpaceShared}, {local, SpaceLocal}, {param, SpaceParam}, {konst, SpaceConst}} {
		if p.mask == 0 || w.cta.fault != nil {
			continue
		}
		if p.space == SpaceShared && w.cta.run.clusterSize > 1 {
			w.accessCluster(s, p.mask, windowShared<<windowShift, size, align, f)
		} else {
			w.accessFlat(s, p.space, p.mask, windowOf(p.space)<<windowShift, size, align, f)
		}
	}
}

func (w *warp) accessGlobal(s *step, mask uint64, size, align int, f func(v *view)) {
	mem := w.cta.run.mem
	for mask != 0 {
		first := bits.TrailingZeros64(mask)
		buf := mem.at(w.words[first])
		if buf == nil || buf.freed {
			w.outOfBounds(s, first, SpaceGlobal, size)
			return
		}
		base := buf.addr
		limit := uint64(len(buf.Data))
		if mask == w.full {
			if ok, dense := w.offsets(base, limit, size, align); ok {
				w.view = view{SpaceGlobal, buf.Data, buf, base, mask, dense, nil}
				f(&w.view)
				return
			}
		}
		var sub uint64
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			off := w.words[l] - base
			if off>>windowShift != 0 {
				continue
			}
			if off+uint64(size) > limit {
				w.outOfBounds(s, l, SpaceGlobal, size)
				return
			}
			if off&uint64(align-1) != 0 {
				w.misaligned(s, l, SpaceGlobal, align)
				return
			}
			w.offs[l] = int(off)
			sub |= 1 << l
		}
		w.view = view{SpaceGlobal, buf.Data, buf, base, sub, false, nil}
		f(&w.view)
		if w.cta.fault != nil {
			return
		}
		mask &^= sub
	}
}

// accessFlat is for the spaces whose addresses are offsets; base is the generic
// address of their beginning where the addresses are generic.
func (w *warp) accessFlat(s *step, space Space, mask uint64, base uint64, size, align int, f func(v *view)) {
	var data []byte
	frame, limit := 0, 0
	switch space {
	case SpaceShared:
		data = w.cta.shared
		limit = len(data)
	case SpaceLocal:
		data = w.local
		frame = w.cta.prog.LocalBytes
		limit = frame
	case SpaceFrame:
		data = w.frame
		frame = w.cta.prog.FrameBytes
		limit = frame
	case SpaceParam:
		data = w.cta.run.params
		limit = len(data)
	case SpaceConst:
		data = w.cta.run.consts
		limit = len(data)
	}
	if frame == 0 && mask == w.full {
		if ok, dense := w.offsets(base, uint64(limit), size, align); ok {
			w.view = view{space, data, nil, base, mask, dense, nil}
			f(&w.view)
			return
		}
	}
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		off := w.words[l] - base
		if off+uint64(size) > uint64(limit) || off > uint64(limit) {
			w.outOfBounds(s, l, space, size)
			return
		}
		if off&uint64(align-1) != 0 {
			w.misaligned(s, l, space, align)
			return
		}
		w.offs[l] = int(off) + l*frame
	}
	w.view = view{space, data, nil, base, mask, false, nil}
	f(&w.view)
}

// offsets converts the addresses of all lanes to offsets from base. It reports
// whether size bytes at each lie below limit and are aligned, and whether they
// follow one another.
func (w *warp) offsets(base, limit uint64, size, align int) (ok, dense bool) {
	if limit < uint64(size) {
		return false, false
	}
	last := limit - uint64(size)
	words, offs := w.words, w.offs[:len(w.words)]
	next := words[0] - base
	var bad, low, gap uint64
	for l, a := range words {
		off := a - base
		bad |= off | (last - off) // either is negative where off is beyond last
		low |= off
		gap |= off ^ next
		next = off + uint64(size)
		offs[l] = int(off)
	}
	return bad>>63 == 0 && low&uint64(align-1) == 0, gap == 0
}

func (w *warp) outOfBounds(s *step, lane int, space Space, size int) {
	addr := w.words[lane]
	verb := "reads"
	switch s.in.Op {
	case OpSt, OpStMatrix, OpCopyMap:
		verb = "writes"
	case OpAtom, OpRed:
		verb = "updates"
	case OpWavefront:
		verb = [...]string{accessRead: "reads", accessWrite: "writes", accessAtomic: "updates"}[w.wavefront.kind]
	}
	switch space {
	case SpaceGlobal:
		w.faultAt(FindBounds, lane, addr, "%s %s of global memory at 0x%x: %s", verb, diag.Count(size, "byte"), addr, w.cta.run.mem.describe(addr))
	case SpaceShared:
		w.faultAt(FindBounds, lane, addr, "%s %s of shared memory at 0x%x: the block has %s", verb, diag.Count(size, "byte"), addr, diag.Count(len(w.cta.shared), "byte"))
	default:
		w.faultAt(FindBounds, lane, addr, "%s %s of %s memory at 0x%x, which lie outside it", verb, diag.Count(size, "byte"), space, addr)
	}
}

func (w *warp) misaligned(s *step, lane int, space Space, align int) {
	w.faultAt(FindAlign, lane, w.words[lane], "%s address 0x%x is not a multiple of %d, which %s needs", space, w.words[lane], align, s.in.Text)
}

// execLd loads len(Regs) elements of Type for every active lane.
func execLd(w *warp, s *step) {
	in := s.in
	if in.Flags&FlagVolatile != 0 {
		w.cta.poll()
	}
	eb := in.Type.Bits() / 8
	n := len(s.rs)
	w.access(s, in.A.Class(), s.a, s.imm, in.Space, eb*n, eb*n, func(v *view) {
		w.countAccess(v, eb*n, accessRead)
		w.checkRead(s, v, eb*n)
		for k, r := range s.rs {
			if r < 0 {
				continue
			}
			w.loadElem(in.Type, in.Regs[k].Class(), r, v, k*eb, in.Size)
		}
	})
}

// loadElem reads one element of every lane of v at byte at of its access; regBits
// is the width a narrow signed value is extended to.
func (w *warp) loadElem(t Type, class Class, reg int32, v *view, at, regBits int) {
	offs, data := w.offs, v.data
	if class == Class64 {
		d := w.u64(reg)
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			d[l] = readInt(t, loadBytes(data[offs[l]+at:], t.Bits()))
		}
		return
	}
	d := w.u32(reg)
	if t.Bits() == 32 {
		if v.mask == w.full {
			offs = offs[:len(d)]
			for l := range d {
				d[l] = binary.LittleEndian.Uint32(data[offs[l]+at:])
			}
			return
		}
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			d[l] = binary.LittleEndian.Uint32(data[offs[l]+at:])
		}
		return
	}
	cut := uint32(0xffffffff)
	if regBits == 16 {
		cut = 0xffff
	}
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		d[l] = uint32(readInt(t, loadBytes(data[offs[l]+at:], t.Bits()))) & cut
	}
}

func loadBytes(b []byte, n int) uint64 {
	switch n {
	case 8:
		return uint64(b[0])
	case 16:
		return uint64(binary.LittleEndian.Uint16(b))
	case 32:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func storeBytes(b []byte, n int, v uint64) {
	switch n {
	case 8:
		b[0] = byte(v)
	case 16:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 32:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// execSt stores len(Regs) elements of Type for every active lane, in the order
// of the lanes.
func execSt(w *warp, s *step) {
	in := s.in
	eb := in.Type.Bits() / 8
	n := len(s.rs)
	w.access(s, in.A.Class(), s.a, s.imm, in.Space, eb*n, eb*n, func(v *view) {
		w.countAccess(v, eb*n, accessWrite)
		w.checkWrite(s, v, eb*n)
		for k, r := range s.rs {
			w.storeElem(in.Type, in.Regs[k].Class(), r, v, k*eb)
		}
		w.settleWrite(false)
		if v.buf != nil && v.buf.known != nil {
			v.buf.markAll(w, v, eb*n)
		}
	})
}

func (w *warp) storeElem(t Type, class Class, reg int32, v *view, at int) {
	offs, data := w.offs, v.data
	if class == Class64 {
		d := w.u64(reg)
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			storeBytes(data[offs[l]+at:], t.Bits(), d[l])
		}
		return
	}
	d := w.u32(reg)
	if t.Bits() == 32 {
		if v.mask == w.full {
			offs = offs[:len(d)]
			for l, x := range d {
				binary.LittleEndian.PutUint32(data[offs[l]+at:], x)
			}
			return
		}
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			binary.LittleEndian.PutUint32(data[offs[l]+at:], d[l])
		}
		return
	}
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		storeBytes(data[offs[l]+at:], t.Bits(), uint64(d[l]))
	}
}

// execCvta converts an address of Space to a generic one, or back (FlagNot).
func execCvta(w *warp, s *step) {
	base := windowOf(s.in.Space) << windowShift
	if s.in.Flags&FlagNot != 0 {
		base = -base
	}
	src := w.words
	if s.in.A.Class() == Class64 {
		copy(src, w.u64(s.a))
	} else {
		for i, v := range w.u32(s.a) {
			src[i] = uint64(v)
		}
	}
	if s.out == Class64 {
		d := w.d64(s)
		for i := range d {
			d[i] = src[i] + base
		}
		return
	}
	d := w.d32(s)
	for i := range d {
		d[i] = uint32(src[i] + base)
	}
}

func execIsSpace(w *warp, s *step) {
	a := w.u64(s.a)
	var v uint64
	for i := range a {
		win := a[i] >> windowShift
		yes := win == windowOf(s.in.Space)
		if s.in.Space == SpaceGlobal {
			yes = win >= windowFirst
		}
		v |= bit(yes) << i
	}
	w.setP(s.d, v)
}
