package launch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/fakedevice"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/nvidiaplugin"
)

func TestMain(m *testing.M) { nvidiaplugin.Main(m) }

const kernels = `
import triton
import triton.language as tl

@triton.jit
def scale(x, out, a, n, BLOCK: tl.constexpr, KIND: tl.constexpr = "plain"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * a
    if KIND == "square":
        v = v * v
    tl.store(out + i, v.to(out.dtype.element_ty), mask=i < n)

@triton.jit
def typed(x: "*fp32", a: tl.float64, n: tl.int64, f: tl.float16, b, h):
    tl.store(x, (a + n + f + b + h).to(tl.float32))

@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 256})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + i, n)
    else:
        tl.store(x + i, n, mask=i < n)

@triton.jit
def maybe(x, y):
    if y is not None:
        tl.store(y, 1.0)
    tl.store(x, 2.0)

@triton.jit
def pairs(p, k):
    tl.store(p[0], p[1][0] + k)

@triton.jit
def blocks(src, dst, m, BM: tl.constexpr, BN: tl.constexpr):
    dst.store([tl.program_id(0) * BM, 0], src.load([tl.program_id(0) * BM, 0]) + m)

def before(args):
    args["x"].zero_()
    args["y"].copy_(args["x"].clone().fill_(args["B"]))
    args["d"].block_shape = [args["B"], 32]

def measuring(args, **kwargs):
    raise RuntimeError("nothing is measured")

@triton.autotune([triton.Config({"B": 16}, pre_hook=before)], key=[], pre_hook=measuring)
@triton.jit
def hooked(x, y, d, B: tl.constexpr):
    d.store([0, 0], d.load([0, 0]) + 1.0)
    tl.store(x + tl.arange(0, B), 1.0)

@triton.heuristics({"FAR": lambda args: 0 if args["n"] > 4 else args["x"].data_ptr() % 64})
@triton.jit
def placed(x, n, FAR: tl.constexpr):
    tl.store(x, FAR)

@triton.jit
def large(x, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i[:, None] * B + i[None, :])
    tl.store(x + i[:, None] * B + i[None, :], tl.dot(a, tl.trans(a)))
`

func source() *core.Source { return &core.Source{Path: "k.py", Text: []byte(kernels)} }

// fake is a device that takes ttgir, which no tool is needed for.
func fake() *fakedevice.Device {
	dev := fakedevice.New("ttgir")
	dev.Props.Target = core.Target{Backend: "cuda", Arch: "80", WarpSize: 32}
	dev.Keep = true
	return dev
}

func function(t testing.TB, dev driver.Device, name string) *launch.Function {
	t.Helper()
	return must[*launch.Function](t)(launch.New(context.Background(), launch.Options{
		Source: source(), Kernel: name, Device: dev, Compile: core.Options{Select: kerneltest.SelectBackend},
	}))
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		return v
	}
}

func alloc[T kernel.Element](t testing.TB, dev driver.Device, n int) *kernel.Buffer[T] {
	t.Helper()
	return must[*kernel.Buffer[T]](t)(kernel.Alloc[T](dev, n))
}

