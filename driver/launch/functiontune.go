package launch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
)

// A Tuner chooses the configuration of an autotuned kernel, as package tune does.
type Tuner interface {
	// Choose returns the number of one of the trial's configurations, and whether
	// launches were measured for that. It is called once for each key; other launches
	// with that key wait.
	Choose(ctx context.Context, t *Trial) (number int, measured bool, err error)
}

// A Trial is a launch of an autotuned kernel that waits for its configuration.
type Trial struct {
	Source  *core.Source
	Target  core.Target
	Device  driver.Device
	Kernel  *frontend.KernelInfo
	Compile core.Options
	// Known is what the arguments say of the kernel: Left are the configurations.
	Known *frontend.Variant
	// Args are the launch's arguments: numbers are int64, uint64 and float64, memory is
	// kernel.Memory.
	Args []Arg

	f       *Function
	fr      *frame
	hooking sync.Mutex // while hooks are called
}

// A Candidate is a launch of a Trial with one of its configurations, ready to run.
type Candidate struct {
	Kernel   driver.Kernel
	Launch   driver.Launch // on no stream
	Warnings diag.List
	// Hooked says that the file has something done around launches that are measured.
	Hooked bool

	trial *Trial
	hooks *frontend.Hooks
	lent  *lender
}

// tune asks the Tuner for a configuration of a launch.
func (f *Function) tune(ctx context.Context, fr *frame, src *core.Source) (int, error) {
	t := &Trial{
		Source: f.opts.Source, Target: f.opts.Target, Device: f.opts.Device, Kernel: f.info, Compile: f.opts.Compile,
		Known: src.Known(), f: f, fr: fr,
	}
	for i := range f.info.Params {
		if !fr.given[i] {
			continue
		}
		p := &f.info.Params[i]
		v, err := plain(p, &Arg{Name: p.Name, Value: fr.args[i]})
		if err != nil {
			return 0, err
		}
		t.Args = append(t.Args, Arg{Name: p.Name, Value: v, Type: fr.types[i]})
	}
	if s := fr.grid.Stream(); s != nil { // what was launched there comes before
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
	}
	number, measured, err := f.opts.Tuner.Choose(ctx, t)
	if err != nil || !measured {
		return number, err
	}
	return number, t.reset(ctx, number)
}

// Launchable reports whether the trial can be launched, and so measured.
func (t *Trial) Launchable() bool { return !t.fr.compile }

// frame is that of the launch, with a configuration.
func (t *Trial) frame(number int) *frame {
	return &frame{
		config: strconv.Itoa(number), args: slices.Clone(t.fr.args), types: t.fr.types, given: t.fr.given,
		options: t.fr.options, grid: t.fr.grid,
	}
}

// Build compiles the kernel with a configuration, and loads it. Several may be built at a
// time.
func (t *Trial) Build(ctx context.Context, number int) (*Candidate, error) {
	fr := t.frame(number)
	v, err := t.f.variant(ctx, fr)
	if err != nil {
		return nil, err
	}
	c := &Candidate{trial: t}
	if tuning := v.known.Tuning; tuning != nil {
		c.Hooked = tuning.Hooked || len(tuning.ResetToZero)+len(tuning.RestoreValue) > 0
	}
	if v.hooked {
		t.hooking.Lock()
		v, err = t.f.hook(ctx, fr, number) // for what it makes of descriptors
		t.hooking.Unlock()
		if err != nil {
			return nil, err
		}
	}
	if c.Hooked {
		if c.hooks, c.lent, err = t.hooks(ctx, fr); err != nil {
			return nil, err
		}
	}
	to, err := t.f.resolve(t.fr.grid, fr, v)
	if err != nil {
		return nil, err
	}
	to.Stream = nil
	if c.Launch, err = v.loaded.Bind(to, fr.args); err != nil {
		return nil, err
	}
	c.Kernel, c.Warnings = v.loaded.Kernel(), v.built.Warnings
	return c, nil
}

// hooks are those of a launch with a configuration, on the device's memory.
func (t *Trial) hooks(ctx context.Context, fr *frame) (*frontend.Hooks, *lender, error) {
	lent := &lender{}
	src, _, _, err := t.f.specialize(ctx, fr, lent)
	if err != nil {
		return nil, nil, err
	}
	hooks, err := src.Hooks(ctx)
	return hooks, lent, named(err)
}

// reset has the file do what comes once before the launch of what was chosen by
// measuring.
func (t *Trial) reset(ctx context.Context, number int) error {
	if tuning := t.Known.Tuning; tuning == nil || !tuning.Hooked && len(tuning.ResetToZero)+len(tuning.RestoreValue) == 0 {
		return nil
	}
	hooks, lent, err := t.hooks(ctx, t.frame(number))
	if err != nil || hooks == nil {
		return err
	}
	return t.called(hooks.Reset(ctx, t.f.opts.Compile.Print), lent)
}

// Before does what comes before a launch that is measured, on the device's memory.
func (c *Candidate) Before(ctx context.Context) error {
	return c.trial.called(c.hooks.Before(ctx, c.trial.f.opts.Compile.Print), c.lent)
}

// After does what comes after it.
func (c *Candidate) After(ctx context.Context) error {
	return c.trial.called(c.hooks.After(ctx, c.trial.f.opts.Compile.Print), c.lent)
}

// called is the error of hooks that were called, or of the device that they used.
func (t *Trial) called(err error, lent *lender) error {
	if err == nil && lent.err != nil {
		err = fmt.Errorf("a hook of %s: %w", t.Kernel.Name, lent.err)
	}
	return err
}
