package instructions

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/llir"
)

// gpuEnv names a folder for what sweeps the functions on a GPU.
const gpuEnv = "TRITONC_GPU"

// swept are the functions of f32 that testdata/sweep.py knows, with as many arguments as
// "/" says.
const swept = "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh acosh atanh " +
	"erf erfc erfcx erfinv erfcinv normcdf normcdfinv tgamma lgamma cyl_bessel_i0 cyl_bessel_i1 j0 j1 y0 y1 " +
	"cbrt rcbrt rsqrt sqrt logb round rint pow/2 atan2/2 hypot/2 rhypot/2 fmod/2 remainder/2 fdim/2 nextafter/2"

// gpuKernel is LLVM IR that stores a function of numbers, for as many threads.
const gpuKernel = `
define ptx_kernel void @k_NAME(ptr addrspace(1) %px, ptr addrspace(1) %py, ptr addrspace(1) %po) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = mul i32 %c, %n
  %i = add i32 %b, %t
  %ax = getelementptr float, ptr addrspace(1) %px, i32 %i
  %ay = getelementptr float, ptr addrspace(1) %py, i32 %i
  %ao = getelementptr float, ptr addrspace(1) %po, i32 %i
  %x = load float, ptr addrspace(1) %ax, align 4
  %y = load float, ptr addrspace(1) %ay, align 4
  %r = call float @SYMBOL(ARGS)
  store float %r, ptr addrspace(1) %ao, align 4
  ret void
}
`

// digest names the code of a function on compute capability 9.0.
func digest(t *testing.T, f *function) string {
	t.Helper()
	m := llir.NewModule("", "", "")
	define(t, m, &gpu.Target{CC: 90}, f)
	sum := sha256.Sum256(m.Print())
	return fmt.Sprintf("%x", sum[:6])
}

// TestWriteGPU writes sweep.cubin for compute capability 9.0, with a kernel for each
// function, and sweep.py, which runs them on a GPU for all numbers beside CUDA's
// functions of doubles:
//
//	TRITONC_GPU=DIR go test -run TestWriteGPU ./test/math/instructions
//	python3 DIR/sweep.py > test/math/instructions/testdata/h200.tsv
func TestWriteGPU(t *testing.T) {
	dir := os.Getenv(gpuEnv)
	if dir == "" {
		t.Skipf("set %s to a folder for kernels that sweep the functions on a GPU", gpuEnv)
	}
	list := parseFunctions(swept)
	var text strings.Builder
	text.WriteString("target triple = \"nvptx64-nvidia-cuda\"\n")
	for _, r := range []string{"tid", "ctaid", "ntid"} {
		fmt.Fprintf(&text, "declare i32 @llvm.nvvm.read.ptx.sreg.%s.x()\n", r)
	}
	for _, f := range list {
		args := []string{"", "float %x", "float %x, float %y"}[f.args]
		text.WriteString(strings.NewReplacer("NAME", f.name, "SYMBOL", f.symbol(), "ARGS", args).Replace(gpuKernel))
	}
	module := inlined(t, list, text.String(), 90)
	ptx := run(t, module, "llc-22", "-march=nvptx64", "-mcpu=sm_90", "-mattr=+ptx84", "-O3", "-fp-contract=fast", "-o", "-", "-")
	in := filepath.Join(t.TempDir(), "sweep.ptx")
	if err := os.WriteFile(in, ptx, 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "ptxas", "-arch=sm_90", "-o", filepath.Join(dir, "sweep.cubin"), in)
	var digests strings.Builder
	for _, f := range list {
		fmt.Fprintf(&digests, "%s\t%s\n", f.name, digest(t, f))
	}
	if err := os.WriteFile(filepath.Join(dir, "digests.tsv"), []byte(digests.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/sweep.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sweep.py"), script, 0o755); err != nil {
		t.Fatal(err)
	}
}

// gpuPath has what sweep.py printed.
const gpuPath = "testdata/h200.tsv"

// gpuErrors is the section of the document about it. Rows of code that has changed since
// are left out.
func gpuErrors(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(gpuPath)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]int{}
	for _, f := range parseFunctions(swept) {
		args[f.name] = f.args
	}
	var b strings.Builder
	b.WriteString(`
## Errors on an H200

The greatest errors over all 2³² numbers there, for functions of two arguments with every number as the first, beside CUDA's functions of doubles: of ours, by the kernels that TestWriteGPU of test/math/instructions writes, and of CUDA 13's functions of floats, as they are by default and with the options that flush subnormal numbers and approximate division and roots, which are nearest to what Triton links (measured on what remains). ` + "`lgamma` is measured from -2 on, `j0`, `j1`, `y0` and `y1` up to 8." + ` Code that has changed since the measurement (test/math/instructions/testdata/h200.tsv) has no row.

| function | ours | CUDA's | CUDA's, flushed |
|---|---|---|---|
`)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) != 7 || args[f[0]] == 0 {
			t.Fatalf("%s: %q", gpuPath, line)
		}
		if f[1] != digest(t, &function{name: f[0], args: args[f[0]]}) {
			continue
		}
		var v [3]float64
		for i, at := range []int{2, 5, 6} {
			if v[i], err = strconv.ParseFloat(f[at], 64); err != nil {
				t.Fatalf("%s: %q: %v", gpuPath, line, err)
			}
		}
		if f[4] != "0" {
			t.Errorf("%s has %s wrong zeros and NaNs on a GPU", f[0], f[4])
		}
		fmt.Fprintf(&b, "| `%s` | %.2f | %.2f | %.2f |\n", f[0], v[0], v[1], v[2])
	}
	return b.String()
}
