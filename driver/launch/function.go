package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Options say what a Function is.
type Options struct {
	// Source is a Python file. Its Config chooses among the configurations of an
	// autotuned kernel; empty: the Tuner does, or it is the first one that pruning leaves.
	Source *core.Source
	// Kernel's name; "" where the file has only one.
	Kernel string
	Device driver.Device
	// Target to compile for; zero: the device's.
	Target core.Target
	// Tuner, when not nil, chooses among the configurations of an autotuned kernel, for
	// each key as Triton does; tune.Tuner measures. It is not asked where Source has a
	// Config.
	Tuner Tuner
	// Compile has the options of compiles, whose Stages are the device's. Select is
	// required, and plugin.Host's method is one.
	Compile core.Options
}

// Function is a kernel of a file on a device. What it is compiled for follows from
// the arguments of its launches, as in Triton: the types of buffers and numbers, which
// of them are multiples of 16 or 1, and constants. The first launch with such arguments
// compiles, and those that follow find what it made. Several goroutines may launch it;
// while one compiles, those that need the same wait, and others go on.
type Function struct {
	opts    Options
	info    *frontend.KernelInfo
	rules   sdk.Specialization
	options map[string]bool // of the backend, by name
	// byValue says that functions of the file look at the arguments: what is compiled
	// may then depend on more than what they are specialized on.
	byValue bool
	// tuned says that a Tuner chooses, and keyed are the parameters that it is asked for
	// anew for each value of.
	tuned bool
	keyed []bool
	// byAddress says that some of these asked where memory is.
	byAddress atomic.Bool
	frames    sync.Pool                   // of *frame
	parsed    atomic.Pointer[core.Source] // some variant: its file need not be parsed again

	mu       sync.RWMutex
	variants map[string]*variant // by the key of a launch's arguments
	made     map[string]*variant // by what is compiled
}

// variant is a compiled kernel on the device, as soon as it is ready.
type variant struct {
	ready  chan struct{} // closed then
	is     atomic.Bool   // so
	err    error
	loaded *kernel.Loaded
	built  *core.Kernel
	known  *frontend.Variant
	// hooked says that the configuration has a hook, which may change the arguments:
	// there is no kernel before it was called.
	hooked bool
}

// maxVariants bounds how many keys are remembered where each value of an argument is
// one.
const maxVariants = 4096

// New reads a kernel's file. Nothing is compiled yet.
func New(ctx context.Context, opts Options) (*Function, error) {
	switch {
	case opts.Source == nil || opts.Device == nil || opts.Compile.Select == nil:
		return nil, errors.New("launch: a Function needs a Source, a Device, and a Select to compile with")
	case !opts.Source.IsPython():
		return nil, fmt.Errorf("%s is not a Python file; a kernel.Set launches what is compiled", opts.Source.Path)
	}
	if opts.Target == (core.Target{}) {
		opts.Target = opts.Device.Properties().Target
	}
	info, err := Info(ctx, opts.Source, opts.Target, &opts.Compile, opts.Kernel)
	if err != nil {
		return nil, err
	}
	backend, _, err := opts.Compile.Select(ctx, opts.Target)
	if err != nil {
		return nil, err
	}
	facts, err := backend.Facts(ctx)
	if err != nil {
		return nil, err
	}
	f := &Function{
		opts: opts, info: info, rules: facts.Specialization, options: map[string]bool{},
		byValue:  info.Pruned || slices.ContainsFunc(info.Params, func(p frontend.ParamInfo) bool { return p.Computed }),
		variants: map[string]*variant{}, made: map[string]*variant{},
	}
	f.keyed = make([]bool, len(info.Params))
	if f.tuned = opts.Tuner != nil && opts.Source.Config == "" && len(info.Configs) > 1; f.tuned {
		for i, p := range info.Params {
			f.keyed[i] = slices.Contains(info.Key, p.Name)
		}
	}
	for i := range facts.Options {
		f.options[facts.Options[i].Name] = true
	}
	return f, nil
}

