// Package triton holds tritonc against Triton 3.6.0: tests that compile the
// same kernels and compare what comes out with what Triton made of them.
//
//	TestTTIR      the 45 kernels of the reference benchmark
//	TestSmall     three thousand small kernels, a construct of the language each, and random ones
//	TestGrid      the operations of the language by types and literals
//	TestManifest  public kernels of many repositories, where they are checked out
//
// Triton's answers are in testdata. Nothing here needs Triton but to renew them:
// bench/triton_small.py and bench/triton_verdicts.py do.
package triton
