package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/plugin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

const passesLong = `List the passes that a compile for a target runs, stage by stage, each with the
reason why it is where it does.

A row with brackets has a condition; --all shows the rows that it leaves out in
their places, too, marked with a dash. --pipeline prints a stage's passes as
tritonc opt --passes reads them, --from and --until a slice of them; a row is
meant by its pass or, where that is there more than once, by its number.

With a FILE of IR the target is the one that its module names.

Without --target the passes that tritonc opt has of its own are listed, with their
options. With the name of one it is explained by the facts that it needs of a module,
gives and breaks, and by an example: a module before it, and after; with --target, too, its rows there are shown. Of a backend's own pass
the rows are shown, without --target those of the first target that has it.`

// passesFlags are the flags of the passes verb; those of a compile are for the
// options that passes depend on.
type passesFlags struct {
	compileFlags
	stage    string
	from     string
	until    string
	all      bool
	pipeline bool
}

func passesCommand(env *environment) *cobra.Command {
	var f passesFlags
	cmd := &cobra.Command{
		Use:   "passes [flags] [PASS|FILE]",
		Short: "list the passes of a target's stages, and why each is there",
		Long:  passesLong,
		Example: "  tritonc passes --target cuda:80\n" +
			"  tritonc passes --target cuda:90 --stage ttgir --pipeline -w 8\n" +
			"  tritonc passes --target cuda:80 --stage ttgir --from 3 --until tritongpu-pipeline --pipeline\n" +
			"  tritonc passes triton-combine\n" +
			"  tritonc passes --target cuda:80 canonicalize",
		Args:                  cobra.ArbitraryArgs,
		ValidArgsFunction:     beginning((&completer{env}).passes),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isIRFile(args[0]) {
				return passesOfFile(cmd, env, &f, args[0])
			}
			if len(args) > 0 {
				return explainPass(cmd, env, &f, args)
			}
			return listPasses(cmd, env, &f, "")
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.target, "target", "t", "", "the device, as BACKEND:ARCH[:WARP_SIZE]")
	f.addBackend(flags)
	flags.StringVar(&f.stage, "stage", "", "only this `STAGE`: ttir, say")
	flags.StringVar(&f.from, "from", "", "the one stage's rows from this `PASS` on: a name or a number")
	flags.StringVar(&f.until, "until", "", "the one stage's rows up to this `PASS`, included")
	flags.BoolVar(&f.all, "all", false, "show rows that a condition leaves out, too")
	flags.BoolVar(&f.pipeline, "pipeline", false, "print the one stage's passes as tritonc opt --passes reads them")
	flags.IntVarP(&f.numWarps, "num-warps", "w", 0, "warps per program (4)")
	flags.IntVarP(&f.numStages, "num-stages", "k", 0, "stages of software pipelining (the backend's default)")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

// isIRFile reports whether an argument names a file of IR: passes have no dots.
func isIRFile(arg string) bool {
	return arg == "-" || slices.Contains(irEndings, strings.TrimPrefix(filepath.Ext(arg), "."))
}

// passesOfFile lists the passes for the target of a file's module.
func passesOfFile(cmd *cobra.Command, env *environment, f *passesFlags, path string) error {
	name, src, err := readFileOrInput(env, path)
	if err != nil {
		return err
	}
	if f.target == "" {
		target := namedTarget(src)
		if target == (core.Target{}) {
			return usagef("%s names no target", name).withHelp("--target says for which the passes are")
		}
		f.target = target.String()
	}
	return listPasses(cmd, env, f, path)
}

// listPasses lists the passes of a target's stages; file says whose project it is of.
func listPasses(cmd *cobra.Command, env *environment, f *passesFlags, file string) error {
	values, err := f.values(cmd)
	if err != nil {
		return err
	}
	if f.target == "" {
		if f.stage != "" || f.all || f.pipeline || f.slice() || len(values) > 0 {
			return usagef("no --target given").withHelp("stages and their passes are a backend's; without flags the neutral passes are listed")
		}
		return listNeutral(env)
	}
	if (f.pipeline || f.slice()) && f.stage == "" {
		return usagef("--pipeline, --from and --until are for one stage's passes").withHelp("--stage says of which")
	}
	host, err := newHost(env, f.verbose, &f.pickFlags, file)
	if err != nil {
		return err
	}
	defer host.Close()
	stages, err := f.stages(cmd.Context(), host, f.target, values)
	if err != nil {
		return err
	}
	for i := range stages {
		s := &stages[i]
		rows, err := sliceRows(s, f.from, f.until)
		if err != nil {
			return err
		}
		switch {
		case !f.pipeline && env.report.json:
			if err := writeJSON(env.stdout, stageRows(s, rows, f.all)...); err != nil {
				return err
			}
		case !f.pipeline:
			printStage(env.stdout, s, rows, f.all)
		case s.Pipeline == "":
			return usagef("the passes of the stage %s are none that tritonc opt runs", f.stage)
		default:
			fmt.Fprintln(env.stdout, pipeline(rows))
		}
	}
	return nil
}

// slice reports whether part of a stage's rows is asked for.
func (f *passesFlags) slice() bool { return f.from != "" || f.until != "" }

// A numberedRow is a row of a stage with its number there; those that a condition
// leaves out have none, which is 0.
type numberedRow struct {
	sdk.PassRow
	number int
}

// sliceRows are the rows of a stage from one to another, both of which are
// included; an empty name stands for the end on its side. Where a pass has
// several rows, the first counts, for until the first that is not above from.
func sliceRows(s *sdk.Stage, from, until string) ([]numberedRow, error) {
	rows := make([]numberedRow, len(s.Passes))
	n := 0
	for i, row := range s.Passes {
		rows[i].PassRow = row
		if !row.LeftOut {
			n++
			rows[i].number = n
		}
	}
	first, last := 0, len(rows)-1
	var err error
	if from != "" {
		if first, err = findRow(s.Name, rows, from, 0); err != nil {
			return nil, err
		}
	}
	if until != "" {
		if last, err = findRow(s.Name, rows, until, first); err != nil {
			return nil, err
		}
	}
	return rows[first : last+1], nil
}

// findRow finds a row by the name of its pass or by its number, not before start.
func findRow(stage string, rows []numberedRow, wanted string, start int) (int, error) {
	var names []string
	above := false
	for i, row := range rows {
		if row.number == 0 {
			continue
		}
		names = append(names, row.Name)
		if row.Name == wanted || strconv.Itoa(row.number) == wanted {
			if i >= start {
				return i, nil
			}
			above = true
		}
	}
	switch {
	case above:
		return 0, usagef("--until %s comes above --from", wanted)
	case slices.ContainsFunc(rows, func(r numberedRow) bool { return r.Name == wanted }):
		return 0, usagef("the stage %s runs no pass %s here", stage, wanted).withHelp("tritonc passes --all says which condition leaves it out")
	}
	if _, err := strconv.Atoi(wanted); err == nil {
		return 0, usagef("the stage %s has no row %s", stage, wanted).withHelp("its rows are 1 to %d", len(names))
	}
	return 0, usagef("the stage %s has no pass %q", stage, wanted).withHelp("%s", pass.Hint(wanted, names))
}

// pipeline writes rows as tritonc opt --passes reads them.
func pipeline(rows []numberedRow) string {
	var parts []string
	for _, row := range rows {
		switch {
		case row.number == 0:
		case row.Options == "":
			parts = append(parts, row.Name)
		default:
			parts = append(parts, row.Name+"{"+row.Options+"}")
		}
	}
	return strings.Join(parts, ",")
}

// stages asks the backend for its stages and returns those to be shown.
func (f *passesFlags) stages(ctx context.Context, host *plugin.Host, target string, values map[string]any) ([]sdk.Stage, error) {
	backend, completed, err := targetBackend(ctx, host, target)
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	options, err := backend.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: completed, OptionsJSON: string(given)})
	if err != nil {
		return nil, err
	}
	resp, err := backend.AddStages(ctx, sdk.AddStagesRequest{Target: completed, OptionsJSON: options.OptionsJSON})
	if err != nil {
		return nil, err
	}
	var all, with []string
	var found []sdk.Stage
	for _, s := range resp.Stages {
		all = append(all, s.Name)
		if len(s.Passes) > 0 {
			with = append(with, s.Name)
			if f.stage == "" || f.stage == s.Name {
				found = append(found, s)
			}
		}
	}
	switch {
	case len(with) == 0:
		return nil, fmt.Errorf("the backend %s shows no passes", backend.Name())
	case len(found) > 0:
		return found, nil
	case slices.Contains(all, f.stage):
		return nil, usagef("the stage %s has no passes", f.stage).withHelp("these have: %s", list(with))
	}
	return nil, usagef("the backend %s has no stage %q", backend.Name(), f.stage).withHelp("its stages: %s", list(all))
}

