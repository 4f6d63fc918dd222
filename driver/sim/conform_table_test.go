package sim

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// conforms is the whole suite.
func conforms() []conform {
	var out []conform
	out = append(out, integerConforms()...)
	out = append(out, bitConforms()...)
	out = append(out, floatConforms()...)
	out = append(out, halfConforms()...)
	out = append(out, compareConforms()...)
	out = append(out, convertConforms()...)
	return append(out, approxConforms()...)
}

// bigOf is an integer operand of type t.
func bigOf(t string, v uint64) *big.Int {
	n := ptxBits(t)
	x := new(big.Int).SetUint64(v)
	if t[0] == 's' && v>>(n-1)&1 == 1 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(n)))
	}
	return x
}

// cutBig is x modulo 2^n.
func cutBig(x *big.Int, n int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int).Mod(x, m).Uint64()
}

// bigRef lifts a function of integers; the result is cut to the type of d.
func bigRef(d string, src []string, f func(v []*big.Int) *big.Int) func([]uint64) uint64 {
	return func(v []uint64) uint64 {
		args := make([]*big.Int, len(src))
		for i, s := range src {
			args[i] = bigOf(s, v[i])
		}
		return cutBig(f(args), ptxBits(d))
	}
}

func clampBig(x *big.Int, t string) *big.Int {
	n := uint(ptxBits(t))
	lo, hi := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), n)
	if t[0] == 's' {
		hi.Rsh(hi, 1)
		lo.Neg(hi)
	}
	hi.Sub(hi, big.NewInt(1))
	if x.Cmp(lo) < 0 {
		return lo
	}
	if x.Cmp(hi) > 0 {
		return hi
	}
	return x
}

func bi() *big.Int { return new(big.Int) }

