// Package gocode writes the Go package of a bundle of kernels: one typed method a
// kernel, which launches the variant that fits its arguments.
//
// The package embeds the bundle, and driver/bundle does the rest, so that what is
// generated is short, and the same for the same kernels.
//
// It imports driver/bundle and Go's own library.
package gocode
