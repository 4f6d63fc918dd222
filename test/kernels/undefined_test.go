package kernels

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestLoopVariableAfterLoop: Triton leaves open what a loop's variable is after
// the loop. Here it is one value, 0: addresses, masks and branches made of it
// agree.
func TestLoopVariableAfterLoop(t *testing.T) {
	k := kerneltest.Kernel{Source: `import triton
import triton.language as tl


@triton.jit
def partly(x, n):
    if n > 1000:
        return x + 1.0


@triton.jit
def k(p, q, at, n, B: tl.constexpr):
    for i in range(0, n):
        tl.store(at + i, i)
    o = i * B + tl.arange(0, B)
    x = tl.load(p + o, mask=o < n + i, other=-1.0)
    for j in range(0, n, 2):
        x += 1.0
    if n > 100:
        j = n
    if j < 1:
        x += 100.0
    tl.store(q + (j + 1) * B + tl.arange(0, B), x, mask=tl.arange(0, B) >= i)
    count = i
    while count < 3:
        count += 1
    tl.store(at + n, count)
    tl.store(at + n + 1, i * 7 + j)
    tl.store(q, partly(3.0, n))
`}
	forWarps(t, kerneltest.Kernel{Source: k.Source, Name: "k"}, func(t *testing.T, k kerneltest.Kernel) {
		const n, b = 13, 64
		x, out, at := kerneltest.Randn(kerneltest.Rand(t), "fp32", b), kerneltest.Full(9, "fp32", 2*b), kerneltest.Empty("i32", n+2)
		k.Run(t, kerneltest.Grid(1), x, out, at, n, b)
		kerneltest.Equal(t, "at", at, each(n+2, func(i int) float64 {
			switch i {
			case n:
				return 3
			case n + 1:
				return 0
			}
			return float64(i)
		}))
		kerneltest.Near(t, "out", out, each(2*b, func(i int) float64 {
			switch {
			case i == 0:
				return 0
			case i < b:
				return 9
			case i-b < n:
				return x.At(i-b) + 7 + 100
			}
			return -1 + 7 + 100
		}), 1e-6, 1e-6)
	})
}

// TestPoison: what Triton's own passes have made of such a variable, poison that
// reaches addresses and masks, touches memory at offset zero or not at all.
func TestPoison(t *testing.T) {
	src := &core.Source{Path: "poison.ttir", Text: []byte(`module {
  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %o = ub.poison : tensor<64xi32>
    %s = ub.poison : i32
    %m = ub.poison : tensor<64xi1>
    %f = ub.poison : f32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %pp = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %a = tt.addptr %pp, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %x = tt.load %a : tensor<64x!tt.ptr<f32>>
    %qq = tt.splat %q : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %b = tt.addptr %qq, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %b, %x : tensor<64x!tt.ptr<f32>>
    tt.store %a, %x, %m : tensor<64x!tt.ptr<f32>>
    %c = tt.addptr %q, %s : !tt.ptr<f32>, i32
    tt.store %c, %f : !tt.ptr<f32>
    tt.return
  }
}
`)}
	x, out := kerneltest.Full(5, "fp32", 1), kerneltest.Empty("fp32", 64)
	target, err := core.ParseTarget("cuda:80")
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	dev, err := new(kerneltest.Kernel).Open(t.Context(), target, &printed)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	kernel, err := launch.Compile(t.Context(), launch.Request{
		Source: src, Args: []launch.Arg{{Name: "p", Value: x}, {Name: "q", Value: out}},
		Target: target, Device: dev, Options: core.Options{Select: kerneltest.SelectBackend},
	})
	if err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	if _, err := kernel.Run(t.Context(), kerneltest.Grid(1)); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	kerneltest.Equal(t, "x", x, []float64{5})
	kerneltest.Equal(t, "out", out, each(64, func(i int) float64 {
		if i == 0 {
			return 0
		}
		return 5
	}))
}
