package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/bench/table"
	"github.com/tritonc/tritonc/driver/simulated"
)

const benchLong = `Measure kernels as Triton's do_bench does, over sweeps of their arguments, and show
them side by side. Several files, several names (-n A,B) and several configurations
(--config 0,2 or all) are lines of one table. Arguments and grid are those of
tritonc run; --sweep gives some of them several values:

  --sweep M=N=K=256:4096:x2        256, 512, … 4096, for all three at once
  --sweep n=1000:5000:1000         in steps
  --sweep BLOCK=64,128,256         a list; the values of --arg, of whatever kind
  --sweep num_warps=4,8            an option: num_warps, num_stages, num_ctas, maxnreg

Several --sweep make all combinations. An autotuned kernel is measured in each of its
configurations, at each point, and the fastest counts; --config chooses.

Metrics are formulas over the arguments, constants and options, time in seconds and
bytes, the size of all arrays: --metric "TFLOPS=2*M*N*K/time/1e12". Without one it is
the time in milliseconds. --quantiles 0.5,0.2,0.8 shows the median and the others
beside it; mean, min and max may stand among them.

A file whose functions are under @triton.testing.perf_report needs no --grid: the
benchmarks are run as they stand in the file, which allocates and launches for
itself. Lines that need torch's own kernels are left out, with a note. -n chooses
among them, and --sweep sets other values of x.

On a simulated device the time is what a model says of the chip.`

const benchExample = `  tritonc bench --target cuda:90 --sweep n=4096:16777216:x4 --metric "GB/s=bytes/time/1e9" \
      --grid "cdiv(n, BLOCK)" --arg BLOCK=1024 --arg x_ptr=rand:fp32[n] --arg y_ptr=rand:fp32[n] \
      --arg out_ptr=empty:fp32[n] --plot add.svg vector_add.py
  tritonc bench --target cuda:90 --csv results.csv 03-matrix-multiplication.py`

// benchFlags are the flags of the bench verb as written on the command line.
type benchFlags struct {
	runFlags
	sweeps      []string
	metrics     []string
	quantiles   string
	baselines   []string
	csv         string
	plot        string
	warmup, rep float64
	graph       bool
	keepCache   bool
	sample      int
}

func benchVerb(env *environment) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:                   "bench [flags] FILE...",
		Short:                 "measure kernels, and benchmarks that a file defines",
		Long:                  benchLong,
		Example:               benchExample,
		ValidArgsFunction:     files(sourceEndings...),
		DisableFlagsInUseLine: true,
		Args:                  someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return benchFiles(cmd.Context(), env, cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.launchFlags(flags)
	flags.StringArrayVar(&f.sweeps, "sweep", nil, "arguments that change, as `NAMES=VALUES`; several make all combinations")
	flags.StringArrayVar(&f.metrics, "metric", nil, "what to show, as `NAME=FORMULA` (ms); may be repeated")
	flags.StringVar(&f.quantiles, "quantiles", "0.5", "which of the measured times to take, a `LIST` of numbers from 0 to 1,\nmean, min and max: the first counts")
	flags.StringArrayVar(&f.baselines, "baseline", nil, "lines measured before: a `FILE` that bench or perf_report has written,\nCSV or JSON; may be repeated")
	flags.StringVar(&f.csv, "csv", "", "write the table to a `FILE` as CSV; - is standard output, in place of the table")
	flags.StringVar(&f.plot, "plot", "", "draw the table to a `FILE`, whose name ends in .svg or .png")
	flags.Float64Var(&f.warmup, "warmup", 25, "`MS` for which a kernel runs before it is measured")
	flags.Float64Var(&f.rep, "rep", 100, "`MS` for which it is measured (20 with --graph)")
	flags.BoolVar(&f.graph, "graph", false, "measure replays of a graph of launches, as do_bench_cudagraph does")
	flags.BoolVar(&f.keepCache, "keep-cache", false, "leave the L2 cache as it is between runs")
	flags.IntVar(&f.sample, "sample", 8, "how many programs of a launch a simulated device executes, `N`;\n0 executes all")
	flags.Uint64Var(&f.seed, "seed", 0, "the `SEED` of random values")
	f.makeFlags(flags)
	f.addUse(flags)
	flags.Lookup("kernel").Usage = "the `NAMES` of the kernels or benchmarks, apart by commas, where files have several"
	flags.Lookup("config").Usage = "the configurations of autotuned kernels: `NUMBERS` from 0, apart by commas, or all\n(the fastest)"
	return cmd
}

