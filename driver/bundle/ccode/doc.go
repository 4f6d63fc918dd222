// Package ccode writes C for a bundle of kernels: what Triton's ahead-of-time tools
// compile.py and link.py write, under the same names and with the same rules, so that a
// program made for these needs no change.
//
//	OUT.HASH_SUFFIX.c, .h    a variant: its code, load_, unload_ and the launch
//	OUT.c, OUT.h             of each kernel the dispatch over variants
//
// With several kernels the former are OUT.KERNEL.HASH_SUFFIX.c and .h.
//
// HASH is of the signature and num_warps and num_stages; SUFFIX numbers the parameters,
// with c after one that is 1, and d after a multiple of 16. A header's line tt-linker
// says what link.py wants to know.
//
// What differs: numbers of type fp32 are float, not double, which Triton 3.6 would have
// the kernel read half of, and fp16 and bf16 are their bits; an error of a launch is
// returned, also that of loading before it; a grid of no programs is a success; several
// kernels may share OUT; clusters and cooperative launches are launched as such.
//
// The code is for CUDA's driver API. The package imports driver/bundle, what it
// imports, and Go's own library.
package ccode
