package lang

import (
	"strings"

	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/ir"
)

// misc: hints to the compiler, checks, output.
var misc = []*Builtin{
	{Name: "multiple_of", Params: "input values", Fn: hint("tt.divisibility")},
	{Name: "max_contiguous", Params: "input values", Fn: hint("tt.contiguity")},
	{Name: "max_constancy", Params: "input values", Fn: hint("tt.constancy")},
	{Name: "assume", Params: "cond", Fn: func(e *Emitter, a *Args) any {
		cond := e.Cast(a.tensor(0), Int1)
		if cond.IsBlock() {
			eval.Fail("assume() needs a scalar condition, not %s", cond.T)
		}
		e.B.Op(llvm.Assume, []*ir.Value{cond.V})
		return nil
	}},
	{Name: "debug_barrier", Params: "", Fn: func(e *Emitter, _ *Args) any {
		e.B.Op(gpu.Barrier, nil)
		return nil
	}},
	{Name: "device_assert", Params: "cond msg='' mask=None", Fn: deviceAssert},
	{Name: "device_print", Params: "prefix *args hex=False", Fn: devicePrint},
	{Name: "static_assert", Params: "cond msg=''", Fn: staticAssert},
	{Name: "static_print", Params: "*values sep=None end=None file=None flush=False", Fn: staticPrint},
}

// hint puts a list of integers on the operation that defines a value.
func hint(attr string) func(*Emitter, *Args) any {
	return func(e *Emitter, a *Args) any {
		x, ok := a.val(0).(*Tensor)
		if !ok {
			eval.FailHelp("a constant needs no hint", "%s() needs a tensor, not %s", a.b.Name, TypeString(a.val(0)))
		}
		vals := a.ints(1)
		want := max(len(x.Shape()), 1)
		if len(vals) != want {
			eval.Fail("Shape of input to %s does not match the length of values", a.b.Name)
		}
		bits := make([]uint64, len(vals))
		for i, v := range vals {
			bits[i] = uint64(uint32(v))
		}
		t := e.C.Tensor([]int64{int64(len(vals))}, e.C.I32(), nil)
		e.Hint(x.V, ir.NamedAttr{Name: attr, Attr: e.C.DenseElements(t, bits)})
		return x
	}
}

// Hint puts a hint on the operation that defines a value, or keeps it for the
// loop whose argument the value is.
func (e *Emitter) Hint(v *ir.Value, hint ir.NamedAttr) {
	if op := v.Def(); op != nil {
		op.SetAttr(hint.Name, hint.Attr)
		return
	}
	e.ArgHints = append(e.ArgHints, ArgHint{v, hint})
}

// assert emits a device-side assertion.
func (e *Emitter) assert(cond *Tensor, msg string) {
	e.B.Create(tt.Assert, ir.State{
		Operands: []*ir.Value{cond.V},
		Attrs:    []ir.NamedAttr{{Name: "message", Attr: e.C.StringAttr(msg)}},
	})
}

// DeviceAssert is the assert statement and tl.device_assert; nothing without
// the debug option.
func (e *Emitter) DeviceAssert(cond any, msg string, mask *Tensor) {
	if !e.Opts.Debug {
		return
	}
	c := e.Cast(e.ToTensor(cond), Int1)
	if mask != nil {
		c = e.Logical(1, c, e.Not(mask)) // or
	}
	e.assert(c, msg)
}

func deviceAssert(e *Emitter, a *Args) any {
	e.DeviceAssert(a.val(0), a.str(1), a.optTensor(2))
	return nil
}

func staticAssert(_ *Emitter, a *Args) any {
	holds, ok := a.val(0).(bool)
	if !ok {
		eval.FailHelp("it must be True or False: write a comparison", errStaticAssert)
	}
	if !holds {
		msg := eval.Str(a.val(1))
		if msg == "" {
			msg = "static assertion failed"
		}
		eval.Fail("%s", msg)
	}
	return nil
}

func staticPrint(e *Emitter, a *Args) any {
	var kw []eval.Keyword
	for i, name := range []string{"sep", "end"} {
		if a.vals[i+1] != nil {
			kw = append(kw, eval.Keyword{Name: name, Value: a.str(i + 1)})
		}
	}
	e.Session.PrintValues(a.list(0), kw)
	return nil
}

func devicePrint(e *Emitter, a *Args) any {
	prefix, ok := a.constant(0).(string)
	if !ok || strings.Trim(prefix, printable) != "" {
		eval.Fail(errPrintPrefix, eval.Repr(a.val(0)))
	}
	var args []*Tensor
	for _, v := range a.list(1) {
		args = append(args, e.ToTensor(v))
	}
	e.Print(prefix, args, a.bool(2))
	return nil
}

const printable = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\t\n\r\v\f"

// Print emits tt.print. Before values the prefix ends in ": ", and one longer
// than that begins with a space, to read well after "pid (x, y, z)".
func (e *Emitter) Print(prefix string, args []*Tensor, hex bool) {
	if !strings.HasSuffix(prefix, " ") && len(args) > 0 {
		prefix += " "
	}
	if !strings.HasSuffix(prefix, ": ") && len(args) > 0 {
		prefix = strings.TrimSuffix(prefix, " ") + ": "
	}
	if len(prefix) > 2 && !strings.HasPrefix(prefix, " ") {
		prefix = " " + prefix
	}
	vals := make([]*ir.Value, len(args))
	signed := make([]int64, len(args))
	for i, x := range args {
		vals[i] = x.V
		if d := dtypeOf(x.T); d != nil && d.IsSigned() {
			signed[i] = 1
		}
	}
	e.B.Create(tt.Print, ir.State{Operands: vals, Attrs: []ir.NamedAttr{
		{Name: "hex", Attr: e.C.BoolAttr(hex)},
		{Name: "isSigned", Attr: e.C.I32Array(signed...)},
		{Name: "prefix", Attr: e.C.StringAttr(prefix)},
	}})
}
