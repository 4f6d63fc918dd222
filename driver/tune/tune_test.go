package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/fakedevice"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const kernels = `
import triton
import triton.language as tl

configs = [triton.Config({"B": b}) for b in (16, 32, 64, 128)]

@triton.autotune(configs, key=["n"], warmup=1, rep=2)
@triton.jit
def plain(x, n, B: tl.constexpr):
    tl.static_assert(B != 32)
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)

@triton.autotune(configs, key=["n"], prune_configs_by={"perf_model": lambda B, **kw: -B, "top_k": 2})
@triton.jit
def pruned(x, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)

def wider(configs, named, **kwargs):
    return [triton.Config({"B": named["n"] // 2}), configs[1]]

@triton.autotune([configs[0], configs[2]], key=["n"], prune_configs_by={"early_config_prune": wider})
@triton.jit
def made(x, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)

@triton.autotune(configs[:1], key=["n"], use_cuda_graph=True)
@triton.jit
def graphs(x, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), 1.0)

@triton.autotune(configs[:2], key=["n"], reset_to_zero=["x"], restore_value=["y"], rep=1e-6, warmup=1e-6)
@triton.jit
def reset(x, y, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), tl.load(y))

@triton.autotune(configs, key=["n"])
@triton.jit
def warned(x, n, B: tl.constexpr):
    for i in range(0, n):
        tl.store(x + i, 1.0)
    tl.store(x + tl.arange(0, B), 1.0, mask=i < B)
`

// timed is a device that times launches: as long as the grid is from eight programs.
type timed struct {
	*fakedevice.Device
	mu       sync.Mutex
	calls    int
	last     driver.Timing
	lastGrid int
	each     func(l driver.Launch) error
}

func newTimed() *timed { return &timed{Device: fakedevice.New("ttgir")} }

func (d *timed) Time(_ context.Context, _ driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.last, d.lastGrid = t, l.Grid[0]
	if d.each != nil {
		if err := d.each(l); err != nil {
			return nil, err
		}
	}
	if t.Together {
		t.Runs = 1
	}
	far := l.Grid[0] - 8
	list := make([]time.Duration, t.Runs)
	for i := range list {
		list[i] = time.Duration(100+far*far) * time.Microsecond
	}
	return list, nil
}

// options are those of a launch for 512 elements.
func options(dev driver.Device, kernel string, arrays ...string) Options {
	target := core.Target{Backend: "cuda", Arch: "80"}
	args := []launch.Arg{{Name: "n", Value: int64(512)}}
	for _, name := range arrays {
		args = append(args, launch.Arg{Name: name, Value: array.New(array.Named("fp32"), 512).Fill(3)})
	}
	return Options{
		Source: &core.Source{Path: "k.py", Text: []byte(kernels)}, Kernel: kernel, Target: target, Device: dev,
		Options: core.Options{Select: kerneltest.SelectBackend}, Parallel: 2,
		Args: func(*frontend.ConfigInfo) ([]launch.Arg, error) { return args, nil },
		Grid: func(known *frontend.Variant) ([3]int, error) {
			return [3]int{int(512 / known.Constants["B"].(int64)), 1, 1}, nil
		},
	}
}

// summary is an entry in a line: blocks with their times.
func summary(e *Entry) string {
	var parts []string
	for _, m := range e.Configs {
		what := fmt.Sprint(m.Time)
		if !m.OK() {
			what = m.Error
		}
		parts = append(parts, fmt.Sprintf("%v: %s", m.Config[0].Value, what))
	}
	return strings.Join(parts, "; ")
}

// What a compile warns of is told once, however many configurations have it.
func TestWarnings(t *testing.T) {
	r, err := Run(t.Context(), options(newTimed(), "warned", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Entry.Configs) != 4 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "'i' is read after its loop") {
		t.Errorf("%d configurations, warnings %v", len(r.Entry.Configs), r.Warnings)
	}
}

func TestRun(t *testing.T) {
	dev := newTimed()
	o := options(dev, "plain", "x")
	o.Tritonc, o.Backend = "1", "nvidia 1"
	var seen []string
	o.Progress = func(p Progress) {
		best := "nothing"
		if p.Best != nil {
			best = fmt.Sprint(p.Best.Time)
		}
		seen = append(seen, fmt.Sprintf("%d of %d", p.Done, p.Total))
		if p.Done == p.Total {
			seen = append(seen, "best "+best)
		}
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err, summary(r.Entry))
	}
	if got, want := summary(r.Entry), "64: 100; 128: 116; 16: 676; 32: k.py:10:5: static assertion failed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(seen, ", "), "0 of 4, 1 of 4, 2 of 4, 3 of 4, 4 of 4, best 100"; got != want {
		t.Errorf("progress: %s", got)
	}
	e := r.Entry
	if e.Kernel != "plain" || e.Key.String() != "(512, 'torch.float32')" || e.Device != "fake" || e.Measure != "do_bench" || e.Target != "cuda:80" {
		t.Errorf("the entry is of %+v", e)
	}
	if r.Configs != 4 || r.Left != 4 || r.Tried != 4 || r.Whole < r.Measuring || r.Compiling <= 0 || dev.Live() != 0 {
		t.Errorf("%+v; %d bytes are not given back", r, dev.Live())
	}
}

// TestPruned: what prune_configs_by leaves is measured alone.
func TestPruned(t *testing.T) {
	r, err := Run(t.Context(), options(newTimed(), "pruned", "x"))
	if err != nil || summary(r.Entry) != "64: 100; 128: 116" || r.Left != 2 || r.Configs != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMade: so is what early_config_prune makes.
func TestMade(t *testing.T) {
	r, err := Run(t.Context(), options(newTimed(), "made", "x"))
	if err != nil || summary(r.Entry) != "64: 100; 256: 136" || r.Left != 1 || r.Made != 1 || r.Configs != 2 || r.Best.Number != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRunHooks: before each launch that is measured memory is reset, and the hooks are
// not timed.
func TestRunHooks(t *testing.T) {
	dev := newTimed()
	o := options(dev, "reset", "x", "y")
	bad, launches := "", 0
	dev.each = func(l driver.Launch) error {
		launches++
		for i, want := range []byte{0, 0x40} { // the last byte of 0 and of 3
			var p [4]byte
			b := l.Args[i].(driver.Buffer)
			if err := b.Read(0, p[:]); err != nil {
				return err
			}
			if p[3] != want {
				bad = fmt.Sprintf("launch %d: argument %d is %v", launches, i, p)
			}
			if err := b.Write(0, []byte{1, 2, 3, 4}); err != nil { // what the kernel does
				return err
			}
		}
		return nil
	}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if bad != "" || launches < 14 {
		t.Errorf("%d launches; %s", launches, bad)
	}
}

// TestStopped: what was measured is kept when the user stops, and when the device is
// lost.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(newTimed(), "pruned", "x")
	o.Parallel = 1
	o.Progress = func(p Progress) {
		if p.Done == 1 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(r.Entry.Configs) != 1 {
		t.Errorf("%+v, %v", r, err)
	}

	dev := newTimed()
	dev.each = func(l driver.Launch) error {
		if l.Grid[0] == 8 {
			return &driver.Fault{Kernel: "pruned"}
		}
		return nil
	}
	o = options(dev, "pruned", "x")
	o.Parallel = 1
	r, err = Run(t.Context(), o)
	var fault *driver.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "configuration 2 (B=64, ") || len(r.Entry.Configs) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOwnArrays: memory that a configuration alone has is given back with it.
func TestOwnArrays(t *testing.T) {
	dev := newTimed()
	o := options(dev, "plain")
	common := o.Args
	o.Args = func(c *frontend.ConfigInfo) ([]launch.Arg, error) {
		args, err := common(c)
		return append(args, launch.Arg{Name: "x", Value: array.New(array.Named("fp32"), 512)}), err
	}
	most := int64(0)
	dev.each = func(driver.Launch) error {
		most = max(most, dev.Live())
		return nil
	}
	if r, err := Run(t.Context(), o); err != nil || len(r.Entry.Configs) != 4 {
		t.Fatal(r, err)
	}
	if most != 2*4*512 || dev.Live() != 0 {
		t.Errorf("%d bytes at a time, and %d left: one array is that of the first question", most, dev.Live())
	}
}

func TestRunMistakes(t *testing.T) {
	dev := newTimed()
	dev.each = func(driver.Launch) error {
		return &driver.OutOfResources{Kernel: "k", Device: "fake", Resource: driver.SharedMemory, Required: 2, Limit: 1}
	}
	_, err := Run(t.Context(), options(dev, "pruned", "x"))
	if err == nil || !strings.Contains(err.Error(), "none of 2 configurations of 'pruned' can be run") {
		t.Error(err)
	}
	r, err := Run(t.Context(), options(fakedevice.New("ttgir"), "pruned", "x"))
	if !errors.Is(err, bench.ErrNoTimer) || len(r.Entry.Configs) != 0 {
		t.Error(err)
	}
	o := options(newTimed(), "pruned", "x")
	all := o.Args
	o.Args = func(c *frontend.ConfigInfo) ([]launch.Arg, error) {
		args, err := all(c)
		return append(args, launch.Arg{Name: "B", Value: int64(16)}), err
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there is nothing to tune") {
		t.Error(err)
	}
}

// TestGraphTimes: graphs that the decorator asks for are longer than those of --graph, as
// Triton's are.
func TestGraphTimes(t *testing.T) {
	for _, test := range []struct {
		kernel string
		bench  bench.Options
		time   time.Duration // of a graph
	}{
		{"graphs", bench.Options{}, 100 * time.Millisecond},
		{"graphs", bench.Options{Rep: 10 * time.Millisecond}, 10 * time.Millisecond},
		{"pruned", bench.Options{Graph: true}, 20 * time.Millisecond},
	} {
		dev := newTimed()
		o := options(dev, test.kernel, "x")
		o.Bench = test.bench
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Entry.Measure; m != "do_bench_cudagraph" || !dev.last.Graph {
			t.Errorf("%s is measured by %s, %+v", test.kernel, m, dev.last)
		}
		far := dev.lastGrid - 8
		if each := time.Duration(100+far*far) * time.Microsecond; dev.last.Runs != int(test.time/each) {
			t.Errorf("%s, %+v: %d runs of %v", test.kernel, test.bench, dev.last.Runs, each)
		}
	}
}
