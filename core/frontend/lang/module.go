package lang

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// Lib is what one evaluation of a file sees as the package triton.
type Lib struct {
	Session *eval.Session
	// Facts returns those of the target. It is called when code asks for the
	// target, for finding it may take a process.
	Facts func() *Facts
	// Load returns the text and the externs of a module of Facts that has none
	// itself.
	Load func(module string) (text string, externs []Extern)

	tl      *Language
	core    *Language // the modules that tl collects its names from
	top     *pkg
	modules map[string]*externModule // of the backend, as far as they were asked for
}

// NewLib makes the package triton for a session.
func NewLib(s *eval.Session, facts func() *Facts) *Lib {
	l := &Lib{Session: s, Facts: facts, modules: map[string]*externModule{}}
	l.tl = &Language{lib: l}
	l.core = &Language{l, true}
	return l
}

// languageName is the module that tl is.
const languageName = "triton.language"

// Language is the module triton.language, or one of those that it takes its
// names from, which have a few more.
type Language struct {
	lib  *Lib
	core bool
}

// Attr finds a name: a type, a builtin, or a library function.
func (l *Language) Attr(name string) (any, bool) {
	if !l.core && internal(name) {
		return nil, false
	}
	if v, ok := statics()[name]; ok {
		return v, true
	}
	switch name {
	case "core", "standard", "random", "semantic":
		return l.lib.core, true
	case "math":
		return l.lib.math(), true
	case "extra", "target_info":
		if v := l.lib.Import("triton.language." + name); v != nil {
			return v, true
		}
	}
	if hidden(name) {
		return nil, false
	}
	for _, f := range libraryFiles {
		if file := f.file(); file.Binds(name) {
			return l.lib.Session.Module(file).Lookup(name)
		}
	}
	if !internal(name) && table()[name] == nil {
		return l.lib.added(languageName, name)
	}
	return nil, false
}

// added finds a name that the backend adds to a module of Triton, by a module of that name.
func (l *Lib) added(module, name string) (any, bool) {
	facts := l.Facts()
	if facts == nil {
		return nil, false
	}
	for i := range facts.Modules {
		if m := &facts.Modules[i]; m.Module == module {
			return l.sourceModule(m).Attr(name)
		}
	}
	return nil, false
}

// math is triton.language.math, with what the backend adds to it.
func (l *Lib) math() eval.Attributer { return &mathematical{mathModule(), l} }

type mathematical struct {
	*eval.Package
	lib *Lib
}

func (m *mathematical) Attr(name string) (any, bool) {
	if v, ok := m.Package.Attr(name); ok {
		return v, true
	}
	return m.lib.added(m.Package.Name, name)
}
func (l *Language) TypeName() string   { return "module" }
func (l *Language) Repr() string       { return "<module 'triton.language'>" }
func (l *Language) ModuleName() string { return "triton.language" }

// Hint speaks of names that this release does not have under tl.
func (l *Language) Hint(name string) string {
	if h := hints[name]; h != "" {
		return h
	}
	if _, ok := l.lib.core.Attr(name); ok && !l.core {
		return "it is in triton.language.core"
	}
	return ""
}

// internal are names that triton.language does not take over from its modules.
func internal(name string) bool {
	switch name {
	case "to_tensor", "extern_elementwise", "item", "builtin", "extern", "get_int_dtype", "CONSTEXPR_0", "N_ROUNDS_DEFAULT":
		return true
	}
	return strings.HasPrefix(name, "_")
}

const noSlices = "Triton has no slices of tensors; this one is of an extension for another device. Store the parts to memory, or choose between them with tl.where"

// hints are for names of other releases of Triton, and of other libraries.
var hints = map[string]string{
	"triton.aggregate":                     "it came with Triton 3.8; until then it is triton.language.core._aggregate",
	"squeeze":                              "it came with Triton 3.7; use tl.reshape",
	"unsqueeze":                            "it came with Triton 3.7; use tl.expand_dims, or x[:, None]",
	"expect_zero":                          "it came with Triton 3.8",
	"aggregate_replace":                    "it came with Triton 3.8",
	"atomic_poll":                          "it came after Triton 3.8; loop over tl.atomic_add(ptr, 0)",
	"libdevice":                            "from triton.language.extra import libdevice",
	"_experimental_descriptor_load":        "it is gone since Triton 3.4: make a descriptor with tl.make_tensor_descriptor, and use desc.load(offsets)",
	"_experimental_descriptor_store":       "it is gone since Triton 3.4: make a descriptor with tl.make_tensor_descriptor, and use desc.store(offsets, value)",
	"_experimental_make_tensor_descriptor": "it is tl.make_tensor_descriptor since Triton 3.4",
	"bool":                                 "use tl.int1",
	"float":                                "use tl.float32",
	"int":                                  "use tl.int32",
	"round":                                "use tl.extra.libdevice.rint",
	"tanh":                                 "from triton.language.extra import libdevice; libdevice.tanh",
	"pow":                                  "from triton.language.extra import libdevice; libdevice.pow",
	"mean":                                 "divide tl.sum by the number of elements",
	"matmul":                               "use tl.dot",
	"insert_slice":                         noSlices,
	"extract_slice":                        noSlices,
}

