// Package devmath builds elementary functions as LLVM IR, for scalars of f32
// and f64, so that no vendor's library of bitcode is needed. A target with an
// instruction for one of them uses that instead.
//
// Each function is straight-line code. The polynomials were fitted to the
// functions at Chebyshev nodes; the comments give the interval and the relative
// error of the polynomial. The functions treat zeros, infinities, NaNs and
// subnormal numbers as IEEE 754 recommends, and err by at most about one unit
// in the last place (measured by the tests).
package devmath
