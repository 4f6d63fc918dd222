// Package hip is the driver of AMD GPUs, over HIP's library of ROCm 6 or later, which it
// opens when it is first asked for a device. cmd/tritonc-device-hip serves it to tritonc
// as a plugin. It has not met hardware: it is tested with a stand-in for the library
// (internal/hipstandin).
//
// New returns the driver; package driver/native has what is not HIP's own, sessions and
// measurements, and calls the library by its interface. The devices take code objects
// (stage hsaco) for their own architecture. Parameters of a kernel are the user's and two
// pointers, to scratch memory of the kernel's own and of a profiler; package image says
// which sizes the code object gives them, so that a wrong launch is an error and not chance.
// Dynamic LDS needs no permission, as CUDA's shared memory above 48 KiB does: the launch
// says how much, up to what the device has.
//
// It needs neither cgo nor HIP's headers (github.com/ebitengine/purego calls the library),
// and is for Linux. It imports driver for the words about resources, driver/image,
// driver/native, core/diag and the SDK.
package hip
