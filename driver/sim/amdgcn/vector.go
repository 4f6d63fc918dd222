package amdgcn

import (
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// vop executes a vector instruction with one result for each lane: it reads its
// sources, applies the function of a lane, and writes.
type vop struct {
	src  []source
	dst  dest
	row  *row
	omod float64 // factor of the result, or 0
	// clamp is to [0, 1] for floats, else the range of the row's type.
	clamp bool
	// in and out are masks: the carries of sums, the choice of v_cndmask.
	in, out mask
}

// one is the function of a lane on sources with their modifiers applied; in is the bit
// of the mask.
func (p *vop) one(mode uint32, x []uint64, in bool) (uint64, bool) {
	var a [3]uint64
	copy(a[:], x)
	r := p.row
	if r.flushes(mode) {
		r.flushIn(mode, &a)
	}
	var y uint64
	var out bool
	switch {
	case r.fn != nil:
		y = r.fn(a[0], a[1], a[2])
	case r.modal != nil:
		y = r.modal(a[0], a[1], a[2], mode)
	default:
		y, out = r.carry(a[0], a[1], a[2], in)
	}
	if p.omod != 0 || p.clamp || r.flushes(mode) {
		y = p.finish(mode, y, &out)
	}
	return y, out
}

// finish applies the modifiers of the result.
func (p *vop) finish(mode uint32, y uint64, out *bool) uint64 {
	t := p.row.dst
	if p.row.flushes(mode) {
		y = flushOut(t, mode, y)
	}
	if !t.float() {
		if p.clamp {
			if *out = false; p.row.sat != nil {
				y = p.row.sat(y)
			}
		}
		return y
	}
	x := t.value(y)
	if p.omod != 0 {
		x *= p.omod
	}
	if p.clamp {
		x = math.Min(math.Max(x, 0), 1)
		if x != x {
			x = 0
		}
	}
	return t.encode(x)
}

func (p *vop) do(v *simt.Wavefront) {
	var y, undef lanes
	m, out, lostOut, anyUndef := p.compute(v, &y, &undef)
	p.commit(v, m, out, lostOut, &y, &undef, anyUndef)
}

// compute finds the results in the lanes that write, with their undefined bits.
func (p *vop) compute(v *simt.Wavefront, y, undef *lanes) (m, out, lostOut uint64, anyUndef bool) {
	m = v.Mask()
	if d := p.dst.dpp; d != nil {
		m = d.writes(v, m)
	}
	if v.Waiting() {
		for i := range p.src {
			p.src[i].use(v)
		}
	}
	mode := v.Mode
	in, lostIn := p.in.get(v)
	var x [3]lanes
	for i := range p.src {
		p.src[i].read(v, m, &x[i])
	}
	if p.row.fn != nil && p.omod == 0 && !p.clamp && !p.row.flushes(mode) {
		fn := p.row.fn
		if m == v.Full() {
			for l := range v.Lanes {
				y[l] = fn(x[0][l], x[1][l], x[2][l])
			}
		} else {
			for k := m; k != 0; k &= k - 1 {
				l := bits.TrailingZeros64(k)
				y[l] = fn(x[0][l], x[1][l], x[2][l])
			}
		}
	} else {
		var a [3]uint64
		for k := m; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			a[0], a[1], a[2] = x[0][l], x[1][l], x[2][l]
			r, o := p.one(mode, a[:], in>>l&1 != 0)
			y[l] = r
			if o {
				out |= 1 << l
			}
		}
	}
	lost := anyLost(v, p.src, m) | lostIn&m
	for k := lost; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		u, o := p.spread(v, l, in, lostIn)
		undef[l] = u
		lostOut |= o << l
		anyUndef = anyUndef || u != 0
	}
	return m, out, lostOut, anyUndef
}

