package simt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// TestRowsInVectors compares mmaRows with the scalar code on operands of all
// exponents, zeros and subnormals among them.
func TestRowsInVectors(t *testing.T) {
	if !haveRows {
		t.Skip("this processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(testseed.Seed(), 5))
	for _, ty := range []Type{F16, BF16, TF32} {
		f, shift := mmaFormat(ty)
		for _, k := range []int{4, 8, 16} {
			if (ty == TF32) != (k < 16) && k != 8 {
				continue
			}
			m := &Mma{M: 16, N: 8, K: k, AType: ty, BType: ty, CType: F32, DType: F32}
			bad := 0
			for trial := range 3000 {
				spread := 1 + trial%int(1<<f.exp-2)
				element := func() uint32 {
					if r.IntN(20) == 0 {
						return 0
					}
					e := r.IntN(spread) + r.IntN(1<<f.exp-1-spread)
					if trial%3 > 0 {
						e = (1<<f.exp-spread)/2 + r.IntN(spread)
					}
					return (r.Uint32()&(1<<f.mant-1) | uint32(min(e, 1<<f.exp-2))<<f.mant | r.Uint32()&1<<(f.mant+f.exp)) << shift
				}
				var a, b fragment
				a.ty, a.regs, b.ty, b.regs = ty, 16*k*ty.Bits()/1024, ty, 8*k*ty.Bits()/1024
				for _, x := range []*fragment{&a, &b} {
					for i := range x.regs {
						for l := range x.raw[i] {
							for j := 0; j < 32; j += ty.Bits() {
								x.raw[i][l] |= element() << j
							}
						}
					}
				}
				a.decode(true, orderA(k), m.up())
				b.decode(false, orderB, 0)
				var c, d, want [4][mmaLanes]uint32
				for i := range c {
					for l := range c[i] {
						c[i][l] = math.Float32bits(float32(r.NormFloat64() * math.Ldexp(1, r.IntN(2*spread)-spread)))
						if r.IntN(10) == 0 {
							c[i][l] &= 1 << 31
						}
						if c[i][l]&0x7f800000 == 0x7f800000 {
							c[i][l] = 1
						}
					}
				}
				args := mmaArgs{a: &a.el[0], b: &b.el[0], c: &c[0][0], d: &d[0][0], k: int64(k)}
				mmaRows(&args)
				for i := range want {
					for l := range want[i] {
						row, col := cPlace(l, i)
						want[i][l] = math.Float32bits(cut32(alignedSum(&a, &b, 0, row, col, k, float64(f32(c[i][l])))))
						e := want[i][l] >> 23 & 255
						small := e == 255 || e < 2 && want[i][l]<<1 != 0
						if small && args.bad == 0 {
							t.Fatalf("%s k %d: %08x is not marked as bad", ty, k, want[i][l])
						}
						if args.bad == 0 && d[i][l] != want[i][l] {
							t.Fatalf("%s k %d: element %d,%d is %08x, want %08x", ty, k, row, col, d[i][l], want[i][l])
						}
					}
				}
				if args.bad != 0 {
					bad++
				}
			}
			if bad > 2900 {
				t.Errorf("%s k %d: %d tiles of 3000 are bad: the test compares too few", ty, k, bad)
			}
		}
	}
}
