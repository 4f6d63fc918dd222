package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/driver"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// device is a session with a driver's device.
type device struct {
	ctx    context.Context // of Open; calls without one of their own use it
	driver *Driver
	proc   *process.Process
	far    sdk.Device
	target sdk.Target
	output io.Writer
	busy   chan struct{} // holds a token during a call: the driver wants one at a time
}

var _ driver.Device = (*device)(nil)

func (d *device) Properties() driver.Properties {
	p := d.far.Properties()
	return driver.Properties{
		Name: p.Name, Stage: p.Stage, Target: d.target, WarpSize: p.WarpSize, Multiprocessors: p.Multiprocessors,
		MaxThreads: p.MaxThreads, MaxShared: p.MaxShared, Memory: p.Memory,
	}
}

// call makes one call, after those under way, or says that the device is lost.
func (d *device) call(ctx context.Context, method string, f func(context.Context) error) error {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.callNow(ctx, method, f)
}

func (d *device) callNow(ctx context.Context, method string, f func(context.Context) error) error {
	if err := d.driver.lost(d.proc); err != nil {
		return err
	}
	return d.driver.bounded(ctx, d.proc, method, f)
}

func (d *device) Alloc(name string, size int) (driver.Buffer, error) {
	b := &buffer{device: d, size: size}
	err := d.call(d.ctx, "Alloc", func(ctx context.Context) (err error) {
		b.far, err = d.far.Alloc(ctx, name, int64(size))
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Close ends the session. Of a lost device nothing is left to give back.
func (d *device) Close() error {
	if d.driver.lost(d.proc) != nil {
		return nil //nolint:nilerr // a lost device gave everything back
	}
	return d.call(context.Background(), "Close", func(context.Context) error { return d.far.Close() })
}

type buffer struct {
	device *device
	far    sdk.DeviceBuffer
	size   int
}

func (b *buffer) Addr() uint64 { return b.far.Addr() }
func (b *buffer) Size() int    { return b.size }

func (b *buffer) Write(off int, p []byte) error {
	return b.device.call(b.device.ctx, "Write", func(ctx context.Context) error { return b.far.Write(ctx, int64(off), p) })
}

func (b *buffer) Read(off int, p []byte) error {
	return b.device.call(b.device.ctx, "Read", func(ctx context.Context) error { return b.far.Read(ctx, int64(off), p) })
}

// Free gives the memory back; a lost device has done so.
func (b *buffer) Free() error {
	if b.device.driver.lost(b.device.proc) != nil {
		return nil //nolint:nilerr // a lost device gave everything back
	}
	return b.device.call(context.Background(), "Free", func(context.Context) error { return b.far.Free() })
}

func (d *device) Load(b driver.Binary) (driver.Kernel, error) {
	k := &kernel{device: d, name: b.Kernel}
	if k.name == "" {
		k.name = b.Name
	}
	err := d.call(d.ctx, "Load", func(ctx context.Context) (err error) {
		k.far, err = d.far.Load(ctx, sdk.DeviceBinary{
			Name: b.Name, Code: b.Code, Kernel: b.Kernel, NumWarps: b.NumWarps, NumCTAs: b.NumCTAs, Cooperative: b.Cooperative, PDL: b.PDL, Shared: int64(b.Shared),
			GlobalScratchSize: int64(b.GlobalScratch), GlobalScratchAlign: int64(b.GlobalScratchAlign),
			Metadata: string(b.Object),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

type kernel struct {
	device *device
	far    sdk.DeviceKernel
	name   string
}

func (k *kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	launch, err := k.launch(&l)
	if err != nil {
		return nil, err
	}
	r, err := k.run(ctx, "Launch", func(ctx context.Context) (sdk.DeviceResult, error) { return k.far.Launch(ctx, launch) })
	if r == nil {
		return nil, err
	}
	return &driver.Result{Time: r.Time}, err
}

// timerDevice is a device whose driver measures kernels.
type timerDevice struct {
	*device
	far sdk.DeviceTimer
}

var _ driver.Timer = timerDevice{}

func (d timerDevice) Time(ctx context.Context, k driver.Kernel, l driver.Launch, t driver.Timing) ([]time.Duration, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	own, ok := k.(*kernel)
	if !ok || own.device != d.device {
		return nil, errors.New("the kernel was loaded by another device")
	}
	launch, err := own.launch(&l)
	if err != nil {
		return nil, err
	}
	r, err := own.run(ctx, "Time", func(ctx context.Context) (sdk.DeviceResult, error) {
		return d.far.Time(ctx, own.far, launch, sdk.DeviceTiming{Runs: t.Runs, Warmup: t.Warmup, Flush: t.Flush, Graph: t.Graph, Together: t.Together})
	})
	if err != nil {
		return nil, err
	}
	return r.Times, nil
}

// launch is l as it crosses to the driver.
func (k *kernel) launch(l *driver.Launch) (sdk.DeviceLaunch, error) {
	launch := sdk.DeviceLaunch{Grid: l.Grid, Args: make([]sdk.DeviceArg, len(l.Args))}
	if l.Stream != nil {
		return launch, fmt.Errorf("launching %s on a stream: %w", k.name, driver.ErrNoStreams)
	}
	for i, a := range l.Args {
		var err error
		if launch.Args[i], err = k.device.argument(a); err != nil {
			return launch, fmt.Errorf("argument %d of %s: %w", i, k.name, err)
		}
	}
	return launch, nil
}

// run makes a call that runs the kernel. There is a result beside a *driver.Fault that
// left the device's memory as it was.
func (k *kernel) run(ctx context.Context, method string, f func(context.Context) (sdk.DeviceResult, error)) (*sdk.DeviceResult, error) {
	d := k.device
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }() // after the output, too
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var r sdk.DeviceResult
	err := d.callNow(ctx, method, func(ctx context.Context) (err error) {
		r, err = f(ctx)
		return err
	})
	said := ""
	switch {
	case ctx.Err() != nil: // explain has waited for it
		d.driver.drop(d.proc) // nothing else stops a kernel
		return nil, ctx.Err()
	case errors.Is(err, driver.ErrLost):
		return nil, err
	case err != nil && d.driver.lost(d.proc) != nil: // the process died
		return nil, fmt.Errorf("kernel %s: %w", k.name, err)
	case r.Lost:
		d.driver.drop(d.proc)
		said = d.proc.LastWords() // the answer may come before them
	}
	if _, werr := d.output.Write(r.Output); err == nil {
		err = werr
	}
	if err != nil {
		return nil, err
	}
	if len(r.Fault) == 0 {
		return &r, nil
	}
	fault := &driver.Fault{Kernel: k.name, Findings: wire.ListFromSDK(r.Fault)}
	if said != "" {
		fault.Findings[0].WithNote(diag.Pos{}, "the driver said:%s", said)
	}
	if r.Lost {
		return nil, fault // its memory went with it
	}
	return &r, fault
}

// argument is a as it crosses to the driver.
func (d *device) argument(a any) (sdk.DeviceArg, error) {
	le := binary.LittleEndian
	var b []byte
	switch v := a.(type) {
	case nil:
	case *buffer:
		if v.device != d {
			return sdk.DeviceArg{}, fmt.Errorf("it is memory of another device")
		}
		return sdk.DeviceArg{Buffer: v.far}, nil
	case *driver.TensorMap:
		if err := v.Check(); err != nil {
			return sdk.DeviceArg{}, err
		}
		at, err := d.argument(v.Buffer)
		at.Map = &sdk.DeviceTensorMap{
			Offset: v.Offset, Shape: v.Shape, Strides: v.Strides, Box: v.Box,
			ElemSize: v.ElemSize, ElemType: v.ElemType, Swizzle: v.Swizzle, NaN: v.NaN,
		}
		return at, err
	case bool:
		b = []byte{0}
		if v {
			b[0] = 1
		}
	case int8:
		b = []byte{byte(v)}
	case uint8:
		b = []byte{v}
	case int16:
		b = le.AppendUint16(nil, uint16(v))
	case uint16:
		b = le.AppendUint16(nil, v)
	case int32:
		b = le.AppendUint32(nil, uint32(v))
	case uint32:
		b = le.AppendUint32(nil, v)
	case int64:
		b = le.AppendUint64(nil, uint64(v))
	case uint64:
		b = le.AppendUint64(nil, v)
	case int:
		b = le.AppendUint64(nil, uint64(v))
	case float32:
		b = le.AppendUint32(nil, math.Float32bits(v))
	case float64:
		b = le.AppendUint64(nil, math.Float64bits(v))
	default:
		return sdk.DeviceArg{}, fmt.Errorf("a %T cannot be passed to a kernel", a)
	}
	return sdk.DeviceArg{Scalar: b}, nil
}
