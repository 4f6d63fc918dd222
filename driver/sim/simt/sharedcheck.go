package simt

import "math/bits"

// sharedCheck finds data races in shared memory by vector clocks: a warp's own
// clock counts the barriers it passed, and at a barrier it learns the clocks of
// the warps that arrived there. Two accesses of different warps to one byte, one
// of them a write, race unless the later warp knows the earlier one's clock.
//
// Accesses of one warp are in the order of its program. A write that leaves every
// byte as it was races with nobody: compilers let several warps store one value
// to one place where a layout holds it several times.
type sharedCheck struct {
	warps int
	// clock[w][v] is what warp w knows of warp v's clock; clock[w][w] is its own.
	// clock[w][warps+v] is the clock of warp v until which, as w knows, its writes
	// are before a fence that bulk copies respect.
	clock [][]uint32
	// gather[id] is the join of the clocks that arrived at barrier id, opened[id]
	// what those that leave it learn.
	gather, opened [numBarriers][]uint32
	words          []sharedWord
	reads          []uint32 // [word][warp] clock of the latest read << 4 | its bytes
	// pending are the races of the store in hand, until it is known whether it
	// changes what is there.
	pending []pendingRace
	// dots has, by word and warp, the last group of dots of a warpgroup that reads the
	// word; nil until there is one.
	dots []uint32
	// written are the bytes of the bulk copy in hand.
	written []byteRange
	// remote is what other blocks of the cluster do; nil where there are none.
	remote *remoteCheck
}

// pendingRace is a race that counts if the bytes of mask at word k change.
type pendingRace struct {
	lane, k int
	mask    uint8
	old     [4]byte
	warp    int
	reads   bool // the other access is a read
}

// sharedWord is the state of four bytes.
type sharedWord struct {
	clock uint32 // of the latest write, zero for none
	warp  uint16
	lane  uint8
	bytes uint8 // that it wrote
	read  uint8 // bytes read since
	known uint8 // bytes ever written
	owned uint8 // bytes an async copy will write
	// engine says what bulk copies do to the word.
	engine uint8
}

const (
	engineWritten = 1 << iota // the latest write was one's
	engineReading             // one may not have read it yet
	engineDot                 // dots of warpgroups read it, see sharedCheck.dots
	copied                    // the latest write was a cp.async's
	engineRemote              // another block of the cluster accesses it, see remoteCheck
)

// allBytes are the bytes of a word.
const allBytes = 0xf

func newSharedCheck(size, warps int) *sharedCheck {
	n := (size + 3) / 4
	c := &sharedCheck{
		warps: warps, words: make([]sharedWord, n), reads: make([]uint32, n*warps),
	}
	for range warps {
		c.clock = append(c.clock, make([]uint32, 2*warps))
	}
	for i := range c.gather {
		c.gather[i] = make([]uint32, 2*warps)
		c.opened[i] = make([]uint32, 2*warps)
	}
	return c
}

func (c *sharedCheck) reset() {
	clear(c.words)
	clear(c.reads)
	clear(c.dots)
	if c.remote != nil {
		c.remote.reset()
	}
	for w := range c.clock {
		clear(c.clock[w])
		c.clock[w][w] = 1
	}
	for i := range c.gather {
		clear(c.gather[i])
	}
}

// arrive adds what warp w knows to barrier id.
func (c *sharedCheck) arrive(w, id int) {
	for v, k := range c.clock[w] {
		c.gather[id][v] = max(c.gather[id][v], k)
	}
	c.clock[w][w]++
}

func (c *sharedCheck) open(id int) {
	c.gather[id], c.opened[id] = c.opened[id], c.gather[id]
	clear(c.gather[id])
}

// leave teaches warp w what the barrier gathered.
func (c *sharedCheck) leave(w, id int) {
	for v, k := range c.opened[id] {
		c.clock[w][v] = max(c.clock[w][v], k)
	}
}

// landed marks bytes that an async copy wrote for warp w.
func (c *sharedCheck) landed(w, at, size int) {
	now := sharedWord{clock: c.clock[w][w], warp: uint16(w), bytes: allBytes, known: allBytes, engine: copied}
	words := c.words[at>>2:][:(size+3)>>2] // their destinations are aligned to words
	for i := range words {
		words[i] = now
	}
}

// byteMask is the set of bytes of the word at i that [at, at+size) covers.
func byteMask(i, at, size int) uint8 {
	base := i &^ 3
	lo := max(at-base, 0)
	hi := min(at+size-base, 4)
	return uint8(1<<hi - 1<<lo)
}

