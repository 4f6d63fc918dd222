package main

import "github.com/spf13/pflag"

// launchFlags adds the flags that say what to launch on which device.
func (f *runFlags) launchFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&f.target, "target", "t", "", "the device to compile for, a `TARGET` such as cuda:80")
	f.addBackend(flags)
	flags.StringVar(&f.device, "device", "", "the `DEVICE` to run on: sim, or a driver's, such as cuda:1\n(the first of a driver, if there is one, else sim)")
	flags.StringVarP(&f.kernel, "kernel", "n", "", "the kernel's `NAME`, where the file has several")
	flags.StringVarP(&f.grid, "grid", "g", "", "how many `BLOCKS` to run, in one to three dimensions: \"cdiv(n, BLOCK), 2\"")
	flags.StringArrayVarP(&f.args, "arg", "a", nil, "an argument, as `NAME=VALUE`; may be repeated")
}

// makeFlags adds the flags that say how the kernel is compiled.
func (f *runFlags) makeFlags(flags *pflag.FlagSet) {
	flags.IntVarP(&f.numWarps, "num-warps", "w", 0, "`WARPS` a program (4)")
	flags.IntVarP(&f.numStages, "num-stages", "k", 0, "`STAGES` of software pipelining (the backend's default)")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.externLibs, "extern-lib", nil, "a library of LLVM IR with functions that the kernel calls,\nas `NAME=PATH`; may be repeated")
	flags.StringVar(&f.config, "config", "", "the configuration of an autotuned kernel: its `NUMBER` from 0\n(the first that its pruning functions leave)")
	flags.StringVar(&f.configs, "configs", "", "a `FILE` with the configurations, as for compiling")
	flags.StringVar(&f.as, "as", "", "what the file is, as the `ENDING` of its name would say: py, ttir, ttgir, llir\nor ptx, say (standard input's text says it)")
	flags.StringVar(&f.sourceRoot, "source-root", "", "the `FOLDER` that file names in line info are relative to\n(the module's or repository's root)")
	flags.StringArrayVarP(&f.include, "include", "I", nil, "a `FOLDER` to find imported modules in, after the file's own")
	flags.StringArrayVar(&f.pythonPath, "python-path", nil, "a `FOLDER` of installed packages, as for compiling")
	flags.StringArrayVar(&f.define, "define", nil, "a value for a name of a module that is not there, as `NAME=VALUE`")
	flags.BoolVar(&f.noCache, "no-cache", false, "compile anew what was compiled before (tritonc help cache)")
	flags.BoolVar(&f.time, "time", false, "show how long each stage took; with -v each pass and tool, too")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log; -vv shows more")
}
