package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	analysis "github.com/tritonc/tritonc/core/analysis/report"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/driver/tune"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// A completer gives the values that a shell offers for a flag or an argument. A
// mistake in the rest of the line gives none.
type completer struct{ env *environment }

// sourceEndings are those of files that a compile starts from, and irEndings of
// those with MLIR's text. A backend may know others, which cannot be offered.
var (
	sourceEndings = []string{"py", "ttir", "ttgir", "llir", "ptx"}
	irEndings     = []string{"ttir", "ttgir", "mlir"}
)

// complete sets the values of whatever flags cmd has.
func (c *completer) complete(cmd *cobra.Command) {
	for name, values := range map[string]cobra.CompletionFunc{
		"target":         c.targets,
		"backend":        c.backends,
		"emit":           commaSeparated(c.stages),
		"stage":          c.stages,
		"kernel":         c.kernels,
		"option":         c.options,
		"config":         fixed(core.AllConfigs),
		"passes":         commaSeparated(c.passes),
		"dump-after":     commaSeparated(c.passes),
		"from":           c.passes,
		"until":          c.passes,
		"print-analysis": commaSeparated(fixed(analysis.Names...)),
		"alias":          commaSeparated(c.aliases),
		"device":         c.devices,
		"report":         fixed("table", "json"),
		"schedule":       fixed("natural", "random"),
		"color":          fixed("auto", "always", "never"),
		"configs":        files("json"),
		"use":            files("json"),
		"write":          files("json"),
		"search":         fixed(tune.Exhaustive, tune.Random, tune.Guided),
		"input":          files(irEndings...),
		"inspect":        files("bundle"),
		"go":             folders,
		"source-root":    folders,
		"include":        folders,
		"python-path":    folders,
		"dir":            folders,
		"replace":        folders,
	} {
		if cmd.LocalFlags().Lookup(name) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(name, beginning(values)); err != nil {
			panic("BUG: " + err.Error()) // two functions for one flag
		}
	}
	for _, sub := range cmd.Commands() {
		c.complete(sub)
	}
}

// beginning leaves out what does not begin with the word; endings of files stay.
func beginning(values cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		list, directive := values(cmd, args, word)
		if directive&(cobra.ShellCompDirectiveFilterFileExt|cobra.ShellCompDirectiveFilterDirs) == 0 {
			list = slices.DeleteFunc(slices.Clone(list), func(v string) bool { return !strings.HasPrefix(v, word) })
		}
		return list, directive
	}
}

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// files offers files of these endings, and folders.
func files(endings ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

var folders = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// firstFiles offers files for the first n arguments.
func firstFiles(n int, endings ...string) cobra.CompletionFunc {
	offer := files(endings...)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, word)
	}
}

// commaSeparated offers values for the last entry of a list.
func commaSeparated(values cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		offered, directive := values(cmd, args, word[len(before):])
		out := make([]string, len(offered))
		for i, v := range offered {
			out[i] = before + v
		}
		return out, directive | cobra.ShellCompDirectiveNoSpace
	}
}

// targets offers the targets of every backend, with what they are.
func (c *completer) targets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	host := c.host(cmd, nil)
	defer host.Close()
	host.DescribeAll(cmd.Context())
	var list []string
	for _, b := range host.Backends() {
		known, err := b.Describe(cmd.Context())
		if err != nil || b.Hidden() {
			continue
		}
		for i := range known.Facts.Targets {
			row := &known.Facts.Targets[i]
			list = append(list, cobra.CompletionWithDesc(strings.TrimSuffix(row.Pattern, "*"), row.Doc))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// backend runs ask with the backend for --target, or with the first one.
func (c *completer) backend(cmd *cobra.Command, args []string, ask func(context.Context, *plugin.Backend, core.Target) []string) ([]string, cobra.ShellCompDirective) {
	host := c.host(cmd, args)
	defer host.Close()
	backend, target, err := likelyBackend(cmd, host)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ask(cmd.Context(), backend, target), cobra.ShellCompDirectiveNoFileComp
}

// likelyBackend is the backend of the line's target or, without one, of the first
// target that there is.
func likelyBackend(cmd *cobra.Command, host *plugin.Host) (*plugin.Backend, core.Target, error) {
	named := ""
	if f := cmd.Flags().Lookup("target"); f != nil {
		named = f.Value.String()
		if several, ok := f.Value.(pflag.SliceValue); ok {
			named = append(several.GetSlice(), "")[0]
		}
	}
	if named == "" {
		if all, err := namedTargets(cmd.Context(), host); err == nil && len(all) > 0 {
			named = all[0]
		}
	}
	backend, target, err := targetBackend(cmd.Context(), host, named)
	if err == nil && backend == nil {
		err = errors.New("there is no target")
	}
	return backend, target, err
}

// host finds the backends for a line with these arguments.
func (c *completer) host(cmd *cobra.Command, args []string) *plugin.Host {
	pick := &pickFlags{}
	if f := cmd.Flags().Lookup("backend"); f != nil {
		if several, ok := f.Value.(pflag.SliceValue); ok {
			pick.backends = several.GetSlice()
		}
	}
	choices, err := pick.choices(c.env, firstOf(args))
	if err != nil {
		choices = nil
	}
	opts := plugin.Options{Override: namedDirs(c.env), Dirs: ownDirs(c.env), Choices: choices, LookupEnv: c.env.lookupEnv}
	opts.Lock, opts.LockFile, err = loadLock(c.env.dir, firstOf(args))
	if err != nil || c.env.confine.settle(cmd, c.env) != nil {
		return plugin.New(plugin.Options{}) // what may run nobody knows
	}
	c.env.confine.apply(&opts)
	return plugin.New(opts)
}

// stageList asks a backend for its stages with the options as they are by
// themselves.
func stageList(ctx context.Context, b core.Backend, t core.Target) []sdk.Stage {
	options, err := b.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: t, OptionsJSON: "{}"})
	if err != nil {
		return nil
	}
	resp, err := b.AddStages(ctx, sdk.AddStagesRequest{Target: t, OptionsJSON: options.OptionsJSON})
	if err != nil {
		return nil
	}
	return resp.Stages
}

