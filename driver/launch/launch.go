package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Request says what to compile and to run it on.
type Request struct {
	// Source is a Python file, or an artifact on the way to what the device
	// takes.
	Source *core.Source
	// Kernel's name; "" where the file has only one.
	Kernel string
	// Args by name, in any order; those with a default may be left out.
	Args   []Arg
	Target core.Target
	// Options as for core.Compile. Stages is set to what the device takes, and
	// the caller's own stages are returned beside it.
	Options core.Options
	Device  driver.Device
	// Buffer is where an array is on the device already, or nil; a nil Buffer finds
	// none. Functions of the file that ask for an address ask it, and then have the
	// array placed on the Device.
	Buffer func(x *array.Array) driver.Buffer
	// ArgFlag and ConfigFlag are the flags of a command line by which arguments and the
	// number of a configuration are given, for the help of errors; "" where there is none.
	ArgFlag, ConfigFlag string
	// Compiler, when not nil, compiles in the place of core.Compile.
	Compiler Compiler
}

// Compiler compiles a variant: the one of want, as core.Variants lists it.
type Compiler func(ctx context.Context, variant *core.Source, want core.Want, target core.Target, opts *core.Options) (*core.Kernel, error)

// Kernel is a kernel that is ready to run on its arguments.
type Kernel struct {
	// Compiled is what core made.
	Compiled *core.Kernel
	// Signature is the one that follows from the arguments.
	Signature string
	// Hooks are what the file has done around a launch, nil where there is nothing. Run
	// does what Triton does for a configuration that has been chosen.
	Hooks *Hooks

	want    core.Want // of which the variant is the only one
	device  driver.Device
	loaded  driver.Kernel
	args    []passed              // in the order of the compiled kernel's parameters
	changed map[*array.Array]bool // arrays that hooks have changed
	early   *early                // memory that functions of the file asked for
}

// Built is a kernel that is compiled, and not loaded yet.
type Built struct {
	// Compiled is what core made.
	Compiled *core.Kernel

	kernel Kernel
	binary driver.Binary
}

// Info returns what is known of the kernel of a file that name names; "" names
// the only one. Target and options are those of the compile.
func Info(ctx context.Context, src *core.Source, target core.Target, opts *core.Options, name string) (*frontend.KernelInfo, error) {
	kernels, err := core.Kernels(ctx, src, target, opts)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range kernels {
		if kernels[i].Name == name || name == "" && len(kernels) == 1 {
			return &kernels[i], nil
		}
		names = append(names, kernels[i].Name)
	}
	d := diag.Errorf(diag.Pos{File: src.Path}, "the file has several kernels, and none is named")
	switch {
	case len(names) == 0:
		d.Message = "the file defines no kernel"
		return nil, d.WithHelp("a kernel is a function decorated with @triton.jit")
	case name != "":
		d.Message = fmt.Sprintf("the file has no kernel %q", name)
	}
	return nil, d.WithHelp("its kernels: %s", strings.Join(names, ", "))
}

// Prepared is a kernel with its arguments, before it is compiled.
type Prepared struct {
	// Known is what the arguments and the file's decorators say of the kernel:
	// constants, options, the configuration. It is nil for a Source that is not a
	// Python file.
	Known *frontend.Variant

	req     Request
	kernel  Kernel
	variant *core.Source
	usage   driver.Metadata // of which the registers are known
}

