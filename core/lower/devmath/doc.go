// Package devmath builds elementary functions as LLVM IR, for scalars of f32
// and f64, so that no vendor's library of bitcode is needed. A target with an
// instruction for one of them uses that instead.
//
// The functions are straight-line code, but for the reduction of large angles,
// which stands behind a branch. The polynomials were fitted to the
// functions at Chebyshev nodes; the comments give the interval and the relative
// error of the polynomial. The functions treat zeros, infinities, NaNs and
// subnormal numbers as IEEE 754 recommends. Logarithms and exponentials err by at
// most about one unit in the last place, the others by one and a half (measured
// by the tests).
package devmath
