package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/bundle/ccode"
	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/driver/simulated"
)

const buildLong = `tritonc build compiles kernels ahead of time, for programs that carry them:

  --go DIR       a Go package with a typed method a kernel, which launches the
                 variant that fits its arguments on a driver.Device
  --c OUT        C for CUDA, under the names of Triton's compile.py and link.py
  --bundle FILE  one file with everything, for package driver/bundle, tritonc run
                 and --inspect

Signatures come from -s or from comments in the files, as for tritonc compile; a
kernel with several has a variant for each. A launch takes the variant whose hints
(":16", ":1") hold and say most, so that one without hints takes what is left.

--grid says how many programs a launch runs: "cdiv(n, BLOCK), heads", over the
arguments and constants, or NAME=… where there are several kernels. Without it the
program says it at each launch; C needs it.`

const buildExample = `  //go:generate tritonc build --go . -t cuda:80 -t cuda:90 --grid "cdiv(n, BLOCK)" vector_add.py

  tritonc build --c add -t cuda:90 --grid "cdiv(n, BLOCK)" vector_add.py
  tritonc build --bundle kernels.bundle -t cuda:80 -t cuda:90 vector_add.py softmax.py
  tritonc build --inspect kernels.bundle`

// buildFlags are the flags of the build verb as written on the command line.
type buildFlags struct {
	compileFlags
	goDir       string
	packageName string
	c           string
	bundle      string
	inspect     string
	grids       []string
}

func buildVerb(env *environment) *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:                   "build [flags] FILE...",
		Short:                 "compile kernels into a Go package, C, or one file",
		Long:                  buildLong,
		Example:               buildExample,
		ValidArgsFunction:     files("py"),
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.inspect != "" {
				return exactArgs()(cmd, args)
			}
			return someFiles(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.inspect != "" {
				return inspectBundle(env, f.inspect)
			}
			return buildFiles(cmd.Context(), env, cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.goDir, "go", "", "write a Go package to this `FOLDER`")
	flags.StringVar(&f.packageName, "package", "", "the Go package's `NAME` (that of the folder's other files, or the folder's)")
	flags.StringVar(&f.c, "c", "", "write C to `OUT`.c, OUT.h, and two files a variant")
	flags.StringVar(&f.bundle, "bundle", "", "write all kernels to one `FILE`")
	flags.StringVar(&f.inspect, "inspect", "", "show what a `FILE` of --bundle holds")
	flags.StringArrayVarP(&f.grids, "grid", "g", nil, "how many programs a launch runs, as `FORMULA` or KERNEL=FORMULA; may be repeated")
	f.addKernel(flags)
	flags.StringSliceVar(&f.emit, "emit", nil, "the code to carry, as `STAGE,...`: ptx, cubin, say\n(the binary and, but for C, what the simulated device takes)")
	flags.BoolVar(&f.unlaunchable, "allow-unlaunchable", false, "carry a kernel that no device of the target can launch, which is an error else")
	f.addSource(flags)
	f.addProcess(flags)
	return cmd
}

// buildFiles is the verb: compile, put together, write.
func buildFiles(ctx context.Context, env *environment, cmd *cobra.Command, f *buildFlags, files []string) error {
	if f.goDir == "" && f.c == "" && f.bundle == "" {
		return usagef("nothing says what to build").withHelp("--go FOLDER, --c OUT or --bundle FILE")
	}
	if f.c != "" && len(f.targets) > 1 {
		return usagef("--c is for one target, and %d are given", len(f.targets))
	}
	if f.packageName != "" && f.goDir == "" {
		return usagef("--package is for --go")
	}
	grids, err := f.gridFormulas()
	if err != nil {
		return err
	}
	req, targets, err := f.requests(cmd)
	if err != nil {
		return err
	}
	made, err := f.stages(ctx, env, req, targets, files[0])
	if err != nil {
		return err
	}
	jobs, err := f.compileAll(ctx, env, req, targets, files)
	if err != nil {
		return err
	}
	made.Kernels, err = bundleKernels(jobs)
	if err == nil {
		err = setGrids(made.Kernels, grids)
	}
	if err != nil {
		return err
	}
	return f.write(env, made)
}

// gridFormula is one --grid.
type gridFormula struct{ kernel, text string }

func (f *buildFlags) gridFormulas() ([]gridFormula, error) {
	var list []gridFormula
	for _, text := range f.grids {
		name, formula, named := strings.Cut(text, "=")
		if !named {
			name, formula = "", text
		}
		g := gridFormula{strings.TrimSpace(name), strings.TrimSpace(formula)}
		if g.text == "" || named && g.kernel == "" {
			return nil, usagef("--grid %s is not of the form [KERNEL=]FORMULA", text)
		}
		if slices.ContainsFunc(list, func(o gridFormula) bool { return o.kernel == g.kernel }) {
			return nil, usagef("--grid %s: the kernel's grid is given twice", text)
		}
		list = append(list, g)
	}
	return list, nil
}

