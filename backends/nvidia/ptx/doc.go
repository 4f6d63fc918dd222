// Package ptx writes PTX, the assembly of NVIDIA's virtual machine, for a module of
// core/llir, in memory. It takes what the lowering of this backend emits; LLVM IR
// of other origin goes to LLVM's llc.
//
// A function is converted to instructions in SSA form, close to PTX's own: vectors
// and aggregates become registers, integers without a register of their width lie in
// a wider one (conv). Phases, a table of rows, then improve the code and choose
// virtual registers; ptxas allocates those of the machine and schedules.
//
// What LLVM IR promises beyond (poison, alignment that exceeds a type's) may be used
// and need not be. Translation of the same module gives the same bytes.
//
// The package imports core/llir and LLVM IR's structs alone. PTX is described in
// NVIDIA's "PTX ISA"; leaving SSA form follows Boissinot et al., "Revisiting
// Out-of-SSA Translation", CGO 2009, as far as interference goes.
package ptx
