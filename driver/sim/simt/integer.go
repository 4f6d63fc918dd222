package simt

import (
	"math"
	"math/bits"
)

// chooseInt executes integer arithmetic. Registers of 16 bits keep zeros above
// their value, so 16-bit results are cut and 16-bit signed operands extended.
func chooseInt(in *Inst) (execFunc, Class) {
	switch in.Type {
	case U16, S16, B16:
		return chooseInt16(in)
	case U32, S32, B32:
		return chooseInt32(in)
	case U64, S64, B64:
		return chooseInt64(in)
	case U16x2, S16x2:
		return chooseInt16x2(in)
	}
	return nil, ClassNone
}

func chooseInt32(in *Inst) (execFunc, Class) {
	signed := in.Type == S32
	switch in.Op {
	case OpAdd, OpSub:
		return chooseAdd32(in)
	case OpMul:
		switch {
		case in.Flags&FlagWide != 0 && signed:
			return func(w *warp, s *step) {
				d, a, b := w.d64(s), w.u32(s.a), w.u32(s.b)
				a, b = a[:len(d)], b[:len(d)]
				for i := range d {
					d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
				}
			}, Class64
		case in.Flags&FlagWide != 0:
			return func(w *warp, s *step) {
				d, a, b := w.d64(s), w.u32(s.a), w.u32(s.b)
				a, b = a[:len(d)], b[:len(d)]
				for i := range d {
					d[i] = uint64(a[i]) * uint64(b[i])
				}
			}, Class64
		case in.Flags&FlagHi != 0 && signed:
			return lanes2(func(a, b uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) })
		case in.Flags&FlagHi != 0:
			return lanes2(func(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) })
		}
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = a[i] * b[i]
			}
		}, Class32
	case OpMad:
		return chooseMad32(in)
	case OpMul24, OpMad24:
		return chooseMul24(in)
	case OpDiv:
		// Division by zero gives all ones and INT_MIN / -1 itself, as the
		// hardware does; PTX leaves both open.
		if signed {
			return lanes2(func(a, b uint32) uint32 {
				if b == 0 {
					return ^uint32(0)
				}
				return uint32(int64(int32(a)) / int64(int32(b)))
			})
		}
		return lanes2(func(a, b uint32) uint32 {
			if b == 0 {
				return ^uint32(0)
			}
			return a / b
		})
	case OpRem:
		if signed {
			return lanes2(func(a, b uint32) uint32 {
				if b == 0 {
					return a
				}
				return uint32(int64(int32(a)) % int64(int32(b)))
			})
		}
		return lanes2(func(a, b uint32) uint32 {
			if b == 0 {
				return a
			}
			return a % b
		})
	case OpAbs:
		return lanes1(func(a uint32) uint32 {
			if int32(a) < 0 {
				return -a
			}
			return a
		})
	case OpNeg:
		return lanes1(func(a uint32) uint32 { return -a })
	case OpMin, OpMax:
		relu := func(v uint32) uint32 { return v }
		if in.Flags&FlagRelu != 0 {
			relu = func(v uint32) uint32 { return uint32(max(int32(v), 0)) }
		}
		switch {
		case in.Op == OpMin && signed:
			return lanes2(func(a, b uint32) uint32 { return relu(uint32(min(int32(a), int32(b)))) })
		case in.Op == OpMin:
			return lanes2(func(a, b uint32) uint32 { return min(a, b) })
		case signed:
			return lanes2(func(a, b uint32) uint32 { return relu(uint32(max(int32(a), int32(b)))) })
		}
		return lanes2(func(a, b uint32) uint32 { return max(a, b) })
	case OpSad:
		if signed {
			return lanes3(func(a, b, c uint32) uint32 {
				if int32(a) < int32(b) {
					a, b = b, a
				}
				return c + a - b
			})
		}
		return lanes3(func(a, b, c uint32) uint32 { return c + max(a, b) - min(a, b) })
	}
	return nil, ClassNone
}

