package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/compile"
	"github.com/tritonc/tritonc/farm/measure"
	"github.com/tritonc/tritonc/farm/times"
	farm "github.com/tritonc/tritonc/farm/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// addDevices adds the flags of a tuning by workers.
func (f *tuneFlags) addDevices(flags *pflag.FlagSet) {
	flags.BoolVar(&f.farm, "farm", false, "measure on the devices of a farm (tritonc worker --device), have its other workers\ncompile, and keep the times there, for --use farm")
	f.addNATS(flags)
}

// Bounds of a tuning on a farm.
const (
	// deviceGrace is how long it waits for a device when all are gone.
	deviceGrace = time.Minute
	// chooseGrace is how long it waits for a first one, at which it looks every chooseEvery.
	chooseGrace = time.Second
	chooseEvery = 50 * time.Millisecond
	// compileGrace is how long it waits for a worker that compiles, before it does that itself.
	compileGrace = 2 * time.Second
	// farmCompiles is how many compiles are asked of the farm at a time.
	farmCompiles = 64
	// keepWait is how long it may take to keep the times.
	keepWait = 20 * time.Second
)

// tuneFarm is the farm of one tuning.
type tuneFarm struct {
	flags    *tuneFlags
	settings *farmSettings
	bus      *bus.Bus
	queue    *farm.Queue
	store    *times.Store // nil: the times are not kept
	kind     *measure.Type
	log      hclog.Logger
	clients  []*farm.Client
	compiler *compile.Farm
	modules  *compile.Modules
	away     atomic.Bool   // nobody else compiles for the target
	local    chan struct{} // holds a token of each compile here
}

