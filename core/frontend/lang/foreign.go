package lang

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// foreign: code that is not of the language.
var foreign = []*Builtin{
	{Name: "inline_asm_elementwise", Params: "asm constraints args dtype is_pure pack", Fn: inlineAsm},
	{Name: "extern_elementwise", Params: "lib_name lib_path args arg_type_symbol_dict is_pure", Fn: externElementwise},
	{Name: "_operation", Params: "name operands indices=() attributes=None segments=() dtype=None shape=()", Fn: operation},
	{Name: "_num_warps", Params: "", Fn: func(e *Emitter, _ *Args) any { return int64(e.Opts.NumWarps) }},
	{Name: "_warp_size", Params: "", Fn: func(e *Emitter, _ *Args) any { return int64(e.Facts.WarpSize) }},
}

// together broadcasts tensors to their common shape.
func (e *Emitter) together(xs []*Tensor) {
	if len(xs) < 2 {
		return
	}
	common := xs[0]
	for _, x := range xs[1:] {
		_, common = e.Broadcast(x, common)
	}
	for i := range xs {
		if shape := common.Shape(); len(shape) > 0 {
			xs[i], _ = e.Broadcast(xs[i], common)
		}
	}
}

func runtimeOrNumber(v any) bool {
	_, ok := v.(Value)
	return ok || IsScalarNumber(v)
}

func inlineAsm(e *Emitter, a *Args) any {
	var xs []*Tensor
	if v := a.val(2); runtimeOrNumber(v) {
		eval.FailHelp("write [x]", "inline_asm_elementwise(): 'args' must be a list of tensors, not %s", TypeString(v))
	}
	for _, v := range a.list(2) {
		xs = append(xs, e.ToTensor(v))
	}
	types := a.list(3)
	_, several := a.val(3).(*eval.Tuple)
	e.together(xs)
	var shape []int64
	if len(xs) > 0 {
		shape = xs[0].Shape()
	}
	outs := make([]Type, len(types))
	irTypes := make([]ir.Type, len(types))
	for i, v := range types {
		t, ok := v.(Type)
		if !ok {
			eval.Fail("inline_asm_elementwise(): 'dtype' must be a dtype or a tuple of them, not %s", eval.Repr(v))
		}
		outs[i] = WithShape(ScalarOf(t), shape)
		irTypes[i] = outs[i].IR(e.C)
	}
	op := e.B.Create(tt.InlineAsm, ir.State{Operands: values(xs), Types: irTypes, Attrs: []ir.NamedAttr{
		{Name: "asm_string", Attr: e.C.StringAttr(a.str(0))},
		{Name: "constraints", Attr: e.C.StringAttr(a.str(1))},
		{Name: "packed_element", Attr: e.C.I32Attr(a.int(5))},
		{Name: "pure", Attr: e.C.BoolAttr(a.bool(4))},
	}})
	res := make([]*Tensor, len(outs))
	for i, t := range outs {
		res[i] = e.tensor(op.Result(i), t)
	}
	return results(res, !several)
}

// operation makes an operation of MLIR that the compiler knows, for the modules of
// backends: of operands, indices that are converted to the type index, and attributes. It
// has a result if there is a dtype.
func operation(e *Emitter, a *Args) any {
	def := e.C.OpDef(a.str(0))
	if def == nil {
		eval.Fail("the compiler has no operation %s", a.str(0))
	}
	s := ir.State{Types: []ir.Type{}}
	for _, v := range a.list(1) {
		s.Operands = append(s.Operands, e.ToTensor(v).V)
	}
	for _, x := range a.scalars(2, Int64) {
		s.Operands = append(s.Operands, arith.Cast(e.B, arith.IndexCast, x.V, e.C.Index()))
	}
	if d, ok := a.constant(3).(*eval.Dict); ok {
		for i, k := range d.Keys {
			s.Attrs = append(s.Attrs, ir.NamedAttr{Name: k.(string), Attr: e.attribute(d.Values[i])})
		}
	}
	for _, n := range a.ints(4) {
		s.Segments = append(s.Segments, int32(n))
	}
	t := a.dtype(5)
	if t == nil {
		e.B.Create(def, s)
		return nil
	}
	t = WithShape(ScalarOf(t), a.ints(6))
	s.Types = append(s.Types, t.IR(e.C))
	return e.tensor(e.B.Create(def, s).OneResult(), t)
}

// attribute is a Python value as an attribute; of numbers together an array of i64.
func (e *Emitter) attribute(v any) ir.Attribute {
	switch v := v.(type) {
	case bool:
		return e.C.BoolAttr(v)
	case string:
		return e.C.StringAttr(v)
	}
	if n, ok := eval.AsInt(v); ok {
		return e.C.I64Attr(n)
	}
	var list []int64
	for _, x := range eval.Iterate(v) {
		n, ok := eval.AsInt(x)
		if !ok {
			eval.Fail("%s is not an attribute", eval.Repr(x))
		}
		list = append(list, n)
	}
	return e.C.DenseArray(e.C.I64(), list...)
}

