package frontend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// KernelInfo describes one kernel of a file.
type KernelInfo struct {
	Name   string
	Line   int // of its def, from 1
	Params []ParamInfo
	// Autotuned kernels have constants that their configurations set.
	Autotuned bool
	// Configs are these configurations, as far as they can be evaluated, and Pruned
	// says that the kernel has functions that choose among them.
	Configs []ConfigInfo
	Pruned  bool
	// Key are the arguments on whose values the choice depends, as @triton.autotune has
	// it: all that are numbers where there is no decorator.
	Key []string
}

// ConfigInfo describes one configuration of an autotuned kernel.
type ConfigInfo struct {
	// Number is that of Request.Config.
	Number    int
	Constants map[string]any // as those of a Variant
	Text      string         // "BLOCK=128, num_warps=4"
	// Settings are all that it gives, constants first, in its order.
	Settings []ConfigSetting
}

// ConfigSetting is a constant or an option that a configuration gives: nil, bool,
// int64, float64 or string, or for other values the expression that gives them.
type ConfigSetting struct {
	Name   string
	Value  any
	Option bool
}

// ParamInfo describes one parameter.
type ParamInfo struct {
	Name       string
	Constexpr  bool
	Pointer    bool   // memory is reached through it, as far as one can see
	Annotation string // as written, or ""
	Default    string // as written, or ""
	// NoSpecialize and NoAlign are what the decorator says: of the argument's
	// value nothing is to be compiled in, or of its divisibility.
	NoSpecialize, NoAlign bool
	// Computed parameters get their value from triton.heuristics.
	Computed bool
}

