package gpu64

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// matmul multiplies A and B in a pipelined loop over K, whose last part is masked.
// B lies transposed in memory where that is asked for.
func matmul(acc, zero string, isTransposed bool) string {
	y := "tl.load(b + (at + l)[:, None] * N + j[None, :], mask=(at + l)[:, None] < K, other=" + zero + ")"
	if isTransposed {
		y = "tl.load(b + j[:, None] * K + (at + l)[None, :], mask=(at + l)[None, :] < K, other=" + zero + ").T"
	}
	return `def k(a, b, out, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, B)
    acc = tl.zeros((M, N), tl.` + acc + `)
    for at in range(0, K, B):
        x = tl.load(a + i[:, None] * K + (at + l)[None, :], mask=(at + l)[None, :] < K, other=` + zero + `)
        y = ` + y + `
        acc = tl.dot(x, y, acc, out_dtype=tl.` + acc + `)
    tl.store(out + i[:, None] * N + j[None, :], acc)
`
}

// TestMFMA multiplies by matrix instructions: all types that they take and some
// that are widened for them, both sizes, several warps, one and several
// instructions along K, operands transposed on their way.
func TestMFMA(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, c := range []struct {
		a, b, acc string
		tolerance float64
		intrinsic string // the end of its name
	}{
		{"fp16", "fp16", "float32", 1e-5, "f16("},
		{"fp16", "fp16", "float16", 3e-2, "f16("},
		{"bf16", "bf16", "float32", 1e-5, "bf16.1k("},
		{"fp32", "fp32", "float32", 1e-5, "f32("},
		{"fp64", "fp64", "float64", 1e-12, "4f64("},
		{"i8", "i8", "int32", 0, "i8("},
		{"fp8e4b8", "fp8e4b8", "float32", 1e-5, "fp8.fp8("},
		{"fp8e5b16", "fp8e5b16", "float32", 1e-5, "bf8.bf8("},
		{"fp8e4b8", "fp8e5b16", "float32", 1e-5, "bf8.fp8("}, // exchanged, as results are transposed
		{"fp8e4nv", "fp8e4nv", "float32", 1e-5, "f16("},
	} {
		for _, s := range []struct {
			m, n, block, k, warps int
			isTransposed          bool
		}{
			{32, 64, 32, 80, 4, false},
			{16, 32, 32, 40, 1, true},
			{64, 32, 64, 100, 2, true},
		} {
			t.Run(fmt.Sprintf("%s/%s/%s/%dx%dx%d", c.a, c.b, c.acc, s.m, s.n, s.block), func(t *testing.T) {
				vals := func(typ string, n int) *array.Array {
					if typ == "i8" {
						return kerneltest.Randint(r, -128, 128, typ, n)
					}
					return kerneltest.Randn(r, typ, n)
				}
				a, b := vals(c.a, s.m*s.k), vals(c.b, s.k*s.n)
				want := make([]float64, s.m*s.n)
				for i := range s.m {
					for j := range s.n {
						for l := range s.k {
							y := b.At(l*s.n + j)
							if s.isTransposed {
								y = b.At(j*s.k + l)
							}
							want[i*s.n+j] += a.At(i*s.k+l) * y
						}
					}
				}
				zero := "0.0"
				if c.acc == "int32" {
					zero = "0"
				}
				out := kerneltest.Zeros(map[string]string{"float16": "fp16", "float32": "fp32", "float64": "fp64", "int32": "i32"}[c.acc], s.m*s.n)
				source := matmul(c.acc, zero, s.isTransposed)
				kernel := kernelOf(source, options{NumWarps: s.warps, NumStages: 2, MFMA: true})
				kernel.Run(t, kerneltest.Grid(1), a, b, out, s.k, s.m, s.n, s.block)
				near(t, out, want, c.tolerance)

				signature := fmt.Sprintf("a=*%s, b=*%s, out=*%s, K=i32, M=%d, N=%d, B=%d", c.a, c.b, out.Type.Name, s.m, s.n, s.block)
				ir := compileMFMA(t, source, signature, StageLLIR, s.warps)
				if !regexp.MustCompile(`@llvm\.amdgcn\.mfma\.[a-z0-9.]*` + regexp.QuoteMeta(c.intrinsic)).MatchString(ir) {
					t.Errorf("the LLVM IR has no call of llvm.amdgcn.mfma.…%s…):\n%s", c.intrinsic, ir)
				}
			})
		}
	}
}

func compileMFMA(t *testing.T, source, signature, stage string, warps int) string {
	t.Helper()
	file := []byte("import triton\nimport triton.language as tl\n\n@triton.jit\n" + source)
	k, _, err := compile(t, "k.py", file, "k", signature, stage, map[string]any{"num_warps": warps, "num_stages": 2, "mfma": true})
	if err != nil {
		t.Fatal(err)
	}
	return string(k.Artifact(stage).Data)
}

