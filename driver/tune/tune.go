package tune

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// Options say what to tune and how.
type Options struct {
	// Source is a Python file; its Configs, when there, are the configurations in the
	// place of the decorator's.
	Source *core.Source
	// Kernel's name; "" where the file has only one.
	Kernel  string
	Target  core.Target
	Options core.Options
	Device  driver.Device
	// Args are the arguments of the launch with a configuration; nil asks for those
	// without one.
	Args func(config *frontend.ConfigInfo) ([]launch.Arg, error)
	// Buffer is where an array is on the device already, or nil; a nil Buffer finds
	// none. Hooks do not change such arrays.
	Buffer func(x *array.Array) driver.Buffer
	// Grid of a launch of which that is known.
	Grid func(known *frontend.Variant) ([3]int, error)
	// Parallel is how many configurations are compiled at a time; 0: as many as
	// there are cores.
	Parallel int
	// Compiler, when not nil, compiles in the place of core.Compile.
	Compiler launch.Compiler
	Search   Search
	// Bench says how long is measured. What @triton.autotune says goes before it.
	Bench bench.Options
	// ArgFlag is the flag of a command line by which arguments are given, for the help of
	// errors.
	ArgFlag string
	// Tritonc and Backend are the versions for the result.
	Tritonc, Backend string
	// Progress, when not nil, is called after each configuration, and before the first.
	Progress func(p Progress)
}

// Progress tells how far tuning is.
type Progress struct {
	Done, Total int
	// Last is what was measured last, and Best the fastest so far; nil where there is
	// none.
	Last, Best *Measured
}

// Result is what tuning found.
type Result struct {
	Entry *Entry
	// Configs is how many there are, Left how many pruning leaves of them, and Made how
	// many it has made beside them.
	Configs, Left, Made int
	// Tried is how many of these the search asked for.
	Tried int
	// Whole is how long all took, once the arguments were in the device's memory;
	// Compiling the time from that begin to the end of the last compile, and Measuring
	// the time for which the device was at work, loading included.
	Whole, Compiling, Measuring time.Duration
	// Again is how many of the fastest one device has measured again, by the name On; 0
	// where one device has measured all.
	Again int
	On    string
	// Best is the fastest configuration, nil where none has a time.
	Best *frontend.ConfigInfo
	// Tuning is what the decorator says; nil without one.
	Tuning *frontend.Tuning
	// Warnings of the compiles. Configurations share most: of each place there is the
	// first.
	Warnings diag.List
}

// Run tunes. If it is stopped, or the device is lost, the result has what was measured
// until then, beside the error.
func Run(ctx context.Context, opts Options) (*Result, error) {
	t := &tuner{opts: &opts, times: map[int]float64{}, buffers: map[*array.Array]driver.Buffer{}, common: map[*array.Array]bool{}}
	t.compile = t.build
	defer t.free()
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	return t.finish(ctx)
}

// finish searches, and says what was found.
func (t *tuner) finish(ctx context.Context) (*Result, error) {
	err := t.search(ctx)
	t.arrange()
	if m, ok := t.opts.Device.(Measurer); ok && err == nil && !m.Properties().Simulated {
		err = t.again(ctx, m)
	}
	t.result.Whole = time.Since(t.began)
	t.entry.sort()
	t.result.Best = t.best()
	if err == nil && t.entry.Best() == nil {
		err = t.allFailed()
	}
	return t.result, err
}

type tuner struct {
	opts    *Options
	info    *frontend.KernelInfo
	left    []frontend.ConfigInfo // the configurations that pruning leaves
	configs []Config              // what they give
	entry   *Entry
	order   []int // in left, of the entry's configurations
	result  *Result
	times   map[int]float64 // microseconds, by index in left
	began   time.Time
	buffers map[*array.Array]driver.Buffer
	common  map[*array.Array]bool // arrays that are the same for all configurations
	bench   bench.Options
	// compile makes a configuration ready to be measured.
	compile func(ctx context.Context, index int) built

	mu           sync.Mutex
	lastCompiled time.Time
	// hooking is held by whoever calls hooks, which may change arrays.
	hooking sync.Mutex
	// memory is held by whoever looks at buffers.
	memory sync.Mutex
	// slots hold a token of each compile under way.
	slots chan struct{}
}

// arrange brings the entry's configurations into the order that they have in left: which
// of them was measured first says nothing.
func (t *tuner) arrange() {
	places := make([]int, len(t.order))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(t.order[a], t.order[b]) })
	configs, order := make([]Measured, len(places)), make([]int, len(places))
	for to, from := range places {
		configs[to], order[to] = t.entry.Configs[from], t.order[from]
	}
	t.entry.Configs, t.order = configs, order
}

