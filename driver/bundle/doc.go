// Package bundle keeps kernels that were compiled ahead of time in one file: their
// arguments, the formulas of their grids, and code for several targets, of which a
// device takes its own.
//
//	b, err := bundle.Open("kernels.bundle") // written by tritonc build --bundle
//	add, err := b.Load("add", dev)
//	result, err := add.Run(ctx, x, y, out, n)
//
// A bundle is a zip archive. Its first file, manifest.json, lists the kernels, their
// variants, and for each of these the file with its code, its size and its SHA-256.
//
// Main types: Bundle, Kernel, Variant, Function (a kernel on a device).
//
// Invariants: the same kernels give the same bytes; what Read returns is as the manifest
// says, with names, sizes and numbers within bounds, whoever made the bytes. Hashes tell
// damage, not forgery: code is as trusted as the file that it comes from.
//
// It imports package driver, driver/kernel and driver/launch/calc, and nothing of the
// compiler but the syntax of expressions.
package bundle
