// Package kernels has the numeric tests of kernels that were written by hand: those
// of the front end's test files, the examples, and the kernels that once showed a
// fault. Package numeric, beside it, generates its kernels.
//
// When all tests ran, the package fails if none of them ran an operation of dialect
// tt, a golden kernel of the front end, or a reference kernel on a target that Triton
// compiled it for.
package kernels
