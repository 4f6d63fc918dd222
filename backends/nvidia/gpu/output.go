package gpu

import (
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// stringAddress puts a text into constant data and gives its generic address.
func stringAddress(b *llir.Builder, text string) llir.Value {
	text += "\x00"
	name := "text." + strconv.Itoa(len(b.M.IR.Globals))
	addr := b.M.AddGlobal(name, b.M.Array(len(text), llir.I8), 1, 1, b.M.StringConst(text))
	return b.Cast(llir.AddrSpaceCast, addr, llir.PtrIn(0), 0)
}

// Print calls vprintf with the values in a buffer on the stack.
func (t *Target) Print(b *llir.Builder, parts []lower.PrintPart) error {
	var format strings.Builder
	var args []llir.Value
	for _, p := range parts {
		if p.Value == nil {
			format.WriteString(strings.ReplaceAll(p.Text, "%", "%%"))
			continue
		}
		spec, v := printed(b, p)
		format.WriteString(spec)
		args = append(args, v)
	}
	buffer := b.M.Zero(llir.PtrIn(0))
	if len(args) > 0 {
		fields := make([]llir.Type, len(args))
		for i, a := range args {
			fields[i] = a.Type()
		}
		buffer = b.Alloca(b.M.Struct(fields...), 8)
		off := int64(0)
		for _, a := range args {
			size := int64(bitsOf(a.Type()) / 8)
			off = (off + size - 1) / size * size
			b.Store(a, b.PtrAdd(buffer, off), 0, false)
			off += size
		}
	}
	vprintf := b.M.Declare("vprintf", llir.HasEffects, llir.I32, llir.PtrIn(0), llir.PtrIn(0))
	b.Call(vprintf, stringAddress(b, format.String()), buffer)
	return nil
}

// printed is the conversion of a value and the value as C's variadic functions
// take it.
func printed(b *llir.Builder, p lower.PrintPart) (string, llir.Value) {
	width := ""
	if p.Width > 0 {
		width = strconv.Itoa(p.Width)
	}
	v, t := p.Value, p.Value.Type()
	switch {
	case llir.IsPtr(t):
		return "%p", b.Cast(llir.PtrToInt, v, llir.I64, 0)
	case llir.IsFloat(t):
		if t != llir.F64 {
			v = b.Cast(llir.FPExt, v, llir.F64, 0)
		}
		return "%f", v
	}
	bits := llir.Width(t)
	to, long := llir.I32, ""
	if bits > 32 {
		to, long = llir.I64, "ll"
	}
	v = b.Resize(v, to, p.Signed)
	switch {
	case p.Hex:
		return "0x%0" + strconv.Itoa((bits+3)/4) + long + "x", v
	case p.Signed:
		return "%" + width + long + "i", v
	}
	return "%" + width + long + "u", v
}

// Assert calls __assertfail, which ends the kernel, in a branch.
func (t *Target) Assert(b *llir.Builder, cond llir.Value, a lower.Assertion) {
	before := b.Block()
	fail, next := b.F.NewBlock(before), b.F.NewBlock(before)
	b.CondBr(cond, next, fail)
	b.SetBlock(fail)
	p := llir.PtrIn(0)
	f := b.M.Declare("__assertfail", llir.HasEffects, llir.Void, p, p, llir.I32, p, llir.I64)
	b.Call(f, stringAddress(b, a.Message), stringAddress(b, a.File), b.M.I32(a.Line), stringAddress(b, a.Function), b.M.I64(1))
	// __assertfail does not return; the branch keeps the flow structured.
	b.Br(next)
	b.SetBlock(next)
}