// Signature is a signature for the kernel to begin with: pointers for what is
// loaded and stored through, integers elsewhere, and for a constant without a default
// a guess from its name. What configurations or heuristics give is left out.
func (k *KernelInfo) Signature() string {
	tuned := k.tuned()
	var constants int
	for _, p := range k.Params {
		if p.Constexpr && p.Default == "" && !tuned[p.Name] && !p.Computed {
			constants++
		}
	}
	parts := make([]string, 0, len(k.Params))
	for _, p := range k.Params {
		switch {
		case tuned[p.Name] || p.Computed:
		case p.Constexpr && p.Default != "":
			parts = append(parts, p.Name+"="+p.Default)
		case p.Constexpr:
			parts = append(parts, p.Name+"="+guessConstant(p.Name, constants))
		case p.Pointer:
			parts = append(parts, p.Name+"=*fp32:16")
		default:
			parts = append(parts, p.Name+"="+guessScalar(p.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// tuned names the constants that configurations give.
func (k *KernelInfo) tuned() map[string]bool {
	tuned := map[string]bool{}
	if len(k.Configs) > 0 {
		for name := range k.Configs[0].Constants {
			tuned[name] = true
		}
	}
	return tuned
}

// complete reports whether a signature has nothing to say: each parameter is a constant
// that has a value.
func (k *KernelInfo) complete() bool {
	tuned := k.tuned()
	return !slices.ContainsFunc(k.Params, func(p ParamInfo) bool {
		return !tuned[p.Name] && !p.Computed && (!p.Constexpr || p.Default == "")
	})
}

// guessConstant guesses the value of one of n constants: a kernel with one is
// elementwise, most likely, and one with several has blocks of two dimensions.
func guessConstant(name string, n int) string {
	lower := strings.ToLower(name)
	for _, w := range []string{"is_", "has_", "use_", "with_", "do_", "enable", "causal"} {
		if strings.HasPrefix(lower, w) {
			return "False"
		}
	}
	switch {
	case strings.Contains(lower, "group"):
		return "8"
	case strings.Contains(lower, "stage"), strings.Contains(lower, "factor"):
		return "1"
	case n == 1:
		return "1024"
	}
	return "64"
}

func guessScalar(name string) string {
	lower := strings.ToLower(name)
	for _, w := range []string{"eps", "scale", "alpha", "beta", "rate", "prob", "factor"} {
		if strings.Contains(lower, w) {
			return "fp32"
		}
	}
	return "i32"
}

// Kernels lists the kernels of the file: its jit functions, without those that
// other ones of the file call and those that return values. A file of nothing
// else lists them all.
func (p *Program) Kernels(ctx context.Context) (infos []KernelInfo, err error) {
	err = p.evaluate(ctx, nil, nil, func(e *evaluation) (err error) {
		infos, err = e.kernels()
		return err
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

func (e *evaluation) kernels() (infos []KernelInfo, err error) {
	fail := eval.Try(func() {
		for _, fn := range kernels(e.module) {
			infos = append(infos, e.info(fn))
		}
		if len(infos) == 0 {
			e.undefined()
		}
	})
	if fail != nil {
		return nil, fail.Diagnostic()
	}
	return infos, nil
}

// undefined fails as the first decorated function does that cannot be defined,
// if there is one: in a file without kernels it is the reason.
func (e *evaluation) undefined() {
	for _, st := range e.file.file.Tree.Body {
		if def, ok := st.(*syntax.FunctionDef); ok && len(def.Decorators) > 0 {
			e.module.Lookup(def.Name)
		}
	}
}

func kernels(m *eval.Module) []*eval.Function {
	var jits, out []*eval.Function
	for _, fn := range m.Functions() {
		if fn.Kind == eval.JIT {
			jits = append(jits, fn)
		}
	}
	called := map[string]bool{}
	for _, fn := range jits {
		for _, st := range fn.Def.Body {
			syntax.Inspect(st, func(n syntax.Node) bool {
				if name, ok := n.(*syntax.Name); ok && name.ID != fn.Name() {
					called[name.ID] = true
				}
				return true
			})
		}
	}
	for _, fn := range jits {
		if !called[fn.Name()] && !returnsValue(fn) {
			out = append(out, fn)
		}
	}
	if len(out) == 0 {
		return jits
	}
	return out
}

func returnsValue(fn *eval.Function) (found bool) {
	for _, st := range fn.Def.Body {
		syntax.Inspect(st, func(n syntax.Node) bool {
			r, ok := n.(*syntax.Return)
			found = found || ok && r.Value != nil
			return !found
		})
	}
	return found
}

func (e *evaluation) info(fn *eval.Function) KernelInfo {
	k := KernelInfo{Name: fn.Name(), Line: int(fn.Span().Line), Autotuned: fn.Params.Autotune() != nil}
	e.configInfo(fn, &k)
	a := fn.Args()
	pos := len(a.PosOnly) + len(a.Args)
	ptrs := pointers{}.of(fn)
	for i, p := range fn.ParamList() {
		info := ParamInfo{Name: p.Name, Constexpr: isConstexpr(p), Pointer: ptrs[p.Name]}
		info.NoSpecialize = listed(fn.Params.DoNotSpecialize, i, p.Name)
		info.Computed = fn.Params.Computes(p.Name)
		info.NoAlign = info.NoSpecialize || listed(fn.Params.DoNotSpecializeOnAlignment, i, p.Name)
		if p.Annotation != nil {
			info.Annotation = e.file.file.Text(p.Annotation.Loc())
		}
		if first := pos - len(a.Defaults); i < pos && i >= first {
			info.Default = e.file.file.Text(a.Defaults[i-first].Loc())
		}
		if v, ok := recordedConstant(fn, p.Name); ok && info.Default == "" {
			info.Default = literal(v)
		}
		k.Params = append(k.Params, info)
	}
	return k
}

// listed reports whether a list of a decorator, of names and positions, has a
// parameter.
func listed(list []any, index int, name string) bool {
	for _, item := range list {
		if c, ok := item.(*eval.Constexpr); ok {
			item = c.Value
		}
		switch v := item.(type) {
		case string:
			if v == name {
				return true
			}
		case int64:
			if v == int64(index) {
				return true
			}
		}
	}
	return false
}

// isConstexpr reports whether a parameter is annotated as constexpr.
func isConstexpr(p *syntax.Arg) bool {
	switch a := p.Annotation.(type) {
	case *syntax.Attribute:
		return a.Attr == "constexpr"
	case *syntax.Name:
		return a.ID == "constexpr"
	case *syntax.Constant:
		s, _ := a.Value.(string)
		return s == "constexpr" || strings.HasSuffix(s, ".constexpr")
	}
	return false
}

// missingSignature is the error for a file that says nothing of its kernels'
// arguments: it lists each kernel with a line to paste.
func (e *evaluation) missingSignature(infos []KernelInfo) error {
	if len(infos) == 0 {
		return diag.Errorf(diag.Pos{File: e.file.Path()}, "the file defines no kernel").
			WithHelp("a kernel is a function decorated with @triton.jit")
	}
	d := diag.Errorf(diag.Pos{File: e.file.Path()}, "the types of the kernels' arguments are not known")
	var b strings.Builder
	b.WriteString("give them with -s, or paste a comment like these into the file and correct it:")
	for i := range infos {
		k := &infos[i]
		fmt.Fprintf(&b, "\n# tritonc: %s(%s)", k.Name, k.Signature())
		names := make([]string, len(k.Params))
		for j, p := range k.Params {
			names[j] = p.Name
			if p.Constexpr {
				names[j] += ": constexpr"
			}
		}
		d.WithNote(diag.Pos{File: e.file.Path(), Line: k.Line, Col: 1}, "%s(%s)", k.Name, strings.Join(names, ", "))
	}
	return d.WithHelp("%s", b.String())
}
