package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/plugin"
)

// errDifferent ends a comparison whose outcome has been shown.
var errDifferent = errors.New("the files differ")

const diffLong = `Compare two modules by what they compute and in which order, and show a unified
diff of their normal forms.

A and B are files of IR (.ttir, .ttgir), or Python files, which are compiled to
the stage of the other file first (to ttir where both are Python files), for
--target or the target that the other file names. One of them may be -, standard
input.

Not compared are names of values, blocks, private functions and aliases;
locations; where constants are, in which order and how often; the order of the
operands of commutative operations; and attributes that have their default
value. In the diff a value of B that no value of A corresponds to has a name of
the form %b0.

The exit code is 0 when the modules are equal, 1 when they differ or cannot be
read, 2 when the command line makes no sense.`

// diffFlags are the flags of the diff verb; those of compile are for Python
// files.
type diffFlags struct {
	compileFlags
	stage string
}

func diffCommand(env *environment) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "compare two modules by structure",
		Long:  diffLong,
		Example: "  tritonc diff ours.ttir theirs.ttir\n" +
			"  tritonc diff --target cuda:80 kernel.py theirs.ttgir",
		Args:                  exactArgs("file A", "file B"),
		ValidArgsFunction:     firstFiles(2, append([]string{"py"}, irEndings...)...),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return diffFiles(cmd, env, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.target, "target", "t", "", "the device to compile Python files for; know its backend's dialects")
	f.addBackend(flags)
	flags.StringVar(&f.stage, "stage", "", "compile Python files to this `STAGE`, ttir or ttgir (that of the other file)")
	flags.StringVarP(&f.kernel, "kernel", "n", "", "the kernel's name, where a Python file has several")
	flags.StringVarP(&f.signature, "signature", "s", "", `the arguments' types: "*fp32:16, i32, BLOCK=1024"`)
	flags.IntVarP(&f.numWarps, "num-warps", "w", 0, "warps per program (4)")
	flags.IntVarP(&f.numStages, "num-stages", "k", 0, "stages of software pipelining (the backend's default)")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.externLibs, "extern-lib", nil, "a library of LLVM IR with functions that the kernel calls,\nas `NAME=PATH`; may be repeated")
	flags.StringArrayVar(&f.pythonPath, "python-path", nil, "a `FOLDER` of installed packages, as for compiling")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log")
	return cmd
}

func diffFiles(cmd *cobra.Command, env *environment, f *diffFlags, paths []string) error {
	ctx := cmd.Context()
	var sources [2]*core.Source
	for i, path := range paths {
		var err error
		if sources[i], err = readSource(env, path, "", ""); err != nil {
			return err
		}
	}
	if err := f.check(sources[:]); err != nil {
		return err
	}
	host, err := newHost(env, f.verbose, &f.pickFlags, paths[0])
	if err != nil {
		return err
	}
	defer host.Close()
	_, target, err := targetBackend(ctx, host, f.target)
	if err != nil {
		return err
	}
	var modules [2]*ir.Operation
	for i, src := range sources {
		text := src.Text
		if src.IsPython() {
			if text, err = f.compile(ctx, env, cmd, host, src); err != nil {
				return err
			}
		}
		file, err := parseIR(ctx, host, target, src.Path, text)
		if err != nil {
			return err
		}
		modules[i] = file.Op
	}
	out := diff.Modules(sources[0].Path, modules[0], sources[1].Path, modules[1])
	if out == "" {
		return nil
	}
	if _, err := io.WriteString(env.stdout, out); err != nil {
		return err
	}
	return errDifferent
}

// check settles the stage and refuses flags that nothing would heed.
func (f *diffFlags) check(sources []*core.Source) error {
	if !slices.ContainsFunc(sources, (*core.Source).IsPython) {
		if f.stage != "" || f.kernel != "" || f.signature != "" || f.numWarps != 0 || f.numStages != 0 || len(f.options) > 0 || len(f.pythonPath) > 0 {
			return usagef("--stage, -n, -s, -w, -k, --option and --python-path are for Python files, and there is none")
		}
		return nil
	}
	for _, src := range sources {
		if t := namedTarget(src.Text); f.target == "" && !src.IsPython() && t != (core.Target{}) {
			f.target = t.String() // that of the other file
		}
	}
	if f.target == "" {
		return usagef("no --target given").withHelp("a Python file is compiled for a device: --target cuda:80, say")
	}
	if f.stage == "" {
		f.stage = "ttir"
		for _, src := range sources {
			if src.Kind() == "ttgir" {
				f.stage = "ttgir"
			}
		}
	}
	if f.stage != "ttir" && f.stage != "ttgir" && f.stage != core.SourceStage {
		return usagef("--stage %s: the stages that can be compared are %s, ttir and ttgir", f.stage, core.SourceStage)
	}
	return nil
}

// compile makes the IR of a Python file's kernel.
func (f *diffFlags) compile(ctx context.Context, env *environment, cmd *cobra.Command, host *plugin.Host, src *core.Source) ([]byte, error) {
	f.emit = []string{f.stage}
	req, err := f.request(cmd)
	if err != nil {
		return nil, err
	}
	req.opts.Select = host.Select
	req.opts.Print = env.report.printed
	variants, err := f.variants(ctx, env, src, req)
	if err != nil {
		return nil, err
	}
	if len(variants) > 1 {
		return nil, usagef("%s asks for %s, and one can be compared", src.Path, diag.Count(len(variants), "variant")).
			withHelp("-s gives the signature of one")
	}
	kernel, err := core.Compile(ctx, variants[0], req.target, &req.opts)
	if err != nil {
		return nil, err
	}
	env.report.diagnostics(kernel.Warnings...)
	return kernel.Artifact(f.stage).Data, nil
}
