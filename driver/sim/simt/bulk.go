package simt

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
)

// Bulk describes a bulk copy between global and shared memory. It happens when
// it is issued; a load then tells its mbarrier of the bytes.
type Bulk struct {
	Store bool
	// Reduce: a store combines its elements with what is there, by Atomic.
	Reduce                           bool
	Atomic                           Atomic
	Rank                             int // of the tensor; 0 for a plain copy of Size bytes
	Shared, Global, Barrier          Reg // Global is the tensor map's address if Rank is not 0
	SharedOff, GlobalOff, BarrierOff int64
	Coords                           []Reg // innermost first
	Size                             Reg
}

// A tensor map is 128 bytes that only tensormap.replace and bulk copies look
// into. This simulator lays it out so; the hardware's layout is not public.
const (
	MapAddress       = 0  // 8 bytes
	MapRank          = 8  // rank - 1
	MapType          = 12 // see mapTypes
	MapBox           = 16 // five words
	MapDims          = 36 // five words
	MapStrides       = 56 // four of 8 bytes: of all dimensions but the innermost
	MapElementStride = 88 // five words
	MapInterleave    = 108
	MapSwizzle       = 112
	MapFill          = 116
	MapBytes         = 128
)

// baseAlign is what the address of a tensor is a multiple of.
const baseAlign = 16

// boxAlign is what the first byte of a box's rows is a multiple of, counted from the
// beginning of the tensor's.
const boxAlign = 16

// boxAddressAlign is what the address of a box in shared memory is a multiple of.
const boxAddressAlign = 128

// outsideNaN fills elements outside a tensor where they are to be NaNs: a NaN in
// each floating-point format.
const outsideNaN = 0x7ff7

// mapTypes are the element types, in the order of the manual.
var mapTypes = [...]Type{U8, U16, U32, S32, U64, S64, F16, F32, F32, F64, BF16, TF32, TF32}

// tensorMap is a map's content.
type tensorMap struct {
	addr    uint64
	rank    int
	typ     Type
	elem    int
	box     [5]int
	dims    [5]int
	strides [5]int // in bytes; that of the innermost is the element's size
	swizzle int    // mask of the row bits that permute 16-byte pieces
	nanFill bool
}

// mapAt reads and checks the tensor map at a generic address.
func (w *warp) mapAt(s *step, lane int, addr uint64, rank int) (m tensorMap, ok bool) {
	b := w.peek(addr, lane)
	if len(b) < MapBytes || addr%64 != 0 {
		w.faultAt(FindBounds, lane, addr, "no tensor map lies at 0x%x, %s", addr, w.cta.run.mem.describe(addr))
		return m, false
	}
	word := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	m.addr = binary.LittleEndian.Uint64(b)
	if m.addr%baseAlign != 0 {
		w.faultAt(FindAlign, lane, m.addr, "the tensor map at 0x%x is of a tensor at 0x%x, which is not a multiple of %d", addr, m.addr, baseAlign)
		return m, false
	}
	m.rank = word(MapRank) + 1
	t, swizzle := word(MapType), word(MapSwizzle)
	if m.rank != rank || t >= len(mapTypes) || swizzle > 3 || word(MapInterleave) != 0 {
		w.faultAt(FindBounds, lane, addr, "the tensor map at 0x%x has rank %d, type %d, swizzle %d, interleave %d: %s cannot use it",
			addr, m.rank, t, swizzle, word(MapInterleave), s.in.Text)
		return m, false
	}
	m.typ = mapTypes[t]
	m.elem = m.typ.Bits() / 8
	m.swizzle = 1<<swizzle - 1
	m.nanFill = word(MapFill) == 1
	for i := range m.rank {
		m.box[i], m.dims[i] = word(MapBox+4*i), word(MapDims+4*i)
		if word(MapElementStride+4*i) != 1 || m.box[i] < 1 || m.box[i] > 256 {
			w.faultAt(FindBounds, lane, addr, "the tensor map at 0x%x has element stride %d and box %d in dimension %d: %s cannot use it",
				addr, word(MapElementStride+4*i), m.box[i], i, s.in.Text)
			return m, false
		}
		m.strides[i] = m.elem
		if i > 0 {
			m.strides[i] = int(binary.LittleEndian.Uint64(b[MapStrides+8*(i-1):]))
		}
	}
	return m, true
}