// TestSpecialization: what of the arguments makes another variant.
func TestSpecialization(t *testing.T) {
	dev := fake()
	f := function(t, dev, "scale")
	x, out, half := alloc[float32](t, dev, 64), alloc[float32](t, dev, 64), alloc[kernel.Float16](t, dev, 64)
	compiled := map[string]string{}
	for _, tt := range []struct {
		args []any
		kind string // rows of one kind run one variant
		last string // what the device gets after the buffers
	}{
		{[]any{x, out, 0.5, 64, 128}, "aligned", "[0.5 64]"},
		{[]any{x, out, float32(0.25), int64(32), uint8(128)}, "aligned", "[0.25 32]"},
		{[]any{x, out, 0.5, 0, kernel.Named("BLOCK", 128)}, "aligned", "[0.5 0]"},
		{[]any{x, out, 0.5, kernel.Named("n", 16), kernel.Named("BLOCK", 128)}, "aligned", "[0.5 16]"},
		{[]any{x, out, 0.5, 7, 128}, "any n", "[0.5 7]"},
		{[]any{x, out, 0.5, 9, 128}, "any n", "[0.5 9]"},
		{[]any{x, out, 0.5, 1, 128}, "n is 1", "[0.5]"},
		{[]any{x, out, 0.5, 1 << 40, 128}, "i64", "[0.5 1099511627776]"},
		{[]any{x, out, 0.5, kernel.Arg{Name: "n", Value: 64, Type: "i64"}, kernel.Named("BLOCK", 128)}, "i64", "[0.5 64]"},
		{[]any{x, out, 0.5, kernel.Arg{Value: 64, Type: "i64"}, 128}, "i64", "[0.5 64]"},
		{[]any{x, out, 0.5, uint64(1) << 63, 128}, "u64", "[0.5 9223372036854775808]"},
		{[]any{x, out, 2, 64, 128}, "a is an int", "[2 64]"},
		{[]any{x, out, true, 64, 128}, "a is a bool", "[true 64]"},
		{[]any{x, out, kernel.Float16(0x3c00), 64, 128}, "a is fp16", "[15360 64]"},
		{[]any{x, out, 0.5, 64, 256}, "BLOCK", "[0.5 64]"},
		{[]any{x, out, 0.5, 64, 128, "square"}, "KIND", "[0.5 64]"},
		{[]any{x, out, 0.5, 64, 128, kernel.Named("num_warps", 8)}, "num_warps", "[0.5 64]"},
		{[]any{half, out, 0.5, 64, 128}, "fp16", "[0.5 64]"},
		{[]any{x.Slice(1, 64), out, 0.5, 64, 128}, "unaligned x", "[0.5 64]"},
		{[]any{x.Slice(4, 64), out, 0.5, 64, 128}, "aligned", "[0.5 64]"},
	} {
		before := dev.Loads()
		if _, err := f.Launch(t.Context(), kernel.Dims(3), tt.args...); err != nil {
			t.Errorf("%s: %s", tt.kind, kerneltest.Text(err))
			continue
		}
		known, seen := compiled[tt.kind]
		if loaded := dev.Loads() != before; loaded == seen {
			t.Errorf("%v (%s): loaded %v, seen %v", tt.args, tt.kind, loaded, seen)
		}
		k := must[*core.Kernel](t)(f.Compile(t.Context(), tt.args...))
		text := string(k.Artifacts[0].Data)
		if seen && text != known {
			t.Errorf("%s: another kernel", tt.kind)
		}
		for kind, other := range compiled {
			if kind != tt.kind && other == text {
				t.Errorf("%s is the kernel of %s", tt.kind, kind)
			}
		}
		compiled[tt.kind] = text
		if l := dev.Last(); l.Grid != [3]int{3, 1, 1} || fmt.Sprint(l.Args[2:]) != tt.last {
			t.Errorf("%s: launched %v, want %s", tt.kind, l, tt.last)
		}
	}
}

func TestAnnotations(t *testing.T) {
	dev := fake()
	f := function(t, dev, "typed")
	x := alloc[float32](t, dev, 64)
	if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 1, 2, 3, true, kernel.BFloat16(0x3f80)); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	if got := fmt.Sprintf("%#v", dev.Last().Args[1:]); got != `[]interface {}{1, 2, 0x4200, true, 0x3f80}` {
		t.Errorf("%s", got)
	}
	if _, ok := dev.Last().Args[1].(float64); !ok {
		t.Errorf("%T for fp64", dev.Last().Args[1])
	}
	if _, ok := dev.Last().Args[2].(int64); !ok {
		t.Errorf("%T for i64", dev.Last().Args[2])
	}
	_, err := f.Launch(t.Context(), kernel.Dims(1), alloc[kernel.Float16](t, dev, 64), 1, 2, 3, true, 1.0)
	if err == nil || err.Error() != `argument x: it is a buffer of fp16, and the kernel says x: "*fp32"` {
		t.Error(err)
	}
}

