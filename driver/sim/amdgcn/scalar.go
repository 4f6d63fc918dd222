package amdgcn

import (
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// scalarRow is an instruction of the scalar unit: the widths of its destination and
// sources, zero where there is none, and its function, which also makes SCC.
type scalarRow struct {
	name      string
	dst, a, b uint8
	fn        func(a, b uint64, scc bool) (uint64, bool)
	// sets says that SCC takes the second result, reads that it is an operand, and
	// old that the destination's old value is the first source.
	sets, reads, old bool
}

// scalarRows are the instructions of the scalar unit other than those of EXEC, of
// control and of memory. The names of gfx11 follow those of gfx9.
func scalarRows() []scalarRow {
	type f = func(a, b uint64, scc bool) (uint64, bool)
	plain := func(g func(a, b uint64) uint64) f {
		return func(a, b uint64, _ bool) (uint64, bool) { return g(a, b), false }
	}
	// bitwise sets SCC where the result is not zero.
	bitwise := func(width uint8, g func(a, b uint64) uint64) f {
		return func(a, b uint64, _ bool) (uint64, bool) {
			y := g(a, b) << (64 - width) >> (64 - width)
			return y, y != 0
		}
	}
	var rows []scalarRow
	add := func(name string, dst, a, b uint8, g f, sets bool) {
		rows = append(rows, scalarRow{name: name, dst: dst, a: a, b: b, fn: g, sets: sets})
	}
	for _, w := range [...]struct {
		suffix string
		bits   uint8
	}{{"b32", 32}, {"b64", 64}} {
		n := w.bits
		for name, g := range map[string]func(a, b uint64) uint64{
			"s_and_": func(a, b uint64) uint64 { return a & b }, "s_or_": func(a, b uint64) uint64 { return a | b },
			"s_xor_": func(a, b uint64) uint64 { return a ^ b }, "s_xnor_": func(a, b uint64) uint64 { return ^(a ^ b) },
			"s_nand_": func(a, b uint64) uint64 { return ^(a & b) }, "s_nor_": func(a, b uint64) uint64 { return ^(a | b) },
			"s_andn2_": func(a, b uint64) uint64 { return a &^ b }, "s_and_not1_": func(a, b uint64) uint64 { return a &^ b },
			"s_orn2_": func(a, b uint64) uint64 { return a | ^b }, "s_or_not1_": func(a, b uint64) uint64 { return a | ^b },
		} {
			add(name+w.suffix, n, n, n, bitwise(n, g), true)
		}
		add("s_lshl_"+w.suffix, n, n, 32, bitwise(n, func(a, b uint64) uint64 { return a << (b & uint64(n-1)) }), true)
		add("s_lshr_"+w.suffix, n, n, 32, bitwise(n, func(a, b uint64) uint64 { return a >> (b & uint64(n-1)) }), true)
		add("s_not_"+w.suffix, n, n, 0, bitwise(n, func(a, _ uint64) uint64 { return ^a }), true)
		add("s_mov_"+w.suffix, n, n, 0, plain(func(a, _ uint64) uint64 { return a }), false)
		add("s_brev_"+w.suffix, n, n, 0, plain(func(a, _ uint64) uint64 { return bits.Reverse64(a) >> (64 - n) }), false)
		add("s_wqm_"+w.suffix, n, n, 0, bitwise(n, wholeQuads), true)
		add("s_bcnt0_i32_"+w.suffix, 32, n, 0, bitwise(32, func(a, _ uint64) uint64 { return uint64(int(n) - bits.OnesCount64(a)) }), true)
		add("s_bcnt1_i32_"+w.suffix, 32, n, 0, bitwise(32, func(a, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }), true)
		first := plain(func(a, _ uint64) uint64 {
			if a == 0 {
				return 0xffffffff
			}
			return uint64(bits.TrailingZeros64(a))
		})
		add("s_ff1_i32_"+w.suffix, 32, n, 0, first, false)
		add("s_ctz_i32_"+w.suffix, 32, n, 0, first, false)
		last := plain(func(a, _ uint64) uint64 {
			if a == 0 {
				return 0xffffffff
			}
			return uint64(bits.LeadingZeros64(a) - 64 + int(n))
		})
		add("s_flbit_i32_"+w.suffix, 32, n, 0, last, false)
		add("s_clz_i32_u"+w.suffix[1:], 32, n, 0, last, false)
		// same counts the bits from the top that equal the sign.
		same := plain(func(a, _ uint64) uint64 {
			x := int64(a) << (64 - n) >> (64 - n)
			if x = max(x, ^x); x == 0 {
				return 0xffffffff
			}
			return uint64(bits.LeadingZeros64(uint64(x)) - 64 + int(n))
		})
		for _, name := range map[uint8][]string{32: {"s_flbit_i32", "s_cls_i32"}, 64: {"s_flbit_i32_i64", "s_cls_i32_i64"}}[n] {
			add(name, 32, n, 0, same, false)
		}
		add("s_bitset0_"+w.suffix, n, n, 32, plain(func(a, b uint64) uint64 { return a &^ (1 << (b & uint64(n-1))) }), false)
		add("s_bitset1_"+w.suffix, n, n, 32, plain(func(a, b uint64) uint64 { return a | 1<<(b&uint64(n-1)) }), false)
		for k := range 2 {
			rows[len(rows)-1-k].old = true
		}
		add("s_bitcmp0_"+w.suffix, 0, n, 32, func(a, b uint64, _ bool) (uint64, bool) { return 0, a>>(b&uint64(n-1))&1 == 0 }, true)
		add("s_bitcmp1_"+w.suffix, 0, n, 32, func(a, b uint64, _ bool) (uint64, bool) { return 0, a>>(b&uint64(n-1))&1 == 1 }, true)
		add("s_bfm_"+w.suffix, n, 32, 32, plain(func(a, b uint64) uint64 { return (1<<(a&uint64(n-1)) - 1) << (b & uint64(n-1)) }), false)
		add("s_cselect_"+w.suffix, n, n, n, func(a, b uint64, scc bool) (uint64, bool) {
			if scc {
				return a, scc
			}
			return b, scc
		}, false)
		rows[len(rows)-1].reads = true
		add("s_cmov_"+w.suffix, n, n, n, func(a, b uint64, scc bool) (uint64, bool) {
			if scc {
				return b, scc
			}
			return a, scc
		}, false)
		rows[len(rows)-1].reads, rows[len(rows)-1].old = true, true
		add("s_bfe_u"+w.suffix[1:], n, n, 32, bitwise(n, func(a, b uint64) uint64 { return field(a, b, n, false) }), true)
		add("s_bfe_i"+w.suffix[1:], n, n, 32, bitwise(n, func(a, b uint64) uint64 { return field(a, b, n, true) }), true)
	}
	add("s_ashr_i32", 32, 32, 32, bitwise(32, func(a, b uint64) uint64 { return uint64(int32(a) >> (b & 31)) }), true)
	add("s_ashr_i64", 64, 64, 32, bitwise(64, func(a, b uint64) uint64 { return uint64(int64(a) >> (b & 63)) }), true)
	carry := func(a, b uint64, _ bool) (uint64, bool) { return a + b, (a+b)>>32 != 0 }
	borrow := func(a, b uint64, _ bool) (uint64, bool) { return a - b, b > a }
	for _, name := range [...]string{"s_add_u32", "s_add_co_u32"} {
		add(name, 32, 32, 32, carry, true)
	}
	for _, name := range [...]string{"s_sub_u32", "s_sub_co_u32"} {
		add(name, 32, 32, 32, borrow, true)
	}
	overflow := func(y int64) (uint64, bool) { return uint64(y), y != int64(int32(y)) }
	for _, name := range [...]string{"s_add_i32", "s_add_co_i32"} {
		add(name, 32, 32, 32, func(a, b uint64, _ bool) (uint64, bool) { return overflow(int64(int32(a)) + int64(int32(b))) }, true)
	}
	for _, name := range [...]string{"s_sub_i32", "s_sub_co_i32"} {
		add(name, 32, 32, 32, func(a, b uint64, _ bool) (uint64, bool) { return overflow(int64(int32(a)) - int64(int32(b))) }, true)
	}
	for _, name := range [...]string{"s_addk_i32", "s_addk_co_i32"} {
		add(name, 32, 32, 32, func(a, b uint64, _ bool) (uint64, bool) { return overflow(int64(int32(a)) + int64(int16(b))) }, true)
		rows[len(rows)-1].old = true
	}
	add("s_mulk_i32", 32, 32, 32, plain(func(a, b uint64) uint64 { return a * uint64(int64(int16(b))) }), false)
	rows[len(rows)-1].old = true
	for _, name := range [...]string{"s_addc_u32", "s_add_co_ci_u32"} {
		add(name, 32, 32, 32, func(a, b uint64, scc bool) (uint64, bool) { y := a + b + bool64(scc); return y, y>>32 != 0 }, true)
		rows[len(rows)-1].reads = true
	}
	for _, name := range [...]string{"s_subb_u32", "s_sub_co_ci_u32"} {
		add(name, 32, 32, 32, func(a, b uint64, scc bool) (uint64, bool) { return a - b - bool64(scc), b+bool64(scc) > a }, true)
		rows[len(rows)-1].reads = true
	}
	add("s_add_u64", 64, 64, 64, plain(func(a, b uint64) uint64 { return a + b }), false)
	add("s_add_nc_u64", 64, 64, 64, plain(func(a, b uint64) uint64 { return a + b }), false)
	add("s_sub_u64", 64, 64, 64, plain(func(a, b uint64) uint64 { return a - b }), false)
	add("s_sub_nc_u64", 64, 64, 64, plain(func(a, b uint64) uint64 { return a - b }), false)
	add("s_mul_u64", 64, 64, 64, plain(func(a, b uint64) uint64 { return a * b }), false)
	add("s_mul_i32", 32, 32, 32, plain(func(a, b uint64) uint64 { return a * b }), false)
	add("s_mul_hi_u32", 32, 32, 32, plain(func(a, b uint64) uint64 { return a * b >> 32 }), false)
	add("s_mul_hi_i32", 32, 32, 32, plain(func(a, b uint64) uint64 { return uint64(int64(int32(a)) * int64(int32(b)) >> 32) }), false)
	add("s_movk_i32", 32, 32, 0, plain(func(a, _ uint64) uint64 { return uint64(int64(int16(a))) }), false)
	add("s_sext_i32_i8", 32, 32, 0, plain(func(a, _ uint64) uint64 { return uint64(int64(int8(a))) }), false)
	add("s_sext_i32_i16", 32, 32, 0, plain(func(a, _ uint64) uint64 { return uint64(int64(int16(a))) }), false)
	add("s_abs_i32", 32, 32, 0, bitwise(32, func(a, _ uint64) uint64 { return uint64(max(int64(int32(a)), -int64(int32(a)))) }), true)
	add("s_absdiff_i32", 32, 32, 32, bitwise(32, func(a, b uint64) uint64 {
		d := int32(a) - int32(b)
		return uint64(max(int64(d), -int64(d)))
	}), true)
	for i := range 4 {
		n := i + 1
		name := "s_lshl" + string(rune('0'+n)) + "_add_u32"
		add(name, 32, 32, 32, func(a, b uint64, _ bool) (uint64, bool) { y := a<<n + b; return y, y>>32 != 0 }, true)
	}
	add("s_pack_ll_b32_b16", 32, 32, 32, plain(func(a, b uint64) uint64 { return a&0xffff | b<<16 }), false)
	add("s_pack_lh_b32_b16", 32, 32, 32, plain(func(a, b uint64) uint64 { return a&0xffff | b&0xffff0000 }), false)
	add("s_pack_hl_b32_b16", 32, 32, 32, plain(func(a, b uint64) uint64 { return a>>16 | b<<16 }), false)
	add("s_pack_hh_b32_b16", 32, 32, 32, plain(func(a, b uint64) uint64 { return a>>16 | b&0xffff0000 }), false)
	rows = append(rows, scalarCompares()...)
	return append(rows, scalarFloats()...)
}

// scalarCompares are s_cmp, s_cmpk, and the minima and maxima.
func scalarCompares() (rows []scalarRow) {
	for _, t := range [...]struct {
		name  string
		width uint8
		order func(a, b uint64) int
	}{
		{"i32", 32, func(a, b uint64) int { return order(int32(a), int32(b)) }},
		{"u32", 32, func(a, b uint64) int { return order(uint32(a), uint32(b)) }},
		{"u64", 64, func(a, b uint64) int { return order(a, b) }},
	} {
		for name, f := range map[string]func(s int) bool{
			"lt": func(s int) bool { return s < 0 }, "le": func(s int) bool { return s <= 0 }, "eq": func(s int) bool { return s == 0 },
			"lg": func(s int) bool { return s != 0 }, "gt": func(s int) bool { return s > 0 }, "ge": func(s int) bool { return s >= 0 },
		} {
			rows = append(rows, scalarRow{
				name: "s_cmp_" + name + "_" + t.name, a: t.width, b: t.width, sets: true,
				fn: func(a, b uint64, _ bool) (uint64, bool) { return 0, f(t.order(a, b)) },
			})
			if t.width == 32 {
				cut := func(b uint64) uint64 { return b & 0xffff }
				if t.name == "i32" {
					cut = func(b uint64) uint64 { return uint64(int64(int16(b))) }
				}
				rows = append(rows, scalarRow{
					name: "s_cmpk_" + name + "_" + t.name, a: 32, b: 32, sets: true,
					fn: func(a, b uint64, _ bool) (uint64, bool) { return 0, f(t.order(a, cut(b))) },
				})
			}
		}
		if t.width != 32 {
			continue
		}
		rows = append(rows,
			scalarRow{name: "s_min_" + t.name, dst: 32, a: 32, b: 32, sets: true, fn: func(a, b uint64, _ bool) (uint64, bool) {
				if t.order(a, b) < 0 {
					return a, true
				}
				return b, false
			}},
			scalarRow{name: "s_max_" + t.name, dst: 32, a: 32, b: 32, sets: true, fn: func(a, b uint64, _ bool) (uint64, bool) {
				if t.order(a, b) > 0 {
					return a, true
				}
				return b, false
			}})
	}
	return rows
}

// field is a bit field of a: b has its offset in the low bits and its width above 16.
func field(a, b uint64, n uint8, signed bool) uint64 {
	offset, width := b&uint64(n-1), b>>16&0x7f
	if width == 0 {
		return 0
	}
	width = min(width, uint64(n)-offset)
	a = a >> offset << (64 - width)
	if signed {
		return uint64(int64(a) >> (64 - width))
	}
	return a >> (64 - width)
}

// wholeQuads has the four bits of each quad that has some.
func wholeQuads(a, _ uint64) (y uint64) {
	for i := 0; i < 64; i += 4 {
		if a>>i&15 != 0 {
			y |= 15 << i
		}
	}
	return y
}

// sop executes an instruction of the scalar unit.
type sop struct {
	row *scalarRow
	src []source
	dst mask
}

func (p *sop) do(v *simt.Wavefront) {
	if v.Waiting() {
		for i := range p.src {
			p.src[i].use(v)
		}
	}
	var x [2]uint64
	lost := false
	for i := range p.src {
		x[i] = p.src[i].mod(p.src[i].raw(v, 0))
		lost = lost || v.SU != nil && p.src[i].undef(v, 0) != 0
	}
	scc := v.S[regSCC]&1 != 0
	y, out := p.row.fn(x[0], x[1], scc)
	var undef, outUndef uint64
	if p.row.reads && v.UndefinedS(regSCC) != 0 {
		other, o := p.row.fn(x[0], x[1], !scc)
		undef, outUndef = y^other, bool64(o != out)
	}
	if lost {
		undef |= spread(v, 0, p.src, func(x []uint64) uint64 { y, _ := p.row.fn(x[0], at(x, 1), scc); return y })
		outUndef |= spread(v, 0, p.src, func(x []uint64) uint64 { _, o := p.row.fn(x[0], at(x, 1), scc); return bool64(o) })
	}
	if p.row.dst != 0 {
		p.dst.set(v, y, undef)
	}
	if p.row.sets {
		setSCC(v, out, outUndef)
	}
}

func at(x []uint64, i int) uint64 {
	if i < len(x) {
		return x[i]
	}
	return 0
}

func setSCC(v *simt.Wavefront, out bool, undef uint64) {
	v.SetS(regSCC, uint32(bool64(out)), uint32(undef))
}

// saveExec are the instructions that keep EXEC and change it: D = EXEC; EXEC = A op
// EXEC; SCC = EXEC is not zero. Their names end in the mask's width.
var saveExec = map[string]func(a, exec uint64) uint64{
	"s_and_saveexec":      func(a, e uint64) uint64 { return a & e },
	"s_or_saveexec":       func(a, e uint64) uint64 { return a | e },
	"s_xor_saveexec":      func(a, e uint64) uint64 { return a ^ e },
	"s_nand_saveexec":     func(a, e uint64) uint64 { return ^(a & e) },
	"s_nor_saveexec":      func(a, e uint64) uint64 { return ^(a | e) },
	"s_xnor_saveexec":     func(a, e uint64) uint64 { return ^(a ^ e) },
	"s_andn2_saveexec":    func(a, e uint64) uint64 { return a &^ e },
	"s_orn2_saveexec":     func(a, e uint64) uint64 { return a | ^e },
	"s_andn1_saveexec":    func(a, e uint64) uint64 { return e &^ a },
	"s_and_not1_saveexec": func(a, e uint64) uint64 { return a &^ e },
	"s_and_not0_saveexec": func(a, e uint64) uint64 { return e &^ a },
	"s_or_not1_saveexec":  func(a, e uint64) uint64 { return a | ^e },
	"s_or_not0_saveexec":  func(a, e uint64) uint64 { return e | ^a },
}

// doSaveExec executes one; src is a mask.
func doSaveExec(dst mask, src source, op func(a, exec uint64) uint64) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		src.use(v)
		a, exec := src.mod(src.raw(v, 0)), v.Exec()
		if u := src.undef(v, 0); v.SU != nil && u&exec != 0 {
			if changed := op(a|u, exec) ^ op(a&^u, exec); changed != 0 {
				v.Undefined(bits.TrailingZeros64(changed), "EXEC depends on an undefined value in lanes 0x%x", changed)
			}
		}
		dst.set(v, exec, 0)
		v.SetExec(op(a, exec))
		setSCC(v, v.Exec() != 0, 0)
	}
}
