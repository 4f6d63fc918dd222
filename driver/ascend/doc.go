// Package ascend is the driver of Ascend NPUs, over the libraries of the vendor's CANN 8 or
// later, which it opens when it is first asked for a device. cmd/tritonc-device-ascend
// serves it to tritonc as a plugin. It has not met hardware: it is tested with a stand-in
// for the libraries (internal/ascendstandin).
//
// New returns the driver; package driver/native has what is not Ascend's own, sessions and
// measurements, and calls the libraries by its interface. Devices, memory, streams and
// events are those of libascendcl.so (the functions acl…, aclrt…), code and launches those
// of libruntime.so (rt…), which triton-ascend launches by.
//
// Devices take what the vendor's compiler makes (stage npubin), and the kernel's metadata
// say the rest (launchFacts). A launch has one dimension, grid x·y·z, of at most 65535
// blocks. The kernel gets one struct (pack.go):
//
//	ffts_addr       where cores synchronize; on chips with FFTS alone
//	syncBlockLock   locks, or null
//	workspace       memory for all blocks, or null
//	arguments       the user's, aligned to 8 bytes if they have 8, else to 4
//	gridX, gridY, gridZ  i32
//
// Functions, constants and structs are those of the headers of the runtime that the vendor
// publishes (gitcode.com/cann/runtime: include/external/acl, pkg_inc/runtime, read at its
// release 9.2.0-beta.1); those of libruntime.so are deprecated there, and still exported.
// The struct is that of triton-ascend's launcher at a84b1eb52.
//
// By its sources the runtime copies names and arguments in the call, and knows the chip's
// name before a device is chosen.
//
// What public sources do not confirm: that the sources' ABI is that of all CANN 8; that the
// L2 cache is emptied by overwriting memory of its size; and where a kernel looks for a
// half-precision number. It is written as its two bytes, and triton-ascend writes a float of
// 32 bits there. The compiled code does not tell its parameters, so arguments are not
// checked against them.
//
// Not supported: kernels of the 950's SIMT mode, which have another struct, and
// device_print.
//
// It needs neither cgo nor the vendor's headers (github.com/ebitengine/purego calls the
// libraries), and is for Linux. It imports backends/npu/chip for the names and sizes of
// chips, driver/native, core/diag and the SDK.
package ascend
