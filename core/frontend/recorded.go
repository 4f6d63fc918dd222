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

// Recorded returns the signatures that the decorators of the file's kernels give,
// of the one kernel alone where it is named; what a configuration adds is left to
// Complete.
func Recorded(f *File, kernel string, opts *Options) ([]*signature.Spec, error) {
	var specs []*signature.Spec
	err := f.eachRecorded(opts, func(fn *eval.Function) error {
		if kernel != "" && fn.Name() != kernel {
			return nil
		}
		spec, err := signature.Parse(recordedText, fn.Params.Recorded.Signature)
		if err == nil {
			spec.Kernel = fn.Name()
			specs = append(specs, spec)
		}
		return err
	})
	return specs, err
}

// Complete adds to signatures what the decorator of their kernel says and they
// leave out: arguments, options and, unless a configuration is chosen, the
// constants and options of its first one.
func Complete(f *File, specs []*signature.Spec, configured bool, opts *Options) ([]*signature.Spec, error) {
	var known []*eval.Function
	if err := f.eachRecorded(opts, func(fn *eval.Function) error {
		known = append(known, fn)
		return nil
	}); err != nil || len(known) == 0 {
		return specs, err
	}
	out := make([]*signature.Spec, len(specs))
	for i, spec := range specs {
		out[i] = spec
		for _, fn := range known {
			if fn.Name() != spec.Kernel && (spec.Kernel != "" || len(known) > 1) {
				continue
			}
			var err error
			if out[i], err = f.complete(fn, spec, configured); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (f *File) complete(fn *eval.Function, spec *signature.Spec, configured bool) (*signature.Spec, error) {
	r := fn.Params.Recorded
	recorded, err := signature.Parse(recordedText, r.Signature)
	if err != nil {
		return nil, err
	}
	n, err := f.configure(fn, spec, &lang.Config{Kwargs: &eval.Dict{}, Options: r.Options})
	if err != nil {
		return nil, err
	}
	if a := fn.Params.Autotune; !configured && a != nil && len(a.Configs) > 0 {
		if c, ok := a.Configs[0].(*lang.Config); ok {
			if n, err = f.configure(fn, n, c); err != nil {
				return nil, err
			}
		}
	}
	given := map[string]bool{}
	for i := range n.Args {
		given[n.Args[i].Name] = true
	}
	end := len(spec.Text.Full)
	for _, a := range recorded.Args {
		if !given[a.Name] {
			a.Start, a.End = end, end+1
			n.Args = append(n.Args, a)
		}
	}
	return n, nil
}

// eachRecorded calls visit with each kernel of the file whose decorator gives a
// signature.
func (f *File) eachRecorded(opts *Options, visit func(fn *eval.Function) error) (err error) {
	if !f.recorder() {
		return nil
	}
	if opts == nil {
		opts = &Options{}
	}
	s, _, _, _ := f.session(opts)
	if err := f.define(s, opts); err != nil {
		return err
	}
	m := s.Module(f.file)
	fail := eval.Try(func() {
		for _, fn := range m.Functions() {
			if fn.Kind == eval.JIT && fn.Params.Recorded != nil && err == nil {
				err = visit(fn)
			}
		}
	})
	if fail != nil {
		return fail.Diagnostic()
	}
	if err != nil { // a type that no signature has, say
		for _, d := range diag.All(err) {
			d.Pos.File = strings.Replace(d.Pos.File, recordedText, f.Path()+" "+recordedText, 1)
		}
	}
	return err
}

// recordedConstant is the value of a constant in the first configuration of a
// kernel whose decorator gives a signature.
func recordedConstant(fn *eval.Function, name string) (any, bool) {
	a := fn.Params.Autotune
	if fn.Params.Recorded == nil || a == nil || len(a.Configs) == 0 {
		return nil, false
	}
	c, ok := a.Configs[0].(*lang.Config)
	if !ok {
		return nil, false
	}
	return c.Kwargs.Get(name)
}
