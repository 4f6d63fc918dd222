// Package expr evaluates array expressions: what a kernel should compute, as one
// writes it with NumPy or PyTorch.
//
//	softmax(q @ k.mT * scale + where(tril(ones((n, n))) == 0, -inf, 0)) @ v
//
// An expression is Python's grammar over named values. Its values are
//
//	int64, float64, bool   numbers, with Python's arithmetic
//	*Tensor                arrays: bools, 64-bit integers, or float64
//	[]any                  tuples and lists, which are shapes and axes
//	*array.DType           element types, for casts
//	nil                    None
//
// Arithmetic on floats is done in float64 whatever the arrays hold; a cast rounds
// to the type it names, once and to nearest even. Arithmetic on integers wraps at
// 64 bits. Shapes broadcast as NumPy's do, and an axis may be negative.
//
// Errors are *diag.Diagnostic with the shapes in the message and a mark below the
// part of the expression that is wrong. No value has more than MaxElements
// elements, and an evaluation ends when its context does.
//
// The package imports the Python parser, package calc for arithmetic on numbers,
// and package array.
package expr
