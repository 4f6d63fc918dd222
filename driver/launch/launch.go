package launch

import (
	"context"
	"fmt"
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
}

// Kernel is a kernel that is ready to run on its arguments.
type Kernel struct {
	// Compiled is what core made.
	Compiled *core.Kernel
	// Signature is the one that follows from the arguments.
	Signature string

	device driver.Device
	loaded driver.Kernel
	args   []passed // in the order of the compiled kernel's parameters
}

// Info returns what is known of the kernel of a file that name names; "" names
// the only one.
func Info(ctx context.Context, src *core.Source, name string) (*frontend.KernelInfo, error) {
	kernels, err := core.Kernels(ctx, src)
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

// Compile compiles a kernel for its arguments and loads it. A Source that is no
// Python file knows nothing of names or constants: its parameters take the
// arguments in their order.
func Compile(ctx context.Context, req Request) (*Kernel, error) {
	k := &Kernel{device: req.Device}
	variant := req.Source
	var err error
	if req.Source.IsPython() {
		variant, err = k.specialize(ctx, &req)
	} else {
		err = k.pass(&req)
	}
	if err != nil {
		return nil, err
	}
	opts := req.Options
	stage := req.Device.Properties().Stage
	opts.Stages = append([]string{stage}, opts.Stages...)
	if k.Compiled, err = core.Compile(ctx, variant, req.Target, &opts); err != nil {
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
	if err := checkDecomposed(req.Args, &meta); err != nil {
		return nil, err
	}
	k.loaded, err = req.Device.Load(driver.Binary{Name: file, Code: a.Data, Metadata: meta})
	return k, err
}

// specialize makes the signature that follows from the arguments.
func (k *Kernel) specialize(ctx context.Context, req *Request) (*core.Source, error) {
	info, err := Info(ctx, req.Source, req.Kernel)
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
	}
	k.Signature = strings.Join(entries, ", ")
	text := k.Signature
	if text == "" {
		text = " " // core takes an empty one for none
	}
	variants, err := core.Variants(ctx, req.Source, info.Name, text)
	if err != nil {
		return nil, named(err)
	}
	if len(variants) != 1 {
		return nil, wrongArg("", "", "%d configurations are asked for, and one can run", len(variants))
	}
	return variants[0], nil
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

// match gives each parameter its argument, nil where it has a default. With
// configured, a configuration of the file may give constants, too.
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
		if p := &info.Params[i]; byName[i] == nil && p.Default == "" && !p.Computed && !(configured && p.Constexpr) {
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
	buffers := map[*array.Array]driver.Buffer{}
	defer func() {
		for _, b := range buffers {
			b.Free()
		}
	}()
	args := make([]any, len(k.args))
	for i, a := range k.args {
		x, isArray := a.value.(*array.Array)
		if !isArray {
			v, err := passedValue(a.typ, a.value)
			if err != nil {
				return nil, wrongArg(a.name, "", "%v", err)
			}
			args[i] = v
			continue
		}
		if buffers[x] == nil {
			b, err := k.device.Alloc(a.name, len(x.Data))
			if err != nil {
				return nil, &ArgError{Name: a.name, Text: err.Error(), err: err}
			}
			buffers[x] = b
			if !x.Unset {
				if err := b.Write(0, x.Data); err != nil {
					return nil, &ArgError{Name: a.name, Text: err.Error(), err: err}
				}
			}
		}
		args[i] = buffers[x]
	}
	result, err := k.loaded.Launch(ctx, driver.Launch{Grid: grid, Args: args})
	if result == nil {
		return nil, err
	}
	// All or none: whoever lost the device may want to try again.
	left := make([][]byte, len(k.args))
	for i, a := range k.args {
		if x, ok := a.value.(*array.Array); ok && buffers[x] != nil {
			left[i] = make([]byte, len(x.Data))
			if err := buffers[x].Read(0, left[i]); err != nil {
				return nil, err
			}
		}
	}
	for i, a := range k.args {
		if left[i] != nil {
			x := a.value.(*array.Array)
			copy(x.Data, left[i])
			x.Unset = false
		}
	}
	return result, err
}