// execBulk executes bulk copies, lane after lane.
func execBulk(w *warp, s *step) {
	k := s.in.Bulk
	all := w.mask
	for m := all; m != 0 && w.cta.fault == nil; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		w.mask = 1 << l
		shared := int(w.addressAt(k.Shared, k.SharedOff, l))
		global := w.addressAt(k.Global, k.GlobalOff, l)
		n := 0
		if k.Rank == 0 {
			n = int(w.r32[k.Size.Index()*w.n+l])
			w.bulkRow(s, l, shared, global, n, TypeNone)
			w.countBulk(l, global, n, k.Store)
		} else {
			n = w.bulkTensor(s, l, shared, global)
			if w.cta.fault == nil && k.Store {
				w.copiesThrough(l, global, nil, 0)
			}
		}
		if w.cta.fault == nil && k.Barrier != 0 {
			w.bulkArrive(l, int(w.addressAt(k.Barrier, k.BarrierOff, l)), n, global)
		}
	}
	w.mask = all
}

// addressAt is what a register of a lane holds, an address, plus off.
func (w *warp) addressAt(r Reg, off int64, lane int) uint64 {
	if r.Class() == Class64 {
		return w.r64[r.Index()*w.n+lane] + uint64(off)
	}
	return uint64(w.r32[r.Index()*w.n+lane] + uint32(off))
}

// bulkArrive tells the mbarrier at an address that n bytes came, from global, which is
// the tensor map's address if there is one.
func (w *warp) bulkArrive(lane, at, n int, global uint64) {
	if at < 0 || at%8 != 0 || at+8 > len(w.cta.shared) {
		w.faultAt(FindBounds, lane, uint64(at), "no mbarrier can lie at shared address 0x%x", at)
		return
	}
	if c := w.cta.sharedChk; c != nil {
		k := w.cta.mbarClock(at)
		if k.made > c.clock[w.id][c.warps+k.maker] {
			w.note(FindAsync, lane, uint64(at), "a bulk copy tells the mbarrier at 0x%x, which warp %d made: no fence.proxy.async lies between", at, k.maker)
		}
		c.own(c.written, true)
		k.owned = append(k.owned, c.written...)
		c.written = c.written[:0]
	}
	o := readMbar(w.cta.shared[at:])
	if w.cta.sharedChk != nil {
		w.copiesThrough(lane, global, w.cta.mbarClock(at), o.phase)
	}
	w.mbarArrive(lane, at, &o, 0, -n)
	o.write(w.cta.shared[at:])
}

// bulkTensor copies a box and returns its bytes.
func (w *warp) bulkTensor(s *step, lane, shared int, mapAddr uint64) int {
	k := s.in.Bulk
	t, ok := w.mapAt(s, lane, mapAddr, k.Rank)
	if !ok {
		return 0
	}
	var at [5]int
	for i, r := range k.Coords {
		at[i] = int(int32(w.r32[r.Index()*w.n+lane]))
	}
	// The manual does not ask for this; an H200 calls it an illegal instruction.
	if at[0]*t.elem%boxAlign != 0 {
		w.faultAt(FindAlign, lane, t.addr, "%s copies from element %d of a row, which is byte %d: the hardware wants a multiple of %d",
			s.in.Text, at[0], at[0]*t.elem, boxAlign)
		return 0
	}
	if shared%boxAddressAlign != 0 {
		w.faultAt(FindAlign, lane, uint64(shared), "%s copies a box at shared address 0x%x, which is not a multiple of %d", s.in.Text, shared, boxAddressAlign)
		return 0
	}
	if k.Store && !w.copiesBack(s, lane, &t, at[:t.rank]) {
		return 0
	}
	row := t.box[0] * t.elem
	rows := 1
	for i := 1; i < t.rank; i++ {
		rows *= t.box[i]
	}
	// The part of a row that lies in the tensor.
	lo := min(max(-at[0], 0), t.box[0]) * t.elem
	hi := max(min(t.dims[0]-at[0], t.box[0]), 0) * t.elem
	if s.in.Bulk.Store {
		// An H200 stores whole pieces: what lies after the end of a row there is
		// written, too.
		hi = min((hi+boxAlign-1)/boxAlign*boxAlign, row)
	}
	for r := range rows {
		addr := t.addr + uint64(at[0]*t.elem)
		inside := lo < hi
		rest := r
		for i := 1; i < t.rank; i++ {
			c := at[i] + rest%t.box[i]
			rest /= t.box[i]
			inside = inside && c >= 0 && c < t.dims[i]
			addr += uint64(c * t.strides[i])
		}
		from, to := lo, hi
		if !inside {
			from, to = row, row
		}
		w.tensorRow(s, lane, &t, shared+r*row, addr, row, from, to)
		if w.cta.fault != nil {
			return 0
		}
	}
	return rows * row
}