// Names lists what the module exports, sorted.
func (l *Language) Names() []string {
	var names []string
	for n := range statics() {
		names = append(names, n)
	}
	for _, f := range libraryFiles {
		names = append(names, f.file().Names()...)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return hidden(n) || internal(n) })
	slices.Sort(names)
	return names
}

// LibraryMethod finds the library function that is a method of tensors.
func (l *Lib) LibraryMethod(name string) *eval.Function {
	if !libraryMethods[name] {
		return nil
	}
	v, _ := l.tl.Attr(name)
	fn, _ := v.(*eval.Function)
	return fn
}

// LibraryMethods lists the functions of the library that are methods of tensors,
// sorted.
func LibraryMethods() []string { return slices.Sorted(maps.Keys(libraryMethods)) }

// Import finds a module of the package triton or of the backend; nil for
// others.
func (l *Lib) Import(name string) any {
	switch name {
	case "torch":
		return &torch{l, &eval.Missing{Name: "torch"}}
	case "torch.utils._triton":
		return hasTriton
	}
	if IsInductor(name) {
		return l.inductor(name)
	}
	if name != "triton" && !strings.HasPrefix(name, "triton.") {
		return l.backendModule(name)
	}
	switch name {
	case "triton":
		return l.triton()
	case "triton.compiler.AttrsDescriptor", "triton.compiler.compiler.AttrsDescriptor", "triton.backends.compiler.AttrsDescriptor":
		return attrsDescriptor // which kernels of older releases of torch import
	case "triton.language":
		return l.tl
	case "triton.language.core", "triton.language.standard", "triton.language.random", "triton.language.semantic":
		return l.core
	case "triton.language.math":
		return l.math()
	case targetInfoName:
		return &targetInfo{l}
	case "triton.language.extra":
		return &extra{l}
	}
	if m := l.backendModule(name); m != nil {
		return m
	}
	if rest, ok := strings.CutPrefix(name, "triton.language.extra."); ok {
		return &eval.Missing{
			Name: name, Reason: "the backend for " + l.Facts().Backend + " has no module '" + rest + "'",
			Help: "the modules of triton.language.extra are a backend's own, but for triton.language.extra.libdevice, which stands for that of each; tl.target_info tells targets apart",
		}
	}
	var v any = l.triton()
	for _, part := range strings.Split(name, ".")[1:] {
		a, ok := v.(eval.Attributer)
		if !ok {
			return nil
		}
		if v, ok = a.Attr(part); !ok {
			return nil
		}
	}
	return v
}

// extra is the package triton.language.extra: what the backend brings.
type extra struct{ lib *Lib }

func (x *extra) Attr(name string) (any, bool) {
	v := x.lib.Import("triton.language.extra." + name)
	return v, v != nil
}
func (x *extra) TypeName() string   { return "module" }
func (x *extra) ModuleName() string { return "triton.language.extra" }

// moduleCache keeps the parsed modules of backends for the process: of those that
// a backend may have, all; of a backend that makes a new text for each compile, no
// more than maxModules.
var moduleCache struct {
	sync.Mutex
	files map[moduleKey]*eval.File
}

const maxModules = 64

type moduleKey struct{ module, name, text string }

// parsedModule is the file of a backend's module.
func parsedModule(key moduleKey) (*eval.File, error) {
	c := &moduleCache
	c.Lock()
	defer c.Unlock()
	if f := c.files[key]; f != nil {
		return f, nil
	}
	tree, err := syntax.Parse(key.name, []byte(key.text))
	if err != nil {
		return nil, err
	}
	if len(c.files) >= maxModules || c.files == nil {
		c.files = make(map[moduleKey]*eval.File)
	}
	f := eval.NewFile(tree, key.name, key.module)
	f.Library = true
	c.files[key] = f
	return f, nil
}

