package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/launch"
)

// bundleEnding is that of files that tritonc run takes for bundles.
const bundleEnding = ".bundle"

// compileOnly are the flags of a run that say how to compile.
var compileOnly = []string{
	"num-warps", "num-stages", "option", "extern-lib", "config", "configs", "as", "source-root", "include", "python-path", "define", "no-cache", "time",
}

// runBundle is the verb run for a kernel that is compiled.
func runBundle(ctx context.Context, env *environment, cmd *cobra.Command, f *runFlags, file string) error {
	for _, name := range compileOnly {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is about a compile, and %s is compiled", name, file)
		}
	}
	f.bundled = true
	if err := f.check(); err != nil {
		return err
	}
	b, err := openBundle(file)
	if err != nil {
		return err
	}
	k, err := b.Kernel(f.kernel)
	if err != nil {
		return usagef("%s: %v", file, err).withHelp("-n names one")
	}
	if f.grid == "" && k.Grid == "" {
		return usagef("no --grid given, and the bundle has none for %s", k.Name)
	}
	place, err := f.findPlace(ctx, env, cmd, file)
	defer place.close()
	if err != nil {
		return err
	}
	if f.target == "" && len(k.Variants) > 0 {
		f.target = k.Variants[0].Target
	}
	target, err := parseTarget(f.target)
	if err != nil {
		return err
	}
	if place.driver != nil && !cmd.Flags().Changed("target") {
		target = closestTarget(k, target)
	}
	vals, err := f.bundleArguments(k, target)
	if err != nil {
		return err
	}
	r := &runner{env: env, flags: f, src: &core.Source{Path: k.Source, Name: k.Source}, vals: vals, out: env.stdout}
	if f.report == "json" {
		r.out = env.report.writer("output") // standard output is the report's
	}
	if err := r.planResults(ctx); err != nil {
		return err
	}
	dev, err := place.open(ctx, target, r.out, r.simulated)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := f.checkDevice(dev); err != nil {
		return err
	}
	fn, err := k.Load(dev)
	if err != nil {
		return explainArg(err)
	}
	if f.grid != "" {
		if r.grid, err = vals.grid(f.grid); err != nil {
			return err
		}
		fn.Grid = kernel.Dims(r.grid[:]...)
	}
	return r.runFunction(ctx, dev, k, fn)
}

// closestTarget is the target of a kernel's code that a device of its own target runs
// best: its own, or else the newest of the older ones, whose code the device's driver
// may translate.
func closestTarget(k *bundle.Kernel, own core.Target) core.Target {
	arch, err := strconv.Atoi(own.Arch)
	if err != nil {
		return own
	}
	best, found := own, -1
	for i := range k.Variants {
		t, err := core.ParseTarget(k.Variants[i].Target)
		if err != nil || t.Backend != own.Backend {
			continue
		}
		if n, err := strconv.Atoi(t.Arch); err == nil && n <= arch && n > found {
			best, found = t, n
		}
	}
	return best
}

// bundleArguments reads --arg for a kernel of a bundle.
func (f *runFlags) bundleArguments(k *bundle.Kernel, target core.Target) (*values, error) {
	info := &frontend.KernelInfo{Name: k.Name}
	for _, p := range k.Params {
		info.Params = append(info.Params, frontend.ParamInfo{Name: p.Name, Pointer: strings.HasPrefix(p.Type, "*")})
	}
	for i := range k.Variants {
		for _, a := range k.Variants[i].Constants {
			if !slices.ContainsFunc(info.Params, func(p frontend.ParamInfo) bool { return p.Name == a.Name }) {
				info.Params = append(info.Params, frontend.ParamInfo{Name: a.Name, Constexpr: true})
			}
		}
	}
	vals := &values{seed: f.seed, info: info}
	for i := range k.Variants {
		v := &k.Variants[i]
		if t, err := core.ParseTarget(v.Target); err == nil && t.Backend == target.Backend && t.Arch == target.Arch {
			// Those that a launch takes which names none.
			vals.known = &frontend.Variant{Kernel: k.Name, Constants: map[string]any{}, Config: -1}
			for _, a := range v.Constants {
				vals.known.Constants[a.Name] = a.Value
			}
			break
		}
	}
	return vals, f.readArgs(vals)
}

// runFunction launches a kernel of a bundle on the arguments of the command line.
func (r *runner) runFunction(ctx context.Context, dev driver.Device, k *bundle.Kernel, fn *bundle.Function) (err error) {
	memory := map[*array.Array]*kernel.Untyped{}
	defer func() {
		for _, m := range memory {
			err = errors.Join(err, m.Free())
		}
	}()
	at := func(name string, x *array.Array) (m *kernel.Untyped, err error) {
		if m = memory[x]; m == nil {
			if m, err = kernel.Place(dev, name, x); err == nil {
				memory[x] = m
			}
		}
		return m, err
	}
	var args []any
	for _, a := range r.vals.list(slices.Concat([]string{k.Grid, r.flags.grid}, r.flags.expect, r.flags.let)...) {
		switch v := a.Value.(type) {
		case *array.Array:
			if a.Value, err = at(a.Name, v); err != nil {
				return explainArg(err)
			}
		case *launch.Descriptor:
			m, err := at(a.Name, v.Array)
			if err != nil {
				return explainArg(err)
			}
			a.Value = &kernel.Descriptor{Base: m, Shape: v.Array.Shape, Block: v.Block, NaN: v.NaN}
		case launch.Expr:
			a.Value = strings.Trim(string(v), `'"`)
		}
		args = append(args, kernel.Named(a.Name, a.Value))
	}
	loaded, l, err := fn.Bind(fn.Grid, args...)
	if err != nil {
		return explainArg(err)
	}
	r.grid = l.Grid
	return r.run(ctx, dev, &runnable{k.Name, k.Variants[0].Metadata, func() (*driver.Result, error) {
		result, err := loaded.Launch(ctx, l)
		if result == nil {
			return nil, err
		}
		for x, m := range memory {
			if fetched := m.Fetch(x); fetched != nil {
				return nil, fmt.Errorf("results: %w", fetched)
			}
		}
		return result, err
	}})
}
