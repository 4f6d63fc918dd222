package frontend

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Configs gives, for each configuration of an autotuned kernel, the signature
// completed with that configuration's constants and options; what the signature
// says itself stays. Nil without error: the kernel is not autotuned.
func Configs(f *File, spec *signature.Spec, opts *Options) ([]*signature.Spec, error) {
	if opts == nil {
		opts = &Options{}
	}
	s, _, _, _ := f.session(opts)
	if err := f.define(s, opts); err != nil {
		return nil, err
	}
	m := s.Module(f.file)
	fn, err := f.find(m, spec)
	if err != nil {
		return nil, err
	}
	a := fn.Params.Autotune
	if a == nil {
		return nil, nil
	}
	if len(a.Configs) == 0 {
		pos, _ := f.file.Pos(fn.Span())
		return nil, diag.Errorf(pos, "the list of configurations of '%s' is empty", fn.Name()).
			WithHelp("give its constants in the signature").WithSource(f.Source())
	}
	out := make([]*signature.Spec, 0, len(a.Configs))
	for _, v := range a.Configs {
		c, ok := v.(*lang.Config)
		if !ok {
			pos, _ := f.file.Pos(fn.Span())
			return nil, diag.Errorf(pos, "a configuration of '%s' is %s, not a triton.Config", fn.Name(), eval.TypeName(v)).
				WithHelp("give its constants in the signature").WithSource(f.Source())
		}
		n, err := f.configure(fn, spec, c)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// configure completes a signature with a configuration.
func (f *File) configure(fn *eval.Function, spec *signature.Spec, c *lang.Config) (*signature.Spec, error) {
	n := *spec
	n.Args = append([]signature.Arg(nil), spec.Args...)
	n.Options = append([]signature.Option(nil), spec.Options...)
	given := map[string]bool{}
	params := fn.ParamList()
	for i := range n.Args {
		a := &n.Args[i]
		if a.Name == "" && i < len(params) {
			a.Name = params[i].Name // so that named ones may follow
		}
		given[a.Name] = true
	}
	end := len(spec.Text.Full)
	for i, k := range c.Kwargs.Keys {
		name := eval.Str(k)
		if given[name] {
			continue
		}
		text := literal(c.Kwargs.Values[i])
		e, err := syntax.ParseExpr(spec.Text.File, []byte(text))
		if err != nil {
			pos, _ := f.file.Pos(fn.Span())
			return nil, diag.Errorf(pos, "the value %s of '%s' in a configuration cannot stand in a signature", text, name).WithSource(f.Source())
		}
		n.Args = append(n.Args, signature.Arg{Name: name, Expr: e, Source: text, Start: end, End: end + 1})
	}
	for _, o := range c.Options {
		if !hasOption(n.Options, o.Name) && o.Value != nil {
			n.Options = append(n.Options, signature.Option{Name: o.Name, Value: o.Value, Start: end, End: end + 1})
		}
	}
	return &n, nil
}

func hasOption(list []signature.Option, name string) bool {
	for _, o := range list {
		if o.Name == name {
			return true
		}
	}
	return false
}

// literal writes a value as the expression that gives it again.
func literal(v any) string {
	if d, ok := v.(*lang.DType); ok {
		return "tl.dtype('" + d.String() + "')"
	}
	return eval.Repr(v)
}
