package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/driver/tune"
)

const tuneLong = `Measure the configurations of a kernel for its arguments, and find the fastest.

They are those of @triton.autotune that its pruning functions leave, of a file
(--configs), or of a search space:

  --space BM=32:256:x2 --space num_warps=4,8    each combination of the values

All are tried (--search exhaustive), some at random, or those that promise most by
what was measured before (guided, as spaces are by default): a fifth of them, or
--points. They are compiled -j at a time while the device measures. What does not
compile or fit is infinitely slow, and the table says why. Ctrl-C ends the search
and keeps what was measured.

The device measures as Triton's do_bench does. On a simulated device the times are
those of a model of the chip (docs/model.md), from a sample of the programs.

With --farm the devices of a farm measure, as many at a time as there are of one type
(tritonc worker --device), and in the end one of them the fastest again. --device then
names the type. The times are kept there, for all who say --use farm.

--write keeps the times in a file: added to what it has, for others to use (tritonc
run --use, tritonc compile --use). --merge joins such files. Arguments and --grid
are written as for tritonc run.`

const tuneExample = `  tritonc tune --target cuda:90 --grid "cdiv(M, BM)*cdiv(N, BN)" --arg M=4096 --arg N=4096 --arg K=4096 \
      --arg a=randn:fp16[M,K] --arg b=randn:fp16[K,N] --arg c=empty:fp16[M,N] \
      --space BM=32:256:x2 --space BN=32:256:x2 --space num_warps=4,8 --write matmul.tune.json matmul.py`

// tuneFlags are the flags of the tune verb.
type tuneFlags struct {
	runFlags
	space       []string
	search      string
	points      int
	jobs        int
	sample      int
	maxRows     int
	warmup, rep time.Duration
	graph       bool
	write       string
	merge       bool
}

func tuneVerb(env *environment) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:                   "tune [flags] FILE",
		Short:                 "measure a kernel's configurations and find the fastest",
		Long:                  tuneLong,
		Example:               tuneExample,
		ValidArgsFunction:     firstFiles(1, "py", "json"),
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.merge {
				return someFiles(cmd, args)
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.merge {
				return mergeTimes(env, &f, args)
			}
			return explainTimer(tuneFile(cmd.Context(), env, cmd, &f, args[0]))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.launchFlags(flags)
	flags.Uint64Var(&f.seed, "seed", 0, "the `SEED` of random values, and of a search")
	flags.StringArrayVar(&f.space, "space", nil, "values of a constant or an option, as `NAME=VALUES`: 32:256:x2, 0:64:16 or 4,8;\nmay be repeated")
	flags.StringVar(&f.search, "search", "", "which configurations are tried, a `METHOD`: exhaustive, random or guided\n(exhaustive; of a space guided)")
	flags.IntVar(&f.points, "points", 0, "how many are tried, `N`, where not all are (a fifth of them)")
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "`N` compiles at a time (as many as there are cores)")
	flags.DurationVar(&f.warmup, "warmup", 0, "how long a configuration runs before it is measured, a `TIME` (25ms)")
	flags.DurationVar(&f.rep, "rep", 0, "how long it is measured, a `TIME` (100ms; of graphs 20ms)")
	flags.BoolVar(&f.graph, "graph", false, "measure graphs of launches, as do_bench_cudagraph does")
	flags.IntVar(&f.sample, "sample", 8, "of a simulated launch execute `N` programs only; 0 means all")
	flags.IntVar(&f.maxRows, "rows", 20, "show the `N` fastest configurations; 0 means all")
	flags.StringVar(&f.write, "write", "", "add the times to a `FILE`; - is standard output")
	flags.BoolVar(&f.merge, "merge", false, "join files of times; of two times of one configuration the later file's counts")
	f.addDevices(flags)
	f.addPython(flags)
	return cmd
}

