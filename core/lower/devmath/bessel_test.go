package devmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	ref "github.com/tritonc/tritonc/internal/mathref"
	"github.com/tritonc/tritonc/internal/testseed"
)

// ordered compiles a function of an order and a number.
func ordered(t *testing.T, typ llir.Type, f func(b *llir.Builder, n, x llir.Value) llir.Value) func(n int32, x float64) float64 {
	t.Helper()
	m := llir.NewModule("", "", "")
	fn := m.NewFunc("f", false, typ, llir.I32, typ)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	b.Ret(f(b, fn.Param(0), fn.Param(1)))
	code := compile(fn, true)
	return func(n int32, x float64) float64 {
		return fromBits(typ, code.run(uint64(uint32(n)), toBits(typ, x)))
	}
}

// Waves are absolutely exact, to a few units of the last place of 1; those of f32
// are also rounded.
func TestBesselFar(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, c := range []struct {
		name string
		f    func(n int64, x *big.Float) *big.Float
		n    int64
	}{{"j0", ref.BesselJ, 0}, {"j1", ref.BesselJ, 1}, {"y0", ref.BesselY, 0}, {"y1", ref.BesselY, 1}} {
		for _, typ := range types {
			for _, m := range code(t, Find(c.name), typ) {
				for range 60 {
					x := fromBits(typ, toBits(typ, 8*power(r.Float64()*r.Float64()*100)))
					want, _ := c.f(c.n, ref.New(x)).Float64()
					limit := 1e-15
					if typ == llir.F32 {
						limit += math.Abs(want) * 0x1p-24
					}
					if got := m.call(typ, x); !(math.Abs(got-want) <= limit) {
						t.Errorf("%s %s(%v) = %v, want %v", typ, c.name, x, got, want)
					}
				}
			}
		}
	}
}

func TestBesselOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(), 0))
	for _, typ := range types {
		jn, yn := ordered(t, typ, Jn), ordered(t, typ, Yn)
		for i := range 150 {
			n := int32(r.IntN(130))
			x := power(r.Float64()*12 - 4)
			if i%3 == 0 { // about where J begins to oscillate
				x = float64(n) * (0.9 + 0.2*r.Float64())
			}
			x = fromBits(typ, toBits(typ, max(x, 0.01)))
			check := func(name string, got float64, exact *big.Float) {
				want, _ := exact.Float64()
				if typ == llir.F32 {
					want = float64(float32(want))
				}
				// Absolutely while the function is small, else relatively.
				limit := 4e-15
				if name == "yn" {
					limit = 1e-13 * max(1, math.Abs(want))
				}
				if typ == llir.F32 {
					limit += math.Abs(want) * 0x1p-23
				}
				if !(math.Abs(got-want) <= limit) && got != want {
					t.Errorf("%s %s(%d, %v) = %v, want %v", typ, name, n, x, got, want)
				}
				if name == "jn" && float64(n) > x && math.Abs(want) > 0x1p-120 && math.Abs(got-want) > max(1e-12, 0x1p-24*float64(64-llir.Width(typ))/16)*math.Abs(want) {
					t.Errorf("%s %s(%d, %v) = %v, want %v, relatively", typ, name, n, x, got, want)
				}
			}
			check("jn", jn(n, x), ref.BesselJ(int64(n), ref.New(x)))
			check("yn", yn(n, x), ref.BesselY(int64(n), ref.New(x)))
			if got, want := jn(n, -x), jn(n, x)*float64(1-2*(n&1)); got != want {
				t.Errorf("%s jn(%d, %v) = %v, want %v", typ, n, -x, got, want)
			}
		}
	}
}

func TestBesselSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	zero := math.Copysign(0, -1)
	for _, typ := range types {
		for _, c := range []struct {
			name    string
			x, want float64
		}{
			{"j0", 0, 1},
			{"j0", inf, 0},
			{"j0", -inf, 0},
			{"j0", nan, nan},
			{"j1", 0, 0},
			{"j1", zero, zero},
			{"j1", inf, 0},
			{"j1", -inf, zero},
			{"j1", nan, nan},
			{"y0", 0, -inf},
			{"y0", zero, -inf},
			{"y0", inf, 0},
			{"y0", -1, nan},
			{"y0", -inf, nan},
			{"y0", nan, nan},
			{"y1", 0, -inf},
			{"y1", zero, -inf},
			{"y1", inf, 0},
			{"y1", -1, nan},
			{"y1", -inf, nan},
			{"y1", nan, nan},
			{"y1", fromBits(typ, 1), -inf},
		} {
			for _, m := range code(t, Find(c.name), typ) {
				if got := m.call(typ, c.x); !equal(got, c.want) {
					t.Errorf("%s %s(%v) = %v, want %v", typ, c.name, c.x, got, c.want)
				}
			}
		}
		jn, yn := ordered(t, typ, Jn), ordered(t, typ, Yn)
		for _, c := range []struct {
			name    string
			n       int32
			x, want float64
		}{
			{"jn", 2, 0, 0},
			{"jn", 3, inf, 0},
			{"jn", -1, 1, nan},
			{"jn", 2, nan, nan},
			{"jn", 1 << 30, 1, 0},
			{"jn", 0, 0, 1},
			{"jn", 12, 1e-30, 0},
			{"jn", 1 << 30, inf, 0},
			{"yn", 2, 0, -inf},
			{"yn", 2, inf, 0},
			{"yn", -1, 1, nan},
			{"yn", 2, -1, nan},
			{"yn", 2, nan, nan},
			{"yn", 1 << 30, 1, -inf},
			{"yn", 1 << 30, inf, 0},
		} {
			f := jn
			if c.name == "yn" {
				f = yn
			}
			if got := f(c.n, c.x); !equal(got, c.want) {
				t.Errorf("%s %s(%d, %v) = %v, want %v", typ, c.name, c.n, c.x, got, c.want)
			}
		}
	}
}
