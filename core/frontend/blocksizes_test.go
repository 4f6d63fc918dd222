package frontend

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

const oddBlocks = `import triton
import triton.language as tl


@triton.jit
def f(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at) + tl.zeros([M, N], tl.float32)
    tl.store(y_ptr + tl.arange(0, M), tl.sum(x.reshape(M * N).reshape(M, N), axis=1))
`

// TestAnyBlockSizes has blocks whose sizes are not powers of two: the target says whether it takes
// them, and so does the module.
func TestAnyBlockSizes(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(oddBlocks))
	if err != nil {
		t.Fatal(explain(err))
	}
	const signature = "*fp32, *fp32, M=7, N=12"
	if _, err := build(t, f, "f", signature, &setup{Facts: facts()}); err == nil || !strings.Contains(explain(err), "arange's range must be a power of 2") {
		t.Errorf("a target that says nothing: %v", err)
	}
	any := facts()
	any.AnyBlockSizes = true
	m, err := build(t, f, "f", signature, &setup{Facts: any})
	if err != nil {
		t.Fatal(explain(err))
	}
	if err := ir.Verify(m); err != nil {
		t.Error(err)
	}
	if m.Attr(ir.AnyBlockSizes) == nil {
		t.Error("the module does not say that it has blocks of any size")
	}
	if _, err := build(t, f, "f", "*fp32, *fp32, M=0, N=12", &setup{Facts: any}); err == nil {
		t.Error("a block without elements is taken")
	}
	if _, err := build(t, f, "f", "*fp32, *fp32, M=2000, N=1200", &setup{Facts: any}); err == nil || !strings.Contains(explain(err), "exceeds triton maximum tensor numel") {
		t.Errorf("a block of too many elements: %v", err)
	}
}

const halfMath = `import triton
import triton.language as tl


@triton.jit
def f(x_ptr):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, tl.exp(tl.load(x_ptr + at)))
`

// TestHalfMath calls a function of a float of 16 bits, which the target says whether it takes.
func TestHalfMath(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(halfMath))
	if err != nil {
		t.Fatal(explain(err))
	}
	half := facts()
	half.HalfMath = true
	for _, typ := range []string{"*fp16", "*bf16"} {
		if _, err := build(t, f, "f", typ, &setup{Facts: facts()}); err == nil || !strings.Contains(explain(err), "Expected dtype ['fp32', 'fp64'] but got") {
			t.Errorf("%s: a target that says nothing: %v", typ, err)
		}
		m, err := build(t, f, "f", typ, &setup{Facts: half})
		if err != nil {
			t.Fatal(explain(err))
		}
		if err := ir.Verify(m); err != nil {
			t.Error(err)
		}
	}
}