func (l *Lib) backendModule(name string) any {
	facts := l.Facts()
	for _, a := range facts.Aliases {
		if a.From == name {
			name = a.To
		}
	}
	var own *ModuleSource
	parts := false
	for i := range facts.Modules {
		m := &facts.Modules[i]
		if m.Module == name {
			own = m
		}
		parts = parts || strings.HasPrefix(m.Module, name+".")
	}
	switch {
	case parts:
		return &packageModule{l, name, own}
	case own != nil:
		return l.sourceModule(own)
	}
	return nil
}

func (l *Lib) sourceModule(m *ModuleSource) *externModule {
	if known := l.modules[m.Module]; known != nil {
		return known
	}
	source, externs := m.Text, m.Externs
	if source == "" && len(externs) == 0 && l.Load != nil {
		source, externs = l.Load(m.Module)
	}
	f, err := parsedModule(moduleKey{m.Module, m.Name, source})
	if err != nil {
		eval.Fail("the backend's module %s: %v", m.Module, err)
	}
	x := &externModule{m.Module, externs, l.Session.Module(f)}
	l.modules[m.Module] = x
	return x
}

// packageModule is a module with modules inside.
type packageModule struct {
	lib  *Lib
	name string
	own  *ModuleSource // nil: it holds modules only
}

// Attr finds what the module holds itself, else a module inside.
func (p *packageModule) Attr(name string) (any, bool) {
	if p.own != nil {
		if v, ok := p.lib.sourceModule(p.own).Attr(name); ok {
			return v, true
		}
	}
	v := p.lib.backendModule(p.name + "." + name)
	return v, v != nil
}

// Names lists what the module has of its own.
func (p *packageModule) Names() []string {
	if p.own == nil {
		return nil
	}
	return p.lib.sourceModule(p.own).Names()
}
func (p *packageModule) TypeName() string   { return "module" }
func (p *packageModule) ModuleName() string { return p.name }
func (p *packageModule) Repr() string       { return "<module '" + p.name + "'>" }

// externModule is a backend's module with functions of a device library.
type externModule struct {
	name    string
	externs []Extern
	source  *eval.Module
}

// Attr finds a function in the source, else in the table.
func (x *externModule) Attr(name string) (any, bool) {
	if v, ok := x.source.Lookup(name); ok {
		return v, true
	}
	f := &ExternFn{Name: name}
	for i := range x.externs {
		if x.externs[i].Name == name {
			f.overloads = append(f.overloads, &x.externs[i])
		}
	}
	return f, len(f.overloads) > 0
}

// Names lists what the module has.
func (x *externModule) Names() []string {
	names := x.source.Names()
	for i := range x.externs {
		names = append(names, x.externs[i].Name)
	}
	return names
}
func (x *externModule) TypeName() string   { return "module" }
func (x *externModule) ModuleName() string { return x.name }

// Marker is a function of the language that the code generator handles itself.
type Marker struct{ Name string }

func (m *Marker) TypeName() string { return "type" }

// Repr names the marker.
func (m *Marker) Repr() string { return "<" + m.Name + ">" }

// Call refuses, except that ranges may appear in compile-time code.
func (m *Marker) Call(s *eval.Session, args []any, kw []eval.Keyword) any {
	if m == Range && len(kw) > 0 {
		return &RangeCall{args, kw}
	}
	if m == Range || m == StaticRange {
		return eval.RangeType.Call(s, args, nil)
	}
	eval.Fail(errBuiltinOutside)
	return nil
}

// RangeCall is a tl.range that Python code of a kernel makes, for a loop of the kernel:
// the iterators of a backend's modules return it.
type RangeCall struct {
	Args   []any
	Kwargs []eval.Keyword
}

func (*RangeCall) TypeName() string { return "range" }

// What the code generator recognises by identity.
var (
	Range       = &Marker{"tl.range"}
	StaticRange = &Marker{"tl.static_range"}
	Condition   = &Marker{"tl.condition"}
	Const       = &Marker{"tl.const"}
)

