package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/remote"
)

// simulatedName is that of the simulated device for --device.
const simulatedName = "sim"

// simulatedHelp is the next step where a real device will not do.
const simulatedHelp = "--device sim is a simulated device"

// simulatedFlags ask for what only the simulated device does.
var simulatedFlags = []string{"report", "html", "timeline", "schedule", "trace", "max-instructions", "sample"}

// place is where a run takes place.
type place struct {
	host *remote.Host
	// driver is nil for the simulated device.
	driver *remote.Driver
	number int
	// name is that of --device, "" where the choice is ours.
	name string
	log  hclog.Logger
	// useless says of drivers why they were passed over.
	useless []string
}

// findPlace reads --device: the simulated device, or one of a driver. Without
// the flag it is the first device that a driver has and that runs code for the
// target, if there is one, and unless the other flags ask for the simulated one.
// It completes --target from the device. The caller closes the place.
func (f *runFlags) findPlace(ctx context.Context, env *environment, cmd *cobra.Command, file string) (*place, error) {
	p := &place{name: f.device, log: newLogger(env, f.verbose)}
	only := ""
	for _, flag := range simulatedFlags {
		if cmd.Flags().Changed(flag) {
			only = flag
			break
		}
	}
	if f.device == simulatedName || f.device == "" && only != "" {
		return p, nil
	}
	var err error
	p.host, err = deviceHost(env, f.verbose, &f.pickFlags, file, func(backends *plugin.Host) []process.Found {
		switch {
		case f.device != "":
			return backends.Drivers(ctx, core.Target{})
		case f.target == "":
			return nil // no backend is chosen for the device that it brings
		}
		t, _ := core.ParseTarget(f.target) // what is wrong with it is said elsewhere
		return backends.Drivers(ctx, t)
	})
	if err != nil {
		return p, err
	}
	if f.device == "" {
		for _, d := range p.host.Drivers() {
			err := p.take(ctx, f, d, 0)
			if ctx.Err() != nil {
				return p, ctx.Err()
			}
			if err == nil {
				break
			}
			p.passOver(d, err)
		}
		return p, nil
	}
	name, number, err := parseDevice(f.device)
	if err != nil {
		return p, err
	}
	if only != "" {
		return p, usagef("--%s is for the simulated device, and --device %s is another", only, f.device).withHelp(simulatedHelp)
	}
	d, err := p.host.Driver(name)
	if err != nil {
		return p, usagef("--device %s: there is no such device here", f.device).
			withHelp("%s\n  a driver, %s%s or a backend %s%s with devices, was looked for in:\n    %s",
				simulatedHelp, remote.Prefix, name, plugin.Prefix, name, strings.Join(backendDirs(env), "\n    "))
	}
	if err := p.take(ctx, f, d, number); err != nil {
		return p, p.explain(err)
	}
	return p, nil
}

// deviceHost finds the drivers of devices: programs of their own, and those of the
// backends with devices that choose takes.
func deviceHost(env *environment, verbose int, pick *pickFlags, file string, choose func(*plugin.Host) []process.Found) (*remote.Host, error) {
	backends, err := newHost(env, verbose, pick, file)
	if err != nil {
		return nil, err
	}
	defer backends.Close()
	opts := remote.Options{
		Dirs: backendDirs(env), Env: env.environ, Logger: newLogger(env, verbose),
		Backends: choose(backends), Listed: plugin.Listed,
	}
	env.confine.applyToDrivers(&opts, env)
	return remote.New(opts), nil
}

// parseDevice reads NAME[:NUMBER].
func parseDevice(text string) (name string, number int, err error) {
	name, digits, numbered := strings.Cut(text, ":")
	if numbered {
		number, err = strconv.Atoi(digits)
	}
	if err != nil || name == "" || name == simulatedName || number < 0 {
		return "", 0, usagef("--device %s is neither %s nor of the form NAME:NUMBER, such as cuda:0", text, simulatedName)
	}
	return name, number, nil
}

// take decides for a driver's device if it is there and of the target's kind.
func (p *place) take(ctx context.Context, f *runFlags, d *remote.Driver, number int) error {
	facts, err := d.Describe(ctx)
	if err != nil {
		return err
	}
	if number >= len(facts.Devices) {
		count := diag.Count(len(facts.Devices), "device")
		if len(facts.Devices) == 1 {
			count = "1 device"
		}
		return fmt.Errorf("%s has no device number %d; it has %s", d.Name(), number, count)
	}
	if own := facts.Devices[number].Target; f.target == "" {
		f.target = own.String()
	} else if t, err := core.ParseTarget(f.target); p.name == "" && err == nil && t.Backend != own.Backend {
		return fmt.Errorf("it runs code for %s, not for %s", own, t)
	}
	p.driver, p.number = d, number
	return nil
}

// explain says of which flag err is, and what else there is.
func (p *place) explain(err error) error {
	if diag.All(err) != nil || errors.Is(err, context.Canceled) {
		return err // it says so itself
	}
	return fmt.Errorf("--device %s: %w\n  help: %s", p.name, err, simulatedHelp)
}

// passOver notes why a driver is of no use, which -v shows.
func (p *place) passOver(d *remote.Driver, err error) {
	p.useless = append(p.useless, d.Name()+": "+strings.ReplaceAll(err.Error(), "\n", "\n    "))
	p.log.Debug("a device driver is of no use here", "driver", d.Path(), "reason", err)
}

// open makes a driver's device ready, or the one that simulated makes.
func (p *place) open(ctx context.Context, target core.Target, output io.Writer, simulated func(core.Target) (driver.Device, error)) (driver.Device, error) {
	if p.driver != nil {
		dev, err := p.driver.Open(ctx, p.number, target, output)
		switch {
		case err == nil:
			p.log.Debug("the device is a driver's", "driver", p.driver.Path(), "number", p.number, "name", dev.Properties().Name)
			return dev, nil
		case p.name != "" || ctx.Err() != nil:
			return nil, p.explain(err)
		}
		p.passOver(p.driver, err)
	}
	dev, err := simulated(target)
	switch {
	case err == nil:
		p.log.Debug("the device is simulated")
	case len(p.useless) > 0:
		err = fmt.Errorf("no device here runs code for %s\n  %s\n  sim: %v", target, strings.Join(p.useless, "\n  "), err) //nolint:errorlint // it is not the command line's fault, as err says
	}
	return dev, err
}

// defineDevice tells the code of a file that asks for it how many multiprocessors the
// device has, unless the user says it. Other files are the same for all devices, and
// so is what is kept of their compiles.
func defineDevice(src *core.Source, props driver.Properties) {
	const processors = "device.multiprocessor_count"
	asks := bytes.Contains(src.Text, []byte("multiprocessor_count")) || bytes.Contains(src.Text, []byte("multi_processor_count"))
	if !asks || slices.ContainsFunc(src.Define, func(d core.Definition) bool { return d.Name == processors }) {
		return
	}
	src.Define = append(slices.Clone(src.Define), core.Definition{Name: processors, Value: strconv.Itoa(props.Multiprocessors)})
}

// close ends the drivers.
func (p *place) close() {
	if p != nil && p.host != nil {
		p.host.Close()
	}
}
