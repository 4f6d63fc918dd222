// Package launch runs kernels: it makes the signature that follows from the
// arguments, has core compile for it, and launches what was compiled.
//
// A Function is for programs: a kernel of a file whose launches compile what they need,
// on memory that stays on the device (package driver/kernel).
//
//	add, err := launch.New(ctx, launch.Options{Source: src, Device: dev, Compile: core.Options{Select: host.Select}})
//	x, err := kernel.From(dev, []float32{1, 2, 3})
//	result, err := add.Launch(ctx, kernel.Dims(1), x, out, x.Len(), 1024)
//
// Compile is for a single launch, on arrays of the host that go to a device and back:
//
//	k, err := launch.Compile(ctx, launch.Request{Source: src, Kernel: "add", Args: args, …})
//	result, err := k.Run(ctx, grid)
//
// Prepare is the first half of Compile: what it returns knows the constants that
// the kernel's decorators give, on which a grid may depend.
//
// The rules of specialization are Triton's, with the backend's numbers: an
// integer that is a multiple of 16, and a pointer aligned to 16, is marked so;
// an integer 1 becomes a constant; parameters that are tl.constexpr take their
// value as a Python expression.
//
// Invariants: a Function may be used by several goroutines, a Kernel by one. It imports
// core and driver. It must not import a backend or cmd.
package launch