// The classes of the language, for isinstance and annotations.
var (
	// Functions see what a constexpr holds, never one.
	ConstexprType = &eval.Type{Name: "constexpr", Has: func(v any) bool { _, ok := v.(*eval.Constexpr); return ok }, New: func(_ *eval.Session, a []any, _ []eval.Keyword) any {
		if len(a) != 1 {
			eval.Fail("constexpr() takes one value")
		}
		if c, ok := a[0].(*eval.Constexpr); ok {
			return c
		}
		return &eval.Constexpr{Value: a[0]}
	}}
	TensorType  = &eval.Type{Name: "tensor", Has: func(v any) bool { _, ok := v.(*Tensor); return ok }}
	DTypeType   = &eval.Type{Name: "dtype", Has: func(v any) bool { _, ok := v.(*DType); return ok }, New: newDType}
	DescClass   = &eval.Type{Name: "tensor_descriptor", Has: func(v any) bool { _, ok := v.(*Desc); return ok }}
	PointerType = &eval.Type{Name: "pointer_type", Has: func(v any) bool { _, ok := v.(*Pointer); return ok }, New: newPointerType}
	BlockType   = &eval.Type{Name: "block_type", Has: func(v any) bool { _, ok := v.(*Block); return ok }, New: newBlockType}
)

func newDType(_ *eval.Session, a []any, _ []eval.Keyword) any {
	if len(a) == 1 {
		if s, ok := a[0].(string); ok {
			if d := DTypeNamed(s); d != nil {
				return d
			}
		}
	}
	eval.Fail("dtype() needs the name of a type")
	return nil
}

func newPointerType(_ *eval.Session, a []any, kw []eval.Keyword) any {
	for _, k := range kw {
		a = append(a, k.Value)
	}
	if len(a) > 0 {
		if t, ok := a[0].(Type); ok {
			p := &Pointer{Elem: t}
			if len(a) > 1 {
				n, _ := eval.AsInt(a[1])
				p.Space = int(n)
			}
			return p
		}
	}
	eval.Fail("pointer_type() needs an element type")
	return nil
}

func newBlockType(_ *eval.Session, a []any, _ []eval.Keyword) any {
	if len(a) == 2 {
		if t, ok := a[0].(Type); ok {
			b := &Block{Elem: t}
			for i, v := range eval.Iterate(a[1]) {
				n, ok := eval.AsInt(v)
				if !ok {
					eval.Fail(errShapeType, i, TypeString(v))
				}
				b.Shape = append(b.Shape, n)
			}
			if len(b.Shape) == 0 {
				eval.Fail(errBlock0d)
			}
			new(Facts).CheckShape(b.Shape)
			return b
		}
	}
	eval.Fail("block_type() needs an element type and a shape")
	return nil
}

// statics are the names of triton.language that are the same for all compiles.
var statics = sync.OnceValue(func() map[string]any {
	m := make(map[string]any, 192)
	for n, d := range dtypes {
		m[n] = d
	}
	for n, b := range table() {
		if n != "to" { // a method only
			m[n] = b
		}
	}
	for n, v := range map[string]any{
		"constexpr": ConstexprType, "tensor": TensorType, "dtype": DTypeType, "tuple": eval.TupleType,
		"tensor_descriptor": DescClass, "pointer_type": PointerType, "block_type": BlockType,
		"constexpr_type": ConstexprType, "const": Const, "pi32_t": NewPointer(Int32),
		"range": Range, "static_range": StaticRange, "condition": Condition,
		"PropagateNan": PropagateNaN, "CONSTEXPR_0": &eval.Constexpr{Value: int64(0)}, "TRITON_MAX_TENSOR_NUMEL": &eval.Constexpr{Value: int64(maxNumel)},
		"slice": &Marker{"tl.slice"}, "_aggregate": aggregate, "builtin": extern, "extern": extern,
		"get_int_dtype": getIntDtype, "_unwrap_if_constexpr": unwrapConstexpr,
	} {
		m[n] = v
	}
	return m
})

// unwrapConstexpr is core._unwrap_if_constexpr.
var unwrapConstexpr = &eval.Native{Name: "_unwrap_if_constexpr", Global: true, Fn: func(_ *eval.Session, args []any, _ []eval.Keyword) any {
	if len(args) != 1 {
		eval.Fail("_unwrap_if_constexpr() takes one value")
	}
	if c, ok := args[0].(*eval.Constexpr); ok {
		return c.Value
	}
	return args[0]
}}

// mathModule is triton.language.math.
var mathModule = sync.OnceValue(func() *eval.Package {
	p := &eval.Package{Name: "triton.language.math", Parts: map[string]any{}}
	for _, b := range mathematics {
		p.Parts[b.Name] = b
	}
	return p
})
