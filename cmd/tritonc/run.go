package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/array/arrayfile"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
)

const runLong = `Compile a kernel for its arguments and run it on a device. Without a GPU and a
driver for it that is a simulated one, which also reports what hardware hides:
accesses out of bounds, values never written, data races, deadlocks.

The signature follows from the arguments, as in Triton: multiples of 16 are
compiled in as such, an integer 1 is a constant. --arg NAME=VALUE gives each
parameter its value, constants (tl.constexpr) too:

  n=1000  a=0.5  n=7:i64  flag=True   a number, with its type if need be
  m=2*n                               arithmetic over other arguments
  x=randn:fp32[n,32]                  memory: zeros, ones, full(V), arange, rand,
                                      randn, randint(A,B) or empty, with the
                                      elements' type and the shape
  x=@in.npy                           memory from a file: @F.npy, @F.npz:NAME or
                                      @F.safetensors:NAME; :bf16 after it converts
  y=x                                 the same memory as another argument's
  d=desc(x, [64, BLOCK])              a tensor descriptor of x's memory, with its
                                      blocks; with ", nan" it pads with NaN
  OUT=tl.float16  PREC='tf32'         a constant that the kernel's file evaluates

--grid takes one to three sizes over the same names: "cdiv(n, BLOCK), heads".
Constants that the kernel's configuration and heuristics give may be left out, and
the grid may use them. Without --config an autotuned kernel runs with its first
configuration, of those that its pruning functions leave.

--save writes an argument to a NumPy file after the run, and --expect compares
one with a file, or with an expression over what the arguments were before, as of
NumPy: --expect "out=softmax(q @ k.T * scale) @ v". --let names a value that
several expressions use. Elements may differ by A + R*|expected|. A difference,
like a report, ends tritonc with exit code 1.`

const runExample = `  tritonc run --target cuda:80 --grid "cdiv(n, BLOCK)" --arg x_ptr=rand:fp32[n] \
      --arg y_ptr=rand:fp32[n] --arg out_ptr=empty:fp32[n] --arg n=1000 --arg BLOCK=256 \
      --expect "out_ptr=x_ptr + y_ptr" vector_add.py`

// runFlags are the flags of the run verb as written on the command line.
type runFlags struct {
	compileFlags
	memo            *arrayMemo // of verbs that read arguments several times
	device          string
	grid            string
	args            []string
	save            []string
	expect          []string
	let             []string
	rtol, atol      float64
	seed            uint64
	report          string
	html            string
	timeline        string
	schedule        string
	trace           string
	maxInstructions uint64
	bundled         bool // the file is a bundle, which may say the grid
	// picked is the configuration that config numbers, where its constants are not
	// those of one of the file.
	picked *frontend.ConfigInfo
}

func runVerb(env *environment) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:                   "run [flags] FILE",
		Short:                 "run a kernel on a device, simulated where there is none, and check it",
		Long:                  runLong,
		Example:               runExample,
		Args:                  exactArgs("FILE"),
		ValidArgsFunction:     firstFiles(1, append(slices.Clone(sourceEndings), strings.TrimPrefix(bundleEnding, "."))...),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.HasSuffix(args[0], bundleEnding) {
				return runBundle(cmd.Context(), env, cmd, &f, args[0])
			}
			return runFile(cmd.Context(), env, cmd, &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.launchFlags(flags)
	flags.StringArrayVar(&f.save, "save", nil, "write an argument's memory after the run, as `NAME=FILE.npy`")
	flags.StringArrayVar(&f.expect, "expect", nil, "compare an argument's memory after the run, as `NAME=EXPRESSION`\nover the arguments before it, or NAME=@FILE; may be repeated")
	flags.StringArrayVar(&f.let, "let", nil, "a value for expressions, as `NAME=EXPRESSION` or NAME=@FILE; may be repeated")
	flags.Float64Var(&f.rtol, "rtol", 1e-5, "what --expect allows relative to the expected value, `R`")
	flags.Float64Var(&f.atol, "atol", 1e-8, "what --expect allows beside that, `A`")
	flags.Uint64Var(&f.seed, "seed", 0, "the `SEED` of random values and of a random schedule")
	flags.StringVar(&f.report, "report", "", "print what the device counted, as a `FORM`: table or json")
	flags.StringVar(&f.html, "html", "", "write what the device counted as one page with the kernel's source\nto `FILE.html`")
	flags.StringVar(&f.timeline, "timeline", "", "draw what the pipes of a core of a simulated NPU did over time\nto `FILE.svg`")
	flags.StringVar(&f.schedule, "schedule", "natural", "the `ORDER` in which blocks and warps run: natural or random")
	flags.StringVar(&f.trace, "trace", "", "print each instruction of one `BLOCK:WARP`, both by number")
	flags.Uint64Var(&f.maxInstructions, "max-instructions", 0, "end a kernel one of whose blocks executes more than `N` (1<<32)")
	f.makeFlags(flags)
	f.addUse(flags)
	return cmd
}

