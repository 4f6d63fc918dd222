package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	analysis "github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	sdkhost "github.com/tritonc/tritonc/plugin-sdk/host"
)

const optLong = `Parse and verify a file of IR (the MLIR text of ttir and ttgir stages), run passes
on it, and print it. The file - is standard input.

--passes takes any passes in any order, with options in braces:

    canonicalize,convert-triton-to-tritongpu{num-warps=8 threads-per-warp=32}

tritonc passes lists what there is; with --pipeline, and --from and --until, it
writes a stage's passes, or a slice of them, in this notation. With --target the
passes are the backend's, its own included. Without it they are those of no target
in particular; if one is not among them, or depends on the target, the backend for
the module's ttg.target runs them all.

Command lines of triton-opt work as they are: long flags may have one dash, and a
pass may be a flag, its options after an equals sign:

    -split-input-file -tritongpu-pipeline=num-stages=3 -canonicalize kernel.mlir

Options that are not given then have Triton's defaults, and neither the file's names
of values nor its locations are printed, as MLIR has it: --mlir-use-nameloc-as-prefix
and --mlir-print-debuginfo ask for them. With --verify-diagnostics
it is an error if a diagnostic differs from what the file's comments announce, such
as "// expected-error @+1 {{text}}", at the line itself, @above, @below, or so many
lines off; after expected-error-re the text has regular expressions in braces.

The passes test-print-alignment, -alias and -allocation say in remarks, at each
operation, what analyses found.

Dialects of vendors come from the backends that declare them. Operations of other
dialects may be in generic form.

What comes out without passes for a file that Triton or tritonc printed has the
file's own bytes. Locations are printed where the file has them. With
--print-analysis what analyses know of the outcome is printed in its place.

A crash of a pass leaves a file that shows it again by the command in its first
line.`

// optFlags are the flags of the opt verb.
type optFlags struct {
	pickFlags
	target     string
	passes     string
	dumpAfter  []string
	verifyEach bool
	analyses   []string
	time       bool
	output     string
	generic    bool
	local      bool
	verbose    int

	pipeline     string // MLIR's notation of passes
	split        bool
	expected     string // "", "all" or onlyExpected
	unregistered bool
	asTriton     bool // passes are flags, as triton-opt has them
	names        bool
	locations    bool
}

// location finds what is or may be a location in a file of IR: not local_alloc(.
var location = lazily(`(^|[^\w.$-])loc\(`)

// onlyExpected is the value of --verify-diagnostics with which diagnostics that
// nothing announces may come.
const onlyExpected = "only-expected"

