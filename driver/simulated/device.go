package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/driver/sim/simt"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// Options configure a simulated device. The zero value has all checks on and
// the natural schedule. An NPU takes NoChecks, MaxInstructions, Progress and Estimate; it
// runs all programs of a launch (Sample) on one host core, and prints nothing. New refuses
// Random and Trace for it.
type Options struct {
	// NoChecks turns off the checks that cost time: values never written, races,
	// conflicts between blocks.
	NoChecks bool
	// Workers is how many host cores run blocks; 0 means all.
	Workers int
	// MaxInstructions ends a launch one of whose blocks executes more warp
	// instructions; 0 means 1<<32.
	MaxInstructions uint64
	// Random permutes blocks and warps, by Seed.
	Random bool
	Seed   uint64
	// Output receives what kernels print; nil drops it.
	Output io.Writer
	// Progress, when not nil, is called after each block of a launch that ended,
	// from one goroutine at a time.
	Progress func(done, total int)
	// Waves counts the sectors of memory that resident blocks share.
	Waves bool
	// Estimate has launches' times on the real chip estimated (Result.Estimate).
	Estimate bool
	// Sample executes only so many programs of a launch, spread over its grid, for an
	// estimate that is wanted soon; 0 means all. What the others would write is missing.
	Sample int
	// Trace, when not nil, is called before every instruction of warp TraceWarp
	// of block number TraceBlock (x counts fastest).
	Trace                 func(TraceStep)
	TraceBlock, TraceWarp int
}

// TraceStep is one instruction that a traced warp is about to execute.
type TraceStep = simt.TraceStep

// chips are the devices that stand for a target, by a pattern over it.
var chips = [...]struct {
	pattern string
	chip    sim.Chip
}{
	{"cuda:80", sim.A100},
	{"cuda:86", sim.A10},
	{"cuda:89", sim.L40},
	{"cuda:90", sim.H200},
	{"hip:gfx90a", sim.MI210},
	{"hip:gfx942", sim.MI300X},
	{"hip:gfx950", sim.MI355X},
	{"hip:gfx1100", sim.RX7900},
	{"hip:gfx1200", sim.RX9060},
}

// languages are what the simulator executes, by the backend of a target: the stage
// whose artifact it is, and how it is loaded.
var languages = map[string]struct {
	stage string
	load  func(file string, text []byte) (*sim.Module, error)
}{
	"cuda": {"ptx", sim.Load},
	"hip":  {"amdgcn", sim.LoadAMDGCN},
}

// stage is the stage whose artifact the device executes.
func (d *device) stage() string { return languages[d.target.Backend].stage }

// New makes a simulated device of a target.
func New(target target.Target, opts Options) (driver.Device, error) {
	if target.Backend == chip.Backend {
		return newNPU(target, &opts)
	}
	for i := range chips {
		if !target.Matches(chips[i].pattern) {
			continue
		}
		return &device{
			target: target,
			chip:   chips[i].chip,
			queue:  make(queue, 1),
			dev: sim.New(sim.Options{
				Chip: chips[i].chip, NoChecks: opts.NoChecks, Workers: opts.Workers,
				MaxInstructions: opts.MaxInstructions, Random: opts.Random, Seed: opts.Seed, Output: opts.Output,
				Progress: opts.Progress, Waves: opts.Waves,
				Estimate: opts.Estimate, Sample: opts.Sample, Trace: opts.Trace, TraceBlock: opts.TraceBlock, TraceWarp: opts.TraceWarp,
			}),
		}, nil
	}
	known := ""
	for i := range chips {
		known += " " + chips[i].pattern
	}
	known += " " + chip.Backend + ":ascend*"
	return nil, fmt.Errorf("no simulated device executes code for %s; there is one for%s", target, known)
}

// All are the properties of every simulated device.
func All() []driver.Properties {
	all := make([]driver.Properties, len(chips), len(chips)+len(chip.All()))
	for i := range chips {
		backend, arch, _ := strings.Cut(chips[i].pattern, ":")
		d := device{target: target.Target{Backend: backend, Arch: arch, WarpSize: chips[i].chip.Lanes}, chip: chips[i].chip}
		all[i] = d.Properties()
	}
	for _, c := range chip.All() {
		all = append(all, propertiesOf(c))
	}
	return all
}

type device struct {
	target target.Target
	chip   sim.Chip
	dev    *sim.Device
	queue
}

// queue lets one thing be done at a time: it holds a token meanwhile.
type queue chan struct{}