func integerConforms() []conform {
	var out []conform
	add := func(text, d string, src []string, f func(v []*big.Int) *big.Int) {
		out = append(out, conform{text: text, d: d, src: src, ref: bigRef(d, src, f)})
	}
	for _, t := range []string{"s16", "u16", "s32", "u32", "s64", "u64"} {
		n := uint(ptxBits(t))
		two, three := []string{t, t}, []string{t, t, t}
		op := func(name string, src []string, f func(v []*big.Int) *big.Int) {
			names := []string{"$a", "$b", "$c"}[:len(src)]
			add(fmt.Sprintf("%s.%s $d, %s;", name, t, strings.Join(names, ", ")), t, src, f)
		}
		op("add", two, func(v []*big.Int) *big.Int { return bi().Add(v[0], v[1]) })
		op("sub", two, func(v []*big.Int) *big.Int { return bi().Sub(v[0], v[1]) })
		op("mul.lo", two, func(v []*big.Int) *big.Int { return bi().Mul(v[0], v[1]) })
		op("mul.hi", two, func(v []*big.Int) *big.Int { return bi().Rsh(bi().Mul(v[0], v[1]), n) })
		op("mad.lo", three, func(v []*big.Int) *big.Int { return bi().Add(bi().Mul(v[0], v[1]), v[2]) })
		op("mad.hi", three, func(v []*big.Int) *big.Int { return bi().Add(bi().Rsh(bi().Mul(v[0], v[1]), n), v[2]) })
		op("min", two, func(v []*big.Int) *big.Int {
			if v[0].Cmp(v[1]) < 0 {
				return v[0]
			}
			return v[1]
		})
		op("max", two, func(v []*big.Int) *big.Int {
			if v[0].Cmp(v[1]) > 0 {
				return v[0]
			}
			return v[1]
		})
		op("sad", three, func(v []*big.Int) *big.Int { return bi().Add(bi().Abs(bi().Sub(v[0], v[1])), v[2]) })
		zero := func(v []uint64) bool { return v[1] == 0 }
		op("div", two, func(v []*big.Int) *big.Int { return bi().Quo(v[0], v[1]) })
		out[len(out)-1].skip = zero
		op("rem", two, func(v []*big.Int) *big.Int { return bi().Rem(v[0], v[1]) })
		out[len(out)-1].skip = zero
		if t[0] == 's' {
			op("abs", two[:1], func(v []*big.Int) *big.Int { return bi().Abs(v[0]) })
			op("neg", two[:1], func(v []*big.Int) *big.Int { return bi().Neg(v[0]) })
		}
		if n < 64 {
			d := fmt.Sprintf("%c%d", t[0], 2*n)
			add("mul.wide."+t+" $d, $a, $b;", d, two, func(v []*big.Int) *big.Int { return bi().Mul(v[0], v[1]) })
			add("mad.wide."+t+" $d, $a, $b, $c;", d, []string{t, t, d}, func(v []*big.Int) *big.Int { return bi().Add(bi().Mul(v[0], v[1]), v[2]) })
		}
	}
	two, three := []string{"s32", "s32"}, []string{"s32", "s32", "s32"}
	add("add.sat.s32 $d, $a, $b;", "s32", two, func(v []*big.Int) *big.Int { return clampBig(bi().Add(v[0], v[1]), "s32") })
	add("sub.sat.s32 $d, $a, $b;", "s32", two, func(v []*big.Int) *big.Int { return clampBig(bi().Sub(v[0], v[1]), "s32") })
	add("mad.hi.sat.s32 $d, $a, $b, $c;", "s32", three, func(v []*big.Int) *big.Int {
		return clampBig(bi().Add(bi().Rsh(bi().Mul(v[0], v[1]), 32), v[2]), "s32")
	})
	for _, t := range []string{"s32", "u32"} {
		low24 := func(x *big.Int) *big.Int {
			v := cutBig(x, 24)
			if t == "s32" {
				return big.NewInt(int64(int32(v<<8)) >> 8)
			}
			return bi().SetUint64(v)
		}
		for _, half := range []string{"lo", "hi"} {
			sh := uint(0)
			if half == "hi" {
				sh = 16
			}
			add(fmt.Sprintf("mul24.%s.%s $d, $a, $b;", half, t), t, []string{t, t}, func(v []*big.Int) *big.Int {
				return bi().Rsh(bi().Mul(low24(v[0]), low24(v[1])), sh)
			})
			add(fmt.Sprintf("mad24.%s.%s $d, $a, $b, $c;", half, t), t, []string{t, t, t}, func(v []*big.Int) *big.Int {
				return bi().Add(bi().Rsh(bi().Mul(low24(v[0]), low24(v[1])), sh), v[2])
			})
		}
	}
	// Carries: 64-bit sums and differences by halves, and a 96-bit product.
	split := "mov.b64 {%t4, %t5}, $a; mov.b64 {%t6, %t7}, $b; "
	wide := []string{"u64", "u64"}
	add("{ "+split+"add.cc.u32 %t4, %t4, %t6; addc.u32 %t5, %t5, %t7; mov.b64 $d, {%t4, %t5}; }", "u64", wide,
		func(v []*big.Int) *big.Int { return bi().Add(v[0], v[1]) })
	add("{ "+split+"sub.cc.u32 %t4, %t4, %t6; subc.u32 %t5, %t5, %t7; mov.b64 $d, {%t4, %t5}; }", "u64", wide,
		func(v []*big.Int) *big.Int { return bi().Sub(v[0], v[1]) })
	add("{ mad.lo.cc.u32 %t4, $a, $b, $c; madc.hi.u32 %t5, $a, $b, 0; mov.b64 $d, {%t4, %t5}; }", "u64", []string{"u32", "u32", "u32"},
		func(v []*big.Int) *big.Int { return bi().Add(bi().Mul(v[0], v[1]), v[2]) })
	add("{ add.cc.u64 %p2, $a, $b; addc.u64 $d, $a, 0; }", "u64", wide, func(v []*big.Int) *big.Int {
		return bi().Add(v[0], bi().Rsh(bi().Add(v[0], v[1]), 64))
	})
	return out
}

