// Package devmath builds elementary and special functions as LLVM IR, for
// scalars of f32 and f64, so that no vendor's library of bitcode is needed. A
// target with an instruction for one of them uses that instead.
//
// The functions are straight-line code with selects; only these are in branches: the
// reduction of large angles, the long divisions of Fmod and Remainder and the loops of
// Jn and Yn. Nothing is read from memory. Common functions of f32 are computed in f32;
// rare ones (Tgamma, Lgamma, Bessel functions) in f64.
//
// internal/mathfit made the polynomials of coefficients.go: those of f64 interpolate
// their functions at Chebyshev's nodes, those of f32 have the least greatest error.
// Where a step must not be rounded, numbers are pairs (pair.go). A GPU that has
// instructions for 2^x, 1/x and 1/√x, nearly right, offers them as an Approx, and
// some functions are shorter with them. The functions treat zeros, infinities, NaNs
// and subnormal numbers as IEEE 754 and C's annex F recommend. Their errors, measured
// against package mathref, are in docs/results/devmath.md.
//
//	devmath.go     logarithms and exponentials
//	single.go      f32 without pairs; approx.go: with a GPU's approximations
//	pair.go        twice the precision
//	power.go       powers, roots, sums of squares
//	trig.go        sine, cosine, tangent, with full reduction
//	inverse.go     their inverses; log1p and expm1
//	hyperbolic.go, erf.go, erfinv.go, gamma.go
//	bessel.go      Bessel functions I; besseljy.go: J and Y
//	bits.go        exponents, neighbours
//	remainder.go   remainders of divisions
//	table.go       functions by name
//
// The package imports core/llir alone and knows no vendor.
package devmath