// sharedRead checks a read of every lane of v; it returns the lanes that read
// bytes never written.
func (w *warp) sharedRead(v *view, size int) (unknown uint64) {
	c := w.cta.sharedChk
	me := c.clock[w.id]
	stamp := me[w.id] << 4
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		at := w.offs[l]
		if at&3 != 0 || size&3 != 0 {
			for i := at &^ 3; i < at+size; i += 4 {
				if c.readWord(w, i>>2, byteMask(i, at, size), l, at, me) {
					unknown |= 1 << l
				}
			}
			continue
		}
		words := c.words[at>>2:][:size>>2]
		reads := c.reads[at>>2*c.warps+w.id:]
		for i := range words {
			word := &words[i]
			if word.known == allBytes && word.owned == 0 && word.engine&engineRemote == 0 && word.clock <= me[word.warp] {
				word.read = allBytes
				reads[i*c.warps] = stamp | allBytes
			} else if c.readWord(w, at>>2+i, allBytes, l, at, me) {
				unknown |= 1 << l
			}
		}
	}
	return unknown
}

// readWord checks a read of bytes b of word k; it reports whether some of them
// were never written.
func (c *sharedCheck) readWord(w *warp, k int, b uint8, lane, at int, me []uint32) (unknown bool) {
	word := &c.words[k]
	if word.engine&engineRemote != 0 {
		c.touchedByOthers(w, k, lane, false)
	}
	if word.bytes&b != 0 && me[word.warp] < word.clock {
		w.note(FindRace, lane, uint64(4*k), "reads shared memory at 0x%x while warp %d lane %d writes it: no barrier lies between",
			at, word.warp, word.lane)
	}
	if word.owned&b != 0 {
		w.note(FindAsync, lane, uint64(4*k), "reads shared memory at 0x%x, which an async copy that was not waited for still owns", at)
	} else {
		unknown = b&^word.known != 0
	}
	word.read |= b
	r := &c.reads[k*c.warps+w.id]
	if *r>>4 != me[w.id] {
		*r = me[w.id] << 4 // older reads are ordered wherever this one is
	}
	*r |= uint32(b)
	return unknown
}

// unknownBits are the bits of n bytes at an address, eight a byte, that nobody wrote.
func (c *sharedCheck) unknownBits(at, n int) (u uint64) {
	for i := range n {
		if word := &c.words[(at+i)>>2]; (word.known|word.owned)>>((at+i)&3)&1 == 0 {
			u |= 0xff << (8 * i)
		}
	}
	return u
}

// sharedWrite checks a write of every lane of v; known are the lanes that write
// defined values. Of the others s tells, or they write nothing defined. Races stay
// pending for settleWrite.
func (w *warp) sharedWrite(v *view, size int, known uint64, s *step) {
	c := w.cta.sharedChk
	me := c.clock[w.id]
	for m := v.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		at := w.offs[l]
		def := uint64(0)
		switch {
		case known>>l&1 != 0:
			def = allBits
		case s != nil:
			def = w.storedBytes(s, l) << (at & 3)
		}
		for i := at &^ 3; i < at+size; i += 4 {
			b := uint8(allBytes)
			if at&3 != 0 || size&3 != 0 {
				b = byteMask(i, at, size)
			}
			c.writeWord(w, i>>2, b, l, me, uint8(def&allBytes))
			if known>>l&1 == 0 {
				def >>= 4
			}
		}
	}
}

// writeWord checks a write of bytes b of word k, of which those of def get a
// defined value.
func (c *sharedCheck) writeWord(w *warp, k int, b uint8, lane int, me []uint32, def uint8) {
	word := &c.words[k]
	if word.clock > me[word.warp] && word.bytes&b != 0 {
		c.suspect(w, k, b, lane, int(word.warp), false)
	}
	if word.read&b != 0 {
		row := c.reads[k*c.warps:][:c.warps]
		for v, read := range row {
			if read>>4 > me[v] && read&uint32(b) != 0 {
				c.suspect(w, k, b, lane, v, true)
				break
			}
		}
		for v := range row {
			row[v] &^= uint32(b)
		}
	}
	if word.owned&b != 0 {
		w.note(FindAsync, lane, uint64(4*k), "writes shared memory at 0x%x, which an async copy that was not waited for still owns", 4*k)
	}
	if word.engine&engineRemote != 0 {
		c.touchedByOthers(w, k, lane, true)
	}
	if word.engine&engineDot != 0 {
		c.dotsRead(w, k, b, lane, me)
	}
	if word.engine&engineReading != 0 {
		w.note(FindAsync, lane, uint64(4*k), "writes shared memory at 0x%x, which a bulk copy that was not waited for still reads", 4*k)
	}
	wrote := b
	if word.clock == me[w.id] && int(word.warp) == w.id {
		wrote |= word.bytes
	}
	*word = sharedWord{
		clock: me[w.id], warp: uint16(w.id), lane: uint8(lane), bytes: wrote,
		read: word.read &^ b, known: word.known&^b | def&b, owned: word.owned,
		engine: word.engine & (engineReading | engineRemote),
	}
}

