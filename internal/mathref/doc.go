// Package mathref computes elementary and special functions with about 200
// correct bits, over math/big. It is what package devmath's tests measure
// against and what its polynomials are fitted to (see mathfit), and shares no
// method with the functions that it judges.
//
// Arguments are finite. A function returns nil where the result is not a real
// number, and an infinite big.Float at a pole. Results are new values.
//
// The series and continued fractions are those of Abramowitz and Stegun's
// Handbook of Mathematical Functions: 4.4.42, 7.1.6, 7.1.14, 6.1.40, 9.1.10,
// 9.1.11, 9.2.5, 9.6.10.
package mathref