// Launch runs the kernel on arguments: one per parameter, in order or kernel.Named,
// constants (tl.constexpr) among them; those that have a default, or that configurations
// and heuristics give, may be left out. A parameter takes a *kernel.Buffer, a
// *kernel.Descriptor, a number or a bool of any Go type, nil for None, or a Tuple of
// such; a constant also takes a string or an Expr. A kernel.Arg with a Type gives a
// number that type, and is in order if it has no name. What is kernel.Named and not a parameter is an option of the
// compile, such as num_warps.
//
// The error is a *kernel.ArgError for wrong arguments, diagnostics of the compile, a
// *driver.OutOfResources, a *driver.Fault, beside which there is a result, or one of the
// device.
func (f *Function) Launch(ctx context.Context, grid kernel.Grid, args ...any) (*driver.Result, error) {
	fr, v, err := f.find(ctx, grid, false, args)
	if err != nil {
		return nil, err
	}
	defer f.release(fr)
	to, err := f.resolve(grid, fr, v)
	if err != nil {
		return nil, err
	}
	return v.loaded.Launch(ctx, to, fr.args)
}

// Bind returns the compiled kernel that Launch would run and its launch, for those who
// run it themselves: to time it, say.
func (f *Function) Bind(ctx context.Context, grid kernel.Grid, args ...any) (driver.Kernel, driver.Launch, error) {
	fr, v, err := f.find(ctx, grid, false, args)
	if err != nil {
		return nil, driver.Launch{}, err
	}
	defer f.release(fr)
	to, err := f.resolve(grid, fr, v)
	if err != nil {
		return nil, to, err
	}
	l, err := v.loaded.Bind(to, fr.args)
	return v.loaded.Kernel(), l, err
}

// Compile makes ready what a launch with such arguments runs, and returns it. Nothing is
// measured: of what is not tuned yet it is the configuration that tuning begins with.
func (f *Function) Compile(ctx context.Context, args ...any) (*core.Kernel, error) {
	fr, v, err := f.find(ctx, kernel.Grid{}, true, args)
	if err != nil {
		return nil, err
	}
	f.release(fr)
	return v.built, nil
}

// frame holds the arguments of a launch.
type frame struct {
	config  string // that is wanted; "" where that is open
	hooked  bool   // its hook was called
	grid    kernel.Grid
	compile bool  // there is no grid, and nothing is launched
	args    []any // by parameter
	types   []string
	given   []bool
	options []Arg
	key     []byte
}

// release makes a frame free for another launch.
func (f *Function) release(fr *frame) {
	clear(fr.args)
	clear(fr.options)
	fr.grid = kernel.Grid{}
	f.frames.Put(fr)
}

// find binds arguments and finds the variant for them. To compile there is no grid.
func (f *Function) find(ctx context.Context, grid kernel.Grid, compile bool, args []any) (*frame, *variant, error) {
	fr, _ := f.frames.Get().(*frame)
	if fr == nil {
		n := len(f.info.Params)
		fr = &frame{args: make([]any, n), types: make([]string, n), given: make([]bool, n)}
	}
	fr.grid, fr.compile = grid, compile
	err := f.bind(fr, args)
	if err == nil {
		var v *variant
		if v, err = f.variant(ctx, fr); err == nil && v.hooked {
			v, err = f.hook(ctx, fr, v.known.Config)
		}
		if err == nil {
			return fr, v, nil
		}
	}
	f.release(fr)
	return nil, nil, err
}

