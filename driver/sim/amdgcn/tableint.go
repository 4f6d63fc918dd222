package amdgcn

import (
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

func bool64(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// integerRows are the instructions on integers and bits.
func integerRows() []row {
	rows := []row{
		op2("v_and_b32", "u=uu", func(a, b uint64) uint64 { return a & b }),
		op2("v_or_b32", "u=uu", func(a, b uint64) uint64 { return a | b }),
		op2("v_xor_b32", "u=uu", func(a, b uint64) uint64 { return a ^ b }),
		op2("v_xnor_b32", "u=uu", func(a, b uint64) uint64 { return ^(a ^ b) }),
		op1("v_not_b32", "u=u", func(a uint64) uint64 { return ^a }),
		op2("v_and_b16", "s=ss", func(a, b uint64) uint64 { return a & b }),
		op2("v_or_b16", "s=ss", func(a, b uint64) uint64 { return a | b }),
		op2("v_xor_b16", "s=ss", func(a, b uint64) uint64 { return a ^ b }),
		op1("v_not_b16", "s=s", func(a uint64) uint64 { return ^a }),
		op3("v_or3_b32", "u=uuu", func(a, b, c uint64) uint64 { return a | b | c }),
		op3("v_xor3_b32", "u=uuu", func(a, b, c uint64) uint64 { return a ^ b ^ c }),
		op3("v_and_or_b32", "u=uuu", func(a, b, c uint64) uint64 { return a&b | c }),
		op3("v_bfi_b32", "u=uuu", func(a, b, c uint64) uint64 { return a&b | ^a&c }),
		op2("v_bfm_b32", "u=uu", func(a, b uint64) uint64 { return (1<<(a&31) - 1) << (b & 31) }),
		op3("v_bfe_u32", "u=uuu", func(a, b, c uint64) uint64 { return a >> (b & 31) & (1<<(c&31) - 1) }),
		op3("v_bfe_i32", "u=uuu", bfeSigned),
		op1("v_bfrev_b32", "u=u", func(a uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }),
		op2("v_bcnt_u32_b32", "u=uu", func(a, b uint64) uint64 { return uint64(bits.OnesCount32(uint32(a))) + b }),
		op1("v_ffbh_u32", "u=u", leadingZeros), op1("v_clz_i32_u32", "u=u", leadingZeros),
		op1("v_ffbh_i32", "u=u", leadingSigns), op1("v_cls_i32", "u=u", leadingSigns),
		op1("v_ffbl_b32", "u=u", trailingZeros), op1("v_ctz_i32_b32", "u=u", trailingZeros),
		op3("v_alignbit_b32", "u=uuu", func(a, b, c uint64) uint64 { return (a<<32 | b) >> (c & 31) }),
		op3("v_alignbyte_b32", "u=uuu", func(a, b, c uint64) uint64 { return (a<<32 | b) >> (8 * (c & 3)) }),
		op3("v_perm_b32", "u=uuu", perm),
		op2("v_lshlrev_b32", "u=uu", func(a, b uint64) uint64 { return b << (a & 31) }),
		op2("v_lshrrev_b32", "u=uu", func(a, b uint64) uint64 { return b >> (a & 31) }),
		op2("v_ashrrev_i32", "u=uu", func(a, b uint64) uint64 { return uint64(int32(b) >> (a & 31)) }),
		op2("v_lshlrev_b64", "q=uq", func(a, b uint64) uint64 { return b << (a & 63) }),
		op2("v_lshrrev_b64", "q=uq", func(a, b uint64) uint64 { return b >> (a & 63) }),
		op2("v_ashrrev_i64", "q=uq", func(a, b uint64) uint64 { return uint64(int64(b) >> (a & 63)) }),
		op2("v_lshlrev_b16", "s=ss", func(a, b uint64) uint64 { return b << (a & 15) }),
		op2("v_lshrrev_b16", "s=ss", func(a, b uint64) uint64 { return b >> (a & 15) }),
		op2("v_ashrrev_i16", "s=ss", func(a, b uint64) uint64 { return uint64(int16(b) >> (a & 15)) }),
		op3("v_lshl_add_u32", "u=uuu", func(a, b, c uint64) uint64 { return a<<(b&31) + c }),
		op3("v_add_lshl_u32", "u=uuu", func(a, b, c uint64) uint64 { return (a + b) << (c & 31) }),
		op3("v_lshl_or_b32", "u=uuu", func(a, b, c uint64) uint64 { return a<<(b&31) | c }),
		op3("v_xad_u32", "u=uuu", func(a, b, c uint64) uint64 { return a ^ b + c }),
		op3("v_add3_u32", "u=uuu", func(a, b, c uint64) uint64 { return a + b + c }),
		op3("v_lshl_add_u64", "q=quq", func(a, b, c uint64) uint64 { return a<<(b&7) + c }),
		op2("v_mul_lo_u32", "u=uu", func(a, b uint64) uint64 { return a * b }),
		op2("v_mul_hi_u32", "u=uu", func(a, b uint64) uint64 { return a * b >> 32 }),
		op2("v_mul_hi_i32", "u=uu", func(a, b uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b)) >> 32) }),
		op2("v_mul_u32_u24", "u=uu", func(a, b uint64) uint64 { return a & 0xffffff * (b & 0xffffff) }),
		op2("v_mul_hi_u32_u24", "u=uu", func(a, b uint64) uint64 { return a & 0xffffff * (b & 0xffffff) >> 32 }),
		op2("v_mul_i32_i24", "u=uu", func(a, b uint64) uint64 { return uint64(signed24(a) * signed24(b)) }),
		op2("v_mul_hi_i32_i24", "u=uu", func(a, b uint64) uint64 { return uint64(signed24(a) * signed24(b) >> 32) }),
		op2("v_mul_lo_u16", "s=ss", func(a, b uint64) uint64 { return a * b }),
		saturated(op3("v_mad_u32_u24", "u=uuu", func(a, b, c uint64) uint64 { return a&0xffffff*(b&0xffffff) + c }), satU32),
		saturated(op3("v_mad_i32_i24", "u=uuu", func(a, b, c uint64) uint64 { return uint64(signed24(a)*signed24(b) + int64(int32(c))) }), satI32),
		op3("v_mad_u16", "s=sss", func(a, b, c uint64) uint64 { return a*b + c }),
		op3("v_mad_legacy_u16", "s=sss", func(a, b, c uint64) uint64 { return a*b + c }),
		op3("v_mad_u32_u16", "u=ssu", func(a, b, c uint64) uint64 { return a*b + c }),
		op3("v_mad_i32_i16", "u=ssu", func(a, b, c uint64) uint64 { return uint64(int64(int16(a))*int64(int16(b))) + c }),
		op3("v_sad_u32", "u=uuu", func(a, b, c uint64) uint64 { return max(a, b) - min(a, b) + c }),
		op3("v_dot4_i32_i8", "u=uuu", dot4(true, true)), op3("v_dot4_u32_u8", "u=uuu", dot4(false, false)),
		op3("v_dot4c_i32_i8", "u=uu+", dot4(true, true)),
		sig(row{name: "v_cndmask_b32", carry: selectBit}, "u=uu i"),
		sig(row{name: "v_cndmask_b16", carry: selectBit}, "s=ss i"),
		sig(row{name: "v_add_co_u32", carry: func(a, b, _ uint64, _ bool) (uint64, bool) { return a + b, (a+b)>>32 != 0 }}, "u=uu o"),
		sig(row{name: "v_sub_co_u32", carry: func(a, b, _ uint64, _ bool) (uint64, bool) { return a - b, b > a }}, "u=uu o"),
		sig(row{name: "v_subrev_co_u32", carry: func(a, b, _ uint64, _ bool) (uint64, bool) { return b - a, a > b }}, "u=uu o"),
		sig(row{name: "v_mad_u64_u32", carry: madU64}, "q=uuq o"), sig(row{name: "v_mad_co_u64_u32", carry: madU64}, "q=uuq o"),
		sig(row{name: "v_mad_i64_i32", carry: madI64}, "q=uuq o"), sig(row{name: "v_mad_co_i64_i32", carry: madI64}, "q=uuq o"),
		op3("v_mad_nc_u64_u32", "q=uuq", func(a, b, c uint64) uint64 { return a*b + c }),
		op2("v_add_nc_u64", "q=qq", func(a, b uint64) uint64 { return a + b }),
		op2("v_sub_nc_u64", "q=qq", func(a, b uint64) uint64 { return a - b }),
		op2("v_mul_u64", "q=qq", func(a, b uint64) uint64 { return a * b }),
	}
	// Those with a carry in have other names from gfx10 on.
	for _, names := range [...][2]string{{"v_addc_co_u32", "v_add_co_ci_u32"}, {"v_subb_co_u32", "v_sub_co_ci_u32"}, {"v_subbrev_co_u32", "v_subrev_co_ci_u32"}} {
		for _, name := range names {
			rows = append(rows, sig(row{name: name, carry: map[string]func(a, b, c uint64, in bool) (uint64, bool){
				"v_addc_co_u32":    func(a, b, _ uint64, in bool) (uint64, bool) { y := a + b + bool64(in); return y, y>>32 != 0 },
				"v_subb_co_u32":    func(a, b, _ uint64, in bool) (uint64, bool) { return a - b - bool64(in), b+bool64(in) > a },
				"v_subbrev_co_u32": func(a, b, _ uint64, in bool) (uint64, bool) { return b - a - bool64(in), a+bool64(in) > b },
			}[names[0]]}, "u=uu oi"))
		}
	}
	rows = append(rows, sums()...)
	rows = append(rows, extremes()...)
	return append(rows, withClass(simt.ClassMove,
		op1("v_mov_b32", "u=u", func(a uint64) uint64 { return a }),
		op1("v_mov_b16", "s=s", func(a uint64) uint64 { return a }),
		op1("v_mov_b64", "q=q", func(a uint64) uint64 { return a }),
		op1("v_accvgpr_read_b32", "u=u", func(a uint64) uint64 { return a }),
		op1("v_accvgpr_write_b32", "u=u", func(a uint64) uint64 { return a }),
		op1("v_accvgpr_mov_b32", "u=u", func(a uint64) uint64 { return a }),
		op2("v_pack_b32_f16", "u=hh", func(a, b uint64) uint64 { return a&0xffff | b<<16 }),
	)...)
}

