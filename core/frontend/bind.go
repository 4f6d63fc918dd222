package frontend

import (
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/codegen"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// binding is a kernel with what a variant says of its parameters and options.
type binding struct {
	fn       *eval.Function
	params   []codegen.Param
	given    []*signature.Arg // what the signature says of each parameter, or nil
	options  []Option         // each name once
	configNo int              // of the configuration, or noConfig
	config   *lang.Config
	left     []ConfigInfo // configurations that pruning leaves
	args     *eval.Dict   // what functions of decorators see of the launch
	tuning   *Tuning
	configs  int
	settings []setting
	added    []int // the parameters whose values decorators gave
	names    []string
	module   *eval.Module
	warnings diag.List
}

// bind completes a variant's signature with what the decorators add, and
// distributes it over the parameters of the kernel. All mistakes are reported.
func (e *evaluation) bind(v *Variant) (*binding, error) {
	fn, err := e.find(v.spec)
	if err != nil {
		return nil, err
	}
	b := &binder{
		e: e, v: v, spec: v.spec, params: fn.ParamList(), computed: map[string]bool{}, fixed: map[string]bool{}, noDefault: map[int]*eval.Failure{},
		binding: binding{fn: fn, configNo: noConfig, module: e.module, args: &eval.Dict{}},
	}
	b.given = make([]*signature.Arg, len(b.params))
	b.out, b.known = make([]codegen.Param, len(b.params)), make([]bool, len(b.params))
	for _, step := range []func(){b.distribute, b.signature, b.launch, b.missing, b.tunes} {
		if step(); len(b.errs) > 0 {
			return nil, b.errs
		}
	}
	b.binding.params = b.out
	for _, p := range b.params {
		b.names = append(b.names, p.Name)
	}
	return &b.binding, nil
}

type binder struct {
	binding
	e       *evaluation
	v       *Variant
	spec    *signature.Spec
	params  []*syntax.Arg
	entries []int // the parameter of each entry of the signature
	out     []codegen.Param
	known   []bool // of out: something has given it
	// noDefault are the defaults that cannot be evaluated, by parameter.
	noDefault map[int]*eval.Failure
	tuned     bool
	computed  map[string]bool // what @triton.heuristics has given
	fixed     map[string]bool // options that configurations do not change
	errs      diag.List
}

// signature takes what the signature says itself, and the defaults.
func (b *binder) signature() {
	for i, p := range b.params {
		if a := b.given[i]; a != nil {
			b.out[i], b.known[i] = b.param(p, a), true
		} else if fail := eval.Try(func() { b.byDefault(i) }); fail != nil {
			b.noDefault[i] = fail
		}
	}
	for i := range b.spec.Args {
		a := &b.spec.Args[i]
		b.settings = append(b.settings, setting{name: b.params[b.entries[i]].Name, value: a.Source, typ: a.Type})
	}
	for _, o := range b.spec.Options {
		place := *b.spec.Text.Errorf(o.Start, o.End, "")
		b.settings = append(b.settings, setting{name: o.Name, value: fmt.Sprint(o.Value)})
		b.options = append(b.options, Option{Name: o.Name, Value: o.Value, From: "a comment of the file", place: place})
	}
}

// byDefault gives a parameter its default, where it has one.
func (b *binder) byDefault(i int) {
	a := b.fn.Args()
	var v any
	ok := false
	if pos := len(a.PosOnly) + len(a.Args); i < pos {
		v, ok = b.fn.Default(i)
	} else if k := i - pos; a.Vararg == nil && k < len(a.KwOnly) {
		v, ok = b.fn.KwDefault(k)
	}
	if ok {
		b.out[i], b.known[i] = constantParam(v), true
	}
}

// launch adds what the decorators around @triton.jit give, the outermost first.
func (b *binder) launch() {
	b.lack()
	if len(b.errs) > 0 {
		return // what is computed of it would fail, too
	}
	var values map[string]any
	if l := b.v.request.Launch; l != nil {
		values = l.Values
	}
	for i, p := range b.params {
		if v, ok := values[p.Name]; ok || b.known[i] {
			b.args.Set(p.Name, argValue(p.Name, &b.out[i], v, ok))
		}
	}
	for _, o := range b.spec.Options {
		b.args.Set(o.Name, o.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(b.v.request.Options)) {
		b.args.Set(name, flagValue(b.v.request.Options[name]))
	}
	b.record()
	if b.fn.Params.Autotune() == nil {
		b.tune(nil) // the configurations are in a file
	}
	for _, l := range b.fn.Params.Launchers {
		switch l := l.(type) {
		case *eval.Autotune:
			b.tune(l)
		case *eval.Heuristics:
			b.compute(l)
		}
		if len(b.errs) > 0 {
			return
		}
	}
}

// lack reports the parameters that nothing will give a value.
func (b *binder) lack() {
	later := map[string]bool{}
	if b.v.config != noConfig {
		configs, err := b.e.configsOf(b.fn)
		if err != nil {
			b.errs = append(b.errs, diag.All(err)...)
			return
		}
		n := max(b.v.config, 0)
		if b.v.config >= len(configs) || b.v.config == bestConfig && b.e.makesConfigs(b.fn, b.v.request) {
			for _, p := range b.params { // configurations that are to be made may give any constant
				later[p.Name] = isConstexpr(p)
			}
			n = 0
		}
		for _, key := range configs[n].Kwargs.Keys {
			later[eval.Str(key)] = true
		}
	}
	b.report(func(name string) bool { return later[name] || b.fn.Params.Computes(name) })
}

// missing reports the parameters that nothing has given a value.
func (b *binder) missing() { b.report(func(string) bool { return false }) }

func (b *binder) errorf(a *signature.Arg, help, format string, args ...any) {
	d := b.spec.Errorf(a, format, args...)
	if help != "" {
		d.WithHelp("%s", help)
	}
	pos, _ := b.e.file.file.Pos(b.fn.Span())
	d.Notes = append(d.Notes, diag.Diagnostic{
		Severity: diag.Note, Pos: pos, Message: "the kernel is " + b.usage(), Line: diag.LineAt(b.e.file.Source(), pos.Line),
	})
	b.errs = append(b.errs, d)
}

// errSpecialized is Triton's text for a constant that shall not be specialized.
const errSpecialized = "%s marked as constexpr and listed in do_not_specialize/do_not_specialize_on_alignment. Remove constexpr designation to skip specialization."

// checkDecorator reports parameters that the decorator and the annotations do not
// agree on.
func (b *binder) checkDecorator() {
	for i, p := range b.params {
		if isConstexpr(p) && (listed(b.fn.Params.DoNotSpecialize, i, p.Name) || listed(b.fn.Params.DoNotSpecializeOnAlignment, i, p.Name)) {
			pos, end := b.e.file.file.Pos(p.Loc())
			d := diag.Errorf(pos, errSpecialized, p.Name).WithSource(b.e.file.Source())
			d.EndCol = end
			b.errs = append(b.errs, d)
		}
	}
}

func (b *binder) usage() string {
	names := make([]string, len(b.params))
	for i, p := range b.params {
		names[i] = p.Name
		if isConstexpr(p) {
			names[i] += ": constexpr"
		}
	}
	return b.fn.Name() + "(" + strings.Join(names, ", ") + ")"
}

func (b *binder) distribute() {
	b.checkDecorator()
	next := 0
	for i := range b.spec.Args {
		a := &b.spec.Args[i]
		if a.Name == "" {
			if next >= len(b.params) {
				b.errorf(a, "", "too many arguments: %s() has %s", b.fn.Name(), diag.Count(len(b.params), "parameter"))
				return
			}
			b.given[next] = a
			b.entries = append(b.entries, next)
			next++
			continue
		}
		at := -1
		names := make([]string, len(b.params))
		for k, p := range b.params {
			names[k] = p.Name
			if p.Name == a.Name {
				at = k
			}
		}
		switch {
		case at < 0:
			help := ""
			if near := diag.Closest(a.Name, names); near != "" {
				help = "did you mean '" + near + "'?"
			}
			b.errorf(a, help, "%s() has no parameter '%s'", b.fn.Name(), a.Name)
		case b.given[at] != nil:
			b.errorf(a, "", "'%s' is given twice", a.Name)
		default:
			b.given[at] = a
			b.entries = append(b.entries, at)
		}
	}
}

// end is the place of the signature's last entry.
func (b *binder) end() signature.Arg {
	at := signature.Arg{Start: b.spec.Text.Col, End: max(len(b.spec.Text.Full), b.spec.Text.Col+1)}
	if n := len(b.spec.Args); n > 0 {
		at.Start, at.End = b.spec.Args[n-1].Start, b.spec.Args[n-1].End
	}
	return at
}

// constantParam is a parameter of known value.
func constantParam(v any) codegen.Param {
	if c, ok := v.(*eval.Constexpr); ok {
		v = c.Value
	}
	return codegen.Param{Value: v}
}

// report reports the parameters that have no value, and will not have one.
func (b *binder) report(later func(name string) bool) {
	var lacking []string
	for i, p := range b.params {
		fail := b.noDefault[i]
		switch {
		case b.known[i] || later(p.Name):
		case fail != nil:
			b.errs = append(b.errs, fail.Diagnostic())
		default:
			lacking = append(lacking, p.Name)
		}
	}
	if len(lacking) == 0 {
		return
	}
	at := b.end()
	what := "an argument is missing: '"
	if len(lacking) > 1 {
		what = "arguments are missing: '"
	}
	info := b.e.info(b.fn)
	help := "a complete signature looks like: " + info.Signature()
	if b.tunedOnly(lacking) {
		help = "the kernel is autotuned: choose one of its configurations with --config, or give the values in the signature"
	} else if fail := skipped(b.fn, autotuneName); fail != nil {
		help = "the kernel is autotuned, but its configurations cannot be evaluated (" + fail.Msg + "); " + configsElsewhere
	} else if fail := skipped(b.fn, heuristicsName); fail != nil {
		help = "the kernel has heuristics, but they cannot be evaluated (" + fail.Msg + "); give the values in the signature"
	}
	b.errorf(&at, help, "%s%s'", what, strings.Join(lacking, "', '"))
}

// tunedOnly reports whether all that is lacking is what @triton.autotune tunes.
func (b *binder) tunedOnly(lacking []string) bool {
	a := b.fn.Params.Autotune()
	if a == nil || len(a.Configs) == 0 {
		return false
	}
	c, ok := a.Configs[0].(*lang.Config)
	if !ok {
		return false
	}
	for _, name := range lacking {
		if _, tuned := c.Kwargs.Get(name); !tuned {
			return false
		}
	}
	return true
}

// param is a parameter with its entry.
func (b *binder) param(p *syntax.Arg, a *signature.Arg) codegen.Param {
	constant := isConstexpr(p)
	switch {
	case a.Tuple:
		if constant {
			b.errorf(a, "", "'%s' is a constexpr and needs a value, not types", p.Name)
		}
		out := codegen.Param{Tuple: true}
		for i := range a.Elems {
			out.Elems = append(out.Elems, b.param(&syntax.Arg{Name: p.Name}, &a.Elems[i]))
		}
		return out
	case a.Type != "":
		if constant {
			b.errorf(a, "give a value, such as "+p.Name+"=1024", "'%s' is a constexpr and needs a value, not the type %s", p.Name, a.Type)
			return codegen.Param{}
		}
		if a.Hint == 1 {
			return codegen.Param{Value: int64(1)}
		}
		t := parseType(a.Type)
		if t == nil {
			b.errorf(a, "descriptors are written tensordesc<fp16[128, 64]>, with powers of two", "'%s' is not a type", a.Type)
			return codegen.Param{}
		}
		if d, ok := t.(*lang.DescType); ok && !b.checkDescriptor(a, d) {
			return codegen.Param{}
		}
		if ptr, ok := t.(*lang.Pointer); ok && b.constAnnotation(p) {
			ptr.Const = true
		}
		out := codegen.Param{Type: t}
		if a.Hint == 16 {
			out.Attrs = append(out.Attrs, codegen.Attr{Name: "tt.divisibility", Value: 16})
		}
		if a.Small { // 32 bits are enough for offsets in bytes
			out.Attrs = append(out.Attrs, codegen.Attr{Name: "tt.pointer_range", Value: 32})
		}
		return out
	}
	v, fail := evalIn(b.e.module, a.Expr)
	if fail != nil {
		help := fail.Help
		if n, ok := a.Expr.(*syntax.Name); ok && strings.Contains(fail.Msg, "is not defined") {
			names := append(strings.Fields(typeNames), b.e.file.file.Names()...)
			if near := diag.Closest(n.ID, names); near != "" {
				help = "did you mean '" + near + "'?"
			}
			b.errorf(a, help, "'%s' is not a type, a literal or a name in the file", n.ID)
			return codegen.Param{}
		}
		b.errorf(a, help, "%s", fail.Msg)
		return codegen.Param{}
	}
	return codegen.Param{Value: v}
}

// constAnnotation reports whether a parameter is annotated as a pointer to
// constants: tl.const, or a string that says so.
func (b *binder) constAnnotation(p *syntax.Arg) bool {
	switch a := p.Annotation.(type) {
	case *syntax.Attribute:
		return a.Attr == "const"
	case *syntax.Name:
		return a.ID == "const"
	case *syntax.Constant:
		s, _ := a.Value.(string)
		return strings.HasPrefix(s, "*k") || strings.HasPrefix(s, "const ")
	}
	return false
}

const typeNames = "i1 i8 i16 i32 i64 u1 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b8 fp8e5b16 fp8e4b15"

// parseType reads a type of a signature; nil for what is none.
func parseType(s string) lang.Type {
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		p := &lang.Pointer{}
		if k, isConst := strings.CutPrefix(rest, "k"); isConst && lang.DTypeNamed(k) != nil {
			p.Const, rest = true, k
		}
		elem := parseType(rest)
		if elem == nil {
			return nil
		}
		p.Elem = elem
		return p
	}
	if d := lang.DTypeNamed(s); d != nil {
		return d
	}
	if inner, ok := strings.CutPrefix(s, "tensordesc<"); ok {
		return parseDesc(strings.TrimSuffix(inner, ">"))
	}
	return nil
}

// Limits of the descriptors that a host makes.
const (
	maxDescriptorRank  = 5
	minDescriptorBytes = 16 // of a row of a block
)

// checkDescriptor refuses the type of a descriptor that no host can make.
func (b *binder) checkDescriptor(a *signature.Arg, d *lang.DescType) bool {
	rank := len(d.Block.Shape)
	size := int64(1)
	if elem, ok := d.Block.Elem.(*lang.DType); ok {
		size = int64(max(elem.Bits()/8, 1))
	}
	last := d.Block.Shape[rank-1]
	switch {
	case rank > maxDescriptorRank:
		b.errorf(a, "", "a descriptor has 1 to %d dimensions, not %d", maxDescriptorRank, rank)
	case last*size < minDescriptorBytes:
		b.errorf(a, fmt.Sprintf("make its last dimension %d or more", minDescriptorBytes/size),
			"rows of the descriptor's blocks have %s; a descriptor needs at least %d", diag.Count(last*size, "byte"), minDescriptorBytes)
	default:
		return true
	}
	return false
}

// parseDesc reads fp16[128, 64], the block of a descriptor.
func parseDesc(s string) lang.Type {
	elem, dims, ok := strings.Cut(s, "[")
	dims, ok2 := strings.CutSuffix(strings.TrimSpace(dims), "]")
	d := lang.DTypeNamed(strings.TrimSpace(elem))
	if !ok || !ok2 || d == nil {
		return nil
	}
	b := &lang.Block{Elem: d}
	for _, f := range strings.Split(dims, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
		if err != nil {
			return nil
		}
		b.Shape = append(b.Shape, n)
	}
	if eval.Try(func() { new(lang.Facts).CheckShape(b.Shape) }) != nil {
		return nil
	}
	return &lang.DescType{Block: b}
}

// describe fills in what is known of a variant now.
func (k *binding) describe(v *Variant) {
	v.Options, v.Config, v.Configs, v.settings = k.options, k.configNo, k.configs, k.settings
	v.Left, v.Tuning = nil, k.tuning
	if v.Chosen {
		v.Left = k.left
	}
	v.Constants = map[string]any{}
	for i := range k.params {
		if p := &k.params[i]; p.Type == nil && !p.Tuple {
			v.Constants[k.names[i]] = p.Value
		}
	}
	v.Args = nil
	for i := range k.params {
		v.Args = appendArguments(v.Args, k.names[i], &k.params[i], k.given[i])
	}
	v.key = k.key(v.spec)
}

// appendArguments appends what is known of a parameter; a is its entry of the
// signature, or nil.
func appendArguments(list []Argument, name string, p *codegen.Param, a *signature.Arg) []Argument {
	switch {
	case p.Tuple:
		for i := range p.Elems {
			list = appendArguments(list, fmt.Sprintf("%s[%d]", name, i), &p.Elems[i], &a.Elems[i])
		}
		return list
	case a != nil && a.Type != "": // a hint of 1 makes a constant of it
		return append(list, Argument{Name: name, Type: a.Type, Hint: a.Hint, Small: a.Small})
	}
	return append(list, Argument{Name: name, Constant: p.Value, Text: literal(p.Value)})
}

// key is a text of all that tells a variant from others of its file, or "".
func (k *binding) key(spec *signature.Spec) string {
	var b strings.Builder
	place := spec.Text
	place.File = filepath.Base(place.File) // machines that share kernels have it in other folders
	fmt.Fprintf(&b, "%q %+v\n", spec.Kernel, place)
	var entries func(args []signature.Arg)
	entries = func(args []signature.Arg) {
		fmt.Fprintln(&b, len(args))
		for i := range args {
			a := &args[i]
			fmt.Fprintf(&b, "%q %q %d %v %v %q\n", a.Name, a.Type, a.Hint, a.Small, a.Tuple, a.Source)
			entries(a.Elems)
		}
	}
	entries(spec.Args)
	for _, at := range k.added {
		text, ok := k.text(k.params[at].Value)
		if !ok {
			return ""
		}
		fmt.Fprintf(&b, "%q=%s\n", k.names[at], text)
	}
	return b.String()
}

// text writes a constant so that no other one has the same text, where there is
// such a text.
func (k *binding) text(v any) (string, bool) {
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64, string, *lang.DType, *lang.TorchDType:
		return eval.TypeName(v) + " " + eval.Repr(v), true
	case *eval.Tuple:
		parts := make([]string, len(v.Elems))
		for i, e := range v.Elems {
			text, ok := k.text(e)
			if !ok {
				return "", false
			}
			parts[i] = strconv.Quote(text)
		}
		return "(" + strings.Join(parts, ", ") + ")", v.Class == nil
	case *eval.Function:
		known, ok := k.module.Lookup(v.Name())
		fn, isFunction := known.(*eval.Function)
		return "function " + v.Name(), ok && isFunction && v.Equal(fn)
	}
	return "", false
}

// literal writes a value as the expression that gives it again.
func literal(v any) string {
	if d, ok := v.(*lang.DType); ok {
		return "tl.dtype('" + d.String() + "')"
	}
	return eval.Repr(v)
}
