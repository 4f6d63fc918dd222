package gpu

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// elem is an element type in a row of the table of instructions.
type elem struct {
	is   func(ir.Type) bool
	name string // PTX's
	bits int
}

func float(k ir.FloatKind, name string, bits int) elem {
	return elem{func(t ir.Type) bool { f, ok := t.(*ir.FloatType); return ok && f.Kind == k }, name, bits}
}

func integer(width int, name string) elem {
	return elem{func(t ir.Type) bool { return ir.IsInt(t, width) }, name, width}
}

var (
	elemF16  = float(ir.F16, "f16", 16)
	elemBF16 = float(ir.BF16, "bf16", 16)
	elemTF32 = float(ir.F32, "tf32", 32) // of an f32 the upper 19 bits are read
	elemF32  = float(ir.F32, "f32", 32)
	elemF64  = float(ir.F64, "f64", 64)
	elemE4M3 = float(ir.F8E4M3FN, "e4m3", 8)
	elemE5M2 = float(ir.F8E5M2, "e5m2", 8)
	elemS8   = integer(8, "s8")
	elemS32  = integer(32, "s32")
)

// mma is one form of mma.sync.aligned.m<M>n8k<K>.row.col.
type mma struct {
	a, b, c elem
	m, k    int
	cc      int    // the first compute capability that has it
	suffix  string // after row.col
}

// The forms, of equal ones the best first.
var mmas = []mma{
	{elemF16, elemF16, elemF32, 16, 16, 80, ""},
	{elemF16, elemF16, elemF16, 16, 16, 80, ""},
	{elemBF16, elemBF16, elemF32, 16, 16, 80, ""},
	{elemTF32, elemTF32, elemF32, 16, 8, 80, ""},
	{elemS8, elemS8, elemS32, 16, 32, 80, ".satfinite"},
	{elemF64, elemF64, elemF64, 16, 16, 90, ""},
	{elemF64, elemF64, elemF64, 8, 4, 80, ""},
	{elemE4M3, elemE4M3, elemF32, 16, 32, 89, ""},
	{elemE4M3, elemE5M2, elemF32, 16, 32, 89, ""},
	{elemE5M2, elemE4M3, elemF32, 16, 32, 89, ""},
	{elemE5M2, elemE5M2, elemF32, 16, 32, 89, ""},
}

// MatrixInstrs are forms of mma.sync.
func (t *Target) MatrixInstrs(p lower.Product) ([]*lower.MatrixInstr, error) {
	if r, ok := p.Result.(*layout.NvidiaMMA); !ok || r.VersionMajor != 2 {
		return nil, fmt.Errorf("the result's layout is not that of a matrix instruction of compute capability %d.%d", t.CC/10, t.CC%10)
	}
	var ins []*lower.MatrixInstr
	least := 0
	for i := range mmas {
		f := &mmas[i]
		if !f.a.is(p.A) || !f.b.is(p.B) || !f.c.is(p.C) {
			continue
		}
		if f.a.name == "tf32" && p.Precision != tt.PrecisionTF32 {
			return nil, fmt.Errorf("matrix instructions multiply f32 as tf32 only, but the dot asks for another input precision")
		}
		if f.cc <= t.CC {
			ins = append(ins, f.instr())
		} else {
			least = f.cc
		}
	}
	switch {
	case len(ins) > 0:
		return ins, nil
	case least > 0:
		return nil, fmt.Errorf("a dot of %s and %s into %s needs compute capability %d.%d, the target has %d.%d",
			elemName(p.A), elemName(p.B), elemName(p.C), least/10, least%10, t.CC/10, t.CC%10)
	}
	return nil, fmt.Errorf("no matrix instruction multiplies %s by %s into %s", elemName(p.A), elemName(p.B), elemName(p.C))
}

// elemName is an element type as the IR writes it.
func elemName(t ir.Type) string {
	switch t := t.(type) {
	case *ir.FloatType:
		return t.Kind.String()
	case *ir.IntegerType:
		return "i" + strconv.Itoa(t.Width)
	}
	return "a pointer"
}

