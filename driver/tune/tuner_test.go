package tune

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// function is a kernel of the tests that a Tuner tunes.
func function(t *testing.T, dev *timed, name string, u launch.Tuner) *launch.Function {
	t.Helper()
	f, err := launch.New(t.Context(), launch.Options{
		Source: &core.Source{Path: "k.py", Text: []byte(kernels)}, Kernel: name, Device: dev, Tuner: u,
		Target: core.Target{Backend: "cuda", Arch: "80"}, Compile: core.Options{Select: kerneltest.SelectBackend},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func buffer(t *testing.T, dev driver.Device, v float32) *kernel.Buffer[float32] {
	t.Helper()
	values := make([]float32, 2048)
	for i := range values {
		values[i] = v
	}
	b, err := kernel.From(dev, values)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var blocks = kernel.GridFunc(func(c kernel.Constants) kernel.Grid { return kernel.Dims(c.Int("n") / c.Int("B")) })

// TestTuner: the first launch with a key measures all configurations, and those that
// follow run the fastest.
func TestTuner(t *testing.T) {
	dev := newTimed()
	dev.Keep = true
	var found []*Result
	u := &Tuner{Measured: func(r *Result) { found = append(found, r) }, Tritonc: "1"}
	f := function(t, dev, "plain", u)
	x := buffer(t, dev, 0)
	for _, tt := range []struct {
		n, grid, tunings int
	}{{512, 8, 1}, {512, 8, 1}, {1024, 8, 2}, {512, 8, 2}, {1024, 8, 2}, {2048, 16, 3}} {
		calls, before := dev.calls, len(found)
		if _, err := f.Launch(t.Context(), blocks, x, tt.n); err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		if dev.Last().Grid[0] != tt.grid || len(found) != tt.tunings || (dev.calls > calls) != (len(found) > before) {
			t.Errorf("n = %d: grid %v, tuned %d times, %d measurements", tt.n, dev.Last().Grid, len(found), dev.calls-calls)
		}
	}
	e := found[0].Entry
	if got, want := summary(e), "64: 100; 128: 116; 16: 676; 32: k.py:10:5: static assertion failed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if e.Kernel != "plain" || e.Key.String() != "(512, 'torch.float32')" || e.Device != "fake" || e.Target != "cuda:80" || e.Measure != "do_bench" || e.Tritonc != "1" {
		t.Errorf("the entry is of %+v", e)
	}
}

// TestTunerTimes: where times are known nothing is measured, for other keys it is.
func TestTunerTimes(t *testing.T) {
	dev := newTimed()
	dev.Keep = true
	times := &File{}
	u := &Tuner{Measured: func(r *Result) { times.Add(r.Entry) }}
	x := buffer(t, dev, 0)
	if _, err := function(t, dev, "plain", u).Launch(t.Context(), blocks, x, 1024); err != nil {
		t.Fatal(err)
	}
	u = &Tuner{Times: times, Measured: func(r *Result) { t.Errorf("%s is measured", r.Entry.Key) }}
	f, before := function(t, dev, "plain", u), dev.calls
	k, err := f.Compile(t.Context(), x, 1024)
	if err != nil || !strings.Contains(string(k.Artifacts[0].Data), "tensor<128x") {
		t.Errorf("compiled is %+v, %v", k, err)
	}
	if _, err := f.Launch(t.Context(), blocks, x, 1024); err != nil || dev.calls != before || dev.Last().Grid[0] != 8 {
		t.Errorf("grid %v, %d measurements, %v", dev.Last().Grid, dev.calls-before, err)
	}
	// To compile nothing is measured: it is what tuning begins with.
	if k, err = f.Compile(t.Context(), x, 512); err != nil || !strings.Contains(string(k.Artifacts[0].Data), "tensor<16x") {
		t.Errorf("compiled is %+v, %v", k, err)
	}
	u.Measured = nil
	if _, err := f.Launch(t.Context(), blocks, x, 512); err != nil || dev.calls == before || dev.Last().Grid[0] != 8 {
		t.Errorf("grid %v, %v", dev.Last().Grid, err)
	}
	if k, err = f.Compile(t.Context(), x, 512); err != nil || !strings.Contains(string(k.Artifacts[0].Data), "tensor<64x") {
		t.Errorf("compiled is %+v, %v", k, err)
	}
}

// TestTunerHooks: memory is reset and restored around launches that are measured, on the
// device, and reset once before the one that was asked for.
func TestTunerHooks(t *testing.T) {
	dev := newTimed()
	x, y := buffer(t, dev, 3), buffer(t, dev, 5)
	first := func(b *kernel.Buffer[float32]) float32 {
		values, err := b.Values()
		if err != nil {
			t.Fatal(err)
		}
		return values[0]
	}
	dev.each = func(driver.Launch) error { // a launch that is measured
		if first(x) != 0 || first(y) != 5 {
			t.Errorf("a launch begins with %v and %v", first(x), first(y))
		}
		return errors.Join(x.Slice(0, 1).Write([]float32{7}), y.Slice(0, 1).Write([]float32{9}))
	}
	f := function(t, dev, "reset", &Tuner{})
	for range 2 {
		if _, err := f.Launch(t.Context(), blocks, x, y, 512); err != nil {
			t.Fatal(kerneltest.Text(err))
		}
		if first(x) != 0 || first(y) != 5 {
			t.Errorf("the launch begins with %v and %v", first(x), first(y))
		}
	}
}

// TestTunerGoroutines: launches with one key wait for one tuning. Where it fails each
// hears of it, and the next one tries again.
func TestTunerGoroutines(t *testing.T) {
	dev := newTimed()
	var mu sync.Mutex
	tuned := 0
	u := &Tuner{Measured: func(*Result) { mu.Lock(); tuned++; mu.Unlock() }}
	f := function(t, dev, "pruned", u)
	x := buffer(t, dev, 0)
	failing := errors.New("no time today")
	dev.each = func(driver.Launch) error { return failing }
	if _, err := f.Launch(t.Context(), blocks, x, 512); err == nil || !strings.Contains(err.Error(), "none of 2 configurations of 'pruned' can be run") {
		t.Error(err)
	}
	dev.each = nil
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := f.Launch(context.Background(), blocks, x, 512); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if tuned != 1 {
		t.Errorf("tuned %d times", tuned)
	}
}