// begin waits until all that others asked for is done; the caller calls end.
func (q queue) begin() { q <- struct{}{} }
func (q queue) end()   { <-q }

// beginOr is begin that gives up when ctx ends.
func (q queue) beginOr(ctx context.Context) error {
	select {
	case q <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *device) Properties() driver.Properties {
	c := &d.chip
	return driver.Properties{
		Name: "simulated " + c.Name, Stage: d.stage(), Target: d.target, WarpSize: c.Lanes, Multiprocessors: c.SMs,
		MaxThreads: c.MaxThreads, MaxShared: c.SharedBlock, Memory: c.Memory, Simulated: true,
	}
}

func (d *device) Alloc(name string, size int) (driver.Buffer, error) {
	d.begin()
	defer d.end()
	b, err := d.dev.TryAlloc(name, size)
	if err != nil {
		return nil, err
	}
	return &buffer{d, b}, nil
}

func (d *device) Close() error { return nil }

type buffer struct {
	dev *device
	b   *sim.Buffer
}

func (b *buffer) Addr() uint64 { return b.b.Addr() }

func (b *buffer) Size() int {
	b.dev.begin()
	defer b.dev.end()
	return b.b.Len()
}

// inside refuses n bytes at off that do not lie in a buffer of a size.
func inside(size, off, n int) error {
	if off < 0 || off+n > size {
		return fmt.Errorf("bytes %d to %d of a buffer of %d", off, off+n, size)
	}
	return nil
}

func (b *buffer) Write(off int, p []byte) error {
	b.dev.begin()
	defer b.dev.end()
	if err := inside(b.b.Len(), off, len(p)); err != nil {
		return err
	}
	b.b.Write(off, p)
	return nil
}

func (b *buffer) Read(off int, p []byte) error {
	b.dev.begin()
	defer b.dev.end()
	if err := inside(b.b.Len(), off, len(p)); err != nil {
		return err
	}
	copy(p, b.b.Read()[off:])
	return nil
}

func (b *buffer) Free() error {
	b.dev.begin()
	defer b.dev.end()
	b.b.Free()
	return nil
}

func (d *device) Load(b driver.Binary) (driver.Kernel, error) {
	mod, err := languages[d.target.Backend].load(b.Name, b.Code)
	if err != nil {
		return nil, err
	}
	mod.Usage = simt.Usage{Registers: b.Registers, SpillStores: b.SpillStores, SpillLoads: b.SpillLoads}
	k := &kernel{dev: d, mod: mod, meta: b.Metadata}
	if names := mod.Kernels(); k.meta.Kernel == "" && len(names) == 1 {
		k.meta.Kernel = names[0]
	}
	f := mod.Func(k.meta.Kernel)
	if f == nil || !f.Kernel {
		return nil, fmt.Errorf("%s has no kernel %q; it has %q", b.Name, k.meta.Kernel, mod.Kernels())
	}
	k.block = sim.Dim(d.chip.Lanes * k.meta.NumWarps)
	if k.meta.NumWarps == 0 {
		k.block = f.ReqBlock
	}
	if k.block[0] == 0 {
		return nil, fmt.Errorf("%s does not say how many threads a block of %s has", b.Name, f.Name)
	}
	props := d.Properties()
	if err := props.Fits(&k.meta); err != nil {
		return nil, err
	}
	size := max(f.Cluster[0]*f.Cluster[1]*f.Cluster[2], 1)
	if n := max(b.NumCTAs, 1); b.NumCTAs != 0 && n != size {
		return nil, fmt.Errorf("kernel %s wants clusters of %s, and its code says %d", f.Name, diag.Count(n, "block"), size)
	}
	if size > max(d.chip.MaxCluster, 1) {
		return nil, fmt.Errorf("kernel %s wants clusters of %s; the %s has none", f.Name, diag.Count(size, "block"), d.Properties().Name)
	}
	k.ctas = size
	return k, nil
}

type kernel struct {
	dev   *device
	mod   *sim.Module
	meta  driver.Metadata
	block [3]int // threads
	ctas  int    // blocks of a cluster, which lie along x
}

// scratchParams are the parameters after the user's.
const scratchParams = 2

func (k *kernel) Launch(ctx context.Context, l driver.Launch) (*driver.Result, error) {
	if l.Stream != nil {
		return nil, fmt.Errorf("launching %s on a stream: %w", k.meta.Kernel, driver.ErrNoStreams)
	}
	if want, got := len(k.mod.Func(k.meta.Kernel).Params)-scratchParams, len(l.Args); want != got {
		return nil, fmt.Errorf("kernel %s takes %s, given %d", k.meta.Kernel, diag.Count(want, "argument"), got)
	}
	args := make([]any, len(l.Args), len(l.Args)+scratchParams)
	for i, a := range l.Args {
		switch v := a.(type) {
		case *buffer:
			a = v.b
		case *driver.TensorMap:
			if err := v.Check(); err != nil {
				return nil, fmt.Errorf("argument %d of kernel %s: %w", i, k.meta.Kernel, err)
			}
			a = encodeMap(v)
		}
		args[i] = a
	}
	if err := k.dev.beginOr(ctx); err != nil {
		return nil, err
	}
	defer k.dev.end()
	if k.meta.GlobalScratch > 0 {
		size := k.ctas * k.meta.GlobalScratch
		for _, n := range l.Grid {
			if hi, lo := bits.Mul64(uint64(size), uint64(n)); hi != 0 || lo > math.MaxInt {
				return nil, fmt.Errorf("kernel %s needs %s of scratch memory for each of %v programs: the %s has no room",
					k.meta.Kernel, diag.Count(k.ctas*k.meta.GlobalScratch, "byte"), l.Grid, k.dev.Properties().Name)
			}
			size *= n
		}
		b, err := k.dev.dev.TryAlloc("scratch", size)
		if err != nil {
			return nil, err
		}
		defer b.Free()
		args = append(args, b)
	}
	l.Grid[0] *= k.ctas
	if k.meta.Cooperative {
		blocks, most := l.Grid[0]*l.Grid[1]*l.Grid[2], k.dev.chip.Resident(k.block[0]*k.block[1]*k.block[2], k.meta.Shared)
		if blocks > most {
			return nil, fmt.Errorf("kernel %s is launched cooperatively, all %s at once; the %s holds %d of its blocks",
				k.meta.Kernel, diag.Count(blocks, "block"), k.dev.Properties().Name, most)
		}
	}
	start := time.Now()
	rep, err := k.dev.dev.LaunchContext(ctx, k.mod, k.meta.Kernel, l.Grid, k.block, k.meta.Shared, args...)
	took := time.Since(start)
	var findings *simt.FindingsError
	if errors.As(err, &findings) {
		fault := &driver.Fault{Kernel: k.meta.Kernel}
		for _, f := range findings.Findings {
			fault.Findings = append(fault.Findings, diagnostic(f, k.dev.stage()))
		}
		err = fault
	}
	if rep == nil {
		return nil, err
	}
	result := &driver.Result{Time: took, Report: rep}
	if rep.Estimate != nil {
		result.Estimate = rep.Estimate.Time
	}
	return result, err
}

// encodeMap is a tensor map as the simulator lays it out.
func encodeMap(m *driver.TensorMap) []byte {
	t := sim.TensorMap{
		Address: m.Buffer.Addr() + uint64(m.Offset), Type: m.ElemType, Swizzle: m.Swizzle, NaN: m.NaN,
	}
	for i := range slices.Backward(m.Shape) { // the simulator counts from the fastest on
		t.Dims, t.Box = append(t.Dims, m.Shape[i]), append(t.Box, m.Box[i])
		t.Strides = append(t.Strides, m.Strides[i])
	}
	return t.Encode()
}

// diagnostic gives a finding of the simulator the form of every message.
func diagnostic(f *simt.Finding, stage string) *diag.Diagnostic {
	place := func(l simt.Loc) diag.Pos { return diag.Pos{File: l.File, Line: l.Line, Col: l.Col} }
	d := diag.Errorf(diag.Pos{}, "%s: %s", f.Kind, f.Message)
	who := fmt.Sprintf("by block (%d, %d, %d)", f.Block[0], f.Block[1], f.Block[2])
	if f.Warp >= 0 {
		who += fmt.Sprintf(", warp %d, lane %d", f.Warp, f.Lane)
	}
	if f.Line > 0 {
		who += fmt.Sprintf("; %s in line %d of the %s", f.Inst, f.Line, stage)
	}
	if f.Count > 1 {
		who += fmt.Sprintf("; and %d times more there", f.Count-1)
	}
	for i, l := range f.Where {
		if i == 0 {
			d.Pos = place(l)
		} else {
			d.WithNote(place(l), "called from here")
		}
	}
	return d.WithNote(diag.Pos{}, "%s", who)
}
