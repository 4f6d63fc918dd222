package sdk

import (
	"context"
	"errors"
	"time"
)

// DeviceDriver makes the devices of one kind in a machine usable; the author of
// a driver implements it and calls ServeDriver. Its methods may be called at
// the same time from several goroutines. Errors are as those of Backend: a
// *Diagnostic or Diagnostics for what the user did wrong, any other for trouble
// of the machine.
type DeviceDriver interface {
	// Describe lists the devices. Where there are none, it is an error that says
	// why.
	Describe(ctx context.Context) (DeviceFacts, error)
	// Open makes the device of that number ready for code of a target. One that
	// cannot run such code refuses it with a *Diagnostic.
	Open(ctx context.Context, number int, target Target) (Device, error)
}

// DeviceFacts are what a driver answers to Describe.
type DeviceFacts struct {
	// Name of the driver, which tritonc-device-<name> and --device have: "cuda".
	Name string
	// Version of the driver, for people.
	Version string
	// Devices by number.
	Devices []DeviceInfo
}

// DeviceInfo tells devices apart before one is opened.
type DeviceInfo struct {
	Name string
	// Target is what to compile for.
	Target Target
	// Memory in bytes.
	Memory int64
	// Multiprocessors, and MaxShared in bytes of a block; 0 where the driver does not
	// tell.
	Multiprocessors int
	MaxShared       int64
}

// Device is a session with a device. Several sessions may use one device at the
// same time; the methods of one session and of what it made are called one
// after the other.
type Device interface {
	Properties() DeviceProperties
	// Alloc reserves size bytes, 0 or more, at an address that is a multiple of
	// 256, with undefined contents.
	Alloc(ctx context.Context, name string, size int64) (DeviceBuffer, error)
	// Load makes a binary of the stage Properties names ready to be launched.
	Load(ctx context.Context, b DeviceBinary) (DeviceKernel, error)
	// Close frees all that the session made.
	Close() error
}

// DeviceProperties never change.
type DeviceProperties struct {
	Name string
	// Stage names the compile stage whose artifact Load takes; it may depend on
	// the target.
	Stage           string
	WarpSize        int
	Multiprocessors int
	MaxThreads      int // of a block
	MaxShared       int // bytes of a block
	Memory          int64
}

// DeviceBuffer is memory of a device. The SDK keeps accesses inside it.
type DeviceBuffer interface {
	Addr() uint64
	Write(ctx context.Context, offset int64, p []byte) error
	Read(ctx context.Context, offset int64, p []byte) error
	Free() error
}

// DeviceBinary is a compiled kernel. The fields have the meaning of the
// metadata of the same names.
type DeviceBinary struct {
	Name               string // for messages: "add.cubin"
	Code               []byte
	Kernel             string // empty: the only one
	NumWarps, NumCTAs  int    // 0: the code says it
	Cooperative        bool   // all blocks run at once: launch_cooperative_grid
	PDL                bool   // the kernel may start before the one before it has ended: launch_pdl
	Shared             int64
	GlobalScratchSize  int64 // bytes per block
	GlobalScratchAlign int64
	// Metadata is all of the compile's, a JSON object: a backend tells the driver of its
	// devices what else a launch needs by keys of its own. Empty where there are none.
	Metadata string
}

// DeviceKernel is a loaded binary.
type DeviceKernel interface {
	// Launch runs the kernel to its end. What the kernel did wrong is
	// DeviceResult.Fault, not an error. The host ends the process to stop a
	// kernel.
	Launch(ctx context.Context, l DeviceLaunch) (DeviceResult, error)
}

// DeviceLaunch says what to run a kernel on.
type DeviceLaunch struct {
	Grid [3]int
	// Args are the user's; the driver adds scratch memory, as the kernel ABI has
	// it.
	Args []DeviceArg
}

// DeviceArg is memory, or the bytes of a number, little-endian and of the
// parameter's size. Neither is a null pointer.
type DeviceArg struct {
	Buffer DeviceBuffer
	Scalar []byte
	// Map, not nil, says that the parameter is a tensor map of Buffer.
	Map *DeviceTensorMap
}

// DeviceTensorMap describes an array in memory, which the driver makes a tensor map of.
// The slowest dimension comes first.
type DeviceTensorMap struct {
	// Offset of the first element in the buffer, in bytes.
	Offset int64
	// Shape in elements, Strides in bytes, and Box, what one copy moves, in elements.
	Shape, Strides, Box []int64
	// ElemSize is the size of an element in bytes, ElemType its type as PTX's
	// tensormap.replace numbers them.
	ElemSize, ElemType int
	// Swizzle permutes 16-byte pieces of rows in shared memory: 0 not at all, 1, 2 and 3
	// in rows of 32, 64 and 128 bytes.
	Swizzle int
	// NaN says that what is loaded from outside is NaN, not 0.
	NaN bool
}

// DeviceTimer is a Device that measures how long kernels take.
type DeviceTimer interface {
	// Time runs a kernel of the device many times, without waiting between the
	// runs, and returns DeviceResult.Times.
	Time(ctx context.Context, k DeviceKernel, l DeviceLaunch, t DeviceTiming) (DeviceResult, error)
}

// DeviceTiming says how a kernel is measured.
type DeviceTiming struct {
	// Runs are measured, at least 1, after Warmup launches that are not.
	Runs, Warmup int
	// Flush is how many bytes of the L2 cache are overwritten before each run.
	Flush int64
	// Graph captures the runs as one graph, which is replayed GraphReplays times
	// and measured as a whole.
	Graph bool
	// Together measures all runs, with what is overwritten before each, between one
	// pair of events; the one time is the mean of a run. Not with Graph.
	Together bool
}

// GraphReplays is how often Time replays a graph.
const GraphReplays = 10

// DeviceResult is the outcome of a launch.
type DeviceResult struct {
	Time time.Duration
	// Times are those that a DeviceTimer measured: one for each run, or for each
	// replay of a graph, divided by its launches.
	Times []time.Duration
	// Output is what the kernel printed.
	Output []byte
	// Fault is what the kernel itself did wrong.
	Fault []Diagnostic
	// Lost says that the device is of no more use in this process; the host then
	// ends it. Until then all other calls return ErrDeviceLost.
	Lost bool
}

// ErrDeviceLost is what a driver's methods return after a launch that was Lost,
// in all sessions: it was not their fault, and they may try again in another
// process.
var ErrDeviceLost = errors.New("the device was lost in an earlier launch")