func bitConforms() []conform {
	var out []conform
	add := func(text, d string, src []string, f func(v []uint64) uint64) {
		out = append(out, conform{text: text, d: d, src: src, ref: f})
	}
	for _, n := range []int{16, 32, 64} {
		t := fmt.Sprintf("b%d", n)
		mask := ^uint64(0) >> (64 - n)
		two := []string{t, t}
		add("and."+t+" $d, $a, $b;", t, two, func(v []uint64) uint64 { return v[0] & v[1] })
		add("or."+t+" $d, $a, $b;", t, two, func(v []uint64) uint64 { return v[0] | v[1] })
		add("xor."+t+" $d, $a, $b;", t, two, func(v []uint64) uint64 { return v[0] ^ v[1] })
		add("not."+t+" $d, $a;", t, two[:1], func(v []uint64) uint64 { return ^v[0] & mask })
		add("cnot."+t+" $d, $a;", t, two[:1], func(v []uint64) uint64 {
			if v[0] == 0 {
				return 1
			}
			return 0
		})
		shift := func(v uint64) uint { return uint(min(v, uint64(n))) }
		add("shl."+t+" $d, $a, $b;", t, []string{t, "u32"}, func(v []uint64) uint64 { return v[0] << shift(v[1]) & mask })
		add(fmt.Sprintf("shr.u%d $d, $a, $b;", n), t, []string{t, "u32"}, func(v []uint64) uint64 { return v[0] >> shift(v[1]) })
		s := fmt.Sprintf("s%d", n)
		add("shr."+s+" $d, $a, $b;", t, []string{s, "u32"}, func(v []uint64) uint64 {
			return cutBig(bi().Rsh(bigOf(s, v[0]), shift(v[1])), n)
		})
		add("selp."+t+" $d, $a, $b, $c;", t, []string{t, t, "pred"}, func(v []uint64) uint64 {
			if v[2] != 0 {
				return v[0]
			}
			return v[1]
		})
		add("slct."+t+".s32 $d, $a, $b, $c;", t, []string{t, t, "s32"}, func(v []uint64) uint64 {
			if int32(v[2]) >= 0 {
				return v[0]
			}
			return v[1]
		})
		add("slct."+t+".f32 $d, $a, $b, $c;", t, []string{t, t, "f32"}, func(v []uint64) uint64 {
			if math.Float32frombits(uint32(v[2])) >= 0 {
				return v[0]
			}
			return v[1]
		})
	}
	for _, p := range []string{"and", "or", "xor"} {
		add(p+".pred $d, $a, $b;", "pred", []string{"pred", "pred"}, func(v []uint64) uint64 {
			switch p {
			case "and":
				return v[0] & v[1]
			case "or":
				return v[0] | v[1]
			}
			return v[0] ^ v[1]
		})
	}
	add("not.pred $d, $a;", "pred", []string{"pred"}, func(v []uint64) uint64 { return v[0] ^ 1 })
	for _, n := range []int{32, 64} {
		u, s, b := fmt.Sprintf("u%d", n), fmt.Sprintf("s%d", n), fmt.Sprintf("b%d", n)
		add("popc."+b+" $d, $a;", "u32", []string{b}, func(v []uint64) uint64 { return uint64(bits.OnesCount64(v[0])) })
		add("clz."+b+" $d, $a;", "u32", []string{b}, func(v []uint64) uint64 { return uint64(n - bits.Len64(v[0])) })
		add("brev."+b+" $d, $a;", b, []string{b}, func(v []uint64) uint64 { return bits.Reverse64(v[0]) >> (64 - n) })
		for _, t := range []string{u, s} {
			for _, amt := range []string{"", ".shiftamt"} {
				add("bfind"+amt+"."+t+" $d, $a;", "u32", []string{t}, func(v []uint64) uint64 {
					x := bigOf(t, v[0])
					if x.Sign() < 0 {
						x.Not(x)
					}
					p := x.BitLen() - 1
					if p < 0 {
						return 0xffffffff
					}
					if amt != "" {
						return uint64(n - 1 - p)
					}
					return uint64(p)
				})
			}
			// Positions and lengths are taken from the low byte.
			add("{ and.b32 %t4, $b, 255; and.b32 %t5, $c, 255; bfe."+t+" $d, $a, %t4, %t5; }", t, []string{t, "u32", "u32"}, func(v []uint64) uint64 {
				pos, length := int(v[1]&255), int(v[2]&255)
				sign := uint64(0)
				if t[0] == 's' && length > 0 {
					sign = v[0] >> min(pos+length-1, n-1) & 1
				}
				r := uint64(0)
				for i := range n {
					bit := sign
					if i < length && pos+i < n {
						bit = v[0] >> (pos + i) & 1
					}
					r |= bit << i
				}
				return r
			})
		}
		out = append(out, conform{
			text: "{ and.b32 %t4, $c, 63; shr.u32 %t5, $c, 24; bfi." + b + " $d, $a, $b, %t4, %t5; }", d: b, src: []string{b, b, "u32"},
			ref: func(v []uint64) uint64 {
				pos, length := int(v[2]&63), int(v[2]>>24)
				r := v[1]
				for i := 0; i < length && pos+i < n; i++ {
					r = r&^(1<<(pos+i)) | v[0]>>i&1<<(pos+i)
				}
				return r
			},
		})
	}
	w := []string{"b32", "b32", "b32"}
	for _, dir := range []string{"l", "r"} {
		for _, mode := range []string{"clamp", "wrap"} {
			add("shf."+dir+"."+mode+".b32 $d, $a, $b, $c;", "b32", w, func(v []uint64) uint64 {
				k := v[2] & 31
				if mode == "clamp" {
					k = min(v[2], 32)
				}
				x := bi().Or(bi().Lsh(bi().SetUint64(v[1]), 32), bi().SetUint64(v[0]))
				if dir == "l" {
					return cutBig(bi().Rsh(bi().Lsh(x, uint(k)), 32), 32)
				}
				return cutBig(bi().Rsh(x, uint(k)), 32)
			})
		}
	}
	for _, table := range []int{0x00, 0x96, 0xe8, 0xca, 0x1b, 0xff, 0x80, 0x6a} {
		add(fmt.Sprintf("lop3.b32 $d, $a, $b, $c, %d;", table), "b32", w, func(v []uint64) uint64 {
			r := uint64(0)
			for i := range 32 {
				k := v[0]>>i&1<<2 | v[1]>>i&1<<1 | v[2]>>i&1
				r |= uint64(table) >> k & 1 << i
			}
			return r
		})
	}
	selectors := map[string][4][4]int{
		"f4e": {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}, "b4e": {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}},
		"rc8": {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, "ecl": {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}},
		"ecr": {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}, "rc16": {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}},
	}
	for _, mode := range []string{"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"} {
		name := "prmt.b32"
		if mode != "" {
			name += "." + mode
		}
		add(name+" $d, $a, $b, $c;", "b32", w, func(v []uint64) uint64 {
			r := uint64(0)
			for i := range 4 {
				k := int(v[2] >> (4 * i) & 15)
				if mode != "" {
					k = selectors[mode][v[2]&3][3-i]
				}
				src := v[0]
				if k&4 != 0 {
					src = v[1]
				}
				x := src >> (k & 3 * 8) & 255
				if k&8 != 0 {
					x = 255 * (x >> 7)
				}
				r |= x << (8 * i)
			}
			return r
		})
	}
	for _, ta := range []string{"u32", "s32"} {
		for _, tb := range []string{"u32", "s32"} {
			part := func(t string, v uint64, n, k int) int64 {
				x := int64(v >> (n * k) & (1<<n - 1))
				if t == "s32" && x>>(n-1) != 0 {
					x -= 1 << n
				}
				return x
			}
			add("dp4a."+ta+"."+tb+" $d, $a, $b, $c;", "b32", w, func(v []uint64) uint64 {
				s := int64(v[2])
				for k := range 4 {
					s += part(ta, v[0], 8, k) * part(tb, v[1], 8, k)
				}
				return uint64(uint32(s))
			})
			for h, half := range []string{"lo", "hi"} {
				add("dp2a."+half+"."+ta+"."+tb+" $d, $a, $b, $c;", "b32", w, func(v []uint64) uint64 {
					s := int64(v[2])
					for k := range 2 {
						s += part(ta, v[0], 16, k) * part(tb, v[1], 8, 2*h+k)
					}
					return uint64(uint32(s))
				})
			}
		}
	}
	for _, mode := range []string{"clamp", "wrap"} {
		add("bmsk."+mode+".b32 $d, $a, $b;", "b32", []string{"u32", "u32"}, func(v []uint64) uint64 {
			a, b := v[0], v[1]
			if mode == "wrap" {
				a, b = a&31, b&31
			}
			return cutBig(bi().Lsh(bi().Sub(bi().Lsh(big.NewInt(1), uint(min(b, 32))), big.NewInt(1)), uint(min(a, 32))), 32)
		})
		for _, t := range []string{"u32", "s32"} {
			add("szext."+mode+"."+t+" $d, $a, $b;", t, []string{t, "u32"}, func(v []uint64) uint64 {
				n := min(v[1], 32)
				if mode == "wrap" {
					n = v[1] & 31
				}
				x := v[0] & (1<<n - 1)
				if t == "s32" && n > 0 && x>>(n-1) != 0 {
					x |= ^uint64(0) << n
				}
				return x & 0xffffffff
			})
		}
	}
	add("{ and.b32 %t4, $b, 31; shr.s32 %t5, $c, 26; fns.b32 $d, $a, %t4, %t5; }", "b32", []string{"b32", "b32", "s32"}, func(v []uint64) uint64 {
		base, off := int(v[1]&31), int(int32(v[2])>>26)
		if off == 0 {
			if v[0]>>base&1 != 0 {
				return uint64(base)
			}
			return 0xffffffff
		}
		step := 1
		if off < 0 {
			step, off = -1, -off
		}
		for p := base; p >= 0 && p < 32; p += step {
			if v[0]>>p&1 != 0 {
				if off--; off == 0 {
					return uint64(p)
				}
			}
		}
		return 0xffffffff
	})
	return out
}

