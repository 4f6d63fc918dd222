package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/driver"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Prefix starts the file name of every driver: tritonc-device-<name>.
const Prefix = "tritonc-device-"

// DefaultStartTimeout is how long a driver may take to its handshake: a vendor's
// library may wake up the device first.
const DefaultStartTimeout = time.Minute

// Options of a Host. The zero value finds nothing.
type Options struct {
	// Dirs are searched for drivers, first to last.
	Dirs []string
	// Backends are programs of backends that serve devices, too. Each is a driver of
	// its backend's name, unless one in Dirs has that name.
	Backends []process.Found
	// Env is the environment of the drivers: vendors' libraries have variables
	// of their own.
	Env []string
	// Listed says what is known of a program in Dirs, which it must be at its start;
	// nil: nothing is.
	Listed func(process.Found) ([]process.Expected, error)
	// Confine says under which limits drivers run.
	Confine process.Confine
	// CallTimeout bounds each call but Close, that of a launch included; 0: no bound.
	CallTimeout time.Duration
	// Logger shows the host's and the drivers' lines; nil: nothing is shown.
	Logger hclog.Logger
	// StartTimeout bounds a driver's start; 0 means DefaultStartTimeout.
	StartTimeout time.Duration
	// TempDir holds the sockets' folders; empty means the system's.
	TempDir string
}

// Host holds the drivers of a session. Its methods may be called from several
// goroutines.
type Host struct {
	opts     Options
	drivers  []*Driver
	stopping sync.WaitGroup // processes that were dropped
}

// New looks for drivers and starts none.
func New(opts Options) *Host {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if opts.StartTimeout == 0 {
		opts.StartTimeout = DefaultStartTimeout
	}
	h := &Host{opts: opts}
	for _, f := range process.Find(opts.Dirs, Prefix) {
		h.drivers = append(h.drivers, &Driver{host: h, found: f})
	}
	for _, f := range opts.Backends {
		if !slices.ContainsFunc(h.drivers, func(d *Driver) bool { return d.found.Name == f.Name }) {
			h.drivers = append(h.drivers, &Driver{host: h, found: f, backend: true})
		}
	}
	return h
}

// Drivers lists every driver found, usable or not.
func (h *Host) Drivers() []*Driver { return h.drivers }

// Driver returns the driver of that name. Where there is none, the error lists
// the folders that were searched.
func (h *Host) Driver(name string) (*Driver, error) {
	for _, d := range h.drivers {
		if d.found.Name == name {
			return d, nil
		}
	}
	return nil, diag.Errorf(diag.Pos{}, "there is no driver for devices %q", name).
		WithHelp("searched for %s%s in:\n  %s", Prefix, name, strings.Join(h.opts.Dirs, "\n  "))
}

// Close ends every driver. The Host must not be used afterwards.
func (h *Host) Close() error {
	for _, d := range h.drivers {
		d.mu.Lock()
		p := d.proc
		d.proc = nil
		d.mu.Unlock()
		if p != nil {
			h.stopping.Go(p.Stop)
		}
	}
	h.stopping.Wait()
	return nil
}

// Driver is one driver of a Host. Its methods may be called from several
// goroutines; the first call starts the process.
type Driver struct {
	host    *Host
	found   process.Found
	backend bool // the program is a backend's

	mu   sync.Mutex // held during a start, so that there is only one
	proc *process.Process
}

// Name is the <name> of the program tritonc-device-<name> or tritonc-backend-<name>.
func (d *Driver) Name() string { return d.found.Name }

// Path is the program's file.
func (d *Driver) Path() string { return d.found.Path }

// Describe lists the devices. Where there are none, it is an error that says
// why.
func (d *Driver) Describe(ctx context.Context) (sdk.DeviceFacts, error) {
	p, err := d.running(ctx)
	if err != nil {
		return sdk.DeviceFacts{}, err
	}
	var facts sdk.DeviceFacts
	err = d.bounded(ctx, p, "Describe", func(ctx context.Context) (err error) {
		facts, err = client(p).Describe(ctx)
		return err
	})
	return facts, err
}

// Open makes the device of a number ready for code of a target. What kernels
// print goes to output; nil drops it. The device ends with ctx.
func (d *Driver) Open(ctx context.Context, number int, target sdk.Target, output io.Writer) (driver.Device, error) {
	p, err := d.running(ctx)
	if err != nil {
		return nil, err
	}
	var far sdk.Device
	err = d.bounded(ctx, p, "Open", func(ctx context.Context) (err error) {
		far, err = client(p).Open(ctx, number, target)
		return err
	})
	if err != nil {
		return nil, err
	}
	if output == nil {
		output = io.Discard
	}
	dev := &device{ctx: ctx, driver: d, proc: p, far: far, target: target, output: output, busy: make(chan struct{}, 1)}
	if timer, ok := far.(sdk.DeviceTimer); ok {
		return timerDevice{dev, timer}, nil
	}
	return dev, nil
}

func client(p *process.Process) *host.DeviceClient { return p.Client().(*host.DeviceClient) }

// running returns the living process, starting one when there is none.
func (d *Driver) running(ctx context.Context) (*process.Process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc != nil && !d.proc.HasExited() {
		return d.proc, nil
	}
	if d.proc != nil {
		d.proc.Stop() // its socket is left over
		d.proc = nil
	}
	opts := &d.host.opts
	handshake := host.DeviceHandshake
	if d.backend {
		handshake = host.Handshake
	}
	found, err := d.expected()
	if err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, found, process.Config{
		Kind: "device driver", Handshake: handshake, PluginName: host.DevicePluginName,
		Versions: map[int]goplugin.Plugin{host.DeviceProtocolVersion: &host.DevicePlugin{}},
		Env:      append(opts.Env[:len(opts.Env):len(opts.Env)], host.EnvLogLevel+"="+opts.Logger.GetLevel().String()),
		Logger:   opts.Logger.Named(d.found.Name), StartTimeout: opts.StartTimeout, TempDir: opts.TempDir,
		Confine: opts.Confine,
	})
	d.proc = p
	return p, err
}

// expected is the program with what it must be. Of a backend's it is known already.
func (d *Driver) expected() (process.Found, error) {
	found, listed := d.found, d.host.opts.Listed
	if d.backend || listed == nil {
		return found, nil
	}
	more, err := listed(found)
	if err != nil {
		return found, fmt.Errorf("device driver %s (%s): %w", found.Name, found.Path, err)
	}
	found.Expected = append(found.Expected[:len(found.Expected):len(found.Expected)], more...)
	return found, nil
}

// bounded makes a call within the time that it may take. A process that needs more is
// ended: nothing else stops it.
func (d *Driver) bounded(ctx context.Context, p *process.Process, method string, f func(context.Context) error) error {
	limit := d.host.opts.CallTimeout
	if limit == 0 {
		return d.explain(ctx, p, method, f(ctx))
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := d.explain(within, p, method, f(within))
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		d.drop(p)
		return fmt.Errorf("device driver %s took longer than the %s that a call may have, during %s", d.found.Name, limit, method)
	}
	return err
}

// forget has the next call start another process.
func (d *Driver) forget(p *process.Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc == p {
		d.proc = nil
	}
}

// drop ends a process that is of no more use.
func (d *Driver) drop(p *process.Process) {
	d.forget(p)
	p.Kill()
	d.host.stopping.Go(p.Stop)
}

// lost is what a device says whose process was dropped.
func (d *Driver) lost(p *process.Process) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proc != p {
		return fmt.Errorf("device driver %s: %w", d.found.Name, driver.ErrLost)
	}
	return nil
}