// instr describes the fragments. With e elements in a register, the lanes' two
// lower bits move along k by e elements, the three upper ones along m (of A and
// C) or n (of B); the registers of A move by eight rows first, then along k.
func (f *mma) instr() *lower.MatrixInstr {
	const n = 8
	e := max(1, 32/f.a.bits)
	var ra, rb, rc, la, lb, lc layout.Bases
	add := func(to *layout.Bases, row, col int) { *to = append(*to, []int32{int32(row), int32(col)}) }
	for i := 1; i < e; i *= 2 {
		add(&ra, 0, i)
		add(&rb, i, 0)
	}
	for i := 1; i < 4; i *= 2 {
		add(&la, 0, e*i)
		add(&lb, e*i, 0)
		add(&lc, 0, 2*i)
	}
	for i := 1; i < 8; i *= 2 {
		add(&la, i, 0)
		add(&lb, 0, i)
		add(&lc, i, 0)
	}
	add(&rc, 0, 1)
	if f.m == 16 {
		add(&ra, 8, 0)
		add(&rc, 8, 0)
	}
	for i := 4 * e; i < f.k; i *= 2 {
		add(&ra, 0, i)
		add(&rb, i, 0)
	}
	tile := func(rows, cols int, reg, lane layout.Bases) layout.Layout {
		outs := []layout.Axis{
			{Dim: layout.TensorDim(0), Bits: bits.Len(uint(rows - 1))},
			{Dim: layout.TensorDim(1), Bits: bits.Len(uint(cols - 1))},
		}
		return layout.New(outs, layout.Input{Dim: layout.Register, Bases: reg}, layout.Input{Dim: layout.Lane, Bases: lane})
	}
	in := &lower.MatrixInstr{
		A: tile(f.m, f.k, ra, la), B: tile(f.k, n, rb, lb), C: tile(f.m, n, rc, lc),
		// It pays where an instruction does little for its operands: with 32-bit
		// elements an H200 is 3 % faster, with 16 bits up to 2 % slower.
		Snake: f.a.bits >= 32,
	}
	words := func(l layout.Layout, e elem) int { return l.Registers() * min(e.bits, 32) / 32 }
	text, constraints := f.assembly(words(in.A, f.a), words(in.B, f.b), words(in.C, f.c))
	in.Emit = func(b *llir.Builder, x, y, c []llir.Value) []llir.Value {
		args := packed(b, nil, x)
		args = packed(b, args, y)
		first := len(args)
		if f.c.name == "f32" {
			args = append(args, c...)
		} else {
			args = packed(b, args, c)
		}
		fields := make([]llir.Type, len(args)-first)
		for i := range fields {
			fields[i] = args[first].Type()
		}
		ret := b.M.Struct(fields...)
		v := b.Asm(text, constraints, true, ret, args...)
		out := make([]llir.Value, len(fields))
		for i := range out {
			out[i] = b.ExtractValue(v, i)
		}
		return elements(b, out, c[0].Type(), len(c))
	}
	return in
}

// assembly is the text and the constraints of the form with so many registers of
// each operand: results, A, B, and C in the registers of the results.
func (f *mma) assembly(a, b, c int) (text, constraints string) {
	var s assembly
	list := func(n int, class func(i int) string) {
		first := s.next
		for i := range n {
			s.constrain(class(i))
		}
		s.list(first, n, true)
	}
	always := func(letter string) func(int) string { return func(int) string { return letter } }
	s.str(fmt.Sprintf("mma.sync.aligned.m%dn8k%d.row.col%s.%s.%s.%s.%s ", f.m, f.k, f.suffix, f.c.name, f.a.name, f.b.name, f.c.name))
	list(c, always("="+f.c.letter()))
	s.str(", ")
	list(a, always(f.a.letter()))
	s.str(", ")
	list(b, always(f.b.letter()))
	s.str(", ")
	list(c, strconv.Itoa)
	s.str(";")
	return string(s.text), string(s.constraints)
}

// float8 reports whether the element is an 8-bit float.
func (e elem) float8() bool { return e.bits == 8 && e.name != elemS8.name }

// letter is the class of the registers that hold the element.
func (e elem) letter() string {
	switch e.name {
	case "f64":
		return "d"
	case "f32":
		return "f"
	}
	return "r"
}

// packed appends elements, packed into registers of 32 bits; of f64, each is a
// register.
func packed(b *llir.Builder, regs, vals []llir.Value) []llir.Value {
	width := llir.Width(vals[0].Type())
	if width > 32 {
		return append(regs, vals...)
	}
	for per := 32 / width; len(vals) > 0; vals = vals[per:] {
		v := vals[0]
		if per > 1 {
			v = b.Vector(vals[:per]...)
		}
		regs = append(regs, b.BitCast(v, llir.I32))
	}
	return regs
}

// elements unpacks n elements of a type from registers.
func elements(b *llir.Builder, regs []llir.Value, t llir.Type, n int) []llir.Value {
	out := make([]llir.Value, 0, n)
	per := max(1, 32/llir.Width(t))
	for _, v := range regs {
		if per == 1 {
			out = append(out, b.BitCast(v, t))
			continue
		}
		v = b.BitCast(v, b.M.Vec(per, t))
		for i := range per {
			out = append(out, b.ExtractElement(v, i))
		}
	}
	return out
}
