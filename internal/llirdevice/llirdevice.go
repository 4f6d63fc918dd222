// Package llirdevice makes simulated devices that execute LLVM IR by package llirsim, for
// tests of backends for whose code there is no other simulator.
package llirdevice

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/llirsim"
)

// Grid is where a device has the size of the grid, three i32.
const Grid = llirsim.First

// Config is a sort of device.
type Config struct {
	// Stage is the artifact that devices load, and Lowered what becomes of it.
	Stage   string
	Lowered func(b driver.Binary) (*lower.Result, error)
	// Intrinsics says what those of the target do. The first buffer, at Grid, is the
	// grid.
	Intrinsics *llirsim.Target
	MaxThreads int
	MaxShared  int
}

// Open makes a device. Nothing prints.
func (c *Config) Open() driver.Device {
	d := &simulator{config: c, mem: new(llirsim.Memory), grid: make([]byte, 12)}
	d.mem.Alloc(d.grid)
	return d
}

// simulator is a driver.Device.
type simulator struct {
	config *Config
	mem    *llirsim.Memory
	grid   []byte
}

func (d *simulator) Properties() driver.Properties {
	return driver.Properties{
		Name: "interpreter of LLVM IR", Stage: d.config.Stage, WarpSize: d.config.Intrinsics.Lanes, Multiprocessors: 1,
		MaxThreads: d.config.MaxThreads, MaxShared: d.config.MaxShared, Memory: 1 << 34, Simulated: true,
	}
}

// poison is what memory holds that nobody wrote: NaNs.
const poison = 0xFF

func (d *simulator) Alloc(_ string, size int) (driver.Buffer, error) {
	b := make([]byte, size)
	for i := range b {
		b[i] = poison
	}
	return &buffer{d.mem.Alloc(b)}, nil
}

func (d *simulator) Close() error { return nil }

func (d *simulator) Load(b driver.Binary) (driver.Kernel, error) {
	r, err := d.config.Lowered(b)
	if err != nil {
		return nil, err
	}
	return &kernel{d, r}, nil
}

type buffer struct{ b *llirsim.Buffer }

func (b *buffer) Addr() uint64 { return b.b.Address }
func (b *buffer) Size() int    { return len(b.b.Bytes) }
func (b *buffer) Free() error  { return nil }

func (b *buffer) part(off, n int) ([]byte, error) {
	if off < 0 || off+n > len(b.b.Bytes) {
		return nil, fmt.Errorf("bytes %d to %d of a buffer of %d", off, off+n, len(b.b.Bytes))
	}
	return b.b.Bytes[off : off+n], nil
}

func (b *buffer) Write(off int, p []byte) error {
	to, err := b.part(off, len(p))
	copy(to, p)
	return err
}

func (b *buffer) Read(off int, p []byte) error {
	from, err := b.part(off, len(p))
	copy(p, from)
	return err
}

type kernel struct {
	d *simulator
	r *lower.Result
}

// Launch implements driver.Kernel. What the simulator finds is a Fault.
func (k *kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	var args []uint64
	for _, a := range l.Args {
		x, err := bitsOf(a)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	programs := 1
	for i, n := range l.Grid {
		programs *= n
		binary.LittleEndian.PutUint32(k.d.grid[4*i:], uint32(n))
	}
	if n := k.r.GlobalScratch; n > 0 {
		args = append(args, k.d.mem.Alloc(make([]byte, programs*n)).Address)
	}
	sim := &llirsim.Kernel{Target: k.d.config.Intrinsics, Module: k.r.LLVM, Name: k.r.Kernel, Threads: k.r.Threads, Shared: k.r.Shared}
	start := time.Now()
	err := sim.Launch(ctx, k.d.mem, l.Grid, args...)
	switch {
	case err == nil:
		return &driver.Result{Time: time.Since(start)}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &driver.Fault{Kernel: k.r.Kernel, Findings: diag.List{diag.Errorf(diag.Pos{}, "%v", err)}}
}

// bitsOf is an argument as a parameter holds it.
func bitsOf(a any) (uint64, error) {
	switch a := a.(type) {
	case nil:
		return 0, nil
	case *buffer:
		return a.Addr(), nil
	case bool:
		if a {
			return 1, nil
		}
		return 0, nil
	case float32:
		return uint64(math.Float32bits(a)), nil
	case float64:
		return math.Float64bits(a), nil
	case int8:
		return uint64(uint8(a)), nil
	case int16:
		return uint64(uint16(a)), nil
	case int32:
		return uint64(uint32(a)), nil
	case int64:
		return uint64(a), nil
	case uint8:
		return uint64(a), nil
	case uint16:
		return uint64(a), nil
	case uint32:
		return uint64(a), nil
	case uint64:
		return a, nil
	}
	return 0, errors.New("an argument of a type that no parameter has")
}