// addPython adds the flags that say how a Python file is read and compiled.
func (f *runFlags) addPython(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.externLibs, "extern-lib", nil, "a library of LLVM IR with functions that the kernel calls,\nas `NAME=PATH`; may be repeated")
	flags.StringVar(&f.configs, "configs", "", "a `FILE` with the configurations, as for compiling")
	flags.StringVar(&f.sourceRoot, "source-root", "", "the `FOLDER` that file names in line info are relative to\n(the module's or repository's root)")
	flags.StringArrayVarP(&f.include, "include", "I", nil, "a `FOLDER` to find imported modules in, after the file's own")
	flags.StringArrayVar(&f.pythonPath, "python-path", nil, "a `FOLDER` of installed packages, as for compiling")
	flags.StringArrayVar(&f.define, "define", nil, "a value for a name of a module that is not there, as `NAME=VALUE`")
	flags.BoolVar(&f.noCache, "no-cache", false, "compile anew what was compiled before (tritonc help cache)")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log; -vv shows more")
}

// checkTune looks at the flags alone.
func (f *tuneFlags) checkTune(env *environment) error {
	switch f.search {
	case "", tune.Exhaustive, tune.Random, tune.Guided:
	default:
		return usagef("--search %s: the methods are %s, %s and %s", f.search, tune.Exhaustive, tune.Random, tune.Guided)
	}
	switch {
	case f.points < 0 || f.jobs < 0 || f.sample < 0 || f.maxRows < 0 || f.warmup < 0 || f.rep < 0:
		return usagef("--points, -j, --sample, --rows, --warmup and --rep cannot be negative")
	case len(f.space) > 0 && f.configs != "":
		return usagef("--space and --configs cannot both be given")
	case f.write == "-" && env.report.json:
		return usagef("--write - and --json both write to standard output")
	case f.grid == "":
		return usagef("no --grid given").withHelp("--grid says how many blocks run, for example --grid \"cdiv(n, BLOCK)\", or --grid 1")
	}
	return nil
}

// tuneFile is the verb: read, compile and measure, tell, keep.
func tuneFile(ctx context.Context, env *environment, cmd *cobra.Command, f *tuneFlags, file string) error {
	if err := f.checkTune(env); err != nil {
		return err
	}
	if err := f.checkWrite(env); err != nil {
		return err // before anything is measured
	}
	farm, err := f.joinDevices(ctx, env, file)
	defer farm.close()
	if err != nil {
		return err
	}
	var place *place
	if farm == nil {
		place, err = f.findPlace(ctx, env, cmd, file)
		defer func() { place.close() }()
		if err != nil {
			return err
		}
	}
	req, err := f.request(cmd)
	if err != nil {
		return err
	}
	src, err := f.source(env, file, req)
	if err == nil && !src.IsPython() {
		err = usagef("%s is not a Python file: it has no configurations", file)
	}
	if err == nil {
		err = f.setSpace(src)
	}
	if err != nil {
		return err
	}
	host, err := f.connect(env, req, file)
	if err != nil {
		return err
	}
	defer host.Close()
	t := &tuning{env: env, flags: f, src: src, req: req, began: time.Now(), farm: farm}
	dev, err := t.device(ctx, place, host)
	if err != nil {
		return err
	}
	defer dev.Close()
	defineDevice(src, dev.Properties())
	result, err := t.run(ctx, dev)
	if result != nil {
		env.report.diagnostics(result.Warnings...)
	}
	if result == nil || len(result.Entry.Configs) == 0 {
		return explainArg(err)
	}
	if tellErr := t.tell(result); tellErr != nil {
		return tellErr
	}
	if keepErr := errors.Join(f.keep(env, result.Entry), farm.keep(ctx, result.Entry)); keepErr != nil {
		return keepErr
	}
	return explainArg(err)
}

// device is what measures: one of this machine, or those of the farm.
func (t *tuning) device(ctx context.Context, place *place, host *plugin.Host) (driver.Device, error) {
	if t.farm == nil {
		return place.open(ctx, t.req.target, t.env.report.writer("output"), t.simulated)
	}
	if err := t.farm.compileBy(ctx, host, t.src); err != nil {
		return nil, err
	}
	return t.farm.device(ctx)
}

// setSpace gives the file the configurations of --space.
func (f *tuneFlags) setSpace(src *core.Source) error {
	if len(f.space) == 0 {
		return nil
	}
	text, err := tune.Space(f.space)
	if err != nil {
		return usagef("--space: %v", err)
	}
	src.Configs = &core.ConfigFile{Path: "--space", Text: text}
	return nil
}