// sums are sums and differences without a carry, under the names of gfx9 and of gfx10.
func sums() (rows []row) {
	add := func(a, b uint64) uint64 { return a + b }
	sub := func(a, b uint64) uint64 { return a - b }
	rev := func(a, b uint64) uint64 { return b - a }
	for _, nc := range [...]string{"", "nc_"} {
		rows = append(rows,
			saturated(op2("v_add_"+nc+"u32", "u=uu", add), satU32),
			saturated(op2("v_sub_"+nc+"u32", "u=uu", sub), satDiff),
			saturated(op2("v_subrev_"+nc+"u32", "u=uu", rev), satDiff),
			op2("v_add_"+nc+"u16", "s=ss", add), op2("v_sub_"+nc+"u16", "s=ss", sub), op2("v_subrev_"+nc+"u16", "s=ss", rev),
			op2("v_add_"+nc+"i16", "s=ss", add), op2("v_sub_"+nc+"i16", "s=ss", sub),
			saturated(op2("v_add_"+nc+"i32", "u=uu", func(a, b uint64) uint64 { return uint64(int64(int32(a)) + int64(int32(b))) }), satI32),
			saturated(op2("v_sub_"+nc+"i32", "u=uu", func(a, b uint64) uint64 { return uint64(int64(int32(a)) - int64(int32(b))) }), satI32),
		)
	}
	return rows
}

