package kernels

import (
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// changed is a kernel whose text says one thing in the place of another.
func changed(t *testing.T, k kerneltest.Kernel, pairs ...string) kerneltest.Kernel {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(k.Source, pairs[i]) {
			t.Fatalf("the kernel's file has no %q", pairs[i])
		}
	}
	k.Source = strings.NewReplacer(pairs...).Replace(k.Source)
	return k
}

func TestLanguageVectorAdd(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 1500
	x, y, out := kerneltest.Randn(r, "fp32", n), kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
	golden(t, "vector_add").Run(t, kerneltest.Grid(2), x, y, out, n, 1024)
	kerneltest.Equal(t, "out", out, each(n, func(i int) float64 { return float64(float32(x.At(i)) + float32(y.At(i))) }))
}

// TestLanguageShapes: a view may put elements in any order, so that of the sums
// only the set is known.
func TestLanguageShapes(t *testing.T) {
	forWarps(t, named(golden(t, "builtins"), "shapes"), func(t *testing.T, k kerneltest.Kernel) {
		const at = 14673 // where swizzle2d(14400 + 16 + 256, 1, 4, 4, 2) leads
		y := kerneltest.Empty("i32", at+1)
		k.Run(t, kerneltest.Grid(1), kerneltest.Empty("fp32", 1), y)
		var z, others []int64
		total := int64(0)
		for i := range int64(16) {
			or, xor := int64(0), int64(0)
			for j := range int64(16) {
				z = append(z, i*j)
				or, xor = or|j*i, xor^i*j
			}
			total += or + xor
		}
		for i := range 256 {
			others = append(others, y.Int(i)-z[i])
		}
		slices.Sort(others)
		slices.Sort(z)
		if !slices.Equal(others, z) {
			t.Errorf("y holds no sums of z and of z in another order: %v", y.Ints()[:256])
		}
		if got := y.Int(at); got != 2*total {
			t.Errorf("y[%d] = %d, want %d", at, got, 2*total)
		}
	})
}

