package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

var target = core.Target{Backend: "cuda", Arch: "90", WarpSize: 32}

// on are options for a file on a simulated device.
func on(t *testing.T, text string) Options {
	t.Helper()
	dev, err := simulated.New(target, simulated.Options{Estimate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return Options{
		Source: &core.Source{Path: "k.py", Text: []byte(text)}, Target: target, Device: dev,
		Compile: core.Options{Select: kerneltest.SelectBackend},
	}
}

// header begins every file of the tests.
const header = `import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
from triton.runtime import driver
DEVICE = triton.runtime.driver.active.get_active_torch_device()
`

// TestExpressions holds stand-ins against what torch says.
func TestExpressions(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"torch.empty(3, 4).shape", "(3, 4)"},
		{"torch.empty((3, 4), device=DEVICE, dtype=torch.float16).stride()", "(4, 1)"},
		{"torch.empty([3, 4]).dtype", "torch.float32"},
		{"torch.randint(0, 9, (5,)).dtype, torch.randint(9, (5,)).shape", "(torch.int64, (5,))"},
		{"torch.arange(5).shape, torch.arange(2, 9, 3).shape", "((5,), (3,))"},
		{"torch.full((2,), 7).numel()", "2"},
		{"torch.empty_like(torch.empty(2, 3, dtype=torch.int8)).element_size()", "1"},
		{"torch.zeros_like(torch.empty(2, 3).T).stride()", "(1, 3)"},
		{"torch.empty(2, 3, dtype=torch.bfloat16).nbytes", "12"},
		{"torch.empty_strided((2, 3), (4, 1)).is_contiguous()", "False"},
		{"torch.empty(2, 3, 4).T.shape, torch.empty(2, 3, 4).stride(-1)", "((4, 3, 2), 1)"},
		{"torch.empty(2, 3, 4).transpose(0, 2).stride()", "(1, 4, 12)"},
		{"torch.empty(2, 3, 4).permute(1, 2, 0).shape, torch.empty(2, 3, 4).permute(1, 2, 0).stride()", "((3, 4, 2), (4, 1, 12))"},
		{"torch.empty(6, 4).view(-1, 8).shape", "(3, 8)"},
		{"torch.empty(6, 4).T.reshape(8, -1).stride()", "(3, 1)"},
		{"torch.empty(6, 4)[1].storage_offset(), torch.empty(6, 4)[:, 1:3].stride()", "(4, (4, 1))"},
		{"torch.empty(6, 4)[::2].shape, torch.empty(6, 4)[None, ..., -1].shape", "((3, 4), (1, 6))"},
		{"torch.empty(6, 1, 4).squeeze(1).shape, torch.empty(6, 4).unsqueeze(1).stride()", "((6, 4), (4, 4, 1))"},
		{"torch.empty(1, 4).expand(6, -1).stride()", "(0, 1)"},
		{"(torch.rand(4) + 1).dtype, (torch.arange(4) * 0.5).dtype, (torch.arange(4) / 2).dtype", "(torch.float32, torch.float32, torch.float32)"},
		{"(torch.rand(4, dtype=torch.float16) - torch.arange(4)).dtype", "torch.float16"},
		{"(torch.rand(4, 1) * torch.rand(3)).shape", "(4, 3)"},
		{"torch.rand(4).to(torch.float8_e5m2).dtype, torch.rand(4).half().dtype", "(torch.float8_e5m2, torch.float16)"},
		{"torch.rand(4).to(DEVICE).to('cuda', torch.int32).dtype", "torch.int32"},
		{"DEVICE, DEVICE.type, torch.device('cuda') == DEVICE, torch.empty(1).device == 'cuda'", "(device(type='cuda', index=0), 'cuda', True, True)"},
		{"isinstance(torch.empty(1), torch.Tensor), hasattr(torch, 'float8_e5m2')", "(True, True)"},
		{"torch.cuda.is_available(), torch.cuda.get_device_capability(), torch.cuda.get_device_name()", "(True, (9, 0), 'simulated H200')"},
		{"torch.cuda.get_device_properties(0).multi_processor_count", "132"},
		{"driver.active.utils.get_device_properties(DEVICE.index)['multiprocessor_count']", "132"},
		{"getattr(torch, DEVICE.type).Stream()", "None"},
		{"driver.active.get_current_target().backend", "'cuda'"},
		{"TensorDescriptor.from_tensor(torch.empty(8, 16), [4, 16]).block_shape", "[4, 16]"},
		{"triton.cdiv(10, 4), triton.next_power_of_2(10), torch.finfo(torch.float16).bits", "(3, 16, 16)"},
		{"torch.empty(2, requires_grad=True).requires_grad", "True"},
		// Mistakes, and what is torch's own.
		{"torch.softmax(torch.rand(3), axis=0) + 1", "missing torch.softmax"},
		{"torch.rand(3).sum().item() > 1 or 2", "missing torch.Tensor.sum"},
		{"torch.empty(3).view(4)", "view() of 3 elements to (4,)"},
		{"torch.empty(2, 3).T.view(6)", "view() of a tensor that is not contiguous"},
		{"torch.empty(2, 3) + torch.empty(4)", "tensors of the shapes (2, 3) and (4,) do not go together"},
		{"torch.empty(-1)", "negative dimension -1 of a tensor"},
		{"torch.empty(1 << 40)", "too large"},
		{"torch.zeros(2, dtyp=torch.int8)", "zeros() got an unexpected keyword argument 'dtyp'"},
		{"torch.empty(2, dtype=int)", "dtype must be a torch dtype"},
		{"torch.empty(2, 3)[0, 1, 2]", "too many indices"},
		{"torch.empty(2)[5]", "dimension 5 of a tensor of 2"},
		{"TensorDescriptor.from_tensor(torch.empty(8, 16).T, [4, 16])", "not contiguous"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			err := Run(t.Context(), on(t, header+"def f():\n    return "+tt.text+"\n"), func(p *Program) error {
				got, err := p.Call("f")
				var lacks *Missing
				switch {
				case errors.As(err, &lacks):
					got = "missing " + lacks.Name
				case err != nil:
					return err
				default:
					got = eval.Repr(got)
				}
				if got != tt.want {
					t.Errorf("%v, want %s", got, tt.want)
				}
				return nil
			})
			if err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// values calls f of a file and returns the elements of the tensor that it returns.
func values(t *testing.T, text string) (got []float64) {
	t.Helper()
	err := Run(t.Context(), on(t, header+text), func(p *Program) error {
		v, err := p.Call("f")
		if err != nil {
			return err
		}
		x, err := v.(*Tensor).Array()
		if err == nil {
			got = x.Floats()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []float64
	}{
		{"torch.arange(6).view(2, 3).T.contiguous()", []float64{0, 3, 1, 4, 2, 5}},
		{"torch.arange(6).view(2, 3)[:, 1:]", []float64{1, 2, 4, 5}},
		{"10 - torch.arange(3)", []float64{10, 9, 8}},
		{"torch.arange(2).view(2, 1) * torch.full((2,), 3)", []float64{0, 0, 3, 3}},
		{"torch.ones(3, dtype=torch.float16) / 3", []float64{0.333251953125, 0.333251953125, 0.333251953125}},
		{"torch.arange(6).view(2, 3).T.to(torch.float32) + 1", []float64{1, 4, 2, 5, 3, 6}},
		{"torch.zeros(2, 2)[1].fill_(4) - 1", []float64{3, 3}},
	} {
		if got := values(t, "def f():\n    return "+tt.text+"\n"); !slices.Equal(got, tt.want) {
			t.Errorf("%s is %v, want %v", tt.text, got, tt.want)
		}
	}
	got := values(t, "def f():\n    x = torch.zeros(2, 3)\n    x[:, 1].fill_(7)\n    return x\n")
	if want := []float64{0, 7, 0, 0, 7, 0}; !slices.Equal(got, want) {
		t.Errorf("a column filled: %v, want %v", got, want)
	}
}

// TestPeriod: a large tensor repeats, and is random all the same.
func TestPeriod(t *testing.T) {
	got := values(t, "def f():\n    torch.manual_seed(3)\n    return torch.rand(1 << 20, 2, dtype=torch.float16)[::4096] * 2 - 1\n")
	least, greatest := slices.Min(got), slices.Max(got)
	if len(got) != 512 || least < -1 || greatest > 1 || least > -0.9 || greatest < 0.9 || got[0] != got[256] || got[0] == got[1] {
		t.Errorf("%d values from %v to %v", len(got), least, greatest)
	}
}

const kernels = header + `
@triton.jit
def add(x, y, out, n, STRIDE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i * STRIDE, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

@triton.jit
def scale(p, f, B: tl.constexpr, F: tl.constexpr = None):
    tl.store(p + tl.arange(0, B), tl.load(p + tl.arange(0, B)) * f)

@triton.autotune(configs=[triton.Config({"B": b}, num_warps=w) for b, w in ((16, 1), (256, 4), (3, 1))], key=["n"], reset_to_zero=["out"])
@triton.jit
def fill(out, n, v, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, v, mask=i < n)

@triton.jit
def copy(d, out, B: tl.constexpr):
    tl.store(out + tl.arange(0, B)[:, None] * 16 + tl.arange(0, 16)[None, :], d.load([0, 0]))
`

// TestLaunch runs wrappers and looks at what they return.
func TestLaunch(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []float64
	}{
		{"grid by arguments", `
def f():
    x, n = torch.arange(6).to(torch.float32), 5
    out = torch.full_like(x, 100)
    add[lambda meta: (triton.cdiv(meta["n"], meta["B"]),)](x, x * 10, out, n, STRIDE=1, B=4, num_warps=1)
    return out
`, []float64{0, 11, 22, 33, 44, 100}},
		{"views", `
def f():
    m = torch.arange(12).view(3, 4).to(torch.float32)
    out = torch.zeros(8, device="cuda")
    add[(1,)](m[:, 1], m[2], out[3:], 3, m.stride(0), B=16)
    return out
`, []float64{0, 0, 0, 9, 14, 19, 0, 0}},
		{"one after another", `
def f():
    x = torch.ones(16)
    for i in range(3):
        scale[1](x, 2.0, B=16)
    y = x + 1
    scale.run(x, 0.0, B=16, grid=(1,), warmup=False)
    return y[:2]
`, []float64{9, 9}},
		{"what warmup tells", `
def f():
    x = torch.ones(16)
    k = scale.warmup(x, 2.0, B=16, num_warps=2, grid=(1,))
    k._init_handles()
    k[(1, 1, 1)](x, 3.0, 16)
    return x[:2] * k.metadata.num_warps + k.metadata.shared
`, []float64{6, 6}},
		{"autotuned", `
def f():
    out = torch.zeros(40)
    fill[lambda meta: (triton.cdiv(40, meta["B"]),)](out, 40, 2.5)
    return out[38:]
`, []float64{2.5, 2.5}},
		{"where memory is", `
@triton.heuristics({"FAR": lambda args: args["x"].data_ptr() % 64})
@triton.jit
def placed(x, FAR: tl.constexpr):
    tl.store(x, FAR)

def f():
    out = torch.zeros(8)
    placed[lambda meta: (1 if meta["x"].data_ptr() % 16 == 4 else 2,)](out[5:])
    return out[5:6]
`, []float64{20}},
		{"a descriptor", `
def f():
    x, out = torch.arange(128).view(8, 16).to(torch.float32), torch.zeros(4, 16)
    copy[(1,)](TensorDescriptor.from_tensor(x, [4, 16]), out, B=4)
    return out[3, 14:]
`, []float64{62, 63}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := values(t, kernels+tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestLaunchMistakes are errors at the line that launches.
func TestLaunchMistakes(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"scale[1](torch.ones(4), 2.0)", "k.py:27:5: error: scale lacks arguments: B"},
		{"scale[1](torch.ones(4), 2.0, 4, None, 9)", "k.py:27:5: error: scale() has 4 parameters, and is given 5 arguments"},
		{"scale[1](torch.ones(4), 2.0, B=4, p=1)", "k.py:27:5: error: scale() got multiple values for argument 'p'"},
		{"scale[0](torch.ones(4), 2.0, B=4)", "k.py:27:5: error: dimension x of the grid of scale has 0 blocks"},
		{"scale[1, 2, 3, 4](torch.ones(4), 2.0, B=4)", "a grid has one to three dimensions, not 4"},
		{"scale[1](torch.matmul(1, 2), 2.0, B=4)", "k.py:27:5: error: 'torch.matmul()' is needed here, but it is torch's own"},
		{"scale[1](torch, 2.0, B=4)", "k.py:27:5: error: argument p: a module is nothing that a kernel takes"},
		{"scale[1](torch.ones(4), 2.0, B=3)", "k.py:14:"},
		{"scale[1](torch.ones(4), 2.0, B=4, num_warp=2)", "num_warp"},
		{"scale(torch.ones(4), 2.0, B=4)", "k.py:27:5: error: cannot call the jit function scale() without a grid"},
		{"scale[1](torch.ones(4), 2.0, B=8)", "out of bounds"},
		{"scale[nothing](torch.ones(4), 2.0, B=8)", "k.py:27:11: error: name 'nothing' is not defined"},
	} {
		err := Run(t.Context(), on(t, kernels+"\ndef f():\n    "+tt.text+"\n"), func(p *Program) error {
			_, err := p.Call("f")
			return err
		})
		if err == nil || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.says)
		}
	}
}

// TestStopped: code that never ends does with its context.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, on(t, header+"def f():\n    while True:\n        pass\n"), func(p *Program) error {
		_, err := p.Call("f")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
