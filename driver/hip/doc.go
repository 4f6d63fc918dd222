// Package hip is the driver of AMD GPUs, over HIP's library of ROCm 6 or later, which it
// opens when it is first asked for a device. cmd/tritonc-device-hip serves it to tritonc
// as a plugin. It has not met hardware: it is tested with a stand-in for the library
// (internal/hipstandin).
//
// Main types: Driver implements sdk.DeviceDriver; the devices that it opens take code
// objects (stage hsaco) for their own architecture, and measure with events. Parameters
// of a kernel are the user's and two pointers, to scratch memory of the kernel's own and
// of a profiler; package image says which sizes the code object gives them, so that a
// wrong launch is an error and not chance.
//
// Invariants: every call of HIP is made by a thread whose current device is the session's.
// A session's launches run on a stream of its own and are waited for, so that nothing runs
// when memory is copied or freed. What HIP reports after a kernel began is the kernel's
// fault, and the device is then lost. Dynamic LDS needs no permission, as CUDA's shared
// memory above 48 KiB does: the launch says how much, up to what the device has.
//
// It needs neither cgo nor HIP's headers (github.com/ebitengine/purego calls the library),
// and is for Linux. It imports driver for the words about resources, driver/image, core/diag
// and the SDK.
package hip