// copiesBack reports what an H200 calls an illegal instruction, which the manual does not
// tell, of a copy to a tensor.
func (w *warp) copiesBack(s *step, lane int, t *tensorMap, at []int) bool {
	k := s.in.Bulk
	if slices.ContainsFunc(at, func(i int) bool { return i < 0 }) {
		w.faultAt(FindBounds, lane, t.addr, "%s copies a box back at %v, which begins before the tensor: the hardware calls it an illegal instruction", s.in.Text, at)
		return false
	}
	if k.Reduce && t.typ.Bits() == 64 && (k.Atomic == AtomAnd || k.Atomic == AtomOr || k.Atomic == AtomXor) {
		w.faultAt(FindTrap, lane, t.addr, "%s combines bits of %s: the hardware calls it an illegal instruction", s.in.Text, t.typ)
		return false
	}
	return true
}

// tensorRow copies bytes [from, to) of a row of a box; a load fills the others.
func (w *warp) tensorRow(s *step, lane int, t *tensorMap, shared int, global uint64, row, from, to int) {
	store := s.in.Bulk.Store
	const piece = 16
	for p := 0; p < row; p += piece {
		at := shared + p
		at ^= (at >> 7 & t.swizzle) << 4
		n := min(piece, row-p)
		a, b := max(from, p), min(to, p+n)
		if !store && (a > p || b < p+n) {
			if !w.fillShared(lane, at, n, t) {
				return
			}
		}
		if a < b {
			w.bulkRow(s, lane, at+a-p, global+uint64(a), b-a, t.typ)
			if w.cta.fault != nil {
				return
			}
		}
	}
	if from < to {
		w.countBulk(lane, global+uint64(from), to-from, store)
	}
}

// fillShared writes what a load has in place of elements outside the tensor.
func (w *warp) fillShared(lane, at, n int, t *tensorMap) bool {
	if at < 0 || at+n > len(w.cta.shared) {
		w.faultAt(FindBounds, lane, uint64(at), "writes %s of shared memory at 0x%x: the block has %s", diag.Count(n, "byte"), at, diag.Count(len(w.cta.shared), "byte"))
		return false
	}
	w.bulkWrote(at, n)
	clear(w.cta.shared[at : at+n])
	if t.nanFill {
		for i := at; i < at+n; i += 2 {
			binary.LittleEndian.PutUint16(w.cta.shared[i:], outsideNaN)
		}
	}
	return true
}

// bulkWrote checks and marks a write of shared memory by the issuing warp.
func (w *warp) bulkWrote(at, n int) {
	c := w.cta.sharedChk
	if c == nil {
		return
	}
	l := bits.TrailingZeros64(w.mask)
	w.fenced(l, at, n, "writes")
	w.offs[l] = at
	w.view = view{SpaceShared, w.cta.shared, nil, 0, w.mask, false, nil}
	w.sharedWrite(&w.view, n, w.mask, nil)
	w.settleWrite(true)
	c.engineWrote(at, n)
	c.written = append(c.written, byteRange{at, n})
}