// printStage writes rows of a stage's table: number, pass and reason, below it
// the options that are set. Rows that a condition leaves out are named at the
// end, or with all in their places.
func printStage(w io.Writer, s *sdk.Stage, rows []numberedRow, all bool) {
	width := 0
	for _, row := range rows {
		if all || row.number > 0 {
			width = max(width, len(row.Name))
		}
	}
	fmt.Fprintf(w, "%s: %s\n", s.Name, s.Doc)
	var out []string
	for _, row := range rows {
		number := "-"
		if row.number > 0 {
			number = strconv.Itoa(row.number)
		} else if !all {
			out = append(out, fmt.Sprintf("%s [%s]", row.Name, row.Condition))
			continue
		}
		fmt.Fprintf(w, "%4s  %-*s  %s", number, width, row.Name, row.Why)
		if row.Condition != "" {
			fmt.Fprintf(w, " [%s]", row.Condition)
		}
		fmt.Fprintln(w)
		if row.Options != "" {
			fmt.Fprintf(w, "      {%s}\n", row.Options)
		}
	}
	if len(out) > 0 {
		fmt.Fprintf(w, "   -  left out by a condition: %s\n", list(out))
	}
}

// explainPass writes where a target's stages have a pass, and what it does where
// it is one of the neutral ones.
func explainPass(cmd *cobra.Command, env *environment, f *passesFlags, args []string) error {
	if err := exactArgs("PASS")(cmd, args); err != nil {
		return err
	}
	if f.all || f.pipeline || f.slice() {
		return usagef("--all, --pipeline, --from and --until are for lists of passes, not for one")
	}
	name := args[0]
	var names []string
	for _, p := range env.passes {
		names = append(names, p.Name)
	}
	neutral := slices.Index(names, name)
	if f.target != "" || neutral < 0 {
		found, all, err := f.showRows(cmd, env, name)
		if err != nil || found && neutral < 0 {
			return err
		}
		names = append(names, all...)
		if found && !env.report.json {
			fmt.Fprintln(env.stdout)
		}
	}
	if neutral < 0 {
		return usagef("there is no pass %q", name).withHelp("%s", pass.Hint(name, names))
	}
	if env.report.json {
		return writeJSON(env.stdout, passRowOf(env.passes[neutral], true))
	}
	explain(env.stdout, env.passes[neutral])
	return nil
}