// setGrids gives kernels their formulas.
func setGrids(kernels []*buildKernel, grids []gridFormula) error {
	used := map[string]bool{}
	for _, k := range kernels {
		for _, name := range []string{"", k.function} {
			for _, g := range grids {
				if g.kernel == name {
					k.Grid, used[name] = g.text, true
				}
			}
		}
		if err := k.Check(); err != nil {
			return fmt.Errorf("%s: %w", k.file, err)
		}
	}
	for _, g := range grids {
		if !used[g.kernel] {
			return usagef("--grid %s=%s: no kernel of that name is compiled", g.kernel, g.text)
		}
	}
	return nil
}

// stages decides which stages are carried, and says of the targets what made them.
func (f *buildFlags) stages(ctx context.Context, env *environment, req *request, targets []core.Target, file string) (*build, error) {
	b := &build{Bundle: bundle.Bundle{Tritonc: version(), Triton: tritonVersion}}
	host, err := newHost(env, f.verbose, &f.pickFlags, file)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	req.stages = map[core.Target][]string{}
	for _, target := range targets {
		backend, completed, err := host.Select(ctx, target)
		if err != nil {
			return nil, err
		}
		facts, err := backend.Facts(ctx)
		if err != nil {
			return nil, err
		}
		b.Targets = append(b.Targets, bundle.Target{Name: target.String(), Backend: facts.Name, Version: facts.Version, Hash: facts.Hash})
		list := stageList(ctx, backend, completed)
		if len(list) == 0 {
			continue
		}
		launchable := []string{list[len(list)-1].Name}
		if f.c != "" && launchable[0] != ccode.Stage {
			return nil, usagef("--c writes C for CUDA's driver API, which loads a %s; the binary of %s is a %s", ccode.Stage, target, launchable[0]).
				withHelp("--go and --bundle carry kernels for any target")
		}
		if sim, err := simulated.New(target, simulated.Options{}); err == nil {
			if stage := sim.Properties().Stage; stage != launchable[0] {
				launchable = []string{stage, launchable[0]}
			}
			sim.Close()
		}
		if req.stages[target], err = f.carried(target, launchable); err != nil {
			return nil, err
		}
	}
	if err := f.checkEmit(req.stages, targets); err != nil {
		return nil, err
	}
	req.binary, req.json = false, false
	return b, nil
}

// carried are the stages whose artifacts are carried of those that devices of a target
// launch, the last of which is the binary: those of --emit, or else all, or for C the binary.
func (f *buildFlags) carried(target core.Target, launchable []string) ([]string, error) {
	switch {
	case len(f.emit) > 0:
		stages := slices.DeleteFunc(slices.Clone(launchable), func(s string) bool { return !slices.Contains(f.emit, s) })
		if len(stages) == 0 {
			return nil, usagef("--emit %s: no device of %s launches it", strings.Join(f.emit, ","), target).
				withHelp("--emit %s", strings.Join(launchable, " or --emit "))
		}
		return stages, nil
	case f.goDir == "" && f.bundle == "":
		return launchable[len(launchable)-1:], nil
	}
	return launchable, nil
}

// checkEmit refuses stages of --emit that are carried for no target. Those of a target
// whose backend does not tell its stages are not known.
func (f *buildFlags) checkEmit(carried map[core.Target][]string, targets []core.Target) error {
	for _, stage := range f.emit {
		var without []string
		for _, t := range targets {
			if stages, known := carried[t]; known && !slices.Contains(stages, stage) {
				without = append(without, t.String())
			}
		}
		if len(without) == len(targets) {
			return usagef("--emit %s: no device of %s launches it", stage, strings.Join(without, " or ")).
				withHelp("without --emit, all is carried that they launch")
		}
	}
	return nil
}

// build is what is built.
type build struct {
	bundle.Bundle
	Kernels []*buildKernel
}

// buildKernel is a kernel of one list of types.
type buildKernel struct {
	bundle.Kernel
	file     string // as the user names it
	function string // its name in the file
	types    []string
	options  []map[string]any // of each variant, as the file gives them
}

// bundleKernels puts variants of the same kernel and types together.
func bundleKernels(jobs []*job) ([]*buildKernel, error) {
	var list []*buildKernel
	for _, j := range jobs {
		known := j.src.Known()
		if known == nil {
			return nil, usagef("%s is not a Python file, and says too little of its arguments to be built", j.file)
		}
		params, order, v, err := signatureOf(known)
		if err != nil {
			return nil, fmt.Errorf("%s: kernel %s: %w", j.file, known.Kernel, err)
		}
		v.Target, v.Metadata = j.target.String(), j.kernel.Metadata
		types := make([]string, len(params))
		for i, p := range params {
			types[i] = p.Type
		}
		var k *buildKernel
		for _, o := range list {
			switch {
			case o.function != known.Kernel:
			case o.file != j.file:
				return nil, fmt.Errorf("both %s and %s have a kernel %s: build them one by one", o.file, j.file, known.Kernel)
			case slices.Equal(o.types, types):
				k = o
			}
		}
		if k == nil {
			k = &buildKernel{file: j.file, function: known.Kernel, types: types}
			k.Name, k.Source, k.Params, k.Order = known.Kernel, filepath.ToSlash(j.src.Name), params, order
			list = append(list, k)
		}
		for _, a := range j.kernel.Artifacts {
			one := v
			one.Stage, one.Code = a.Stage, a.Data
			k.Variants, k.options = append(k.Variants, one), append(k.options, j.src.Options)
		}
	}
	for _, k := range list {
		k.tellApart()
	}
	nameByTypes(list)
	return list, nil
}

