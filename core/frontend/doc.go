// Package frontend compiles a kernel of a Python file, for a signature, to
// ttir, as Triton's own front end would.
//
//	Parse     a file, once
//	File.In   the file as a Program: in one environment, which is the target's
//	          facts, imports, definitions and a list of configurations
//	Kernels   what the program defines, for messages and listings
//	Variants  what to compile of it: signatures completed with what
//	          @triton.autotune and @triton.heuristics add
//	Build     one variant, in an ir.Context of its own
//
// Every question goes to the Program, so that decorators and code at module level
// see the target that the kernel is built for. Files and Programs may be used by
// any number of goroutines at once; each question evaluates the file's code anew,
// as far as it needs it; only builds take up each other's evaluations, where
// nothing can tell.
//
// Its packages: syntax (the tree), eval (compile-time Python), lang
// (triton.language), codegen (tree to ttir), signature. It knows no vendor;
// what depends on the target is data in Facts.
package frontend