// bind gives each parameter its argument.
func (f *Function) bind(fr *frame, args []any) error {
	params := f.info.Params
	clear(fr.given)
	clear(fr.types)
	fr.options, fr.config, fr.hooked = fr.options[:0], "", false
	next := 0
	for _, a := range args {
		at, typ := next, ""
		named, ok := a.(Arg)
		if ok {
			a, typ = named.Value, named.Type
		}
		if named.Name == "" {
			next++
		} else if at = slices.IndexFunc(params, func(p frontend.ParamInfo) bool { return p.Name == named.Name }); at < 0 {
			if err := f.option(fr, named); err != nil {
				return err
			}
			continue
		}
		if kernel.IsNull(a) {
			a = nil
		}
		switch {
		case at >= len(params):
			return wrongArg("", "", "%s takes %s and no more: it is %s", f.info.Name, diag.Count(len(params), "argument"), usageOf(f.info))
		case fr.given[at]:
			return wrongArg(params[at].Name, "", "it is given twice")
		}
		fr.args[at], fr.types[at], fr.given[at] = a, typ, true
	}
	return f.complete(fr)
}

// option takes up an option of the compile.
func (f *Function) option(fr *frame, a Arg) error {
	if !f.options[a.Name] {
		return wrongArg(a.Name, "", "%s has no such parameter, and the backend no such option; it is %s", f.info.Name, usageOf(f.info))
	}
	if slices.ContainsFunc(fr.options, func(o Arg) bool { return o.Name == a.Name }) {
		return wrongArg(a.Name, "", "it is given twice")
	}
	fr.options = append(fr.options, a)
	return nil
}

// complete says which parameters lack an argument.
func (f *Function) complete(fr *frame) error {
	if !slices.Contains(fr.given, false) {
		return nil
	}
	var missing []string
	for i := range f.info.Params {
		p := &f.info.Params[i]
		if !fr.given[i] && p.Default == "" && !p.Computed && !tuned(f.info, p) && !(f.opts.Source.Config != "" && p.Constexpr) {
			missing = append(missing, p.Name)
		}
	}
	if missing == nil {
		return nil
	}
	e := wrongArg("", "", "%s lacks arguments: %s; it is %s", f.info.Name, strings.Join(missing, ", "), usageOf(f.info))
	e.Missing = missing
	return e
}

// resolve is the launch without its arguments.
func (f *Function) resolve(grid kernel.Grid, fr *frame, v *variant) (driver.Launch, error) {
	if !grid.IsFunc() {
		return grid.Resolve(nil)
	}
	return grid.Resolve(func(name string) (any, bool) {
		if c, ok := v.known.Constants[name]; ok {
			return c, true
		}
		i := slices.IndexFunc(f.info.Params, func(p frontend.ParamInfo) bool { return p.Name == name })
		if i < 0 || !fr.given[i] {
			return nil, false
		}
		return fr.args[i], true
	})
}

// variant finds what is compiled for a launch's arguments, or has it compiled.
func (f *Function) variant(ctx context.Context, fr *frame) (*variant, error) {
	for {
		var err error
		byAddress := f.byAddress.Load()
		if fr.key, err = f.appendKey(fr.key[:0], fr, byAddress); err != nil {
			return nil, err
		}
		f.mu.RLock()
		v := f.variants[string(fr.key)]
		f.mu.RUnlock()
		if v != nil && v.is.Load() {
			return v, nil
		}
		if f.tuned && fr.compile {
			fr.key = append(fr.key, untuned...)
		}
		v, err = f.await(ctx, fr)
		if err == nil && !byAddress && f.byAddress.Load() {
			continue // it may be that of other addresses
		}
		return v, err
	}
}

// untuned ends the keys of variants of which a Tuner was not asked.
const untuned = " untuned"

