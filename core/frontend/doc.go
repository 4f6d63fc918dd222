// Package frontend turns a Python file, a kernel of it and a signature into
// ttir, as Triton's own front end would.
//
//	Parse       a file, once
//	Kernels     what it defines, for messages and listings
//	Signatures  the variants that its comments ask for
//	Build       one kernel with one signature, in an ir.Context of its own
//
// A File is immutable: any number of Builds may run on it at once, each with
// its own context.
//
// The rooms behind it: syntax (the tree), eval (compile-time Python), lang
// (triton.language), codegen (tree to ttir), signature. It knows no vendor;
// what depends on the target is data in Facts.
package frontend