// extremes are the minima, maxima and medians of integers.
func extremes() (rows []row) {
	for _, t := range [...]struct {
		name  string
		sig   string
		order func(a uint64) int64
	}{
		{"i32", "u", func(a uint64) int64 { return int64(int32(a)) }},
		{"u32", "u", func(a uint64) int64 { return int64(uint32(a)) }},
		{"i16", "s", func(a uint64) int64 { return int64(int16(a)) }},
		{"u16", "s", func(a uint64) int64 { return int64(uint16(a)) }},
	} {
		least := func(a, b uint64) uint64 {
			if t.order(a) < t.order(b) {
				return a
			}
			return b
		}
		most := func(a, b uint64) uint64 {
			if t.order(a) > t.order(b) {
				return a
			}
			return b
		}
		s := t.sig
		rows = append(rows,
			op2("v_min_"+t.name, s+"="+s+s, least), op2("v_max_"+t.name, s+"="+s+s, most),
			op3("v_min3_"+t.name, s+"="+s+s+s, func(a, b, c uint64) uint64 { return least(least(a, b), c) }),
			op3("v_max3_"+t.name, s+"="+s+s+s, func(a, b, c uint64) uint64 { return most(most(a, b), c) }),
			op3("v_med3_"+t.name, s+"="+s+s+s, func(a, b, c uint64) uint64 { return most(least(a, b), least(most(a, b), c)) }),
			op3("v_minmax_"+t.name, s+"="+s+s+s, func(a, b, c uint64) uint64 { return most(least(a, b), c) }),
			op3("v_maxmin_"+t.name, s+"="+s+s+s, func(a, b, c uint64) uint64 { return least(most(a, b), c) }),
		)
	}
	return rows
}

