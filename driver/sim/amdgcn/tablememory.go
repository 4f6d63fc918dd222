package amdgcn

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// memoryType is what a load or store moves for each lane.
type memoryType struct {
	size int // bytes
	// half is 'l' or 'h' where a load writes one half of a register and keeps the
	// other, or a store takes the upper one; sign where a load extends the sign.
	half byte
	sign bool
	// clobbers says that what the load does not write of the register is lost.
	clobbers bool
}

// memoryTypes are the names of gfx9 and of gfx11, after the prefix of loads or stores.
var memoryTypes = map[string]memoryType{
	"dword": {size: 4}, "dwordx2": {size: 8}, "dwordx3": {size: 12}, "dwordx4": {size: 16},
	"dwordx8": {size: 32}, "dwordx16": {size: 64},
	"b32": {size: 4}, "b64": {size: 8}, "b96": {size: 12}, "b128": {size: 16}, "b256": {size: 32}, "b512": {size: 64},
	"ubyte": {size: 1}, "u8": {size: 1}, "sbyte": {size: 1, sign: true}, "i8": {size: 1, sign: true},
	"ushort": {size: 2}, "u16": {size: 2}, "sshort": {size: 2, sign: true}, "i16": {size: 2, sign: true},
	"byte": {size: 1}, "b8": {size: 1}, "short": {size: 2}, "b16": {size: 2},
	"short_d16": {size: 2, half: 'l'}, "d16_b16": {size: 2, half: 'l'}, "u16_d16": {size: 2, half: 'l'},
	"short_d16_hi": {size: 2, half: 'h'}, "d16_hi_b16": {size: 2, half: 'h'}, "u16_d16_hi": {size: 2, half: 'h'}, "b16_d16_hi": {size: 2, half: 'h'},
	"ubyte_d16": {size: 1, half: 'l'}, "d16_u8": {size: 1, half: 'l'}, "u8_d16": {size: 1, half: 'l'},
	"ubyte_d16_hi": {size: 1, half: 'h'}, "d16_hi_u8": {size: 1, half: 'h'}, "u8_d16_hi": {size: 1, half: 'h'},
	"sbyte_d16": {size: 1, half: 'l', sign: true}, "d16_i8": {size: 1, half: 'l', sign: true}, "i8_d16": {size: 1, half: 'l', sign: true},
	"sbyte_d16_hi": {size: 1, half: 'h', sign: true}, "d16_hi_i8": {size: 1, half: 'h', sign: true}, "i8_d16_hi": {size: 1, half: 'h', sign: true},
	"byte_d16_hi": {size: 1, half: 'h'}, "d16_hi_b8": {size: 1, half: 'h'}, "b8_d16_hi": {size: 1, half: 'h'},
}

// regs is how many registers the type takes.
func (t memoryType) regs() int { return (t.size + 3) / 4 }

// atomicRow is an atomic: its width in bytes, and its function of the old value, the
// operand, and the value to compare with.
type atomicRow struct {
	size    int
	fn      func(old, x, cmp uint64) uint64
	compare bool // there is a value to compare with
	swap    bool // the old value does not matter
}

