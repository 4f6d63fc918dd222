// Package kerneltest lets a test compile a kernel, run it on the simulated GPU,
// and compare what comes out with an independent reference:
//
//	x, out := kerneltest.Randn(r, "fp32", n), kerneltest.Empty("fp32", n)
//	kerneltest.Kernel{File: "add.py", Name: "add"}.Run(t, kerneltest.Grid(cdiv(n, 256)), x, out, n, 256)
//	kerneltest.Near(t, "out", out, want, 1e-6, 0)
//
// The trip is the product's own: core.Compile with the backend for NVIDIA
// devices, in this process, up to PTX, then package driver/launch on the device
// of package driver. Arguments are given in the order of the kernel's
// parameters, constants included; the signature follows from them. Memory that
// nobody wrote is poisoned, and everything that the simulator reports (races,
// accesses out of bounds, values never written) fails the test. Where LLVM is
// not installed, the test is skipped with the reason.
//
// TRITONC_DEVICE=cuda has all this happen on a GPU instead (device.go), and
// TRITONC_KERNELS keeps what was compiled, for a machine that cannot (store.go).
//
// test/kernels and test/numeric are the suites that use it.
package kerneltest