// best is the fastest configuration so far, or nil.
func (t *tuner) best() *frontend.ConfigInfo {
	best, shortest := (*frontend.ConfigInfo)(nil), math.Inf(1)
	for index := range t.left {
		if us, ok := t.times[index]; ok && us < shortest {
			best, shortest = &t.left[index], us
		}
	}
	return best
}

// TargetName is a target as a File has it: without the size of a warp, which some say
// and some leave to the backend.
func TargetName(t core.Target) string { return t.Backend + ":" + t.Arch }

// SourceHash identifies a kernel's file in a File.
func SourceHash(src *core.Source) string {
	sum := sha256.Sum256(src.Text)
	return hex.EncodeToString(sum[:16])
}

// KeyOf is the key of a launch with these arguments. What is known of it without a
// decorator may be nil.
func KeyOf(info *frontend.KernelInfo, known *frontend.Variant, args []launch.Arg) Key {
	var tuning *frontend.Tuning
	if known != nil {
		tuning = known.Tuning
	}
	return keyOf(info, tuning, args)
}

// prepare finds the configurations.
func (t *tuner) prepare(ctx context.Context) (err error) {
	o := t.opts
	if t.info, err = launch.Info(ctx, o.Source, o.Target, &o.Options, o.Kernel); err != nil {
		return err
	}
	if len(t.info.Configs) == 0 {
		if o.Source.Configs != nil {
			if args, err := o.Args(nil); err == nil {
				if _, err := launch.Prepare(ctx, t.request(0, args)); err != nil {
					return err // what is wrong with those that are given
				}
			}
		}
		return diag.Errorf(diag.Pos{File: o.Source.Path, Line: t.info.Line}, "'%s' has no configurations to choose from", t.info.Name).
			WithHelp("@triton.autotune lists them, or --configs FILE, or --space NAME=VALUES")
	}
	args, err := o.Args(nil)
	if err != nil {
		return err
	}
	for _, a := range args {
		if x := arrayOf(a.Value); x != nil {
			t.buffer(x)
			t.common[x] = true
		}
	}
	t.began = time.Now()
	p, err := launch.Prepare(ctx, t.request(-1, args))
	if err != nil {
		return err
	}
	known := p.Known
	if known.Left == nil {
		return diag.Errorf(diag.Pos{File: o.Source.Path, Line: t.info.Line}, "there is nothing to tune: the arguments give all that the configurations of '%s' set", t.info.Name)
	}
	t.begin(known, keyOf(t.info, known.Tuning, args))
	return nil
}

// begin notes what there is to tune for a key, and how it is measured.
func (t *tuner) begin(known *frontend.Variant, key Key) {
	o := t.opts
	t.left = known.Left
	for i := range t.left {
		t.configs = append(t.configs, t.left[i].Settings)
	}
	props := o.Device.Properties()
	t.bench = o.Bench
	measure := "do_bench"
	if d := known.Tuning; d != nil {
		if d.Warmup > 0 {
			t.bench.Warmup = milliseconds(d.Warmup)
		}
		if d.Rep > 0 {
			t.bench.Rep = milliseconds(d.Rep)
		}
		if d.Graph {
			t.bench.Graph = true
			if t.bench.Rep == 0 {
				t.bench.Rep = decoratorRep
			}
		}
	}
	if t.bench.Graph {
		measure = "do_bench_cudagraph"
	}
	if props.Simulated {
		measure = "model"
	}
	t.entry = &Entry{
		Kernel: t.info.Name, Source: SourceHash(o.Source), Key: key, Device: props.Name,
		Target: TargetName(o.Target), Measure: measure, Tritonc: o.Tritonc, Backend: o.Backend, Configs: []Measured{},
	}
	t.result = &Result{Entry: t.entry, Configs: known.Configs, Tuning: known.Tuning}
	for i := range t.left {
		if t.left[i].Number < known.Configs {
			t.result.Left++
		} else {
			t.result.Made++
		}
	}
}

// arrayOf is the array of an argument, or nil.
func arrayOf(v any) *array.Array {
	switch v := v.(type) {
	case *array.Array:
		return v
	case *launch.View:
		return v.Array
	case *launch.Descriptor:
		return v.Array
	}
	return nil
}

// decoratorRep is how long graphs are measured that use_cuda_graph asks for: Triton's
// autotuner gives do_bench_cudagraph more time than it takes by itself.
const decoratorRep = 100 * time.Millisecond

