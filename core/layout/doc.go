// Package layout is the mathematics of where the elements of a tensor live.
//
// It is a leaf: standard library only, no IR, no vendor.
package layout
