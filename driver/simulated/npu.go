package simulated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim/npu"
	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// What targets say of a machine without threads, and the stage whose artifact the
// simulated NPU executes.
const (
	npuStage      = "npusim"
	npuWarp       = 32
	npuMaxThreads = 64 * npuWarp
)

// npuDevice is a simulated NPU.
type npuDevice struct {
	chip *chip.Chip
	opts Options
	dev  *npu.Device
	queue
}

func newNPU(t target.Target, opts *Options) (driver.Device, error) {
	c := chip.Of(t.Arch)
	switch {
	case c == nil:
		return nil, fmt.Errorf("no simulated NPU is of that kind; tritonc devices lists those that there are")
	case opts.Random:
		return nil, fmt.Errorf("a simulated NPU has one schedule: accesses whose order is not defined it finds without another")
	case opts.Trace != nil:
		return nil, fmt.Errorf("a simulated NPU has no warps whose instructions could be traced")
	}
	return &npuDevice{
		chip: c, opts: *opts, queue: make(queue, 1),
		dev: npu.New(npu.Options{
			Chip: c, Costs: chip.CostsOf(c), NoChecks: opts.NoChecks, MaxInstructions: opts.MaxInstructions, Progress: opts.Progress,
		}),
	}, nil
}

// propertiesOf are those of a simulated chip. A multiprocessor is an AI core, as the
// vendor's runtime counts.
func propertiesOf(c *chip.Chip) driver.Properties {
	return driver.Properties{
		Name: "simulated " + c.Vendor, Stage: npuStage, Target: target.Target{Backend: chip.Backend, Arch: c.Name, WarpSize: npuWarp},
		WarpSize: npuWarp, Multiprocessors: c.Cubes, MaxThreads: npuMaxThreads, MaxShared: c.UB, Memory: npu.Memory, Simulated: true, Timelines: true,
	}
}

func (d *npuDevice) Properties() driver.Properties { return propertiesOf(d.chip) }

func (d *npuDevice) Alloc(name string, size int) (driver.Buffer, error) {
	d.begin()
	defer d.end()
	b, err := d.dev.Alloc(name, size)
	if err != nil {
		return nil, err
	}
	return &npuBuffer{d, b}, nil
}

func (d *npuDevice) Close() error { return nil }

type npuBuffer struct {
	dev *npuDevice
	b   *simt.Buffer
}

func (b *npuBuffer) Addr() uint64 { return b.b.Addr() }

func (b *npuBuffer) Size() int { return len(b.b.Data) }

func (b *npuBuffer) Write(off int, p []byte) error {
	b.dev.begin()
	defer b.dev.end()
	if err := inside(len(b.b.Data), off, len(p)); err != nil {
		return err
	}
	copy(b.b.Data[off:], p)
	b.b.MarkWritten(off, len(p))
	return nil
}

func (b *npuBuffer) Read(off int, p []byte) error {
	b.dev.begin()
	defer b.dev.end()
	if err := inside(len(b.b.Data), off, len(p)); err != nil {
		return err
	}
	copy(p, b.b.Data[off:])
	return nil
}

func (b *npuBuffer) Free() error {
	b.dev.begin()
	defer b.dev.end()
	b.dev.dev.Free(b.b)
	return nil
}

func (d *npuDevice) Load(b driver.Binary) (driver.Kernel, error) {
	p, err := npu.Read(b.Name, b.Code)
	if err != nil {
		return nil, err
	}
	if b.Kernel != "" && b.Kernel != p.Kernel {
		return nil, fmt.Errorf("%s has no kernel %q; it has %q", b.Name, b.Kernel, p.Kernel)
	}
	props := d.Properties()
	if err := props.Fits(&b.Metadata); err != nil {
		return nil, err
	}
	if b.NumCTAs > 1 {
		return nil, fmt.Errorf("kernel %s wants clusters of %s; the %s has none", p.Kernel, diag.Count(b.NumCTAs, "block"), props.Name)
	}
	return &npuKernel{d, p}, d.dev.Fits(p)
}

type npuKernel struct {
	dev  *npuDevice
	prog *npu.Program
}

func (k *npuKernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	if l.Stream != nil {
		return nil, fmt.Errorf("launching %s on a stream: %w", k.prog.Kernel, driver.ErrNoStreams)
	}
	args := make([]any, len(l.Args))
	for i, a := range l.Args {
		switch v := a.(type) {
		case *npuBuffer:
			a = v.b
		case *driver.TensorMap:
			return nil, fmt.Errorf("argument %d of kernel %s is a tensor map; an NPU has no unit that copies by one", i+1, k.prog.Kernel)
		}
		args[i] = a
	}
	if err := k.dev.beginOr(ctx); err != nil {
		return nil, err
	}
	defer k.dev.end()
	start := time.Now()
	rep, err := k.dev.dev.Launch(ctx, k.prog, l.Grid, args...)
	took := time.Since(start)
	var found *npu.FindingsError
	if errors.As(err, &found) {
		fault := &driver.Fault{Kernel: k.prog.Kernel}
		for _, f := range found.Findings {
			fault.Findings = append(fault.Findings, npuDiagnostic(f))
		}
		err = fault
	}
	if rep == nil {
		return nil, err
	}
	result := &driver.Result{Time: took, Report: rep}
	if k.dev.opts.Estimate {
		result.Estimate = rep.Time()
	}
	return result, err
}

// npuDiagnostic gives a finding of the simulated NPU the form of every message.
func npuDiagnostic(f *npu.Finding) *diag.Diagnostic {
	place := func(l npu.Loc) diag.Pos {
		if l.File == "" {
			return diag.Pos{}
		}
		return diag.Pos{File: l.File, Line: l.Line, Col: l.Col + 1}
	}
	d := diag.Errorf(place(f.Loc), "%s: %s", f.Kind, f.Message)
	if f.OtherText != "" {
		d.WithNote(place(f.Other), "the other one: %s", f.OtherText)
	}
	who := fmt.Sprintf("by core %d", f.Core)
	if f.Program >= 0 {
		who += fmt.Sprintf(", program %d", f.Program)
	}
	who += fmt.Sprintf("; %s in line %d of the %s", f.Text, f.Line, npuStage)
	if f.Count > 1 {
		who += fmt.Sprintf("; and %d times more there", f.Count-1)
	}
	return d.WithNote(diag.Pos{}, "%s", who)
}