// showRows writes the rows that the target's stages have of a pass, and returns
// whether there are any, and the names of all passes. Without --target it is the
// first target of a backend here that has such rows, which it names.
func (f *passesFlags) showRows(cmd *cobra.Command, env *environment, name string) (found bool, all []string, err error) {
	values, err := f.values(cmd)
	if err != nil {
		return false, nil, err
	}
	host, err := newHost(env, f.verbose, &f.pickFlags, "")
	if err != nil {
		return false, nil, err
	}
	defer host.Close()
	targets := []string{f.target}
	if f.target == "" {
		if targets, err = namedTargets(cmd.Context(), host); err != nil {
			return false, nil, err
		}
	}
	named := false
	for _, target := range targets {
		stages, err := f.stages(cmd.Context(), host, target, values)
		switch {
		case err != nil && f.target != "" || cmd.Context().Err() != nil:
			return false, nil, err
		case err != nil:
			continue // a backend without passes, say
		}
		for i := range stages {
			rows, err := sliceRows(&stages[i], "", "")
			if err != nil {
				return false, nil, err
			}
			var of []numberedRow
			for _, row := range rows {
				all = append(all, row.Name)
				if row.Name == name {
					of = append(of, row)
				}
			}
			if len(of) == 0 {
				continue
			}
			found = true
			if env.report.json {
				if err := writeJSON(env.stdout, stageRows(&stages[i], of, true)...); err != nil {
					return false, nil, err
				}
				continue
			}
			if f.target == "" && !named {
				fmt.Fprintf(env.stdout, "--target %s\n", target)
				named = true
			}
			printStage(env.stdout, &stages[i], of, true)
		}
		if found {
			break
		}
	}
	return found, all, nil
}

