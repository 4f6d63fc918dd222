package simt

import "encoding/binary"

// execMatrixMove executes ldmatrix and stmatrix of 8×8 matrices of 16-bit
// elements: lanes 8·i to 8·i+7 give the addresses of the rows of matrix i, and
// register i of lane l holds the elements (l/4, 2·(l%4)) and the next of it, or,
// transposed, (2·(l%4), l/4) and the one below.
func execMatrixMove(w *warp, s *step) {
	in := s.in
	n := len(s.rs)
	all := w.mask
	rows := uint64(1)<<(8*n) - 1
	if w.n < mmaLanes {
		w.faultAt(FindSync, 0, 0, "%s needs a warp of %d lanes", in.Text, mmaLanes)
		return
	}
	if all&rows != rows {
		w.faultAt(FindSync, 0, 0, "%s needs the addresses of lanes 0 to %d, of which some have exited", in.Text, 8*n-1)
		return
	}
	store, kind := in.Op == OpStMatrix, accessRows
	if store {
		kind = accessWrite
	}
	trans := in.Flags&FlagTrans != 0
	w.mask = rows
	w.access(s, s.in.A.Class(), s.a, s.imm, in.Space, 16, 16, func(v *view) {
		w.countAccess(v, 16, kind)
		if v.mask != rows {
			w.faultAt(FindBounds, 0, 0, "the rows of %s lie in several spaces", in.Text)
			return
		}
		if store {
			w.checkWrite(s, v, 16)
		} else {
			w.checkRead(s, v, 16)
		}
		for k, r := range s.rs {
			reg := w.u32(r)
			if !trans && !store && all == w.full {
				for row := range 8 {
					p := v.data[w.offs[8*k+row]:][:16]
					q := reg[4*row:][:4]
					for i := range q {
						q[i] = binary.LittleEndian.Uint32(p[4*i:])
					}
				}
				continue
			}
			for l := 0; l < w.n && l < mmaLanes; l++ {
				if all>>l&1 == 0 {
					continue
				}
				row, col := l/4, l%4*2
				if !trans {
					p := v.data[w.offs[8*k+row]+2*col:]
					if store {
						binary.LittleEndian.PutUint32(p, reg[l])
					} else {
						reg[l] = binary.LittleEndian.Uint32(p)
					}
					continue
				}
				p := v.data[w.offs[8*k+col]+2*row:]
				q := v.data[w.offs[8*k+col+1]+2*row:]
				if store {
					binary.LittleEndian.PutUint16(p, uint16(reg[l]))
					binary.LittleEndian.PutUint16(q, uint16(reg[l]>>16))
				} else {
					reg[l] = uint32(binary.LittleEndian.Uint16(p)) | uint32(binary.LittleEndian.Uint16(q))<<16
				}
			}
		}
		w.settleWrite(false)
	})
	w.mask = all
}

// mmaLanes is the warp for which PTX lays out the fragments of mma.
const mmaLanes = 32

// The fragments of all shapes follow one rule. With g = lane/4 and t = lane%4,
// and e elements in a register: register r of A holds row g + 8·(r%2) (r/2 = r
// where m is 8), columns 4·e·(r/2) + e·t and on; register r of B holds rows
// 4·e·r + e·t and on of column g; C and D hold columns 2·t and 2·t+1 of row
// g + 8·i.

// chooseMma executes mma.sync.
func chooseMma(in *Inst) (execFunc, Class) {
	m := in.Mma
	if m.N != 8 || m.M != 8 && m.M != 16 || m.DType != m.CType {
		return nil, ClassNone
	}
	switch {
	case m.AType == F64:
		return execMmaF64, ClassNone
	case m.CType == S32:
		if m.AType == B1 {
			return execMmaBits, ClassNone
		}
		return execMmaInt, ClassNone
	case m.AType == F16 || m.AType == BF16 || m.AType == TF32 || m.AType == E4M3 || m.AType == E5M2:
		fp8 := m.AType.Bits() == 8
		if m.M != 16 || m.CType != F32 && (m.CType != F16 || m.AType != F16) || fp8 && m.K != 32 {
			return nil, ClassNone
		}
		return execMmaFloat, ClassNone
	}
	return nil, ClassNone
}

// needLanes checks that a whole warp of 32 lanes takes part.
func (w *warp) needLanes(s *step) bool {
	if w.n == mmaLanes && w.mask == w.full {
		return true
	}
	w.faultAt(FindSync, 0, 0, "%s needs all %d lanes of the warp", s.in.Text, mmaLanes)
	return false
}

// tile holds the operands of one dot, row by row: A is m×k, B is n×k (that
// is, transposed).
type tile[T any] struct {
	a [16 * 64]T
	b [8 * 64]T
}

// spread visits the registers of A and B: for every element the register, the
// lane, the element's place in the register and in the tile.
func (m *Mma) spread(e int, regs []Reg, isA bool, f func(r, lane, j, at int)) {
	for r := range regs {
		for lane := range mmaLanes {
			g, t := lane/4, lane%4
			line, col := g, 4*e*r+e*t
			if isA && m.M == 16 {
				line, col = g+8*(r%2), 4*e*(r/2)+e*t
			}
			for j := range e {
				f(r, lane, j, line*m.K+col+j)
			}
		}
	}
}

