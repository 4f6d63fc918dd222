// Package codegen compiles @triton.jit functions: from the tree of a Python
// function, the types of its arguments and the values of its constants, to
// ttir as Triton's own front end builds it.
//
//	Build   one kernel with one signature to a module
//	unit    one compile: the module, the functions compiled so far
//	gen     one function being compiled: its scope, its place in the IR
//
// The tree is walked once. What a loop carries is found by the names that its
// body assigns, so nested loops cost what they hold; Triton visits each body
// twice. Where Triton emits code that can never run (after a return) or whose
// result nobody reads (overflow checks without debug), nothing is emitted.
//
// Locations follow Triton's: the place of an operation is the node that was
// visited last, which for a call is its last argument, and the variable being
// assigned wraps it as a NameLoc.
//
// The package imports core/ir, core/dialect/…, core/frontend/{syntax,eval,lang}.
package codegen
