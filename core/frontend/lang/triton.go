package lang

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// version is the release of Triton whose language this is.
const version = "3.6.0"

func (l *Lib) triton() *pkg {
	if l.top == nil {
		parts := make(map[string]any, len(tritonStatics())+2)
		for n, v := range tritonStatics() {
			parts[n] = v
		}
		parts["language"] = l.tl
		parts["runtime"] = l.runtime()
		l.top = &pkg{eval.Package{Name: "triton", Parts: parts}}
	}
	return l.top
}

// pkg is the package triton.
type pkg struct{ eval.Package }

// hostNames are what triton has for code that runs kernels.
var hostNames = []string{
	"AsyncCompileMode", "CompilationError", "FutureKernel", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor",
	"OutOfResources", "TensorWrapper", "TritonError", "_C", "_utils", "backends", "compile", "compiler", "errors", "experimental",
	"knobs", "reinterpret", "set_allocator", "testing", "tools",
}

// Attr finds a name; one for the host is there, but not known here.
func (p *pkg) Attr(name string) (any, bool) {
	if v, ok := p.Parts[name]; ok {
		return v, true
	}
	if slices.Contains(hostNames, name) {
		return &eval.Missing{Name: "triton." + name, Reason: "it is for code that runs kernels"}, true
	}
	return nil, false
}

// Names lists what triton has, sorted.
func (p *pkg) Names() []string { return append(slices.Sorted(maps.Keys(p.Parts)), hostNames...) }

// Hint speaks of names that this release does not have.
func (p *pkg) Hint(name string) string { return hints["triton."+name] }

var tritonStatics = sync.OnceValue(func() map[string]any {
	return map[string]any{
		"__version__": version, "jit": jit, "autotune": autotune, "heuristics": heuristics, "Config": config,
		"constexpr_function": constexprFunction, "must_use_result": passThrough,
		"cdiv": cdiv, "next_power_of_2": nextPowerOf2,
	}
})

// change makes a decorator of what it does to a function. The decorator may be
// used bare, or called with options first.
func change(name string, f func(fn *eval.Function, kw []eval.Keyword)) *eval.Native {
	return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
		apply := func(v any) any {
			fn, ok := v.(*eval.Function)
			if n, native := v.(*eval.Native); native && name == "constexpr_function" {
				return n // it computes constants as it is
			}
			if !ok {
				eval.Fail("%s decorates functions, not %s", name, eval.TypeName(v))
			}
			return fn.With(func(fn *eval.Function) { f(fn, kw) })
		}
		if len(args) == 1 {
			return apply(args[0])
		}
		return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any {
			if len(args) != 1 {
				eval.Fail("%s decorates one function", name)
			}
			return apply(args[0])
		}}
	}}
}

