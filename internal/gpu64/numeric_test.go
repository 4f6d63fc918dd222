package gpu64

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/internal/llirsim"
	"github.com/tritonc/tritonc/internal/testseed"
)

// An array is a buffer of elements of a type, given and read as f64.
type array struct {
	kind ir.FloatKind // of floats
	bits int          // of signed integers, where it is not 0
	raw  []byte
}

func floats(kind ir.FloatKind, vals ...float64) *array {
	a := &array{kind: kind, raw: make([]byte, len(vals)*kind.Width()/8)}
	for i, v := range vals {
		a.set(i, v)
	}
	return a
}

func ints(bits int, vals ...float64) *array {
	a := &array{bits: bits, raw: make([]byte, len(vals)*bits/8)}
	for i, v := range vals {
		a.set(i, v)
	}
	return a
}

func (a *array) size() int {
	if a.bits != 0 {
		return a.bits / 8
	}
	return a.kind.Width() / 8
}

func (a *array) set(i int, v float64) {
	x := uint64(int64(v))
	if a.bits == 0 {
		x = ir.FloatToBits(a.kind, v)
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	copy(a.raw[i*a.size():(i+1)*a.size()], b[:])
}

func (a *array) at(i int) float64 {
	var b [8]byte
	copy(b[:], a.raw[i*a.size():(i+1)*a.size()])
	x := binary.LittleEndian.Uint64(b[:])
	if a.bits != 0 {
		return float64(int64(x<<(64-a.bits)) >> (64 - a.bits))
	}
	return ir.BitsToFloat(a.kind, x)
}

func (a *array) len() int { return len(a.raw) / a.size() }

// random numbers of a spread that sums do not lose.
func random(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(float32(r.NormFloat64()))
	}
	return out
}

// run compiles a kernel and executes it. Arguments are arrays, ints and f32s.
func run(t *testing.T, source, signature string, o options, grid [3]int, args ...any) {
	t.Helper()
	if err := launch(t, source, signature, o, grid, args...); err != nil {
		t.Fatal(err)
	}
}

// launch gives the error of the execution.
func launch(t *testing.T, source, signature string, o options, grid [3]int, args ...any) error {
	t.Helper()
	text := "import triton\nimport triton.language as tl\n\n@triton.jit\n" + source
	_, r, err := compile(t, "k.py", []byte(text), "k", signature, StageLLIR, map[string]any{
		"num_warps": o.NumWarps, "num_stages": max(o.NumStages, 2), "debug": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	mem := new(llirsim.Memory)
	sizes := make([]byte, 12)
	for i, n := range grid {
		binary.LittleEndian.PutUint32(sizes[4*i:], uint32(n))
	}
	mem.Alloc(sizes)
	var params []uint64
	for _, a := range args {
		switch a := a.(type) {
		case *array:
			params = append(params, mem.Alloc(a.raw).Address)
		case int:
			params = append(params, uint64(uint32(a)))
		case float64:
			params = append(params, uint64(math.Float32bits(float32(a))))
		}
	}
	k := &llirsim.Kernel{Target: intrinsics, Module: r.LLVM, Name: r.Kernel, Threads: r.Threads, Shared: r.Shared}
	return k.Launch(t.Context(), mem, grid, params...)
}

// near compares with an independent reference.
func near(t *testing.T, got *array, want []float64, tolerance float64) {
	t.Helper()
	if got.len() != len(want) {
		t.Fatalf("%d elements, want %d", got.len(), len(want))
	}
	bad := 0
	for i, w := range want {
		g := got.at(i)
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tolerance*(1+math.Abs(w)) {
			continue
		}
		if bad++; bad <= 4 {
			t.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	if bad > 4 {
		t.Errorf("%d of %d elements differ", bad, len(want))
	}
}

func seeded(t *testing.T) *rand.Rand {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 64))
}

func TestAdd(t *testing.T) {
	r := seeded(t)
	for _, warps := range []int{1, 2, 8} {
		const n = 1000
		x, y := random(r, n), random(r, n)
		want := make([]float64, n)
		for i := range want {
			want[i] = float64(float32(x[i] + y[i]))
		}
		out := floats(ir.F32, make([]float64, n)...)
		run(t, `def k(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)
`, "*fp32:16, *fp32:16, *fp32:16, i32, 256", options{NumWarps: warps}, [3]int{4, 1, 1}, floats(ir.F32, x...), floats(ir.F32, y...), out, n)
		near(t, out, want, 0)
	}
}