// TestDecorators: a configuration's constants, which the grid sees, and heuristics
// that look at each launch's values.
func TestDecorators(t *testing.T) {
	dev := fake()
	f := function(t, dev, "tuned")
	x := alloc[int32](t, dev, 4096)
	grid := kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(c.Int("n")/c.Int("BLOCK"), 1+c.Int("EVEN")) })
	for _, tt := range []struct {
		n, even int
		loads   int64
	}{{1280, 1, 1}, {1296, 0, 2}, {2560, 1, 2}, {1312, 0, 2}, {1280, 1, 2}} {
		if _, err := f.Launch(t.Context(), grid, x, tt.n); err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		if l := dev.Last(); l.Grid != [3]int{tt.n / 128, 1 + tt.even, 1} || dev.Loads() != tt.loads {
			t.Errorf("n = %d: grid %v, %d loads", tt.n, l.Grid, dev.Loads())
		}
	}
	if k := must[*core.Kernel](t)(f.Compile(t.Context(), x, 1280)); !strings.Contains(string(k.Metadata), `"num_warps":2`) {
		t.Errorf("%s", k.Metadata)
	}
}

// TestAddress: a function of the file that asks where memory is hears it of each launch.
func TestAddress(t *testing.T) {
	dev := fake()
	f := function(t, dev, "placed")
	x := alloc[float32](t, dev, 64)
	grid := kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(1 + c.Int("FAR")) })
	for _, tt := range []struct {
		n, from, far int
		loads        int64
	}{{32, 16, 0, 1}, {16, 4, 0, 1}, {4, 0, 0, 2}, {4, 20, 16, 3}, {4, 8, 32, 4}, {4, 16, 0, 4}, {4, 20, 16, 4}, {32, 20, 0, 4}} {
		if _, err := f.Launch(t.Context(), grid, x.Slice(tt.from, 60), tt.n); err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		if l := dev.Last(); l.Grid[0] != 1+tt.far || dev.Loads() != tt.loads {
			t.Errorf("n = %d, from %d: grid %v, %d loads", tt.n, tt.from, l.Grid, dev.Loads())
		}
	}
}

// TestEarlyMemory: an array whose address was asked for lies there when it is launched.
func TestEarlyMemory(t *testing.T) {
	dev := fake()
	x := array.New(array.Named("fp32"), 64)
	req := launch.Request{
		Source: source(), Kernel: "placed", Target: dev.Props.Target, Options: core.Options{Select: kerneltest.SelectBackend}, Device: dev,
		Args: []launch.Arg{{Name: "x", Value: &launch.View{Array: x, Offset: 32}}, {Name: "n", Value: int64(2)}},
	}
	p := must[*launch.Prepared](t)(launch.Prepare(t.Context(), req))
	if p.Known.Constants["FAR"] != int64(32) || dev.Live() != 256 {
		t.Errorf("FAR = %v, %d bytes are taken", p.Known.Constants["FAR"], dev.Live())
	}
	k := must[*launch.Kernel](t)(p.Compile(t.Context(), dev))
	placed := must[*launch.Placed](t)(k.Place([3]int{1, 1, 1}, nil))
	p.Release()
	if dev.Live() != 256 || placed.Launch.Args[0].(uint64)%64 != 32 {
		t.Errorf("launched with %v, %d bytes are taken", placed.Launch.Args, dev.Live())
	}
	placed.Free()
	must[*launch.Prepared](t)(launch.Prepare(t.Context(), req)).Release()
	if dev.Live() != 0 {
		t.Errorf("%d bytes are left", dev.Live())
	}
	dev.Props.Memory = 8
	if _, err := launch.Prepare(t.Context(), req); err == nil || !strings.Contains(err.Error(), "'x.data_ptr()' is needed here, but it is not known before the launch") {
		t.Error(err)
	}
}

