package simt

import "math/bits"

// chooseLogic executes bitwise operations, shifts, lop3 and prmt.
func chooseLogic(in *Inst) (execFunc, Class) {
	if in.D.Class() == ClassP {
		return chooseLogicP(in), ClassNone
	}
	switch in.Op {
	case OpShl, OpShr:
		return chooseShift(in)
	case OpShf:
		return chooseFunnel(in), Class32
	case OpLop3:
		table := uint8(in.Imm)
		return lanes3(func(a, b, c uint32) uint32 { return lop3(a, b, c, table) })
	case OpPrmt:
		return choosePrmt(in)
	}
	cut := uint32(0xffffffff)
	if in.Type.Bits() == 16 {
		cut = 0xffff
	}
	wide := in.D.Class() == Class64
	switch in.Op {
	case OpAnd:
		if wide {
			return wide2(func(a, b uint64) uint64 { return a & b })
		}
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = a[i] & b[i]
			}
		}, Class32
	case OpOr:
		if wide {
			return wide2(func(a, b uint64) uint64 { return a | b })
		}
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = a[i] | b[i]
			}
		}, Class32
	case OpXor:
		if wide {
			return wide2(func(a, b uint64) uint64 { return a ^ b })
		}
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = a[i] ^ b[i]
			}
		}, Class32
	case OpNot:
		if wide {
			return wide1(func(a uint64) uint64 { return ^a })
		}
		return lanes1(func(a uint32) uint32 { return ^a & cut })
	case OpCnot:
		if wide {
			return wide1(func(a uint64) uint64 {
				if a == 0 {
					return 1
				}
				return 0
			})
		}
		return lanes1(func(a uint32) uint32 {
			if a == 0 {
				return 1
			}
			return 0
		})
	}
	return nil, ClassNone
}

func chooseLogicP(in *Inst) execFunc {
	switch in.Op {
	case OpAnd:
		return func(w *warp, s *step) { w.setP(s.d, w.p[s.a]&w.p[s.b]) }
	case OpOr:
		return func(w *warp, s *step) { w.setP(s.d, w.p[s.a]|w.p[s.b]) }
	case OpXor:
		return func(w *warp, s *step) { w.setP(s.d, w.p[s.a]^w.p[s.b]) }
	case OpNot:
		return func(w *warp, s *step) { w.setP(s.d, ^w.p[s.a]) }
	}
	return nil
}