// Prepare decides how a kernel is compiled for its arguments. A Source that is not a
// Python file knows nothing of names or constants: its parameters take the
// arguments in their order. The request may have no Device: then functions of the file
// that ask for an address cannot be evaluated.
func Prepare(ctx context.Context, req Request) (*Prepared, error) {
	p := &Prepared{req: req, variant: req.Source}
	var err error
	if req.Source.IsPython() {
		p.kernel.changed, p.kernel.early = map[*array.Array]bool{}, &early{device: req.Device, at: req.Buffer}
		if p.variant, err = p.kernel.specialize(ctx, &req); err == nil {
			p.Known = p.variant.Known()
			err = p.hook(ctx)
		}
	} else {
		err = p.kernel.pass(&req)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// Compile prepares and compiles a kernel, and loads it.
func Compile(ctx context.Context, req Request) (*Kernel, error) {
	p, err := Prepare(ctx, req)
	if err != nil {
		return nil, err
	}
	return p.Compile(ctx, req.Device)
}

// FindUsage compiles the kernel to the end, so that a simulated device, which takes less
// than that, knows how many registers it needs.
func (p *Prepared) FindUsage(ctx context.Context) error {
	opts := p.req.Options
	opts.Stages = nil
	k, err := p.compile(ctx, &opts)
	if err != nil {
		return named(err)
	}
	p.usage, err = driver.ParseMetadata(k.Metadata)
	return err
}

// compile has the variant compiled.
func (p *Prepared) compile(ctx context.Context, opts *core.Options) (*core.Kernel, error) {
	if f := p.req.Compiler; f != nil {
		return f(ctx, p.variant, p.kernel.want, p.req.Target, opts)
	}
	return core.Compile(ctx, p.variant, p.req.Target, opts)
}

// Compile compiles the kernel and loads it into a device.
func (p *Prepared) Compile(ctx context.Context, device driver.Device) (*Kernel, error) {
	b, err := p.Build(ctx, device.Properties().Stage)
	if err != nil {
		return nil, err
	}
	return b.Load(device)
}

// Load loads the kernel into a device. One whose blocks the device cannot run is a
// *driver.OutOfResources.
func (b *Built) Load(device driver.Device) (k *Kernel, err error) {
	props := device.Properties()
	if err := props.Fits(&b.binary.Metadata); err != nil {
		return nil, err
	}
	k = &b.kernel
	k.device = device
	k.loaded, err = device.Load(b.binary)
	return k, err
}

// Build compiles the kernel as far as the stage that a device takes. Several may be
// built at a time.
func (p *Prepared) Build(ctx context.Context, stage string) (*Built, error) {
	req := &p.req
	k := &Kernel{}
	*k = p.kernel
	var err error
	opts := req.Options
	opts.Stages = append([]string{stage}, opts.Stages...)
	if k.Compiled, err = p.compile(ctx, &opts); err != nil {
		return nil, named(err)
	}
	a := k.Compiled.Artifact(stage)
	if a == nil {
		return nil, fmt.Errorf("the compile returned no %s", stage)
	}
	file, known := k.Compiled.Name+"."+a.Ending, k.Compiled.Metadata
	if path := req.Source.Path; strings.HasSuffix(path, "."+a.Ending) {
		file, known = path, req.Source.Metadata // it was not compiled
	}
	meta, err := driver.ParseMetadata(known)
	if err != nil {
		return nil, err
	}
	if k.args, err = expand(k.args, &meta); err != nil {
		return nil, err
	}
	if u := &p.usage; meta.Registers == 0 {
		meta.Registers, meta.SpillStores, meta.SpillLoads = u.Registers, u.SpillStores, u.SpillLoads
	}
	return &Built{Compiled: k.Compiled, kernel: *k, binary: driver.Binary{Name: file, Code: a.Data, Metadata: meta}}, nil
}

// specialize makes the signature that follows from the arguments.
func (k *Kernel) specialize(ctx context.Context, req *Request) (*core.Source, error) {
	info, err := Info(ctx, req.Source, req.Target, &req.Options, req.Kernel)
	if err != nil {
		return nil, err
	}
	byName, err := match(info, req.Args, req.Source.Config != "")
	if err != nil {
		return nil, err
	}
	backend, _, err := req.Options.Select(ctx, req.Target)
	if err != nil {
		return nil, err
	}
	facts, err := backend.Facts(ctx)
	if err != nil {
		return nil, err
	}
	var entries []string
	launch := &core.Launch{Values: map[string]any{}, Arg: req.ArgFlag, Config: req.ConfigFlag}
	for i := range info.Params {
		p := &info.Params[i]
		a := byName[i]
		if a == nil {
			continue // its default, or what a heuristic says
		}
		s, err := specialize(&facts.Specialization, p, a)
		if err != nil {
			return nil, err
		}
		entries = append(entries, p.Name+"="+s.entry)
		k.args = append(k.args, s.passed...)
		if len(s.passed) > 0 {
			launch.Values[p.Name] = k.argumentOf(a.Value)
		}
	}
	k.Signature = strings.Join(entries, ", ")
	text := k.Signature
	if text == "" {
		text = " " // core takes an empty one for none
	}
	k.want = core.Want{Kernel: info.Name, Signature: text, Launch: launch}
	variants, err := core.Variants(ctx, req.Source, req.Target, &req.Options, k.want)
	if err != nil {
		return nil, named(err)
	}
	if len(variants) != 1 {
		return nil, wrongArg("", "", "%s are asked for, and one can run", diag.Count(len(variants), "configuration"))
	}
	return variants[0], nil
}

// argumentOf is an argument as functions of the kernel's decorators see it.
func (k *Kernel) argumentOf(v any) any {
	switch v := v.(type) {
	case *array.Array:
		return k.tensorOf(v)
	case *View:
		t := k.tensorOf(v.Array)
		t.Address = k.early.address(v.Array, v.Offset)
		return t
	case *Descriptor:
		return frontend.Descriptor{Tensor: k.tensorOf(v.Array), Block: widen(v.Block)}
	case Tuple:
		list := make([]any, len(v))
		for i := range v {
			list[i] = k.argumentOf(v[i].Value)
		}
		return list
	}
	return v
}

func (k *Kernel) tensorOf(x *array.Array) frontend.Tensor {
	return frontend.Tensor{Type: x.Type.Name, Shape: widen(x.Shape), Memory: &contents{x, k.changed}, Address: k.early.address(x, 0)}
}

func widen(list []int) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}

// pass takes the arguments as they are.
func (k *Kernel) pass(req *Request) error {
	if req.Kernel != "" {
		return wrongArg("", "leave the kernel's name out", "%s has one kernel, and says its name itself", req.Source.Path)
	}
	for i := range req.Args {
		a := &req.Args[i]
		p := &frontend.ParamInfo{Name: a.Name, NoSpecialize: true}
		s, err := specialize(&sdk.Specialization{}, p, a)
		if err == nil && len(s.passed) == 0 {
			err = wrongArg(a.Name, "", "it is a constant, which %s has no place for", req.Source.Path)
		}
		if err != nil {
			return err
		}
		k.args = append(k.args, s.passed...)
	}
	return nil
}

// signatureFile stands for a file in diagnostics about the signature.
const signatureFile = "(the signature of the arguments)"

// named says in diagnostics about the signature where it came from: nobody gave
// a flag -s.
func named(err error) error {
	for _, d := range diag.All(err) {
		if d.Pos.File == "-s" {
			d.Pos.File = signatureFile
		}
	}
	return err
}

// match gives each parameter its argument, nil where it has a default or where a
// configuration or a heuristic gives it. With configured, a configuration is asked
// for, and whoever looks for it will say what it lacks.
func match(info *frontend.KernelInfo, args []Arg, configured bool) ([]*Arg, error) {
	byName := make([]*Arg, len(info.Params))
	usage := "the kernel is " + usageOf(info)
	for i := range args {
		a := &args[i]
		at := -1
		for j := range info.Params {
			if info.Params[j].Name == a.Name {
				at = j
			}
		}
		switch {
		case at < 0:
			return nil, wrongArg(a.Name, usage, "%s has no such parameter", info.Name)
		case byName[at] != nil:
			return nil, wrongArg(a.Name, "", "it is given twice")
		}
		byName[at] = a
	}
	var missing []string
	for i := range info.Params {
		if p := &info.Params[i]; byName[i] == nil && p.Default == "" && !p.Computed && !tuned(info, p) && !(configured && p.Constexpr) {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		e := wrongArg("", usage, "%s lacks arguments: %s", info.Name, strings.Join(missing, ", "))
		e.Missing = missing
		return nil, e
	}
	return byName, nil
}

// tuned reports whether configurations give a parameter its value, or may: those that
// pruning makes are not known yet.
func tuned(info *frontend.KernelInfo, p *frontend.ParamInfo) bool {
	name := p.Name
	return info.Pruned && p.Constexpr || slices.ContainsFunc(info.Configs, func(c frontend.ConfigInfo) bool { _, ok := c.Constants[name]; return ok })
}

func usageOf(info *frontend.KernelInfo) string {
	parts := make([]string, len(info.Params))
	for i, p := range info.Params {
		parts[i] = p.Name
		if p.Constexpr {
			parts[i] += ": constexpr"
		}
		if p.Default != "" {
			parts[i] += "=" + p.Default
		}
	}
	return info.Name + "(" + strings.Join(parts, ", ") + ")"
}

// Run copies the arrays to the device, launches the kernel on a grid, and
// copies them back, Unset ones included. One array given for several parameters
// is one buffer. The error may be a *driver.Fault; then there is a result.
func (k *Kernel) Run(ctx context.Context, grid [3]int) (*driver.Result, error) {
	if k.Hooks != nil {
		if err := k.Hooks.run(ctx); err != nil {
			return nil, err
		}
	}
	p, err := k.Place(grid, nil)
	if err != nil {
		return nil, err
	}
	defer p.Free()
	result, err := p.Kernel.Launch(ctx, p.Launch)
	if result == nil {
		return nil, err
	}
	if err := p.Fetch(); err != nil {
		return nil, err
	}
	return result, err
}
