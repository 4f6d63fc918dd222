package gpu64

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// TestMFMA multiplies by matrix instructions: all types that they take and some
// that are widened for them, both sizes, several warps, one and several
// instructions along K, operands transposed on their way.
func TestMFMA(t *testing.T) {
	r := kerneltest.Rand(t)
	for _, c := range []struct {
		kerneltest.Dot
		intrinsic string // the end of its name
	}{
		{kerneltest.Dot{A: "fp16", B: "fp16", Acc: "float32", Tolerance: 1e-5}, "f16("},
		{kerneltest.Dot{A: "fp16", B: "fp16", Acc: "float16", Tolerance: 3e-2}, "f16("},
		{kerneltest.Dot{A: "bf16", B: "bf16", Acc: "float32", Tolerance: 1e-5}, "bf16.1k("},
		{kerneltest.Dot{A: "fp32", B: "fp32", Acc: "float32", Tolerance: 1e-5}, "f32("},
		{kerneltest.Dot{A: "fp64", B: "fp64", Acc: "float64", Tolerance: 1e-12}, "4f64("},
		{kerneltest.Dot{A: "i8", B: "i8", Acc: "int32"}, "i8("},
		{kerneltest.Dot{A: "fp8e4b8", B: "fp8e4b8", Acc: "float32", Tolerance: 1e-5}, "fp8.fp8("},
		{kerneltest.Dot{A: "fp8e5b16", B: "fp8e5b16", Acc: "float32", Tolerance: 1e-5}, "bf8.bf8("},
		// Exchanged, as results are transposed.
		{kerneltest.Dot{A: "fp8e4b8", B: "fp8e5b16", Acc: "float32", Tolerance: 1e-5}, "bf8.fp8("},
		{kerneltest.Dot{A: "fp8e4nv", B: "fp8e4nv", Acc: "float32", Tolerance: 1e-5}, "f16("},
	} {
		for _, s := range []struct {
			m, n, block, k, warps int
			isTransposed          bool
		}{
			{32, 64, 32, 80, 4, false},
			{16, 32, 32, 40, 1, true},
			{64, 32, 64, 100, 2, true},
		} {
			d := c.Dot
			d.M, d.N, d.Block, d.K, d.IsTransposed = s.m, s.n, s.block, s.k, s.isTransposed
			t.Run(d.String(), func(t *testing.T) {
				d.Check(t, r, target, mfmaOptions(s.warps))
				ir := compileMFMA(t, d, StageLLIR, s.warps)
				if !regexp.MustCompile(`@llvm\.amdgcn\.mfma\.[a-z0-9.]*` + regexp.QuoteMeta(c.intrinsic)).MatchString(ir) {
					t.Errorf("the LLVM IR has no call of llvm.amdgcn.mfma.…%s…):\n%s", c.intrinsic, ir)
				}
			})
		}
	}
}

// target is what kernels are compiled for, mfmaOptions the options that have them multiply
// by matrix instructions.
const target = backendName + ":" + arch

func mfmaOptions(warps int) kerneltest.Options {
	return kerneltest.Options{"num_warps": warps, "num_stages": 2, "debug": true, "mfma": true}
}

func compileMFMA(t *testing.T, d kerneltest.Dot, stage string, warps int) string {
	t.Helper()
	k, _, err := compile(t, "k.py", []byte(d.Source()), "k", d.Signature(), stage, map[string]any{"num_warps": warps, "num_stages": 2, "mfma": true})
	if err != nil {
		t.Fatal(err)
	}
	return string(k.Artifact(stage).Data)
}

// TestMFMAFallsBack has a dot with too few rows for an instruction computed by
// multiply-adds.
func TestMFMAFallsBack(t *testing.T) {
	d := kerneltest.Dot{A: "fp16", B: "fp16", Acc: "float32", M: 8, N: 32, Block: 32, K: 32, Tolerance: 1e-5}
	d.Check(t, kerneltest.Rand(t), target, mfmaOptions(2))
	if ir := compileMFMA(t, d, StageLLIR, 2); strings.Contains(ir, "mfma") {
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
		d := kerneltest.Dot{A: typ, B: typ, Acc: "float32", M: 64, N: 64, Block: 32}
		switch typ {
		case "fp64":
			d.Acc = "float64"
		case "i8":
			d.Acc = "int32"
		}
		if asm := compileMFMA(t, d, StageAssembly, 4); !strings.Contains(asm, want) {
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
