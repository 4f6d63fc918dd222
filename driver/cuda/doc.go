// Package cuda has the NVIDIA GPUs of this machine as devices of this process, over
// CUDA's driver API and gorgonia.org/cu. A program imports it to launch kernels at the
// cost of CUDA's own call; cmd/tritonc-device-cuda serves it to tritonc as a plugin, and
// "make device-cuda" builds that.
//
//	dev, err := cuda.Open(0)
//	kernel, err := dev.Load(driver.Binary{Name: "add.cubin", Code: cubin, Metadata: meta})
//	x, err := dev.Alloc("x", 4*n)
//	stream, err := dev.NewStream()
//	_, err = kernel.Launch(ctx, driver.Launch{Grid: grid, Args: []any{x, int32(n)}, Stream: stream})
//	err = stream.Sync(ctx)
//
// Main types: Device, Buffer and Kernel implement those of package driver. A launch on a
// Stream returns at once and makes no event; one without is waited for and timed. Events
// measure and order streams, a Graph repeats launches at the cost of one, and EnablePeer
// and CopyPeer reach other GPUs.
//
// Code of the GPU's own compute capability is loaded as a cubin, older code as PTX, which
// CUDA's just-in-time compiler takes on. A kernel's parameters are the user's and two
// pointers to scratch memory; package image says which sizes the binary gives them, so
// that a wrong launch is an error and not chance.
//
// Invariants: every call of CUDA is made with the GPU's primary context current, and
// leaves the thread's own current again. What CUDA reports after a kernel began is the
// fault of a kernel that was not waited for: one *driver.Fault names it, and all later
// calls return driver.ErrLost, since CUDA refuses them until the process ends.
//
// It is a module of its own and needs cgo, cuda.h and, to start, libcuda.so.1;
// "scripts/device-cuda.sh --env" prints what Go needs to build a program with it. It
// imports driver, driver/image, core/diag and of the SDK the targets.
package cuda