// bulkRow copies n contiguous bytes, or combines them with those there as elements
// of a type.
func (w *warp) bulkRow(s *step, lane, shared int, global uint64, n int, t Type) {
	c := w.cta
	buf := c.run.mem.at(global)
	off := int(global & windowMask)
	if buf == nil || buf.freed || off+n > len(buf.Data) {
		w.faultAt(FindBounds, lane, global, "%s copies %s of global memory at 0x%x: %s", s.in.Text, diag.Count(n, "byte"), global, c.run.mem.describe(global))
		return
	}
	if shared < 0 || shared+n > len(c.shared) {
		w.faultAt(FindBounds, lane, uint64(shared), "%s copies %s of shared memory at 0x%x: the block has %s", s.in.Text, diag.Count(n, "byte"), shared, diag.Count(len(c.shared), "byte"))
		return
	}
	w.offs[lane] = off
	w.view = view{SpaceGlobal, buf.Data, buf, buf.addr, w.mask, false, nil}
	store := s.in.Bulk.Store
	if s.in.Bulk.Reduce {
		w.bulkReduce(s, lane, buf.Data[off:off+n], c.shared[shared:shared+n], t)
		buf.wrote(off, n)
		w.offs[lane] = shared
		w.view = view{SpaceShared, c.shared, nil, 0, w.mask, false, nil}
		w.checkRead(s, &w.view, n)
		w.engineReads(lane, shared, n)
		return
	}
	if store {
		w.checkWrite(s, &w.view, n)
		copy(buf.Data[off:off+n], c.shared[shared:])
		w.settleWrite(true)
		buf.wrote(off, n)
		w.offs[lane] = shared
		w.view = view{SpaceShared, c.shared, nil, 0, w.mask, false, nil}
		w.checkRead(s, &w.view, n)
		w.engineReads(lane, shared, n)
		return
	}
	w.checkRead(s, &w.view, n)
	w.bulkWrote(shared, n)
	copy(c.shared[shared:shared+n], buf.Data[off:])
}

// bulkReduce combines the elements of from with those of to, of which each is
// updated at once. A tensor has whole elements.
func (w *warp) bulkReduce(s *step, lane int, to, from []byte, t Type) {
	k, n := s.in.Bulk, t.Bits()
	w.checkAtomic(s, &w.view, len(to))
	if n == 64 {
		if f := atomic64(k.Atomic, t); f != nil {
			for i := 0; i < len(to); i += 8 {
				storeBytes(to[i:], n, f(loadBytes(to[i:], n), loadBytes(from[i:], n)))
			}
			return
		}
	} else if f := globalAtomic32(k.Atomic, t); f != nil {
		for i := 0; i < len(to); i += n / 8 {
			storeBytes(to[i:], n, uint64(f(uint32(loadBytes(to[i:], n)), uint32(loadBytes(from[i:], n)))))
		}
		return
	}
	w.faultAt(FindBounds, lane, w.view.base, "%s cannot combine elements of the tensor map's type", s.in.Text)
}

// countBulk counts n contiguous bytes of global memory that a bulk copy has copied.
func (w *warp) countBulk(lane int, global uint64, n int, store bool) {
	if w.cta.fault != nil {
		return
	}
	kind := accessBulkRead
	if store {
		kind = accessBulkWrite
	}
	buf := w.cta.run.mem.at(global)
	w.offs[lane] = int(global & windowMask)
	w.view = view{SpaceGlobal, buf.Data, buf, buf.addr, w.mask, false, nil}
	w.countAccess(&w.view, n, kind)
}

// execCopyMap copies a tensor map from shared memory at A to global memory at
// D + Imm, once for the warp.
func execCopyMap(w *warp, s *step) {
	all := w.mask
	w.mask = all & -all
	lane := bits.TrailingZeros64(all)
	var content [MapBytes]byte
	w.access(s, s.in.A.Class(), s.a, s.in.Imm2, SpaceShared, MapBytes, 64, func(v *view) {
		w.checkRead(s, v, MapBytes)
		copy(content[:], v.data[w.offs[lane]:])
	})
	if w.cta.fault == nil {
		w.access(s, s.in.D.Class(), s.d, s.imm, SpaceGlobal, MapBytes, 64, func(v *view) {
			w.countAccess(v, MapBytes, accessBulkWrite)
			copy(v.data[w.offs[lane]:], content[:])
			v.buf.wrote(w.offs[lane], MapBytes)
			w.wroteMap(lane, w.addressAt(s.in.D, s.imm, lane))
		})
	}
	w.mask = all
}
