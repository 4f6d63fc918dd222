// Package driver is what a program needs of a device: properties, memory, to
// load a binary, to launch its kernel, and how long that took.
//
//	dev, err := simulated.New(target, simulated.Options{})
//	kernel, err := dev.Load(driver.Binary{Name: "add.ptx", Code: ptx, Metadata: meta})
//	x, err := dev.Alloc("x", 4*n)
//	err = x.Write(0, bytes)
//	result, err := kernel.Launch(ctx, driver.Launch{Grid: [3]int{blocks, 1, 1}, Args: []any{x, int32(n)}})
//
// A Device makes Buffers and Kernels. Package driver/simulated has simulated ones,
// which execute PTX on the host; package driver/remote has real ones, through driver
// plugins.
//
// The kernel ABI is Triton's: the user's arguments in order, without constants,
// then two pointers to scratch memory, which the device provides.
//
// Invariants: a Buffer or Kernel works with the Device that made it alone. All of
// them may be used by several goroutines: a Device does what they ask one after the
// other, as on one stream, so those that want to work side by side open a Device
// each. The package imports no device: neither the simulator nor plugins, and nothing
// of the compiler.
package driver
