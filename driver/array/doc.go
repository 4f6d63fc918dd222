// Package array holds the arrays that a host gives to kernels and takes back:
// elements of any of Triton's types, as a device's memory has them.
//
//	DType   an element type by its Triton name: fp16, i32, fp8e4nv
//	Array   a type, a shape, and the elements' bytes, row by row
//
// Elements are read and written as float64 or int64 and rounded once, to nearest
// even. The package also makes arrays (ranges, random values) and compares them
// with a tolerance.
//
// It is a leaf: it imports nothing of ours.
package array
