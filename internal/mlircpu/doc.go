// Package mlircpu runs what the backend of NPUs makes of a kernel on the CPU, by MLIR's own
// tools: mlir-opt lowers the stage ttadapter by public passes, and mlir-runner executes it.
// So the stage is held to what MLIR says that its operations mean, not to what our own
// simulator does.
//
//	mlircpu.go   the device: memory, tools, launches
//	program.go   the module around a kernel
//
// Open makes a device of it, for tests. Missing names the tool that is not installed. Programs
// of the grid run one after the other, but where they wait for one another (sync_block_all)
// as threads of the C library, of which the runner's process has the functions. Accesses are
// not checked.
//
// It imports driver, the IR and package backends/npu/adapter, and is imported by tests alone.
package mlircpu
