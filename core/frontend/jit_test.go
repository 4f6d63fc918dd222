package frontend

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect/tt"
)

// TestTextsOfSeveralLines: Triton parses a function's source less its
// indentation, inside texts, too.
func TestTextsOfSeveralLines(t *testing.T) {
	src := `import triton
import triton.language as tl

if triton.__version__ >= "3.0":
    A = tl.constexpr("""a
    b""")

    @triton.jit
    def k(x):
        tl.static_assert("""a
    b
          c""" == "a\nb\n      c")
        tl.static_assert("""a
	
    """ == "a\n\n")
        tl.static_assert("a\n    b" == """a\n    b""")
        tl.static_assert("a"
                         "b" == "ab")
        tl.static_assert(A == "a\n    b")
        tl.store(x, 1.0)


@triton.jit
def less(x):
    tl.static_assert("""a
    
b""" == "a\n\nb")
    tl.store(x, 1.0)
`
	f, err := Parse("k.py", "", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for _, kernel := range []string{"k", "less"} {
		if _, err := build(t, f, kernel, "*fp32", &setup{Facts: facts()}); err != nil {
			t.Error(explain(err))
		}
	}
}

// TestRepr: a repr hook names the kernel after its constants and the types of
// its arguments.
func TestRepr(t *testing.T) {
	const src = `import triton
import triton.language as tl


def name(spec):
    c = spec.constants
    return f"add_{c['B']}_{spec.signature['x'][1:]}_{'n' in c}" + ("_" + spec.signature["B"])


@triton.jit(repr=name)
def k(x, n, B: tl.constexpr):
    tl.store(x, n)


@triton.jit(repr=lambda _: "a b")
def bad(x):
    tl.store(x, 1.0)
`
	f, err := Parse("k.py", "", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	m, err := build(t, f, "k", "*fp32, i32, 64", &setup{Facts: facts()})
	if err != nil {
		t.Fatal(explain(err))
	}
	op := m.Body().First()
	if name := op.StringAttr("sym_name"); !op.Is(tt.Func) || name != "add_64_fp32_False_constexpr" {
		t.Errorf("the kernel is named %q", name)
	}
	if _, err := build(t, f, "bad", "*fp32", &setup{Facts: facts()}); err == nil {
		t.Error("a name with a blank is accepted")
	}
}

// TestTunerOfLibrary: a tuner that a library brings, beside Triton's own, is made from
// the names of a kernel's arguments, in the block that defines the kernel.
func TestTunerOfLibrary(t *testing.T) {
	const src = `import triton
import triton.language as tl


class Tuner(triton.KernelInterface):
    def __init__(self, fn, arg_names, key):
        self.fn = fn
        self.key = [arg_names.index(k) for k in key]


if triton.__version__ >= "3.0":
    @triton.jit
    def k(x, n, B: tl.constexpr):
        tl.static_assert(LAST == 2)
        tl.store(x + tl.arange(0, B), n)

    tuned = Tuner(k, k.arg_names, ["n"])
    LAST = tl.constexpr(k.arg_names.index("B"))
`
	f, err := Parse("k.py", "", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build(t, f, "k", "*fp32, fp32, 16", &setup{Facts: facts()}); err != nil {
		t.Error(explain(err))
	}
}
