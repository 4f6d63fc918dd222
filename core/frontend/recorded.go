package frontend

import (
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// recordedText names, in diagnostics, the signature that a decorator gives.
const recordedText = "(the signature of the decorator)"

// recorder reports whether the file may have kernels whose decorators say what
// they were made for: that it imports those decorators.
func (f *File) recorder() bool {
	for _, st := range f.file.Tree.Body {
		switch st := st.(type) {
		case *syntax.ImportFrom:
			if lang.IsInductor(st.Module) {
				return true
			}
		case *syntax.Import:
			for _, a := range st.Names {
				if lang.IsInductor(a.Name) {
					return true
				}
			}
		}
	}
	return false
}

// recorded returns the signatures that the decorators of the file's kernels give,
// of the one kernel alone where it is named.
func (e *evaluation) recorded(kernel string) (specs []*signature.Spec, err error) {
	if !e.file.recorder() {
		return nil, nil
	}
	fail := eval.Try(func() {
		for _, fn := range e.module.Functions() {
			if fn.Kind != eval.JIT || fn.Params.Recorded == nil || kernel != "" && fn.Name() != kernel {
				continue
			}
			var spec *signature.Spec
			if spec, err = e.recordedSpec(fn); err != nil {
				return
			}
			spec.Kernel = fn.Name()
			specs = append(specs, spec)
		}
	})
	if fail != nil {
		return nil, fail.Diagnostic()
	}
	return specs, err
}

func (e *evaluation) recordedSpec(fn *eval.Function) (*signature.Spec, error) {
	spec, err := signature.Parse(recordedText, fn.Params.Recorded.Signature)
	for _, d := range diag.All(err) { // a type that no signature has, say
		d.Pos.File = strings.Replace(d.Pos.File, recordedText, e.file.Path()+" "+recordedText, 1)
	}
	return spec, err
}

// complete adds to a signature the arguments that the decorator of its kernel
// records and it leaves out, unless a configuration gives them.
func (e *evaluation) complete(fn *eval.Function, spec *signature.Spec) (*signature.Spec, error) {
	if fn.Params.Recorded == nil {
		return spec, nil
	}
	recorded, err := e.recordedSpec(fn)
	if err != nil {
		return nil, err
	}
	n := *spec
	n.Args = append([]signature.Arg(nil), spec.Args...)
	given := map[string]bool{}
	params := fn.ParamList()
	for i := range n.Args {
		a := &n.Args[i]
		if a.Name == "" && i < len(params) {
			a.Name = params[i].Name // so that named ones may follow
		}
		given[a.Name] = true
	}
	if a := fn.Params.Autotune(); a != nil && len(a.Configs) > 0 {
		if c, ok := a.Configs[0].(*lang.Config); ok {
			for _, key := range c.Kwargs.Keys {
				given[eval.Str(key)] = true
			}
		}
	}
	end := len(spec.Text.Full)
	for _, a := range recorded.Args {
		if !given[a.Name] {
			a.Start, a.End = end, end+1
			n.Args = append(n.Args, a)
		}
	}
	return &n, nil
}

// record adds the options that the kernel's decorator records, which go before
// those of its configurations.
func (b *binder) record() {
	r := b.fn.Params.Recorded
	if r == nil {
		return
	}
	for _, o := range r.Options {
		if o.Value != nil {
			b.putOption(o.Name, o.Value, "the decorator of '"+b.fn.Name()+"'", b.e.placeOf(b.fn, ""))
			b.fixed[o.Name] = true
		}
	}
}

// recordedConstant is the value of a constant in the first configuration of a
// kernel whose decorator gives a signature.
func recordedConstant(fn *eval.Function, name string) (any, bool) {
	a := fn.Params.Autotune()
	if fn.Params.Recorded == nil || a == nil || len(a.Configs) == 0 {
		return nil, false
	}
	c, ok := a.Configs[0].(*lang.Config)
	if !ok {
		return nil, false
	}
	return c.Kwargs.Get(name)
}
