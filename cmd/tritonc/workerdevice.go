package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/farm/measure"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// deviceFlags are the flags of a worker that measures.
type deviceFlags struct {
	device string
	target string
	sample int
}

// addDevice adds them.
func (f *deviceFlags) addDevice(flags *pflag.FlagSet) {
	flags.StringVar(&f.device, "device", "", "do not compile but measure on a `DEVICE`, for tritonc tune --farm: cuda, cuda:1,\nor sim, a simulated one")
	flags.StringVarP(&f.target, "target", "t", "", "with --device: what the device takes code for, a `TARGET` such as cuda:80\n(what its driver says)")
	flags.IntVar(&f.sample, "sample", 8, "with --device sim: of a launch execute `N` programs only; 0 means all")
}

// onlyCompiles and onlyMeasures are flags of one sort of worker.
var (
	onlyCompiles = []string{"targets", "jobs", "no-cache"}
	onlyMeasures = []string{"target", "sample"}
)

// checkDevice refuses flags of the other sort of worker.
func (f *deviceFlags) checkDevice(cmd *cobra.Command) error {
	flags, other := onlyCompiles, "with --device: a worker measures or compiles"
	if f.device == "" {
		flags, other = onlyMeasures, "without --device"
	}
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return usagef("--%s cannot be given %s", name, other)
		}
	}
	if f.sample < 0 {
		return usagef("--sample cannot be negative")
	}
	if f.device == simulatedName && f.target == "" {
		return usagef("no --target given").withHelp("--target says which device is simulated, for example --target cuda:90")
	}
	return nil
}

// measure is the verb with --device.
func (f *workerFlags) measure(cmd *cobra.Command, env *environment) error {
	ctx := cmd.Context()
	run := &runFlags{device: f.device}
	run.target, run.verbose, run.pickFlags = f.deviceFlags.target, f.verbose, f.pickFlags
	place, err := run.findPlace(ctx, env, cmd, "")
	defer place.close()
	if err != nil {
		return err
	}
	of, err := core.ParseTarget(run.target)
	if err != nil {
		return usagef("--target: %v", err)
	}
	output := env.report.writer("output")
	var version string
	open := func(ctx context.Context) (driver.Device, error) {
		return place.open(ctx, of, output, func(t core.Target) (driver.Device, error) {
			d, err := simulated.New(t, simulated.Options{NoChecks: true, Estimate: true, Sample: f.sample, Output: output, MaxInstructions: 1 << 28})
			if err != nil {
				return nil, usagef("--target %s: %v", t, err)
			}
			return d, nil
		})
	}
	if place.driver == nil {
		version = fmt.Sprintf("%s %.12s, %d programs", simulatedName, sdk.ProgramHash(), f.sample)
	} else {
		facts, err := place.driver.Describe(ctx)
		if err != nil {
			return place.explain(err)
		}
		version = strings.TrimSpace(facts.Name + " " + facts.Version)
	}
	// The device of a driver ends with the context of its session: one of its own, so that
	// a first signal leaves it to what is being measured.
	session := context.WithoutCancel(ctx)
	dev, err := open(session)
	if err != nil {
		return err
	}
	kind := &measure.Type{Properties: dev.Properties(), Driver: version}
	settings, err := f.reach(ctx, env, "", "tritonc worker", true)
	if err != nil {
		dev.Close()
		return err
	}
	settings.Stay = true
	signer, err := settings.signer(env)
	if err != nil {
		dev.Close()
		return err
	}
	b, q, err := settings.open(ctx)
	if err != nil {
		dev.Close()
		return err
	}
	defer b.Close()
	contents, err := measure.OpenContents(ctx, b, measure.ContentsConfig{})
	if err != nil {
		dev.Close()
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	handler := &measure.Handler{Type: kind, Contents: contents, Lost: func(err error) { end(&lostError{err}) }}
	handler.Open = func(context.Context) (driver.Device, error) {
		if first := dev; first != nil {
			dev = nil
			return first, nil
		}
		return open(session)
	}
	defer handler.Close()
	w := newWorker(f, env, handler)
	w.Jobs, w.Signer = 1, signer
	handler.On = fmt.Sprintf("%s on %s", kind.Properties.Name, w.Host)
	if err := handler.Announce(ctx, q); err != nil {
		return err
	}
	env.report.note("worker %s measures on the %s, at %s", w.ID, kind, settings.Servers())
	if err := f.work(ctx, env, w, q, "measures"); err != nil {
		return err
	}
	var lost *lostError
	if errors.As(context.Cause(ctx), &lost) {
		return place.explain(lost)
	}
	return nil
}

// lostError is that of a device that cannot be opened any more.
type lostError struct{ err error }

func (e *lostError) Error() string {
	return fmt.Sprintf("the device is lost, and the worker ends: %v", e.err)
}
func (e *lostError) Unwrap() error { return e.err }