func saturated(r row, sat func(y uint64) uint64) row {
	r.sat = sat
	return r
}

func satU32(y uint64) uint64 { return min(y, 1<<32-1) }

// satDiff makes zero of a negative difference.
func satDiff(y uint64) uint64 {
	if int64(y) < 0 {
		return 0
	}
	return y
}

func satI32(y uint64) uint64 { return uint64(max(min(int64(y), 1<<31-1), -1<<31)) }

func selectBit(a, b, _ uint64, in bool) (uint64, bool) {
	if in {
		return b, false
	}
	return a, false
}

func madU64(a, b, c uint64, _ bool) (uint64, bool) {
	y, carry := bits.Add64(a*b, c, 0)
	return y, carry != 0
}

func madI64(a, b, c uint64, _ bool) (uint64, bool) {
	p := int64(int32(a)) * int64(int32(b))
	y := p + int64(c)
	return uint64(y), (p > 0) == (int64(c) > 0) && (y > 0) != (p > 0)
}

func signed24(a uint64) int64 { return int64(a<<40) >> 40 }

func bfeSigned(a, b, c uint64) uint64 {
	n := c & 31
	if n == 0 {
		return 0
	}
	x := uint64(int64(int32(a))>>(b&31)) & (1<<n - 1)
	return uint64(int64(x<<(64-n)) >> (64 - n))
}

func leadingZeros(a uint64) uint64 {
	if uint32(a) == 0 {
		return 0xffffffff
	}
	return uint64(bits.LeadingZeros32(uint32(a)))
}

func trailingZeros(a uint64) uint64 {
	if uint32(a) == 0 {
		return 0xffffffff
	}
	return uint64(bits.TrailingZeros32(uint32(a)))
}

// leadingSigns counts the bits from the top that equal the sign.
func leadingSigns(a uint64) uint64 {
	x := uint32(a)
	if int32(x) < 0 {
		x = ^x
	}
	if x == 0 {
		return 0xffffffff
	}
	return uint64(bits.LeadingZeros32(x))
}

// perm chooses bytes of a and b, or constants, by the bytes of c.
func perm(a, b, c uint64) (y uint64) {
	both := a<<32 | b&0xffffffff
	for i := range 4 {
		var x uint64
		switch sel := c >> (8 * i) & 0xff; {
		case sel >= 13:
			x = 0xff
		case sel == 12:
			x = 0
		case sel >= 8: // the sign of bytes 1, 3, 5, 7
			x = -(both >> (16*(sel-8) + 15) & 1) & 0xff
		default:
			x = both >> (8 * sel) & 0xff
		}
		y |= x << (8 * i)
	}
	return y
}

// dot4 is a sum of four products of bytes and c.
func dot4(signedA, signedB bool) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		for i := range 4 {
			c += uint64(byteOf(a, i, signedA) * byteOf(b, i, signedB))
		}
		return c
	}
}

func byteOf(a uint64, i int, signed bool) int64 {
	if signed {
		return int64(int8(a >> (8 * i)))
	}
	return int64(uint8(a >> (8 * i)))
}
