package ptx

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// Quotients by multiplication are those of division, at the edges and at random.
func TestMagic(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 1))
	for range 20000 {
		w := []int{32, 64}[r.IntN(2)]
		mask := ^uint64(0) >> (64 - w)
		d := r.Uint64() & (mask >> (1 + r.IntN(w-3)))
		if d&(d-1) == 0 {
			d = []uint64{3, 5, 7, 10, 641, mask >> 1, mask>>1 - 1}[r.IntN(7)]
		}
		m, s, add := unsignedMagic(d, w)
		for _, x := range []uint64{0, 1, d - 1, d, d + 1, mask, mask / d * d, mask/d*d - 1, r.Uint64(), r.Uint64() >> 32} {
			x &= mask
			hi, _ := bits.Mul64(x, m)
			if w == 32 {
				hi = x * m >> 32
			}
			q := hi >> s
			if add {
				q = ((x-hi)&mask>>1 + hi) >> (s - 1)
			}
			if q != x/d {
				t.Fatalf("%d bits: %d / %d is %d, got %d by %d, %d, %v", w, x, d, x/d, q, m, s, add)
			}
		}
		sd := signExtend(int64(d), w)
		if sd == 0 || uint64(max(sd, -sd))&uint64(max(sd, -sd)-1) == 0 {
			continue
		}
		sm, n := signedMagic(sd, w)
		for _, x := range []int64{0, 1, -1, sd, -sd, sd - 1, sd + 1, -1 << (w - 1), 1<<(w-1) - 1, int64(r.Uint64())} {
			x = signExtend(x, w)
			var q int64
			if w == 32 {
				q = x * sm >> 32
			} else {
				hi, _ := bits.Mul64(uint64(x), uint64(sm))
				q = int64(hi) - x>>63&sm - sm>>63&x
			}
			switch {
			case sd > 0 && sm < 0:
				q += x
			case sd < 0 && sm > 0:
				q -= x
			}
			q = signExtend(q, w)
			q = q>>n + int64(uint64(q)>>63)
			if q != x/sd {
				t.Fatalf("%d bits: %d / %d is %d, got %d by %d, %d", w, x, sd, x/sd, q, sm, n)
			}
		}
	}
}
