// Package sharedmem has the types of buffers in shared memory that tensors
// pass through, and the order of their dimensions. It uses package tensors.
package sharedmem
