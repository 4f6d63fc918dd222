// Package llvm is the part of the kit for backends whose code LLVM generates: it lowers
// ttgir to LLVM IR for a lower.Target, runs LLVM's tools on it, and links libraries of
// LLVM IR.
//
// Main functions: Lower, LowerInMemory, Link and GenerateCode take the step of a stage on a
// Compilation; Allocator is for a Plan. Main variables: LLC, Opt, LinkTool, MC and LLD,
// the tools for a Definition.
//
// Of ours it imports package backend and what that imports, and core/lower.
package llvm
