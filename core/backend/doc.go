// Package backend is a kit for backends. A backend gives it a Definition: facts,
// options, rows of passes, and what its own tools do; the kit runs stages and passes,
// finds tools and holds them to their limits, writes the metadata, and says what went
// wrong. Package llvm, below it, lowers to LLVM IR and runs LLVM's tools.
//
// Main types: Definition (a backend), Plan (how it compiles for one target with
// one set of options), Stage, Compilation (one RunStages call on its way through
// the stages), ToolKind and Tool (a program as found on the machine), Metadata.
//
// Invariants: it names no vendor; calls run concurrently and share only the memo
// of tools; equal input, options and tools give equal bytes; the environment is
// read for PATH and the user's folders alone, all else comes in Settings; metadata
// and kernel ABI are those of Triton 3.6.
//
// It and core/plugin are the rooms below core that know plugin-sdk. Of ours it
// imports the floors up to the passes, and files, trust and memos; core itself
// does not import it.
package backend