// namedTargets lists the targets of all backends that can be used, those left out
// that stand for many.
func namedTargets(ctx context.Context, host *plugin.Host) ([]string, error) {
	var list []string
	for _, b := range host.Backends() {
		known, err := b.Describe(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || b.Hidden() {
			continue
		}
		for i := range known.Facts.Targets {
			if p := known.Facts.Targets[i].Pattern; slices.Contains(list, p) {
				continue
			} else if !strings.ContainsAny(p, `*?[\`) {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// explain writes what a pass does, its options and its example.
func explain(w io.Writer, p *pass.Pass) {
	fmt.Fprintf(w, "%s: %s\n", p.Name, p.Doc)
	for _, o := range p.Options {
		fmt.Fprintf(w, "    %s=%s  %s\n", o.Name, defaultText(o), o.Doc)
	}
	printFacts(w, p)
	a := txtar.Parse([]byte(p.Example))
	var said []string
	for line := range strings.Lines(string(a.Comment)) {
		if !strings.HasPrefix(line, "passes: ") { // the test's
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(said, "\n"))
	}
	for _, f := range a.Files {
		title := map[string]string{"in.mlir": "before", "out.mlir": "after", "remarks.txt": "remarks, each with its line"}[f.Name]
		fmt.Fprintf(w, "\n// %s\n%s", title, f.Data)
	}
}

// printFacts writes what a pass needs of a module, gives and breaks.
func printFacts(w io.Writer, p *pass.Pass) {
	line := func(verb, given string, facts []*pass.Fact) {
		for _, f := range facts {
			fmt.Fprintf(w, "  %-6s %s: %s%s\n", verb, f.Name, f.Doc, given)
		}
	}
	line("needs", "", p.Before)
	line("gives", "", p.After)
	for _, o := range p.Options {
		for _, value := range slices.SortedFunc(maps.Keys(o.After), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
			line("gives", fmt.Sprintf(", with %s=%v", o.Name, value), o.After[value])
		}
	}
	line("breaks", "", p.Breaks)
}

// listNeutral writes the passes that run without a backend, with what they do
// and their options.
func listNeutral(env *environment) error {
	if env.report.json {
		for _, p := range env.passes {
			if err := writeJSON(env.stdout, passRowOf(p, false)); err != nil {
				return err
			}
		}
		return nil
	}
	width := 0
	for _, p := range env.passes {
		width = max(width, len(p.Name))
	}
	for _, p := range env.passes {
		fmt.Fprintf(env.stdout, "%-*s  %s\n", width, p.Name, p.Doc)
		for _, o := range p.Options {
			fmt.Fprintf(env.stdout, "    %s=%s  %s\n", o.Name, defaultText(o), o.Doc)
		}
	}
	return nil
}

func defaultText(o pass.Option) string {
	if o.Default == "" {
		return `""`
	}
	return fmt.Sprint(o.Default)
}
