// Package ir is the intermediate representation: operations with regions, in
// SSA form, the shape of MLIR's. A module crosses a process border as text in
// Triton's own grammar (package core/ir/text); inside a process it is this graph.
//
//	Context     owns the interned types, attributes and locations of one compile
//	Operation   a node: definition, operands, results, attributes, regions, location
//	Value       a result of an operation or an argument of a block
//	Block       a list of operations with arguments (no phi nodes)
//	Region      a list of blocks inside an operation
//	OpDef       one row of a dialect's table: what an operation takes, gives and means
//
// Invariants:
//   - Types, attributes and locations are immutable and interned: within one
//     Context two equal ones are the same pointer, so they compare with ==.
//     They never cross contexts; modules cross as text.
//   - A Value knows its uses (an intrusive list), so replacing all uses costs
//     their number and nothing else.
//   - An operation's definition never changes and is shared by all contexts:
//     op.Def() == arith.AddI is how code asks what an operation is.
//   - Order inside a block is O(1) (Operation.IsBeforeInBlock), renumbered
//     lazily after insertions.
//   - Attributes of an operation are kept sorted by name, inherent and
//     discardable ones together; its OpDef tells them apart.
//
// A Context and everything made from it belong to one goroutine at a time.
//
// The package imports core/diag only. It knows no dialect by name except the
// builtin types and attributes that every dialect shares.
package ir