// TestHooks: the hook of a configuration runs before each launch, on the device's memory.
func TestHooks(t *testing.T) {
	dev := fake()
	f := function(t, dev, "hooked")
	d := &kernel.Descriptor{Base: alloc[float32](t, dev, 32*32), Shape: []int{32, 32}, Block: []int{1, 32}}
	for _, first := range []float32{3, 4} {
		x := must[*kernel.Buffer[float32]](t)(kernel.From(dev, []float32{first, 5, 6, 7, 8, 9}))
		y := x.Slice(4, 6) // of the same memory
		must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(1), x.Slice(0, 2), y, d))
		if got := fmt.Sprint(must[[]float32](t)(x.Values())); got != "[0 0 6 7 16 16]" {
			t.Error(got)
		}
		k := must[*core.Kernel](t)(f.Compile(t.Context(), x.Slice(0, 2), y, d))
		if !strings.Contains(string(k.Artifacts[0].Data), "tensor<16x32xf32") || dev.Loads() != 1 || d.Block[0] != 1 {
			t.Errorf("%d loads, block %v, %s", dev.Loads(), d.Block, k.Artifacts[0].Data)
		}
	}
	freed := alloc[float32](t, dev, 2)
	if err := freed.Free(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Launch(t.Context(), kernel.Dims(1), freed, alloc[float32](t, dev, 2), d); !errors.Is(err, kernel.ErrFreed) {
		t.Error(err)
	}
}

func TestTuplesAndDescriptors(t *testing.T) {
	dev := fake()
	x := alloc[float32](t, dev, 64*32)
	f := function(t, dev, "pairs")
	tuple := launch.Tuple{{Value: x}, {Value: launch.Tuple{{Value: 5.5}, {Value: 1}}}}
	if _, err := f.Launch(t.Context(), kernel.Dims(1), tuple, 7); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	if l := dev.Last(); len(l.Args) != 3 || l.Args[1] != float32(5.5) || l.Args[2] != int32(7) {
		t.Errorf("%v", l.Args)
	}
	f = function(t, dev, "blocks")
	d := &kernel.Descriptor{Base: x, Shape: []int{64, 32}, Block: []int{16, 32}}
	if _, err := f.Launch(t.Context(), kernel.Dims(4), d, d, 2, 16, 32); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	if l := dev.Last(); len(l.Args) != 2*(1+2+2+1+2+2)+1 {
		t.Errorf("%d arguments: %v", len(l.Args), l.Args)
	}
	_, err := f.Launch(t.Context(), kernel.Dims(4), &kernel.Descriptor{Base: x, Shape: []int{65, 32}, Block: []int{16, 32}}, d, 2, 16, 32)
	if err == nil || err.Error() != "argument src: the descriptor's last element is number 2079 of a buffer that has 2048" {
		t.Error(err)
	}
	for _, none := range []*kernel.Descriptor{nil, {}, {Base: (*kernel.Buffer[float32])(nil)}} {
		if _, err := f.Launch(t.Context(), kernel.Dims(4), none, d, 2, 16, 32); err == nil || err.Error() != "argument src: the descriptor has no memory" {
			t.Error(err)
		}
	}
}

// TestNone: a nil buffer is None, which the kernel may ask for.
func TestNone(t *testing.T) {
	dev := fake()
	f := function(t, dev, "maybe")
	x := alloc[float32](t, dev, 64)
	for want, y := range map[int]any{2: x, 1: nil} {
		must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(1), x, y))
		if n := len(dev.Last().Args); n != want {
			t.Errorf("%v: %d arguments", y, n)
		}
	}
	var none *kernel.Buffer[float32]
	must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(1), x, none))
	if n := len(dev.Last().Args); n != 1 || dev.Loads() != 2 {
		t.Errorf("%d arguments, %d loads", n, dev.Loads())
	}
}

