// Package tune finds the fastest configuration of a kernel for its arguments.
//
// Run compiles configurations side by side while the device measures those that are
// ready, with driver/bench as Triton's do_bench does; a simulated device answers with
// its model. One that does not compile or does not fit is infinitely slow, with the
// reason. A Search chooses which configurations are tried, and in which order: all, some
// at random, or those that what is known so far promises most of.
//
// A File keeps what was measured, keyed as Triton keys it, with the device and the
// versions; files are merged, and looked up for a launch.
//
// A Measurer is a device that stands for many elsewhere: what is built it measures several
// at a time, and the leaders once more, all on one of them.
//
// A Tuner does this for the autotuned kernels of a program, at their first launch for each
// key.
//
// It imports the packages of the driver and core, and no device of its own.
package tune
