// Package alias finds the buffers in shared memory that a memory descriptor may
// be, or be a part of: views are followed to what they view, arguments of loops
// and blocks and results of conditions to all that flows into them.
//
// The answer holds for the module as it is. The package imports core/ir and the
// dialects.
package alias
