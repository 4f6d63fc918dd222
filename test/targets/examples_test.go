package targets

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	host "github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// example is a kernel of a file of examples.
type example struct {
	file, signature string
	launch
}

// of is a launch of grid programs on arrays of so many elements, with the values of scalars;
// results may be apart by 1e-4, relative and absolute.
func of(grid [3]int, elements int, numbers ints) launch {
	return launch{grid: grid, elements: elements, numbers: numbers, rtol: 1e-4, atol: 1e-4}
}

// loose is l whose results may be apart by tolerance.
func loose(tolerance float64, l launch) launch {
	l.rtol, l.atol = tolerance, tolerance
	return l
}

// positive is l with positive numbers.
func positive(l launch) launch {
	l.positive = true
	return l
}

// factors is a launch on 100 positive numbers, whose results are apart by rounding alone.
func factors(grid [3]int, numbers ints) launch {
	return launch{grid: grid, elements: 100, numbers: numbers, positive: true, rtol: 1e-5}
}

// examples are all kernels of the examples, by name.
func examples() map[string]example {
	grid := kerneltest.Grid
	const (
		columns  = ", M=i32, N=i32, BLOCK_ROW_SIZE=2, BLOCK_COL_SIZE=1024"
		backward = "DX=*fp16, DY=*fp16, DW=*fp32, DB=*fp32, X=*fp16, W=*fp16, Mean=*fp32, Rstd=*fp32, M=i32, N=i32"
		forward  = "x=*fp16, y=*fp16, w=*fp16, b=*fp16, mean=*fp32, rstd=*fp32, stride=i32, n=i32, eps=fp32"
		rows     = "out=*fp32, x=*fp32, stride=i32, n=i32, BLOCK=1024"
		minimum  = "inp=*fp32, out=*fp32, M=i32, N=i32"
		wrapped  = "out=*fp16, x=*fp16, m=i32, BLOCK=256"
		flagged  = "out=*fp32, live=*i32, x=*fp32, n=i32, group=i32, BLOCK=256"
		scores   = "q=*fp16, k=*fp16, s=*fp32, scale=fp32, n=i32, HEAD=64, BLOCK_M=64, BLOCK_N=32"
		values   = "p=*fp16, v=*fp16, o=*fp16, n=i32, HEAD=64, BLOCK_M=64, BLOCK_N=32"
		whole    = "q=*fp16, k=*fp16, v=*fp16, o=*fp16, scale=fp32, n=i32, HEAD=64, BLOCK_M=64, BLOCK_N=32, CAUSAL=True"
		grouped  = "a=*fp16, b=*fp16, c=*fp16, M=i32, N=i32, K=i32, am=i32, ak=1, bk=i32, bn=1, cm=i32, cn=1, BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32, GROUP_SIZE_M=2, ACTIVATION='leaky_relu'"
	)
	norm := ints{"stride": 1000, "n": 1000, "eps": 1e-5}
	normBackward := loose(2e-2, of(grid(5), 5*1000, ints{"M": 5, "N": 1000}))
	heads := ints{"scale": 0.125, "n": 128}
	attention := loose(5e-3, of(grid(2, 2), 2*128*128, heads))
	tile := ints{"M": 5, "N": 4096}
	halves := ints{"m": 512}
	groups := ints{"n": 1000, "group": 8}
	stride := ints{"stride": 1000, "n": 992}
	softmax := ints{"n_rows": 3, "n_cols": 1000}
	product := ints{"M": 100}
	return map[string]example{
		"scores_kernel":    {"attention.py", scores, attention},
		"values_kernel":    {"attention.py", values, loose(5e-2, of(grid(2, 2), 2*128*128, heads))},
		"attention_kernel": {"attention.py", whole, attention},

		"cumsum_columns": {"cumsum.py", "out=*fp32, x=*fp32, rows=i32, n=i32, BLOCK_ROW=64", loose(1e-3, of(grid(1), 60*70, ints{"rows": 60, "n": 70}))},
		"cumsum_row":     {"cumsum.py", "out=*fp32, x=*fp32, n=i32, BLOCK=4096", loose(1e-3, of(grid(2), 2*4000, ints{"n": 4000}))},
		"cumsum_tiles":   {"cumsum.py", "out=*fp32, x=*fp32, n=i32, BLOCK=1024", loose(1e-3, of(grid(2), 2*4000, ints{"n": 4000}))},
		"chunk_sums":     {"cumsum.py", "sums=*fp32, x=*fp32, n=i32, BLOCK=1024", loose(1e-3, of(grid(2, 4), 2*4000, ints{"n": 4000}))},
		"cumsum_chunks":  {"cumsum.py", "out=*fp32, x=*fp32, sums=*fp32, n=i32, BLOCK=1024, CHUNKS=16", loose(1e-3, of(grid(2, 4), 2*4000, ints{"n": 4000}))},

		"wrap":            {"hints.py", wrapped, of(grid(4), 1024, halves)},
		"wrap_hinted":     {"hints.py", wrapped, of(grid(4), 1024, halves)},
		"flags":           {"hints.py", flagged, of(grid(4), 1024, groups)},
		"flags_hinted":    {"hints.py", flagged, of(grid(4), 1024, groups)},
		"rows":            {"hints.py", rows, of(grid(3), 3*1024, stride)},
		"rows_parameters": {"hints.py", rows, of(grid(3), 3*1024, stride)},
		"rows_hinted":     {"hints.py", rows, of(grid(3), 3*1024, stride)},

		"layer_norm":      {"layer_norm.py", forward + ", BLOCK=1024", loose(5e-3, of(grid(3), 3*1000, norm))},
		"layer_norm_wide": {"layer_norm_wide.py", forward + ", BLOCK=256", loose(5e-3, of(grid(3), 3*1000, norm))},

		"layer_norm_backward_row":    {"layer_norm_backward.py", backward + ", BLOCK_COL_SIZE=1024", normBackward},
		"layer_norm_backward_kernel": {"layer_norm_backward.py", backward + ", BLOCK_ROW_SIZE=2, BLOCK_COL_SIZE=1024", normBackward},
		"input_backward_kernel":      {"layer_norm_backward.py", "dY=*fp16, X=*fp16, W=*fp16, Mean=*fp32, Rstd=*fp32, dX=*fp16" + columns, normBackward},
		"weight_bias_backward_kernel": {
			"layer_norm_backward.py", "dY=*fp16, X=*fp16, Mean=*fp32, Rstd=*fp32, dW=*fp32, dB=*fp32, M=i32, N=i32, BLOCK_ROW_SIZE=32, BLOCK_COL_SIZE=16",
			loose(2e-2, of(grid(63), 5*1000, ints{"M": 5, "N": 1000})),
		},

		"matmul_kernel1": {
			"matmul_grouped.py", "A=*fp16, B=*fp16, C=*fp32, M=i32, N=i32, K=i32, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32",
			loose(1e-2, of(grid(2, 2), 100*120, ints{"M": 100, "N": 120, "K": 96})),
		},
		"matmul_kernel": {"matmul_grouped.py", grouped, loose(2e-2, of(grid(4), 100*120, ints{"M": 100, "N": 120, "K": 96, "am": 96, "bk": 120, "cm": 120}))},

		"max_kernel":      {"max.py", "inp=*fp32, out=*fp32, M=i32, BLOCK_SIZE=1024, ONE_TILE_PER_CTA=False", of(grid(2), 4000, ints{"M": 4000})},
		"max_rows_kernel": {"max.py", "inp=*fp32, out=*fp32, M=i32, N=i32, NUM_BLOCK_N=4, BLOCK_SIZE_N=1024", of(grid(2, 4), 5*4096, tile)},

		"min_rows":       {"min.py", minimum + ", BLOCK_SIZE_M=4, BLOCK_SIZE_N=512", of(grid(2), 5*4096, tile)},
		"min_split_each": {"min.py", minimum + ", BLOCK_SIZE_M=4, BLOCK_SIZE_N=1024, SUB_BLOCK_SIZE_N=256", of(grid(4), 5*4096, tile)},
		"min_split":      {"min.py", minimum + ", BLOCK_SIZE_M=4, BLOCK_SIZE_N=1024, SUB_BLOCK_SIZE_N=256", of(grid(4), 5*4096, tile)},
		"min_split_once": {"min.py", minimum + ", ALL_ROWS=8, BLOCK_SIZE_M=4, BLOCK_SIZE_N=1024, SUB_BLOCK_SIZE_N=256", of(grid(4), 5*4096, tile)},

		// Products of so few that f32 holds them.
		"prod_kernel_block":  {"prod.py", "inp=*fp32, mid=*fp32, M=i32, BLOCK_SIZE=16", factors(grid(7), product)},
		"prod_kernel_mid":    {"prod.py", "inp=*fp32, mid=*fp32, M=i32, BLOCK_SIZE=16", factors(grid(3), product)},
		"prod_kernel_halves": {"prod.py", "inp=*fp32, mid=*fp32, M=i32, BLOCK_SIZE=16, ITER_NUM=4", factors(grid(3), product)},
		"prod_kernel_result": {"prod.py", "mid=*fp32, out=*fp32, MID_SIZE=i32, BLOCK_MID=32", factors(grid(1), ints{"MID_SIZE": 30})},

		"relu_maximum":   {"replacements.py", "out=*fp32, x=*fp32, n=i32, BLOCK=1024", of(grid(3), 3000, ints{"n": 3000})},
		"relu_where":     {"replacements.py", "out=*fp32, x=*fp32, n=i32, BLOCK=1024", of(grid(3), 3000, ints{"n": 3000})},
		"distance":       {"replacements.py", "out=*fp32, x=*fp32, y=*fp32, n=i32, BLOCK=1024", of(grid(3), 3000, ints{"n": 1000})},
		"distance_where": {"replacements.py", "out=*fp32, x=*fp32, y=*fp32, n=i32, BLOCK=1024", of(grid(3), 3000, ints{"n": 1000})},
		"sum_at_once":    {"replacements.py", "out=*fp32, x=*fp32, BLOCK=1024", loose(1e-3, of(grid(3), 3*1024, nil))},
		"sum_in_steps":   {"replacements.py", "out=*fp32, x=*fp32, BLOCK=1024", loose(1e-3, of(grid(3), 3*1024, nil))},
		"sum_rows":       {"replacements.py", "out=*fp32, x=*fp32, ROWS=32, COLS=64", loose(1e-3, of(grid(2), 2*32*64, nil))},
		"sum_columns":    {"replacements.py", "out=*fp32, x=*fp32, ROWS=32, COLS=64", loose(1e-3, of(grid(2), 2*32*64, nil))},

		"row_softmax": {"row_softmax.py", "out=*fp32, x=*fp32, a=i32, b=i32, n=i32, BLOCK=1024", of(grid(3), 3*1000, ints{"a": 1000, "b": 1000, "n": 1000})},
		"saxpy":       {"saxpy.py", "out=*fp32, x=*fp32, y=*fp32, a=fp32, n=i32, BLOCK=512, STEPS=4", of(grid(2), 3000, ints{"a": 2.5, "n": 3000})},
		"vector_add":  {"vector_add.py", "x=*fp32, y=*fp32, out=*fp32, n=i32, BLOCK=1024", of(grid(3), 3000, ints{"n": 3000})},

		"softmax_columns":  {"softmax_wide.py", "out=*fp32, x=*fp32, n_rows=i32, n_cols=i32, BLOCK_SIZE_ROW=64", of(grid(1), 60*70, ints{"n_rows": 60, "n_cols": 70})},
		"softmax_tiles":    {"softmax_wide.py", "out=*fp32, x=*fp32, n_rows=i32, n_cols=i32, BLOCK_SIZE_ROW=2, BLOCK_SIZE_COL=256", of(grid(2), 3*1000, softmax)},
		"softmax_partials": {"softmax_wide.py", "top=*fp32, total=*fp32, x=*fp32, n_rows=i32, n_cols=i32, BLOCK_SIZE_COL=256", of(grid(3, 4), 3*1000, softmax)},
		"softmax_combine": {
			"softmax_wide.py", "out=*fp32, x=*fp32, top=*fp32, total=*fp32, n_rows=i32, n_cols=i32, BLOCK_SIZE_COL=256, PARTS=4",
			positive(of(grid(3, 4), 3*1000, softmax)),
		},
	}
}

