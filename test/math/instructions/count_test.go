package instructions

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/driver/sim"
)

// functions of f32, with as many arguments as "/" says, else one. The first are
// those that public kernels call most (test/math/census), where a function is not an
// instruction in both compilers.
const functions = "log log2 pow/2 tanh erf sin cos exp fast_expf floor ceil trunc fast_fdividef/2 round rint fmod/2 " +
	"atan2/2 atan log1p fast_logf " +
	"sqrt rsqrt exp2 expm1 exp10 log10 asin acos tan sinh cosh asinh acosh atanh cbrt rcbrt hypot/2 rhypot/2 " +
	"erfc erfcx normcdf erfinv erfcinv normcdfinv tgamma lgamma sinpi cospi cyl_bessel_i0 cyl_bessel_i1 j0 j1 y0 y1 " +
	"fdim/2 nextafter/2 remainder/2 logb"

// mostUsed is how many of them must be no longer than Triton's.
const mostUsed = 20

// longer says why one of those is.
var longer = map[string]string{
	"exp": "a polynomial, within the bound on any GPU and for subnormal results",
}

const (
	listPath    = "testdata/functions.tsv"
	docPath     = "../../../docs/results/devmath.md"
	libraryEnv  = "TRITONC_LIBDEVICE"
	docHeading  = "\n## Instructions on NVIDIA\n"
	baseline    = "base" // kernels with a multiplication for a function are base1 and base2
	threadCount = 256
)

// function is a row: Triton's and our machine instructions for sm_80, and the PTX
// instructions that one warp executes, all without the kernel's own.
type function struct {
	name         string
	args         int
	theirs, ours [2]int
}

func rows() []*function { return parseFunctions(functions) }

func parseFunctions(text string) []*function {
	var out []*function
	for _, f := range strings.Fields(text) {
		name, args, ok := strings.Cut(f, "/")
		n := 1
		if ok {
			n, _ = strconv.Atoi(args)
		}
		out = append(out, &function{name: name, args: n})
	}
	return out
}

func (f *function) symbol() string {
	if strings.HasPrefix(f.name, "fast_") {
		return "__nv_" + f.name
	}
	return "__nv_" + f.name + "f"
}

// kernel is LLVM IR that stores a function of each thread's numbers.
func kernel(name, call string) string {
	return fmt.Sprintf(`
define ptx_kernel void @%s(ptr addrspace(1) %%px, ptr addrspace(1) %%py, ptr addrspace(1) %%po) {
  %%i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %%ax = getelementptr float, ptr addrspace(1) %%px, i32 %%i
  %%ay = getelementptr float, ptr addrspace(1) %%py, i32 %%i
  %%ao = getelementptr float, ptr addrspace(1) %%po, i32 %%i
  %%x = load float, ptr addrspace(1) %%ax, align 4
  %%y = load float, ptr addrspace(1) %%ay, align 4
  %s
  store float %%r, ptr addrspace(1) %%ao, align 4
  ret void
}
`, name, call)
}

// kernels are one kernel for each row, and the baseline.
func kernels(list []*function) string {
	var b strings.Builder
	b.WriteString("target triple = \"nvptx64-nvidia-cuda\"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n")
	b.WriteString(kernel(baseline+"1", "%r = fmul float %x, 3.0") + kernel(baseline+"2", "%r = fmul float %x, %y"))
	for _, f := range list {
		args := "float %x"
		if f.args == 2 {
			args = "float %x, float %y"
		}
		b.WriteString(kernel("k_"+f.name, fmt.Sprintf("%%r = call float @%s(%s)", f.symbol(), args)))
	}
	return b.String()
}

// ours is a module with our functions and a kernel for each.
func ours(t *testing.T, list []*function) []byte { return inlined(t, list, kernels(list), 80) }