// spread returns the undefined bits of the result in a lane, and whether the mask's is.
func (p *vop) spread(v *simt.Wavefront, l int, in, lostIn uint64) (undef, out uint64) {
	for b := range 2 {
		bit := in>>l&1 != 0
		if lostIn>>l&1 != 0 {
			bit = b == 1
		} else if b == 1 {
			break
		}
		undef |= spread(v, l, p.src, func(x []uint64) uint64 { r, _ := p.one(v.Mode, x, bit); return r })
		if p.row.carry != nil && p.out.reg >= 0 {
			out |= spread(v, l, p.src, func(x []uint64) uint64 {
				_, o := p.one(v.Mode, x, bit)
				if o {
					return 1
				}
				return 0
			})
		}
	}
	if lostIn>>l&1 == 0 {
		return undef, out
	}
	// What the choice itself changes.
	var x [3]uint64
	for i := range p.src {
		x[i] = p.src[i].mod(p.src[i].raw(v, l))
	}
	a, ca := p.one(v.Mode, x[:len(p.src)], false)
	b, cb := p.one(v.Mode, x[:len(p.src)], true)
	if ca != cb {
		out = 1
	}
	return undef | a ^ b, out
}

// commit writes what compute found.
func (p *vop) commit(v *simt.Wavefront, m, out, lostOut uint64, y, undef *lanes, anyUndef bool) {
	if !anyUndef {
		undef = nil
	}
	p.dst.write(v, m, y, undef)
	if p.out.reg >= 0 {
		p.out.set(v, out&m, lostOut&m)
	}
}

// dual executes two instructions, both of which read before either writes.
func dual(a, b *vop) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		var ya, yb, ua, ub lanes
		ma, oa, la, anyA := a.compute(v, &ya, &ua)
		mb, ob, lb, anyB := b.compute(v, &yb, &ub)
		a.commit(v, ma, oa, la, &ya, &ua, anyA)
		b.commit(v, mb, ob, lb, &yb, &ub, anyB)
	}
}

// vcmp executes a comparison, whose result is a mask.
type vcmp struct {
	src  []source
	row  *row
	out  mask
	exec bool // v_cmpx: EXEC takes the result, too
}

func (p *vcmp) one(mode uint32, x []uint64) bool {
	a := [3]uint64{x[0], x[1]}
	if p.row.flushes(mode) {
		p.row.flushIn(mode, &a)
	}
	return p.row.cmp(a[0], a[1])
}

func (p *vcmp) do(v *simt.Wavefront) {
	m := v.Mask()
	if v.Waiting() {
		for i := range p.src {
			p.src[i].use(v)
		}
	}
	var x [2]lanes
	for i := range p.src {
		p.src[i].read(v, m, &x[i])
	}
	var r, undef uint64
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		if p.one(v.Mode, []uint64{x[0][l], x[1][l]}) {
			r |= 1 << l
		}
	}
	for k := anyLost(v, p.src, m); k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		undef |= spread(v, l, p.src, func(x []uint64) uint64 {
			if p.one(v.Mode, x) {
				return 1
			}
			return 0
		}) << l
	}
	if p.out.reg >= 0 {
		p.out.set(v, r, undef)
	}
	if p.exec {
		mask{regExec, true}.set(v, r, undef)
	}
}

// packed executes an instruction on pairs of elements. lo and hi are the sources of the
// two results.
type packed struct {
	lo, hi []source
	row    *row
	dst    int
	wide   bool // elements of 32 bits in two registers
	clamp  bool
}

func (p *packed) do(v *simt.Wavefront) {
	m := v.Mask()
	var y, undef [2]lanes
	anyUndef := false
	for h, src := range [2][]source{p.lo, p.hi} {
		op := vop{src: src, row: p.row, clamp: p.clamp, in: mask{reg: -1}, out: mask{reg: -1}}
		_, _, _, lost := op.compute(v, &y[h], &undef[h])
		anyUndef = anyUndef || lost
	}
	if p.wide {
		for h := range 2 {
			d := dest{reg: p.dst + h, bits: 32}
			d.write(v, m, &y[h], &undef[h])
		}
		return
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		y[0][l] = y[0][l]&0xffff | y[1][l]<<16
		undef[0][l] = undef[0][l]&0xffff | undef[1][l]<<16
	}
	d := dest{reg: p.dst, bits: 32}
	if !anyUndef {
		d.write(v, m, &y[0], nil)
		return
	}
	d.write(v, m, &y[0], &undef[0])
}
