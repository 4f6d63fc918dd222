package amdgcn

import (
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// lanes holds a value for each lane.
type lanes [simt.MaxLanes]uint64

// where says what a source reads.
type where uint8

const (
	fromConst where = iota
	fromV
	fromS
	fromExec
	fromNull
)

// source is an operand as the lanes read it.
type source struct {
	where where
	reg   int // vector or scalar register
	wide  bool
	value uint64 // of fromConst
	// shift and width select a part of the register, which sext extends with its sign.
	shift, width uint
	sext         bool
	// abs and neg change the bits of sign.
	abs, neg bool
	sign     uint64
	dpp      *dpp
}

// raw reads a lane.
func (s *source) raw(v *simt.Wavefront, l int) uint64 {
	switch s.where {
	case fromV:
		x := uint64(v.V[s.reg*v.Lanes+l])
		if s.wide {
			x |= uint64(v.V[(s.reg+1)*v.Lanes+l]) << 32
		}
		return x
	case fromS:
		x := uint64(v.S[s.reg])
		if s.wide {
			x |= uint64(v.S[s.reg+1]) << 32
		}
		return x
	case fromExec:
		return v.Exec() >> (32 * (s.reg - regExec))
	}
	return s.value
}

// undef is the undefined bits that raw has.
func (s *source) undef(v *simt.Wavefront, l int) uint64 {
	switch s.where {
	case fromV:
		u := uint64(v.UndefinedV(s.reg, l))
		if s.wide {
			u |= uint64(v.UndefinedV(s.reg+1, l)) << 32
		}
		return u
	case fromS:
		u := uint64(v.UndefinedS(s.reg))
		if s.wide {
			u |= uint64(v.UndefinedS(s.reg+1)) << 32
		}
		return u
	}
	return 0
}

// lost are the lanes of m in which the source has undefined bits.
func (s *source) lost(v *simt.Wavefront, m uint64) uint64 {
	switch s.where {
	case fromV:
		u := v.Lost[s.reg]
		if s.wide {
			u |= v.Lost[s.reg+1]
		}
		if s.dpp != nil && u != 0 {
			return m // some lane reads one of these
		}
		return u & m
	case fromS:
		if s.undef(v, 0) != 0 {
			return m
		}
	}
	return 0
}

// use tells the wait counters that the source is read.
func (s *source) use(v *simt.Wavefront) {
	n := 1
	if s.wide {
		n = 2
	}
	switch s.where {
	case fromV:
		v.UseV(s.reg, n)
	case fromS:
		v.UseS(s.reg, n)
	}
}

// plain reports whether mod changes nothing.
func (s *source) plain() bool { return s.width == 0 && !s.abs && !s.neg }

// mod applies the operand's modifiers.
func (s *source) mod(x uint64) uint64 {
	if s.width != 0 {
		x = x >> s.shift & (1<<s.width - 1)
		if s.sext {
			x = uint64(int64(x<<(64-s.width)) >> (64 - s.width))
		}
	}
	if s.abs {
		x &^= s.sign
	}
	if s.neg {
		x ^= s.sign
	}
	return x
}

// read fills the lanes of m.
func (s *source) read(v *simt.Wavefront, m uint64, out *lanes) {
	n := v.Lanes
	switch {
	case s.where == fromV && s.dpp != nil:
		for k := m; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			if from, ok := s.dpp.from(v, l); ok {
				out[l] = s.raw(v, from)
			} else {
				out[l] = 0
			}
		}
	case s.where == fromV && s.wide:
		lo, hi := v.V[s.reg*n:(s.reg+1)*n], v.V[(s.reg+1)*n:(s.reg+2)*n]
		for l := range lo {
			out[l] = uint64(lo[l]) | uint64(hi[l])<<32
		}
	case s.where == fromV:
		for l, x := range v.V[s.reg*n : (s.reg+1)*n] {
			out[l] = uint64(x)
		}
	default:
		x := s.raw(v, 0)
		for l := range n {
			out[l] = x
		}
	}
	if s.plain() {
		return
	}
	for l := range n {
		out[l] = s.mod(out[l])
	}
}

// dest is where a vector instruction writes.
type dest struct {
	reg  int
	bits uint // of the result: 16, 32 or 64
	// shift and width are the part of the register that is written where that is not
	// all of it; keep says that the others stay, else they become zero.
	shift, width uint
	keep         bool
	dpp          *dpp
}

// write puts results into the lanes of m; undef are their undefined bits, or nil.
func (d *dest) write(v *simt.Wavefront, m uint64, x, undef *lanes) {
	regs := 1
	if d.bits == 64 {
		regs = 2
	}
	v.UseV(d.reg, regs)
	n := v.Lanes
	if d.width != 0 {
		mask := uint64(1)<<d.width - 1
		for k := m; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			y, u := x[l]&mask<<d.shift, uint64(0)
			if undef != nil {
				u = undef[l] & mask << d.shift
			}
			if d.keep {
				y |= uint64(v.V[d.reg*n+l]) &^ (mask << d.shift)
				u |= uint64(v.UndefinedV(d.reg, l)) &^ (mask << d.shift)
			}
			v.SetV(d.reg, l, uint32(y), uint32(u))
		}
		return
	}
	for r := range regs {
		at := v.V[(d.reg+r)*n : (d.reg+r+1)*n]
		if m == v.Full() {
			for l := range at {
				at[l] = uint32(x[l] >> (32 * r))
			}
		} else {
			for k := m; k != 0; k &= k - 1 {
				l := bits.TrailingZeros64(k)
				at[l] = uint32(x[l] >> (32 * r))
			}
		}
		v.Defined(d.reg+r, m)
		if undef == nil {
			continue
		}
		for k := m; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			if u := uint32(undef[l] >> (32 * r)); u != 0 {
				v.SetV(d.reg+r, l, at[l], u)
			}
		}
	}
}