func chooseAdd32(in *Inst) (execFunc, Class) {
	if in.Flags&(FlagCarry|FlagCarryIn) != 0 {
		return chooseCarry(in, false)
	}
	if in.Flags&FlagSat != 0 {
		sign := int64(1)
		if in.Op == OpSub {
			sign = -1
		}
		return lanes2(func(a, b uint32) uint32 {
			return uint32(clamp32(int64(int32(a)) + sign*int64(int32(b))))
		})
	}
	if in.Op == OpAdd {
		return func(w *warp, s *step) {
			d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = a[i] + b[i]
			}
		}, Class32
	}
	return func(w *warp, s *step) {
		d, a, b := w.d32(s), w.u32(s.a), w.u32(s.b)
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] - b[i]
		}
	}, Class32
}

// clamp32 limits v to a signed integer of 32 bits.
func clamp32(v int64) int64 { return max(min(v, math.MaxInt32), math.MinInt32) }

func chooseMad32(in *Inst) (execFunc, Class) {
	signed := in.Type == S32
	switch {
	case in.Flags&(FlagCarry|FlagCarryIn) != 0:
		return chooseCarry(in, true)
	case in.Flags&FlagWide != 0:
		return func(w *warp, s *step) {
			d, a, b, c := w.d64(s), w.u32(s.a), w.u32(s.b), w.u64(s.c)
			a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
			if signed {
				for i := range d {
					d[i] = uint64(int64(int32(a[i]))*int64(int32(b[i]))) + c[i]
				}
				return
			}
			for i := range d {
				d[i] = uint64(a[i])*uint64(b[i]) + c[i]
			}
		}, Class64
	case in.Flags&FlagHi != 0:
		sat := in.Flags&FlagSat != 0
		if signed {
			return lanes3(func(a, b, c uint32) uint32 {
				hi := int64(int32(a)) * int64(int32(b)) >> 32
				if sat {
					return uint32(clamp32(hi + int64(int32(c))))
				}
				return uint32(hi) + c
			})
		}
		return lanes3(func(a, b, c uint32) uint32 { return uint32(uint64(a)*uint64(b)>>32) + c })
	}
	return func(w *warp, s *step) {
		d, a, b, c := w.d32(s), w.u32(s.a), w.u32(s.b), w.u32(s.c)
		a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
		for i := range d {
			d[i] = a[i]*b[i] + c[i]
		}
	}, Class32
}

// chooseCarry executes add.cc, addc, sub.cc, subc, mad.cc and madc of 32 and 64
// bits. A lane's carry is a bit of warp.carry; after a subtraction it is the
// borrow.
func chooseCarry(in *Inst, mad bool) (execFunc, Class) {
	signed := in.Type.Signed()
	hi := in.Flags&FlagHi != 0
	take := in.Flags&FlagCarryIn != 0
	give := in.Flags&FlagCarry != 0
	sub := in.Op == OpSub
	wide := in.Type.Bits() == 64
	one := func(a, b, c uint64, carry uint64) (uint64, uint64) {
		if mad {
			a = product(a, b, wide, signed, hi)
			b = c
		}
		switch {
		case wide && sub:
			return bits.Sub64(a, b, carry)
		case wide:
			return bits.Add64(a, b, carry)
		case sub:
			r, k := bits.Sub32(uint32(a), uint32(b), uint32(carry))
			return uint64(r), uint64(k)
		}
		r, k := bits.Add32(uint32(a), uint32(b), uint32(carry))
		return uint64(r), uint64(k)
	}
	return func(w *warp, s *step) {
		out := w.carry
		for i := range w.n {
			if w.mask>>i&1 == 0 {
				continue
			}
			var a, b, c, carry uint64
			if wide {
				a, b = w.r64[int(s.a)+i], w.r64[int(s.b)+i]
				if mad {
					c = w.r64[int(s.c)+i]
				}
			} else {
				a, b = uint64(w.r32[int(s.a)+i]), uint64(w.r32[int(s.b)+i])
				if mad {
					c = uint64(w.r32[int(s.c)+i])
				}
			}
			if take {
				carry = w.carry >> i & 1
			}
			r, k := one(a, b, c, carry)
			if wide {
				w.r64[int(s.d)+i] = r
			} else {
				w.r32[int(s.d)+i] = uint32(r)
			}
			out = out&^(1<<i) | k<<i
		}
		if give {
			w.carry = out
		}
	}, ClassNone
}

