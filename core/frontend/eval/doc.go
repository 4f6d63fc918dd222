// Package eval is compile-time Python: the values a kernel file computes before
// any code exists, and the part of the language that computes them.
//
//	File      a parsed file with an index of what its top level binds; immutable,
//	          shared by all compiles
//	Module    one compile's view of a File: names are evaluated when first asked
//	          for, and only the statements that bind them
//	Session   what the modules of one compile share: imports, the step budget
//	Function  a def with what its decorators say (jit, constexpr_function, …)
//
// Python values are Go values: nil (None), bool, int64, *big.Int (only for what
// int64 does not hold), float64, string, Bytes, *Tuple, *List, *Dict, *Set,
// *Range, *Function, *Native, *Class, *Instance, *Module, *Type, and whatever
// package lang adds (dtypes, builtins, run-time values), which takes part
// through the small interfaces of object.go.
//
// A name that comes from a module that is not here is a *Missing: it may be
// imported, passed on and decorated with, and is an error only when something
// needs to know what it is.
//
// A user's mistake travels up as a panic of *Failure, which Try turns into a
// diagnostic at the package's border; it never leaves the front end. Evaluation
// does no I/O and stops when the session's step budget is spent.
//
// The package imports core/diag, core/frontend/syntax and the standard library.
package eval