// benchFiles is the verb: read, measure, show.
func benchFiles(ctx context.Context, env *environment, cmd *cobra.Command, f *benchFlags, files []string) error {
	b := &bencher{env: env, flags: f}
	if err := b.read(cmd); err != nil {
		return err
	}
	place, err := f.findPlace(ctx, env, cmd, firstOf(files))
	defer place.close()
	if err != nil {
		return err
	}
	if b.req, err = f.request(cmd); err != nil {
		return err
	}
	b.req.opts.Stages = nil
	host, err := f.connect(env, b.req, firstOf(files))
	if err != nil {
		return err
	}
	defer host.Close()
	if b.dev, err = place.open(ctx, b.req.target, env.report.writer("output"), f.simulatedDevice); err != nil {
		return err
	}
	defer b.dev.Close()
	if f.grid == "" {
		err = b.marks(ctx, files)
	} else {
		err = b.kernels(ctx, files)
	}
	// What was measured before a failure, or before Ctrl-C, is shown all the same.
	if failed := b.show(); failed != nil && err == nil {
		return failed
	}
	return err
}

// bencher is one run of the verb.
type bencher struct {
	env       *environment
	flags     *benchFlags
	req       *request
	dev       driver.Device
	sweeps    []sweep
	metrics   []metric
	quantiles []quantile
	baselines []baseline
	plotter   string // the program that draws

	tables []*table.Table
	bar    benchProgress
}

// read checks what needs neither a device nor a backend.
func (b *bencher) read(cmd *cobra.Command) (err error) {
	f := b.flags
	if b.sweeps, err = parseSweeps(f.sweeps); err != nil {
		return err
	}
	if b.metrics, err = parseMetrics(f.metrics); err != nil {
		return err
	}
	if b.quantiles, err = parseQuantiles(f.quantiles); err != nil {
		return err
	}
	if f.plot != "" {
		if table.PictureFormat(f.plot) == "" {
			return usagef("--plot %s: its name should end in .%s", f.plot, strings.Join(table.PictureFormats, " or ."))
		}
		if b.plotter, err = plotProgram(); err != nil {
			return err
		}
	}
	if f.sample < 0 || !(f.warmup >= 0) || !(f.rep >= 0) {
		return usagef("--warmup, --rep and --sample cannot be negative")
	}
	if f.use != "" && f.config != "" {
		return usagef("--use and --config cannot both be given")
	}
	if f.csv == "-" && b.env.report.json {
		return usagef("--csv - and --json both write to standard output")
	}
	if f.graph && !cmd.Flags().Changed("rep") {
		f.rep = 0 // as do_bench_cudagraph has it
	}
	for _, path := range f.baselines {
		text, err := b.env.dir.read(path)
		if err != nil {
			return err
		}
		b.baselines = append(b.baselines, baseline{path, text})
	}
	return nil
}

// options are those of each measurement.
func (f *benchFlags) options() bench.Options {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	o := bench.Options{Warmup: max(ms(f.warmup), 1), Rep: ms(f.rep), Graph: f.graph}
	if f.rep == 0 && !f.graph {
		o.Rep = 1
	}
	if f.keepCache {
		o.Flush = -1
	}
	return o
}

// simulatedDevice makes a simulated device that estimates.
func (f *benchFlags) simulatedDevice(target core.Target) (driver.Device, error) {
	dev, err := simulated.New(target, simulated.Options{NoChecks: true, Estimate: true, Sample: f.sample, Seed: f.seed})
	if err != nil {
		return nil, usagef("--target %s: %v", target, err)
	}
	return dev, nil
}

// names are what -n lists.
func (f *benchFlags) names() []string {
	var names []string
	for _, name := range strings.Split(f.kernel, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// configurations are what --config lists of a kernel that has n: numbers as
// Source.Config has them, and "" where none is chosen.
func (f *benchFlags) configurations(n int) ([]string, error) {
	var list []string
	switch f.config {
	case "":
		return []string{""}, nil
	case core.AllConfigs:
		for i := range n {
			list = append(list, strconv.Itoa(i))
		}
		if n == 0 {
			list = []string{""}
		}
		return list, nil
	}
	for _, text := range strings.Split(f.config, ",") {
		text = strings.TrimSpace(text)
		if i, err := strconv.Atoi(text); err != nil || i < 0 || i >= n {
			return nil, usagef("--config %s: %q is not the number of one of %s", f.config, text, diag.Count(n, "configuration"))
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list, nil
}
