// Package instructions counts the instructions of functions of f32 on NVIDIA, ours
// beside those of CUDA's libdevice as Triton links it: in a kernel that applies the
// function to one number per thread, what the function adds.
//
// Triton's side is committed (testdata/functions.tsv), so that the comparison is
// part of the suite; with TRITONC_LIBDEVICE naming libdevice's bitcode it is
// measured afresh, by LLVM's link and optimisation as Triton 3.6 has them: O3, and
// subnormal numbers flushed to zero, which ours are not. The table ends
// docs/results/devmath.md; TRITONC_UPDATE=1 rewrites both.
//
// It also writes kernels that compute the functions of all numbers on a GPU
// (TestWriteGPU), for testdata/sweep.py to compare with CUDA's functions of doubles there.
package instructions
