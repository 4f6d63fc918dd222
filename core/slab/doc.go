// Package slab allocates many values of a type at a time, for what a compile makes
// thousands of and drops at once: operations, instructions, nodes of a syntax tree.
// Half of what they cost one by one is the allocator's call for each.
//
// A chunk lives as long as anything that refers into it. So a slab belongs to what all
// of its values die with: a context, a function, a tree. A slab is for one goroutine,
// and nothing goes back to it.
// The package is a leaf: it imports nothing.
package slab
