package simt

import (
	"encoding/binary"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// Kinds of OpMbarrier's Imm. The object is eight bytes of shared memory at
// A + Imm2; B is the count, the bytes, the parity or the state.
const (
	MbarInit = iota
	MbarInval
	MbarArrive       // D = state; B = count
	MbarArriveExpect // D = state; B = bytes that will come
	MbarExpect       // B = bytes
	MbarComplete     // B = bytes that came
	MbarTestParity   // D (P) = the phase of parity B is over
	MbarTestState    // D (P) = the phase of state B is over
)

// mbar is the content of the object: how many arrivals a phase takes, how many
// are missing, the bytes that are still to come, and the phase's parity.
type mbar struct {
	count, missing int
	bytes          int
	phase          uint64
}

const (
	mbarCountBits = 20
	mbarByteBits  = 22
)

func readMbar(b []byte) mbar {
	v := binary.LittleEndian.Uint64(b)
	return mbar{
		count:   int(v & (1<<mbarCountBits - 1)),
		missing: int(v >> mbarCountBits & (1<<mbarCountBits - 1)),
		bytes:   int(int64(v<<1) >> (64 - mbarByteBits)),
		phase:   v >> 63,
	}
}

func (m *mbar) write(b []byte) {
	binary.LittleEndian.PutUint64(b, uint64(m.count)|uint64(m.missing)<<mbarCountBits|
		uint64(m.bytes)<<(63-mbarByteBits)&(1<<63-1)|m.phase<<63)
}

// mbarClock carries what the arriving warps know to those that wait, and the
// bytes of shared memory that bulk copies own until someone has waited.
type mbarClock struct {
	gather, opened []uint32
	owned          []byteRange
	maps           []*mapUse // of copies whose bytes it counts
	// maker made the object, at its time made.
	maker int
	made  uint32
}

// byteRange is a part of shared memory.
type byteRange struct{ at, size int }

// execMbarrier executes the mbarrier instructions, lane after lane.
func execMbarrier(w *warp, s *step) {
	in := s.in
	w.access(s, in.A.Class(), s.a, in.Imm2, SpaceShared, 8, 8, func(v *view) {
		var done, parity uint64
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			at := w.offs[l]
			b := v.data[at : at+8]
			var arg uint64
			if s.b >= 0 {
				if in.B.Class() == Class64 {
					arg = w.r64[int(s.b)+l]
				} else {
					arg = uint64(w.r32[int(s.b)+l])
				}
			}
			o := readMbar(b)
			state := o.phase
			switch in.Imm {
			case MbarInit:
				if arg == 0 || arg >= 1<<mbarCountBits {
					w.faultAt(FindBarrier, l, uint64(at), "an mbarrier cannot expect %s", diag.Count(arg, "arrival"))
					return
				}
				o = mbar{count: int(arg), missing: int(arg)}
				w.cta.forgetMbar(at)
				w.cta.changes++
				if c := w.cta.sharedChk; c != nil {
					k := w.cta.mbarClock(at)
					k.maker, k.made = w.id, c.clock[w.id][w.id]
				}
			case MbarInval:
				w.cta.forgetMbar(at)
				continue
			case MbarArrive:
				w.mbarArrive(l, at, &o, int(arg), 0)
			case MbarArriveExpect:
				w.mbarArrive(l, at, &o, 1, int(arg))
			case MbarExpect:
				o.bytes += int(arg)
				w.cta.changes++
			case MbarComplete:
				w.mbarArrive(l, at, &o, 0, -int(arg))
			case MbarTestParity, MbarTestState:
				done |= bit(o.phase != arg&1) << l
				parity = arg & 1
				w.asked(at, o.phase != arg&1)
			}
			if w.cta.fault != nil {
				return
			}
			if in.Imm < MbarTestParity {
				o.write(b)
				w.knownShared(at, 8)
			}
			if in.Imm == MbarArrive || in.Imm == MbarArriveExpect {
				w.r64[int(s.d)+l] = state
			}
			if done>>l&1 != 0 && w.cta.sharedChk != nil {
				k := w.cta.mbarClock(at)
				w.cta.sharedChk.learn(w.id, k.opened)
				w.cta.sharedChk.own(k.owned, false)
				k.owned = k.owned[:0]
				w.endUses(k, arg&1)
			}
		}
		if in.Imm >= MbarTestParity {
			w.setP(s.d, done)
			if left := v.mask &^ done; left != 0 {
				w.cta.poll()
				l := bits.TrailingZeros64(left)
				w.spin = spin{fails: w.spin.fails + 1, at: w.offs[l], parity: parity, pc: w.pc, isMbar: true}
			}
		}
	})
}

// mbarArrive counts n arrivals, and bytes more to come (or, negative, that came);
// with the last of both the phase ends.
func (w *warp) mbarArrive(lane, at int, o *mbar, n, bytes int) {
	if o.missing < n || o.count == 0 {
		w.faultAt(FindBarrier, lane, uint64(at), "more than %s at the mbarrier at 0x%x in one phase, or it is not initialised", diag.Count(o.count, "arrival"), at)
		return
	}
	o.missing -= n
	o.bytes += bytes
	w.cta.changes++
	w.arrivedAt(at, bytes < 0, o.missing == 0 && o.bytes == 0)
	if o.bytes >= 1<<(mbarByteBits-2) || o.bytes < -1<<(mbarByteBits-2) {
		w.faultAt(FindBarrier, lane, uint64(at), "the mbarrier at 0x%x has %s to come", at, diag.Count(o.bytes, "byte"))
		return
	}
	c := w.cta
	if c.sharedChk != nil {
		k := c.mbarClock(at)
		c.sharedChk.join(k.gather, w.id)
	}
	if o.missing > 0 || o.bytes != 0 {
		return
	}
	o.missing = o.count
	o.phase ^= 1
	if c.sharedChk != nil {
		k := c.mbarClock(at)
		copy(k.opened, k.gather)
	}
	w.moved = true
}

// mbarClock returns the clocks of the mbarrier at an address.
func (c *cta) mbarClock(at int) *mbarClock {
	k := c.mbars[at]
	if k == nil {
		n := 2 * len(c.warps)
		k = &mbarClock{gather: make([]uint32, n), opened: make([]uint32, n)}
		if c.mbars == nil {
			c.mbars = map[int]*mbarClock{}
		}
		c.mbars[at] = k
	}
	return k
}

func (c *cta) forgetMbar(at int) { delete(c.mbars, at) }

// knownShared marks shared memory as written without taking part in races.
func (w *warp) knownShared(at, size int) {
	if c := w.cta.sharedChk; c != nil {
		for i := at &^ 3; i < at+size; i += 4 {
			c.words[i>>2].known |= byteMask(i, at, size)
		}
	}
}

// own marks bytes as an async copy's, or free again.
func (c *sharedCheck) own(ranges []byteRange, owned bool) {
	for _, r := range ranges {
		for i := r.at &^ 3; i < r.at+r.size; i += 4 {
			if m := byteMask(i, r.at, r.size); owned {
				c.words[i>>2].owned |= m
			} else {
				c.words[i>>2].owned &^= m
			}
		}
	}
}

// join adds what warp w knows to clocks, and starts a new time for it.
func (c *sharedCheck) join(clocks []uint32, w int) {
	for v, k := range c.clock[w] {
		clocks[v] = max(clocks[v], k)
	}
	c.clock[w][w]++
}

// learn teaches warp w clocks.
func (c *sharedCheck) learn(w int, clocks []uint32) {
	for v, k := range clocks {
		c.clock[w][v] = max(c.clock[w][v], k)
	}
}
