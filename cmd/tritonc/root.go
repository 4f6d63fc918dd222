package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `tritonc compiles Triton kernels: a Python file with @triton.jit functions, or the
IR of any stage on the way, to a binary for a device.

A kernel's signature comes from -s, or from comments in the file that Python
ignores; each such comment is a variant, and all are compiled:

    # tritonc: vector_add(*fp32:16, *fp32:16, *fp32:16, i32, BLOCK=1024) num_warps=4

In a signature, *fp32 is a pointer to float32 and i32 a run time integer; ":16"
says that the value is a multiple of 16, ":1" that it is 1. A literal (1024, 0.5,
True, None, 'ieee', tl.float16, a tuple) is the value of a tl.constexpr.

An autotuned kernel has constants that its configurations give: --config takes
the number of one, or all. Where the kernel's decorator cannot be evaluated,
--configs FILE says what it would be, as JSON; names that are no parameters of
the kernel are options:

    [{"kwargs": {"BLOCK": 128}, "num_warps": 4, "maxnreg": null},
     {"BLOCK": 256, "num_warps": 8}]

Files are written to the current folder, all of them or none:
KERNEL[.VARIANT].cubin and KERNEL[.VARIANT].json unless --emit says otherwise.

The exit code is 0 when all went well, 1 when the kernel, the machine or tritonc is
at fault, and 2 when the command line makes no sense.`

const rootExample = `  tritonc --target cuda:80 vector_add.py
  tritonc --target cuda:90 -n softmax -s "*fp32:16, *fp32:16, i32, BLOCK=1024" -w 8 kernels.py
  tritonc --target cuda:80 --emit ttir,ttgir,ptx -o out vector_add.py
  tritonc --target cuda:80 --emit ptx -o - vector_add.ttir`

func newRoot(env *environment) *cobra.Command {
	root := compileCommand(env, "tritonc [flags] FILE")
	root.Short = "compile Triton kernels"
	root.Long, root.Example = rootLong, rootExample
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		message, _, _ := strings.Cut(err.Error(), ": strconv.") // pflag quotes Go's own error
		return usagef("%s", message).withHelp("%s --help lists the flags", cmd.CommandPath())
	})
	all := root.PersistentFlags()
	all.BoolVar(&env.report.json, "json", env.report.json, "write messages as JSON, an object a line (docs/diagnostics.md)")
	all.Var(&colorFlag{env, "auto"}, "color", "colour messages: `WHEN` is auto, always or never")
	root.AddCommand(
		compileVerb(env),
		runVerb(env),
		optCommand(env),
		diffCommand(env),
		layoutCommand(env),
		passesCommand(env),
		backendsCommand(env),
		cacheCommand(env),
		versionCommand(env),
	)
	return root
}

// exactArgs is cobra.ExactArgs with our exit code and words.
func exactArgs(what ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(what):
			return usagef("no %s given", what[len(args)]).
				withHelp("usage: %s", cmd.UseLine())
		case len(args) > len(what):
			return usagef("%q is one argument too many", strings.Join(args[len(what):], " ")).
				withHelp("usage: %s", cmd.UseLine())
		}
		return nil
	}
}