// notAlone are functions of the examples that others call, and the matmul of descriptors,
// which TestDescriptors launches.
var notAlone = map[string]bool{"normalise": true, "leaky_relu": true, "reduce_mul": true, "matmul": true}

var kernelDef = regexp.MustCompile(`(?m)^@triton\.jit.*\n(?:@.*\n)*def (\w+)`)

// TestExamples runs every kernel of the examples.
func TestExamples(t *testing.T) {
	const dir = "../../examples"
	files, err := filepath.Glob(dir + "/*.py")
	if err != nil {
		t.Fatal(err)
	}
	all := examples()
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range kernelDef.FindAllStringSubmatch(string(src), -1) {
			e, known := all[m[1]]
			switch {
			case notAlone[m[1]]:
				continue
			case !known || e.file != filepath.Base(path):
				t.Errorf("the test does not say how to launch %s of %s", m[1], path)
				continue
			}
			delete(all, m[1])
			t.Run(m[1], func(t *testing.T) {
				t.Parallel()
				compare(t, kerneltest.Kernel{File: path, Name: m[1], Options: options(e.signature)}, e.signature, &e.launch)
			})
		}
	}
	for name := range all {
		t.Errorf("there is no kernel %s in the examples", name)
	}
}

// options are those of a kernel with large tiles: eight warps.
func options(signature string) kerneltest.Options {
	if strings.Contains(signature, "4096") {
		return kerneltest.Options{"num_warps": 8}
	}
	return nil
}

// TestDescriptors runs the matmul whose arguments are tensor descriptors.
func TestDescriptors(t *testing.T) {
	r := kerneltest.Rand(t)
	const m, n, k = 100, 72, 80
	a, b := kerneltest.Randn(r, "fp16", m, k), kerneltest.Randn(r, "fp16", k, n)
	var first []float64
	for _, target := range targets {
		c := kerneltest.Zeros("fp16", m, n)
		kernel := kerneltest.Kernel{File: "../../examples/matmul.py", Name: "matmul"}.On(target)
		kernel.Run(t, kerneltest.Grid(2, 2), &host.Descriptor{Array: a, Block: []int{64, 32}},
			&host.Descriptor{Array: b, Block: []int{32, 64}}, &host.Descriptor{Array: c, Block: []int{64, 64}})
		if first == nil {
			first = c.Floats()
			continue
		}
		near(t, target+": c", c.Floats(), first, &launch{rtol: 5e-3, atol: 5e-3})
	}
}
