package amdgcn

import (
	"math/bits"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// doReadLane executes v_readlane, and v_readfirstlane where lane is nil.
func doReadLane(dst mask, src, lane *source) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		src.use(v)
		l := bits.TrailingZeros64(v.Exec() | 1<<63)
		if v.Exec() == 0 {
			l = 0
		}
		if lane != nil {
			lane.use(v)
			if lane.undef(v, 0) != 0 {
				v.Undefined(0, "the lane that is read is not defined")
			}
			l = int(lane.raw(v, 0)) & (v.Lanes - 1)
		}
		dst.set(v, src.raw(v, l), src.undef(v, l))
	}
}

// doWriteLane executes v_writelane.
func doWriteLane(dst int, src, lane source) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		src.use(v)
		lane.use(v)
		v.UseV(dst, 1)
		if lane.undef(v, 0) != 0 {
			v.Undefined(0, "the lane that is written is not defined")
		}
		v.SetV(dst, int(lane.raw(v, 0))&(v.Lanes-1), uint32(src.raw(v, 0)), uint32(src.undef(v, 0)))
	}
}

// gather writes to each lane of EXEC what another lane has in a register; from says
// which, or that there is none: zero, or with keep nothing is written.
func gather(v *simt.Wavefront, dst int, src *source, keep bool, from func(l int) (int, bool)) {
	src.use(v)
	v.UseV(dst, 1)
	var x, u [simt.MaxLanes]uint32
	m := v.Mask()
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		if p, ok := from(l); ok {
			x[l], u[l] = uint32(src.raw(v, p)), uint32(src.undef(v, p))
		} else if keep {
			m &^= 1 << l
		}
	}
	for k := m; k != 0; k &= k - 1 {
		l := bits.TrailingZeros64(k)
		v.SetV(dst, l, x[l], u[l])
	}
}

// doPermute executes ds_bpermute (backward) and ds_permute.
func doPermute(dst int, addr, src source, offset int64, backward bool, c simt.WaitCounter) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		addr.use(v)
		m := v.Mask()
		if v.Lost != nil {
			if bad := addr.lost(v, m); bad != 0 {
				v.Undefined(bits.TrailingZeros64(bad), "the address depends on v%d, which is not defined in lanes 0x%x", addr.reg, bad)
			}
		}
		var to [simt.MaxLanes]int
		for l := range v.Lanes {
			to[l] = int(uint32(addr.raw(v, l)+uint64(offset))/4) & (v.Lanes - 1)
		}
		if backward {
			gather(v, dst, &src, false, func(l int) (int, bool) { return to[l], m>>to[l]&1 != 0 })
		} else {
			var from [simt.MaxLanes]int
			for k := m; k != 0; k &= k - 1 {
				l := bits.TrailingZeros64(k)
				from[to[l]] = l + 1
			}
			gather(v, dst, &src, false, func(l int) (int, bool) { return from[l] - 1, from[l] > 0 })
		}
		v.Issue(c, false, dst, 1, false, false)
	}
}

// doSwizzle executes ds_swizzle.
func doSwizzle(dst int, src source, from [32]int, c simt.WaitCounter) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		m := v.Mask()
		gather(v, dst, &src, false, func(l int) (int, bool) {
			p := l&^31 + from[l&31]
			return p, m>>p&1 != 0
		})
		v.Issue(c, false, dst, 1, false, false)
	}
}

// doPermLane executes v_permlane16 and v_permlanex16: each lane reads one of its own row
// of 16, or of the other row of its 32, by four bits of lo and hi.
func doPermLane(dst int, src, lo, hi source, other, fetch, bound bool) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		lo.use(v)
		hi.use(v)
		if lo.undef(v, 0)|hi.undef(v, 0) != 0 {
			v.Undefined(0, "the choice of lanes is not defined")
		}
		sel := lo.raw(v, 0)&0xffffffff | hi.raw(v, 0)<<32
		gather(v, dst, &src, !bound, func(l int) (int, bool) {
			p := l&^15 | int(sel>>(4*(l&15))&15)
			if other {
				p ^= 16
			}
			return p, fetch || v.Exec()>>p&1 != 0
		})
	}
}

// doPermLane64 exchanges the halves of a wavefront of 64 lanes.
func doPermLane64(dst int, src source) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		gather(v, dst, &src, false, func(l int) (int, bool) { return (l + 32) & (v.Lanes - 1), true })
	}
}

// doSwap exchanges two registers.
func doSwap(a, b int) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		v.UseV(a, 1)
		v.UseV(b, 1)
		for k := v.Mask(); k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			x, y := v.V[a*v.Lanes+l], v.V[b*v.Lanes+l]
			u, w := v.UndefinedV(a, l), v.UndefinedV(b, l)
			v.SetV(a, l, y, w)
			v.SetV(b, l, x, u)
		}
	}
}

// doSwapRows executes v_permlane16_swap and v_permlane32_swap: odd rows of n lanes of a
// are exchanged with even rows of b.
func doSwapRows(a, b, n int) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		v.UseV(a, 1)
		v.UseV(b, 1)
		for l := range v.Lanes {
			if l/n%2 == 1 || v.Exec()>>l&1 == 0 || v.Exec()>>(l+n)&1 == 0 {
				continue
			}
			x, y := v.V[a*v.Lanes+l+n], v.V[b*v.Lanes+l]
			u, w := v.UndefinedV(a, l+n), v.UndefinedV(b, l)
			v.SetV(a, l+n, y, w)
			v.SetV(b, l, x, u)
		}
	}
}

// doMbcnt executes v_mbcnt: the bits of a mask below the lane, plus a sum. high is of
// the upper 32 lanes.
func doMbcnt(p *vop, high bool) func(v *simt.Wavefront) {
	return func(v *simt.Wavefront) {
		for i := range p.src {
			p.src[i].use(v)
		}
		m := v.Mask()
		var y, undef lanes
		any := false
		for k := m; k != 0; k &= k - 1 {
			l := bits.TrailingZeros64(k)
			below := uint64(1)<<min(l, 32) - 1
			if high {
				below = 1<<max(l-32, 0) - 1
			}
			y[l] = uint64(bits.OnesCount64(p.src[0].raw(v, l)&below)) + p.src[1].raw(v, l)
			if p.src[0].undef(v, l)&below|p.src[1].undef(v, l) != 0 {
				undef[l], any = ^uint64(0), true
			}
		}
		if any {
			p.dst.write(v, m, &y, &undef)
		} else {
			p.dst.write(v, m, &y, nil)
		}
	}
}