// joinDevices connects with the farm and chooses a type of device, which completes --target.
// It is nil without --farm.
func (f *tuneFlags) joinDevices(ctx context.Context, env *environment, file string) (*tuneFarm, error) {
	if !f.farm {
		if f.nats != "" {
			return nil, usagef("--nats is for --farm")
		}
		return nil, nil
	}
	settings, err := f.reach(ctx, env, file, "tritonc tune", false)
	if err != nil {
		return nil, err
	}
	settings.Stay = true
	t := &tuneFarm{flags: f, settings: settings, log: newLogger(env, f.verbose)}
	if t.bus, t.queue, err = settings.open(ctx); err != nil {
		return nil, err
	}
	if t.store, err = settings.timesToKeep(ctx, env, t.bus); err != nil {
		t.close()
		return nil, err
	}
	if err = t.choose(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// choose decides for a type of device, by --device and --target. It waits a little for
// a worker that has just begun.
func (t *tuneFarm) choose(ctx context.Context) error {
	var of core.Target
	if t.flags.target != "" {
		var err error
		if of, err = core.ParseTarget(t.flags.target); err != nil {
			return usagef("--target: %v", err)
		}
	}
	tick := time.NewTicker(chooseEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		types, _, err := measure.Types(ctx, t.queue)
		if err != nil {
			return t.bus.Explain(err, "asking for the farm's devices")
		}
		if t.kind, err = measure.Choose(types, of, t.flags.device); err == nil {
			t.flags.target = t.kind.Properties.Target.String()
			return nil
		}
		if !errors.Is(err, measure.ErrNone) || time.Since(began) > chooseGrace {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// client makes a client of the farm's workers.
func (t *tuneFarm) client(ctx context.Context, grace time.Duration) (*farm.Client, error) {
	c, err := farm.Connect(ctx, t.queue, farm.ClientConfig{
		Sample: sampled, Grace: grace, Verifier: t.settings.verifier(),
		Log: func(format string, args ...any) { t.log.Debug(fmt.Sprintf(format, args...)) },
	})
	if err == nil {
		t.clients = append(t.clients, c)
	}
	return c, err
}

// device is the one that the farm's devices stand for.
func (t *tuneFarm) device(ctx context.Context) (*measure.Device, error) {
	client, err := t.client(ctx, deviceGrace)
	if err != nil {
		return nil, err
	}
	contents, err := measure.OpenContents(ctx, t.bus, measure.ContentsConfig{})
	if err != nil {
		return nil, err
	}
	return measure.Open(ctx, client, contents, t.kind)
}

// compileBy has the farm compile for a source, whose imports are sent along.
func (t *tuneFarm) compileBy(ctx context.Context, host *plugin.Host, src *core.Source) error {
	client, err := t.client(ctx, compileGrace)
	if err != nil {
		return err
	}
	t.compiler = &compile.Farm{Client: client, Compiler: sdk.ProgramHash(), Machine: host.SharedIdentity, Fresh: t.flags.noCache}
	t.modules = compile.Record(src.Import)
	src.Import = t.modules.Import
	t.local = make(chan struct{}, runtime.GOMAXPROCS(0))
	class, err := t.compiler.Class(ctx, t.kind.Properties.Target)
	if err != nil || !awaitWorker(ctx, client, class.ID()) {
		t.away.Store(true)
		t.log.Debug("configurations are compiled by this machine: no worker compiles them to the same bytes", "error", err)
	}
	return nil
}

// awaitWorker waits for somebody who does tasks of a class, as long as workers take to
// answer.
func awaitWorker(ctx context.Context, client *farm.Client, class string) bool {
	ctx, cancel := context.WithTimeout(ctx, compileGrace)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(client.Workers(), func(w farm.State) bool { return slices.Contains(w.Classes, class) }) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// jobs is how many configurations are compiled at a time.
func (t *tuneFarm) jobs(asked int) int {
	if asked > 0 || t.away.Load() {
		return asked
	}
	return farmCompiles
}

// compile compiles a configuration by the farm, or here where the farm does not.
func (t *tuneFarm) compile(ctx context.Context, variant *core.Source, want core.Want, target core.Target, opts *core.Options) (*core.Kernel, error) {
	if !t.away.Load() {
		k, err := core.Cached(ctx, variant, target, opts)
		if k == nil && err == nil {
			k, err = t.compiler.Compile(ctx, variant, target, opts, want, t.modules)
		}
		var local *compile.LocalError
		if !errors.As(err, &local) {
			return k, err
		}
		if local.Lasting {
			t.away.Store(true)
		}
		t.log.Debug("compiled here", "reason", local.Reason)
	}
	t.local <- struct{}{}
	defer func() { <-t.local }()
	return core.Compile(ctx, variant, target, opts)
}

// options changes those of a tuning to the farm's.
func (t *tuneFarm) options(o *tune.Options) {
	if t == nil {
		return
	}
	o.Parallel = t.jobs(o.Parallel)
	o.Compiler = launch.Compiler(t.compile)
}

// keep adds an entry to the farm's times, also of a tuning that was stopped.
func (t *tuneFarm) keep(ctx context.Context, e *tune.Entry) error {
	if t == nil || t.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWait)
	defer cancel()
	_, err := t.store.Add(ctx, e)
	return err
}

// close ends what was begun.
func (t *tuneFarm) close() {
	if t == nil {
		return
	}
	for _, c := range t.clients {
		c.Close()
	}
	t.bus.Close()
}

// usesFarm reports whether --use names a farm: the one of the project, or its server.
func (f *useFlags) usesFarm() bool {
	return f.use == farmName || strings.HasPrefix(f.use, "nats://") || strings.HasPrefix(f.use, "tls://")
}

// farmName is what --use has for the farm of the project. A file of this name is ./farm.
const farmName = "farm"

// fromFarm are the times that the farm of --use has of a kernel.
func (f *useFlags) fromFarm(ctx context.Context, env *environment, file, kernel string) (*tune.File, error) {
	from := farmFlags{}
	if f.use != farmName {
		from.nats = f.use
	}
	settings, err := from.reach(ctx, env, file, "tritonc --use", false)
	if err != nil {
		return nil, err
	}
	b, err := bus.Connect(ctx, settings.Options)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, keepWait)
	defer cancel()
	store, err := settings.timesToTake(ctx, env, b)
	if err != nil {
		return nil, err
	}
	found, refused, err := store.Kernel(ctx, kernel)
	switch {
	case err != nil:
	case len(refused) > 0:
		d := settings.refusedTimes(kernel, refused)
		if len(found.Entries) == 0 {
			return nil, d
		}
		d.Severity = diag.Warning
		env.report.aside(d)
	case len(found.Entries) == 0:
		err = diag.Errorf(diag.Pos{File: f.use}, "it has no times of '%s'", kernel).WithHelp("tritonc tune --farm measures them")
	}
	return found, err
}