func milliseconds(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// request is that of a launch with a configuration.
func (t *tuner) request(number int, args []launch.Arg) launch.Request {
	o := t.opts
	src := *o.Source
	src.Config = ""
	if number >= 0 {
		src.Config = strconv.Itoa(number)
	}
	return launch.Request{Source: &src, Kernel: o.Kernel, Args: args, Target: o.Target, Options: o.Options, Device: o.Device, Buffer: t.buffer, ArgFlag: o.ArgFlag, Compiler: o.Compiler}
}

// built is a configuration that was compiled, or why it was not.
type built struct {
	index    int
	warnings diag.List
	// run measures it; trial makes a Trial of it, for a Measurer.
	run   func(ctx context.Context) (bench.Times, error)
	trial func(ctx context.Context) (Trial, error)
	// outcome is what a Measurer says of it; nil where it is to be measured.
	outcome *Outcome
	err     error
}

// search compiles what the chooser proposes, and measures one after another.
func (t *tuner) search(ctx context.Context) error {
	o := t.opts
	choose, err := o.Search.chooser(t.configs)
	if err != nil {
		return err
	}
	compiles := o.Parallel
	if compiles <= 0 {
		compiles = runtime.GOMAXPROCS(0)
	}
	t.slots = make(chan struct{}, compiles)
	measurer, _ := o.Device.(Measurer)
	atOnce := func() int {
		if measurer == nil {
			return compiles
		}
		return compiles + perDevice*measurer.Parallel()
	}
	t.result.Tried = o.Search.points(len(t.configs))
	t.progress(nil)
	compileCtx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	done := make(chan built, len(t.configs))
	under := 0
	begin := func() {
		for _, index := range choose.next(atOnce()-under, t.times) {
			under++
			wg.Go(func() { done <- t.ready(compileCtx, measurer, index) })
		}
	}
	for {
		begin()
		if under == 0 {
			return nil
		}
		b := <-done
		under--
		if b.outcome == nil {
			begin() // what is to be measured later is compiled meanwhile
		}
		if err := t.measure(ctx, b); err != nil {
			return err
		}
	}
}

// perDevice is how many configurations a device is given: one that it measures, and the
// next.
const perDevice = 2

// ready compiles a configuration, and notes when that was done. A Measurer's is measured,
// too.
func (t *tuner) ready(ctx context.Context, m Measurer, index int) built {
	t.slots <- struct{}{}
	b := t.compile(ctx, index)
	<-t.slots
	b.index = index
	t.mu.Lock()
	t.lastCompiled = time.Now()
	t.mu.Unlock()
	if m != nil && b.err == nil {
		b.outcome, b.err = t.elsewhere(ctx, m, &b)
	}
	return b
}

// build compiles a configuration.
func (t *tuner) build(ctx context.Context, index int) (b built) {
	config := &t.left[index]
	args, err := t.opts.Args(config)
	if err != nil {
		b.err = err
		return b
	}
	t.hooking.Lock()
	p, err := launch.Prepare(ctx, t.request(config.Number, args))
	t.hooking.Unlock()
	if err != nil {
		b.err = err
		return b
	}
	grid, err := t.opts.Grid(p.Known)
	if err != nil {
		b.err = err
		return b
	}
	props := t.opts.Device.Properties()
	if props.Simulated {
		// The model wants to know of registers. Without an assembler it estimates them.
		if err := p.FindUsage(ctx); err != nil && ctx.Err() != nil {
			b.err = err
			return b
		}
	}
	kernel, err := p.Build(ctx, props.Stage)
	if err != nil {
		b.err = err
		return b
	}
	b.warnings = kernel.Compiled.Warnings
	b.run = func(ctx context.Context) (bench.Times, error) { return t.run(ctx, kernel, grid) }
	if m, ok := t.opts.Device.(Measurer); ok {
		b.trial = func(ctx context.Context) (Trial, error) { return t.trial(ctx, m, kernel, grid) }
	}
	return b
}

// measure measures a configuration and notes its time, or why it has none. The error
// is one that ends all.
func (t *tuner) measure(ctx context.Context, b built) error {
	m := Measured{Config: t.configs[b.index]}
	t.warn(b.warnings)
	start := time.Now()
	times, err := bench.Times(nil), b.err
	switch {
	case b.outcome != nil:
		times, err = b.outcome.Times, failureOf(b.outcome)
		t.result.Measuring += b.outcome.Took
	case err == nil:
		times, err = b.run(ctx)
		t.result.Measuring += time.Since(start)
	}
	t.mu.Lock()
	t.result.Compiling = t.lastCompiled.Sub(t.began)
	t.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*endError)):
		return err
	case err != nil && t.ends(err):
		return fmt.Errorf("configuration %d (%s): %w", t.left[b.index].Number, m.Config.Text(), err)
	}
	m.set(times, err)
	t.times[b.index] = m.cost()
	t.entry.Configs, t.order = append(t.entry.Configs, m), append(t.order, b.index)
	t.progress(&m)
	return nil
}

