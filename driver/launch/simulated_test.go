package launch_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const simulatedKernels = `
import triton
import triton.language as tl

@triton.jit
def square(src, dst, m, n, BM: tl.constexpr, BK: tl.constexpr):
    # dst = src @ src.T, of which each program makes BM rows of BM columns
    a = tl.make_tensor_descriptor(src, [m, n], [n, 1], [BM, BK])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BM
    acc = tl.zeros([BM, BM], tl.float32)
    for k in range(0, n, BK):
        acc = tl.dot(a.load([row, k]), a.load([col, k]).T, acc)
    i = tl.arange(0, BM)
    tl.store(dst + (row + i[:, None]) * m + col + i[None, :], acc)

@triton.jit
def one(x):
    tl.store(x, tl.load(x) + 1)

@triton.jit
def beyond(x, n):
    tl.store(x + n, 1.0)
`

func onSimulated(t *testing.T, arch, name string) (driver.Device, *launch.Function) {
	t.Helper()
	dev := must[driver.Device](t)(simulated.New(core.Target{Backend: "cuda", Arch: arch}, simulated.Options{}))
	return dev, must[*launch.Function](t)(launch.New(t.Context(), launch.Options{
		Source: &core.Source{Path: "s.py", Text: []byte(simulatedKernels)}, Kernel: name, Device: dev,
		Compile: core.Options{Select: kerneltest.SelectBackend},
	}))
}

// TestScratchMemory: descriptors that a kernel makes lie in memory that the device
// allocates for each grid.
func TestScratchMemory(t *testing.T) {
	dev, f := onSimulated(t, "90", "square")
	const m, n = 128, 64
	values := make([]kernel.Float16, m*n)
	for i := range values {
		values[i] = kernel.Round[kernel.Float16](float64(i % 7))
	}
	x, out := must[*kernel.Buffer[kernel.Float16]](t)(kernel.From(dev, values)), alloc[float32](t, dev, m*m)
	if _, err := f.Launch(t.Context(), kernel.Dims(m/64, m/64), x, out, m, n, 64, 64); err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	got := must[[]float32](t)(out.Values())
	for i := range m {
		for j := range m {
			want := 0
			for k := range n {
				want += (i*n + k) % 7 * ((j*n + k) % 7)
			}
			if got[i*m+j] != float32(want) {
				t.Fatalf("element %d, %d is %v, want %d", i, j, got[i*m+j], want)
			}
		}
	}
	k := must[*core.Kernel](t)(f.Compile(t.Context(), x, out, m, n, 64, 64))
	if meta := must[driver.Metadata](t)(driver.ParseMetadata(k.Metadata)); meta.GlobalScratch == 0 {
		t.Error("the kernel wants no scratch memory")
	}
}

// TestManyLaunches: 10,000 on the simulated device leave nothing there or here.
func TestManyLaunches(t *testing.T) {
	dev, f := onSimulated(t, "80", "one")
	launches := func(n int) {
		for range n {
			x := must[*kernel.Buffer[int32]](t)(kernel.From(dev, make([]int32, 64)))
			must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(1), x))
			if v := must[[]int32](t)(x.Values()); v[0] != 1 {
				t.Fatal(v[0])
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
	launches(1500) // the device remembers the last 1024 buffers
	before := heap()
	launches(10_000)
	if after := heap(); after > before+256<<10 {
		t.Errorf("10,000 launches leave %d bytes of heap", after-before)
	}
}

// TestFault: what a kernel does wrong has its place in the file, beside a result.
func TestFault(t *testing.T) {
	dev, f := onSimulated(t, "80", "beyond")
	x := alloc[float32](t, dev, 64)
	r, err := f.Launch(t.Context(), kernel.Dims(1), x, 64)
	var fault *driver.Fault
	if !errors.As(err, &fault) || r == nil || !strings.Contains(kerneltest.Text(err), "s.py:23") || !strings.Contains(err.Error(), "out of bounds") {
		t.Errorf("%v", kerneltest.Text(err))
	}
	if _, err := f.Launch(t.Context(), kernel.Dims(1), x, 63); err != nil {
		t.Error("after a fault:", err)
	}
}

// TestForms: clusters, cooperative launches and programmatic dependent ones are options.
func TestForms(t *testing.T) {
	dev := fake()
	dev.Props.Target.Arch = "90"
	f := function(t, dev, "scale")
	x := alloc[float32](t, dev, 64)
	for name, value := range map[string]any{"num_ctas": 2, "launch_cooperative_grid": true, "launch_pdl": true} {
		must[*driver.Result](t)(f.Launch(t.Context(), kernel.Dims(4), x, x, 0.5, 64, 128, kernel.Named(name, value)))
		m := dev.Loaded().Metadata
		if (m.NumCTAs == 2) != (name == "num_ctas") || m.Cooperative != (name == "launch_cooperative_grid") || m.PDL != (name == "launch_pdl") {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if _, err := f.Launch(t.Context(), kernel.Dims(4), x, x, 0.5, 64, 128, kernel.Named("num_ctas", "many")); err == nil {
		t.Error("many blocks of a cluster")
	}
}
