package gpu64

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/gpu64/mfma"
	"github.com/tritonc/tritonc/internal/llirsim"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// intrinsics says what those of the target do.
var intrinsics = &llirsim.Target{
	Lanes: Lanes,
	Thread: map[string]func(*llirsim.Thread, []uint64) uint64{
		"llvm.amdgcn.workitem.id.x":   func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Index) },
		"llvm.amdgcn.workgroup.id.x":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[0]) },
		"llvm.amdgcn.workgroup.id.y":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[1]) },
		"llvm.amdgcn.workgroup.id.z":  func(t *llirsim.Thread, _ []uint64) uint64 { return uint64(t.Program[2]) },
		"llvm.amdgcn.implicitarg.ptr": func(*llirsim.Thread, []uint64) uint64 { return hidden },
	},
	Warp: map[string]func([][]uint64) []uint64{
		"llvm.amdgcn.ds.bpermute": func(args [][]uint64) []uint64 {
			out := make([]uint64, len(args))
			for i, a := range args {
				out[i] = args[a[0]/4%Lanes][1]
			}
			return out
		},
	},
	Wide:    mfma.Simulated(),
	Barrier: "llvm.amdgcn.s.barrier",
}

// hidden is where the hidden arguments lie, the first buffer of a device.
const hidden = llirsim.First

// Platform is the backend with its simulated devices, which execute what this
// backend lowered.
type Platform struct {
	*backend.Backend

	mu      sync.Mutex
	lowered map[[sha256.Size]byte]*lower.Result // by the text of the LLVM IR
}

// mostLowered bounds what a Platform remembers.
const mostLowered = 4096

// NewPlatform makes a backend and its devices.
func NewPlatform() *Platform {
	p := &Platform{lowered: make(map[[sha256.Size]byte]*lower.Result)}
	p.Backend = New(func(llir []byte, r *lower.Result) {
		key := sha256.Sum256(llir)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.lowered) == mostLowered {
			clear(p.lowered)
		}
		p.lowered[key] = r
	})
	return p
}

// Open makes a device. Nothing prints.
func (p *Platform) Open(context.Context, sdk.Target, io.Writer) (driver.Device, error) {
	d := &simulator{platform: p, mem: new(llirsim.Memory), grid: make([]byte, 12)}
	d.mem.Alloc(d.grid)
	return d, nil
}

// simulator is a driver.Device.
type simulator struct {
	platform *Platform
	mem      *llirsim.Memory
	grid     []byte // the hidden arguments
}

func (d *simulator) Properties() driver.Properties {
	return driver.Properties{
		Name: "interpreter of LLVM IR", Stage: StageLLIR, WarpSize: Lanes, Multiprocessors: 1,
		MaxThreads: Lanes * device.MaxWarps, MaxShared: int(device.SharedMemory), Memory: 1 << 34, Simulated: true,
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
	d.platform.mu.Lock()
	defer d.platform.mu.Unlock()
	r := d.platform.lowered[sha256.Sum256(b.Code)]
	if r == nil {
		return nil, fmt.Errorf("%s is not LLVM IR that this process has lowered", b.Name)
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
	sim := &llirsim.Kernel{Target: intrinsics, Module: k.r.LLVM, Name: k.r.Kernel, Threads: k.r.Threads, Shared: k.r.Shared}
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
