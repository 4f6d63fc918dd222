// Package lang is triton.language: its types, its values, what its builtins do,
// and the part of its library that is written in Triton itself.
//
//	DType, Pointer, Block, Descriptor   the types of the language, with signedness
//	Tensor, Desc                        run-time values: SSA values with such a type
//	Emitter                             emits operations on values as ttir
//	Builtin                             one row of the table of builtins
//	Lib                                 what one compile sees as the module triton
//
// The rows of the table are in one file a family (memory.go, shape.go,
// reduce.go, …) and are assembled in table.go. Library functions (sum, max,
// zeros, softmax, …) are the .py files under lib, parsed once per process.
//
// A value in a kernel is a Go any: a run-time value of this package, or a
// compile-time value of package eval; *eval.Tuple may hold both. There is no
// constexpr wrapper: what is not a run-time value is one.
//
// A user's mistake is a panic of *eval.Failure (see that package). The texts that
// users search for are Triton's; they are in errors.go.
//
// The package knows no vendor: what depends on the target is data in Facts. It
// imports core/diag, core/ir, core/dialect/… and core/frontend/eval.
package lang