// TestLanguagePointers: addresses as numbers, and back.
func TestLanguagePointers(t *testing.T) {
	r := kerneltest.Rand(t)
	const n = 64
	x, y := kerneltest.Randint(r, -99, 99, "i16", n), kerneltest.Empty("i8", 2*n)
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit
def pointers(x, y, N: tl.constexpr):
    o = tl.arange(0, N)
    q = (x.to(tl.int64) + 2 * o.to(tl.int64)).to(tl.pointer_type(tl.int16))
    v = tl.load(q)
    d = y.to(tl.int64) + (q.to(tl.int64) - x.to(tl.int64))
    tl.store(d.to(tl.pointer_type(tl.int8)), (v >> 8).to(tl.int8))
    tl.store((d + 1).to(tl.pointer_type(tl.int8)), v.to(tl.int8))
`}
	forWarps(t, k, func(t *testing.T, k kerneltest.Kernel) {
		k.Run(t, kerneltest.Grid(1), x, y, n)
		kerneltest.Equal(t, "y", y, each(2*n, func(i int) float64 {
			v := int16(x.Int(i / 2))
			if i%2 == 0 {
				return float64(v >> 8)
			}
			return float64(int8(v))
		}))
	})
}

// TestLanguageMemory: the pointer that the golden kernel reads is made of x's.
func TestLanguageMemory(t *testing.T) {
	const rows, cols, off, bound = 52, 32, 20, 19
	r := kerneltest.Rand(t)
	k := changed(t, golden(t, "memory"),
		"q = tl.load(table).to", "q = (x.to(tl.int64) + tl.load(table)).to",
		`".cg", eviction_policy="evict_first", volatile=True`, `".cg"`, // the hardware takes one of them
		`".wt", eviction_policy="evict_last"`, `".wt"`)
	forWarps(t, k, func(t *testing.T, k kerneltest.Kernel) {
		x, flags := kerneltest.Randn(r, "fp32", rows*cols), kerneltest.Randint(r, 0, 2, "i1", cols)
		bytes, table := kerneltest.Full(bound, "u8", 1), kerneltest.Full(4*40*cols, "i64", 1)
		was, m := x.Floats(), flags.Ints()
		k.Run(t, kerneltest.Grid(1), x, flags, bytes, table, off, cols)
		want := slices.Clone(was)
		for o := range cols {
			a := 1.0
			if m[o] != 0 {
				a = was[off+o]
			}
			if got := flags.Int(o) != 0; got != (a > 0) {
				t.Errorf("flags[%d] = %v, where the value is %v", o, got, a)
			}
			if o < bound {
				want[40*cols+o] = float64(float32(a + bound))
			}
		}
		want[0] = 2
		for i := 16 * cols; i < off*cols; i++ { // rows beyond off are outside
			want[i] = want[i-16*cols]
		}
		kerneltest.Equal(t, "x", x, want)
	})
}

// rounds is Philox of 32-bit words with so many rounds.
func rounds(n int, c [4]uint32, k0, k1 uint32) [4]uint32 {
	for range n {
		hiA, loA := bits.Mul32(0xD2511F53, c[0])
		hiB, loB := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hiB ^ c[1] ^ k0, loB, hiA ^ c[3] ^ k1, loA}
		k0, k1 = k0+0x9E3779B9, k1+0xBB67AE85
	}
	return c
}

func TestLanguageRandoms(t *testing.T) {
	const n, seed, start = 8, -123456789, 5_000_000_000
	// Integers hide all others, so they are left out where those are looked at.
	for _, c := range []struct {
		name string
		k    kerneltest.Kernel
		wide bool
	}{
		{"all", named(golden(t, "random"), "randoms"), true},
		{"narrow", changed(t, named(golden(t, "random"), "randoms"), "i + m +", "(i >> 29) +"), false},
	} {
		x := kerneltest.Empty("fp32", n)
		c.k.Run(t, kerneltest.Grid(1), x, seed, start)
		key := int64(seed)
		k0, k1 := uint32(key), uint32(key>>32) // seeds are 64 bits
		uniform := func(v uint32) float64 {
			i := int32(v)
			if i < 0 {
				i = -i - 1
			}
			return float64(float32(i) * 4.6566127342e-10)
		}
		kerneltest.Near(t, c.name, x, each(n, func(o int) float64 {
			u := rounds(2, [4]uint32{uint32(o)}, k0, k1)
			g := rounds(1, [4]uint32{uint32(o)}, k0, k1)
			a, b := uniform(u[0]), uniform(u[1])
			normal := func(u, v float64) (float64, float64) {
				s, c := math.Sincos(2 * math.Pi * v)
				l := math.Sqrt(-2 * math.Log(max(u, 1e-7)))
				return l * c, l * s
			}
			e, _ := normal(uniform(g[0]), uniform(g[1]))
			i := rounds(1, [4]uint32{uint32(o), 0, 0, uint32(o)}, k0, k1)[0]
			p, q := normal(a, b)
			sum := a + e + p*q + uniform(i)
			if !c.wide {
				return sum + float64(i>>29)
			}
			at := uint64(start + o) // the counter's first two words
			return sum + float64(i) + float64(rounds(1, [4]uint32{uint32(at), uint32(at >> 32)}, k0, k1)[0])
		}), 1e-5, 1e-5)
	}
}

// TestLanguageDescriptors: one warp of one block, since the last loop stores what
// other threads load in the iteration after.
func TestLanguageDescriptors(t *testing.T) {
	const m, n = 20, 24
	r := kerneltest.Rand(t)
	x, y := kerneltest.Randint(r, -9, 9, "fp32", m*n), kerneltest.Randint(r, -9, 9, "i32", m*m)
	was, old := x.Floats(), y.Floats()
	named(golden(t, "descriptors"), "descriptors").Warps(1).With(oneBlock).Run(t, kerneltest.Grid(1), x, y, m, n)
	for row := range 16 {
		for col := range m {
			was[row*m+col] = 0 // scattered zeros
		}
		for col := range 8 {
			old[row*m+col] = 0
			old[row*m+col+8] = max(old[row*m+col+8], 1)
		}
	}
	for i := range m {
		for row := i; row < min(i+16, m); row++ {
			for col := range 16 {
				was[row*n+col] += m + n
			}
		}
	}
	kerneltest.Equal(t, "x", x, was)
	kerneltest.Equal(t, "y", y, old)
}

// TestLanguageHostDescriptors: descriptors that are arguments.
func TestLanguageHostDescriptors(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, cc := range []string{"cuda:80", "cuda:90"} {
		forWarps(t, named(golden(t, "descriptors"), "given").On(cc), func(t *testing.T, k kerneltest.Kernel) {
			x, y := kerneltest.Randint(r, -9, 9, "i8", 40, 32), kerneltest.Empty("bf16", 40)
			y.Fill(7).Unset = false
			k.Run(t, kerneltest.Grid(1), &launch.Descriptor{Array: x, Block: []int{16, 32}}, &launch.Descriptor{Array: y, Block: []int{32}})
			kerneltest.Equal(t, "y", y, each(40, func(i int) float64 {
				if i >= 32 {
					return 7
				}
				sum := 0.0
				for row := 24; row < 40; row++ {
					sum += x.At(32*row + i)
				}
				return y.Type.Round(float64(int8(sum)))
			}))
		})
	}
}

func TestLanguageExtern(t *testing.T) {
	kerneltest.OwnFiles(t)
	r := kerneltest.Rand(t)
	lib := filepath.Join(t.TempDir(), "lib.ll")
	if err := os.WriteFile(lib, []byte(`define float @powi(float %x, i32 %n) {
  %m = sitofp i32 %n to float
  %r = fmul float %x, %m
  ret float %r
}
define double @pow(double %x, double %y) {
  %r = fadd double %x, %y
  ret double %r
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	const n = 5
	x, y := kerneltest.Randint(r, -99, 99, "fp32", 16), kerneltest.Randint(r, -99, 99, "fp64", 16)
	old := y.Floats()
	named(golden(t, "extern"), "externs").With(kerneltest.Options{"extern_libs": map[string]string{"lib": lib}}).Run(t, kerneltest.Grid(1), x, y, n)
	kerneltest.Equal(t, "y", y, each(16, func(i int) float64 {
		k := rounds(1, [4]uint32{uint32(i), 3 + n, uint32(i), uint32(i)}, uint32(i), uint32(i))
		return old[i] + n*x.At(i) + float64(k[0])
	}))
}

// asHere says what the golden files ask of the backend that they are tested with.
func asHere() []string {
	if onAMD() {
		return []string{"is_test", "is_hip", "is_other", "is_cuda", "test_capability_geq(7, 5)", "is_hip()"}
	}
	return []string{"is_test", "is_cuda", "is_other", "is_hip", "test_capability_geq", "cuda_capability_geq"}
}

func TestLanguageDebug(t *testing.T) {
	k := changed(t, golden(t, "debug"), asHere()...).With(kerneltest.Options{"debug": true}).Warps(1)
	p := kerneltest.Empty("i32", 1)
	out := k.Run(t, kerneltest.Grid(1), p, 1000)
	kerneltest.Equal(t, "p", p, []float64{3001})
	if !strings.Contains(out.Printed, "n: 0x000003e8") && !strings.Contains(out.Printed, "n: 0x3e8") {
		t.Errorf("printed %q", out.Printed)
	}
	for n, want := range map[int]string{
		-1:      "n must be positive",
		1 << 30: "int32 overflow detected for operation mul",
	} {
		_, err := k.TryRun(t, kerneltest.Grid(1), p, n)
		if err == nil || !strings.Contains(kerneltest.Text(err), want) {
			t.Errorf("n = %d: %v, want %q", n, err, want)
		}
	}
}

func TestLanguageImports(t *testing.T) {
	versions := []string{"torch.version.other", "torch.version.hip", "torch.version.test", "torch.version.cuda"}
	if onAMD() {
		versions[1], versions[3] = versions[3], versions[1]
	}
	k := changed(t, golden(t, "imports"), versions...)
	p, q := kerneltest.Zeros("fp32", 1), kerneltest.Empty("fp16", 1)
	p.Set(0, float64(math.Float32frombits(1000)))
	k.Run(t, kerneltest.Grid(1), p, q)
	kerneltest.Equal(t, "q", q, []float64{1000 + 1 + 2 + 4})
}

// Approximations flush denormals of f32 unless the option says not to.
func TestReflectFTZ(t *testing.T) {
	forNVIDIA(t, "the option is CUDA's")
	k := kerneltest.Kernel{Name: "exp2", Source: `
import triton
import triton.language as tl

@triton.jit
def exp2(x, out):
    at = tl.arange(0, 32)
    tl.store(out + at, tl.math.exp2(tl.load(x + at)))
`}
	for _, flush := range []bool{true, false} {
		want, where := math.Ldexp(1, -127), "ex2.approx.f32"
		if flush {
			want, where = 0, "ex2.approx.ftz.f32"
		}
		x, out := kerneltest.Full(-127, "fp32", 32), kerneltest.Empty("fp32", 32)
		run := k.With(kerneltest.Options{"enable_reflect_ftz": flush}).Run(t, kerneltest.Grid(1), x, out)
		kerneltest.Near(t, where, out, slices.Repeat([]float64{want}, 32), 1e-6, 0)
		if !strings.Contains(run.PTX, where) {
			t.Errorf("there is no %s:\n%s", where, run.PTX)
		}
	}
}

// Descriptors are handed to functions and taken from them.
func TestDescriptorCalls(t *testing.T) {
	k := kerneltest.Kernel{Name: "kernel", Source: `
import triton
import triton.language as tl

@triton.jit(noinline=True)
def make(p, M, N, BM: tl.constexpr, BN: tl.constexpr):
    return tl.make_tensor_descriptor(p, shape=[M, N], strides=[N, 1], block_shape=[BM, BN]), M * N

@triton.jit(noinline=True)
def negate(src, dst, at, BM: tl.constexpr, BN: tl.constexpr):
    for i in range(2):
        dst.store([at, i * BN], -src.load([at, i * BN]))

@triton.jit
def kernel(x, out, sizes, M, N, BM: tl.constexpr, BN: tl.constexpr):
    src, n = make(x, M, N, BM, BN)
    dst, m = make(out, M, N, BM, BN)
    negate(src, dst, tl.program_id(0) * BM, BM, BN)
    tl.store(sizes + tl.program_id(0), n + m)
`}
	r := kerneltest.Rand(t)
	const m, n = 13, 24
	for _, target := range []string{"cuda:80", "cuda:90"} {
		x, out, sizes := kerneltest.Randn(r, "fp32", m, n), kerneltest.Empty("fp32", m, n), kerneltest.Empty("i32", 2)
		k.On(target).Run(t, kerneltest.Grid(2), x, out, sizes, m, n, 8, 16)
		want := make([]float64, m*n)
		for i := range want {
			want[i] = -x.At(i)
		}
		kerneltest.Equal(t, target, out, want)
		kerneltest.Equal(t, target, sizes, []float64{2 * m * n, 2 * m * n})
	}
}
