package kernels

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// externs calls functions of a library: one with a branch on what it learns of
// the target, one of two types, one that writes where a pointer says.
const externs = `import triton
import triton.language as tl


@tl.core.extern
def sharpen(x, y, _semantic=None):
    return tl.core.extern_elementwise("sharp", "", [x, y], {
        (tl.float32, tl.float32): ("sharp_f32", tl.float32),
        (tl.float64, tl.float64): ("sharp_f64", tl.float64),
    }, is_pure=True, _semantic=_semantic)


@tl.core.extern
def parity(x, _semantic=None):
    return tl.core.extern_elementwise("sharp", "", [x], {
        (tl.int32,): ("sharp_parity", tl.int32),
    }, is_pure=True, _semantic=_semantic)


@triton.jit
def kernel(x, y, z, o, d, p, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m, other=0.0)
    b = tl.load(y + i, mask=m, other=0.0)
    tl.store(o + i, sharpen(a, b), mask=m)
    tl.store(d + i, sharpen(a.to(tl.float64), b.to(tl.float64)), mask=m)
    tl.store(p + i, parity(tl.load(z + i, mask=m, other=0)), mask=m)
    tl.store(p + n, parity(n))
`

// sharpLL is the library. sharp_f32 is 2x + y where denormals are flushed, else
// 3x + y; in either case one more on sm_90.
const sharpLL = `target triple = "nvptx64-nvidia-cuda"

@ftz = private constant [11 x i8] c"__CUDA_FTZ\00"
@arch = private constant [12 x i8] c"__CUDA_ARCH\00"
@table = internal constant [4 x i32] [i32 0, i32 1, i32 1, i32 0]

declare i32 @__nvvm_reflect(ptr)

define float @sharp_f32(float %x, float %y) {
  %f = call i32 @__nvvm_reflect(ptr @ftz)
  %is = icmp ne i32 %f, 0
  br i1 %is, label %two, label %three
two:
  %a = fmul float %x, 2.0
  br label %end
three:
  %b = fmul float %x, 3.0
  br label %end
end:
  %p = phi float [%a, %two], [%b, %three]
  %s = fadd float %p, %y
  %cc = call i32 @__nvvm_reflect(ptr @arch)
  %hopper = icmp eq i32 %cc, 900
  %more = select i1 %hopper, float 1.0, float 0.0
  %r = call float @plus(float %s, float %more)
  ret float %r
}

define float @plus(float %x, float %y) noinline {
  %r = fadd float %x, %y
  ret float %r
}

define double @sharp_f64(double %x, double %y) {
  %r = fsub double %x, %y
  ret double %r
}

define i32 @sharp_parity(i32 %x) {
  %i = and i32 %x, 3
  %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %i
  %r = load i32, ptr %p
  ret i32 %r
}

define float @not_called(float %x) {
  %r = call float @nowhere(float %x)
  ret float %r
}

declare float @nowhere(float)
`

// TestExternLibrary: functions of a library, as text and as bitcode, are part of
// the kernel, and know the target and whether denormals are flushed.
func TestExternLibrary(t *testing.T) {
	forNVIDIA(t, "the library asks NVVM whether denormals are flushed; backends/amd links its own")
	kerneltest.OwnFiles(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "sharp.ll")
	if err := os.WriteFile(text, []byte(sharpLL), 0o600); err != nil {
		t.Fatal(err)
	}
	libs := []string{text}
	if as, err := exec.LookPath("llvm-as-22"); err == nil {
		bitcode := filepath.Join(dir, "sharp.bc")
		if out, err := exec.Command(as, text, "-o", bitcode).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		libs = append(libs, bitcode)
	}
	r := kerneltest.Rand(t)
	for i, lib := range libs {
		for _, c := range []struct {
			target  string
			ftz     bool
			factor  float64
			added   float64
			nwarps  int
			n, size int
		}{
			{"cuda:80", true, 2, 0, 4, 199, 256},
			{"cuda:80", false, 3, 0, 1, 64, 64},
			{"cuda:90", true, 2, 1, 2, 29, 32},
		} {
			x, y := kerneltest.Randint(r, -99, 99, "fp32", c.n), kerneltest.Randint(r, -99, 99, "fp32", c.n)
			z := kerneltest.Randint(r, -1<<31, 1<<31-1, "i32", c.n)
			o, d, p := kerneltest.Empty("fp32", c.n), kerneltest.Empty("fp64", c.n), kerneltest.Empty("i32", c.n+1)
			k := kerneltest.Kernel{Source: externs, Name: "kernel", Target: c.target}.Warps(c.nwarps).With(kerneltest.Options{
				"extern_libs": map[string]string{"sharp": lib}, "enable_reflect_ftz": c.ftz,
			})
			out := k.Run(t, kerneltest.Grid(1), x, y, z, o, d, p, c.n, c.size)
			kerneltest.Equal(t, "o", o, each(c.n, func(i int) float64 { return c.factor*x.At(i) + y.At(i) + c.added }))
			kerneltest.Equal(t, "d", d, each(c.n, func(i int) float64 { return x.At(i) - y.At(i) }))
			kerneltest.Equal(t, "p", p, each(c.n+1, func(i int) float64 {
				v := int64(c.n)
				if i < c.n {
					v = z.Int(i)
				}
				return math.Abs(float64(v&1 ^ v>>1&1))
			}))
			if strings.Contains(out.PTX, "not_called") || strings.Contains(out.PTX, "__nvvm_reflect") || strings.Contains(out.PTX, ".visible .func") {
				t.Errorf("library %d, %s: more was linked than is called:\n%s", i, c.target, out.PTX)
			}
		}
	}
}
