package frontend

import (
	"fmt"
	"strings"
	"testing"
)

const manyArguments = `import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"B": 64})], key=[])
@triton.jit
def k(x, t, n, one, none, B: tl.constexpr, D: tl.constexpr = tl.float16, E: tl.constexpr = 0.5):
    tl.store(x, n)
`

// A variant says of every parameter what a launch passes.
func TestArguments(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(manyArguments))
	if err != nil {
		t.Fatal(err)
	}
	variants, err := f.In(Environment{}).Variants(t.Context(), request("k", "*fp32:16:S, (*i8:S, i64:16, 3), i32:16, i32:1, None"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, a := range variants[0].Args {
		fmt.Fprintf(&got, "%s %q %d %v %q\n", a.Name, a.Type, a.Hint, a.Small, a.Text)
	}
	const want = `x "*fp32" 16 true ""
t[0] "*i8" 0 true ""
t[1] "i64" 16 false ""
t[2] "" 0 false "3"
n "i32" 16 false ""
one "i32" 1 false ""
none "" 0 false "None"
B "" 0 false "64"
D "" 0 false "tl.dtype('fp16')"
E "" 0 false "0.5"
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