// runFile is the verb: read, compile, run, compare, save.
func runFile(ctx context.Context, env *environment, cmd *cobra.Command, f *runFlags, file string) error {
	place, err := f.findPlace(ctx, env, cmd, file)
	defer place.close()
	if err != nil {
		return err
	}
	req, err := f.request(cmd)
	if err != nil {
		return err
	}
	src, err := f.source(env, file, req)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	host, err := f.connect(env, req, file)
	if err != nil {
		return err
	}
	defer host.Close()
	if f.use != "" {
		if err := f.useConfigs(ctx, env, src, req); err != nil {
			return err
		}
	}
	vals, err := f.arguments(ctx, src, req)
	if err != nil {
		return err
	}
	r := &runner{env: env, flags: f, src: src, vals: vals, out: env.stdout}
	if f.html != "" {
		r.recordSources()
	}
	if f.report == "json" {
		r.out = env.report.writer("output") // standard output is the report's
	}
	dev, err := place.open(ctx, req.target, r.out, r.simulated)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := f.checkDevice(dev); err != nil {
		return err
	}
	defineDevice(src, dev.Properties())
	req.opts.Stages = nil
	if f.use != "" {
		if err := f.ofRun(ctx, env, src, req, vals, dev); err != nil {
			return err
		}
		if vals.depends(f.args) {
			if vals, err = f.arguments(ctx, src, req); err != nil {
				return err
			}
			r.vals = vals
		}
	}
	prepared, err := launch.Prepare(ctx, launch.Request{
		Source: src, Kernel: f.kernel, Args: vals.list(slices.Concat([]string{f.grid}, f.expect, f.let)...), Target: req.target, Options: req.opts, Device: dev,
		ArgFlag: "--arg", ConfigFlag: "--config",
	})
	if err != nil {
		return explainArg(err)
	}
	defer prepared.Release()
	vals.known = prepared.Known
	r.tellChoice()
	if err := r.plan(ctx); err != nil {
		return err
	}
	if f.counts() {
		if err := prepared.FindUsage(ctx); err != nil {
			place.log.Debug("no machine code tells of registers; the report estimates them", "reason", err)
		}
	}
	kernel, err := prepared.Compile(ctx, dev)
	if err != nil {
		return explainArg(err)
	}
	env.report.diagnostics(kernel.Compiled.Warnings...)
	if f.time {
		name := kernel.Compiled.FileStem()
		env.report.timings(kernel.Compiled, timingRecord{Kernel: name}, name, f.verbose > 0)
	}
	r.signature = kernel.Signature
	return r.run(ctx, dev, &runnable{kernel.Compiled.Name, kernel.Compiled.Metadata, func() (*driver.Result, error) { return kernel.Run(ctx, r.grid) }})
}

// source reads the file that is to be run.
func (f *runFlags) source(env *environment, file string, req *request) (*core.Source, error) {
	src, err := readSource(env, file, f.sourceRoot, f.as)
	if err != nil {
		return nil, err
	}
	if !src.IsPython() {
		if f.kernel != "" {
			return nil, usagef("-n is for Python files; %s has one kernel", src.Path)
		}
		return src, addMetadata(env.dir, src, req.opts.Values)
	}
	f.setImports(env, src)
	if f.config == core.AllConfigs {
		return nil, usagef("--config all is for compiling; a run takes one")
	}
	if err := f.setConfigs(env.dir, src, true); err != nil {
		return nil, err
	}
	src.Define, err = definitions(f.define)
	return src, err
}

// arguments reads --arg.
func (f *runFlags) arguments(ctx context.Context, src *core.Source, req *request) (*values, error) {
	vals := &values{seed: f.seed, memo: f.memo}
	if src.IsPython() {
		info, err := launch.Info(ctx, src, req.target, &req.opts, f.kernel)
		if err != nil {
			return nil, err
		}
		vals.info = info
		vals.config = f.chosen(info)
	}
	return vals, f.readArgs(vals)
}

