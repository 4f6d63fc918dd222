// Package text reads and writes the IR in Triton's own grammar: MLIR's textual
// form with the custom assembly of each operation.
//
//	Parse, ParseFile     text to operations; errors are *diag.Diagnostic
//	Print, String        operations to text
//	Dialect              the hooks a dialect gives as ir.Dialect.Asm
//	Parser, Printer      what the hooks are called with
//
// The law that the package keeps is that Print(Parse(x)) has the bytes of x
// for whatever Triton 3.6 prints, locations included. How:
//
//   - One description a operation. An operation's assembly is a format string in
//     MLIR's declarative notation (ir.OpDef.Asm), compiled once to a list of
//     directives (format.go) that both the parser and the printer walk. The few
//     irregular operations have a pair of functions instead (OpAsm).
//   - Names of values live in locations. The first NameLoc in a value's location
//     is its name; else the operation's own (c1_i32, true, cst); else a number.
//     Numbering goes breadth first, region by region (names.go). Where the text
//     has a name but no location to hold it, the parser replays the numbering
//     to strip the suffix that made it unique, and keeps it as a NameLoc.
//   - Aliases (#blocked, #loc7) are collected by the printer itself in a visiting
//     mode over the same directives (alias.go), so that their order is that of
//     first appearance in print order.
//
// Recursion is bounded in the parser, and thus in everything that walks what it
// built: a text that nests deeper than MaxDepth or MaxLocDepth gives a diagnostic.
//
// The package imports core/diag and core/ir. It knows no dialect by name except
// the builtin types and attributes.
package text
