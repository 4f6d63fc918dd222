package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
)

// kernel is a jit function as host code sees it.
type kernel struct {
	p  *Program
	fn *eval.Function
}

// Index is kernel[grid].
func (k *kernel) Index(grid any) any { return &launcher{k, grid, nil} }

// Attr is warmup; what else functions have, the function has.
func (k *kernel) Attr(name string) (any, bool) {
	switch name {
	case "warmup":
		return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
			return k.warmup(args, kw)
		}}, true
	case "run":
		return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
			grid := any(nil)
			kw = slices.DeleteFunc(slices.Clone(kw), func(o eval.Keyword) bool {
				if o.Name == "grid" {
					grid = o.Value
				}
				return o.Name == "grid" || o.Name == "warmup"
			})
			return k.launch(grid, args, kw)
		}}, true
	}
	return nil, false
}

// launcher is kernel[grid], with keywords that were given before.
type launcher struct {
	kernel *kernel
	grid   any
	before []eval.Keyword
}

func (l *launcher) TypeName() string { return "function" }

// Call launches the kernel.
func (l *launcher) Call(_ *eval.Session, args []any, kw []eval.Keyword) any {
	return l.kernel.launch(l.grid, args, append(slices.Clone(l.before), kw...))
}

// arguments are those of a launch.
type arguments struct {
	names   []string // of parameters, in order
	byName  map[string]any
	args    []launch.Arg
	memory  map[*array.Array]*storage
	options map[string]any // keywords that are not parameters
}

// bind gives the kernel's parameters their arguments.
func (k *kernel) bind(args []any, kw []eval.Keyword) *arguments {
	a := &arguments{byName: map[string]any{}, memory: map[*array.Array]*storage{}, options: map[string]any{}}
	params := k.fn.ParamList()
	known := map[string]bool{}
	for _, p := range params {
		known[p.Name] = true
	}
	if len(args) > len(params) {
		eval.Fail("%s() has %s, and is given %s", k.fn.Name(), diag.Count(len(params), "parameter"), diag.Count(len(args), "argument"))
	}
	for i, v := range args {
		a.byName[params[i].Name] = plain(eval.Require(v))
	}
	for _, o := range kw {
		v := plain(eval.Require(o.Value))
		switch _, twice := a.byName[o.Name]; {
		case twice:
			eval.Fail("%s() got multiple values for argument '%s'", k.fn.Name(), o.Name)
		case known[o.Name]:
			a.byName[o.Name] = v
		default:
			a.options[o.Name] = v
		}
	}
	for _, p := range params {
		if v, ok := a.byName[p.Name]; ok {
			a.names = append(a.names, p.Name)
			a.args = append(a.args, launch.Arg{Name: p.Name, Value: a.value(p.Name, v)})
		}
	}
	return a
}

// value is an argument as package launch takes it.
func (a *arguments) value(name string, v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v
	case *Tensor:
		return &launch.View{Array: a.array(v), Offset: int(v.offset * v.size())}
	case *descriptor:
		return &launch.Descriptor{Array: a.array(v.tensor), Block: narrow(v.block), NaN: v.nan}
	case *eval.Tuple, *eval.List:
		t := launch.Tuple{}
		for _, e := range eval.Iterate(v) {
			t = append(t, launch.Arg{Value: a.value(name, plain(eval.Require(e)))})
		}
		return t
	case string:
		return launch.Expr(eval.Repr(v))
	case *lang.DType:
		return launch.Expr("tl.dtype('" + v.String() + "')")
	case *eval.Function:
		return launch.Expr(v.Name())
	}
	if n, ok := eval.AsInt(v); ok {
		return n
	}
	eval.Fail("argument %s: a %s is nothing that a kernel takes", name, eval.TypeName(v))
	return nil
}

// array has a tensor's type and shape, and stands for its memory.
func (a *arguments) array(t *Tensor) *array.Array {
	x := &array.Array{Type: t.memory.elem, Shape: narrow(t.shape)}
	a.memory[x] = t.memory
	return x
}

func narrow(list []int64) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// request asks for the kernel of a launch.
func (k *kernel) request(a *arguments) launch.Request {
	p := k.p
	opts := p.opts.Compile
	opts.Stages = nil
	opts.Values = map[string]any{}
	maps.Copy(opts.Values, p.opts.Compile.Values)
	for name, v := range a.options {
		switch v := v.(type) {
		case nil:
		case int64:
			opts.Values[name] = int(v)
		case bool, float64, string:
			opts.Values[name] = v
		default:
			eval.Fail("%s(): %s is neither a parameter nor an option", k.fn.Name(), name)
		}
	}
	return launch.Request{
		Source: k.source(), Kernel: k.fn.Name(), Args: a.args, Target: p.opts.Target, Options: opts, Device: p.opts.Device,
		Buffer: func(x *array.Array) driver.Buffer { return a.memory[x].place(p) },
	}
}

// source is the file that defines the kernel.
func (k *kernel) source() *core.Source {
	src := k.p.opts.Source
	file := k.fn.Module.File
	if file.Path != src.Path {
		var err error
		var found *core.Source
		if src.Import != nil {
			found, err = src.Import(file.ModuleName)
		}
		if err != nil {
			k.explain(err)
		}
		if found == nil {
			eval.Fail("%s, the file of the kernel %s, is not found as module %s", file.Path, k.fn.Name(), file.ModuleName)
		}
		found.Import, found.Define, found.Module = src.Import, src.Define, file.ModuleName
		return found
	}
	return src
}