// atomicRows are the atomics by their name after "atomic_" or "ds_", without "rtn_".
func atomicRows() map[string]atomicRow {
	rows := map[string]atomicRow{}
	type f = func(old, x, cmp uint64) uint64
	put := func(size int, g f, names ...string) {
		for _, n := range names {
			rows[n] = atomicRow{size: size, fn: g, compare: strings.HasPrefix(n, "cmp"), swap: strings.Contains(n, "swap") || strings.Contains(n, "xchg")}
		}
	}
	for _, w := range [...]struct {
		size             int
		x, u, i, b       string
		less, lessSigned func(a, b uint64) bool
	}{
		{4, "", "_u32", "_i32", "_b32", func(a, b uint64) bool { return uint32(a) < uint32(b) }, func(a, b uint64) bool { return int32(a) < int32(b) }},
		{8, "_x2", "_u64", "_i64", "_b64", func(a, b uint64) bool { return a < b }, func(a, b uint64) bool { return int64(a) < int64(b) }},
	} {
		pick := func(less func(a, b uint64) bool, most bool) f {
			return func(old, x, _ uint64) uint64 {
				if less(x, old) != most {
					return x
				}
				return old
			}
		}
		put(w.size, func(old, x, _ uint64) uint64 { return old + x }, "add"+w.x, "add"+w.u)
		put(w.size, func(old, x, _ uint64) uint64 { return old - x }, "sub"+w.x, "sub"+w.u)
		put(w.size, func(old, x, _ uint64) uint64 { return x - old }, "rsub"+w.u)
		put(w.size, pick(w.lessSigned, false), "smin"+w.x, "min"+w.i)
		put(w.size, pick(w.less, false), "umin"+w.x, "min"+w.u)
		put(w.size, pick(w.lessSigned, true), "smax"+w.x, "max"+w.i)
		put(w.size, pick(w.less, true), "umax"+w.x, "max"+w.u)
		put(w.size, func(old, x, _ uint64) uint64 { return old & x }, "and"+w.x, "and"+w.b)
		put(w.size, func(old, x, _ uint64) uint64 { return old | x }, "or"+w.x, "or"+w.b)
		put(w.size, func(old, x, _ uint64) uint64 { return old ^ x }, "xor"+w.x, "xor"+w.b)
		put(w.size, func(old, x, _ uint64) uint64 {
			if old >= x {
				return 0
			}
			return old + 1
		}, "inc"+w.x, "inc"+w.u)
		put(w.size, func(old, x, _ uint64) uint64 {
			if old == 0 || old > x {
				return x
			}
			return old - 1
		}, "dec"+w.x, "dec"+w.u)
		put(w.size, func(_, x, _ uint64) uint64 { return x }, "swap"+w.x, "swap"+w.b, "wrxchg"+w.b, "storexchg"+w.b)
		put(w.size, func(old, x, cmp uint64) uint64 {
			if old == cmp {
				return x
			}
			return old
		}, "cmpswap"+w.x, "cmpswap"+w.b, "cmpst"+w.b, "cmpstore"+w.b)
	}
	put(4, func(old, x, _ uint64) uint64 { return u32(f32(old) + f32(x)) }, "add_f32")
	put(4, func(old, x, _ uint64) uint64 { return choose(dF32, old, x, false) }, "min_f32", "fmin", "min_num_f32")
	put(4, func(old, x, _ uint64) uint64 { return choose(dF32, old, x, true) }, "max_f32", "fmax", "max_num_f32")
	put(8, func(old, x, _ uint64) uint64 { return u64(f64(old) + f64(x)) }, "add_f64")
	put(8, func(old, x, _ uint64) uint64 { return choose(dF64, old, x, false) }, "min_f64", "min_num_f64")
	put(8, func(old, x, _ uint64) uint64 { return choose(dF64, old, x, true) }, "max_f64", "max_num_f64")
	for _, t := range [...]struct {
		name string
		t    dtype
	}{{"f16", dF16}, {"bf16", dBF16}} {
		put(4, func(old, x, _ uint64) uint64 {
			sum := func(a, b uint64) uint64 { return t.t.encode(t.t.value(a&0xffff) + t.t.value(b&0xffff)) }
			return sum(old, x) | sum(old>>16, x>>16)<<16
		}, "pk_add_"+t.name)
	}
	return rows
}

// word reads n bytes.
func word(p []byte, n int) uint64 {
	switch n {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

// putWord writes n bytes.
func putWord(p []byte, n int, x uint64) {
	switch n {
	case 1:
		p[0] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(x))
	default:
		binary.LittleEndian.PutUint64(p, x)
	}
}

// byteMask has eight bits for each bit of bytes.
func byteMask(bytes uint64) (m uint64) {
	for i := range 8 {
		if bytes>>i&1 != 0 {
			m |= 0xff << (8 * i)
		}
	}
	return m
}

// bytesOf is the bytes that have some bit of m.
func bytesOf(m uint64, n int) (b uint64) {
	for i := range n {
		if m>>(8*i)&0xff != 0 {
			b |= 1 << i
		}
	}
	return b
}

// load puts what a lane read into its registers; undef are undefined bytes.
func (t memoryType) load(v *simt.Wavefront, reg, l int, p []byte, undef uint64) {
	if t.size >= 4 {
		for i := range t.regs() {
			v.SetV(reg+i, l, binary.LittleEndian.Uint32(p[4*i:]), uint32(byteMask(undef>>(4*i)&15)))
		}
		return
	}
	x, u := word(p, t.size), byteMask(undef&(1<<t.size-1))
	if t.sign {
		n := 64 - 8*t.size
		x = uint64(int64(x<<n) >> n)
		u = uint64(int64(u<<n) >> n)
	}
	if t.half == 0 {
		v.SetV(reg, l, uint32(x), uint32(u))
		return
	}
	shift := 0
	if t.half == 'h' {
		shift = 16
	}
	keep := uint32(math.MaxUint32) &^ (0xffff << shift)
	lost := v.UndefinedV(reg, l)
	if t.clobbers {
		lost = keep
	}
	v.SetV(reg, l, v.V[reg*v.Lanes+l]&keep|uint32(x&0xffff)<<shift, lost&keep|uint32(u&0xffff)<<shift)
}

// store puts a lane's registers into p and returns the undefined bytes.
func (t memoryType) store(v *simt.Wavefront, reg, l int, p []byte) (undef uint64) {
	if t.size >= 4 {
		for i := range t.regs() {
			binary.LittleEndian.PutUint32(p[4*i:], v.V[(reg+i)*v.Lanes+l])
			undef |= bytesOf(uint64(v.UndefinedV(reg+i, l)), 4) << (4 * i)
		}
		return undef
	}
	x, u := v.V[reg*v.Lanes+l], v.UndefinedV(reg, l)
	if t.half == 'h' {
		x, u = x>>16, u>>16
	}
	putWord(p, t.size, uint64(x))
	return bytesOf(uint64(u), t.size)
}
