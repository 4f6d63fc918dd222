package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver"
)

// fakeDevice is a device that times launches, each of which takes a set time.
type fakeDevice struct {
	driver.Device
	each  time.Duration
	err   error
	calls []driver.Timing
	flush time.Duration // of the cache, before each run
}

func (d *fakeDevice) measure(opts Options) (Times, error) {
	m := &measurement{timer: d, opts: opts}
	return m.run(context.Background())
}

func (d *fakeDevice) Time(_ context.Context, _ driver.Kernel, _ driver.Launch, t driver.Timing) ([]time.Duration, error) {
	d.calls = append(d.calls, t)
	n := t.Runs
	switch {
	case t.Graph:
		n = 10 // replays
	case t.Together:
		return []time.Duration{d.each + d.flush}, d.err
	}
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = d.each + time.Duration(i)
	}
	return list, d.err
}

func TestMeasure(t *testing.T) {
	const each = 500 * time.Microsecond
	for _, test := range []struct {
		name  string
		flush time.Duration
		opts  Options
		calls []driver.Timing
		times int
	}{
		{"as do_bench", 0, Options{}, []driver.Timing{
			{Runs: 1, Flush: 256 << 20}, {Runs: 5, Flush: 256 << 20, Together: true}, {Runs: 200, Warmup: 50, Flush: 256 << 20},
		}, 200},
		{"flushing takes time", 1000 * time.Microsecond, Options{}, []driver.Timing{
			{Runs: 1, Flush: 256 << 20}, {Runs: 5, Flush: 256 << 20, Together: true}, {Runs: 66, Warmup: 16, Flush: 256 << 20},
		}, 66},
		{"shorter, cache kept", 0, Options{Warmup: time.Nanosecond, Rep: 5100 * time.Microsecond, Flush: -1}, []driver.Timing{
			{Runs: 1}, {Runs: 5, Together: true}, {Runs: 10, Warmup: 1},
		}, 10},
		{"flush of 1 MB", 0, Options{Flush: 1 << 20, Rep: 1}, []driver.Timing{
			{Runs: 1, Flush: 1 << 20}, {Runs: 5, Flush: 1 << 20, Together: true}, {Runs: 1, Warmup: 50, Flush: 1 << 20},
		}, 1},
		{"graph", 0, Options{Graph: true}, []driver.Timing{{Runs: 1}, {Runs: 5, Together: true}, {Runs: 40, Graph: true}}, 10},
	} {
		dev := &fakeDevice{each: each, flush: test.flush}
		times, err := dev.measure(test.opts)
		if err != nil || len(times) != test.times {
			t.Errorf("%s: %d times, %v, want %d", test.name, len(times), err, test.times)
		}
		if !slices.Equal(dev.calls, test.calls) {
			t.Errorf("%s: asked for\n%+v, want\n%+v", test.name, dev.calls, test.calls)
		}
	}
}

// TestMeasureShort: a kernel that takes no time is not run forever.
func TestMeasureShort(t *testing.T) {
	dev := &fakeDevice{each: -10} // less than the clock's step
	if _, err := dev.measure(Options{Rep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if n := dev.calls[2].Runs; n != driver.MaxRuns {
		t.Errorf("%d runs", n)
	}
}

func TestMeasureFault(t *testing.T) {
	lost := errors.New("device lost")
	dev := &fakeDevice{each: time.Millisecond, err: lost}
	if _, err := Measure(t.Context(), dev, nil, driver.Launch{}, Options{}); !errors.Is(err, lost) || len(dev.calls) != 1 {
		t.Errorf("%v after %d calls", err, len(dev.calls))
	}
}

// untimed is a device that knows no time, or only what a model says.
type untimed struct {
	driver.Device
	properties driver.Properties
}

func (d untimed) Properties() driver.Properties { return d.properties }

type modelled struct{ estimate time.Duration }

func (k modelled) Launch(context.Context, driver.Launch) (*driver.Result, error) {
	return &driver.Result{Time: time.Hour, Estimate: k.estimate}, nil
}

func TestMeasureModel(t *testing.T) {
	sim := untimed{properties: driver.Properties{Name: "simulated X", Simulated: true}}
	times, err := Measure(t.Context(), sim, modelled{3 * time.Microsecond}, driver.Launch{}, Options{})
	if err != nil || !slices.Equal(times, Times{3 * time.Microsecond}) {
		t.Errorf("%v, %v", times, err)
	}
	if _, err := Measure(t.Context(), sim, modelled{0}, driver.Launch{}, Options{}); !errors.Is(err, ErrNoTimer) || !strings.Contains(err.Error(), "simulated X") {
		t.Errorf("no estimate: %v", err)
	}
	old := untimed{properties: driver.Properties{Name: "old driver"}}
	if _, err := Measure(t.Context(), old, modelled{1}, driver.Launch{}, Options{}); !errors.Is(err, ErrNoTimer) {
		t.Errorf("a device without a timer: %v", err)
	}
}

func TestTimes(t *testing.T) {
	times := Times{40, 10, 30, 100}
	for q, want := range map[float64]time.Duration{0: 10, 0.2: 22, 0.5: 35, 0.8: 64, 1: 100} {
		if got := times.Quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if times.Mean() != 45 || times.Median() != 35 || times.Min() != 10 || times.Max() != 100 {
		t.Errorf("%d %d %d %d", times.Mean(), times.Median(), times.Min(), times.Max())
	}
	if times[0] != 40 {
		t.Error("the order is lost")
	}
	if one := (Times{7}); one.Quantile(0.9) != 7 {
		t.Error("quantile of one time")
	}
}

// slowHooks take a thousand times as long as a launch.
type slowHooks struct{ called int }

func (h *slowHooks) Before(context.Context) error {
	h.called++
	time.Sleep(20 * time.Millisecond)
	return nil
}

func (h *slowHooks) After(context.Context) error { return nil }

// TestSlowHooks: hooks that take long leave time for few launches.
func TestSlowHooks(t *testing.T) {
	dev := &fakeDevice{each: 100 * time.Microsecond}
	h := &slowHooks{}
	if _, err := MeasureHooked(t.Context(), dev, h, nil, driver.Launch{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if h.called > 13 { // 1, 5 to estimate, at most 1 of warm-up and 5 that count
		t.Errorf("hooks were called %d times", h.called)
	}
}
