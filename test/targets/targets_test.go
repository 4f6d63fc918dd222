package targets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd"
	"github.com/tritonc/tritonc/backends/npu"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/refkernels"
)

func TestMain(m *testing.M) {
	kerneltest.AddBackend(amd.New(), nil)
	kerneltest.AddBackend(npu.New(), openNPU)
	os.Exit(kerneltest.CheckForms(m.Run(), "Test"))
}

// targets are compiled for; the results of the others are held against the first one's
// that has the kernel.
var targets = []string{"cuda:80", "cuda:90", "hip:gfx942", "hip:gfx1100", "npu:ascend910b3"}

// launch is what a kernel is launched with beside the constants of its job.
type launch struct {
	grid [3]int
	// elements is how many each array has.
	elements int
	// numbers are the values of scalars, by parameter.
	numbers map[string]any
	// positive has floats drawn from [0.1, 1.1), else they are normal.
	positive bool
	// rtol and atol are how far results may be apart.
	rtol, atol float64
	// unordered are arrays whose elements may have any order; left out are those that
	// depend on the order of atomics.
	unordered, left []string
	// without are the targets that lack what the kernel needs, with a part of the message.
	without map[string]string
}

type ints = map[string]any

// matmul is a launch of a matmul kernel for matrices whose rows are dense.
func matmul(m, n, k, bm, bn int) launch {
	return launch{
		grid: kerneltest.Grid(((m + bm - 1) / bm) * ((n + bn - 1) / bn)), elements: max(m*k, n*k, m*n), rtol: 1e-2, atol: 2e-2,
		numbers: ints{"M": m, "N": n, "K": k, "sam": k, "sak": 1, "sbk": n, "sbn": 1, "scm": n, "scn": 1},
	}
}

func dot(atol float64) launch {
	return launch{grid: kerneltest.Grid(1), elements: 64 * 64, rtol: 1e-4, atol: atol}
}

func plain(elements int) launch {
	return launch{grid: kerneltest.Grid(1), elements: elements, rtol: 1e-5, atol: 1e-5}
}

var (
	noPrecision = map[string]string{"hip:gfx942": "input_precision", "hip:gfx1100": "input_precision"}
	noPTX       = map[string]string{
		"hip:gfx942": "llvm-mc: invalid instruction", "hip:gfx1100": "llvm-mc: invalid instruction",
		"npu:ascend910b3": "tt.elementwise_inline_asm has no form for NPUs",
	}
	noPrint = map[string]string{"npu:ascend910b3": "tt.print has no form for NPUs"}
	noFP64  = map[string]string{"npu:ascend910b3": "the cube unit of an NPU does not multiply matrices of f64"}
	noE4M3  = map[string]string{"cuda:80": "fp8e4nv not supported"}
)