// TestMFMAFallsBack has a dot with too few rows for an instruction computed by
// multiply-adds.
func TestMFMAFallsBack(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n, k = 8, 32, 32
	a, b := kerneltest.Randn(r, "fp16", m*k), kerneltest.Randn(r, "fp16", k*n)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				want[i*n+j] += a.At(i*k+l) * b.At(l*n+j)
			}
		}
	}
	out := kerneltest.Zeros("fp32", m*n)
	run(t, matmul("float32", "0.0", false), options{NumWarps: 2, NumStages: 2, MFMA: true}, kerneltest.Grid(1), a, b, out, k, m, n, k)
	near(t, out, want, 1e-5)
	if ir := compileMFMA(t, matmul("float32", "0.0", false), "a=*fp16, b=*fp16, out=*fp32, K=i32, M=8, N=32, B=32", StageLLIR, 2); strings.Contains(ir, "mfma") {
		t.Errorf("a dot of 8 rows has an instruction:\n%s", ir)
	}
}

// TestMFMAChain multiplies the result of one dot by another matrix, as attention
// does: the accumulator becomes an operand.
func TestMFMAChain(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n, k = 64, 32, 64
	q, x, v := kerneltest.Randn(r, "fp16", m*k), kerneltest.Randn(r, "fp16", n*k), kerneltest.Randn(r, "fp16", n*k)
	p := make([]float64, m*n)
	want := make([]float64, m*k)
	half := kerneltest.Zeros("fp16", 1)
	for i := range m {
		for j := range n {
			for l := range k {
				p[i*n+j] += q.At(i*k+l) * x.At(j*k+l)
			}
			half.Set(0, p[i*n+j]/8)
			p[i*n+j] = half.At(0)
		}
		for l := range k {
			for j := range n {
				want[i*k+l] += p[i*n+j] * v.At(j*k+l)
			}
		}
	}
	out := kerneltest.Zeros("fp32", m*k)
	run(t, `def k(q, x, v, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    l = tl.arange(0, K)
    a = tl.load(q + i[:, None] * K + l[None, :])
    b = tl.load(x + j[:, None] * K + l[None, :])
    c = tl.load(v + j[:, None] * K + l[None, :])
    p = tl.dot(a, b.T) / 8
    tl.store(out + i[:, None] * K + l[None, :], tl.dot(p.to(tl.float16), c))
`, options{NumWarps: 4, NumStages: 2, MFMA: true}, kerneltest.Grid(1), q, x, v, out, m, n, k)
	near(t, out, want, 2e-2)
}

// TestMFMAAssembly has llc compile the intrinsics to the instructions.
func TestMFMAAssembly(t *testing.T) {
	if _, err := exec.LookPath("llc-22"); err != nil {
		t.Skip("llc-22 is not installed: nothing to make assembly with")
	}
	for typ, want := range map[string]string{
		"fp16": "v_mfma_f32_32x32x8_f16", "bf16": "v_mfma_f32_32x32x8_bf16", "fp32": "v_mfma_f32_32x32x2_f32",
		"fp64": "v_mfma_f64_16x16x4_f64", "i8": "v_mfma_i32_32x32x16_i8", "fp8e4b8": "v_mfma_f32_32x32x16_fp8_fp8",
	} {
		acc, zero, out := "float32", "0.0", "fp32"
		switch typ {
		case "fp64":
			acc, out = "float64", "fp64"
		case "i8":
			acc, zero, out = "int32", "0", "i32"
		}
		signature := fmt.Sprintf("a=*%s, b=*%[1]s, out=*%s, K=i32, M=64, N=64, B=32", typ, out)
		if asm := compileMFMA(t, matmul(acc, zero, false), signature, StageAssembly, 4); !strings.Contains(asm, want) {
			t.Errorf("%s: the assembly has no %s", typ, want)
		}
	}
}

// TestMFMAReference takes the reference kernels with dots to assembly by way of the
// matrix unit.
func TestMFMAReference(t *testing.T) {
	if _, err := exec.LookPath("llc-22"); err != nil {
		t.Skip("llc-22 is not installed: nothing to make assembly with")
	}
	multiplied := 0
	for _, j := range refkernels.Jobs(t, kernelDir) {
		path := filepath.Join(kernelDir, j.File)
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		j.Options["mfma"] = true
		j.Options["allocator"] = "basic" // the greedy one takes minutes for some
		k, _, err := compile(t, path, src, j.Kernel, j.Signature, StageTTGIR, j.Options)
		if err != nil || !strings.Contains(string(k.Artifact(StageTTGIR).Data), "#ttg.amd_mfma") {
			continue // refused, or without dots, which TestReference has
		}
		t.Run(j.Name, func(t *testing.T) {
			k, _, err := compile(t, path, src, j.Kernel, j.Signature, StageAssembly, j.Options)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(k.Artifact(StageAssembly).Data), "v_mfma_") {
				t.Error("the assembly has no matrix instruction")
			}
			multiplied++
		})
	}
	if multiplied < 20 {
		t.Errorf("%d reference kernels have matrix instructions, want 20 at least", multiplied)
	}
}