// inlined is LLVM IR of kernels with our functions in the places of calls.
func inlined(t *testing.T, list []*function, kernels string, cc int) []byte {
	t.Helper()
	target := &gpu.Target{CC: cc}
	m := llir.NewModule("functions", target.Triple(), target.DataLayout())
	for _, f := range list {
		define(t, m, target, f)
	}
	// A module of its own declares what the kernels do too.
	text := string(m.Print())
	_, text, _ = strings.Cut(text, "target triple")
	_, text, _ = strings.Cut(text, "\n")
	return run(t, []byte(kernels+text), "opt-22", "-passes=inline", "-inline-threshold=1000000", "-S")
}

// define puts our function into a module.
func define(t *testing.T, m *llir.Module, target *gpu.Target, f *function) {
	t.Helper()
	fn := m.NewFunc(f.symbol(), true, llir.F32, []llir.Type{llir.F32, llir.F32}[:f.args]...)
	b := llir.NewBuilder(fn)
	b.SetBlock(fn.NewBlock(nil))
	v := target.Library(b, f.symbol(), llir.F32, []llir.Value{fn.Param(0), fn.Param(f.args - 1)}[:f.args])
	if v == nil {
		t.Fatalf("%s is not ours", f.symbol())
	}
	b.Ret(v)
}

// theirs is a module with libdevice's functions inlined.
func theirs(t *testing.T, list []*function, library string) []byte {
	t.Helper()
	text := kernels(list)
	for _, f := range list {
		text += fmt.Sprintf("declare float @%s(%s)\n", f.symbol(), []string{"", "float", "float, float"}[f.args])
	}
	text += "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n"
	in := filepath.Join(t.TempDir(), "kernels.ll")
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	linked := run(t, nil, "llvm-link-22", "--only-needed", "--internalize", in, library)
	return run(t, linked, "opt-22", "-O3", "-mtriple=nvptx64-nvidia-cuda", "-inline-threshold=1000000", "-S")
}

// count fills in one side of the list.
func count(t *testing.T, list []*function, module []byte, to func(f *function) *[2]int) {
	t.Helper()
	ptx := run(t, module, "llc-22", "-march=nvptx64", "-mcpu=sm_80", "-mattr=+ptx84", "-O3", "-fp-contract=fast", "-o", "-", "-")
	dir := t.TempDir()
	in, cubin := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	if err := os.WriteFile(in, ptx, 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "ptxas", "-arch=sm_80", "-o", cubin, in)
	sass := machineCode(string(run(t, nil, "cuobjdump", "-sass", cubin)))
	mod, err := sim.Load("functions.ptx", ptx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		base := baseline + strconv.Itoa(f.args)
		// The baseline's own instruction does not count.
		*to(f) = [2]int{sass["k_"+f.name] - sass[base] + 1, executed(t, mod, "k_"+f.name) - executed(t, mod, base) + 1}
	}
}

var (
	functionLine = regexp.MustCompile(`^\s+Function : (\S+)`)
	machineLine  = regexp.MustCompile(`^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);`)
)

// machineCode counts the instructions of each kernel in cuobjdump's listing,
// without the filling after the last.
func machineCode(sass string) map[string]int {
	out := map[string]int{}
	name := ""
	for line := range strings.Lines(sass) {
		if m := functionLine.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if m := machineLine.FindStringSubmatch(line); m != nil && m[1] != "NOP" {
			out[name]++
		}
	}
	return out
}

// executed is the number of instructions that a warp executes on the simulated GPU,
// for numbers between 0 and 6.
func executed(t *testing.T, mod *sim.Module, kernel string) int {
	t.Helper()
	d := sim.New(sim.Options{NoChecks: true, Workers: 1})
	x, y := make([]float32, threadCount), make([]float32, threadCount)
	for i := range x {
		x[i] = (float32(i*37%threadCount) + 0.5) * 6 / threadCount
		y[i] = (float32(i*101%threadCount) + 0.5) * 6 / threadCount
	}
	rep, err := d.Launch(mod, kernel, sim.Dim(1), sim.Dim(threadCount), 0,
		sim.Upload(d, "x", x), sim.Upload(d, "y", y), sim.Upload(d, "o", x))
	if err != nil {
		t.Fatal(err)
	}
	return int(rep.Counters.WarpInstructions) / (threadCount / 32)
}

