package measure

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/internal/fakedevice"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/natstest"
	"github.com/tritonc/tritonc/internal/testseed"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

const kernels = `
import triton
import triton.language as tl

@triton.jit
def plain(x, big, out, at, n, f: tl.float32, d: tl.float64, flag, u: tl.uint64, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) + tl.load(big + i) + tl.load(at + i) + n + f + d.to(tl.float32) + u, mask=flag)

@triton.autotune([triton.Config({"B": b}) for b in (16, 32)], key=["n"], reset_to_zero=["x"], restore_value=["y"])
@triton.jit
def reset(x, y, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B + tl.arange(0, B), tl.load(y))
`

// timed is a device whose launches take as long as their grids are from eight programs,
// and that remembers what they were launched with.
type timed struct {
	*fakedevice.Device
	factor float64
	each   func(ctx context.Context, l driver.Launch) error

	mu   sync.Mutex
	seen map[string]bool
}

func newTimed(name string, factor float64) *timed {
	d := &timed{Device: fakedevice.New("ttgir"), factor: factor, seen: map[string]bool{}}
	d.Props.Name, d.Props.Target = name, target.Target{Backend: "cuda", Arch: "80", WarpSize: 32}
	return d
}

func (d *timed) Time(ctx context.Context, _ driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	if d.each != nil {
		if err := d.each(ctx, l); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen != nil {
		d.seen[describe(l)] = true
	}
	if t.Together {
		t.Runs = 1
	}
	far := float64(l.Grid[0] - 8)
	return slices.Repeat([]time.Duration{time.Duration((1e6 + far*far*1e3) * d.factor)}, t.Runs), nil
}

// describe is a launch with the contents of its memory. Addresses are described by what
// lies there.
func describe(l driver.Launch) string {
	var parts []string
	var buffers []driver.Buffer
	for _, a := range l.Args {
		if b, ok := a.(driver.Buffer); ok {
			buffers = append(buffers, b)
		}
	}
	for _, a := range l.Args {
		switch a := a.(type) {
		case driver.Buffer:
			data := make([]byte, a.Size())
			if err := a.Read(0, data); err != nil {
				return err.Error()
			}
			parts = append(parts, fmt.Sprintf("%d bytes %.6x", len(data), sha256.Sum256(data)))
		case uint64:
			text := fmt.Sprint(a)
			for i, b := range buffers {
				if a >= b.Addr() && a < b.Addr()+uint64(b.Size()) {
					text = fmt.Sprintf("argument %d + %d", i, a-b.Addr())
				}
			}
			parts = append(parts, text)
		default:
			parts = append(parts, fmt.Sprintf("%T %v", a, a))
		}
	}
	return fmt.Sprint(l.Grid, " ", strings.Join(parts, ", "))
}

func (d *timed) launches() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.seen {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// farm is a server with what a test starts there.
type farm struct {
	testing.TB
	url string
}

func newFarm(t testing.TB) *farm { return &farm{t, natstest.Run(t).URL()} }

func (f *farm) connect() (*bus.Bus, *work.Queue, *Contents) {
	f.Helper()
	b, err := bus.Connect(f.Context(), bus.Options{URLs: []string{f.url}, Name: f.Name(), Stay: true, Timeout: 20 * time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(b.Close)
	q, err := work.Open(f.Context(), b, work.Config{AckWait: time.Second, Beat: 200 * time.Millisecond, MaxBytes: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	c, err := OpenContents(f.Context(), b, ContentsConfig{MaxBytes: 256 << 20, Remembered: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	return b, q, c
}

// worker is one that runs.
type worker struct {
	handler *Handler
	bus     *bus.Bus
	ended   chan struct{}
	stop    context.CancelFunc
	opened  atomic.Int64
	lost    atomic.Bool
}

// device starts a worker with a device; open, when not nil, comes before the device is
// opened.
func (f *farm) device(id string, d driver.Device, open func(n int64) error) *worker {
	f.Helper()
	b, q, c := f.connect()
	w := &worker{bus: b, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	w.handler = &Handler{
		Type: &Type{d.Properties(), "fake 1"}, Contents: c, On: id,
		Open: func(context.Context) (driver.Device, error) {
			n := w.opened.Add(1)
			if open != nil {
				if err := open(n); err != nil {
					return nil, err
				}
			}
			return d, nil
		},
		Lost: func(error) { w.lost.Store(true); cancel() },
	}
	if err := w.handler.Announce(ctx, q); err != nil {
		f.Fatal(err)
	}
	go func() {
		defer close(w.ended)
		run := &work.Worker{ID: id, Host: "test", Jobs: 1, Handler: w.handler, TaskTimeout: time.Minute, Log: f.Logf}
		if err := run.Run(ctx, context.Background(), q); err != nil {
			f.Errorf("worker %s: %v", id, err)
		}
	}()
	f.Cleanup(func() { cancel(); <-w.ended })
	return w
}

// open is the device of a type, for a client.
func (f *farm) open(name string) *Device {
	f.Helper()
	_, q, contents := f.connect()
	var of *Type
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		types, _, err := Types(f.Context(), q)
		if err == nil {
			of, err = Choose(types, target.Target{}, name)
		}
		if err == nil {
			break
		}
		if time.Now().After(end) {
			f.Fatal(err)
		}
	}
	c, err := work.Connect(f.Context(), q, work.ClientConfig{Grace: 20 * time.Second, Recheck: 500 * time.Millisecond, Patience: 20 * time.Second, Log: f.Logf})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	d, err := Open(f.Context(), c, contents, of)
	if err != nil {
		f.Fatal(err)
	}
	return d
}

// options are those of tuning plain, or reset.
func options(dev driver.Device, kernel string, args []launch.Arg) tune.Options {
	src := &core.Source{Path: "k.py", Text: []byte(kernels)}
	if kernel == "plain" {
		src.Configs = &core.ConfigFile{Path: "--space", Text: []byte(`[{"B":16},{"B":32},{"B":64},{"B":128},{"B":256},{"B":64,"num_warps":8}]`)}
	}
	return tune.Options{
		Source: src, Kernel: kernel, Target: core.Target{Backend: "cuda", Arch: "80"}, Device: dev,
		Options: core.Options{Select: kerneltest.SelectBackend}, Parallel: 2,
		Args: func(*frontend.ConfigInfo) ([]launch.Arg, error) { return args, nil },
		Grid: func(known *frontend.Variant) ([3]int, error) {
			return [3]int{int(512 / known.Constants["B"].(int64)), 1, 1}, nil
		},
		Bench: bench.Options{Warmup: time.Microsecond, Rep: 10 * time.Millisecond},
	}
}

// plainArgs are arguments of all kinds: small, large, uniform and unset memory, an
// address inside, and numbers.
func plainArgs(t *testing.T) []launch.Arg {
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fp32 := array.Named("fp32")
	random := func(n int) *array.Array {
		x := array.New(fp32, n)
		for i := range x.Data {
			x.Data[i] = byte(rng.Uint32())
		}
		return x
	}
	x, big, out := random(512), random(300_001), array.New(fp32, 777)
	out.Unset = true
	return []launch.Arg{
		{Name: "x", Value: x},
		{Name: "big", Value: big},
		{Name: "out", Value: out},
		{Name: "at", Value: &launch.View{Array: big, Offset: 4 * rng.IntN(1000)}},
		{Name: "n", Value: rng.Int64N(1<<31) | 1<<20},
		{Name: "f", Value: rng.NormFloat64()},
		{Name: "d", Value: rng.NormFloat64()},
		{Name: "flag", Value: true},
		{Name: "u", Value: rng.Uint64() | 1<<63},
	}
}

// times are what an entry has, by configurations.
func times(e *tune.Entry) (list []string) {
	for _, m := range e.Configs {
		list = append(list, fmt.Sprintf("%s: %.3f %.3f %.3f %s", m.Config.Text(), m.Time, m.Low, m.High, m.Error))
	}
	return list
}

// TestTune: tuning on the farm finds what it finds here, and launches what is launched
// here, whichever of several devices measures; a device of another type has no part in
// it, and is tuned for beside it.
func TestTune(t *testing.T) {
	args := plainArgs(t)
	here := newTimed("fast", 1)
	want, err := tune.Run(t.Context(), options(here, "plain", args))
	if err != nil {
		t.Fatal(err)
	}
	f := newFarm(t)
	first, second, other := newTimed("fast", 1), newTimed("fast", 1), newTimed("slow", 3)
	f.device("first", first, nil)
	f.device("second", second, nil)
	f.device("other", other, nil)
	var wg sync.WaitGroup
	for _, name := range []string{"fast", "slow"} {
		dev := f.open(name)
		wg.Go(func() {
			got, err := tune.Run(t.Context(), options(dev, "plain", args))
			if err != nil {
				t.Error(err)
				return
			}
			if name == "fast" && !slices.Equal(times(got.Entry), times(want.Entry)) {
				t.Errorf("the farm finds\n%s\nand here it is\n%s", strings.Join(times(got.Entry), "\n"), strings.Join(times(want.Entry), "\n"))
			}
			if name == "slow" && (len(got.Entry.Configs) != 6 || got.Entry.Best().Time != 3*want.Entry.Best().Time) {
				t.Errorf("the slow device measures\n%s", strings.Join(times(got.Entry), "\n"))
			}
			if got.Entry.Device != name || got.Again < 2 {
				t.Errorf("%d configurations were measured again on %s", got.Again, got.Entry.Device)
			}
		})
	}
	wg.Wait()
	both := slices.Compact(slices.Sorted(slices.Values(append(first.launches(), second.launches()...))))
	for _, got := range [][]string{both, other.launches()} {
		if !slices.Equal(got, here.launches()) {
			t.Errorf("the farm launches\n%s\nand here it is\n%s", strings.Join(got, "\n"), strings.Join(here.launches(), "\n"))
		}
	}
	if first.Live() != 0 || second.Live() != 0 || other.Live() != 0 {
		t.Errorf("%d, %d and %d bytes are not given back", first.Live(), second.Live(), other.Live())
	}
}

// TestHooks: memory that hooks change has its contents before each launch, whatever the
// kernel leaves there.
func TestHooks(t *testing.T) {
	f := newFarm(t)
	d := newTimed("fast", 1)
	var bad atomic.Value
	var launches atomic.Int64
	d.each = func(_ context.Context, l driver.Launch) error {
		launches.Add(1)
		for i, want := range []byte{0, 0x40} { // the last byte of 0 and of 3
			var p [4]byte
			b := l.Args[i].(driver.Buffer)
			if err := b.Read(0, p[:]); err != nil {
				return err
			}
			if p[3] != want {
				bad.Store(fmt.Sprintf("argument %d is %v", i, p))
			}
			if err := b.Write(0, []byte{1, 2, 3, 4}); err != nil { // what the kernel does
				return err
			}
		}
		return nil
	}
	f.device("one", d, nil)
	var args []launch.Arg
	for _, name := range []string{"x", "y"} {
		args = append(args, launch.Arg{Name: name, Value: array.New(array.Named("fp32"), 512).Fill(3)})
	}
	args = append(args, launch.Arg{Name: "n", Value: int64(512)})
	if _, err := tune.Run(t.Context(), options(f.open("fast"), "reset", args)); err != nil {
		t.Fatal(err)
	}
	if b := bad.Load(); b != nil || launches.Load() < 14 {
		t.Errorf("%d launches; %v", launches.Load(), b)
	}
}

// TestKilled: a worker that dies while it measures gives its task back, and a device that
// comes later takes part.
func TestKilled(t *testing.T) {
	args := plainArgs(t)
	want, err := tune.Run(t.Context(), options(newTimed("fast", 1), "plain", args))
	if err != nil {
		t.Fatal(err)
	}
	f := newFarm(t)
	dying, late := newTimed("fast", 1), newTimed("fast", 1)
	var w *worker
	var begun sync.Once
	started := make(chan struct{})
	dying.each = func(ctx context.Context, _ driver.Launch) error {
		begun.Do(func() {
			w.bus.Close() // the server hears no more of it
			close(started)
		})
		time.Sleep(3 * time.Second) // longer than the server waits
		return errors.New("nobody hears this")
	}
	w = f.device("dying", dying, nil)
	dev := f.open("fast")
	go func() {
		<-started
		f.device("late", late, nil)
	}()
	got, err := tune.Run(t.Context(), options(dev, "plain", args))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(times(got.Entry), times(want.Entry)) {
		t.Errorf("the farm finds\n%s\nand here it is\n%s", strings.Join(times(got.Entry), "\n"), strings.Join(times(want.Entry), "\n"))
	}
	w.stop()
}

// broken is a device that has no memory to give any more.
type broken struct {
	*timed
	gone atomic.Bool
}

func (d *broken) Alloc(name string, size int) (driver.Buffer, error) {
	if d.gone.Load() {
		return nil, errors.New("the device is gone")
	}
	return d.timed.Alloc(name, size)
}

// TestLost: what a lost device was measuring another one does, and its worker ends if it
// does not come back. A fault is the kernel's: its configuration has no time, and the
// device is opened anew.
func TestLost(t *testing.T) {
	f := newFarm(t)
	gone := &broken{timed: newTimed("fast", 1)}
	gone.each = func(context.Context, driver.Launch) error {
		gone.gone.Store(true)
		return errors.New("no answer")
	}
	lost := f.device("gone", gone, func(n int64) error {
		if n > 1 {
			return errors.New("it is not on the bus")
		}
		return nil
	})
	dev := f.open("fast")
	faulty := newTimed("fast", 1)
	faulty.each = func(_ context.Context, l driver.Launch) error {
		if l.Grid[0] == 4 {
			return &driver.Fault{Kernel: "plain"}
		}
		return nil
	}
	time.AfterFunc(300*time.Millisecond, func() { f.Log("the second device comes") })
	second := f.device("second", faulty, nil)
	got, err := tune.Run(t.Context(), options(dev, "plain", plainArgs(t)))
	if err != nil {
		t.Fatal(err)
	}
	e := got.Entry
	if len(e.Configs) != 6 || !e.Configs[4].OK() || !strings.HasPrefix(e.Configs[5].Error, "kernel plain: ") || e.Configs[5].Config[0].Value != int64(128) {
		t.Errorf("the farm finds\n%s", strings.Join(times(e), "\n"))
	}
	if second.opened.Load() != 2 {
		t.Errorf("the device was opened %d times, want 2: anew after a fault", second.opened.Load())
	}
	if gone.gone.Load() && !lost.lost.Load() {
		select {
		case <-lost.ended:
		case <-time.After(20 * time.Second):
			t.Error("the worker of the lost device does not end")
		}
	}
}

// TestGone: where no device is left the tuning ends, and says so; what was measured stays.
func TestGone(t *testing.T) {
	f := newFarm(t)
	d := newTimed("fast", 1)
	w := f.device("only", d, nil)
	dev := f.open("fast")
	dev.client.Close()
	_, q, contents := f.connect()
	c, err := work.Connect(t.Context(), q, work.ClientConfig{Grace: 300 * time.Millisecond, Recheck: 100 * time.Millisecond, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if dev, err = Open(t.Context(), c, contents, dev.of); err != nil {
		t.Fatal(err)
	}
	o := options(dev, "plain", plainArgs(t))
	o.Parallel = 1
	o.Progress = func(p tune.Progress) {
		if p.Done == 1 {
			w.stop()
			<-w.ended
		}
	}
	r, err := tune.Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the farm has no fast by fake 1 any more") || len(r.Entry.Configs) == 0 || len(r.Entry.Configs) == 6 {
		t.Errorf("%v; %d configurations", err, len(r.Entry.Configs))
	}
}

// TestRoom: a bucket that is full has room for new arrays, and what somebody still needs is
// sent again.
func TestRoom(t *testing.T) {
	f := newFarm(t)
	b, _, _ := f.connect()
	if err := b.JetStream().DeleteObjectStore(t.Context(), "tritonc_v1_contents"); err != nil {
		t.Fatal(err)
	}
	small, err := OpenContents(t.Context(), b, ContentsConfig{MaxBytes: 3 << 20, Remembered: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := newTimed("fast", 1)
	w := f.device("one", d, nil)
	w.handler.mu.Lock()
	w.handler.Contents.most = 1 // it remembers nothing
	w.handler.mu.Unlock()
	dev := f.open("fast")
	var trials []tune.Trial
	for i := range 6 {
		m, err := dev.Alloc("x", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, m.Size())
		data[0] = byte(i + 1)
		if err := m.Write(0, data); err != nil {
			t.Fatal(err)
		}
		trial, err := dev.Trial(t.Context(), &binary{driver.Binary{Name: "k"}}, driver.Launch{Grid: [3]int{8, 1, 1}, Args: []any{m}})
		if err != nil {
			t.Fatal(err)
		}
		trials = append(trials, trial)
	}
	all, err := small.store.List(t.Context())
	if err != nil || len(all) < 1 || len(all) > 2 {
		t.Fatalf("%v: %d objects of 1 MiB are in a bucket of 3", err, len(all))
	}
	for i, trial := range trials {
		list, err := dev.Measure(t.Context(), []tune.Trial{trial}, 1, bench.Options{Warmup: 1, Rep: 1})
		if err != nil || len(list) != 1 || list[0].Failure != "" {
			t.Fatalf("trial %d: %+v, %v", i, list, err)
		}
	}
	if got := len(d.launches()); got != 6 {
		t.Errorf("%d different launches, want 6", got)
	}
}

// TestNumbers: numbers come as they were sent, with every bit.
func TestNumbers(t *testing.T) {
	for _, v := range []any{
		nil, true, false, int8(-128), int16(-5), int32(-1 << 31), int64(-1 << 63), uint8(255), uint16(65535), uint32(1<<32 - 1), uint64(1<<64 - 1),
		float32(-0.1), 1e-310, float32(0),
	} {
		a, err := numberOf(v)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back argument
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if got, err := back.number(); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%T %v comes as %T %v, %v", v, v, got, got, err)
		}
	}
	for _, a := range []argument{{Type: "int8", Value: "128"}, {Type: "int", Value: "1"}, {Type: "bool", Value: "yes"}, {Type: "uint64", Value: "-1"}, {Type: "float32", Value: "x"}} {
		if v, err := a.number(); err == nil {
			t.Errorf("%+v is taken for %v", a, v)
		}
	}
	if _, err := numberOf("text"); err == nil {
		t.Error("a string can be sent")
	}
}

// TestTasks: tasks that no client makes are refused, and the worker goes on.
func TestTasks(t *testing.T) {
	h := &Handler{Type: &Type{}, Open: func(context.Context) (driver.Device, error) { return nil, errors.New("opened") }, Lost: func(error) {}}
	for _, body := range []string{
		"", "[]", "{}", `{"rounds":1,"trials":[null]}`, `{"rounds":100,"trials":[{}]}`, `{"rounds":1,"trials":[{}],"bench":{"Rep":60000000001}}`,
		`{"rounds":1,"trials":[{"args":[{"type":"buffer"}]}]}`,
		`{"rounds":1,"trials":[{"buffers":[{"name":"x","content":{"size":8}}],"args":[{"type":"address","offset":9}]}]}`,
		`{"rounds":1,"trials":[{"buffers":[{"name":"x","content":{"size":8}}],"args":[{"type":"map"}]}]}`,
		`{"rounds":1,"trials":[{"buffers":[{"name":"x","content":{"size":-8}}],"args":[]}]}`,
	} {
		if _, _, err := h.Do(t.Context(), &work.Task{Body: []byte(body)}); err == nil || !strings.HasPrefix(err.Error(), "the task is not understood: ") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestThin: of many times a sample has the same quantiles.
func TestThin(t *testing.T) {
	var all bench.Times
	for i := range 20_000 {
		all = append(all, time.Duration(1+(i*7919)%20_000)*time.Microsecond)
	}
	few := thin(all)
	for _, q := range []float64{0, 0.2, 0.5, 0.8, 1} {
		if a, b := all.Quantile(q), few.Quantile(q); len(few) != maxTimes || (a-b).Abs() > a/500 {
			t.Errorf("quantile %v of %d times is %v, of %d %v", q, len(few), b, len(all), a)
		}
	}
}

// TestChoose: a device is chosen by its name, its target, or both; messages list what
// there is.
func TestChoose(t *testing.T) {
	of := func(name, arch, by string) *Type {
		return &Type{driver.Properties{Name: name, Target: target.Target{Backend: "cuda", Arch: arch, WarpSize: 32}}, by}
	}
	types := []*Type{of("A", "80", "cuda 13"), of("B", "90", "cuda 13"), of("B", "90", "cuda 12")}
	for _, tt := range []struct {
		target, name, want string
	}{
		{"cuda:80", "", "A by cuda 13"},
		{"", "A", "A by cuda 13"},
		{"cuda:90", "B by cuda 12", "B by cuda 12"},
		{"", "B", `the farm has several types of devices that fit`},
		{"cuda:90", "A", "the farm does not have a device A for cuda:90"},
		{"hip:gfx942", "", "the farm does not have a device for hip:gfx942"},
	} {
		var tgt target.Target
		if tt.target != "" {
			tgt.Backend, tgt.Arch, _ = strings.Cut(tt.target, ":")
		}
		got, err := Choose(types, tgt, tt.name)
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = got.String()
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s, %q: %s, want %s", tt.target, tt.name, text, tt.want)
		}
	}
	for _, own := range types {
		if got, ok := typeOf(own.class()); !ok || *got != *own {
			t.Errorf("the type %v becomes %v", own, got)
		}
	}
	if got := types[1].class().Same(types[2].class()); got != "another driver" {
		t.Errorf("two drivers differ by %q", got)
	}
	if _, ok := typeOf(&work.Class{Target: "cuda:80", Compiler: "x"}); ok {
		t.Error("a class of compiles is taken for a device")
	}
}

// BenchmarkMeasure is what the farm costs a measurement: a task with three arrays of 4 MB
// that were sent before, and a device that takes no time.
func BenchmarkMeasure(b *testing.B) {
	f := &farm{b, natstest.Run(b).URL()}
	d := newTimed("fast", 0.001)
	d.seen = nil
	f.device("one", d, nil)
	dev := f.open("fast")
	l := driver.Launch{Grid: [3]int{8, 1, 1}}
	for i := range 3 {
		m, err := dev.Alloc("x", 4<<20)
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, m.Size())
		data[i] = 1
		if err := m.Write(0, data); err != nil {
			b.Fatal(err)
		}
		l.Args = append(l.Args, m)
	}
	k, err := dev.Load(driver.Binary{Name: "k", Code: make([]byte, 50_000)})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		trial, err := dev.Trial(b.Context(), k, l)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := dev.Measure(b.Context(), []tune.Trial{trial}, 1, bench.Options{Warmup: 1, Rep: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
