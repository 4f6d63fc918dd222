package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/farm/compile"
)

func compileVerb(env *environment) *cobra.Command {
	cmd := compileCommand(env, "compile [flags] FILE...")
	cmd.Short = "compile kernels; the same as tritonc without a verb"
	cmd.Long, cmd.Example = rootLong, strings.ReplaceAll(rootExample, "tritonc ", "tritonc compile ")
	return cmd
}

// compileCommand makes a command that compiles; the root is one, too.
func compileCommand(env *environment, use string) *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:                   use,
		Args:                  someFiles,
		ValidArgsFunction:     files(sourceEndings...),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return compileFiles(cmd.Context(), env, cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.addKernel(flags)
	flags.StringSliceVar(&f.emit, "emit", nil, "what to write, as `STAGE,...`: ttir, ttgir, llir, ptx, cubin, json, say\n(the binary and json)")
	flags.StringVarP(&f.output, "output", "o", ".", "the `FOLDER` to write to; - writes the one artifact to standard output")
	f.addSource(flags)
	flags.BoolVar(&f.unlaunchable, "allow-unlaunchable", false, "write a kernel that no device of the target can launch, which is an error else")
	f.addProcess(flags)
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "compile `N` kernels at a time (as many as there are processors)")
	f.addFarm(flags)
	flags.BoolVar(&f.noServer, "no-server", false, "compile in this process, though a server runs (tritonc help serve)")
	return cmd
}

// addKernel adds the flags that say what to compile of a file, and how.
func (f *compileFlags) addKernel(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.targets, "target", "t", nil, "the device, a `TARGET` such as cuda:80 or cuda:90:32 (backend:arch[:warp size]);\nmay be repeated")
	f.addBackend(flags)
	flags.StringVarP(&f.kernel, "kernel", "n", "", "the kernel's `NAME`, where the file has several")
	flags.StringVarP(&f.signature, "signature", "s", "", "the `TYPES` of the arguments: \"*fp32:16, i32, BLOCK=1024\"")
	flags.StringVar(&f.config, "config", "", "the configuration of an autotuned kernel: its `NUMBER` from 0, or all")
	f.addUse(flags)
	flags.StringVar(&f.configs, "configs", "", "a `FILE` with the configurations, where those of the kernel's decorator\ncannot be evaluated: [{\"kwargs\": {\"BLOCK\": 128}, \"num_warps\": 4}, ...]")
	flags.IntVarP(&f.numWarps, "num-warps", "w", 0, "`WARPS` a program (4)")
	flags.IntVarP(&f.numStages, "num-stages", "k", 0, "`STAGES` of software pipelining (the backend's default)")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.externLibs, "extern-lib", nil, "a library of LLVM IR with functions that the kernel calls,\nas `NAME=PATH`; may be repeated")
}

// addSource adds the flags that say how files are read.
func (f *compileFlags) addSource(flags *pflag.FlagSet) {
	flags.StringVar(&f.as, "as", "", "what the files are, as the `ENDING` of their names would say: py, ttir, ttgir,\nllir or ptx, say (standard input's text says it)")
	flags.StringVar(&f.sourceRoot, "source-root", "", "the `FOLDER` that file names in line info are relative to\n(the module's or repository's root)")
	flags.StringArrayVarP(&f.include, "include", "I", nil, "a `FOLDER` to find imported modules in, after the file's own")
	flags.StringArrayVar(&f.pythonPath, "python-path", nil, "a `FOLDER` of installed packages, before those of PYTHONPATH and VIRTUAL_ENV;\nno Python is run")
	flags.StringArrayVar(&f.define, "define", nil, "a value for a name of a module that is not there, as `NAME=VALUE`:\ntorch.float16=tl.float16")
}

// addProcess adds the flags about the compile as a process.
func (f *compileFlags) addProcess(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noCache, "no-cache", false, "compile anew what was compiled before (tritonc help cache)")
	flags.BoolVar(&f.time, "time", false, "show how long each stage took; with -v each pass and tool, too")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log; -vv shows more")
}

// compileFiles is the verb: read, compile each variant for each target, write.
func compileFiles(ctx context.Context, env *environment, cmd *cobra.Command, f *compileFlags, files []string) error {
	if err := f.checkMany(cmd, files); err != nil {
		return err
	}
	req, targets, err := f.requests(cmd)
	if err != nil {
		return err
	}
	if served, err := f.askServer(ctx, env, files); served || err != nil {
		return err
	}
	jobs, err := f.compileAll(ctx, env, req, targets, files)
	if f.time && env.call == nil { // a server's counts are those of all commands
		env.report.shared(env.shared.counts())
	}
	if err != nil {
		return err
	}
	return req.write(env, jobs)
}

// checkMany refuses what cannot be said of several files and targets, nor of how many are
// compiled at a time.
func (f *compileFlags) checkMany(cmd *cobra.Command, files []string) error {
	if f.jobs < 0 || f.jobs == 0 && cmd.Flags().Changed("jobs") {
		return usagef("--jobs %d is not a number of kernels", f.jobs)
	}
	if f.output == "-" && (len(files) > 1 || len(f.targets) > 1) {
		return usagef("-o - can write one thing, and %s for %s are asked for", diag.Count(len(files), "file"), diag.Count(len(f.targets), "target"))
	}
	return nil
}

// allowance names the flag that lets unlaunchable kernels through where one is the
// reason for err.
func allowance(err error) error {
	for _, d := range diag.All(err) {
		if d.Unlaunchable {
			d.Help += "\n--allow-unlaunchable writes the kernel all the same"
		}
	}
	return err
}

// connect gives the request what it compiles with, for a file and others of its
// project. The caller closes the host.
func (f *compileFlags) connect(env *environment, req *request, file string) (*plugin.Host, error) {
	host, err := newHost(env, f.verbose, &f.pickFlags, file)
	if err != nil {
		return nil, err
	}
	return host, f.equip(env, req, host, file)
}

// equip gives the request what it compiles with.
func (f *compileFlags) equip(env *environment, req *request, host *plugin.Host, file string) (err error) {
	req.opts.Select = host.Select
	req.opts.Print = env.report.printed
	if f.noCache {
		return nil
	}
	log := newLogger(env, f.verbose)
	if req.opts.Cache, err = compileCache(env, host, log); err != nil || req.opts.Cache == nil {
		return err
	}
	return f.share(env, req.opts.Cache, log, file)
}

// want is which kernels of a file are to be compiled.
func (f *compileFlags) want() core.Want {
	return core.Want{Kernel: f.kernel, Signature: f.signature}
}

// variants returns what is to be compiled of src.
func (f *compileFlags) variants(ctx context.Context, env *environment, src *core.Source, req *request) (_ []*core.Source, err error) {
	if !src.IsPython() {
		if f.kernel != "" || f.signature != "" {
			return nil, usagef("-n and -s are for Python files; %s has its kernel and its types", src.Path)
		}
		return []*core.Source{src}, addMetadata(env.dir, src, req.opts.Values)
	}
	f.setImports(env, src)
	if f.farm {
		req.modules = compile.Record(src.Import)
		src.Import = req.modules.Import
	}
	if src.Define, err = definitions(f.define); err != nil {
		return nil, err
	}
	if err := f.setConfigs(env.dir, src, false); err != nil {
		return nil, err
	}
	if f.use != "" {
		if err := f.ofCompile(ctx, env, src, req); err != nil {
			return nil, err
		}
	}
	return core.Variants(ctx, src, req.target, &req.opts, f.want())
}