var roundings = []string{"rn", "rz", "rm", "rp"}

func floatConforms() []conform {
	var out []conform
	for _, t := range []string{"f32", "f64"} {
		f := floatFormats[t]
		two, three := []string{t, t}, []string{t, t, t}
		for _, mode := range roundings {
			for _, suffix := range []string{"", ".ftz", ".sat", ".ftz.sat"} {
				if suffix != "" && t == "f64" {
					continue
				}
				m := fmods{mode: mode, ftz: strings.Contains(suffix, "ftz"), sat: strings.Contains(suffix, "sat")}
				tail := "." + mode + suffix + "." + t
				out = append(out,
					conform{text: "add" + tail + " $d, $a, $b;", d: t, src: two, ref: f.refAdd(m, false)},
					conform{text: "sub" + tail + " $d, $a, $b;", d: t, src: two, ref: f.refAdd(m, true)},
					conform{text: "mul" + tail + " $d, $a, $b;", d: t, src: two, ref: f.refFma(m, true)},
					conform{text: "fma" + tail + " $d, $a, $b, $c;", d: t, src: three, ref: f.refFma(m, false)})
				if m.sat {
					continue
				}
				one := func(v []uint64) []uint64 { return []uint64{f.round(exact(1), "rn", false), v[0]} }
				div := f.refDiv(m)
				out = append(out,
					conform{text: "div" + tail + " $d, $a, $b;", d: t, src: two, ref: div},
					conform{text: "rcp" + tail + " $d, $a;", d: t, src: two[:1], ref: func(v []uint64) uint64 { return div(one(v)) }},
					conform{text: "sqrt" + tail + " $d, $a;", d: t, src: two[:1], ref: f.refSqrt(m)})
			}
		}
		signBit := uint64(1) << (f.mant + f.exp)
		for _, ftz := range []bool{false, true} {
			if ftz && t == "f64" {
				continue
			}
			m := fmods{ftz: ftz}
			tail := "." + t
			if ftz {
				tail = ".ftz." + t
			}
			out = append(out,
				conform{
					text: "abs" + tail + " $d, $a;", d: t, src: two[:1], ref: func(v []uint64) uint64 { return f.in(v[0], m) &^ signBit },
					skip: func(v []uint64) bool { return f.isNaN(v[0]) },
				},
				conform{
					text: "neg" + tail + " $d, $a;", d: t, src: two[:1], ref: func(v []uint64) uint64 { return f.in(v[0], m) ^ signBit },
					skip: func(v []uint64) bool { return f.isNaN(v[0]) },
				})
			for k, name := range []string{"min", "max"} {
				c := conform{text: name + tail + " $d, $a, $b;", d: t, src: two, ref: f.refMinMax(k == 1, false, false, m)}
				if t == "f64" {
					c.skip = func(v []uint64) bool { return f.isNaN(v[0]) || f.isNaN(v[1]) }
				}
				out = append(out, c)
				if t == "f32" {
					out = append(out,
						conform{text: name + strings.Replace(tail, ".f32", ".NaN.f32", 1) + " $d, $a, $b;", d: t, src: two, ref: f.refMinMax(k == 1, true, false, m)},
						conform{
							text: name + strings.Replace(tail, ".f32", ".xorsign.abs.f32", 1) + " $d, $a, $b;", d: t, src: two, ref: f.refMinMax(k == 1, false, true, m),
							skip: func(v []uint64) bool { return f.isNaN(v[0]) || f.isNaN(v[1]) },
						})
				}
			}
		}
		out = append(out, conform{text: "copysign." + t + " $d, $a, $b;", d: t, src: two, ref: func(v []uint64) uint64 { return v[0]&signBit | v[1]&^signBit }})
		for _, kind := range []string{"finite", "infinite", "number", "notanumber", "normal", "subnormal"} {
			out = append(out, conform{text: "testp." + kind + "." + t + " $d, $a;", d: "pred", src: two[:1], ref: func(v []uint64) uint64 {
				inf, nan := f.isInf(v[0]), f.isNaN(v[0])
				ok := map[string]bool{
					"finite": !inf && !nan, "infinite": inf, "number": !nan, "notanumber": nan,
					"normal": !inf && !nan && !f.subnormal(v[0]), "subnormal": f.subnormal(v[0]),
				}[kind]
				if ok {
					return 1
				}
				return 0
			}})
		}
	}
	// A NaN of double precision keeps a payload that PTX does not define.
	for i := range out {
		if c := &out[i]; c.d == "f64" && c.skip == nil {
			ref := c.ref
			f := floatFormats["f64"]
			c.skip = func(v []uint64) bool { return f.isNaN(ref(v)) }
		}
	}
	return out
}

