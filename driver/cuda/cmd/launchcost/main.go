// Command launchcost measures what a launch of a loaded kernel costs in a Go program that
// imports package cuda, beside CUDA's own call, and whether launches leave memory behind.
//
// A kernel that does nothing is launched in bursts that fit into the GPU's queue; each
// figure is the median of the bursts, in nanoseconds per launch of the host's time. It
// ends with status 1 where a launch costs more than -limit beyond CUDA's call, or where
// memory is missing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/cuda"
	"github.com/tritonc/tritonc/driver/kernel"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// code is a kernel with the parameters of a vector addition.
const code = `.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(
	.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n, .param .u64 scratch, .param .u64 profile)
.reqntid 32
{
	ret;
}
`

func main() {
	number := flag.Int("device", 0, "number of the GPU")
	bursts := flag.Int("bursts", 200, "bursts of each measurement")
	size := flag.Int("burst", 200, "launches of a burst")
	launches := flag.Int("launches", 10000, "launches between the two looks at the memory")
	limit := flag.Duration("limit", 3*time.Microsecond, "what a launch on a stream may cost beyond CUDA's own call")
	flag.Parse()
	ok, err := run(*number, *bursts, *size, *launches, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "launchcost:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// bench is what is measured, on one device.
type bench struct {
	bursts, size int
	dev          *cuda.Device
	stream       *cuda.Stream
	kernel       driver.Kernel
	buffers      []any
}

func run(number, bursts, size, launches int, limit time.Duration) (bool, error) {
	b := &bench{bursts: bursts, size: size}
	if err := b.open(number); err != nil {
		return false, err
	}
	defer b.dev.Close()
	fmt.Printf("%s, CUDA %s, %s\n", b.dev.Properties().Name, cuda.Version(), runtime.Version())
	direct, err := openBare(number, []byte(code), "nothing", b.buffers[0].(driver.Buffer).Addr())
	if err != nil {
		return false, err
	}
	own, err := b.median(func() (time.Duration, error) { return direct.burst(size) })
	if err != nil {
		return false, err
	}
	fmt.Printf("%-58s %7d ns\n", "cuLaunchKernel, from C", own)
	show := func(what string, ns int64, err error) error {
		if err == nil {
			fmt.Printf("%-58s %7d ns  %+7d\n", what, ns, ns-own)
		}
		return err
	}
	ns, err := b.each(direct.launch, direct.sync)
	if err := show("cuLaunchKernel, from Go", ns, err); err != nil {
		return false, err
	}
	ctx := context.Background()
	sync := func() error { return b.stream.Sync(ctx) }
	launched, err := b.each(b.onStream, sync)
	if err := show("Kernel.Launch on a stream", launched, err); err != nil {
		return false, err
	}
	typed, err := b.typed()
	if err != nil {
		return false, err
	}
	bound, err := b.each(typed, sync)
	if err := show("kernel.Function.Launch on a stream, typed arguments", bound, err); err != nil {
		return false, err
	}
	graph, err := b.stream.Capture(func() error {
		for range 100 {
			if err := b.onStream(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	ns, err = b.each(func() error { return graph.Launch(b.stream) }, sync)
	if err := show("a graph of 100 launches, each", ns/100, err); err != nil {
		return false, err
	}
	ns, err = b.each(b.waited, sync)
	if err := show("Kernel.Launch that waits and is timed", ns, err); err != nil {
		return false, err
	}
	kept, err := b.memory(launches)
	return kept && max(launched, bound)-own <= limit.Nanoseconds(), err
}

func (b *bench) open(number int) (err error) {
	older := sdk.Target{Backend: "cuda", Arch: "70", WarpSize: 32} // what the code is for
	if b.dev, err = cuda.OpenWith(number, cuda.Options{Target: older}); err != nil {
		return err
	}
	if b.stream, err = b.dev.NewStream(); err != nil {
		return err
	}
	if b.kernel, err = b.dev.Load(binary()); err != nil {
		return err
	}
	for _, name := range []string{"x", "y", "out"} {
		x, err := b.dev.Alloc(name, 4096)
		if err != nil {
			return err
		}
		b.buffers = append(b.buffers, x)
	}
	return nil
}

func binary() driver.Binary {
	return driver.Binary{Name: "nothing.ptx", Code: []byte(code), Metadata: driver.Metadata{Kernel: "nothing", NumWarps: 1}}
}

func (b *bench) launch() driver.Launch {
	return driver.Launch{Grid: [3]int{1, 1, 1}, Args: []any{b.buffers[0], b.buffers[1], b.buffers[2], int32(1024)}}
}

func (b *bench) onStream() error {
	l := b.launch()
	l.Stream = b.stream
	_, err := b.kernel.Launch(context.Background(), l)
	return err
}

func (b *bench) waited() error {
	_, err := b.kernel.Launch(context.Background(), b.launch())
	return err
}

// typed is a launch through a kernel.Function: it picks the variant whose hints the
// arguments have, and converts them.
func (b *bench) typed() (func() error, error) {
	meta, err := json.Marshal(binary().Metadata)
	if err != nil {
		return nil, err
	}
	params := []kernel.Param{{Name: "x", Type: "*fp32"}, {Name: "y", Type: "*fp32"}, {Name: "out", Type: "*fp32"}, {Name: "n", Type: "i32"}}
	set := &kernel.Set{Name: "nothing", Params: params, Variants: []kernel.Variant{
		{Stage: "ptx", Hints: []int{16, 16, 16, 16}, Metadata: meta, Code: []byte(code)},
		{Stage: "ptx", Metadata: meta, Code: []byte(code)},
	}}
	f, err := set.Load(b.dev)
	if err != nil {
		return nil, err
	}
	var x [3]*kernel.Buffer[float32]
	for i := range x {
		if x[i], err = kernel.Alloc[float32](b.dev, 1024); err != nil {
			return nil, err
		}
	}
	grid := kernel.Dims(1).On(b.stream)
	return func() error {
		_, err := f.Launch(context.Background(), grid, x[0], x[1], x[2], 1024)
		return err
	}, nil
}

// each is the time of one launch of bursts, which sync waits for, outside of the time.
func (b *bench) each(launch, sync func() error) (int64, error) {
	return b.median(func() (time.Duration, error) {
		begin := time.Now()
		for range b.size {
			if err := launch(); err != nil {
				return 0, err
			}
		}
		took := time.Since(begin)
		return took, sync()
	})
}

// median is the nanoseconds of a launch in the middle one of the bursts, after some that
// do not count.
func (b *bench) median(burst func() (time.Duration, error)) (int64, error) {
	var all []int64
	for i := range b.bursts + b.bursts/10 {
		took, err := burst()
		if err != nil {
			return 0, err
		}
		if i >= b.bursts/10 {
			all = append(all, took.Nanoseconds()/int64(b.size))
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// memory launches in all ways and reports whether the GPU and the process have as much
// memory afterwards as before.
func (b *bench) memory(launches int) (bool, error) {
	ctx := context.Background()
	rounds := func(n int) error {
		for i := range n {
			if err := b.onStream(); err != nil {
				return err
			}
			if i%100 != 0 {
				continue
			}
			if err := b.stream.Sync(ctx); err != nil {
				return err
			}
			if err := b.waited(); err != nil {
				return err
			}
		}
		return b.stream.Sync(ctx)
	}
	look := func() (free, resident int64, err error) {
		runtime.GC()
		if free, err = b.dev.FreeMemory(); err == nil {
			resident, err = residentBytes()
		}
		return free, resident, err
	}
	if err := rounds(launches / 10); err != nil { // what CUDA takes once
		return false, err
	}
	free, resident, err := look()
	if err != nil {
		return false, err
	}
	if err := rounds(launches); err != nil {
		return false, err
	}
	freeAfter, residentAfter, err := look()
	if err != nil {
		return false, err
	}
	fmt.Printf("%d launches: the GPU had %d bytes free, and has %d; the process took %d, and takes %d\n", launches, free, freeAfter, resident, residentAfter)
	return freeAfter >= free && residentAfter-resident < 8<<20, nil
}

// residentBytes is this process's memory.
func residentBytes() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}
