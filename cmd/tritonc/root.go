package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core/diag"
)

const rootLong = `tritonc compiles Triton kernels: a Python file with @triton.jit functions, or the
IR of any stage on the way, to a binary for a device.

A kernel's signature comes from -s, or from comments in the file that Python
ignores; each such comment is a variant, and all are compiled:

    # tritonc: vector_add(*fp32:16, *fp32:16, *fp32:16, i32, BLOCK=1024) num_warps=4

In a signature, *fp32 is a pointer to float32 and i32 a run time integer; ":16"
says that the value is a multiple of 16, ":1" that it is 1. A literal (1024, 0.5,
True, None, 'ieee', tl.float16, a tuple) is the value of a tl.constexpr. A kernel
whose parameters are all constants with values needs none.

What the file imports is found in its package, beside it, in the folders of -I, among
installed packages, and above it up to the root of its project; no Python is run.

An autotuned kernel has constants that its configurations give: --config takes
the number of one, or all; with a single configuration no flag is needed. Where
the kernel's decorator cannot be evaluated, --configs FILE says what it would be,
as JSON; names that are not parameters of the kernel are options:

    [{"kwargs": {"BLOCK": 128}, "num_warps": 4, "maxnreg": null},
     {"BLOCK": 256, "num_warps": 8}]

The file - is standard input. Whether it is Python or IR, and of which stage, its
text says, or --as.

Files are written to the current folder, all of them or none:
KERNEL[.VARIANT].cubin and KERNEL[.VARIANT].json unless --emit says otherwise.
Several files and several targets (-t cuda:80 -t cuda:90) are compiled side by
side; with several targets names tell which: KERNEL[.VARIANT].cuda_80.cubin.

The exit code is 0 when all went well, 1 when the kernel, the machine or tritonc is
at fault, and 2 when the command line makes no sense.`

const rootExample = `  tritonc --target cuda:80 vector_add.py
  tritonc --target cuda:90 -n softmax -s "*fp32:16, *fp32:16, i32, BLOCK=1024" -w 8 kernels.py
  tritonc --target cuda:80 --emit ttir,ttgir,ptx -o out vector_add.py
  tritonc -t cuda:80 -t cuda:90 -o out vector_add.py softmax.py
  tritonc --target cuda:80 --emit ptx -o - vector_add.ttir
  tritonc --target cuda:80 --emit ttgir -o - - <vector_add.py`

func newRoot(env *environment) *cobra.Command {
	root := bareRoot(env)
	addVerbs(root, env)
	return root
}

// verbNames are those of newRoot's verbs, other names of theirs too.
var verbNames = []string{
	"backend", "backends", "bench", "build", "cache", "compile", "completion", "devices", "diff", "farm", "help", "layout", "opt", "passes", "run", "serve", "tune", "version", "worker",
}

// rootFor is newRoot for these arguments: without the verbs where none of them names
// one, since making the flags of all takes longer than compiling a small kernel.
func rootFor(env *environment, args []string) *cobra.Command {
	isVerb := func(arg string) bool {
		return slices.Contains(verbNames, arg) || arg == cobra.ShellCompRequestCmd || arg == cobra.ShellCompNoDescRequestCmd
	}
	if slices.ContainsFunc(args, isVerb) {
		return newRoot(env)
	}
	root := bareRoot(env)
	root.SetHelpFunc(func(*cobra.Command, []string) {
		whole := newRoot(env)
		whole.SetOut(env.stdout)
		whole.InitDefaultHelpCmd()
		whole.InitDefaultHelpFlag()
		whole.InitDefaultVersionFlag()
		_ = whole.Help() // what cannot be written nobody reads
	})
	return root
}

// bareRoot is the command without its verbs.
func bareRoot(env *environment) *cobra.Command {
	root := compileCommand(env, "tritonc [flags] FILE...")
	root.Short = "compile Triton kernels"
	root.Long, root.Example = rootLong, rootExample
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(env, cmd, err) })
	root.Args = func(cmd *cobra.Command, args []string) error {
		if err := mistypedVerb(env, cmd, args); err != nil {
			return err
		}
		return someFiles(cmd, args)
	}
	all := root.PersistentFlags()
	all.BoolVar(&env.report.json, "json", env.report.json, "write messages and lists as JSON, an object a line (docs/diagnostics.md)")
	all.Var(&colorFlag{env, "auto"}, "color", "colour messages: `WHEN` is auto, always or never")
	all.Int64Var(&env.maxMemory, "max-memory", defaultMaxMemory(env), "`MIB` of memory that a compile may take in each process, tools apart; 0 means no limit")
	env.confine.add(all)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		env.startTrace(cmd)
		if err := env.confine.settle(cmd, env); err != nil {
			return err
		}
		return setMaxMemory(cmd, env)
	}
	return root
}

