package frontend

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/work"
)

// Configs gives, for each configuration of an autotuned kernel, the signature
// completed with that configuration's constants and options; what the signature
// says itself stays. The configurations are those of opts.Configs or, where it is
// nil, of the kernel's decorator.
func Configs(f *File, spec *signature.Spec, opts *Options) (specs []*signature.Spec, err error) {
	defer work.Catch(&err)
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
	list, err := f.configsOf(fn, opts.Configs)
	if err != nil {
		return nil, err
	}
	out := make([]*signature.Spec, 0, len(list))
	for _, v := range list {
		c, ok := v.(*lang.Config)
		if !ok {
			pos, _ := f.file.Pos(fn.Span())
			return nil, diag.Errorf(pos, "a configuration of '%s' is %s, not a triton.Config", fn.Name(), eval.TypeName(v)).
				WithHelp(configsElsewhere).WithSource(f.Source())
		}
		n, err := f.configure(fn, spec, c)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// configsElsewhere is the next step where a decorator is of no use.
const configsElsewhere = "--configs FILE gives the configurations as JSON; or give the constants in the signature"

// configsOf are the values of a kernel's list of configurations.
func (f *File) configsOf(fn *eval.Function, file *ConfigFile) ([]any, error) {
	pos, _ := f.file.Pos(fn.Span())
	if file != nil {
		var params []string
		for _, p := range fn.ParamList() {
			params = append(params, p.Name)
		}
		return file.of(fn.Name(), params)
	}
	a := fn.Params.Autotune
	if a != nil && len(a.Configs) > 0 {
		return a.Configs, nil
	}
	if a != nil {
		return nil, diag.Errorf(pos, "the list of configurations of '%s' is empty", fn.Name()).
			WithHelp(configsElsewhere).WithSource(f.Source())
	}
	if fail := skipped(fn, "autotune"); fail != nil {
		d := fail.Diagnostic()
		d.Message = "the configurations of '" + fn.Name() + "' cannot be evaluated: " + d.Message
		return nil, d.WithHelp(configsElsewhere)
	}
	return nil, diag.Errorf(diag.Pos{File: f.Path()}, "'%s' is not autotuned: it has no configurations to choose from", fn.Name())
}

// skipped is why a decorator of that name, such as triton.autotune, was passed
// over; nil when none was.
func skipped(fn *eval.Function, decorator string) *eval.Failure {
	for _, s := range fn.Skipped {
		if c, ok := s.Decorator.(*syntax.Call); ok {
			switch callee := c.Func.(type) {
			case *syntax.Attribute:
				ok = callee.Attr == decorator
			case *syntax.Name:
				ok = callee.ID == decorator
			default:
				ok = false
			}
			if ok {
				return s.Failure
			}
		}
	}
	return nil
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
		if v, ok := optionValue(c.Kwargs.Values[i]); ok && !isParam(params, name) {
			// Triton takes a keyword of the launch for an option where the
			// kernel has no such parameter.
			if !hasOption(n.Options, name) {
				n.Options = append(n.Options, signature.Option{Name: name, Value: v, Start: end, End: end + 1})
			}
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

func isParam(params []*syntax.Arg, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
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