// The keywords of decorators and of a configuration; those of a configuration that
// are not here go into its dict.
var (
	jitKeywords       = []string{"version", "repr", "launch_metadata", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline"}
	autotuneKeywords  = []string{"configs", "key", "prune_configs_by", "reset_to_zero", "restore_value", "pre_hook", "post_hook", "warmup", "rep", "use_cuda_graph", "do_bench", "cache_results"}
	configKeywords    = []string{"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override"}
	heuristicKeywords = []string{"values"}
)

var jit = change("jit", func(fn *eval.Function, kw []eval.Keyword) {
	fn.Kind = eval.JIT
	for _, k := range kw {
		switch k.Name {
		case "noinline":
			fn.Params.NoInline = eval.Truth(k.Value)
		case "debug":
			fn.Params.Debug = k.Value
		case "do_not_specialize":
			fn.Params.DoNotSpecialize = listOf(k.Value)
		case "do_not_specialize_on_alignment":
			fn.Params.DoNotSpecializeOnAlignment = listOf(k.Value)
		case "repr":
			fn.Params.Repr = k.Value
		case "launch_metadata", "version":
		default:
			eval.FailKeyword("jit", k.Name, jitKeywords, "it takes "+strings.Join(jitKeywords, ", "))
		}
	}
})

func listOf(v any) []any {
	if v == nil {
		return nil
	}
	return eval.Iterate(v)
}

var constexprFunction = change("constexpr_function", func(fn *eval.Function, _ []eval.Keyword) { fn.Kind = eval.ConstexprFunction })

var extern = change("extern", func(fn *eval.Function, _ []eval.Keyword) { fn.Kind = eval.Extern })

var passThrough = &eval.Native{Name: "decorator", Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any {
	if len(args) == 1 {
		switch args[0].(type) {
		case *eval.Function, *eval.Class:
			return args[0]
		}
	}
	return &eval.Native{Name: "decorator", Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any { return args[0] }}
}}

var aggregate = &eval.Native{Name: "aggregate", Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any {
	if len(args) == 1 {
		if c, ok := args[0].(*eval.Class); ok {
			c.Aggregate = true
			return c
		}
	}
	eval.Fail("aggregate decorates a class")
	return nil
}}

// Config is one triton.Config of an autotuned kernel.
type Config struct {
	Kwargs  *eval.Dict // the kernel's tuned constants
	Options []eval.Keyword
	PreHook any // a function to call before a launch, or nil
}

// Attr gives what configurations are asked for when lists of them are made.
func (c *Config) Attr(name string) (any, bool) {
	switch name {
	case "kwargs":
		return c.Kwargs, true
	case "pre_hook":
		return c.PreHook, true
	case "all_kwargs":
		return method(name, func([]any) any { return c.AllKwargs() }), true
	}
	for _, o := range c.Options {
		if o.Name == name {
			return o.Value, true
		}
	}
	return nil, false
}

// TypeName is what Python calls it.
func (c *Config) TypeName() string { return "Config" }

// Clone is a copy, which later changes to c leave alone.
func (c *Config) Clone() *Config {
	kwargs := &eval.Dict{}
	for i, key := range c.Kwargs.Keys {
		kwargs.Set(key, c.Kwargs.Values[i])
	}
	return &Config{kwargs, slices.Clone(c.Options), c.PreHook}
}

// SetAttr changes a configuration, as hooks and pruning functions may.
func (c *Config) SetAttr(name string, v any) bool {
	switch name {
	case "kwargs":
		d, ok := v.(*eval.Dict)
		if ok {
			c.Kwargs = d
		}
		return ok
	case "pre_hook":
		c.PreHook = v
		return true
	}
	if !slices.Contains(configKeywords, name) {
		return false
	}
	c.set(name, v)
	return true
}

func (c *Config) set(name string, v any) {
	for i := range c.Options {
		if c.Options[i].Name == name {
			c.Options[i].Value = v
			return
		}
	}
	c.Options = append(c.Options, eval.Keyword{Name: name, Value: v})
}

// AllKwargs are the constants and the options that have a value.
func (c *Config) AllKwargs() *eval.Dict {
	all := &eval.Dict{}
	for i, key := range c.Kwargs.Keys {
		all.Set(key, c.Kwargs.Values[i])
	}
	for _, o := range c.Options {
		if o.Value != nil {
			all.Set(o.Name, o.Value)
		}
	}
	return all
}

// DefaultConfig is triton.Config({}), which an empty list of configurations stands for.
func DefaultConfig() *Config {
	return &Config{Kwargs: &eval.Dict{}, Options: []eval.Keyword{{Name: "num_warps", Value: int64(4)}, {Name: "num_stages", Value: int64(3)}, {Name: "num_ctas", Value: int64(1)}}}
}

var config = &eval.Native{Name: "Config", Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
	c := DefaultConfig()
	names := []string{"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override"}
	for i, v := range args {
		if i >= len(names) {
			eval.Fail("Config() takes at most %s", diag.Count(len(names), "positional argument"))
		}
		kw = append(kw, eval.Keyword{Name: names[i], Value: v})
	}
	for _, k := range kw {
		if !slices.Contains(configKeywords, k.Name) {
			eval.FailKeyword("Config", k.Name, configKeywords, "options of one vendor belong in the dict")
		}
		switch k.Name {
		case "kwargs":
			d, ok := k.Value.(*eval.Dict)
			if !ok {
				eval.Fail("Config(): kwargs must be a dict")
			}
			c.Kwargs = d
		case "pre_hook":
			c.PreHook = k.Value
		default:
			c.set(k.Name, k.Value)
		}
	}
	return c
}}

