// Package syntax reads Python 3.12: a hand-written lexer, a recursive-descent
// parser, and the tree they make.
//
// The tree mirrors CPython's ast node for node and field for field, under Go
// names; positions are those of CPython, because the locations in the IR are
// taken from them. Parse reads a file, ParseExpr one expression. Walk and
// Inspect visit a tree, Unparse prints an expression for a message, Dump prints
// everything for a comparison with CPython.
//
// Left out on purpose: type comments, which CPython's ast too ignores unless
// asked, and the checks of Python's later phases (return outside a function,
// names both global and local, …): a kernel file is compiled function by
// function, and host code need not be understood.
//
// Invariants:
//   - A non-nil error is a *diag.Diagnostic that points into the file.
//   - The depth of a tree is bounded (see limits.go), so that recursion over it
//     cannot overflow Go's stack, which a program does not survive.
//   - Strings in the tree are valid for ever; trees share no mutable state.
//
// The package imports core/diag and the standard library, nothing else.
package syntax
