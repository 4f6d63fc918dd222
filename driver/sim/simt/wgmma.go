package simt

import (
	"encoding/binary"
	"math/bits"

	"github.com/tritonc/tritonc/core/diag"
)

// Wgmma is what a warpgroup's dot has beyond Mma: N columns in blocks of
// eight, B and perhaps A in shared memory. Each warp of the group computes its
// own 16 rows of the 64, as of an mma of that shape, and does so when it issues
// the instruction: a kernel may not touch operands before it waits, so that
// nobody can tell.
type Wgmma struct {
	// ADesc and BDesc are matrix descriptors; ADesc is zero where A is in
	// registers.
	ADesc, BDesc Reg
	// ScaleD is the predicate that adds D; Fresh says that D is not added at all.
	ScaleD         Reg
	Fresh          bool
	TransA, TransB bool
}

// warpsOfGroup is the number of warps in a warpgroup.
const warpsOfGroup = 4

// chooseWgmma executes wgmma.mma_async.
func chooseWgmma(in *Inst) (execFunc, Class) {
	m := in.Mma
	per := 4
	if m.CType == F16 {
		per = 2
	}
	blocks := make([]Mma, m.N/8)
	for i := range blocks {
		b := *m
		b.N = 8
		b.DRegs = m.DRegs[i*per : (i+1)*per]
		b.CRegs = b.DRegs
		blocks[i] = b
	}
	switch {
	case m.CType == S32 && m.AType.Bits() == 8, m.CType == F32 && m.AType.Float(), m.CType == F16 && (m.AType == F16 || m.AType.Float() && m.AType.Bits() == 8):
	default:
		return nil, ClassNone
	}
	return func(w *warp, s *step) { w.wgmma(s, blocks) }, ClassNone
}

func (w *warp) wgmma(s *step, blocks []Mma) {
	if !w.needLanes(s) {
		return
	}
	g := s.in.Wgmma
	m := &blocks[0]
	st := w.matrixState()
	add := !g.Fresh
	if g.ScaleD != 0 {
		p := w.p[g.ScaleD.Index()]
		if p != 0 && p&w.full != w.full {
			w.faultAt(FindSync, 0, 0, "%s: the lanes disagree whether to add D", s.in.Text)
			return
		}
		add = p != 0
	}
	a := &st.desc[0]
	switch {
	case g.ADesc == 0 && m.CType == S32:
		a.same(w, m.AType, m.ARegs)
	case g.ADesc == 0:
		a = st.operandA(w, m)
	default:
		if !w.fromShared(s, a, m.AType, w.r64[g.ADesc.Index()*w.n], 16*m.K, w.id%warpsOfGroup*16, true, g.TransA) {
			return
		}
		if m.CType != S32 {
			a.decode(widthA, m.K)
		}
	}
	b := &st.desc[1]
	for i := range blocks {
		m := &blocks[i]
		w.countDot(m)
		if !w.fromShared(s, b, m.BType, w.r64[g.BDesc.Index()*w.n], 8*m.K, 8*i, false, g.TransB) {
			return
		}
		st.c = st.zero
		if add {
			st.c = w.accumulators(m)
		}
		if m.CType == S32 {
			st.integers(m, &a.raw, &b.raw, s.in.Flags&FlagSat != 0)
		} else {
			b.decode(widthB, m.K)
			if m.AType.Bits() == 8 && m.CType == F16 {
				st.shortHalf(m, a, b)
			} else if m.AType.Bits() == 8 {
				c, d := inMemory(&st.c), inMemory(&st.d)
				st.short(m, a, b, &c, &d)
			} else {
				st.float(m, a, b)
			}
		}
		for k, reg := range m.DRegs {
			copy(w.r32[reg.Index()*mmaLanes:], st.d[k][:])
		}
	}
}

// A descriptor says how a matrix lies in shared memory. Rows of rowBytes bytes,
// eight of them an atom, hold k (or, transposed, lines); the 16-byte pieces of a
// row are permuted by the row's number where swizzle is not zero.
type descriptor struct {
	start, leading, stride int
	rowBytes               int
	swizzle                int // mask of the row's bits that permute
	base                   int
}

func parseDescriptor(v uint64) descriptor {
	field := func(at int) int { return int(v>>at&0x3fff) << 4 }
	d := descriptor{start: field(0), leading: field(16), stride: field(32), base: int(v >> 49 & 7), rowBytes: 16}
	if mode := v >> 62; mode != 0 {
		d.rowBytes = 256 >> mode
		d.swizzle = d.rowBytes/16 - 1
	}
	return d
}

// at is the address of the element of a line whose k is kb bytes in.
func (d *descriptor) at(line, kb int) int {
	p := d.start + line/8*d.stride + line%8*d.rowBytes + kb
	if d.swizzle == 0 {
		p = d.start + line/8*d.stride + line%8*16 + kb/16*d.leading + kb%16
	}
	return p ^ (p>>7&d.swizzle)<<4
}

// atTransposed is the address of a 16-bit element where lines are contiguous.
func (d *descriptor) atTransposed(line, k int) int {
	if d.swizzle == 0 {
		return d.start + line/8*d.stride + k/8*d.leading + k%8*16 + line%8*2
	}
	width := d.rowBytes / 2
	p := d.start + line/width*d.leading + k/8*d.stride + k%8*d.rowBytes + line%width*2
	return p ^ (p>>7&d.swizzle)<<4
}

// fromShared fills a fragment's registers, as mma would hold them, with elements
// in shared memory from the given line on.
func (w *warp) fromShared(s *step, f *fragment, t Type, desc uint64, elems, line0 int, isA, trans bool) bool {
	d := parseDescriptor(desc)
	if d.base != 0 {
		w.faultAt(FindBounds, 0, uint64(d.start), "%s: the simulator knows no matrix with base offset %d", s.in.Text, d.base)
		return false
	}
	f.ty = t
	per := 32 / t.Bits()
	f.regs = elems / (mmaLanes * per)
	size, parts := 4, 1
	if trans {
		size, parts = 2, 2
	}
	shared := w.cta.shared
	for r := range f.regs {
		for part := range parts {
			for lane := range mmaLanes {
				line, k := line0+lane/4, 4*per*r+lane%4*per
				if isA {
					line, k = line+8*(r&1), 4*per*(r>>1)+lane%4*per
				}
				at := 0
				if trans {
					at = d.atTransposed(line, k+part)
				} else {
					at = d.at(line, k*t.Bits()/8)
				}
				if at+size > len(shared) {
					w.faultAt(FindBounds, lane, uint64(at), "%s reads shared memory at 0x%x: the block has %s", s.in.Text, at, diag.Count(len(shared), "byte"))
					return false
				}
				w.offs[lane] = at
			}
			w.view = view{SpaceShared, shared, nil, 0, w.full, false, nil}
			w.dotReads(s, size)
			w.checkRead(s, &w.view, size)
			w.cta.stats.bytes[SpaceShared][0] += uint64(bits.OnesCount64(w.full) * size)
			for lane := range mmaLanes {
				p := shared[w.offs[lane]:]
				switch {
				case !trans:
					f.raw[r][lane] = binary.LittleEndian.Uint32(p)
				case part == 0:
					f.raw[r][lane] = uint32(binary.LittleEndian.Uint16(p))
				default:
					f.raw[r][lane] |= uint32(binary.LittleEndian.Uint16(p)) << 16
				}
			}
		}
	}
	return true
}
