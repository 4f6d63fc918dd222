package lang

import (
	"slices"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Extended returns what a backend has in place of a builtin for a call that gives more
// arguments than the builtin takes: the function of that name in its module
// triton.language, which takes the builtin's parameters first and then its own. It returns
// nil where the builtin takes all, or there is no such function.
func (e *Emitter) Extended(b *Builtin, args []any, kwargs []eval.Keyword) *eval.Function {
	params := b.parse()
	takes := func(name string) bool {
		return ignored(name) || slices.ContainsFunc(params, func(p param) bool { return p.name == name })
	}
	more := len(args) > len(params) && !slices.ContainsFunc(params, func(p param) bool { return p.star })
	if !more && !slices.ContainsFunc(kwargs, func(k eval.Keyword) bool { return !takes(k.Name) }) {
		return nil
	}
	v, _ := e.Lib.added(languageName, b.Name)
	f, _ := v.(*eval.Function)
	if f == nil {
		return nil
	}
	list := f.ParamList()
	for i, p := range params {
		if i >= len(list) || list[i].Name != p.name {
			eval.Fail("the backend's %s() does not begin with the parameters of Triton's: %s", b.Name, b.usage())
		}
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	for _, k := range kwargs {
		if !ignored(k.Name) && !slices.Contains(names, k.Name) {
			eval.FailKeyword(b.Name, k.Name, names, b.usage())
		}
	}
	return f
}

// ignored reports whether a keyword is one of Triton's own, which kernels pass on and
// nothing here takes.
func ignored(name string) bool {
	return name == "_semantic" || name == "_generator" || name == "_builder"
}