// chooseShift executes shl and shr: amounts beyond the width act as the width.
func chooseShift(in *Inst) (execFunc, Class) {
	n := uint32(in.Type.Bits())
	left := in.Op == OpShl
	signed := in.Type.Signed()
	if n == 64 {
		return func(w *warp, s *step) {
			d, a, b := w.d64(s), w.u64(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			switch {
			case left:
				for i := range d {
					d[i] = a[i] << b[i]
				}
			case signed:
				for i := range d {
					d[i] = uint64(int64(a[i]) >> b[i])
				}
			default:
				for i := range d {
					d[i] = a[i] >> b[i]
				}
			}
		}, Class64
	}
	if n == 16 {
		switch {
		case left:
			return lanes2(func(a, b uint32) uint32 { return a << b & 0xffff })
		case signed:
			return lanes2(func(a, b uint32) uint32 { return uint32(sext16(a)>>b) & 0xffff })
		}
		return lanes2(func(a, b uint32) uint32 { return a >> b })
	}
	return func(w *warp, s *step) {
		d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
		a, b = a[:len(d)], b[:len(d)]
		switch {
		case left:
			for i := range d {
				d[i] = a[i] << b[i]
			}
		case signed:
			for i := range d {
				d[i] = uint32(int32(a[i]) >> b[i])
			}
		default:
			for i := range d {
				d[i] = a[i] >> b[i]
			}
		}
	}, Class32
}

// chooseFunnel executes shf on the 64-bit value B:A.
func chooseFunnel(in *Inst) execFunc {
	clamp := in.Flags&FlagClamp != 0
	left := in.Flags&FlagLeft != 0
	return func(w *warp, s *step) {
		d, a, b, c := w.d32(s), w.u32(s.a), w.u32(s.b), w.u32(s.c)
		for i := range d {
			n := c[i]
			if clamp {
				n = min(n, 32)
			} else {
				n &= 31
			}
			v := uint64(b[i])<<32 | uint64(a[i])
			if left {
				d[i] = uint32(v << n >> 32)
			} else {
				d[i] = uint32(v >> n)
			}
		}
	}
}

// lop3 applies the truth table to the bits of a, b and c: bit 4·a+2·b+c of it.
func lop3(a, b, c uint32, table uint8) uint32 {
	var r uint32
	for k := range 8 {
		if table>>k&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if k&4 == 0 {
			x = ^x
		}
		if k&2 == 0 {
			y = ^y
		}
		if k&1 == 0 {
			z = ^z
		}
		r |= x & y & z
	}
	return r
}

// Prmt modes of OpPrmt's Imm.
const (
	PrmtIndex = iota
	PrmtF4E
	PrmtB4E
	PrmtRC8
	PrmtECL
	PrmtECR
	PrmtRC16
)

// prmtModes holds the selector of every mode but the first, by the low bits of C.
var prmtModes = [...][4]uint16{
	PrmtF4E:  {0x3210, 0x4321, 0x5432, 0x6543},
	PrmtB4E:  {0x5670, 0x6701, 0x7012, 0x0123},
	PrmtRC8:  {0x0000, 0x1111, 0x2222, 0x3333},
	PrmtECL:  {0x3210, 0x3211, 0x3222, 0x3333},
	PrmtECR:  {0x0000, 0x1110, 0x2210, 0x3210},
	PrmtRC16: {0x1010, 0x3232, 0x1010, 0x3232},
}

func prmt(a, b, sel uint32) uint32 {
	v := uint64(b)<<32 | uint64(a)
	var r uint32
	for k := range 4 {
		n := sel >> (4 * k) & 0xf
		x := uint32(v>>(8*(n&7))) & 0xff
		if n&8 != 0 {
			x = uint32(int32(int8(x))>>7) & 0xff
		}
		r |= x << (8 * k)
	}
	return r
}

func choosePrmt(in *Inst) (execFunc, Class) {
	if in.Imm == PrmtIndex {
		return lanes3(prmt)
	}
	modes := prmtModes[in.Imm]
	return lanes3(func(a, b, c uint32) uint32 { return prmt(a, b, uint32(modes[c&3])) })
}

// chooseBits executes bit-field operations, counts and dot products.
func chooseBits(in *Inst) (execFunc, Class) {
	signed := in.Type.Signed()
	wide := in.Type.Bits() == 64
	switch in.Op {
	case OpBfe:
		if wide {
			return func(w *warp, s *step) {
				d, a, b, c := w.d64(s), w.u64(s.a), w.u32(s.b), w.u32(s.c)
				for i := range d {
					d[i] = bfe(a[i], b[i]&0xff, c[i]&0xff, 64, signed)
				}
			}, Class64
		}
		return lanes3(func(a, b, c uint32) uint32 {
			return uint32(bfe(uint64(a), b&0xff, c&0xff, 32, signed))
		})
	case OpBfi:
		return func(w *warp, s *step) {
			n := w.u32(s.rs[0])
			c := w.u32(s.c)
			if wide {
				d, a, b := w.d64(s), w.u64(s.a), w.u64(s.b)
				for i := range d {
					d[i] = bfi(a[i], b[i], c[i]&0xff, n[i]&0xff, 64)
				}
				return
			}
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			for i := range d {
				d[i] = uint32(bfi(uint64(a[i]), uint64(b[i]), c[i]&0xff, n[i]&0xff, 32))
			}
		}, in.D.Class()
	case OpBfind:
		amt := in.Flags&FlagShiftAmt != 0
		if wide {
			return wide1to32(func(a uint64) uint32 { return bfind(a, 64, signed, amt) })
		}
		return lanes1(func(a uint32) uint32 { return bfind(uint64(a), 32, signed, amt) })
	case OpBrev:
		if wide {
			return wide1(bits.Reverse64)
		}
		return lanes1(bits.Reverse32)
	case OpPopc:
		if wide {
			return wide1to32(func(a uint64) uint32 { return uint32(bits.OnesCount64(a)) })
		}
		return lanes1(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) })
	case OpClz:
		if wide {
			return wide1to32(func(a uint64) uint32 { return uint32(bits.LeadingZeros64(a)) })
		}
		return lanes1(func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) })
	case OpFns:
		return lanes3(fns)
	case OpDp4a:
		return chooseDot(in, 4)
	case OpDp2a:
		return chooseDot(in, 2)
	case OpBmsk:
		clamp := in.Flags&FlagClamp != 0
		return lanes2(func(a, b uint32) uint32 { return bmsk(a, b, clamp) })
	case OpSzext:
		clamp := in.Flags&FlagClamp != 0
		return lanes2(func(a, b uint32) uint32 { return szext(a, b, clamp, signed) })
	}
	return nil, ClassNone
}