func (c *sharedCheck) suspect(w *warp, k int, b uint8, lane, warp int, reads bool) {
	p := pendingRace{lane: lane, k: k, mask: b, warp: warp, reads: reads}
	copy(p.old[:], w.cta.shared[4*k:])
	c.pending = append(c.pending, p)
}

// settleWrite reports the pending races of a store that changed memory; always
// says that any store to shared memory counts.
func (w *warp) settleWrite(always bool) {
	if g := w.cta.cluster.global; g != nil {
		g.settle(w)
	}
	c := w.cta.sharedChk
	if c == nil || len(c.pending) == 0 {
		return
	}
	for i := range c.pending {
		p := &c.pending[i]
		changed := always
		for b := range 4 {
			if p.mask>>b&1 != 0 && w.cta.shared[4*p.k+b] != p.old[b] {
				changed = true
			}
		}
		if !changed {
			continue
		}
		verb := "writes"
		if p.reads {
			verb = "reads"
		}
		w.note(FindRace, p.lane, uint64(4*p.k), "writes shared memory at 0x%x while warp %d %s it: no barrier lies between", 4*p.k, p.warp, verb)
	}
	c.pending = c.pending[:0]
}

// checkAsyncWrite marks the destination of async copies as theirs.
func (w *warp) checkAsyncWrite(v *view, size int) {
	c := w.cta.sharedChk
	if c == nil {
		return
	}
	w.sharedWrite(v, size, 0, nil)
	w.settleWrite(true)
	for m := v.mask; m != 0; m &= m - 1 {
		at := w.offs[bits.TrailingZeros64(m)]
		for i := at &^ 3; i < at+size; i += 4 {
			c.words[i>>2].owned |= byteMask(i, at, size)
		}
	}
}

// checkRead looks at a read before it happens.
func (w *warp) checkRead(s *step, v *view, size int) {
	switch {
	case v.cta != nil:
		w.remoteAccess(v, size, false)
	case v.space == SpaceShared && w.cta.sharedChk != nil:
		if bad := w.sharedRead(v, size); bad != 0 && w.check != nil {
			w.readUnknown(s, bad)
		}
	case v.buf != nil:
		if v.buf.known != nil && w.check != nil && !(v.dense && v.buf.allWritten(w.offs[0], size*w.n)) {
			for m := v.mask; m != 0; m &= m - 1 {
				l := bits.TrailingZeros64(m)
				if at := v.buf.unwritten(w.offs[l], size); at >= 0 {
					w.note(FindUndefined, l, v.base+uint64(at), "reads byte %d of buffer %s, which was never written", at, v.buf.Name)
				}
			}
		}
		if w.cta.run.cfg.Check.Conflicts {
			w.conflict(v, size, false)
			if g := w.cta.cluster.global; g != nil && g.lost != 0 {
				w.loadsUndefined(s, g.lost)
				g.lost = 0
			}
		}
	}
}

// checkWrite looks at a write before it happens.
func (w *warp) checkWrite(s *step, v *view, size int) {
	switch {
	case v.cta != nil:
		w.remoteAccess(v, size, true)
	case v.space == SpaceShared && w.cta.sharedChk != nil:
		w.sharedWrite(v, size, w.definedStore(s, v.mask), s)
	case v.buf != nil && w.cta.run.cfg.Check.Conflicts:
		w.conflict(v, size, true)
	}
}

// checkAtomic looks at an atomic update before it happens: it is ordered with
// other atomics, and reads what must have been written.
func (w *warp) checkAtomic(s *step, v *view, size int) {
	switch {
	case v.cta != nil:
		if v.cta.sharedChk != nil {
			for m := v.mask; m != 0; m &= m - 1 {
				at := w.offs[bits.TrailingZeros64(m)]
				for i := at &^ 3; i < at+size; i += 4 {
					v.cta.sharedChk.words[i>>2].known |= byteMask(i, at, size)
				}
			}
		}
	case v.space == SpaceShared && w.cta.sharedChk != nil:
		c := w.cta.sharedChk
		for m := v.mask; m != 0; m &= m - 1 {
			at := w.offs[bits.TrailingZeros64(m)]
			for i := at &^ 3; i < at+size; i += 4 {
				c.words[i>>2].known |= byteMask(i, at, size)
			}
		}
	case v.buf != nil && v.buf.known != nil && w.check != nil && s.in.Atomic != AtomExch:
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			if at := v.buf.unwritten(w.offs[l], size); at >= 0 {
				w.note(FindUndefined, l, v.base+uint64(at), "updates byte %d of buffer %s, which was never written", at, v.buf.Name)
			}
		}
	}
}