func halfConforms() []conform {
	var out []conform
	pair := func(ref func([]uint64) uint64) func([]uint64) uint64 {
		return func(v []uint64) uint64 {
			lo, hi := make([]uint64, len(v)), make([]uint64, len(v))
			for i, x := range v {
				lo[i], hi[i] = x&0xffff, x>>16
			}
			return ref(lo) | ref(hi)<<16
		}
	}
	add := func(name, tail, t string, n int, ref func([]uint64) uint64, ulp float64) {
		names := []string{"$a", "$b", "$c"}[:n]
		for _, x := range []string{"", "x2"} {
			src := []string{t + x, t + x, t + x}[:n]
			r := ref
			if x != "" {
				r = pair(ref)
			}
			out = append(out, conform{text: name + tail + "." + t + x + " $d, " + strings.Join(names, ", ") + ";", d: t + x, src: src, ref: r, ulp: ulp})
		}
	}
	for _, t := range []string{"f16", "bf16"} {
		f := floatFormats[t]
		suffixes := []string{"", ".ftz", ".sat", ".ftz.sat"}
		if t == "bf16" {
			suffixes = suffixes[:1]
		}
		for _, suffix := range suffixes {
			m := fmods{mode: "rn", ftz: strings.Contains(suffix, "ftz"), sat: strings.Contains(suffix, "sat")}
			tail := ".rn" + suffix
			add("add", tail, t, 2, f.refAdd(m, false), 0)
			add("sub", tail, t, 2, f.refAdd(m, true), 0)
			add("mul", tail, t, 2, f.refFma(m, true), 0)
			add("fma", tail, t, 3, f.refFma(m, false), 0)
		}
		add("fma", ".rn.relu", t, 3, f.refFma(fmods{mode: "rn", relu: true}, false), 0)
		for k, name := range []string{"min", "max"} {
			add(name, "", t, 2, f.refMinMax(k == 1, false, false, fmods{}), 0)
			add(name, ".NaN", t, 2, f.refMinMax(k == 1, true, false, fmods{}), 0)
		}
		skipNaN := func(c *conform) {
			c.skip = func(v []uint64) bool {
				return f.isNaN(v[0]&0xffff) || strings.HasSuffix(c.d, "x2") && f.isNaN(v[0]>>16)
			}
		}
		at := len(out)
		add("abs", "", t, 1, func(v []uint64) uint64 { return v[0] &^ 0x8000 }, 0)
		add("neg", "", t, 1, func(v []uint64) uint64 { return v[0] ^ 0x8000 }, 0)
		for i := at; i < len(out); i++ {
			skipNaN(&out[i])
		}
	}
	return out
}