// readArgs reads --arg for a kernel of which values knows.
func (f *runFlags) readArgs(vals *values) error {
	for _, text := range f.args {
		name, value, err := pair("--arg", text, "VALUE")
		if err != nil {
			return err
		}
		if vals.find(name) != nil {
			return usagef("--arg %s is given twice", name)
		}
		vals.args = append(vals.args, &valueArg{name: name, text: value})
	}
	return vals.evaluate()
}

// chosen is the configuration that the flags choose, as far as that does not
// depend on the arguments; nil for none.
func (f *runFlags) chosen(info *frontend.KernelInfo) *frontend.ConfigInfo {
	n := 0
	if f.picked != nil {
		return f.picked
	}
	if f.config != "" {
		var err error
		if n, err = strconv.Atoi(f.config); err != nil {
			return nil
		}
	} else if info.Pruned && len(info.Configs) > 1 {
		return nil
	}
	if n < 0 || n >= len(info.Configs) {
		return nil
	}
	return &info.Configs[n]
}

// pair splits NAME=VALUE.
func pair(flag, text, what string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return "", "", usagef("%s %s is not of the form NAME=%s", flag, text, what)
	}
	return name, value, nil
}

// explainArg makes a wrong argument a wrong command line.
func explainArg(err error) error {
	var arg *launch.ArgError
	if !errors.As(err, &arg) {
		return err
	}
	usage := usagef("%s", arg.Text)
	if arg.Name != "" {
		usage = usagef("--arg %s: %s", arg.Name, arg.Text)
	}
	usage.help = arg.Help
	if len(arg.Missing) > 0 {
		usage.help = "give --arg " + strings.Join(arg.Missing, "=… --arg ") + "=…"
		if arg.Help != "" {
			usage.help += "; " + arg.Help
		}
	}
	return usage
}

// runner is one run under way.
type runner struct {
	env   *environment
	flags *runFlags
	src   *core.Source
	vals  *values
	out   io.Writer // what people read
	bar   progress

	grid    [3]int
	saves   []saving
	expects []expectation
	lets    []*letting
	// sources are the files that make the kernel, for --html, and signature is what was
	// compiled.
	sources   sources
	signature string
	// before are the arguments that expressions look at after the run, as they were.
	before map[string]*array.Array
}

// tellChoice says which of a kernel's configurations runs where the command line
// leaves that open.
func (r *runner) tellChoice() {
	k := r.vals.known
	if k == nil || !k.Chosen || k.Config < 0 || k.Configs < 2 {
		return
	}
	why := "the first"
	if r.vals.info.Pruned {
		why = "the first that prune_configs_by leaves"
	}
	which := fmt.Sprintf("configuration %d of %d", k.Config, k.Configs)
	if k.Config >= k.Configs {
		which = "a configuration that early_config_prune makes"
	}
	r.env.report.note("%s is autotuned: running %s (%s), %s; --config chooses another",
		k.Kernel, which, k.Left[0].Text, why)
}

// check looks at the flags alone.
func (f *runFlags) check() error {
	if f.rtol < 0 || f.atol < 0 || f.rtol != f.rtol || f.atol != f.atol {
		return usagef("--rtol and --atol cannot be negative")
	}
	switch f.report {
	case "", "table", "json":
	default:
		return usagef("--report %s: the forms are table and json", f.report)
	}
	if f.timeline != "" && !strings.HasSuffix(f.timeline, ".svg") {
		return usagef("--timeline %s: its name should end in .svg", f.timeline)
	}
	if f.grid == "" && !f.bundled {
		return usagef("no --grid given").withHelp("--grid says how many blocks run, for example --grid \"cdiv(n, BLOCK)\", or --grid 1")
	}
	return nil
}

// checkDevice refuses what is asked of a device that cannot do it.
func (f *runFlags) checkDevice(dev driver.Device) error {
	if p := dev.Properties(); f.timeline != "" && !p.Timelines {
		return usagef("--timeline: the %s draws none; simulated NPUs do", p.Name).withHelp("--report table says what it counts by line, and --html writes it as a page")
	}
	return nil
}

// counts reports whether what the device counts is asked for.
func (f *runFlags) counts() bool { return f.report != "" || f.html != "" }

// plan checks all that needs no compile: a typing mistake should not cost one.
func (r *runner) plan(ctx context.Context) (err error) {
	f := r.flags
	if r.grid, err = r.vals.grid(f.grid); err != nil {
		return err
	}
	return r.planResults(ctx)
}

// planResults checks what is asked of the results.
func (r *runner) planResults(ctx context.Context) (err error) {
	f := r.flags
	if r.saves, err = r.planSaves(f.save); err != nil {
		return err
	}
	if r.lets, err = r.planLets(f.let); err != nil {
		return err
	}
	r.expects, err = r.planExpects(ctx, f.expect)
	return err
}