var autotune = &eval.Native{Name: "autotune", Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
	a := &eval.Autotune{}
	for i, n := range []string{"configs", "key"} {
		if i < len(args) {
			kw = append(kw, eval.Keyword{Name: n, Value: args[i]})
		}
	}
	for _, k := range kw {
		if !slices.Contains(autotuneKeywords, k.Name) {
			eval.FailKeyword("autotune", k.Name, autotuneKeywords, "")
		}
		switch k.Name {
		case "configs":
			a.Configs = eval.Iterate(k.Value)
		case "key":
			a.Key = eval.Iterate(k.Value)
		case "prune_configs_by":
			prune(a, k.Value)
		case "reset_to_zero":
			a.ResetToZero = listOf(k.Value)
		case "restore_value":
			a.RestoreValue = listOf(k.Value)
		case "pre_hook":
			a.PreHook = k.Value
		case "post_hook":
			a.PostHook = k.Value
		case "warmup":
			a.Warmup = k.Value
		case "rep":
			a.Rep = k.Value
		case "use_cuda_graph":
			a.Graph = eval.Truth(k.Value)
		case "do_bench":
			a.DoBench = k.Value != nil
		}
	}
	return change("autotune", func(fn *eval.Function, _ []eval.Keyword) { launcher(fn, a) })
}}

// launcher puts a decorator around those that fn has.
func launcher(fn *eval.Function, l any) {
	fn.Params.Launchers = append([]any{l}, fn.Params.Launchers...)
}

// prune reads prune_configs_by.
func prune(a *eval.Autotune, v any) {
	if v == nil {
		return
	}
	d, ok := v.(*eval.Dict)
	if !ok {
		eval.Fail("autotune(): prune_configs_by must be a dict, not %s", eval.TypeName(v))
	}
	a.Prune, _ = d.Get("early_config_prune")
	a.PerfModel, _ = d.Get("perf_model")
	a.TopK, _ = d.Get("top_k")
}

var heuristics = &eval.Native{Name: "heuristics", Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
	for _, k := range kw {
		if !slices.Contains(heuristicKeywords, k.Name) {
			eval.FailKeyword("heuristics", k.Name, heuristicKeywords, "")
		}
		args = append(args, k.Value)
	}
	if len(args) != 1 {
		eval.Fail("heuristics() takes a dict of functions")
	}
	d, ok := args[0].(*eval.Dict)
	if !ok {
		eval.Fail("heuristics() takes a dict of functions, not %s", eval.TypeName(args[0]))
	}
	return change("heuristics", func(fn *eval.Function, _ []eval.Keyword) { launcher(fn, &eval.Heuristics{Values: d}) })
}}

func intFunction(name string, n int, f func(v []*big.Int) *big.Int) *eval.Native {
	return &eval.Native{Name: name, Global: true, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
		for _, k := range kw {
			args = append(args, k.Value)
		}
		if len(args) != n {
			eval.Fail("%s() takes %s (%d given)", name, diag.Count(n, "argument"), len(args))
		}
		vals := make([]*big.Int, n)
		for i, a := range args {
			if c, ok := a.(*eval.Constexpr); ok {
				a = c.Value
			}
			_, isBig := a.(*big.Int)
			if _, ok := eval.AsInt(a); !ok && !isBig {
				if m, missing := a.(*eval.Missing); missing {
					m.Fail()
				}
				eval.Fail("%s() needs compile-time integers, not %s", name, eval.TypeName(a))
			}
			vals[i] = eval.ToBig(a)
		}
		return eval.Int(f(vals))
	}}
}

var cdiv = intFunction("cdiv", 2, func(v []*big.Int) *big.Int {
	if v[1].Sign() == 0 {
		eval.Fail("integer division or modulo by zero")
	}
	// Python's //, which rounds down, of x + y - 1 and y.
	x := new(big.Int).Add(v[0], v[1])
	x.Sub(x, big.NewInt(1))
	q, r := new(big.Int).QuoRem(x, v[1], new(big.Int))
	if r.Sign() != 0 && r.Sign() != v[1].Sign() {
		q.Sub(q, big.NewInt(1))
	}
	return q
})