// accumulators copies the registers of C, which may be those of D in another
// order.
func (w *warp) accumulators(m *Mma) (c [4][mmaLanes]uint32) {
	for i, reg := range m.CRegs {
		copy(c[i][:], w.r32[reg.Index()*w.n:])
	}
	return c
}

// cPlace is the row and column of element i of lane's accumulator.
func cPlace(lane, i int) (row, col int) { return lane/4 + 8*(i/2), lane%4*2 + i%2 }

// cElement is the inverse: the element and the lane of a place.
func cElement(row, col int) (i, lane int) { return row/8*2 + col%2, row%8*4 + col/2 }

func (m *Mma) flops() uint64 { return uint64(2 * m.M * m.N * m.K) }

// execMmaInt multiplies integers of 4 and 8 bits exactly; the sum wraps, or
// saturates with FlagSat.
func execMmaInt(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.countDot(m)
	st := w.matrixState()
	a, b := &st.desc[0], &st.desc[1]
	a.same(w, m.AType, m.ARegs)
	b.same(w, m.BType, m.BRegs)
	st.c = w.accumulators(m)
	st.integers(m, &a.raw, &b.raw, s.in.Flags&FlagSat != 0)
	for i, reg := range m.DRegs {
		copy(w.r32[reg.Index()*mmaLanes:], st.d[i][:])
	}
}

// integers computes d from the registers of a and b, and from c.
func (st *mmaState) integers(m *Mma, ra, rb *[4][mmaLanes]uint32, sat bool) {
	var t tile[int32]
	m.loadIntegers(m.AType, ra, m.M*m.K, true, t.a[:])
	m.loadIntegers(m.BType, rb, m.N*m.K, false, t.b[:])
	for i := range m.DRegs {
		for lane := range mmaLanes {
			row, col := cPlace(lane, i)
			a, b := t.a[row*m.K:(row+1)*m.K], t.b[col*m.K:(col+1)*m.K]
			sum := int64(int32(st.c[i][lane]))
			for k := range a {
				sum += int64(a[k]) * int64(b[k])
			}
			if sat {
				sum = clamp32(sum)
			}
			st.d[i][lane] = uint32(sum)
		}
	}
}

// loadIntegers fills dst with an operand of n elements.
func (m *Mma) loadIntegers(t Type, raw *[4][mmaLanes]uint32, n int, isA bool, dst []int32) {
	bits := t.Bits()
	e := 32 / bits
	for r := range n / (e * mmaLanes) {
		for lane, v := range &raw[r] {
			line, col := lane/4, 4*e*r+e*(lane%4)
			if isA && m.M == 16 {
				line, col = lane/4+8*(r&1), 4*e*(r>>1)+e*(lane%4)
			}
			at := line*m.K + col
			for j := range e {
				dst[at+j] = int32(readInt(t, uint64(v>>(j*bits))))
			}
		}
	}
}

func execMmaBits(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.countDot(m)
	// Words of 32 bits stand for elements: K/32 of them a row.
	words := m.K / 32
	var a [16 * 8]uint32
	var b [8 * 8]uint32
	fill := func(regs []Reg, isA bool, dst []uint32) {
		for r, reg := range regs {
			src := w.r32[reg.Index()*w.n:]
			for lane := range mmaLanes {
				line, col := lane/4, 4*r+lane%4
				if isA && m.M == 16 {
					line, col = lane/4+8*(r&1), 4*(r>>1)+lane%4
				}
				dst[line*words+col] = src[lane]
			}
		}
	}
	fill(m.ARegs, true, a[:])
	fill(m.BRegs, false, b[:])
	acc := w.accumulators(m)
	for i, reg := range m.DRegs {
		c, d := &acc[i], w.r32[reg.Index()*w.n:]
		for lane := range mmaLanes {
			row, col := cPlace(lane, i)
			sum := c[lane]
			for k := range words {
				x, y := a[row*words+k], b[col*words+k]
				if m.Xor {
					x ^= y
				} else {
					x &= y
				}
				sum += popc32(x)
			}
			d[lane] = sum
		}
	}
}

// execMmaF64 accumulates by fused multiply-adds in the order of k.
func execMmaF64(w *warp, s *step) {
	if !w.needLanes(s) {
		return
	}
	m := s.in.Mma
	w.countDot(m)
	var t tile[float64]
	load := func(regs []Reg, isA bool, dst []float64) {
		m.spread(1, regs, isA, func(r, lane, _, at int) {
			dst[at] = f64(w.r64[regs[r].Index()*w.n+lane])
		})
	}
	load(m.ARegs, true, t.a[:])
	load(m.BRegs, false, t.b[:])
	mode := s.in.Round
	var acc [4][mmaLanes]uint64
	for i, reg := range m.CRegs {
		copy(acc[i][:], w.r64[reg.Index()*w.n:])
	}
	for i, reg := range m.DRegs {
		c, d := &acc[i], w.r64[reg.Index()*w.n:]
		for lane := range mmaLanes {
			row, col := cPlace(lane, i)
			sum := f64(c[lane])
			for k := range m.K {
				sum = fma64(t.a[row*m.K+k], t.b[col*m.K+k], sum, mode, false)
			}
			d[lane] = canon64(sum)
		}
	}
}
