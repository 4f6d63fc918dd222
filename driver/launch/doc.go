// Package launch runs kernels: it makes the signature that follows from the
// arguments, has core compile for it, and hands arrays to a device and back.
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
// It imports core and driver. It must not import a backend or cmd.
package launch
