// Package masks finds and narrows the masks of operations that access memory.
package masks