func compareConforms() []conform {
	var out []conform
	ordered := map[string]func(c int) bool{
		"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
		"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
	}
	names := []string{"eq", "ne", "lt", "le", "gt", "ge"}
	one := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for _, t := range []string{"s16", "u16", "s32", "u32", "s64", "u64"} {
		for _, n := range names {
			f := func(v []uint64) bool { return ordered[n](bigOf(t, v[0]).Cmp(bigOf(t, v[1]))) }
			out = append(out, conform{text: "setp." + n + "." + t + " $d, $a, $b;", d: "pred", src: []string{t, t}, ref: func(v []uint64) uint64 { return one(f(v)) }})
		}
	}
	for _, n := range []string{"lo", "ls", "hi", "hs"} {
		same := map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[n]
		out = append(out, conform{text: "setp." + n + ".u32 $d, $a, $b;", d: "pred", src: []string{"u32", "u32"}, ref: func(v []uint64) uint64 {
			return one(ordered[same](bigOf("u32", v[0]).Cmp(bigOf("u32", v[1]))))
		}})
	}
	floatCompare := func(n string, x, y float64) bool {
		nan := x != x || y != y
		switch n {
		case "num":
			return !nan
		case "nan":
			return nan
		}
		base, unordered := n, false
		if len(n) == 3 {
			base, unordered = n[:2], true
		}
		if nan {
			return unordered
		}
		c := 0
		if x < y {
			c = -1
		} else if x > y {
			c = 1
		}
		return ordered[base](c)
	}
	for _, t := range []string{"f16", "bf16", "f32", "f64"} {
		f := floatFormats[t]
		for _, n := range append(names, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan") {
			for _, ftz := range []bool{false, true} {
				if ftz && t != "f32" && t != "f16" {
					continue
				}
				m := fmods{ftz: ftz}
				name := n
				if ftz {
					name += ".ftz"
				}
				ref := func(v []uint64) uint64 { return one(floatCompare(n, f.value(f.in(v[0], m)), f.value(f.in(v[1], m)))) }
				out = append(out, conform{text: "setp." + name + "." + t + " $d, $a, $b;", d: "pred", src: []string{t, t}, ref: ref})
				if t == "f32" {
					out = append(out, conform{text: "set." + name + ".u32.f32 $d, $a, $b;", d: "u32", src: []string{t, t}, ref: func(v []uint64) uint64 { return 0xffffffff * ref(v) }},
						conform{text: "set." + name + ".f32.f32 $d, $a, $b;", d: "f32", src: []string{t, t}, ref: func(v []uint64) uint64 { return 0x3f800000 * ref(v) }})
				}
			}
		}
	}
	for _, b := range []string{"and", "or", "xor"} {
		out = append(out, conform{text: "setp.lt." + b + ".s32 $d|%q3, $a, $b, $c;", d: "pred", src: []string{"s32", "s32", "pred"}, ref: func(v []uint64) uint64 {
			x := one(int32(v[0]) < int32(v[1]))
			switch b {
			case "and":
				return x & v[2]
			case "or":
				return x | v[2]
			}
			return x ^ v[2]
		}})
		out = append(out, conform{text: "setp.lt." + b + ".s32 %q3|$d, $a, $b, !$c;", d: "pred", src: []string{"s32", "s32", "pred"}, ref: func(v []uint64) uint64 {
			x := one(int32(v[0]) >= int32(v[1]))
			switch b {
			case "and":
				return x & (v[2] ^ 1)
			case "or":
				return x | (v[2] ^ 1)
			}
			return x ^ v[2] ^ 1
		}})
	}
	return out
}