func addVerbs(root *cobra.Command, env *environment) {
	root.AddCommand(
		compileVerb(env),
		runVerb(env),
		buildVerb(env),
		benchVerb(env),
		tuneVerb(env),
		optCommand(env),
		diffCommand(env),
		layoutCommand(env),
		passesCommand(env),
		backendCommand(env),
		devicesCommand(env),
		serveVerb(env),
		workerVerb(env),
		farmCommand(env),
		cacheCommand(env),
		versionCommand(env),
	)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			// Else a mistyped shell shows the help.
			cmd.Args = exactArgs()
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	// Endings of files would appear among the verbs, all of them taken as endings.
	root.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	(&completer{env}).complete(root)
}

// flagError explains a mistake in a flag. One that a verb has and tritonc itself lacks may
// follow a mistyped verb.
func flagError(env *environment, cmd *cobra.Command, err error) error {
	message, _, _ := strings.Cut(err.Error(), ": strconv.") // pflag quotes Go's own error
	usage := usagef("%s", message).withHelp("%s --help lists the flags", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && (cmd.HasAvailableSubCommands() || !cmd.HasParent()) {
		if err := mistypedVerb(env, cmd, cmd.Flags().Args()); err != nil {
			return err
		}
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := diag.Closest(unknown.GetSpecifiedName(), names); near != "" {
			usage.withHelp("did you mean --%s?", near)
		}
	}
	return usage
}

// mistypedVerb tells of a first argument that was meant as a verb: a word that does
// not name a file. Without a verb tritonc compiles a file, which has an ending.
func mistypedVerb(env *environment, cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], "./\\") || args[0] == "-" {
		return nil
	}
	if env.dir.has(args[0]) {
		return nil
	}
	unknown := usagef("unknown command %q", args[0])
	verbs := verbsOf(cmd)
	if !cmd.HasParent() {
		whole := newRoot(env)
		whole.InitDefaultHelpCmd()
		verbs = verbsOf(whole)
	}
	if near := nearest(args[0], verbs); near != "" {
		return unknown.withHelp("did you mean %q?", near)
	}
	if len(args) == 1 {
		unknown = usagef("%q is neither a command nor a file", args[0])
	}
	return unknown.withHelp("the commands are %s", list(verbs))
}

// nearest finds the verb that word is a slip of, or the only one that it begins.
func nearest(word string, verbs []string) string {
	if near := diag.Closest(word, verbs); near != "" {
		return near
	}
	found := ""
	for _, v := range verbs {
		if len(word) > 1 && strings.HasPrefix(v, word) {
			if found != "" {
				return ""
			}
			found = v
		}
	}
	return found
}

// verbsOf lists a command's subcommands.
func verbsOf(cmd *cobra.Command) []string {
	var verbs []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			verbs = append(verbs, c.Name())
		}
	}
	return verbs
}

// helpCommand shows the help of a verb.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				word := strings.Join(args, " ")
				if len(rest) > 0 {
					word = rest[0]
				}
				if cmd == nil {
					cmd = root
				}
				unknown := usagef("there is no command %q to help with", word)
				if near := nearest(word, verbsOf(cmd)); near != "" {
					return unknown.withHelp("did you mean %q?", near)
				}
				return unknown.withHelp("the commands are %s", list(verbsOf(cmd)))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() {
					out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// someFiles asks for one FILE or more.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exactArgs("FILE")(cmd, args)
	}
	for i, arg := range args {
		if slices.Contains(args[:i], arg) {
			return usagef("%s is given twice", arg)
		}
	}
	return nil
}

// exactArgs is cobra.ExactArgs with our exit code and words.
func exactArgs(what ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(what):
			return usagef("no %s given", what[len(args)]).
				withHelp("usage: %s", cmd.UseLine())
		case len(args) > len(what) && len(what) == 0 && nearest(args[0], verbsOf(cmd)) != "":
			return usagef("unknown command %q", args[0]).withHelp("did you mean %q?", nearest(args[0], verbsOf(cmd)))
		case len(args) > len(what):
			return usagef("%q is one argument too many", strings.Join(args[len(what):], " ")).
				withHelp("usage: %s", cmd.UseLine())
		}
		return nil
	}
}
