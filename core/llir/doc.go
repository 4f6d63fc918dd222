// Package llir builds LLVM IR (textual, LLVM 22) over the structs of
// github.com/llir/llvm and prints it.
//
// The library gives the tree: ir.Module, ir.Func, ir.Block, ir.InstAdd and so
// on. This package adds what it lacks for LLVM 17 and newer, and what a code
// generator wants:
//
//   - Ptr and BFloat, the opaque pointer and the bfloat type; Int and Float,
//     constants that are exact in every bit; Or, ZExt and Trunc with the flags
//     disjoint, nneg and nuw/nsw.
//   - Module and Func, which intern constants and types (equal means same
//     pointer within one Module), declare intrinsics once, and hold debug
//     information.
//   - Builder, which folds and shares as it builds: constants fold, identities
//     vanish, sums keep their constant outermost so that the part that depends
//     on the thread is computed once, and a pure value that was computed in a
//     dominating block is used again.
//   - Module.Print, an append-printer.
//
// Two laws hold. fold(x) equals x: a value that the Builder returns is equal to,
// or a refinement of (where LLVM says poison), the value of the instruction
// that was asked for. And a module that was built with well-typed calls passes
// LLVM's verifier.
//
// A Module and its builders belong to one goroutine. Misuse (operands of
// different types, a missing terminator) is our own mistake and panics with
// "BUG". The package imports nothing of ours and knows no target: triple, data
// layout, intrinsic names and inline assembly come from the caller.
package llir
