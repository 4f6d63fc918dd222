package gpu64

import (
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// narrowFormats are the formats of 8 bits by Triton's names, with their largest
// finite numbers.
var narrowFormats = []struct {
	name    string
	kind    ir.FloatKind
	largest float64
}{
	{"fp8e5", ir.F8E5M2, 57344},
	{"fp8e4nv", ir.F8E4M3FN, 448},
	{"fp8e4b8", ir.F8E4M3FNUZ, 240},
	{"fp8e5b16", ir.F8E5M2FNUZ, 57344},
}

// TestWiden converts every byte of every format.
func TestWiden(t *testing.T) {
	for _, f := range narrowFormats {
		in := kerneltest.Zeros(f.name, 256)
		want := make([]float64, 256)
		for i := range want {
			in.Data[i] = byte(i)
			want[i] = ir.BitsToFloat(f.kind, uint64(i))
		}
		var outs []*array.Array
		for _, wide := range []string{"fp32", "fp16", "bf16", "fp64"} {
			outs = append(outs, kerneltest.Zeros(wide, 256))
		}
		run(t, `def k(x, a, b, c, d, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(a + i, v.to(tl.float32))
    tl.store(b + i, v.to(tl.float16))
    tl.store(c + i, v.to(tl.bfloat16))
    tl.store(d + i, v.to(tl.float64))
`, options{NumWarps: 4}, kerneltest.Grid(1), in, outs[0], outs[1], outs[2], outs[3], 256)
		for _, o := range outs {
			near(t, o, want, 0)
		}
	}
}

// narrowed is x in a format, by exact search: the nearest finite number, of two
// that are as near the one with an even last bit; or the next one toward zero.
func narrowed(kind ir.FloatKind, x, largest float64, towardZero bool) float64 {
	if math.IsNaN(x) {
		return x
	}
	best, bestBits := math.NaN(), uint64(0)
	for bits := range uint64(0x80) {
		y := ir.BitsToFloat(kind, bits)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			continue
		}
		if towardZero {
			if y <= math.Abs(x) { // they ascend
				best = y
			}
			continue
		}
		d, least := math.Abs(math.Abs(x)-y), math.Abs(math.Abs(x)-best)
		if math.IsNaN(best) || d < least || d == least && bits%2 == 0 && bestBits%2 == 1 {
			best, bestBits = y, bits
		}
	}
	if math.Abs(x) > largest {
		best = largest
	}
	return math.Copysign(best, x)
}

// TestNarrow rounds numbers on, between and beside those of every format, from
// every wider one.
func TestNarrow(t *testing.T) {
	for _, f := range narrowFormats {
		x := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e-30, 65504, 0}
		for bits := range uint64(0x80) {
			y, z := ir.BitsToFloat(f.kind, bits), ir.BitsToFloat(f.kind, bits+1)
			if bits == 0x7F || math.IsNaN(y+z) || math.IsInf(z, 0) {
				continue
			}
			mid := (y + z) / 2
			x = append(x, y, -y, mid, -mid, math.Nextafter(mid, 0), math.Nextafter(mid, 1e9), float64(math.Nextafter32(float32(mid), 0)), float64(math.Nextafter32(float32(mid), 1e9)))
		}
		for len(x) < 1024 {
			x = append(x, float64(len(x)))
		}
		for _, from := range []string{"fp32", "fp16", "bf16", "fp64"} {
			in := of(from, x)
			near8, toZero := kerneltest.Zeros(f.name, 1024), kerneltest.Zeros(f.name, 1024)
			wantNear, wantZero := make([]float64, 1024), make([]float64, 1024)
			for i := range x {
				wantNear[i] = narrowed(f.kind, in.At(i), f.largest, false)
				wantZero[i] = narrowed(f.kind, in.At(i), f.largest, true)
			}
			run(t, `def k(x, a, b, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(a + i, v.to(A, fp_downcast_rounding="rtne"))
    tl.store(b + i, v.to(A, fp_downcast_rounding="rtz"))

A = tl.constexpr(tl.`+map[string]string{"fp8e5": "float8e5", "fp8e4nv": "float8e4nv", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16"}[f.name]+`)
`, options{NumWarps: 2}, kerneltest.Grid(1), in, near8, toZero, 1024)
			near(t, near8, wantNear, 0)
			near(t, toZero, wantZero, 0)
			if t.Failed() {
				t.Fatalf("%s to %s", from, f.name)
			}
		}
	}
}

// TestAssert traps where an assertion fails, and only there.
func TestAssert(t *testing.T) {
	const source = `def k(x):
    i = tl.arange(0, 64)
    tl.device_assert(tl.load(x + i) < 3, "too large")
`
	good, bad := kerneltest.Zeros("i32", 64), kerneltest.Zeros("i32", 64)
	bad.Set(17, 5)
	grid := kerneltest.Grid(1)
	run(t, source, options{NumWarps: 1}, grid, good)
	if _, err := kernelOf(source, options{NumWarps: 1}).TryRun(t, grid, bad); err == nil || !strings.Contains(err.Error(), "traps") {
		t.Errorf("the assertion does not trap: %v", err)
	}
}