// bfe extracts n bits of a from position pos; bits beyond the value read as its
// sign (signed) or zero.
func bfe(a uint64, pos, n, width uint32, signed bool) uint64 {
	if n == 0 {
		return 0
	}
	if !signed {
		if n < 64 {
			return a >> pos & (1<<n - 1)
		}
		return a >> pos
	}
	v := int64(a)
	if width == 32 {
		v = int64(int32(a))
	}
	v >>= min(pos, 63)
	if n < 64 {
		// The sign is the field's top bit, or the value's where the field
		// reaches beyond it; the arithmetic shift brought that one in.
		v = v << (64 - n) >> (64 - n)
	}
	return uint64(v)
}

// bfi puts the low n bits of a into b at position pos.
func bfi(a, b uint64, pos, n, width uint32) uint64 {
	if pos >= width {
		return b
	}
	mask := ^uint64(0)
	if n < 64 {
		mask = 1<<n - 1
	}
	mask <<= pos
	return b&^mask | a<<pos&mask
}

// bfind is the position of the most significant bit that is not the sign, or
// all ones.
func bfind(a uint64, width int, signed, amount bool) uint32 {
	if signed {
		if width == 32 {
			a = uint64(int64(int32(a)))
		}
		if int64(a) < 0 {
			a = ^a
		}
	}
	if a == 0 {
		return ^uint32(0)
	}
	p := bits.Len64(a) - 1
	if amount {
		return uint32(width - 1 - p)
	}
	return uint32(p)
}

// fns finds the n-th set bit of mask from position base; n counts from 1, or
// downwards from -1; n of 0 tests the base.
func fns(mask, base, n uint32) uint32 {
	if base > 31 {
		return ^uint32(0)
	}
	off := int32(n)
	if off == 0 {
		if mask>>base&1 != 0 {
			return base
		}
		return ^uint32(0)
	}
	step := int32(1)
	if off < 0 {
		step = -1
		off = -off
	}
	for p := int32(base); p >= 0 && p < 32; p += step {
		if mask>>p&1 != 0 {
			off--
			if off == 0 {
				return uint32(p)
			}
		}
	}
	return ^uint32(0)
}

// chooseDot executes dp4a (n = 4) and dp2a (n = 2: two 16-bit values of A by
// two bytes of B, the upper two with FlagHi). From is B's type.
func chooseDot(in *Inst, n int) (execFunc, Class) {
	sa, sb := in.Type.Signed(), in.From.Signed()
	upper := in.Flags&FlagHi != 0
	part := func(v uint32, k, width int, signed bool) int64 {
		v = v >> (k * width)
		switch {
		case width == 16 && signed:
			return int64(int16(v))
		case width == 16:
			return int64(uint16(v))
		case signed:
			return int64(int8(v))
		}
		return int64(uint8(v))
	}
	return lanes3(func(a, b, c uint32) uint32 {
		if upper {
			b >>= 16
		}
		sum := int64(0)
		for k := range n {
			sum += part(a, k, 32/n, sa) * part(b, k, 8, sb)
		}
		return uint32(sum) + c
	})
}

func bmsk(a, b uint32, clamp bool) uint32 {
	if !clamp {
		a, b = a&31, b&31
	}
	if a > 31 || b == 0 {
		return 0
	}
	m := ^uint32(0)
	if b < 32 {
		m = 1<<b - 1
	}
	return m << a
}

func szext(a, b uint32, clamp, signed bool) uint32 {
	if !clamp {
		b &= 31
	}
	if b == 0 {
		return 0
	}
	if b > 31 {
		return a
	}
	if signed {
		return uint32(int32(a<<(32-b)) >> (32 - b))
	}
	return a & (1<<b - 1)
}

func popc32(v uint32) uint32 { return uint32(bits.OnesCount32(v)) }
