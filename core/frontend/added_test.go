package frontend

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// TestAdded: a backend's module triton.language adds names to tl, which make operations
// that core knows, and loops.
func TestAdded(t *testing.T) {
	const kernel = `import triton
import triton.language as tl

@triton.jit
def k(p, n):
    x = tl.load(p + tl.arange(0, 16))
    for i in tl.steps(0, n, fast=True):
        tl.store(p + i, tl.element(x, i))

@triton.jit
def unknown(p, n):
    tl.store(p, tl.elements(p))

@triton.jit
def number(p, n):
    for i in tl.number():
        tl.store(p + i, 1.0)
`
	target := facts()
	target.Modules = append(target.Modules, ModuleSource{Module: "triton.language", Name: "more.py", Text: `import triton.language as tl
from triton.language import core

@core.extern
def element(x, i):
    return core._operation("tensor.extract", [x], [i], {"hint": "near", "ways": [1, 2]}, dtype=x.dtype)

@core.extern
def steps(start, end, fast=False):
    return tl.range(start, end, num_stages=2 if fast else None)

@core.extern
def number():
    return 3
`})
	f, err := ParseModule("k.py", "k.py", "k", []byte(kernel))
	if err != nil {
		t.Fatal(err)
	}
	m, err := build(t, f, "k", "*fp32, i32", &setup{Facts: target})
	if err != nil {
		t.Fatal(explain(err))
	}
	got := string(text.Append(nil, m, text.Options{}))
	for _, want := range []string{`tensor.extract %x_2[%`, `hint = "near"`, "ways = array<i64: 1, 2>", "tt.num_stages = 2 : i32"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for kernel, want := range map[string]string{"unknown": "elements", "number": "iterat"} {
		if _, err := build(t, f, kernel, "*fp32, i32", &setup{Facts: target}); err == nil || !strings.Contains(explain(err), want) {
			t.Errorf("%s: error %v, want %q", kernel, err, want)
		}
	}
}

// TestExtended: a function of a backend's module triton.language that has the name of a
// builtin is called where a call gives more than the builtin takes, by keyword or place, as
// a method, too.
func TestExtended(t *testing.T) {
	const kernel = `import triton
import triton.language as tl

@triton.jit
def plain(p):
    tl.store(p, tl.cast(tl.load(p), tl.int32, bitcast=False).to(tl.float32))

@triton.jit
def keyword(p):
    tl.store(p, tl.cast(tl.load(p), tl.int32, twice=True))

@triton.jit
def place(p):
    tl.store(p, tl.cast(tl.load(p), tl.int32, None, False, True))

@triton.jit
def method(p):
    tl.store(p, tl.load(p).cast(tl.int32, twice=True))

@triton.jit
def typo(p):
    tl.store(p, tl.load(p).cast(tl.int32, twise=True))

@triton.jit
def raised(p):
    tl.store(p, tl.load(p).cast(tl.int32, twice=3))

@triton.jit
def different(p):
    tl.store(p, tl.exp(tl.load(p), base=2))

@triton.jit
def none(p):
    tl.store(p, tl.log(tl.load(p), base=2))
`
	target := facts()
	target.Modules = append(target.Modules, ModuleSource{Module: "triton.language", Name: "more.py", Text: `import triton
import triton.language as tl
from triton.language import core

@triton.jit
def cast(input, dtype: tl.constexpr, fp_downcast_rounding: tl.constexpr = None, bitcast: tl.constexpr = False, twice: tl.constexpr = False):
    tl.static_assert(twice != 3, "cast(): three times")
    r = tl.cast(input, dtype, fp_downcast_rounding, bitcast)
    return r + r if twice else r

@core.extern
def exp(y, base=None):
    return y
`})
	f, err := ParseModule("k.py", "k.py", "k", []byte(kernel))
	if err != nil {
		t.Fatal(err)
	}
	for kernel, want := range map[string]string{"plain": "", "keyword": "arith.addi", "place": "arith.addi", "method": "arith.addi"} {
		m, err := build(t, f, kernel, "*fp32", &setup{Facts: target})
		if err != nil {
			t.Errorf("%s: %v", kernel, explain(err))
			continue
		}
		got := string(text.Append(nil, m, text.Options{}))
		if !strings.Contains(got, "arith.fptosi") || want == "" && strings.Contains(got, "arith.addi") || !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", kernel, want, got)
		}
	}
	for kernel, want := range map[string]string{
		"typo":      "did you mean 'twice'?",
		"raised":    "cast(): three times",
		"different": "the backend's exp() does not begin with the parameters of Triton's: the parameters are exp(x)",
		"none":      "log() got an unexpected keyword argument 'base'",
	} {
		if _, err := build(t, f, kernel, "*fp32", &setup{Facts: target}); err == nil || !strings.Contains(explain(err), want) {
			t.Errorf("%s: error %v, want %q", kernel, explain(err), want)
		}
	}
}
