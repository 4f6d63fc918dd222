package frontend

import (
	"strings"
	"testing"
)

func TestPointers(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(`import triton
import triton.language as tl
from missing import other

@triton.jit
def fetch(at, mask, again):
    if again:
        return fetch(at, mask, False)
    return tl.load(at, mask=mask)

@triton.jit
def k(a, b, c, d, e, in_ptr, n, stride, f):
    x = tl.load(a + n * stride)
    y = b + n
    y += stride
    tl.store(y, x)
    blk = tl.make_block_ptr(base=c + n, shape=(n,), strides=(1,), offsets=(0,), block_shape=(16,), order=(0,))
    x += fetch(d + tl.arange(0, 16), mask=n > 1, again=True)
    x += fetch(again=True, at=e, mask=None)
    other(f)
`))
	if err != nil {
		t.Fatal(err)
	}
	infos, err := f.In(Environment{}).Kernels(t.Context())
	if err != nil {
		t.Fatal(explain(err))
	}
	var got []string
	for _, p := range infos[0].Params {
		if p.Pointer {
			got = append(got, p.Name)
		}
	}
	if got, want := strings.Join(got, " "), "a b c d e in_ptr"; got != want {
		t.Errorf("pointers %s, want %s", got, want)
	}
}
