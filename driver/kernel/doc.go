// Package kernel launches compiled kernels on typed memory of a device. A program
// that carries its kernels compiled needs this package and a device, and no
// compiler:
//
//	add, err := addSet.Load(dev) // a Set, such as tritonc build makes
//	x, err := kernel.From(dev, []float32{1, 2, 3})
//	out, err := kernel.Alloc[float32](dev, x.Len())
//	_, err = add.Launch(ctx, kernel.Dims(1), x, out, x.Len())
//
// Package driver/launch compiles kernels for the arguments of their launches, and
// launches them in the same way.
//
// Main types: Buffer (typed memory), Descriptor (an array in it that a kernel reads
// and writes in blocks), Grid, Arg (an argument by name), Set (a kernel compiled
// ahead of time, for several hints and targets), Function (one on a device), Loaded
// (one variant of it).
//
// Invariants: buffers, functions and what they are made of may be used by several
// goroutines, as the device may; a device runs their launches one after another. A
// launch holds on to nothing when it ends. Wrong arguments are an *ArgError, and
// nothing is launched then.
//
// It imports package driver and its arrays, and nothing of the compiler.
package kernel