// launches are those of the jobs by name.
func launches() map[string]launch {
	strided := matmul(64, 48, 32, 128, 128)
	strided.elements *= 16
	strided.numbers = ints{"M": 64, "N": 48, "K": 32, "sam": 512, "sak": 16, "sbk": 768, "sbn": 16, "scm": 768, "scn": 16}
	columns := matmul(144, 160, 128, 128, 128)
	columns.numbers["sbn"], columns.without, columns.atol = 128, noE4M3, 0.3
	single := matmul(144, 160, 96, 128, 128)
	single.atol = 0.2 // CUDA's dots of f32 are tf32 ones
	attention := launch{
		grid: kerneltest.Grid(2, 2), elements: 2 * 256 * 64, rtol: 5e-3, atol: 5e-3,
		numbers: ints{"scale": 0.125, "sz": 2 * 256 * 64, "sh": 256 * 64, "sm": 64, "H": 2, "N_CTX": 256},
	}
	rows := func(grid, elements int, numbers ints) launch {
		return launch{grid: kerneltest.Grid(grid), elements: elements, numbers: numbers, rtol: 2e-3, atol: 2e-3}
	}
	desc := matmul(144, 160, 128, 128, 128)
	desc.grid = kerneltest.Grid(4)
	return map[string]launch{
		"vector_add":          rows(3, 3072, ints{"n": 3008}),
		"row_softmax":         rows(3, 3*1600, ints{"in_stride": 1600, "out_stride": 1600, "n_cols": 1600}),
		"layer_norm_fwd":      rows(2, 2*3200, ints{"stride": 3200, "N": 3200, "eps": 1e-5}),
		"layer_norm_bwd":      {grid: kerneltest.Grid(2), elements: 16 * 1600, numbers: ints{"M": 16, "N": 1600}, rtol: 1e-2, atol: 2e-2},
		"matmul_fp16":         matmul(144, 160, 128, 128, 128),
		"matmul_fp16_strided": strided,
		"matmul_fp16_8w":      matmul(144, 272, 128, 128, 256),
		"matmul_bf16":         {grid: kerneltest.Grid(4), elements: 160 * 160, numbers: matmul(144, 160, 128, 128, 128).numbers, rtol: 2e-2, atol: 0.2},
		"matmul_fp8e4nv":      columns,
		"matmul_fp32":         single,
		"matmul_desc":         desc,
		"matmul_desc_ws":      desc,
		"flash_fwd_full":      attention,
		"flash_fwd_causal":    attention,
		"row_min_split":       rows(1, 32*2048, ints{"M": 32, "N": 2048, "sm": 2048}),
		"prod_mid":            {grid: kerneltest.Grid(2), elements: 8192, numbers: ints{"M": 8000}, rtol: 1e-4, atol: 1e-6},
		"cumsum_rows":         rows(2, 2*2000, ints{"stride": 2000, "N": 2000}),
		"casts":               {grid: kerneltest.Grid(1), elements: 256, positive: true},
		"casts_fp8":           {grid: kerneltest.Grid(1), elements: 512, without: noE4M3},
		"promotions":          {grid: kerneltest.Grid(1), elements: 256, numbers: ints{"s": 32, "f": 1.25}, rtol: 1e-5, atol: 1e-5},
		"control_flow":        {grid: kerneltest.Grid(4), elements: 8192, numbers: ints{"n": 1008, "flag": 16}, rtol: 1e-4, atol: 1e-4},
		"calls":               plain(4096),
		"reductions":          {grid: kerneltest.Grid(1), elements: 2048, rtol: 1e-4, atol: 1e-4},
		"reduce_tuple":        plain(4096),
		"scans":               {grid: kerneltest.Grid(1), elements: 2048, rtol: 1e-4, atol: 1e-4},
		"sorts":               {grid: kerneltest.Grid(1), elements: 1024, positive: true, rtol: 1e-5, atol: 1e-5},               // also counted: where numbers that have no bin go is not defined
		"shapes":              {grid: kerneltest.Grid(1), elements: 4096, rtol: 1e-4, atol: 1e-4, unordered: []string{"o_ptr"}}, // tl.cat may reorder
		"atomics":             {grid: kerneltest.Grid(2), elements: 8192, numbers: ints{"n": 400}, rtol: 1e-5, atol: 1e-5, left: []string{"o_ptr"}},
		"block_ptrs":          {grid: kerneltest.Grid(2), elements: 8192, numbers: ints{"M": 48, "N": 112, "sm": 112}, rtol: 1e-5, atol: 1e-5},
		"descriptors":         {grid: kerneltest.Grid(2, 2), elements: 8192, numbers: ints{"M": 64, "N": 112}, rtol: 1e-3, atol: 1e-3},
		"transpose2d":         {grid: kerneltest.Grid(2, 2), elements: 112 * 80, numbers: ints{"M": 112, "N": 80}},
		"hints":               {grid: kerneltest.Grid(2), elements: 4096, numbers: ints{"M": 256, "N": 16}, rtol: 1e-6, atol: 1e-6},
		"randoms":             {grid: kerneltest.Grid(2), elements: 4096, numbers: ints{"seed": 48}, rtol: 1e-5, atol: 1e-5},
		"maths":               {grid: kerneltest.Grid(1), elements: 128, positive: true, rtol: 1e-5, atol: 1e-5},
		"libdevices":          {grid: kerneltest.Grid(1), elements: 128, positive: true, rtol: 1e-5, atol: 1e-5},
		"inline_asm":          {grid: kerneltest.Grid(1), elements: 128, without: noPTX},
		"debugging":           {grid: kerneltest.Grid(2), elements: 256, numbers: ints{"n": 256}, positive: true, without: noPrint},

		"dot_fp16_float32_None": dot(1e-3), "dot_bf16_float32_None": dot(1e-3), "dot_i8_int32_None": dot(0),
		"dot_fp32_float32_ieee": dot(1e-3), "dot_fp8e5_float32_None": dot(2e-2), "dot_fp16_float16_None": dot(0.1),
		"dot_fp64_float64_None": {grid: kerneltest.Grid(1), elements: 64 * 64, rtol: 1e-4, atol: 1e-9, without: noFP64}, "dot_chain": dot(1e-2), "dot_scaled": dot(1e-2),
		"dot_fp32_float32_tf32":   {grid: kerneltest.Grid(1), elements: 64 * 64, rtol: 1e-3, atol: 5e-2, without: map[string]string{"hip:gfx1100": "input_precision"}},
		"dot_fp32_float32_tf32x3": {grid: kerneltest.Grid(1), elements: 64 * 64, rtol: 1e-4, atol: 1e-3, without: noPrecision},
	}
}