// tuning is one call of the verb.
type tuning struct {
	env    *environment
	flags  *tuneFlags
	src    *core.Source
	req    *request
	began  time.Time
	kernel string
	farm   *tuneFarm // nil: this machine measures

	mu     sync.Mutex
	shared *values         // arguments that are the same for every configuration
	own    map[int]*values // or those of each
	bar    tuneBar
}

// simulated makes the device whose model is asked.
func (t *tuning) simulated(target core.Target) (driver.Device, error) {
	dev, err := simulated.New(target, simulated.Options{
		NoChecks: true, Estimate: true, Sample: t.flags.sample, Output: t.env.report.writer("output"), MaxInstructions: 1 << 28,
	})
	if err != nil {
		return nil, usagef("--target %s: %v", target, err)
	}
	return dev, nil
}

func (t *tuning) run(ctx context.Context, dev driver.Device) (*tune.Result, error) {
	f := t.flags
	method := f.search
	if method == "" && len(f.space) > 0 {
		method = tune.Guided
	}
	t.req.opts.Stages = nil
	backend, _, err := t.req.opts.Select(ctx, t.req.target)
	if err != nil {
		return nil, err
	}
	facts, err := backend.Facts(ctx)
	if err != nil {
		return nil, err
	}
	print := printsAutotuning(t.env) && !t.env.report.json
	stop := t.bar.start(t.env.report.screen(), filepath.Base(t.src.Path))
	defer stop()
	opts := tune.Options{
		Source: t.src, Kernel: f.kernel, Target: t.req.target, Options: t.req.opts, Device: dev,
		Args: func(config *frontend.ConfigInfo) ([]launch.Arg, error) { return t.args(ctx, config) },
		Grid: t.grid, Parallel: f.jobs, ArgFlag: "--arg",
		Search:  tune.Search{Method: method, Points: f.points, Seed: f.seed},
		Bench:   bench.Options{Warmup: f.warmup, Rep: f.rep, Graph: f.graph},
		Tritonc: version(), Backend: facts.Name + " " + facts.Version,
		Progress: func(p tune.Progress) {
			t.bar.update(p)
			if print && p.Last != nil {
				t.printTried(p.Last)
			}
		},
	}
	t.farm.options(&opts)
	return tune.Run(ctx, opts)
}

// args are the arguments of a launch with a configuration. They are the same for all
// unless a size depends on a constant that configurations give.
func (t *tuning) args(ctx context.Context, config *frontend.ConfigInfo) ([]launch.Arg, error) {
	vals, err := t.values(ctx, config)
	if err != nil {
		return nil, err
	}
	return vals.list(t.flags.grid), nil
}

// values are those with a configuration, nil for the first.
func (t *tuning) values(ctx context.Context, config *frontend.ConfigInfo) (*values, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		return t.shared, nil
	}
	number := 0
	if config != nil {
		number = config.Number
	}
	if v := t.own[number]; v != nil {
		return v, nil
	}
	flags := t.flags.runFlags
	flags.config, flags.picked = strconv.Itoa(number), config
	vals, err := flags.arguments(ctx, t.src, t.req)
	if err != nil {
		return nil, err
	}
	t.kernel = vals.info.Name
	if !vals.depends(flags.args) {
		t.shared = vals
		return vals, nil
	}
	if t.own == nil {
		t.own = map[int]*values{}
	}
	t.own[number] = vals
	return vals, nil
}

// words are names in the text of an argument.
var words = lazily(`[A-Za-z_]\w*`)

// depends reports whether texts of arguments name a constant that configurations
// give, and no argument does.
func (v *values) depends(texts []string) bool {
	for _, text := range texts {
		for _, word := range words().FindAllString(text, -1) {
			if v.find(word) != nil {
				continue
			}
			if slices.ContainsFunc(v.info.Configs, func(c frontend.ConfigInfo) bool { _, ok := c.Constants[word]; return ok }) {
				return true
			}
		}
	}
	return false
}

// grid is that of a launch of which the constants are known.
func (t *tuning) grid(known *frontend.Variant) ([3]int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	vals := t.shared
	if vals == nil {
		vals = t.own[known.Config] // of the arguments, which were asked for before
	}
	delete(t.own, known.Config) // its arrays are the launch's now
	one := *vals
	one.known = known
	return one.grid(t.flags.grid)
}