// set notes times, or the error for which there are none.
func (m *Measured) set(times bench.Times, err error) {
	*m = Measured{Config: m.Config}
	if err != nil {
		m.Error = Reason(err)
		return
	}
	m.Time, m.Low, m.High = micros(times.Median()), micros(times.Quantile(0.2)), micros(times.Quantile(0.8))
}

// cost is the time for a search.
func (m *Measured) cost() float64 {
	if !m.OK() {
		return math.Inf(1)
	}
	return m.Time
}

// warn keeps warnings of a configuration, but for places that others warned of.
func (t *tuner) warn(list diag.List) {
	for _, d := range list {
		if !slices.ContainsFunc(t.result.Warnings, func(o *diag.Diagnostic) bool { return o.Pos == d.Pos }) {
			t.result.Warnings = append(t.result.Warnings, d)
		}
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// run loads and measures what was built.
func (t *tuner) run(ctx context.Context, b *launch.Built, grid [3]int) (bench.Times, error) {
	dev := t.opts.Device
	k, err := b.Load(dev)
	if err != nil {
		return nil, err
	}
	placed, err := k.Place(grid, t.buffer)
	if err != nil {
		return nil, err
	}
	defer placed.Free()
	defer t.freeOwn()
	if k.Hooks == nil {
		return bench.Measure(ctx, dev, placed.Kernel, placed.Launch, t.bench)
	}
	h := &arrayHooks{k.Hooks, t}
	return t.measureHooked(ctx, h, placed.Kernel, placed.Launch)
}

// buffer is the memory of an array, which all configurations share: it is copied to
// the device once.
func (t *tuner) buffer(x *array.Array) driver.Buffer {
	if t.opts.Buffer != nil {
		if b := t.opts.Buffer(x); b != nil {
			return b
		}
	}
	t.memory.Lock()
	defer t.memory.Unlock()
	if b := t.buffers[x]; b != nil {
		return b
	}
	b, err := t.opts.Device.Alloc("argument", len(x.Data))
	if err != nil {
		return nil // whoever asks tries it, too, and says why not
	}
	if !x.Unset && b.Write(0, x.Data) != nil {
		b.Free()
		return nil
	}
	t.buffers[x] = b
	return b
}

// find is the memory of an array, or nil where it has none.
func (t *tuner) find(x *array.Array) driver.Buffer {
	t.memory.Lock()
	defer t.memory.Unlock()
	return t.buffers[x]
}

// freeThese gives back the memory of some arrays.
func (t *tuner) freeThese(list []*array.Array) {
	t.memory.Lock()
	defer t.memory.Unlock()
	for _, x := range list {
		if b := t.buffers[x]; b != nil {
			b.Free()
			delete(t.buffers, x)
		}
	}
}

// freeOwn gives back the memory of arrays that one configuration alone has.
func (t *tuner) freeOwn() {
	t.memory.Lock()
	defer t.memory.Unlock()
	for x, b := range t.buffers {
		if !t.common[x] {
			b.Free()
			delete(t.buffers, x)
		}
	}
}

func (t *tuner) free() {
	for _, b := range t.buffers {
		b.Free()
	}
}

// ends reports whether an error leaves nothing that could be measured.
func (t *tuner) ends(err error) bool {
	var fault *driver.Fault
	var arg *launch.ArgError
	switch {
	case errors.Is(err, bench.ErrNoTimer), errors.As(err, &arg):
		return true
	case errors.As(err, &fault):
		return !t.opts.Device.Properties().Simulated // a real one's memory is gone
	}
	return false
}

// Reason is an error in one line, as an entry has it.
func Reason(err error) string {
	var resources *driver.OutOfResources
	if errors.As(err, &resources) {
		return "OutOfResources: " + resources.Error()
	}
	if list := diag.All(err); len(list) > 0 {
		d := list[0]
		text := d.Message
		if d.Pos.Line > 0 {
			text = d.Pos.String() + ": " + text
		}
		if d.Unlaunchable {
			text = "OutOfResources: " + text
		}
		return text
	}
	return err.Error()
}

// allFailed is the error where nothing has a time.
func (t *tuner) allFailed() error {
	first := t.entry.Configs[0]
	d := diag.Errorf(diag.Pos{File: t.opts.Source.Path, Line: t.info.Line}, "none of %s of '%s' can be run",
		diag.Count(len(t.entry.Configs), "configuration"), t.info.Name)
	return d.WithHelp("%s: %s", first.Config.Text(), first.Error)
}

func (t *tuner) progress(last *Measured) {
	if t.opts.Progress == nil {
		return
	}
	p := Progress{Done: len(t.entry.Configs), Total: t.result.Tried, Last: last}
	for i := range t.entry.Configs {
		if m := t.entry.Configs[i]; m.OK() && (p.Best == nil || m.compare(p.Best) < 0) {
			p.Best = &m
		}
	}
	t.opts.Progress(p)
}