// externCall is one entry of a table of external functions.
type externCall struct {
	args                 *eval.Tuple // of types
	result               Type
	symbol, library, lib string
	pure                 bool
}

func externElementwise(e *Emitter, a *Args) any {
	var xs []*Tensor
	for _, v := range a.list(2) {
		xs = append(xs, e.ToTensor(v))
	}
	table, ok := a.val(3).(*eval.Dict)
	if !ok {
		eval.Fail("extern_elementwise(): 'arg_type_symbol_dict' must be a dict")
	}
	var calls []externCall
	for i, k := range table.Keys {
		c := externCall{library: a.str(0), lib: a.str(1), pure: a.bool(4)}
		sym, ok := table.Values[i].(*eval.Tuple)
		if c.args, _ = k.(*eval.Tuple); c.args == nil || !ok || len(sym.Elems) != 2 {
			eval.Fail("extern_elementwise(): each entry must be (types…): (symbol, return type)")
		}
		c.symbol, ok = sym.Elems[0].(string)
		if c.result, _ = sym.Elems[1].(Type); !ok || c.result == nil {
			eval.Fail("extern_elementwise(): each entry must be (types…): (symbol, return type)")
		}
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		eval.Fail(errExternEmpty)
	}
	return e.extern(xs, calls)
}

// extern calls the entry of the arguments' types, none of which is converted;
// shapes are broadcast.
func (e *Emitter) extern(xs []*Tensor, calls []externCall) *Tensor {
	if len(xs) == 0 {
		eval.Fail("an external function needs arguments")
	}
	at := slices.IndexFunc(calls, func(c externCall) bool { return eval.Equal(c.args, typeTuple(xs)) })
	if at < 0 {
		if !slices.ContainsFunc(calls, func(c externCall) bool { return len(c.args.Elems) == len(xs) }) {
			eval.Fail(errExternCount, len(calls[0].args.Elems), len(xs))
		}
		keys := make([]string, len(calls))
		for i := range calls {
			keys[i] = eval.Repr(calls[i].args)
		}
		eval.FailHelp("convert the arguments with .to(…)", errExternTypes, "{"+strings.Join(keys, ", ")+"}", eval.Repr(typeTuple(xs)))
	}
	c := &calls[at]
	e.together(xs)
	t := WithShape(ScalarOf(c.result), xs[0].Shape())
	op := e.B.Create(tt.ExternElementwise, ir.State{Operands: values(xs), Types: []ir.Type{t.IR(e.C)}, Attrs: []ir.NamedAttr{
		{Name: "libname", Attr: e.C.StringAttr(c.library)},
		{Name: "libpath", Attr: e.C.StringAttr(c.lib)},
		{Name: "pure", Attr: e.C.BoolAttr(c.pure)},
		{Name: "symbol", Attr: e.C.StringAttr(c.symbol)},
	}})
	return e.tensor(op.OneResult(), t)
}

func typeTuple(xs []*Tensor) *eval.Tuple {
	t := &eval.Tuple{}
	for _, x := range xs {
		t.Elems = append(t.Elems, x.Scalar())
	}
	return t
}

// ExternFn is a function of a device library with its overloads.
type ExternFn struct {
	Name      string
	overloads []*Extern
}

func (f *ExternFn) TypeName() string { return "function" }

// Call emits the call where code is being emitted.
func (f *ExternFn) Call(s *eval.Session, args []any, _ []eval.Keyword) any {
	e, ok := s.Host.(*Emitter)
	if !ok {
		eval.Fail(errBuiltinOutside)
	}
	return e.CallExtern(f, args)
}

// CallExtern calls a function of a device library.
func (e *Emitter) CallExtern(f *ExternFn, args []any) any {
	xs := make([]*Tensor, len(args))
	for i, v := range args {
		xs[i] = e.ToTensor(v)
	}
	calls := make([]externCall, len(f.overloads))
	truth := false
	for i, o := range f.overloads {
		c := externCall{args: &eval.Tuple{}, symbol: o.Symbol, library: o.Library, pure: o.Pure, result: DTypeNamed(o.Result)}
		for _, n := range o.Args {
			c.args.Elems = append(c.args.Elems, DTypeNamed(n))
		}
		if c.result == Type(Int1) {
			c.result, truth = Int32, true
		}
		calls[i] = c
	}
	r := e.extern(xs, calls)
	if truth {
		return e.Cast(r, Int1)
	}
	return r
}
