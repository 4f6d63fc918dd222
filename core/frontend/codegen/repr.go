package codegen

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
)

// kernelName is the kernel's name in the IR: the function's, or what its repr
// hook says. A hook that raises is the user's mistake; one that asks for what is
// not here is passed over, with a warning.
func (u *unit) kernelName(req *Request) string {
	fn := req.Kernel
	if fn.Params.Repr == nil {
		if err := tt.CheckFuncName(fn.Name(), false); err != nil {
			eval.FailHelp("rename it, or give it another name in the binary: @triton.jit(repr=lambda _: \"name\")", "kernel: %v", err)
		}
		return fn.Name()
	}
	var v any
	fail := eval.Try(func() { v = unwrap(u.session.Apply(fn.Params.Repr, []any{newProxy(req)}, nil)) })
	if fail != nil && fail.Raised != "" {
		if fail.Help == "" {
			fail.Help = fail.Raised + " in the repr of kernel '" + fn.Name() + "'; it is given the dicts .constants and .signature, by name of parameter"
		}
		panic(fail)
	}
	name, ok := v.(string)
	switch {
	case fail != nil:
		u.Warn("the kernel keeps its own name: repr cannot be evaluated: %s", fail.Msg)
		return fn.Name()
	case !ok:
		eval.Fail("the repr of kernel '%s' must return a string, not %s", fn.Name(), eval.TypeName(v))
	case !isName(name):
		eval.FailHelp("letters, digits and underscores make one", "invalid function identifier: %s", name)
	}
	return name
}

// isName reports whether a name is made of letters, digits and underscores.
func isName(s string) bool {
	for i, c := range s {
		digit := c >= '0' && c <= '9'
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit && i > 0) {
			return false
		}
	}
	return s != ""
}

// proxy is what a repr hook is given: the values of the constants and the types
// of the arguments, by name.
type proxy struct{ constants, signature *eval.Dict }

func newProxy(req *Request) *proxy {
	p := &proxy{&eval.Dict{}, &eval.Dict{}}
	for i, arg := range req.Kernel.ParamList() {
		switch r := &req.Params[i]; {
		case r.Tuple: // has no entry of its own
		case r.Type != nil:
			p.signature.Set(arg.Name, signatureOf(r.Type))
		default:
			p.constants.Set(arg.Name, r.Value)
			p.signature.Set(arg.Name, "constexpr")
		}
	}
	return p
}

// Attr finds the two dicts.
func (p *proxy) Attr(name string) (any, bool) {
	switch name {
	case "constants":
		return p.constants, true
	case "signature":
		return p.signature, true
	}
	return nil, false
}

func (p *proxy) TypeName() string { return "SpecializationProxy" }

// signatureOf writes a type as signatures do.
func signatureOf(t lang.Type) string {
	switch t := t.(type) {
	case *lang.Pointer:
		if t.Const {
			return "*k" + signatureOf(t.Elem)
		}
		return "*" + signatureOf(t.Elem)
	case *lang.DescType:
		return "tensordesc<" + t.Block.Elem.Mangle() + eval.Repr(&eval.List{Elems: lang.ShapeTuple(t.Block.Shape).Elems}) + ">"
	}
	return t.Mangle()
}
