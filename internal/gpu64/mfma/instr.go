package mfma

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// lanes is the size of a warp.
const lanes = 64

// elem is a type of elements in the table of instructions, by the names of AMD.
type elem int

const (
	f16  elem = iota
	bf16      // passed as i16
	f32
	f64
	i8 // eight of them passed as i64
	i32
	fp8 // f8E4M3FNUZ, passed as i8 is
	bf8 // f8E5M2FNUZ, passed as i8 is
)

func (e elem) is(t ir.Type) bool {
	f, ok := t.(*ir.FloatType)
	switch {
	case e == i8:
		return ir.IsInt(t, 8)
	case e == i32:
		return ir.IsInt(t, 32)
	case !ok:
		return false
	}
	return f.Kind == map[elem]ir.FloatKind{f16: ir.F16, bf16: ir.BF16, f32: ir.F32, f64: ir.F64, fp8: ir.F8E4M3FNUZ, bf8: ir.F8E5M2FNUZ}[e]
}

// form is one instruction: side×k times k×side.
type form struct {
	intrinsic string // after llvm.amdgcn.mfma.
	a, b, c   elem
	side, k   int
}

// perLane is how many elements along K each lane holds of an operand.
func (f *form) perLane() int { return f.k * f.side / lanes }

// The instructions of gfx942, of those for the same types the larger first.
var forms = []form{
	{"f32.32x32x8f16", f16, f16, f32, 32, 8},
	{"f32.16x16x16f16", f16, f16, f32, 16, 16},
	{"f32.32x32x8bf16.1k", bf16, bf16, f32, 32, 8},
	{"f32.16x16x16bf16.1k", bf16, bf16, f32, 16, 16},
	{"f32.32x32x2f32", f32, f32, f32, 32, 2},
	{"f32.16x16x4f32", f32, f32, f32, 16, 4},
	{"f64.16x16x4f64", f64, f64, f64, 16, 4},
	{"i32.32x32x16.i8", i8, i8, i32, 32, 16},
	{"i32.16x16x32.i8", i8, i8, i32, 16, 32},
	{"f32.32x32x16.fp8.fp8", fp8, fp8, f32, 32, 16},
	{"f32.16x16x32.fp8.fp8", fp8, fp8, f32, 16, 32},
	{"f32.32x32x16.fp8.bf8", fp8, bf8, f32, 32, 16},
	{"f32.16x16x32.fp8.bf8", fp8, bf8, f32, 16, 32},
	{"f32.32x32x16.bf8.fp8", bf8, fp8, f32, 32, 16},
	{"f32.16x16x32.bf8.fp8", bf8, fp8, f32, 16, 32},
	{"f32.32x32x16.bf8.bf8", bf8, bf8, f32, 32, 16},
	{"f32.16x16x32.bf8.bf8", bf8, bf8, f32, 16, 32},
}

// Instructions is MFMA for the lowering.
type Instructions struct{}

var _ lower.MatrixUnit = Instructions{}

// MatrixInstrs implements lower.MatrixUnit.
func (Instructions) MatrixInstrs(p lower.Product) ([]*lower.MatrixInstr, error) {
	e, ok := isResult(p.Result)
	if !ok {
		return nil, fmt.Errorf("the result's layout is not that of a transposed MFMA")
	}
	for i := range forms {
		if f := &forms[i]; f.side == e.InstrShape[0] && f.a.is(p.A) && f.b.is(p.B) && f.c.is(p.C) {
			in, err := f.instr(e)
			return []*lower.MatrixInstr{in}, err
		}
	}
	return nil, fmt.Errorf("MFMA has no instruction of %d×%d for the types of the operands and the result", e.InstrShape[0], e.InstrShape[1])
}

// instr describes a form whose result is one tile of a tensor of the layout e.
func (f *form) instr(e *layout.AMDMFMA) (*lower.MatrixInstr, error) {
	one := &layout.AMDMFMA{
		Version: e.Version, WarpsPerCTA: []int{1, 1}, InstrShape: e.InstrShape,
		IsTransposed: true, ElementBitWidth: e.ElementBitWidth,
	}
	in := new(lower.MatrixInstr)
	for _, x := range []struct {
		tile       *layout.Layout
		e          layout.Encoding
		rows, cols int
	}{
		{&in.A, &layout.DotOp{OpIdx: 0, Parent: one, KWidth: f.perLane()}, f.side, f.k},
		{&in.B, &layout.DotOp{OpIdx: 1, Parent: one, KWidth: f.perLane()}, f.k, f.side},
		{&in.C, one, f.side, f.side},
	} {
		l, err := x.e.Linear([]int64{int64(x.rows), int64(x.cols)})
		if err != nil {
			return nil, err
		}
		*x.tile = l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	}
	in.Emit = func(b *llir.Builder, x, y, c []llir.Value) []llir.Value {
		sum := b.Vector(c...)
		args := []llir.Value{operand(b, f.b, y), operand(b, f.a, x), sum} // transposed
		types := []llir.Type{args[0].Type(), args[1].Type(), sum.Type(), llir.I32, llir.I32, llir.I32}
		none := b.M.I32(0) // no broadcast, no permutation
		name := "llvm.amdgcn.mfma." + f.transposed().intrinsic
		d := b.Call(b.M.Declare(name, llir.Pure, sum.Type(), types...), append(args, none, none, none)...)
		out := make([]llir.Value, len(c))
		for i := range out {
			out[i] = b.ExtractElement(d, i)
		}
		return out
	}
	return in, nil
}

// transposed is the form with the types of A and B exchanged.
func (f *form) transposed() *form {
	for i := range forms {
		if g := &forms[i]; g.a == f.b && g.b == f.a && g.side == f.side {
			return g
		}
	}
	panic("BUG: mfma: no instruction for the transposed " + f.intrinsic)
}

// operand is elements in the form that the intrinsic takes them in.
func operand(b *llir.Builder, e elem, vals []llir.Value) llir.Value {
	if len(vals) == 1 {
		return vals[0]
	}
	v := b.Vector(vals...)
	switch e {
	case bf16:
		return b.BitCast(v, b.M.Vec(len(vals), llir.IntN(16)))
	case i8, fp8, bf8:
		return b.BitCast(v, llir.I64)
	}
	return v
}