func approxConforms() []conform {
	f := floatFormats["f32"]
	one, two := []string{"f32"}, []string{"f32", "f32"}
	ftz := fmods{mode: "rn", ftz: true}
	rn := fmods{mode: "rn"}
	unary := func(name string, fn func(float64) float64, ulp, hw, abs float64, skip func(v []uint64) bool) []conform {
		return []conform{
			{text: name + ".approx.f32 $d, $a;", d: "f32", src: one, ref: f.refFunc(fn, rn), ulp: ulp, hw: hw, abs: abs, skip: skip},
			{text: name + ".approx.ftz.f32 $d, $a;", d: "f32", src: one, ref: f.refFunc(fn, ftz), ulp: ulp, hw: hw, abs: abs, skip: skip},
		}
	}
	small := func(v []uint64) bool { x := f.value(v[0]); return !(math.Abs(x) <= math.Pi) }
	var out []conform
	out = append(out, unary("ex2", math.Exp2, 1, 2, 0, nil)...)
	out = append(out, unary("lg2", math.Log2, 1, 3, 0x1p-22, nil)...)
	out = append(out, unary("rcp", func(x float64) float64 { return 1 / x }, 1, 1, 0, nil)...)
	out = append(out, unary("sqrt", math.Sqrt, 1, 2, 0, nil)...)
	out = append(out, unary("rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, 1, 3, 0, nil)...)
	out = append(out, unary("sin", math.Sin, 1, 0, 0x1p-20, small)...)
	out = append(out, unary("cos", math.Cos, 1, 0, 0x1p-20, small)...)
	out = append(out, conform{text: "tanh.approx.f32 $d, $a;", d: "f32", src: one, ref: f.refFunc(math.Tanh, rn), ulp: 1, hw: 1 << 14})
	big := func(v []uint64) bool { y := math.Abs(f.value(v[1])); return y > 0x1p126 || y < 0x1p-126 }
	out = append(out,
		conform{text: "div.full.f32 $d, $a, $b;", d: "f32", src: two, ref: f.refDiv(rn), ulp: 0, hw: 2, skip: big},
		conform{text: "div.full.ftz.f32 $d, $a, $b;", d: "f32", src: two, ref: f.refDiv(ftz), ulp: 0, hw: 2, skip: big},
		conform{text: "div.approx.f32 $d, $a, $b;", d: "f32", src: two, ref: f.refDiv(rn), ulp: 0, hw: 2, skip: big},
		conform{text: "div.approx.ftz.f32 $d, $a, $b;", d: "f32", src: two, ref: f.refDiv(ftz), ulp: 0, hw: 2, skip: big},
		conform{text: "rcp.approx.ftz.f64 $d, $a;", d: "f64", src: []string{"f64"}, hw: 1 << 33},
		conform{text: "rsqrt.approx.ftz.f64 $d, $a;", d: "f64", src: []string{"f64"}, hw: 1 << 33},
		conform{text: "rsqrt.approx.f64 $d, $a;", d: "f64", src: []string{"f64"}, hw: 1 << 33},
	)
	for _, t := range []string{"f16", "bf16"} {
		h := floatFormats[t]
		m := fmods{mode: "rn"}
		name := "ex2.approx." + t
		if t == "bf16" {
			name, m.ftz = "ex2.approx.ftz.bf16", true
		}
		out = append(out,
			conform{text: name + " $d, $a;", d: t, src: []string{t}, ref: h.refFunc(math.Exp2, m), ulp: 1, hw: 3},
			conform{text: "tanh.approx." + t + " $d, $a;", d: t, src: []string{t}, ref: h.refFunc(math.Tanh, rn), ulp: 1, hw: 4})
	}
	return out
}
