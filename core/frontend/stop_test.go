package frontend

import (
	"context"
	"errors"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/work/worktest"
)

// slowFile does much in each way that a file can: when it is loaded, when its
// decorators are evaluated, and when its kernel is built.
const slowFile = `import triton
import triton.language as tl

TABLE = {i: [j * j for j in range(i % 7)] for i in range(5000)}

def configs():
    found = []
    for n in range(3000):
        if n % 1000 == 0:
            found.append(triton.Config({"B": 64}, num_warps=4))
    return found

@triton.jit
def inner(x, i: tl.constexpr):
    for j in tl.static_range(4):
        x = x + tl.load(x + i * j)
    return x

@triton.autotune(configs=configs(), key=["n"])
@triton.jit
def k(x, n, B: tl.constexpr):
    s = 0.0
    for i in tl.static_range(200):
        s += tl.load(x + i)
        if n > i:
            s = s * 2
    tl.store(x, s)
`

// The front end stops wherever its context ends, and says so.
func TestStops(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(slowFile))
	if err != nil {
		t.Fatal(err)
	}
	p := f.In(Environment{})
	tuned := request("k", "*fp32, i32")
	tuned.Config = AllConfigs
	variants, err := p.Variants(t.Context(), request("k", "*fp32, i32, 64"))
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(context.Context) error{
		"Kernels":  func(ctx context.Context) error { _, err := p.Kernels(ctx); return err },
		"Variants": func(ctx context.Context) error { _, err := p.Variants(ctx, tuned); return err },
		"Build": func(ctx context.Context) error {
			_, err := p.Build(ctx, dialect.NewContext(), variants[0], &Options{})
			return err
		},
	} {
		looks := int64(0)
		for ; ; looks++ {
			err := run(worktest.After(t.Context(), looks))
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, stopped at look %d: %v", name, looks, err)
			}
		}
		if looks < 3 {
			t.Errorf("%s looked at its context %d times", name, looks)
		}
	}
}

// A kernel that is being built when its context ends is not built to the end.
func TestStopsSoon(t *testing.T) {
	f, err := Parse("k.py", "k.py", []byte(`import triton
import triton.language as tl

@triton.jit
def k(x):
    for i in tl.static_range(50000):
        tl.static_print(i)
`))
	if err != nil {
		t.Fatal(err)
	}
	p := f.In(Environment{})
	variants, err := p.Variants(t.Context(), request("k", "*fp32"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	printed := 0
	_, err = p.Build(ctx, dialect.NewContext(), variants[0], &Options{Print: func(string) { printed++; cancel() }})
	if !errors.Is(err, context.Canceled) || printed > 5000 {
		t.Errorf("got %v after %d lines", err, printed)
	}
}
