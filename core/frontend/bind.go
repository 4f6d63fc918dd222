package frontend

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/codegen"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// bind distributes a signature's entries over the parameters of a kernel. All
// mistakes are reported.
func (f *File) bind(m *eval.Module, fn *eval.Function, spec *signature.Spec) ([]codegen.Param, error) {
	b := &binder{f: f, m: m, fn: fn, spec: spec, params: fn.ParamList()}
	b.given = make([]*signature.Arg, len(b.params))
	b.checkDecorator()
	b.distribute()
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	out := make([]codegen.Param, len(b.params))
	for i, p := range b.params {
		if a := b.given[i]; a != nil {
			out[i] = b.param(p, a)
		} else if fail := eval.Try(func() { out[i] = b.absent(i, p) }); fail != nil {
			b.errs = append(b.errs, fail.Diagnostic())
		}
	}
	b.missing()
	b.heuristics(out)
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return out, nil
}

type binder struct {
	f       *File
	m       *eval.Module
	fn      *eval.Function
	spec    *signature.Spec
	params  []*syntax.Arg
	given   []*signature.Arg
	lacking []string
	// computed are the parameters left to @triton.heuristics.
	computed []heuristic
	errs     diag.List
}

// tunedOnly reports whether all that is lacking is what @triton.autotune tunes.
func (b *binder) tunedOnly() bool {
	a := b.fn.Params.Autotune
	if a == nil || len(a.Configs) == 0 {
		return false
	}
	c, ok := a.Configs[0].(*lang.Config)
	if !ok {
		return false
	}
	for _, name := range b.lacking {
		if _, tuned := c.Kwargs.Get(name); !tuned {
			return false
		}
	}
	return true
}

func (b *binder) errorf(a *signature.Arg, help, format string, args ...any) {
	d := b.spec.Errorf(a, format, args...)
	if help != "" {
		d.WithHelp("%s", help)
	}
	pos, _ := b.f.file.Pos(b.fn.Span())
	d.Notes = append(d.Notes, diag.Diagnostic{
		Severity: diag.Note, Pos: pos, Message: "the kernel is " + b.usage(), Line: diag.LineAt(b.f.Source(), pos.Line),
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
			pos, end := b.f.file.Pos(p.Loc())
			d := diag.Errorf(pos, errSpecialized, p.Name).WithSource(b.f.Source())
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
	next := 0
	for i := range b.spec.Args {
		a := &b.spec.Args[i]
		if a.Name == "" {
			if next >= len(b.params) {
				b.errorf(a, "", "too many arguments: %s() has %d parameters", b.fn.Name(), len(b.params))
				return
			}
			b.given[next] = a
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
		}
	}
}

// absent is a parameter that the signature leaves out: it has its default, or
// the type that its annotation names.
func (b *binder) absent(i int, p *syntax.Arg) codegen.Param {
	a := b.fn.Args()
	if pos := len(a.PosOnly) + len(a.Args); i < pos {
		if v, ok := b.fn.Default(i); ok {
			return b.constantParam(v)
		}
	} else if k := i - pos; a.Vararg == nil && k < len(a.KwOnly) {
		if v, ok := b.fn.KwDefault(k); ok {
			return b.constantParam(v)
		}
	}
	if h := b.fn.Params.Heuristics; h != nil {
		if f, ok := h.Get(p.Name); ok {
			b.computed = append(b.computed, heuristic{i, f})
			return codegen.Param{}
		}
	}
	b.lacking = append(b.lacking, p.Name)
	return codegen.Param{}
}

// heuristic is a parameter that @triton.heuristics computes from the others.
type heuristic struct {
	param int
	fn    any
}

// heuristics computes the parameters that the signature leaves to
// @triton.heuristics, in the order of the decorator.
func (b *binder) heuristics(out []codegen.Param) {
	if len(b.computed) == 0 {
		return
	}
	args := &eval.Dict{}
	for i, p := range b.params {
		switch {
		case out[i].Type != nil || out[i].Tuple:
			args.Set(p.Name, &eval.Missing{Name: p.Name, Reason: "its value is known at launch only"})
		case !b.isComputed(i):
			args.Set(p.Name, out[i].Value)
		}
	}
	order := b.fn.Params.Heuristics
	for _, name := range order.Keys {
		for _, h := range b.computed {
			if b.params[h.param].Name != eval.Str(name) {
				continue
			}
			var v any
			fail := eval.Try(func() { v = b.m.Session.Apply(h.fn, []any{args}, nil) })
			if m, ok := v.(*eval.Missing); ok && fail == nil {
				fail = eval.Try(m.Fail)
			}
			if fail != nil {
				at := b.end()
				b.errorf(&at, "give "+eval.Str(name)+"=… in the signature", "'%s' is computed by @triton.heuristics: %s", eval.Str(name), fail.Msg)
				continue
			}
			out[h.param] = b.constantParam(v)
			args.Set(name, out[h.param].Value)
		}
	}
}

func (b *binder) isComputed(i int) bool {
	for _, h := range b.computed {
		if h.param == i {
			return true
		}
	}
	return false
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
func (b *binder) constantParam(v any) codegen.Param {
	if c, ok := v.(*eval.Constexpr); ok {
		v = c.Value
	}
	return codegen.Param{Value: v}
}

// missing reports the parameters that nothing was said of.
func (b *binder) missing() {
	if len(b.lacking) == 0 {
		return
	}
	at := b.end()
	what := "an argument is missing: '"
	if len(b.lacking) > 1 {
		what = "arguments are missing: '"
	}
	info := b.f.info(b.fn)
	help := "a complete signature looks like: " + info.Signature()
	if b.tunedOnly() {
		help = "the kernel is autotuned: choose one of its configurations with --config, or give the values in the signature"
	} else if fail := skipped(b.fn, "autotune"); fail != nil {
		help = "the kernel is autotuned, but its configurations cannot be evaluated (" + fail.Msg + "); " + configsElsewhere
	} else if fail := skipped(b.fn, "heuristics"); fail != nil {
		help = "the kernel has heuristics, but they cannot be evaluated (" + fail.Msg + "); give the values in the signature"
	}
	b.errorf(&at, help, "%s%s'", what, strings.Join(b.lacking, "', '"))
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
			b.errorf(a, "descriptors are written tensordesc<fp16[128, 64]>, with powers of two", "'%s' is no type", a.Type)
			return codegen.Param{}
		}
		if ptr, ok := t.(*lang.Pointer); ok && b.constAnnotation(p) {
			ptr.Const = true
		}
		out := codegen.Param{Type: t}
		if a.Hint == 16 {
			out.Attrs = []codegen.Attr{{Name: "tt.divisibility", Value: 16}}
		}
		return out
	}
	v, fail := evalIn(b.m, a.Expr)
	if fail != nil {
		help := fail.Help
		if n, ok := a.Expr.(*syntax.Name); ok && strings.Contains(fail.Msg, "is not defined") {
			names := append(strings.Fields(typeNames), b.f.file.Names()...)
			if near := diag.Closest(n.ID, names); near != "" {
				help = "did you mean '" + near + "'?"
			}
			b.errorf(a, help, "'%s' is no type, no literal, and no name of the file", n.ID)
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
	if eval.Try(func() { lang.CheckShape(b.Shape) }) != nil {
		return nil
	}
	return &lang.DescType{Block: b}
}
