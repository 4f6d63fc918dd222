// Package sim is a GPU that runs on the CPU: it executes PTX, whoever compiled
// it, and reports what hardware hides.
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
// The package imports the standard library, core/diag by way of driver/sim/ptx,
// and the two rooms below it: ptx, which reads the text, and simt, which
// executes it.
package sim