// product is the low or high half of a 32- or 64-bit product.
func product(a, b uint64, wide, signed, hi bool) uint64 {
	switch {
	case !hi:
		return a * b
	case wide && signed:
		return mulHi64(a, b)
	case wide:
		h, _ := bits.Mul64(a, b)
		return h
	case signed:
		return uint64(uint32(int64(int32(a)) * int64(int32(b)) >> 32))
	}
	return uint64(uint32(a)) * uint64(uint32(b)) >> 32
}

// mulHi64 is the high half of a signed product.
func mulHi64(a, b uint64) uint64 {
	h, _ := bits.Mul64(a, b)
	if int64(a) < 0 {
		h -= b
	}
	if int64(b) < 0 {
		h -= a
	}
	return h
}

func chooseMul24(in *Inst) (execFunc, Class) {
	signed := in.Type == S32
	hi := in.Flags&FlagHi != 0
	sat := in.Flags&FlagSat != 0
	mul := func(a, b uint32) uint32 {
		var p uint64
		if signed {
			p = uint64(int64(int32(a)<<8>>8) * int64(int32(b)<<8>>8))
		} else {
			p = uint64(a&0xffffff) * uint64(b&0xffffff)
		}
		if hi {
			p >>= 16
		}
		return uint32(p)
	}
	if in.Op == OpMul24 {
		return lanes2(mul)
	}
	return lanes3(func(a, b, c uint32) uint32 {
		if sat {
			return uint32(clamp32(int64(int32(mul(a, b))) + int64(int32(c))))
		}
		return mul(a, b) + c
	})
}

func chooseInt64(in *Inst) (execFunc, Class) {
	signed := in.Type == S64
	switch in.Op {
	case OpAdd, OpSub:
		if in.Flags&(FlagCarry|FlagCarryIn) != 0 {
			return chooseCarry(in, false)
		}
		if in.Op == OpAdd {
			return func(w *warp, s *step) {
				d, a, b := w.d64(s), w.u64(s.a), w.u64(s.b)
				a, b = a[:len(d)], b[:len(d)]
				for i := range d {
					d[i] = a[i] + b[i]
				}
			}, Class64
		}
		return wide2(func(a, b uint64) uint64 { return a - b })
	case OpMul:
		hi := in.Flags&FlagHi != 0
		return wide2(func(a, b uint64) uint64 { return product(a, b, true, signed, hi) })
	case OpMad:
		if in.Flags&(FlagCarry|FlagCarryIn) != 0 {
			return chooseCarry(in, true)
		}
		hi := in.Flags&FlagHi != 0
		return wide3(func(a, b, c uint64) uint64 { return product(a, b, true, signed, hi) + c })
	case OpDiv:
		if signed {
			return wide2(func(a, b uint64) uint64 {
				switch {
				case b == 0:
					return ^uint64(0)
				case int64(b) == -1:
					return -a
				}
				return uint64(int64(a) / int64(b))
			})
		}
		return wide2(func(a, b uint64) uint64 {
			if b == 0 {
				return ^uint64(0)
			}
			return a / b
		})
	case OpRem:
		if signed {
			return wide2(func(a, b uint64) uint64 {
				switch {
				case b == 0:
					return a
				case int64(b) == -1:
					return 0
				}
				return uint64(int64(a) % int64(b))
			})
		}
		return wide2(func(a, b uint64) uint64 {
			if b == 0 {
				return a
			}
			return a % b
		})
	case OpAbs:
		return wide1(func(a uint64) uint64 {
			if int64(a) < 0 {
				return -a
			}
			return a
		})
	case OpNeg:
		return wide1(func(a uint64) uint64 { return -a })
	case OpMin:
		if signed {
			return wide2(func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) })
		}
		return wide2(func(a, b uint64) uint64 { return min(a, b) })
	case OpMax:
		if signed {
			return wide2(func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) })
		}
		return wide2(func(a, b uint64) uint64 { return max(a, b) })
	case OpSad:
		if signed {
			return wide3(func(a, b, c uint64) uint64 {
				if int64(a) < int64(b) {
					a, b = b, a
				}
				return c + a - b
			})
		}
		return wide3(func(a, b, c uint64) uint64 { return c + max(a, b) - min(a, b) })
	}
	return nil, ClassNone
}