// TestReference runs the reference kernels.
func TestReference(t *testing.T) {
	all := launches()
	for _, j := range refkernels.Jobs(t, kernelDir) {
		l, ok := all[j.Name]
		if !ok {
			t.Errorf("the test does not say how to launch %s", j.Name)
			continue
		}
		delete(all, j.Name)
		t.Run(j.Name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Kernel{File: filepath.Join(kernelDir, j.File), Name: j.Kernel, Options: kerneltest.Options{}}
			for name, v := range j.Options {
				k.Options[name] = constant(fmt.Sprint(v))
			}
			compare(t, k, j.Signature, &l)
		})
	}
	for name := range all {
		t.Errorf("there is no reference kernel %s", name)
	}
}

// parameter is one of a signature: NAME=TYPE, or NAME=VALUE of a constant.
var (
	pointer = regexp.MustCompile(`^\*(\w+)`)
	scalar  = regexp.MustCompile(`^(i|u|fp)\d+(:\d+)?$`)
)

// constant is a constant of a signature as an argument.
func constant(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch text {
	case "None":
		return nil
	case "True", "False":
		return text == "True"
	}
	return kerneltest.Expr(text)
}

// arguments makes the arguments of a signature, and names them.
func arguments(t *testing.T, r *rand.Rand, signature string, l *launch) (names []string, args []any) {
	for _, p := range strings.Split(signature, ", ") {
		name, typ, ok := strings.Cut(p, "=")
		if !ok {
			t.Fatalf("%q is not a parameter", p)
		}
		names = append(names, name)
		switch m := pointer.FindStringSubmatch(typ); {
		case m != nil:
			args = append(args, filled(r, m[1], l))
		case scalar.MatchString(typ):
			v, known := l.numbers[name]
			if !known {
				t.Fatalf("the launch has no value for %s", name)
			}
			args = append(args, v)
		default:
			args = append(args, constant(typ))
		}
	}
	return names, args
}

func filled(r *rand.Rand, typ string, l *launch) *array.Array {
	switch {
	case typ == "u8":
		return kerneltest.Randint(r, 120, 131, typ, l.elements) // as the exponents of scales
	case typ == "i8":
		return kerneltest.Randint(r, -100, 100, typ, l.elements)
	case !strings.HasPrefix(typ, "fp") && typ != "bf16":
		return kerneltest.Randint(r, 0, 50, typ, l.elements)
	case !l.positive:
		return kerneltest.Randn(r, typ, l.elements)
	}
	a := kerneltest.Uniform(r, typ, l.elements)
	for i := range l.elements {
		a.Set(i, a.At(i)+0.1)
	}
	return a
}

// compare runs the kernel on each target, and holds what its arrays are then against what
// they are on the first.
func compare(t *testing.T, k kerneltest.Kernel, signature string, l *launch) {
	r := kerneltest.Rand(t)
	names, args := arguments(t, r, signature, l)
	var first []any
	for _, target := range targets {
		given := slices.Clone(args)
		for i, a := range given {
			if a, ok := a.(*array.Array); ok {
				given[i] = a.Clone()
			}
		}
		_, err := k.On(target).TryRun(t, l.grid, given...)
		if says := l.without[target]; says != "" {
			if err == nil || !strings.Contains(kerneltest.Text(err), says) {
				t.Errorf("%s: %v, want %q", target, err, says)
			}
			t.Logf("%s does not have the kernel: %s", target, says)
			continue
		}
		switch {
		case err != nil && strings.Contains(err.Error(), "bytes of shared memory, and a block may have"):
			t.Logf("%s: %v", target, err)
		case err != nil:
			t.Errorf("%s: %s", target, kerneltest.Text(err))
		case first == nil:
			first = given
		default:
			for i := range given {
				a, ok := given[i].(*array.Array)
				if !ok || slices.Contains(l.left, names[i]) {
					continue
				}
				got, want := a.Floats(), first[i].(*array.Array).Floats()
				if slices.Contains(l.unordered, names[i]) {
					slices.Sort(got)
					slices.Sort(want)
				}
				near(t, target+": "+names[i], got, want, l)
			}
		}
	}
}

// near fails the test where two arrays are too far apart.
func near(t *testing.T, what string, got, want []float64, l *launch) {
	bad, most, at := 0, 0.0, 0
	for i, a := range got {
		b := want[i]
		if a == b || a != a && b != b {
			continue
		}
		if d := math.Abs(a - b); !(d <= l.atol+l.rtol*math.Abs(b)) {
			if bad++; !(d <= most) {
				most, at = d, i
			}
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d elements differ from the first target's; most [%d], which is %v and was %v", what, bad, len(got), at, got[at], want[at])
	}
}
