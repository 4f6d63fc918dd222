package kerneltest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
)

// kernels are those of the reference benchmark.
func kernels(name string) Kernel {
	return Kernel{File: "../../core/frontend/testdata/kernels.py", Name: name}
}

func source(body string) Kernel {
	return Kernel{Source: "import triton\nimport triton.language as tl\n\n@triton.jit\n" + body}
}

// TestFindings: what a kernel does wrong is an error.
func TestFindings(t *testing.T) {
	Simulated(t)
	tests := []struct {
		name   string
		kernel Kernel
		grid   int
		args   []any
		says   []string
	}{
		{
			"out of bounds", source("def k(x, n, B: tl.constexpr):\n    o = tl.arange(0, B)\n    tl.store(x + o, o)\n"),
			1,
			[]any{Empty("i32", 60), 60, 64},
			[]string{"kernel.py:7:", "out of bounds", "buffer x, which has 240 bytes"},
		},
		{
			"never written", source("def k(x, y, B: tl.constexpr):\n    o = tl.arange(0, B)\n    tl.store(x + o, tl.load(y + o) > 0)\n"),
			1,
			[]any{Empty("i32", 64), Empty("i32", 64), 64},
			[]string{"undefined value"},
		},
		{
			"two blocks", source("def k(x, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), tl.program_id(0))\n"),
			4,
			[]any{Empty("i32", 64), 64},
			[]string{"conflict between blocks"},
		},
		{
			"endless", source("def k(x, n):\n    i = n\n    while i > 0:\n        i += 1\n        i = i % 100 + 1\n    tl.store(x, i)\n"),
			1,
			[]any{Empty("i32", 1), 5},
			[]string{"endless kernel", "executed more than 10000 instructions"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.kernel.Sim = simulated.Options{MaxInstructions: 10000}
			_, err := tt.kernel.TryRun(t, Grid(tt.grid), tt.args...)
			var fault *driver.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("got %v", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// TestMistakes: what cannot be compiled or launched is an error, too.
func TestMistakes(t *testing.T) {
	Simulated(t)
	add := kernels("vector_add")
	x := Empty("fp32", 16)
	for _, tt := range []struct {
		name   string
		kernel Kernel
		grid   [3]int
		args   []any
		says   string
	}{
		{"missing", add, Grid(1), []any{x, x, x}, "vector_add lacks arguments: n, BLOCK\n  help: the kernel is vector_add(x_ptr"},
		{"too many", add, Grid(1), []any{x, x, x, 1, 16, 3}, "vector_add has 5 parameters, given 6 arguments"},
		{"memory for a constant", add, Grid(1), []any{x, x, x, 16, x}, "argument BLOCK: it is a constant of the kernel"},
		{"number for memory", add, Grid(1), []any{1.5, x, x, 16, 16}, "kernels.py:10:"},
		{"no such kernel", kernels("add"), Grid(1), nil, `the file has no kernel "add"`},
		{"no such file", Kernel{File: "none.py"}, Grid(1), nil, "none.py"},
		{"no grid", add, Grid(0), []any{x, x, x, 16, 16}, "grid dimension x is 0"},
		{"great grid", add, Grid(1, 70000), []any{x, x, x, 16, 16}, "grid dimension y is 70000: it must be from 1 to 65535"},
		{"option", add.With(Options{"num_warps": 3}), Grid(1), []any{x, x, x, 16, 16}, "num_warps"},
		{"target", add.On("dsp:chip"), Grid(1), []any{x, x, x, 16, 16}, "no simulated device executes code for dsp:chip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.kernel.TryRun(t, tt.grid, tt.args...)
			if err == nil || !strings.Contains(Text(err), tt.says) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
		})
	}
}

// TestSignature: what follows from the arguments.
func TestSignature(t *testing.T) {
	k := source("def k(x, n, one, f, flag, none, wide: tl.int64, h: tl.float16, B: tl.constexpr, D: tl.constexpr = 7):\n" +
		"    tl.static_assert(none is None)\n    tl.store(x, n + one + f + flag + wide + h + B + D)\n")
	x := Empty("fp32", 1)
	got := k.Run(t, Grid(1), x, 32, 1, 0.5, true, nil, 3, 2.25, Expr("2**3"))
	want := "x=*fp32:16, n=i32:16, one=i32:1, f=fp32, flag=u1, none=None, wide=i64, h=fp16, B=2**3"
	if got.Signature != want {
		t.Errorf("signature %s\nwant      %s", got.Signature, want)
	}
	Equal(t, "x", x, []float64{32 + 1 + 0.5 + 1 + 3 + 2.25 + 8 + 7})
	got = k.Run(t, Grid(1), x, 1<<40, 17, 0.5, false, nil, 16, 2.25, 8)
	want = "x=*fp32:16, n=i64:16, one=i32, f=fp32, flag=u1, none=None, wide=i64:16, h=fp16, B=8"
	if got.Signature != want {
		t.Errorf("signature %s\nwant      %s", got.Signature, want)
	}
}

func TestDoNotSpecialize(t *testing.T) {
	k := Kernel{Source: `import triton
import triton.language as tl

@triton.jit(do_not_specialize=["a"], do_not_specialize_on_alignment=[2])
def k(x, a, b):
    tl.store(x, a + b)
`}
	x := Empty("i32", 1)
	if got := k.Run(t, Grid(1), x, 1, 32); got.Signature != "x=*i32:16, a=i32, b=i32" {
		t.Errorf("signature %s", got.Signature)
	}
	Equal(t, "x", x, []float64{33})
	if got := k.Run(t, Grid(1), x, 16, 1); got.Signature != "x=*i32:16, a=i32, b=i32:1" {
		t.Errorf("signature %s", got.Signature)
	}
	Equal(t, "x", x, []float64{17})
}

// TestSharedBuffer: one array for two parameters is one buffer.
func TestSharedBuffer(t *testing.T) {
	k := source("def k(x, y, B: tl.constexpr):\n    o = tl.arange(0, B)\n    tl.store(y + o, tl.load(x + o) + 1)\n")
	x := Zeros("i32", 32)
	k.Run(t, Grid(1), x, x, 32)
	Equal(t, "x", x, Full(1, "fp64", 32).Floats())
}

// TestSchedules: any order of blocks and warps gives the same.
func TestSchedules(t *testing.T) {
	r := Rand(t)
	for range 5 {
		k := kernels("row_softmax")
		k.Sim = simulated.Options{Random: true, Seed: r.Uint64()}
		const rows, n = 4, 200
		x, out := Randn(r, "fp32", rows, n), Empty("fp32", rows, n)
		k.Run(t, Grid(rows), out, x, n, n, n, 256)
		want := make([]float64, rows*n)
		for row := range rows {
			sum := 0.0
			for i := range n {
				sum += math.Exp(x.Floats()[row*n+i])
			}
			for i := range n {
				want[row*n+i] = math.Exp(x.Floats()[row*n+i]) / sum
			}
		}
		Near(t, "out", out, want, 3e-6, 1e-8)
	}
}
