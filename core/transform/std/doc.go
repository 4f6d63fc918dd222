// Package std has the passes that every pipeline shares and that look at no
// tensor: inline, canonicalize, cse, symbol-dce. Their names and what they
// guarantee are MLIR's.
package std
