// Package npu is a simulated Ascend NPU: it executes programs of the format npusim, counts
// their cycles, and reports what they do wrong.
//
//	p, err := npu.Read("add.npusim", text)
//	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c)})
//	rep, err := d.Launch(ctx, p, [3]int{8, 1, 1}, x, y, out, int32(n))
//
// docs/npusim.md describes the format. Its parts here:
//
//	type.go, scalar.go             types, and what operations of arith and math compute
//	program.go, read.go            a file as it is decoded; opcodes.go lists the instructions
//	control.go, views.go,          how their lines are read, and what they do
//	element.go, transfer.go,
//	vector.go, cube.go
//	core.go                        a core that executes a program
//	view.go, memory.go             what an instruction accesses, and its bounds
//	order.go, conflict.go          order between the pipes of a core, and between programs
//	finding.go                     what is reported
//	trace.go, l2.go, clock.go      what was executed, and how long it takes
//	sync.go                        cores that wait for one another
//	device.go, report.go           launches and their reports; lines.go has them by line, and
//	                               timeline.go draws one
//
// # Two steps
//
// A launch first executes the program on each core, one core after the other and one
// instruction after the other, as if each ended before the next begins. Where cores wait for
// one another, each runs up to there before any goes on. That is what a
// program means whose flags are right; that they are is checked by the order that flags and
// barriers make (vector clocks of the pipes), which is the same whatever instructions cost.
// What was executed is a trace: instructions with their cycles and bytes. Then the traces
// of all cores are timed: each pipe begins an instruction when it has ended the one
// before, the scalar unit has issued it, and the flag that it waits for is set; the cores
// of an AI core share its bandwidth. What several cores read comes from HBM once, and from
// L2 to each.
//
// The package imports package simt, for global memory and narrow floats, package
// backends/npu/chip, for chips and costs, and core/diag.
package npu
