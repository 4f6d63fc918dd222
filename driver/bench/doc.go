// Package bench measures how long launches take, the way Triton's do_bench and
// do_bench_cudagraph do, so that times of the two can be compared.
//
//	times, err := bench.Measure(ctx, dev, kernel, launch, bench.Options{})
//	fmt.Println(times.Quantile(0.5), times.Mean())
//
// A kernel is run once, then five times for an estimate, from which follow how
// often it is run to warm up (25 ms) and how often it is measured (100 ms). Before
// each measured run the L2 cache is overwritten; each run's time is that between
// two events. With Options.Graph, runs of 20 ms are captured in one graph that is
// replayed, without overwriting the cache: a kernel's time less what launches cost.
//
// A simulated device has one time: what it estimates of the chip, if it was made so.
//
// It imports driver alone.
package bench