// nextPowerOf2 is 0 for what is not positive, as in Triton.
var nextPowerOf2 = intFunction("next_power_of_2", 1, func(v []*big.Int) *big.Int {
	if v[0].Sign() <= 0 {
		return new(big.Int)
	}
	below := new(big.Int).Sub(v[0], big.NewInt(1))
	return new(big.Int).Lsh(big.NewInt(1), uint(below.BitLen()))
})

// target is what get_current_target answers.
type target struct{ lib *Lib }

func (t *target) Attr(name string) (any, bool) {
	switch name {
	case "backend":
		return t.lib.Facts().Backend, true
	case "arch":
		return archValue(t.lib.Facts().Arch), true
	case "warp_size":
		return int64(t.lib.Facts().WarpSize), true
	}
	return nil, false
}
func (t *target) TypeName() string { return "GPUTarget" }

// archValue is an architecture as Triton gives it: an int where it is one.
func archValue(arch string) any {
	n := int64(0)
	for _, c := range arch {
		if c < '0' || c > '9' {
			return arch
		}
		n = n*10 + int64(c-'0')
	}
	if arch == "" {
		return arch
	}
	return n
}

func (l *Lib) currentTarget() *eval.Native {
	return &eval.Native{Name: "get_current_target", Fn: func(*eval.Session, []any, []eval.Keyword) any { return &target{l} }}
}

// runtime is triton.runtime, as far as module-level code asks it for the target.
func (l *Lib) runtime() *eval.Package {
	active := &eval.Package{Name: "active", Parts: map[string]any{
		"get_current_target": l.currentTarget(),
		"get_current_device": &eval.Native{Name: "get_current_device", Fn: func(*eval.Session, []any, []eval.Keyword) any { return int64(0) }},
		"utils":              &eval.Package{Name: "utils", Parts: map[string]any{"get_device_properties": l.deviceProperties()}},
	}}
	driver := &eval.Package{Name: "triton.runtime.driver", Parts: map[string]any{"active": active}}
	driver.Parts["driver"] = driver
	return &eval.Package{Name: "triton.runtime", Parts: map[string]any{
		"driver": driver, "jit": &eval.Package{Name: "triton.runtime.jit", Parts: map[string]any{"jit": jit, "constexpr_function": constexprFunction}},
		"autotuner": &eval.Package{Name: "triton.runtime.autotuner", Parts: map[string]any{
			"autotune": autotune, "heuristics": heuristics, "Config": config,
		}},
		"Config": config, "autotune": autotune, "heuristics": heuristics,
	}}
}

// targetInfo is triton.language.target_info: questions about the target, which
// names in the form is_<backend>, <backend>_capability_geq and a module of the backend's
// answer.
type targetInfo struct{ lib *Lib }

func (t *targetInfo) TypeName() string { return "module" }

const targetInfoName = "triton.language.target_info"

func (t *targetInfo) ModuleName() string { return targetInfoName }

// Attr finds a question by its name.
func (t *targetInfo) Attr(name string) (any, bool) {
	f := t.lib.Facts()
	answer := func(fn func(args []any) any) (any, bool) {
		return &eval.Native{Name: name, Global: true, Fn: func(_ *eval.Session, args []any, kw []eval.Keyword) any {
			for _, k := range kw {
				args = append(args, k.Value)
			}
			return fn(args)
		}}, true
	}
	if name == "current_target" {
		return t.lib.currentTarget(), true
	}
	if backend, ok := strings.CutSuffix(name, "_capability_geq"); ok {
		return answer(func(args []any) any {
			have, isInt := archValue(f.Arch).(int64)
			want := int64(0)
			for i, scale := range []int64{10, 1} {
				if i < len(args) {
					n, ok := eval.AsInt(args[i])
					if !ok {
						eval.Fail("%s() takes integers", name)
					}
					want += scale * n
				}
			}
			return backend == f.Backend && isInt && have >= want
		})
	}
	if own, ok := t.lib.backendModule(targetInfoName).(eval.Attributer); ok {
		if v, ok := own.Attr(name); ok {
			return v, true
		}
	}
	if what, ok := strings.CutPrefix(name, "is_"); ok {
		return answer(func([]any) any { return what == f.Backend })
	}
	return nil, false
}
