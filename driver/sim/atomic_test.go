package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// atomicOp is an atomic operation on one type: what becomes of a value in memory.
type atomicOp struct {
	op, typ string
	args    int // operands: 1, or 2 for cas
	f       func(old uint64, v []uint64) uint64
	// commutes says that lanes may act on one place in any order.
	commutes bool
}

func atomicOps() []atomicOp {
	var out []atomicOp
	add := func(op, typ string, commutes bool, f func(a, b uint64) uint64) {
		out = append(out, atomicOp{op, typ, 1, func(old uint64, v []uint64) uint64 { return f(old, v[0]) }, commutes})
	}
	sum := func(a, b uint64) uint64 { return a + b }
	for _, t := range []string{"u32", "s32", "u64"} {
		add("add", t, true, sum)
	}
	add("min", "u32", true, func(a, b uint64) uint64 { return min(a, b) })
	add("max", "u32", true, func(a, b uint64) uint64 { return max(a, b) })
	add("min", "s32", true, func(a, b uint64) uint64 { return uint64(uint32(min(int32(a), int32(b)))) })
	add("max", "s32", true, func(a, b uint64) uint64 { return uint64(uint32(max(int32(a), int32(b)))) })
	add("min", "u64", true, func(a, b uint64) uint64 { return min(a, b) })
	add("max", "u64", true, func(a, b uint64) uint64 { return max(a, b) })
	add("min", "s64", true, func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) })
	add("max", "s64", true, func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) })
	add("inc", "u32", false, func(a, b uint64) uint64 {
		if a >= b {
			return 0
		}
		return a + 1
	})
	add("dec", "u32", false, func(a, b uint64) uint64 {
		if a == 0 || a > b {
			return b
		}
		return a - 1
	})
	for _, t := range []string{"b32", "b64"} {
		add("and", t, true, func(a, b uint64) uint64 { return a & b })
		add("or", t, true, func(a, b uint64) uint64 { return a | b })
		add("xor", t, true, func(a, b uint64) uint64 { return a ^ b })
		add("exch", t, false, func(_, b uint64) uint64 { return b })
	}
	for _, t := range []string{"f32", "f64", "f16", "bf16"} {
		op := "add"
		if elemBits(t) == 16 {
			op = "add.noftz"
		}
		f := floatFormats[t].refAdd(fmods{mode: "rn"}, false)
		add(op, t, false, func(a, b uint64) uint64 { return f([]uint64{a, b}) })
	}
	for _, t := range []string{"f16", "bf16"} {
		f := floatFormats[t].refAdd(fmods{mode: "rn"}, false)
		add("add.noftz", t+"x2", false, func(a, b uint64) uint64 {
			return f([]uint64{a & 0xffff, b & 0xffff}) | f([]uint64{a >> 16, b >> 16})<<16
		})
	}
	for _, t := range []string{"b16", "b32", "b64"} {
		out = append(out, atomicOp{"cas", t, 2, func(old uint64, v []uint64) uint64 {
			if old == v[0] {
				return v[1]
			}
			return old
		}, false})
	}
	return out
}

// atomicCases are warpCases of atomics in global and shared memory: of lanes that
// have a place each, and of lanes that share one where the order does not matter.
// They leave the new value and the old one.
func atomicCases() []warpCase {
	var out []warpCase
	for _, space := range []string{"global", "shared"} {
		for _, a := range atomicOps() {
			f := a.f
			if space == "global" && a.typ == "f32" {
				ref := floatFormats["f32"].refAdd(fmods{mode: "rn", ftz: true}, false)
				f = func(old uint64, v []uint64) uint64 { return ref([]uint64{old, v[0]}) }
			}
			for _, verb := range []string{"atom", "red"} {
				for _, shared := range []bool{false, true} {
					if verb == "red" && (a.op == "cas" || a.op == "exch") || shared && (verb == "atom" || !a.commutes) {
						continue
					}
					out = append(out, a.warpCase(len(out), verb, space, shared, f))
				}
			}
		}
	}
	return out
}

// warpCase is one case; with one set all lanes act on the place of lane 0.
func (a *atomicOp) warpCase(number int, verb, space string, one bool, f func(uint64, []uint64) uint64) warpCase {
	n := ptxBits(a.typ)
	var text strings.Builder
	place := "%p2"
	if space == "shared" {
		fmt.Fprintf(&text, "{ .shared .align 8 .b8 slots%d[256]; mov.u32 %%t4, %%tid.x; mov.u32 %%t5, slots%d; mad.lo.u32 %%t5, %%t4, 8, %%t5; ", number, number)
		place = "%t5"
	}
	fmt.Fprintf(&text, "st.%s.b%d [%s], %%a0; ", space, n, place)
	if one {
		text.WriteString("bar.warp.sync -1; ")
		if space == "shared" {
			fmt.Fprintf(&text, "mov.u32 %%t5, slots%d; ", number)
		} else {
			text.WriteString("mov.u32 %t4, %tid.x; mul.wide.u32 %p3, %t4, 16; sub.s64 %p3, %p2, %p3; ")
			place = "%p3"
		}
	}
	operands := ", %a1"
	if a.args == 2 {
		operands += ", %a2"
	}
	old := ""
	if verb == "atom" {
		old = "%d1, "
	} else {
		fmt.Fprintf(&text, "mov.b%d %%d1, %%a1; ", n)
	}
	fmt.Fprintf(&text, "%s.%s.%s.%s %s[%s]%s; ", verb, space, a.op, a.typ, old, place, operands)
	if one {
		text.WriteString("bar.warp.sync -1; ")
	}
	fmt.Fprintf(&text, "ld.%s.b%d %%d0, [%s];", space, n, place)
	if one {
		text.WriteString(" bar.warp.sync -1;") // before lane 0 stores there
	}
	if space == "shared" {
		text.WriteString(" }")
	}
	c := warpCase{text: text.String(), out: []string{a.typ, a.typ}, exactHW: true}
	for range 1 + a.args {
		c.in = append(c.in, a.typ)
	}
	same := uint64(0)
	c.gen = func(r *rand.Rand, i int, t string) uint64 {
		v := operand(r, t)
		switch {
		case a.op == "cas" && i == 0:
			same = v
		case a.op == "cas" && i == 1 && r.IntN(2) == 0:
			return same // what is there
		case (a.op == "inc" || a.op == "dec") && i == 1 && r.IntN(2) == 0:
			return r.Uint64() & 3
		}
		return v
	}
	mask := ^uint64(0) >> (64 - n)
	c.ref = func(in [][]uint64) [][]uint64 {
		now, was := make([]uint64, 32), make([]uint64, 32)
		total := in[0][0]
		for l := range 32 {
			v := make([]uint64, a.args)
			for i := range v {
				v[i] = in[1+i][l]
			}
			now[l], was[l] = f(in[0][l], v)&mask, in[0][l]
			if verb == "red" {
				was[l] = in[1][l]
			}
			total = f(total, v) & mask
		}
		if one {
			now = repeatLane(total)
		}
		return [][]uint64{now, was}
	}
	return c
}
