// Package sim is a GPU that runs on the CPU: it executes PTX, whoever compiled
// it, or assembly of AMD's GPUs, and reports what hardware hides.
//
//	mod, err := sim.Load("add.ptx", text)
//	dev := sim.New(sim.Options{})
//	x := dev.Alloc("x", 4*n)
//	x.Write(0, sim.Bytes(xs))
//	rep, err := dev.Launch(mod, "add", sim.Dim(cdiv(n, 1024)), sim.Dim(128), 0, x, y, out, int32(n))
//	ys := sim.Slice[float32](out.Read())
//
// Load parses and decodes the text; New makes a device whose properties are
// those of an A100 unless Options say otherwise; Launch runs a kernel to its end
// and returns counters and findings (package simt). The error of Launch is a
// wrong argument, or everything that the kernel did wrong.
//
// # Two kinds of machine
//
// PTX has registers of several widths, a program counter for each lane and no scalar
// unit; package ptx translates it to operations of simt. AMD's assembly has 32-bit registers
// that are combined freely, scalar registers, a mask of lanes that the program itself
// computes, and modifiers on operands. Making one set of operations of both would put
// aliasing and modifiers into the loops that PTX runs. So package amdgcn has what its
// instructions do as functions over a simt.Wavefront, one for each instruction, and
// simt executes them between its own: blocks, barriers, memory with its checks, counters,
// findings and reports are the same code for both.
//
// The package imports the standard library, core/diag by way of driver/sim/ptx,
// and the rooms below it: ptx and amdgcn, which read the text, and simt, which
// executes it.
package sim
