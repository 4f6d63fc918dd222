// Package ttg is the table of the dialect that adds layouts and shared memory
// to Triton's IR: conversions between layouts, buffers in shared memory,
// asynchronous copies, warp specialisation. Encodings themselves are in package
// encoding. What one vendor's hardware alone has is in that vendor's
// backend and arrives as a declaration.
package ttg

//go:generate go run github.com/tritonc/tritonc/internal/opviews ttg
