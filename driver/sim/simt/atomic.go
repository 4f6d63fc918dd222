package simt

import "math/bits"

// atomic32 returns an atomic's function of the old value and the operand, or nil
// where the type has none.
func atomic32(op Atomic, t Type) func(old, b uint32) uint32 {
	signed := t == S32
	switch t {
	case F32:
		if op == AtomAdd {
			return func(old, b uint32) uint32 { return canon(f32(old) + f32(b)) }
		}
		if op != AtomExch {
			return nil
		}
	case F16, BF16, F16x2, BF16x2:
		return atomicHalf(op, t)
	case U32, S32, B32:
	default:
		return nil
	}
	switch op {
	case AtomAdd:
		return func(old, b uint32) uint32 { return old + b }
	case AtomMin:
		if signed {
			return func(old, b uint32) uint32 { return uint32(min(int32(old), int32(b))) }
		}
		return func(old, b uint32) uint32 { return min(old, b) }
	case AtomMax:
		if signed {
			return func(old, b uint32) uint32 { return uint32(max(int32(old), int32(b))) }
		}
		return func(old, b uint32) uint32 { return max(old, b) }
	case AtomInc:
		return func(old, b uint32) uint32 {
			if old >= b {
				return 0
			}
			return old + 1
		}
	case AtomDec:
		return func(old, b uint32) uint32 {
			if old == 0 || old > b {
				return b
			}
			return old - 1
		}
	case AtomAnd:
		return func(old, b uint32) uint32 { return old & b }
	case AtomOr:
		return func(old, b uint32) uint32 { return old | b }
	case AtomXor:
		return func(old, b uint32) uint32 { return old ^ b }
	case AtomExch:
		return func(_, b uint32) uint32 { return b }
	}
	return nil
}

// globalAtomic32 is atomic32 for global memory.
func globalAtomic32(op Atomic, t Type) func(old, b uint32) uint32 {
	if t == F32 && op == AtomAdd {
		return addGlobal32
	}
	return atomic32(op, t)
}

// addGlobal32 adds in the second-level cache, which flushes subnormal numbers. A sum
// so small is exact, so that flushing it is enough.
func addGlobal32(old, b uint32) uint32 {
	return flush32(canon(f32(flush32(old)) + f32(flush32(b))))
}

func atomicHalf(op Atomic, t Type) func(old, b uint32) uint32 {
	k := kindF16
	if t == BF16 || t == BF16x2 {
		k = kindBF16
	}
	var one func(a, b uint32) uint32
	switch op {
	case AtomAdd:
		one = func(a, b uint32) uint32 {
			return roundTo(addOdd(float64(k.widen(a)), float64(k.widen(b))), k.f, RoundNearest)
		}
	case AtomMin:
		one = minMax16(k, false, 0)
	case AtomMax:
		one = minMax16(k, true, 0)
	default:
		return nil
	}
	if t.Bits() == 16 {
		return one
	}
	return func(a, b uint32) uint32 { return one(a&0xffff, b&0xffff) | one(a>>16, b>>16)<<16 }
}

func atomic64(op Atomic, t Type) func(old, b uint64) uint64 {
	signed := t == S64
	if t == F64 {
		if op == AtomAdd {
			return func(old, b uint64) uint64 { return canon64(f64(old) + f64(b)) }
		}
		return nil
	}
	switch op {
	case AtomAdd:
		return func(old, b uint64) uint64 { return old + b }
	case AtomMin:
		if signed {
			return func(old, b uint64) uint64 { return uint64(min(int64(old), int64(b))) }
		}
		return func(old, b uint64) uint64 { return min(old, b) }
	case AtomMax:
		if signed {
			return func(old, b uint64) uint64 { return uint64(max(int64(old), int64(b))) }
		}
		return func(old, b uint64) uint64 { return max(old, b) }
	case AtomAnd:
		return func(old, b uint64) uint64 { return old & b }
	case AtomOr:
		return func(old, b uint64) uint64 { return old | b }
	case AtomXor:
		return func(old, b uint64) uint64 { return old ^ b }
	case AtomExch:
		return func(_, b uint64) uint64 { return b }
	}
	return nil
}

// chooseAtom executes atom and red. Lanes act one after another in their order;
// blocks never act at the same time in a program with global atomics (see
// Program.Ordered).
//
// Regs are the operands, element by element; cas has the comparands in Regs and
// the new values in Dsts beyond the results.
func chooseAtom(in *Inst) (execFunc, Class) {
	t := in.Type
	if in.Atomic == AtomCas {
		switch t.Bits() {
		case 16, 32, 64:
			return execCas, ClassNone
		}
		return nil, ClassNone
	}
	n := len(in.Regs)
	if t.Bits() == 64 {
		f := atomic64(in.Atomic, t)
		if f == nil || n != 1 {
			return nil, ClassNone
		}
		return func(w *warp, s *step) {
			w.update(s, 8, func(v *view, l int) {
				p := v.data[w.offs[l]:]
				old := loadBytes(p, 64)
				storeBytes(p, 64, f(old, w.r64[int(s.rs[0])+l]))
				if s.in.Op == OpAtom {
					w.r64[int(s.ds[0])+l] = old
				}
			})
		}, ClassNone
	}
	f := atomic32(in.Atomic, t)
	if f == nil {
		return nil, ClassNone
	}
	tb := t.Bits()
	global := globalAtomic32(in.Atomic, t)
	return func(w *warp, s *step) {
		w.update(s, n*tb/8, func(v *view, l int) {
			f := f
			if v.space == SpaceGlobal {
				f = global
			}
			for k := range s.rs {
				p := v.data[w.offs[l]+k*tb/8:]
				old := uint32(loadBytes(p, tb))
				r := f(old, w.r32[int(s.rs[k])+l])
				storeBytes(p, tb, uint64(r))
				if s.in.Op == OpAtom && s.ds[k] >= 0 {
					w.r32[int(s.ds[k])+l] = old
				}
			}
		})
	}, ClassNone
}

// update calls f for every active lane at its place of size bytes.
func (w *warp) update(s *step, size int, f func(v *view, lane int)) {
	if s.in.Atomic == AtomCas || s.in.Atomic == AtomExch {
		w.cta.poll()
	}
	w.access(s, s.in.A.Class(), s.a, s.imm, s.in.Space, size, size, func(v *view) {
		w.countAtomic(s, v, size)
		w.checkAtomic(s, v, size)
		if w.synchronizes(s, v, size) {
			w.synchronize(s, v, size, func(lane int) { f(v, lane) })
			return
		}
		for m := v.mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			f(v, l)
			if v.buf != nil {
				v.buf.wrote(w.offs[l], size)
			}
		}
	})
}

// execCas executes compare and swap: Regs are the comparand and the new value.
func execCas(w *warp, s *step) {
	n := s.in.Type.Bits()
	get := func(off int32, class Class, l int) uint64 {
		if class == Class64 {
			return w.r64[int(off)+l]
		}
		return uint64(w.r32[int(off)+l])
	}
	w.update(s, n/8, func(v *view, l int) {
		p := v.data[w.offs[l]:]
		old := loadBytes(p, n)
		if old == get(s.rs[0], s.in.Regs[0].Class(), l) {
			storeBytes(p, n, get(s.rs[1], s.in.Regs[1].Class(), l))
		}
		if s.in.Op == OpRed || s.ds[0] < 0 {
			return
		}
		if s.in.Dsts[0].Class() == Class64 {
			w.r64[int(s.ds[0])+l] = old
		} else {
			w.r32[int(s.ds[0])+l] = uint32(old)
		}
	})
}