// patterns are tried for undefined bits: those of all operands zero, all one, and two
// mixtures that differ from operand to operand.
const patterns = 6

// pattern is what pattern k puts in place of the undefined bits of a register.
func pattern(k int, s *source) uint64 {
	switch k {
	case 0:
		return 0
	case 1:
		return ^uint64(0)
	}
	h := uint64(s.reg+1) * 0x9e3779b97f4a7c15 * uint64(2*(k/2)+1)
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 32
	if k&1 != 0 {
		h = ^h
	}
	return h
}

// spread returns the bits of f's result that change with the undefined bits of the
// sources in a lane. f takes the sources as read from the registers.
func spread(v *simt.Wavefront, l int, src []source, f func(x []uint64) uint64) (undef uint64) {
	var raw, lost, x [8]uint64
	for i := range src {
		from, ok := l, true
		if src[i].dpp != nil {
			from, ok = src[i].dpp.from(v, l)
		}
		if ok {
			raw[i], lost[i] = src[i].raw(v, from), src[i].undef(v, from)
		}
	}
	first := uint64(0)
	for k := range patterns {
		for i := range src {
			x[i] = src[i].mod(raw[i]&^lost[i] | pattern(k, &src[i])&lost[i])
		}
		y := f(x[:len(src)])
		if k == 0 {
			first = y
		}
		undef |= y ^ first
	}
	return undef
}

// anyLost are the lanes of m in which some source is undefined.
func anyLost(v *simt.Wavefront, src []source, m uint64) (lost uint64) {
	if v.Lost == nil {
		return 0
	}
	for i := range src {
		lost |= src[i].lost(v, m)
	}
	return lost
}

// mask is an operand with one bit for each lane: a scalar register, or two.
type mask struct {
	reg  int // or -1: none
	wide bool
}

func (k mask) get(v *simt.Wavefront) (x, undef uint64) {
	switch {
	case k.reg < 0 || k.reg == regNull:
		return 0, 0
	case k.reg == regExec && k.wide:
		return v.Exec(), 0
	case k.reg == regExec:
		return v.Exec() & math.MaxUint32, 0
	case k.reg == regExec+1:
		return v.Exec() >> 32, 0
	}
	k.use(v)
	x, undef = uint64(v.S[k.reg]), uint64(v.UndefinedS(k.reg))
	if k.wide {
		x |= uint64(v.S[k.reg+1]) << 32
		undef |= uint64(v.UndefinedS(k.reg+1)) << 32
	}
	return x, undef
}

func (k mask) use(v *simt.Wavefront) {
	n := 1
	if k.wide {
		n = 2
	}
	v.UseS(k.reg, n)
}

func (k mask) set(v *simt.Wavefront, x, undef uint64) {
	switch {
	case k.reg < 0 || k.reg == regNull:
		return
	case k.reg == regExec || k.reg == regExec+1:
		switch old := v.Exec(); {
		case k.reg == regExec+1:
			x, undef = old&math.MaxUint32|x<<32, undef<<32
		case !k.wide:
			x |= old &^ math.MaxUint32
		}
		if undef != 0 {
			v.Undefined(bits.TrailingZeros64(undef), "EXEC depends on an undefined value in lanes 0x%x", undef)
		}
		v.SetExec(x)
		return
	}
	k.use(v)
	v.SetS(k.reg, uint32(x), uint32(undef))
	if k.wide {
		v.SetS(k.reg+1, uint32(x>>32), uint32(undef>>32))
	}
}

// dpp is a permutation of the lanes of the first source.
type dpp struct {
	perm  [simt.MaxLanes]int8 // the lane that each lane reads, or -1
	rows  uint64              // lanes that row_mask and bank_mask let through
	zero  bool                // bound_ctrl: what cannot be read is zero
	fetch bool                // fi: lanes outside EXEC can be read
}

// from is the lane that l reads.
func (d *dpp) from(v *simt.Wavefront, l int) (int, bool) {
	p := int(d.perm[l])
	return max(p, 0), p >= 0 && (d.fetch || v.Exec()>>p&1 != 0)
}

// writes are the lanes of m that are written.
func (d *dpp) writes(v *simt.Wavefront, m uint64) uint64 {
	m &= d.rows
	if d.zero {
		return m
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		if _, ok := d.from(v, l); !ok {
			m &^= 1 << l
		}
	}
	return m
}

// Halves and other small formats.

func halfOf(x uint64) float64 { return simt.FloatOf(uint32(x&0xffff), simt.F16) }
func toHalf(x float64) uint32 { return simt.RoundFloat(x, simt.F16, simt.RoundNearest) }
func f32(x uint64) float32    { return math.Float32frombits(uint32(x)) }
func f64(x uint64) float64    { return math.Float64frombits(x) }
func u32(x float32) uint64    { return uint64(math.Float32bits(x)) }
func u64(x float64) uint64    { return math.Float64bits(x) }