func TestFunctionMistakes(t *testing.T) {
	dev, other := fake(), fake()
	f := function(t, dev, "scale")
	x, far, freed := alloc[float32](t, dev, 64), alloc[float32](t, other, 64), alloc[float32](t, dev, 64)
	if err := freed.Free(); err != nil {
		t.Fatal(err)
	}
	const usage = "; it is scale(x, out, a, n, BLOCK: constexpr, KIND: constexpr='plain')"
	for _, tt := range []struct {
		grid kernel.Grid
		args []any
		says string
	}{
		{kernel.Dims(1), []any{x, x, 0.5}, "scale lacks arguments: n, BLOCK" + strings.ReplaceAll(usage, "'", `"`)},
		{kernel.Dims(1), []any{x, x, 0.5, 1, 128, "plain", 7}, "scale takes 6 arguments and no more: it is scale("},
		{kernel.Dims(1), []any{x, x, 0.5, 1, 128, kernel.Named("a", 2)}, "argument a: it is given twice"},
		{kernel.Dims(1), []any{x, x, 0.5, 1, 128, kernel.Named("m", 2)}, "argument m: scale has no such parameter, and the backend no such option"},
		{kernel.Dims(1), []any{x, x, 0.5, 1, 128, kernel.Named("num_warps", 2), kernel.Named("num_warps", 2)}, "argument num_warps: it is given twice"},
		{kernel.Dims(1), []any{x, far, 0.5, 1, 128}, "argument out: its buffer is memory of another device, the fake"},
		{kernel.Dims(1), []any{freed, x, 0.5, 1, 128}, "argument x: the buffer has been freed"},
		{kernel.Dims(1), []any{[]float32{1}, x, 0.5, 1, 128}, "argument x: a []float32 is nothing that a kernel takes"},
		{kernel.Dims(1), []any{x, x, "0.5", 1, 128}, "argument a: a string can only be a constant"},
		{kernel.Dims(1), []any{x, x, 0.5, 1, x}, "argument BLOCK: it is a constant of the kernel (tl.constexpr), not memory"},
		{kernel.Dims(1), []any{x, x, 0.5, kernel.Arg{Name: "n", Value: 300, Type: "u8"}, kernel.Named("BLOCK", 128)}, "argument n: 300 does not fit into u8"},
		{kernel.Dims(0), []any{x, x, 0.5, 1, 128}, "grid dimension x is 0: it must be at least 1"},
		{kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(c.Int("M")) }), []any{x, x, 0.5, 1, 128}, "the grid asks for M"},
	} {
		_, err := f.Launch(t.Context(), tt.grid, tt.args...)
		var arg *kernel.ArgError
		if !errors.As(err, &arg) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	if n := dev.Launches(); n != 0 {
		t.Errorf("%d launches with wrong arguments", n)
	}
	// What does not compile says where, each time.
	for range 2 {
		if _, err := f.Launch(t.Context(), kernel.Dims(1), x, x, 0.5, 64, 100); err == nil || !strings.Contains(err.Error(), "k.py:") {
			t.Error(err)
		}
	}
	for want, o := range map[string]launch.Options{
		"needs a Source, a Device, and a Select": {Source: source(), Device: dev},
		"k.ttir is not a Python file":            {Source: &core.Source{Path: "k.ttir"}, Device: dev, Compile: core.Options{Select: kerneltest.SelectBackend}},
		"several kernels, and none is named":     {Source: source(), Device: dev, Compile: core.Options{Select: kerneltest.SelectBackend}},
	} {
		if _, err := launch.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOutOfResources: the error is one that a tuner knows, with what the compiler says
// where no device of the target could run the kernel.
func TestOutOfResources(t *testing.T) {
	dev := fake()
	dev.Props.Stage = "llir" // it knows how much memory the kernel takes
	f := function(t, dev, "large")
	for limit, b := range map[int]int{2000: 32, 166912: 512} {
		dev.Props.MaxShared = limit
		_, err := f.Launch(t.Context(), kernel.Dims(1), alloc[kernel.Float16](t, dev, b*b), b)
		var out *driver.OutOfResources
		if !errors.As(err, &out) || out.Resource != driver.SharedMemory || out.Limit != int64(limit) || out.Required <= out.Limit || (out.Err != nil) != (b == 512) {
			t.Fatal(kerneltest.Text(err))
		}
		if want := fmt.Sprintf("kernel large on the fake: out of resource: shared memory, Required: %d, Hardware limit: %d. Reducing block sizes or `num_stages` may help.", out.Required, limit); err.Error() != want {
			t.Error(err)
		}
	}
	if dev.Loads() != 0 {
		t.Error("it was loaded")
	}
}

// TestGoroutines: many launch one function; each variant is compiled once.
func TestGoroutines(t *testing.T) {
	dev := fake()
	dev.Keep = false
	dev.Run = func(l driver.Launch) error {
		if n := l.Args[len(l.Args)-1]; n != int32(l.Grid[0]) {
			return fmt.Errorf("n is %v in a launch of %d programs", n, l.Grid[0])
		}
		return nil
	}
	f := function(t, dev, "scale")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			x := alloc[float32](t, dev, 64)
			for i := range 300 {
				n := 2 + (g+i)%100
				if _, err := f.Launch(context.Background(), kernel.Dims(n), x, x, 0.5, n, 128<<(i%2)); err != nil {
					t.Error(kerneltest.Text(err))
				}
			}
			if err := x.Free(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if dev.Loads() != 4 || dev.Launches() != 2400 || dev.Live() != 0 {
		t.Errorf("%d loads, %d launches, %d bytes", dev.Loads(), dev.Launches(), dev.Live())
	}
}

// TestCancelledCompile: who gives up does not spoil it for those who wait.
func TestCancelledCompile(t *testing.T) {
	dev := fake()
	f := function(t, dev, "scale")
	x := alloc[float32](t, dev, 64)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i%2 == 0 {
				if _, err := f.Launch(ctx, kernel.Dims(1), x, x, 0.5, 64, 128); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			if _, err := f.Launch(t.Context(), kernel.Dims(1), x, x, 0.5, 64, 128); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if dev.Launches() != 4 {
		t.Errorf("%d launches", dev.Launches())
	}
}

// panics is a device whose first load does.
type panics struct {
	*fakedevice.Device
	loads atomic.Int32
}

func (p *panics) Load(b driver.Binary) (driver.Kernel, error) {
	if p.loads.Add(1) == 1 {
		panic("a fault of ours")
	}
	return p.Device.Load(b)
}

// TestPanic: a panic that its goroutine survives, as in a server, leaves nobody waiting.
func TestPanic(t *testing.T) {
	dev := &panics{Device: fake()}
	f := function(t, dev, "scale")
	x := alloc[float32](t, dev, 64)
	launched := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		_, err = f.Launch(t.Context(), kernel.Dims(1), x, x, 0.5, 64, 128)
		return err
	}
	if err := launched(); err == nil || err.Error() != "panic: a fault of ours" {
		t.Error(err)
	}
	if err := launched(); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeft launches 10,000 times, with values that differ, which heuristics
// look at.
func TestNothingIsLeft(t *testing.T) {
	dev := fake()
	dev.Keep = false
	f, g := function(t, dev, "scale"), function(t, dev, "tuned")
	launches := func(n int) {
		for i := range n {
			x := alloc[float32](t, dev, 256)
			must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(1), x, x, 0.5, i, 128))
			if i%100 == 0 {
				must[*driver.Result](t)(g.Launch(t.Context(), kernel.Dims(1), x, i))
			}
			if err := x.Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	launches(10_000)
	before := heap()
	launches(10_000)
	if after := heap(); after > before+64<<10 {
		t.Errorf("10,000 launches leave %d bytes of heap", after-before)
	}
	if dev.Live() != 0 {
		t.Errorf("they leave %d bytes on the device", dev.Live())
	}
}

func BenchmarkLaunch(b *testing.B) {
	dev := fake()
	dev.Keep = false
	f := function(b, dev, "scale")
	x, out := alloc[float32](b, dev, 64), alloc[float32](b, dev, 64)
	n := 1 << 10
	launchOnce := func() {
		n += 16
		if _, err := f.Launch(context.Background(), kernel.Dims(n/128), x, out, float32(0.5), n, 128); err != nil {
			b.Fatal(err)
		}
	}
	launchOnce()
	b.ReportAllocs()
	for b.Loop() {
		launchOnce()
	}
}

func BenchmarkLaunchParallel(b *testing.B) {
	dev := fake()
	dev.Keep = false
	f := function(b, dev, "scale")
	x, out := alloc[float32](b, dev, 64), alloc[float32](b, dev, 64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := 1 << 10; pb.Next(); n += 16 {
			if _, err := f.Launch(context.Background(), kernel.Dims(n/128), x, out, float32(0.5), n, 128); err != nil {
				b.Error(err)
			}
		}
	})
}