// explain ends the code because of an error of a compile or a launch.
func (k *kernel) explain(err error) {
	var wrong *launch.ArgError
	if errors.As(err, &wrong) {
		if wrong.Name != "" {
			eval.FailHelp(wrong.Help, "%s(): %v", k.fn.Name(), err)
		}
		eval.FailHelp(wrong.Help, "%v", err)
	}
	k.p.fail(k.fn.Name()+"()", err)
}

// launch runs the kernel, or records it for do_bench.
func (k *kernel) launch(grid any, args []any, kw []eval.Keyword) any {
	a := k.bind(args, kw)
	req := k.request(a)
	k.configure(&req, a, grid)
	placed := k.place(req, a, grid)
	if r := k.p.recording; r != nil {
		r.launches = append(r.launches, recorded{k.fn.Name(), placed})
		if k.p.opts.Device.Properties().Simulated {
			return nil // the measurement is the launch
		}
	}
	if _, err := placed.Kernel.Launch(k.p.ctx, placed.Launch); err != nil {
		k.explain(err)
	}
	return nil
}

// place compiles the kernel and has its arguments on the device.
func (k *kernel) place(req launch.Request, a *arguments, grid any) *launch.Placed {
	p := k.p
	prepared, err := launch.Prepare(p.ctx, req)
	if err != nil {
		k.explain(err)
	}
	size := k.grid(grid, a, prepared.Known.Constants)
	ready, err := prepared.Compile(p.ctx, p.opts.Device)
	if err != nil {
		k.explain(err)
	}
	placed, err := ready.Place(size, func(x *array.Array) driver.Buffer { return a.memory[x].place(p) })
	if err != nil {
		k.explain(err)
	}
	for _, s := range a.memory {
		s.written = true // for all that is known
	}
	return placed
}

// grid evaluates a launch's grid over its arguments and the kernel's constants.
func (k *kernel) grid(grid any, a *arguments, constants map[string]any) [3]int {
	if _, ok := grid.(*eval.Function); ok {
		meta := &eval.Dict{}
		for _, name := range a.names {
			meta.Set(name, a.byName[name])
		}
		for _, name := range slices.Sorted(maps.Keys(constants)) {
			if _, given := a.byName[name]; !given {
				meta.Set(name, constants[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.options)) {
			meta.Set(name, a.options[name])
		}
		grid = k.p.module.Session.Apply(grid, []any{meta}, nil)
	}
	dims := []any{grid}
	switch grid.(type) {
	case *eval.Tuple, *eval.List:
		dims = eval.Iterate(grid)
	}
	size := [3]int{1, 1, 1}
	if len(dims) < 1 || len(dims) > len(size) {
		eval.Fail("a grid has one to three dimensions, not %d", len(dims))
	}
	for i, v := range dims {
		n := integer("a grid", v)
		if n < 1 {
			eval.Fail("dimension %c of the grid of %s has %s", "xyz"[i], k.fn.Name(), diag.Count(n, "block"))
		}
		size[i] = int(n)
	}
	return size
}

// warmup compiles the kernel and tells of it.
func (k *kernel) warmup(args []any, kw []eval.Keyword) any {
	kw = slices.DeleteFunc(slices.Clone(kw), func(o eval.Keyword) bool { return o.Name == "grid" || o.Name == "warmup" })
	a := k.bind(args, kw)
	req := k.request(a)
	k.configure(&req, a, nil)
	ready, err := launch.Compile(k.p.ctx, req)
	if err != nil {
		k.explain(err)
	}
	meta, err := driver.ParseMetadata(ready.Compiled.Metadata)
	if err != nil {
		k.explain(err)
	}
	var options []eval.Keyword
	for _, o := range kw {
		if _, ok := a.options[o.Name]; ok {
			options = append(options, o)
		}
	}
	return &compiled{kernel: k, req: req, meta: meta, options: options}
}

// compiled is what warmup returns.
type compiled struct {
	kernel  *kernel
	req     launch.Request
	meta    driver.Metadata
	options []eval.Keyword
}

func (c *compiled) TypeName() string { return "CompiledKernel" }

// Index is compiled[grid].
func (c *compiled) Index(grid any) any { return &launcher{c.kernel, grid, c.options} }

// Attr gives what wrappers ask for when they choose a grid.
func (c *compiled) Attr(name string) (any, bool) {
	switch name {
	case "metadata":
		return &overlay{"metadata", map[string]any{
			"name": c.meta.Kernel, "shared": int64(c.meta.Shared), "num_warps": int64(c.meta.NumWarps), "num_ctas": int64(max(c.meta.NumCTAs, 1)),
		}, nil, nil}, true
	case "n_regs":
		return c.registers(), true
	case "_init_handles", "result":
		return function(name, "", nil, func(*call) any { return nil }), true
	}
	return nil, false
}

// registers are those of a thread, which the binary says.
func (c *compiled) registers() int64 {
	n, err := registers(c.kernel.p.ctx, c.req)
	if err != nil {
		c.kernel.explain(fmt.Errorf("its registers: %w", err))
	}
	return n
}
