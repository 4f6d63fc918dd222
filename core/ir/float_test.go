package ir

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// Every pattern of a small format must survive the way to float64 and back,
// and a value between two neighbours must go to the nearer, ties to even.
func TestSmallFloatFormats(t *testing.T) {
	for k := FloatKind(0); k < numFloatKinds; k++ {
		if k == F64 || k == F32 || k == F80 || k == F128 || k.Width() > 19 {
			continue
		}
		f := floatFormats[k]
		n := uint64(1) << (f.exp + f.man)
		if !f.noSign {
			n <<= 1
		}
		for bits := uint64(0); bits < n; bits++ {
			v := BitsToFloat(k, bits)
			if math.IsNaN(v) {
				if !math.IsNaN(BitsToFloat(k, FloatToBits(k, v))) {
					t.Errorf("%v %#x: NaN does not survive", k, bits)
				}
				continue
			}
			if got := FloatToBits(k, v); got != bits {
				t.Fatalf("%v: %#x = %v became %#x", k, bits, v, got)
			}
		}
		for bits := uint64(0); bits < f.largest(); bits++ {
			lo, hi := BitsToFloat(k, bits), BitsToFloat(k, bits+1)
			mid := lo + (hi-lo)/2
			even := bits
			if bits&1 == 1 || f.man == 0 { // a significand of the hidden bit alone is always odd
				even++
			}
			for _, c := range []struct {
				v    float64
				want uint64
			}{{mid, even}, {math.Nextafter(mid, lo), bits}, {math.Nextafter(mid, hi), bits + 1}} {
				if got := FloatToBits(k, c.v); got != c.want {
					t.Fatalf("%v: %v between %#x and %#x became %#x, want %#x", k, c.v, bits, bits+1, got, c.want)
				}
			}
		}
	}
}

func TestFloatOverflow(t *testing.T) {
	cases := []struct {
		k    FloatKind
		v    float64
		want uint64
	}{
		{F16, 65520, 0x7c00},
		{F16, 65519.99, 0x7bff},
		{F16, math.Inf(-1), 0xfc00},
		{F8E4M3FN, 1e9, 0x7f},
		{F8E4M3FN, 448, 0x7e},
		{F8E5M2, 1e9, 0x7c},
		{F8E5M2FNUZ, -1e9, 0x80},
		{F4E2M1FN, 100, 7},
		{F8E8M0FNU, 1, 127},
		{BF16, 1e-45, 0},
	}
	for _, c := range cases {
		if got := FloatToBits(c.k, c.v); got != c.want {
			t.Errorf("%v(%v) = %#x, want %#x", c.k, c.v, got, c.want)
		}
	}
}

// f32 by the generic path must agree with the processor's own rounding.
func TestGenericRoundingAgainstHardware(t *testing.T) {
	rng := rand.New(rand.NewPCG(testseed.Seed(), 1))
	for range 20000 {
		v := math.Float64frombits(rng.Uint64())
		if math.IsNaN(v) {
			continue
		}
		want := uint64(math.Float32bits(float32(v)))
		saved := floatFormats[TF32]
		floatFormats[TF32] = floatFormats[F32]
		got := FloatToBits(TF32, v)
		floatFormats[TF32] = saved
		if got != want {
			t.Fatalf("%v: %#x, want %#x", v, got, want)
		}
	}
}
