package lang

import (
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// The modules of torch._inductor that kernels made by torch.compile import.
// triton_helpers, functions in the Triton language, is our own text unless the
// user's torch can be found; the decorators of triton_heuristics say what a kernel
// was made for, which is all that matters here.
const (
	inductorPackage    = "torch._inductor"
	inductorHelpers    = "torch._inductor.runtime.triton_helpers"
	inductorHeuristics = "torch._inductor.runtime.triton_heuristics"
	inductorHints      = "torch._inductor.runtime.hints"
	inductorCompat     = "torch._inductor.runtime.triton_compat"
)

// inductorNames are the names under which releases of torch have those modules.
var inductorNames = map[string]string{
	"torch._inductor.triton_helpers":    inductorHelpers,
	"torch._inductor.triton_heuristics": inductorHeuristics,
	"torch._inductor.utils":             inductorHints, // instance_descriptor
	"torch._inductor.ir":                inductorHints, // ReductionHint, TileHint
}

// IsInductor reports whether a file that imports the module has kernels in the
// style of Inductor.
func IsInductor(module string) bool {
	return module == inductorPackage || strings.HasPrefix(module, inductorPackage+".")
}

// Yields reports whether a module of that name that the user has goes before
// ours.
func Yields(module string) bool {
	return module == inductorHelpers || inductorNames[module] == inductorHelpers
}

var helpersFile = libraryText("inductor/triton_helpers.py", "triton_helpers.py", inductorHelpers)

// inductor finds a module of torch._inductor; nil for those that are for the host.
func (l *Lib) inductor(name string) any {
	if n, ok := inductorNames[name]; ok {
		name = n
	}
	switch name {
	case inductorPackage, inductorPackage + ".runtime":
		return &inductorModule{l, name, func(part string) (any, bool) {
			v := l.Session.Load(name + "." + part)
			return v, v != nil
		}}
	case inductorHelpers:
		m := l.Session.Module(helpersFile())
		return &inductorModule{l, name, m.Lookup}
	case inductorHeuristics:
		return &inductorModule{l, name, func(part string) (any, bool) {
			switch part {
			case "AutotuneHint", "ReductionHint", "TileHint", "DeviceProperties":
				return inductorHint(part)
			}
			h, ok := heuristicKinds[part]
			if !ok {
				return &eval.Missing{Name: name + "." + part, Reason: "it is for code that runs kernels"}, true
			}
			return &eval.Native{Name: part, Fn: h.decorator}, true
		}}
	case inductorHints:
		return &inductorModule{l, name, inductorHint}
	case inductorCompat:
		return &inductorModule{l, name, l.compat}
	}
	return nil
}

// inductorModule is one of those modules.
type inductorModule struct {
	lib  *Lib
	name string
	find func(name string) (any, bool)
}

// Attr finds a name of the module.
func (m *inductorModule) Attr(name string) (any, bool) {
	v, ok := m.find(name)
	if !ok && m.name == inductorHelpers {
		return &eval.Missing{Name: m.name + "." + name, Reason: "the compiler's own triton_helpers has no such function, and no torch was found"}, true
	}
	return v, ok
}
func (m *inductorModule) TypeName() string   { return "module" }
func (m *inductorModule) ModuleName() string { return m.name }

// Repr names the module.
func (m *inductorModule) Repr() string { return "<module '" + m.name + "'>" }

// compat is what torch says of the Triton that it found: this one.
func (l *Lib) compat(name string) (any, bool) {
	switch name {
	case "triton":
		return l.triton(), true
	case "tl":
		return l.tl, true
	case "math":
		return mathModule(), true
	case "libdevice":
		v := l.Session.Load("triton.language.extra.libdevice")
		return v, v != nil
	case "Config":
		return config, true
	case "_log2":
		return l.core.Attr(name)
	case "HAS_TRITON", "builtins_use_semantic_kwarg":
		return true, true
	}
	return &eval.Missing{Name: inductorCompat + "." + name, Reason: "it is for code that runs kernels"}, true
}

// inductorValue is one value of torch's enumerations, such as ReductionHint.INNER.
type inductorValue struct{ enum, name string }

// Repr writes the value as torch does.
func (h *inductorValue) Repr() string     { return h.enum + "." + h.name }
func (h *inductorValue) TypeName() string { return h.enum }

// Equal compares by name: each mention makes a value of its own.
func (h *inductorValue) Equal(other any) bool {
	o, ok := other.(*inductorValue)
	return ok && *o == *h
}

// Attr gives the name.
func (h *inductorValue) Attr(name string) (any, bool) { return h.name, name == "name" }

// hintEnum is an enumeration, of which any value is known.
type hintEnum string

// Attr makes a value.
func (e hintEnum) Attr(name string) (any, bool) { return &inductorValue{string(e), name}, true }
func (e hintEnum) TypeName() string             { return "EnumType" }

// inductorHint are the names of module hints, and of its predecessors.
func inductorHint(name string) (any, bool) {
	switch name {
	case "ReductionHint", "TileHint", "AutotuneHint", "HeuristicType":
		return hintEnum(name), true
	case "DeviceProperties":
		return &eval.Native{Name: name, Fn: func(_ *eval.Session, _ []any, kw []eval.Keyword) any {
			return &eval.Package{Name: name, Parts: byName(kw)}
		}}, true
	case "instance_descriptor", "AttrsDescriptor", "AttrsDescriptorWrapper":
		return attrsDescriptor, true
	}
	return nil, false
}

func byName(kw []eval.Keyword) map[string]any {
	m := make(map[string]any, len(kw))
	for _, k := range kw {
		m[k.Name] = k.Value
	}
	return m
}

// attrsDescriptor is Triton's AttrsDescriptor of up to 3.2, and torch's
// instance_descriptor: the indices of arguments that are multiples of 16, and of
// those that are 1. It makes a dict of them.
var attrsDescriptor = &attrsDescriptorType{}

type attrsDescriptorType struct{}

// The properties of arguments, and the keys of dicts that hold them.
const (
	divisibleBy16 = "tt.divisibility"
	equalTo1      = "tt.equal_to"
)

// Call takes the indices by the names of any release.
func (*attrsDescriptorType) Call(_ *eval.Session, args []any, kw []eval.Keyword) any {
	for i, a := range args {
		if i < 2 {
			kw = append(kw, eval.Keyword{Name: [...]string{"divisible_by_16", "equal_to_1"}[i], Value: a})
		}
	}
	d := &eval.Dict{}
	for _, k := range kw {
		switch k.Name {
		case "divisible_by_16":
			d.Set(divisibleBy16, k.Value)
		case "equal_to_1":
			d.Set(equalTo1, k.Value)
		}
	}
	return d
}

// Attr finds from_dict.
func (t *attrsDescriptorType) Attr(name string) (any, bool) {
	if name != "from_dict" {
		return nil, false
	}
	return &eval.Native{Name: name, Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any {
		if len(args) == 1 {
			if d, ok := args[0].(*eval.Dict); ok {
				if p, ok := d.Get("arg_properties"); ok {
					return p
				}
			}
		}
		return &eval.Dict{}
	}}, true
}
func (*attrsDescriptorType) TypeName() string { return "type" }