func optCommand(env *environment) *cobra.Command {
	var f optFlags
	cmd := &cobra.Command{
		Use:   "opt [flags] FILE",
		Short: "parse, verify and print a file of IR; run passes on it",
		Long:  optLong,
		Example: "  tritonc opt -o out.ttir in.ttir\n" +
			"  tritonc opt --passes canonicalize,cse in.ttir\n" +
			"  tritonc opt --target cuda:80 --passes tritongpu-coalesce --dump-after --time in.ttgir\n" +
			"  tritonc opt --target cuda:80 --passes \"$(tritonc passes --target cuda:80 \\\n" +
			"      --stage ttgir --until tritongpu-pipeline --pipeline)\" in.ttir\n" +
			"  tritonc opt --target cuda:80 --print-analysis allocation kernel.ttgir\n" +
			"  tritonc opt -split-input-file -verify-diagnostics invalid.mlir",
		Args: func(cmd *cobra.Command, args []string) error {
			// The name after --dump-after is a file to cobra, since the flag needs none.
			if len(args) == 2 && len(f.dumpAfter) > 0 && strings.Contains(f.passes, args[0]) {
				return usagef("%q is one argument too many", args[1]).withHelp("names of passes follow an equals sign: --dump-after=%s", args[0])
			}
			return exactArgs("FILE")(cmd, args)
		},
		ValidArgsFunction:     firstFiles(1, irEndings...),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return optFile(cmd.Context(), env, &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.target, "target", "t", "", "use the passes of the backend for BACKEND:ARCH[:WARP_SIZE]")
	f.addBackend(flags)
	flags.StringVarP(&f.passes, "passes", "p", "", "run these `PASSES`: canonicalize,cse")
	flags.StringSliceVar(&f.dumpAfter, "dump-after", nil, "show the IR on standard error after the passes of these `NAMES`, or after each")
	flags.Lookup("dump-after").NoOptDefVal = sdk.DumpAll
	flags.BoolVar(&f.verifyEach, "verify-each", false, "verify after every pass, not only at the end")
	flags.StringSliceVar(&f.analyses, "print-analysis", nil, "print what these `ANALYSES` know of the outcome:\naxis-info, alias and, with --target, liveness, allocation, membar")
	flags.BoolVar(&f.time, "time", false, "show how long each pass took, and what it counts of its work")
	flags.StringVarP(&f.output, "output", "o", "-", "the file to write; - is standard output")
	flags.BoolVar(&f.generic, "generic", false, "print operations in MLIR's generic form")
	flags.BoolVar(&f.split, "split-input-file", false, "take the parts of a file between lines \"// -----\" one by one")
	flags.StringVar(&f.expected, "verify-diagnostics", "", "compare diagnostics with the file's expected-error, -warning, -note and -remark\ncomments: `WHICH` is all or only-expected")
	flags.Lookup("verify-diagnostics").NoOptDefVal = "all"
	flags.BoolVar(&f.unregistered, "allow-unregistered-dialect", true, "take operations of dialects that nobody declares")
	flags.BoolVar(&f.names, "mlir-use-nameloc-as-prefix", true, "print the names that the file gives to values; =false numbers them,\nas flags of passes do")
	flags.BoolVar(&f.locations, "mlir-print-debuginfo", true, "print locations, if the file has them; =false leaves them out,\nas flags of passes do")
	flags.BoolVar(&f.local, "mlir-print-local-scope", false, "print attributes and locations in place, not as lines of their own")
	flags.StringVar(&f.pipeline, "pass-pipeline", "", "run these passes: builtin.module(`PASSES`)")
	flags.BoolVar(&f.asTriton, asTritonFlag, false, "")
	_ = flags.MarkHidden(asTritonFlag) // it exists
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

func optFile(ctx context.Context, env *environment, f *optFlags, path string) error {
	if err := f.check(); err != nil {
		return err
	}
	host, err := newHost(env, f.verbose, &f.pickFlags, path)
	if err != nil {
		return err
	}
	defer host.Close()
	backend, target, err := passBackend(ctx, host, f.target)
	if err != nil {
		return err
	}
	name, src, err := readFileOrInput(env, path)
	if err != nil {
		return err
	}
	parts := [][]byte{src}
	if f.split {
		parts = splitInput(src)
	}
	var out []byte
	var failed errorList
	for i, part := range parts {
		text, said, err := f.part(ctx, env, optRun{host, backend, target}, name, part)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.expected != "" && (err == nil || diag.All(err) != nil && !isCrash(err)) {
			err = checkExpected(name, part, append(said, diag.All(err)...), f.expected == onlyExpected)
		} else {
			env.report.diagnostics(said...)
		}
		if i > 0 {
			out = append(out, "\n"+splitMarker+"\n"...)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		out = append(out, text...)
	}
	if len(failed) > 0 {
		if f.output == "-" && len(parts) > 1 {
			if _, err := env.stdout.Write(out); err != nil {
				return err
			}
		}
		return failed
	}
	return f.write(env, out)
}

// isCrash reports whether err is a fault of ours, of which a reproducer tells.
func isCrash(err error) bool {
	var crash *core.Crash
	return errors.As(err, &crash)
}

// optRun is where the parts of a file run: the backend is nil without --target.
type optRun struct {
	host    *plugin.Host
	backend *plugin.Backend
	target  core.Target
}

// part runs the passes on one text, a file or a part of one, and returns what is to
// be printed of it, and what passes said, also of those before an error.
func (f *optFlags) part(ctx context.Context, env *environment, r optRun, name string, src []byte) (out []byte, said diag.List, err error) {
	if f.split && onlyComments(src) {
		return []byte("module {\n}\n"), nil, nil
	}
	file, err := parseIR(ctx, r.host, r.target, name, src)
	if err != nil {
		return nil, said, err
	}
	if !f.unregistered {
		if err := refuseUnregistered(file, src); err != nil {
			return nil, said, err
		}
	}
	if err := file.Verify(); err != nil {
		// An operation before it may break a rule that only its backend knows.
		if first := verifyByBackend(ctx, r.host, r.target, file.Op, name, src); first != nil {
			return nil, said, first
		}
		return nil, said, err
	}
	m, analyses := file.Op, []sdk.PassText(nil)
	if f.passes == "" && len(f.analyses) == 0 {
		if err := verifyByBackend(ctx, r.host, r.target, m, name, src); err != nil {
			return nil, said, err
		}
	} else {
		if r.backend == nil {
			if r.backend, r.target, err = f.ownBackend(ctx, env, r.host, m); err != nil {
				return nil, said, err
			}
		}
		req := sdk.RunPassesRequest{
			Target: r.target, Input: string(src), InputName: name, Pipeline: f.passes,
			VerifyEach: f.verifyEach, DumpAfter: f.dumpAfter, Analyses: f.analyses,
		}
		var resp sdk.RunPassesResponse
		if r.backend == nil {
			resp, err = runNeutralPasses(env, file, &req)
		} else if resp, err = runBackendPasses(ctx, r.backend, &req); err == nil {
			m, err = text.Parse(m.Context(), name, []byte(resp.Output))
		}
		f.showRun(env.report, &resp)
		said = wire.ListFromSDK(resp.Diagnostics)
		for _, d := range said {
			d.WithSource(string(src))
		}
		if err != nil {
			return nil, said, err
		}
		analyses = resp.Analyses
	}
	out = f.text(m, analyses, f.locations && location().Match(src))
	if data := file.Metadata(); strings.Contains(data, "dialect_resources") && len(f.analyses) == 0 {
		out = append(out, "\n"+data+"\n"...) // what attributes name
	}
	return out, said, nil
}

// refuseUnregistered reports the first operation of a dialect that nobody declares.
func refuseUnregistered(file *text.File, src []byte) error {
	var first *ir.Operation
	ir.Walk(file.Op, func(op *ir.Operation) ir.WalkResult {
		if op.Def().Unregistered {
			first = op
			return ir.Stop
		}
		return ir.Advance
	})
	if first == nil {
		return nil
	}
	return diag.Errorf(file.Pos(first), "no dialect declares the operation '%s'", first.Name()).
		WithHelp("--allow-unregistered-dialect takes it").WithSource(string(src))
}

// verifyByBackend has the backend that declared a dialect of the module's operations
// read the module: core verifies what the declaration says of them, and the backend
// the rest, for the target of the command line or the module, or the first that the
// backend names.
func verifyByBackend(ctx context.Context, host *plugin.Host, target core.Target, m *ir.Operation, name string, src []byte) error {
	declared := declaredDialect(m)
	if declared == "" {
		return nil
	}
	for _, t := range append([]core.Target{target, namedTarget(src)}, declaringTargets(ctx, host, declared)...) {
		if t == (core.Target{}) {
			continue
		}
		backend, full, err := host.SelectBackend(ctx, t)
		if err != nil {
			continue
		}
		facts, err := backend.Facts(ctx)
		if err != nil {
			return err
		}
		if facts.Has(sdkhost.CapRunPasses) && slices.Contains(facts.Dialects, declared) {
			_, err = runBackendPasses(ctx, backend, &sdk.RunPassesRequest{Target: full, Input: string(src), InputName: name})
			return err
		}
	}
	return ctx.Err()
}

// declaredDialect is the dialect of the first operation of m whose dialect a backend
// declared; "" if there is none.
func declaredDialect(m *ir.Operation) (name string) {
	own := dialect.All()
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Def().Unregistered || slices.ContainsFunc(own, func(d *ir.Dialect) bool { return d.Op(op.Name()) == op.Def() }) {
			return ir.Advance
		}
		name = op.Def().Dialect()
		return ir.Stop
	})
	return name
}

// declaringTargets lists targets of the backends that run passes and declare a dialect,
// or, for "", of all that run passes: one target of each.
func declaringTargets(ctx context.Context, host *plugin.Host, dialect string) []core.Target {
	var list []core.Target
	for _, b := range host.Backends() {
		known, err := b.Describe(ctx)
		if err != nil || b.Hidden() {
			continue // it cannot be used
		}
		facts := &known.Facts
		if !facts.Has(sdkhost.CapRunPasses) ||
			dialect != "" && !slices.Contains(facts.Dialects, dialect) {
			continue // it has nothing to say
		}
		for i := range facts.Targets {
			if t, err := core.ParseTarget(facts.Targets[i].Pattern); err == nil && !strings.ContainsAny(facts.Targets[i].Pattern, `*?[\`) {
				list = append(list, t)
				break
			}
		}
	}
	return list
}

// ofLanes puts the targets first whose warps have so many lanes, as those of a module do:
// passes that several backends have are the backend's for which the module was made.
func ofLanes(ctx context.Context, host *plugin.Host, targets []core.Target, lanes int64) []core.Target {
	fits := func(t core.Target) bool {
		for _, b := range host.Backends() {
			known, err := b.Describe(ctx)
			if err != nil {
				continue
			}
			for i := range known.Facts.Targets {
				if f := &known.Facts.Targets[i]; f.Pattern == t.String() {
					return int64(f.WarpSize) == lanes
				}
			}
		}
		return false
	}
	first := slices.Clone(targets)
	slices.SortStableFunc(first, func(a, b core.Target) int {
		switch x, y := fits(a), fits(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return first
}

// check refuses what makes no sense before anything is started.
func (f *optFlags) check() error {
	if f.pipeline != "" {
		if f.passes != "" {
			return usagef("--pass-pipeline and --passes, or a flag of a pass, both name passes")
		}
		f.passes = flatPipeline(f.pipeline)
	}
	if f.expected != "" && f.expected != "all" && f.expected != onlyExpected {
		return usagef("--verify-diagnostics is all or %s, not %q", onlyExpected, f.expected)
	}
	if f.passes == "" && (len(f.dumpAfter) > 0 || f.verifyEach || f.time) {
		return usagef("--dump-after, --verify-each and --time are about passes, and there are no --passes")
	}
	if f.target != "" {
		return nil // the backend knows its analyses
	}
	for _, name := range f.analyses {
		if !slices.Contains(analysis.Names, name) {
			return usagef("no analysis %q", name).withHelp("there are %s", list(analysis.Names))
		}
	}
	return nil
}

// emptyModule is one on which each pass has nothing to do.
const emptyModule = `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
}
`

// ownBackend returns the backend for the target that m itself names, where passes
// or analyses are asked for that only a backend has, or passes that depend on the
// target; where it names none, the first that has all the passes, where core lacks some
// or m has operations of a dialect that the backend declares, whose versions of core's
// passes know them; else nil.
func (f *optFlags) ownBackend(ctx context.Context, env *environment, host *plugin.Host, m *ir.Operation) (*plugin.Backend, core.Target, error) {
	rows, unknown := pass.Parse(env.passes, f.passes)
	byTarget := slices.ContainsFunc(rows, func(r pass.Row) bool { return r.Pass.ByTarget })
	needsPlace := slices.IndexFunc(f.analyses, analysis.NeedsPlace)
	named := m.StringAttr(ttg.TargetAttr)
	if unknown == nil && !byTarget && needsPlace < 0 && (!f.asTriton || named == "" && declaredDialect(m) == "") {
		return nil, core.Target{}, nil
	}
	if named != "" {
		backend, target, err := passBackend(ctx, host, named)
		if err != nil && f.asTriton && unknown == nil && needsPlace < 0 {
			return nil, core.Target{}, nil // passes of core that need no backend, for a GPU that none here is for
		}
		return backend, target, err
	}
	if needsPlace >= 0 {
		return nil, core.Target{}, usagef("--print-analysis %s needs a --target", f.analyses[needsPlace]).
			withHelp("how much shared memory an operation takes is the backend's to say")
	}
	if declared := declaredDialect(m); unknown != nil || declared != "" || f.asTriton { // for its passes; none asks for the target
		for _, t := range ofLanes(ctx, host, declaringTargets(ctx, host, declared), ttg.ThreadsPerWarp(m)) {
			backend, full, err := host.SelectForPasses(ctx, t)
			if err != nil {
				continue
			}
			empty := sdk.RunPassesRequest{Target: full, Input: emptyModule, Pipeline: f.passes}
			if _, err := runBackendPasses(ctx, backend, &empty); err == nil {
				return backend, full, nil
			}
		}
	}
	return nil, core.Target{}, nil // the neutral passes say what is unknown
}

// showRun writes what was asked for of the passes themselves, also of those
// before an error.
func (f *optFlags) showRun(r *reporter, resp *sdk.RunPassesResponse) {
	for _, d := range resp.Dumps {
		r.record(fmt.Sprintf("// -----// IR Dump After %s //----- //\n%s\n", d.Name, d.Text), dumpRecord{"dump", d.Name, d.Text})
	}
	if !f.time || len(resp.Timings) == 0 {
		return
	}
	var total time.Duration
	for _, t := range resp.Timings {
		d := time.Duration(t.Nanoseconds)
		total += d
		r.timing(d, timingRecord{Step: t.Name, Did: t.Did}, withDid(t.Name, t.Did))
	}
	r.timing(total, timingRecord{}, "total")
}

// dumpRecord is the IR after a pass.
type dumpRecord struct {
	Kind string `json:"kind"`
	Pass string `json:"pass"`
	Text string `json:"text"`
}

// text is the module, or what analyses know of it.
func (f *optFlags) text(m *ir.Operation, analyses []sdk.PassText, locations bool) []byte {
	var out []byte
	for _, a := range analyses {
		if len(analyses) > 1 {
			out = append(out, "// "+a.Name+"\n"...)
		}
		out = append(out, a.Text...)
	}
	if len(f.analyses) == 0 {
		out = text.Append(nil, m, text.Options{Locations: locations, Generic: f.generic, Local: f.local, Unnamed: !f.names})
	}
	return out
}

// write puts out what the parts gave.
func (f *optFlags) write(env *environment, out []byte) error {
	if f.output == "-" {
		_, err := env.stdout.Write(out)
		return err
	}
	return writeFiles(filepath.Dir(f.output), []outFile{{filepath.Base(f.output), out}})
}

// runBackendPasses has the backend run passes.
func runBackendPasses(ctx context.Context, backend *plugin.Backend, req *sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	facts, err := backend.Facts(ctx)
	if err != nil {
		return sdk.RunPassesResponse{}, err
	}
	if !facts.Has(sdkhost.CapRunPasses) {
		return sdk.RunPassesResponse{}, fmt.Errorf("the backend %s runs no passes by name", backend.Name())
	}
	resp, err := backend.RunPasses(ctx, *req)
	return resp, explainRun(err, req, resp.Reproducer)
}
