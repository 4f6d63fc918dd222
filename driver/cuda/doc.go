// Package cuda is the driver of NVIDIA GPUs: an sdk.DeviceDriver over CUDA's
// driver API, through gorgonia.org/cu. cmd/tritonc-device-cuda serves it; "make
// device-cuda" builds that.
//
// Main types: Driver (all of a machine's GPUs), gpu (one of them, with the
// thread that alone calls CUDA), session, buffer, kernel.
//
// Code of the GPU's own compute capability is loaded as a cubin, older code as
// PTX, which CUDA's just-in-time compiler takes on. A kernel's parameters are
// the user's and two pointers to scratch memory; package image says which sizes
// the binary gives them, so that a wrong launch is an error and not chance.
//
// Invariants: every call of CUDA is made by the GPU's own thread, whose current
// context is the GPU's primary one; loading alone, which may compile, has
// threads of its own. Memory lies between two guard zones, which are looked at
// after every launch, and begins as 0xFF bytes (a NaN in all floating-point
// types). What CUDA reports after a kernel began is the kernel's
// fault and leaves the process of no more use.
//
// It is a module of its own and needs cgo, cuda.h and libcuda. It imports the SDK
// and driver/image, nothing else of tritonc.
package cuda