// simulated makes a simulated device as the flags have it.
func (r *runner) simulated(target core.Target) (driver.Device, error) {
	f := r.flags
	opts := simulated.Options{
		MaxInstructions: f.maxInstructions, Seed: f.seed, Output: r.out, Progress: r.bar.update,
		Waves: f.counts(), Estimate: f.counts(),
	}
	switch f.schedule {
	case "natural":
	case "random":
		opts.Random = true
	default:
		return nil, usagef("--schedule %s: the orders are natural and random", f.schedule)
	}
	if f.trace != "" {
		if n, err := fmt.Sscanf(f.trace, "%d:%d", &opts.TraceBlock, &opts.TraceWarp); n != 2 || err != nil || opts.TraceBlock < 0 || opts.TraceWarp < 0 {
			return nil, usagef("--trace %s is not of the form BLOCK:WARP", f.trace)
		}
		opts.Trace = func(s simulated.TraceStep) {
			place := ""
			if s.Loc.Line > 0 {
				place = fmt.Sprintf("%s:%d", s.Loc.File, s.Loc.Line)
			}
			fmt.Fprintf(r.out, "%08x %6d  %-24s %s\n", s.Mask, s.Line, s.Text, place)
		}
	}
	dev, err := simulated.New(target, opts)
	if err != nil {
		return nil, usagef("--target %s: %v", target, err)
	}
	return dev, nil
}

// run launches the kernel and deals with what came out.
func (r *runner) run(ctx context.Context, dev driver.Device, kernel *runnable) error {
	stop := r.bar.start(r.env.report.screen(), kernel.name, "blocks")
	_, s := span.Start(ctx, "launch "+kernel.name, span.String("tritonc.device", dev.Properties().Name))
	result, err := kernel.launch()
	s.End(err)
	stop()
	if result != nil && result.Report != nil {
		switch r.flags.report {
		case "table":
			if err := result.Report.WriteTable(r.env.stdout); err != nil {
				return err
			}
		case "json":
			if err := result.Report.WriteJSON(r.env.stdout); err != nil {
				return err
			}
		}
	}
	if result != nil && r.flags.html != "" {
		if err := r.writePage(result.Report, dev); err != nil {
			return err
		}
	}
	if result != nil && r.flags.timeline != "" {
		if err := r.writeTimeline(result.Report); err != nil {
			return err
		}
	}
	if err != nil {
		return r.explain(err)
	}
	took, p := "", dev.Properties()
	if !p.Simulated {
		took = fmt.Sprintf(" in %v", result.Time)
	}
	unit, of := "block", ""
	if m, err := driver.ParseMetadata(kernel.metadata); err == nil && m.NumCTAs > 1 {
		unit, of = "cluster", " of "+diag.Count(m.NumCTAs, "block")
	}
	programs := "1 " + unit
	if n := r.grid[0] * r.grid[1] * r.grid[2]; n != 1 {
		programs = diag.Count(n, unit)
	}
	fmt.Fprintf(r.out, "%s ran on the %s: %s%s%s\n", kernel.name, p.Name, programs, of, took)
	if err := r.compare(ctx); err != nil {
		return err
	}
	return r.save()
}

// runnable is a kernel on a device, with its arguments.
type runnable struct {
	name     string
	metadata []byte
	launch   func() (*driver.Result, error)
}

// explain readies a launch's error for the user: places in the kernel's file
// get the name that the user knows and the line itself.
func (r *runner) explain(err error) error {
	var fault *driver.Fault
	if !errors.As(err, &fault) {
		return explainArg(err)
	}
	name := r.src.Name
	if name == "" {
		name = filepath.Base(r.src.Path)
	}
	for _, d := range fault.Findings {
		localize(d, name, r.src)
		for i := range d.Notes {
			localize(&d.Notes[i], name, r.src)
		}
	}
	return fault
}

func localize(d *diag.Diagnostic, name string, src *core.Source) {
	if d.Pos.File == name {
		d.Pos.File = src.Path
		d.WithSource(string(src.Text))
	}
}

// save writes the files of --save, all or none.
func (r *runner) save() error {
	for _, s := range r.saves {
		dir, base := filepath.Split(s.path)
		if dir == "" {
			dir = "."
		}
		if err := writeFiles(dir, []outFile{{base, arrayfile.EncodeNPY(s.array)}}); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "%s: written to %s\n", s.name, s.path)
	}
	return nil
}
