package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// Kernels print into a buffer that AMD's runtime hands to those whose metadata list
// formats, and prints when they have ended, as it does OpenCL's printf. The buffer begins
// with two i32: how many bytes of records there are, which kernels add to, and how many
// have room. A record is the number of its format and the arguments, each of 4 or 8 bytes.
const (
	// printBufferAt is the offset of the buffer's address, hidden_printf_buffer, in the
	// hidden arguments of version 5 of the code object.
	printBufferAt = 72
	printHeader   = 8
	// printFormats is the metadata of LLVM that lists formats, each with its number and
	// the sizes of its arguments.
	printFormats = "llvm.printf.fmts"
)

// Print appends a record to the buffer.
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
	record(b, format.String(), args)
	return nil
}

// printed is the conversion of a value in a format, and the value in 4 or 8 bytes.
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
		to, long = llir.I64, "l"
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

// record writes a record, if there is room for it.
func record(b *llir.Builder, format string, args []llir.Value) {
	bytes, sizes := 4, ""
	for _, a := range args {
		n := llir.Width(a.Type()) / 8
		bytes += n
		sizes += strconv.Itoa(n) + ":"
	}
	// The runtime reads these as C does; a colon ends a field.
	rest := strconv.Itoa(len(args)) + ":" + sizes + strings.NewReplacer("\n", `\n`, "\t", `\t`, ":", `\72`).Replace(format)
	number := b.M.AddText(printFormats, rest, func(n int) string { return strconv.Itoa(n) + ":" + rest })

	hidden := b.Call(b.M.Declare("llvm.amdgcn.implicitarg.ptr", llir.Pure, llir.PtrIn(constantSpace)))
	buffer := b.Load(llir.PtrIn(globalSpace), b.PtrAdd(hidden, printBufferAt), 8, false)
	room := b.Load(llir.I32, b.PtrAdd(buffer, 4), 4, false)
	before := b.Block()
	claim := b.F.NewBlock(before)
	try := b.F.NewBlock(claim)
	write := b.F.NewBlock(try)
	done := b.F.NewBlock(before)
	b.Br(claim)

	b.SetBlock(claim)
	used := b.Phi(llir.I32)
	llir.AddIncoming(used, b.M.I32(0), before)
	end := b.Add(used, b.M.I32(bytes))
	b.CondBr(b.ICmp(enum.IPredULE, b.Add(end, b.M.I32(printHeader)), room), try, done)

	b.SetBlock(try)
	seen := b.CmpXchg(buffer, used, end, enum.AtomicOrderingMonotonic, enum.AtomicOrderingMonotonic, agent)
	llir.AddIncoming(used, b.ExtractValue(seen, 0), try)
	b.CondBr(b.ExtractValue(seen, 1), write, claim)

	b.SetBlock(write)
	p := b.GEP(llir.I8, buffer, b.Resize(used, llir.I64, false))
	b.Store(b.M.I32(number), b.PtrAdd(p, printHeader), 4, false)
	at := int64(printHeader + 4)
	for _, a := range args {
		b.Store(a, b.PtrAdd(p, at), 4, false)
		at += int64(llir.Width(a.Type()) / 8)
	}
	b.Br(done)
	b.SetBlock(done)
}

// Assert prints what C's assert does and traps, in a branch.
func (t *Target) Assert(b *llir.Builder, cond llir.Value, a lower.Assertion) {
	before := b.Block()
	fail, next := b.F.NewBlock(before), b.F.NewBlock(before)
	b.CondBr(cond, next, fail)
	b.SetBlock(fail)
	text := fmt.Sprintf("%s:%d: %s: Assertion `%s' failed.\n", a.File, a.Line, a.Function, a.Message)
	record(b, strings.ReplaceAll(text, "%", "%%"), nil)
	b.Call(b.M.Declare("llvm.trap", llir.HasEffects, llir.Void))
	b.Br(next)
	b.SetBlock(next)
}