// run runs a program on text; the test is skipped where the program is not here.
func run(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if cache, dirErr := os.UserCacheDir(); err != nil && dirErr == nil {
		path, err = exec.LookPath(filepath.Join(cache, "tritonc", "toolchain", "bin", name))
	}
	if err != nil {
		t.Skipf("%s is not here: nothing to count instructions with (make toolchain)", name)
	}
	cmd := exec.Command(path, args...)
	var bad bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &bad
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, bad.Bytes())
	}
	return out
}

// read fills in Triton's side as it is committed.
func read(t *testing.T, list []*function) {
	t.Helper()
	text, err := os.ReadFile(listPath)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][2]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var n [2]int
		if !strings.HasPrefix(line, "#") {
			if _, err := fmt.Sscan(line, &name, &n[0], &n[1]); err != nil {
				t.Fatalf("%s: %q: %v", listPath, line, err)
			}
			known[name] = n
		}
	}
	for _, f := range list {
		n, ok := known[f.name]
		if !ok {
			t.Fatalf("%s has no row %s: run with %s and TRITONC_UPDATE=1", listPath, f.name, libraryEnv)
		}
		f.theirs = n
	}
}

func TestFunctions(t *testing.T) {
	update := os.Getenv("TRITONC_UPDATE") == "1"
	list := rows()
	if library := os.Getenv(libraryEnv); library != "" {
		count(t, list, theirs(t, list, library), func(f *function) *[2]int { return &f.theirs })
		text := "# What Triton 3.6 makes of functions of f32 for sm_80: function, machine instructions,\n" +
			"# PTX instructions executed by a warp. test/math/instructions writes this.\n"
		for _, f := range list {
			text += fmt.Sprintf("%s\t%d\t%d\n", f.name, f.theirs[0], f.theirs[1])
		}
		if update {
			if err := os.WriteFile(listPath, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if have, err := os.ReadFile(listPath); err != nil || string(have) != text {
			t.Errorf("%s is not what was measured: run with TRITONC_UPDATE=1 (%v)", listPath, err)
		}
	} else {
		read(t, list)
	}
	count(t, list, ours(t, list), func(f *function) *[2]int { return &f.ours })
	for i, f := range list {
		if i < mostUsed && f.ours[0] > f.theirs[0] && longer[f.name] == "" {
			t.Errorf("%s has %d instructions, Triton's %d", f.name, f.ours[0], f.theirs[0])
		}
	}
	document(t, list, update)
}

// document keeps the end of docs/results/devmath.md true.
func document(t *testing.T, list []*function, update bool) {
	t.Helper()
	var b strings.Builder
	b.WriteString(docHeading + `
What a function of f32 adds to a kernel for sm_80, ours · Triton 3.6's with libdevice: machine instructions by ptxas of CUDA 12.4, all paths together, and PTX instructions that a warp of the simulated GPU executes for numbers between 0 and 6. Triton has libdevice flush subnormal numbers to zero, which ours keep. The first twenty are those that public kernels call most (test/math/census/testdata/functions.tsv), but for what is an instruction in both; test/math/instructions holds them to Triton's length. ` + "`" + `bench/vs_triton.py run DIR --rows math` + "`" + ` times these twenty on a GPU, over 2²⁶ numbers each: docs/benchmarks.md has what it found.

| function | machine | executed |
|---|---|---|
`)
	for i, f := range list {
		note := ""
		if i < mostUsed && f.ours[0] > f.theirs[0] {
			note = " (" + longer[f.name] + ")"
		}
		fmt.Fprintf(&b, "| %s%s | %d · %d | %d · %d |\n", "`"+f.name+"`", note, f.ours[0], f.theirs[0], f.ours[1], f.theirs[1])
	}
	b.WriteString(gpuErrors(t))
	have, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(have), docHeading)
	text := head + b.String()
	if update {
		if err := os.WriteFile(docPath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(have) != text {
		t.Error("the end of docs/results/devmath.md is not what was counted: run with TRITONC_UPDATE=1")
	}
}
