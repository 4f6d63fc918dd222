package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
)

func compileVerb(env *environment) *cobra.Command {
	cmd := compileCommand(env, "compile [flags] FILE")
	cmd.Short = "compile a kernel; the same as tritonc without a verb"
	cmd.Long, cmd.Example = rootLong, strings.ReplaceAll(rootExample, "tritonc ", "tritonc compile ")
	return cmd
}

// compileCommand makes a command that compiles; the root is one, too.
func compileCommand(env *environment, use string) *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:                   use,
		Args:                  exactArgs("FILE"),
		ValidArgsFunction:     firstFiles(1, sourceEndings...),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return compileFile(cmd.Context(), env, cmd, &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.target, "target", "t", "", "the device, a `TARGET` such as cuda:80 or cuda:90:32 (backend:arch[:warp size])")
	flags.StringVarP(&f.kernel, "kernel", "n", "", "the kernel's `NAME`, where the file has several")
	flags.StringVarP(&f.signature, "signature", "s", "", "the `TYPES` of the arguments: \"*fp32:16, i32, BLOCK=1024\"")
	flags.StringVar(&f.config, "config", "", "the configuration of an autotuned kernel: its `NUMBER` from 0, or all")
	flags.StringVar(&f.configs, "configs", "", "a `FILE` with the configurations, where those of the kernel's decorator\ncannot be evaluated: [{\"kwargs\": {\"BLOCK\": 128}, \"num_warps\": 4}, ...]")
	flags.IntVarP(&f.numWarps, "num-warps", "w", 0, "`WARPS` a program (4)")
	flags.IntVarP(&f.numStages, "num-stages", "k", 0, "`STAGES` of software pipelining (the backend's default)")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the backend, as `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.externLibs, "extern-lib", nil, "a library of LLVM IR with functions that the kernel calls,\nas `NAME=PATH`; may be repeated")
	flags.StringSliceVar(&f.emit, "emit", nil, "what to write, as `STAGE,...`: ttir, ttgir, llir, ptx, cubin, json, say\n(the binary and json)")
	flags.StringVarP(&f.output, "output", "o", ".", "the `FOLDER` to write to; - writes the one artifact to standard output")
	flags.StringVar(&f.as, "as", "", "what the file is, as the `ENDING` of its name would say: py, ttir, ttgir, llir\nor ptx, say (standard input's text says it)")
	flags.StringVar(&f.sourceRoot, "source-root", "", "the `FOLDER` that file names in line info are relative to\n(the module's or repository's root)")
	flags.StringArrayVarP(&f.include, "include", "I", nil, "a `FOLDER` to find imported modules in, after the file's own")
	flags.StringArrayVar(&f.pythonPath, "python-path", nil, "a `FOLDER` of installed packages, before those of PYTHONPATH and VIRTUAL_ENV;\nno Python is run")
	flags.StringArrayVar(&f.define, "define", nil, "a value for a name of a module that is not there, as `NAME=VALUE`:\ntorch.float16=tl.float16")
	flags.BoolVar(&f.unlaunchable, "allow-unlaunchable", false, "write a kernel that no device of the target can launch, which is an error else")
	flags.BoolVar(&f.noCache, "no-cache", false, "compile anew what was compiled before (tritonc help cache)")
	flags.BoolVar(&f.time, "time", false, "show how long each stage took; with -v each pass and tool, too")
	flags.CountVarP(&f.verbose, "verbose", "v", "show what tritonc and its backends log; -vv shows more")
	return cmd
}

// compileFile is the verb: read, compile each variant, write.
func compileFile(ctx context.Context, env *environment, cmd *cobra.Command, f *compileFlags, file string) error {
	req, err := f.request(cmd)
	if err != nil {
		return err
	}
	host, err := f.connect(env, req)
	if err != nil {
		return err
	}
	defer host.Close()
	variants, err := f.read(ctx, env, file, req)
	if err != nil {
		return err
	}
	kernels, err := compileAll(ctx, variants, req)
	for _, k := range kernels {
		if k != nil {
			env.report.diagnostics(k.Warnings...)
			if f.time {
				env.report.timings(k, f.verbose > 0)
			}
		}
	}
	if err != nil {
		return allowance(err)
	}
	return req.write(env, kernels)
}

// allowance names the flag that lets unlaunchable kernels through where one is the
// reason for err.
func allowance(err error) error {
	var list errorList
	errors.As(err, &list)
	for _, e := range list {
		for _, d := range diag.All(e) {
			if d.Unlaunchable {
				d.Help += "\n--allow-unlaunchable writes the kernel all the same"
			}
		}
	}
	return err
}

// connect gives the request what it compiles with. The caller closes the host.
func (f *compileFlags) connect(env *environment, req *request) (*plugin.Host, error) {
	host := newHost(env, f.verbose)
	req.opts.Select = selector(host)
	req.opts.Print = env.report.printed
	if f.noCache {
		return host, nil
	}
	var err error
	req.opts.Cache, err = compileCache(env, host, newLogger(env, f.verbose))
	return host, err
}

// read returns what is to be compiled of a file, for a request that is connected.
func (f *compileFlags) read(ctx context.Context, env *environment, file string, req *request) ([]*core.Source, error) {
	src, err := readSource(env, file, f.sourceRoot, f.as)
	if err != nil {
		return nil, err
	}
	return f.variants(ctx, env, src, req)
}

// variants returns what is to be compiled of src.
func (f *compileFlags) variants(ctx context.Context, env *environment, src *core.Source, req *request) (_ []*core.Source, err error) {
	if !src.IsPython() {
		if f.kernel != "" || f.signature != "" {
			return nil, usagef("-n and -s are for Python files; %s has its kernel and its types", src.Path)
		}
		return []*core.Source{src}, addMetadata(src, req.opts.Values)
	}
	f.setImports(env, src)
	if src.Define, err = definitions(f.define); err != nil {
		return nil, err
	}
	if err := f.setConfigs(src, false); err != nil {
		return nil, err
	}
	variants, err := core.Variants(ctx, src, req.target, &req.opts, core.Want{Kernel: f.kernel, Signature: f.signature})
	if err == nil && req.output == "-" && len(variants) > 1 {
		err = usagef("-o - can write one thing, and %s asks for %s", src.Path, diag.Count(len(variants), "variant")).
			withHelp("-s gives the signature of one")
	}
	return variants, err
}

// compileAll compiles the variants side by side. Kernels are at the places of
// their variants; those that failed are nil, and the error says why.
func compileAll(ctx context.Context, variants []*core.Source, req *request) ([]*core.Kernel, error) {
	kernels := make([]*core.Kernel, len(variants))
	errs := make([]error, len(variants))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, v := range variants {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			k, err := core.Compile(ctx, v, req.target, &req.opts)
			if err == nil {
				err = checkWarps(v, k, req.opts.Values)
			}
			if errs[i] = err; err == nil {
				kernels[i] = k
			}
		})
	}
	wg.Wait()
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) > 0 {
		return kernels, errorList(errs)
	}
	return kernels, nil
}