// tellApart makes constants of the options in which variants differ, where nothing else
// tells some of them apart: a launch can then name them. Other options are for people.
func (k *buildKernel) tellApart() {
	chosen := map[string]bool{}
	for i := range k.Variants {
		for j := range i {
			v, o := &k.Variants[i], &k.Variants[j]
			if v.Target != o.Target || v.Stage != o.Stage || !slices.Equal(v.Hints, o.Hints) || !slices.Equal(v.Constants, o.Constants) {
				continue
			}
			for name, value := range k.options[i] {
				chosen[name] = chosen[name] || k.options[j][name] != value
			}
			for name := range k.options[j] {
				_, both := k.options[i][name]
				chosen[name] = chosen[name] || !both
			}
		}
	}
	for i := range k.Variants {
		v, options := &k.Variants[i], k.options[i]
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if chosen[name] {
				v.Constants = append(slices.Clip(v.Constants), kernel.Named(name, options[name]))
			} else {
				parts = append(parts, fmt.Sprintf("%s=%v", name, options[name]))
			}
		}
		v.Options = strings.Join(parts, " ")
	}
}

// signatureOf is what a launch passes to a variant, and what is compiled in.
func signatureOf(known *frontend.Variant) (params []kernel.Param, order []string, v bundle.Variant, err error) {
	hinted := false
	for i := range known.Args {
		a := &known.Args[i]
		order = append(order, a.Name)
		if a.Type == "" {
			v.Constants = append(v.Constants, kernel.Named(a.Name, constantValue(a)))
			continue
		}
		p := kernel.Param{Name: a.Name, Type: canonicalType(a.Type)}
		if err := kernel.CheckType(p.Type); err != nil {
			return nil, nil, v, fmt.Errorf("argument %s: %w", a.Name, err)
		}
		if a.Small {
			return nil, nil, v, usagef("argument %s: launches of a bundle do not see how large buffers are", a.Name).
				withHelp("leave out the hint :%s", signature.SmallHint)
		}
		params = append(params, p)
		v.Hints = append(v.Hints, a.Hint)
		hinted = hinted || a.Hint != 0
	}
	if !hinted {
		v.Hints = nil
	}
	return params, order, v, nil
}

// constantValue is a constant as a bundle has it.
func constantValue(a *frontend.Argument) any {
	switch v := a.Constant.(type) {
	case nil, bool, int64, float64, string:
		return v
	}
	return a.Text
}

// canonicalType is a type under the short names of its parts.
func canonicalType(t string) string {
	rest := strings.TrimLeft(t, "*")
	stars := t[:len(t)-len(rest)]
	if d := array.Named(rest); d != nil {
		return stars + d.Name
	}
	if d := array.Named(strings.TrimPrefix(rest, "k")); d != nil && stars != "" {
		return stars + "k" + d.Name
	}
	return t
}

// nameByTypes tells the kernels that one function gives apart, by the types in which
// they differ: add_fp16 and add_fp32,
// matmul_fp16_64x32 and matmul_fp16_128x64.
func nameByTypes(list []*buildKernel) {
	taken := map[string]bool{}
	for _, k := range list {
		taken[k.Name] = true
	}
	for _, k := range list {
		var others []*buildKernel
		for _, o := range list {
			if o != k && o.function == k.function {
				others = append(others, o)
			}
		}
		if len(others) == 0 {
			continue
		}
		name, last := k.function, ""
		for i, t := range k.types {
			differs := slices.ContainsFunc(others, func(o *buildKernel) bool { return len(o.types) <= i || o.types[i] != t })
			if part := typeInName(t); differs && part != last {
				name, last = name+"_"+part, part
			}
		}
		free := name
		for n := 2; taken[free]; n++ {
			free = fmt.Sprintf("%s_%d", name, n)
		}
		taken[free] = true
		k.Name = free
	}
}

// typeInName is a type as a part of a name: fp16 for *fp16, fp16_64x32 for a tensor
// descriptor of such blocks.
func typeInName(typ string) string {
	block := strings.ReplaceAll(strings.TrimPrefix(typ, "tensordesc<"), ", ", "x")
	return strings.Join(strings.FieldsFunc(block, notInName), "_")
}

func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
