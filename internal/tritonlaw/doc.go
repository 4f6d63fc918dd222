// Package tritonlaw holds tritonc against Triton 3.6.0: tests that compile the
// same kernels and compare what comes out with what Triton made of them.
package tritonlaw
