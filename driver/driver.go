package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// Device is something that runs kernels. Devices are compared by ==.
type Device interface {
	// Properties never change.
	Properties() Properties
	// Alloc reserves size bytes of device memory, aligned to at least 256, with
	// undefined contents. The name shows in reports.
	Alloc(name string, size int) (Buffer, error)
	// Load makes a binary of the stage Properties.Stage ready to be launched.
	Load(b Binary) (Kernel, error)
	// Close gives everything back, buffers and kernels included. A real device
	// may be open several times, for goroutines of their own.
	Close() error
}

// Properties describe a device.
type Properties struct {
	// Name is for people: "simulated A100".
	Name string
	// Stage names the compile stage whose artifact Load takes: "ptx", "cubin".
	Stage string
	// Target is what the device takes code for; zero where it is not known.
	Target target.Target
	// WarpSize is the number of threads that execute together.
	WarpSize int
	// Multiprocessors each hold several blocks at a time.
	Multiprocessors int
	// MaxThreads is the most threads of a block.
	MaxThreads int
	// MaxShared is the most bytes of shared memory of a block.
	MaxShared int
	// Memory is the size of the device's memory in bytes.
	Memory int64
	// Simulated devices have times that tell nothing of a real one's.
	Simulated bool
	// Timelines says that reports of launches are Timelines.
	Timelines bool
}

// Buffer is an allocation of device memory.
type Buffer interface {
	// Addr is the address as kernels see it.
	Addr() uint64
	// Size in bytes.
	Size() int
	// Write copies p to byte off; Read copies from there into all of p. Both
	// fail when that leaves the buffer.
	Write(off int, p []byte) error
	Read(off int, p []byte) error
	// Free gives the memory back.
	Free() error
}

// Binary is a compiled kernel.
type Binary struct {
	// Name stands for the binary in messages.
	Name string
	Code []byte
	Metadata
}

// Metadata is the part of a compile's metadata that a launch needs. The JSON
// names are Triton's.
type Metadata struct {
	// Kernel is the function's name; "" is that of the only one.
	Kernel string `json:"name"`
	// NumWarps of a block; 0 where the binary says it.
	NumWarps int `json:"num_warps"`
	// NumCTAs are the blocks of the cluster that a program is; 0 is 1.
	NumCTAs int `json:"num_ctas"`
	// Cooperative has all blocks run at once, and PDL lets the kernel start before
	// the one before it has ended (programmatic dependent launch).
	Cooperative bool `json:"launch_cooperative_grid"`
	PDL         bool `json:"launch_pdl"`
	// Shared is the dynamic shared memory of a block in bytes.
	Shared int `json:"shared"`
	// GlobalScratch is the scratch memory of a block in bytes, and how it must
	// be aligned.
	GlobalScratch      int `json:"global_scratch_size"`
	GlobalScratchAlign int `json:"global_scratch_align"`
	// Registers of a thread, and the bytes that it stores to memory and loads again for
	// lack of them; 0 where the compile did not go as far as machine code.
	Registers   int `json:"registers"`
	SpillStores int `json:"spill_stores"`
	SpillLoads  int `json:"spill_loads"`
	// Descriptors says of each parameter that is a tensor descriptor, in order, how
	// its tensor map is made; a nil one is passed in its parts, as all are where there
	// are none.
	Descriptors []*DescriptorMeta `json:"tensordesc_meta"`
	// Object is the whole, for devices whose backend tells them more; nil where nothing is
	// known.
	Object json.RawMessage `json:"-"`
}

// ParseMetadata reads what a compile returns beside its artifacts; nothing is
// known of the kernel where text is empty.
func ParseMetadata(text []byte) (Metadata, error) {
	var m Metadata
	if len(text) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("metadata: %w", err)
	}
	m.Object = text
	return m, nil
}

// Kernel is a loaded binary.
type Kernel interface {
	// Launch runs the kernel to its end, or until ctx ends: then the error is
	// ctx's. A *Fault tells what the kernel itself did wrong; then there is a
	// Result, too, unless the fault took the device's memory with it.
	Launch(ctx context.Context, l Launch) (*Result, error)
}

// Launch says what to run a kernel on.
type Launch struct {
	// Grid is the number of blocks in each dimension, all at least 1.
	Grid [3]int
	// Args fill the kernel's parameters in order: a Buffer, or nil for a null
	// pointer, a *TensorMap, else a Go integer, bool or float of the parameter's size
	// (uint16 for the bits of a half, uint64 for an address inside a Buffer).
	Args []any
	// Stream has Launch return as soon as the kernel is in the queue, with an empty
	// Result; nil waits for its end. Memory that is freed meanwhile stays until then.
	Stream Stream
}

// Result is the outcome of a launch.
type Result struct {
	// Time the kernel took; of a simulated device, that of the simulation.
	Time time.Duration
	// Estimate is what a simulated device takes for the time on the chip that it
	// stands for; 0 where it was not asked, and on real devices.
	Estimate time.Duration
	// Report holds what the device counted; nil where it counts nothing.
	Report Report
}

// Report is what a device observed of a launch.
type Report interface {
	// WriteTable prints for people, WriteJSON one JSON object and a newline.
	WriteTable(w io.Writer) error
	WriteJSON(w io.Writer) error
}

// Timeline is a Report that can be drawn: what the parts of the device did over time.
type Timeline interface {
	Report
	// WriteTimeline writes the picture as SVG.
	WriteTimeline(w io.Writer) error
}

// Fault is a launch that the device found fault with: an access out of bounds,
// a race, a deadlock.
type Fault struct {
	Kernel string
	// Findings have the place in the kernel's source, under the name that the
	// source has in line information.
	Findings diag.List
}

func (f *Fault) Error() string { return "kernel " + f.Kernel + ": " + f.Findings.Error() }

// Unwrap gives the findings as an error of their own.
func (f *Fault) Unwrap() error { return f.Findings }