func sext16(a uint32) int32 { return int32(int16(a)) }

func chooseInt16(in *Inst) (execFunc, Class) {
	signed := in.Type == S16
	ext := func(a uint32) int64 { return int64(a & 0xffff) }
	if signed {
		ext = func(a uint32) int64 { return int64(int16(a)) }
	}
	cut := func(v int64) uint32 { return uint32(uint16(v)) }
	switch in.Op {
	case OpAdd:
		return lanes2(func(a, b uint32) uint32 { return (a + b) & 0xffff })
	case OpSub:
		return lanes2(func(a, b uint32) uint32 { return (a - b) & 0xffff })
	case OpMul:
		switch {
		case in.Flags&FlagWide != 0:
			return lanes2(func(a, b uint32) uint32 { return uint32(ext(a) * ext(b)) })
		case in.Flags&FlagHi != 0:
			return lanes2(func(a, b uint32) uint32 { return cut(ext(a) * ext(b) >> 16) })
		}
		return lanes2(func(a, b uint32) uint32 { return a * b & 0xffff })
	case OpMad:
		switch {
		case in.Flags&FlagWide != 0:
			return lanes3(func(a, b, c uint32) uint32 { return uint32(ext(a)*ext(b)) + c })
		case in.Flags&FlagHi != 0:
			return lanes3(func(a, b, c uint32) uint32 { return cut(ext(a)*ext(b)>>16 + int64(c)) })
		}
		return lanes3(func(a, b, c uint32) uint32 { return (a*b + c) & 0xffff })
	case OpDiv:
		return lanes2(func(a, b uint32) uint32 {
			if b&0xffff == 0 {
				return 0xffff
			}
			return cut(ext(a) / ext(b))
		})
	case OpRem:
		return lanes2(func(a, b uint32) uint32 {
			if b&0xffff == 0 {
				return a
			}
			return cut(ext(a) % ext(b))
		})
	case OpAbs:
		return lanes1(func(a uint32) uint32 {
			if int16(a) < 0 {
				return -a & 0xffff
			}
			return a
		})
	case OpNeg:
		return lanes1(func(a uint32) uint32 { return -a & 0xffff })
	case OpMin:
		return lanes2(func(a, b uint32) uint32 { return cut(min(ext(a), ext(b))) })
	case OpMax:
		return lanes2(func(a, b uint32) uint32 { return cut(max(ext(a), ext(b))) })
	case OpSad:
		return lanes3(func(a, b, c uint32) uint32 { return cut(max(ext(a), ext(b)) - min(ext(a), ext(b)) + int64(c)) })
	}
	return nil, ClassNone
}

func chooseInt16x2(in *Inst) (execFunc, Class) {
	signed := in.Type == S16x2
	half := func(f func(a, b uint32) uint32) (execFunc, Class) {
		return lanes2(func(a, b uint32) uint32 {
			return f(a&0xffff, b&0xffff)&0xffff | f(a>>16, b>>16)<<16
		})
	}
	relu := in.Flags&FlagRelu != 0
	pick := func(better func(a, b int32) int32) func(a, b uint32) uint32 {
		return func(a, b uint32) uint32 {
			if !signed {
				return uint32(better(int32(a), int32(b)))
			}
			v := better(sext16(a), sext16(b))
			if relu {
				v = max(v, 0)
			}
			return uint32(v)
		}
	}
	switch in.Op {
	case OpAdd:
		return half(func(a, b uint32) uint32 { return a + b })
	case OpSub:
		return half(func(a, b uint32) uint32 { return a - b })
	case OpMin:
		return half(pick(func(a, b int32) int32 { return min(a, b) }))
	case OpMax:
		return half(pick(func(a, b int32) int32 { return max(a, b) }))
	case OpNeg:
		return lanes1(func(a uint32) uint32 { return -a&0xffff | -(a>>16)<<16 })
	}
	return nil, ClassNone
}