// await compiles, or waits for whoever does.
func (f *Function) await(ctx context.Context, fr *frame) (*variant, error) {
	key := string(fr.key)
	for {
		f.mu.Lock()
		v, others := f.variants[key]
		if !others {
			if (f.byValue || f.tuned) && len(f.variants) >= maxVariants {
				f.forget()
			}
			v = &variant{ready: make(chan struct{})}
			f.variants[key] = v
		}
		f.mu.Unlock()
		if others {
			select {
			case <-v.ready:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if v.err != nil && (errors.Is(v.err, context.Canceled) || errors.Is(v.err, context.DeadlineExceeded)) && ctx.Err() == nil {
				continue // the other one gave up
			}
			return v, v.err
		}
		return v, f.settle(ctx, fr, key, v)
	}
}

// errPanicked is what those hear who waited for a compile that panicked.
var errPanicked = errors.New("launch: the compile of the same variant panicked")

// settle makes a variant, and tells those who wait for it.
func (f *Function) settle(ctx context.Context, fr *frame, key string, v *variant) error {
	v.err = errPanicked
	defer func() {
		if v.err != nil {
			f.mu.Lock()
			delete(f.variants, key)
			f.mu.Unlock()
		}
		v.is.Store(v.err == nil)
		close(v.ready)
	}()
	v.err = f.make(ctx, fr, v)
	return v.err
}

// forget drops the keys of variants that are ready. What they name stays.
func (f *Function) forget() {
	maps.DeleteFunc(f.variants, func(_ string, v *variant) bool { return v.is.Load() })
}

// make compiles and loads the variant for a launch.
func (f *Function) make(ctx context.Context, fr *frame, v *variant) error {
	src, passed, opts, err := f.specialize(ctx, fr, nil)
	if err != nil {
		return err
	}
	v.known = src.Known()
	if f.tuned && fr.config == "" && v.known.Chosen && v.known.Configs > 1 {
		number, err := f.tune(ctx, fr, src)
		if err != nil {
			return err
		}
		if number != v.known.Config {
			one := *fr
			one.config = strconv.Itoa(number)
			if src, passed, opts, err = f.specialize(ctx, &one, nil); err != nil {
				return err
			}
			v.known = src.Known()
		}
	}
	if t := v.known.Tuning; t != nil && t.Hooked && v.known.Config >= 0 && !fr.hooked {
		v.hooked = true
		return nil
	}
	key := ""
	if k := v.known.Key(); k != "" {
		key = fmt.Sprintf("%s %v %v", k, src.Options, opts.Values) // maps are printed in order
		f.mu.RLock()
		same := f.made[key]
		f.mu.RUnlock()
		if same != nil {
			v.loaded, v.built = same.loaded, same.built
			return nil
		}
	}
	if err := f.compile(ctx, src, opts, passed, v); err != nil {
		return err
	}
	if key != "" {
		f.mu.Lock()
		f.made[key] = v
		f.mu.Unlock()
	}
	return nil
}

// compile compiles a variant and loads it.
func (f *Function) compile(ctx context.Context, src *core.Source, opts *core.Options, passed []kernel.Passed, v *variant) (err error) {
	if v.built, err = core.Compile(ctx, src, f.opts.Target, opts); err != nil {
		return named(err)
	}
	props := f.opts.Device.Properties()
	a := v.built.Artifact(props.Stage)
	if a == nil {
		return fmt.Errorf("the compile returned no %s", props.Stage)
	}
	meta, err := driver.ParseMetadata(v.built.Metadata)
	if err != nil {
		return err
	}
	if err := launchable(v.built, &props, &meta); err != nil {
		return err
	}
	v.loaded, err = kernel.Load(f.opts.Device, driver.Binary{Name: v.built.Name + "." + a.Ending, Code: a.Data, Metadata: meta}, passed)
	return err
}

// launchable is a *driver.OutOfResources where the metadata tell that the device cannot
// run a kernel, or else what the compiler said of any device of the target.
func launchable(k *core.Kernel, props *driver.Properties, meta *driver.Metadata) error {
	var said diag.List
	for _, d := range k.Warnings {
		if d.Unlaunchable {
			e := *d
			e.Severity = diag.Error
			said = append(said, &e)
		}
	}
	err := props.Fits(meta)
	var out *driver.OutOfResources
	if errors.As(err, &out) {
		out.Err = said.Err()
		return err
	}
	return said.Err()
}