// stages offers the stages of the target's backend; --emit takes the source and
// the metadata, too.
func (c *completer) stages(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.backend(cmd, args, func(ctx context.Context, b *plugin.Backend, t core.Target) []string {
		var list []string
		for _, s := range stageList(ctx, b, t) {
			list = append(list, cobra.CompletionWithDesc(s.Name, s.Doc))
		}
		if cmd.Flags().Lookup("emit") != nil {
			list = append(list, cobra.CompletionWithDesc(core.SourceStage, "what the front end makes"), cobra.CompletionWithDesc("json", "the metadata"))
		}
		return list
	})
}

// options offers the names of the backend's options, and the values of those that
// have few.
func (c *completer) options(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	name, _, named := strings.Cut(word, "=")
	list, directive := c.backend(cmd, args, func(ctx context.Context, b *plugin.Backend, _ core.Target) []string {
		facts, err := b.Facts(ctx)
		if err != nil {
			return nil
		}
		var list []string
		for i := range facts.Options {
			o := &facts.Options[i]
			values := o.Choices
			if o.Type == sdk.Bool {
				values = []string{"true", "false"}
			}
			switch {
			case !named:
				list = append(list, cobra.CompletionWithDesc(o.Name+"=", o.Doc))
			case o.Name == name:
				for _, v := range values {
					list = append(list, o.Name+"="+v)
				}
			}
		}
		return list
	})
	if !named {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return list, directive
}

// passes offers the passes that run without a backend and, with --target, its own.
func (c *completer) passes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []string
	known := map[string]bool{}
	for _, p := range c.env.passes {
		list = append(list, cobra.CompletionWithDesc(p.Name, p.Doc))
		known[p.Name] = true
	}
	if f := cmd.Flags().Lookup("target"); f == nil || f.Value.String() == "" {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	more, directive := c.backend(cmd, args, func(ctx context.Context, b *plugin.Backend, t core.Target) []string {
		var own []string
		for _, s := range stageList(ctx, b, t) {
			for i := range s.Passes {
				if row := &s.Passes[i]; !known[row.Name] {
					known[row.Name] = true
					own = append(own, cobra.CompletionWithDesc(row.Name, row.Doc))
				}
			}
		}
		return own
	})
	return slices.Concat(list, more), directive
}

// kernels offers the kernels of the Python file that the line names.
func (c *completer) kernels(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	host := c.host(cmd, args)
	defer host.Close()
	opts := &core.Options{Select: func(context.Context, core.Target) (core.Backend, core.Target, error) {
		backend, target, err := likelyBackend(cmd, host)
		if err != nil {
			return nil, target, err
		}
		return backend, target, nil
	}}
	var list []string
	for _, path := range args {
		if filepath.Ext(path) != ".py" {
			continue
		}
		src, err := readSource(c.env, path, "", "")
		if err != nil {
			continue
		}
		(&compileFlags{}).setImports(c.env, src)
		infos, err := core.Kernels(cmd.Context(), src, core.Target{}, opts)
		if err != nil {
			continue
		}
		for _, k := range infos {
			var params []string
			for _, p := range k.Params {
				params = append(params, p.Name)
			}
			list = append(list, cobra.CompletionWithDesc(k.Name, "("+strings.Join(params, ", ")+")"))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// aliases offers the names of attributes in the file of --input.
func (c *completer) aliases(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path, err := cmd.Flags().GetString("input")
	if err != nil || path == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	host := c.host(cmd, nil)
	defer host.Close()
	src, err := c.env.dir.read(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	file, err := parseIR(cmd.Context(), host, core.Target{}, path, src)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, a := range file.Aliases() {
		list = append(list, cobra.CompletionWithDesc(a.Name, text.AttrString(file.Op.Context(), a.Attr)))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
