// Package sharedmem has the types and layouts of buffers in shared memory that
// tensors pass through. It uses package tensors.
package sharedmem
