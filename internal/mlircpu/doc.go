// Package mlircpu runs what the backend of NPUs makes of a kernel on the CPU, by MLIR's own
// tools: mlir-opt lowers the stage ttadapter by public passes, and mlir-runner executes it.
// So the stage is held to what MLIR says that its operations mean, not to what our own
// simulator does.
//
// Open makes a device of it, for tests. Missing names the tool that is not installed. Programs of the grid run
// one after the other. Accesses are not checked.
//
// It imports driver and the IR, and is imported by tests alone.
package mlircpu
