package gpu

import (
	"fmt"

	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// MatrixInstrs are MFMA's or WMMA's.
func (t *Target) MatrixInstrs(p lower.Product) ([]*lower.MatrixInstr, error) {
	shape := [3]int{16, 16, 16}
	switch e := p.Result.(type) {
	case *layout.AMDMFMA:
		if len(e.InstrShape) != 3 {
			return nil, fmt.Errorf("no instruction of %s has the shape %v", t.Name, e.InstrShape)
		}
		shape = [3]int(e.InstrShape)
		if e.IsTransposed != (shape[0] >= shape[1]) || e.Version != t.MFMA {
			return nil, fmt.Errorf("the result's layout is not that of a transposed MFMA of %s", t.Name)
		}
	case *layout.AMDWMMA:
		if !e.IsTranspose || e.Version != t.WMMA {
			return nil, fmt.Errorf("the result's layout is not that of a transposed WMMA of %s", t.Name)
		}
	default:
		return nil, fmt.Errorf("the result's layout is not that of %s's matrix cores", t.Name)
	}
	for _, in := range matrixcore.Instrs(t.Chip) {
		if in.Shape(int64(shape[0]), int64(shape[1])) == [2]int(shape[:2]) && in.K == shape[2] && in.Takes(t.Chip, p.A, p.B, p.Precision == tt.PrecisionTF32) {
			m, err := t.instr(&in, p.Result, shape)
			return []*lower.MatrixInstr{m}, err
		}
	}
	return nil, fmt.Errorf("%s has no matrix instruction of %d×%d×%d for the types of the operands and the result", t.Name, shape[0], shape[1], shape[2])
}

// instr describes an instruction whose result is one tile, of that shape, of a tensor of
// the layout e.
func (t *Target) instr(in *matrixcore.Instr, e layout.Encoding, shape [3]int) (*lower.MatrixInstr, error) {
	var one layout.Encoding
	switch e := e.(type) {
	case *layout.AMDMFMA:
		one = &layout.AMDMFMA{
			Version: e.Version, WarpsPerCTA: []int{1, 1}, InstrShape: e.InstrShape, IsTransposed: e.IsTransposed, ElementBitWidth: e.ElementBitWidth,
		}
	case *layout.AMDWMMA:
		one = &layout.AMDWMMA{Version: e.Version, IsTranspose: true, WarpsPerCTA: []int{1, 1}}
	}
	out := new(lower.MatrixInstr)
	for _, x := range []struct {
		tile       *layout.Layout
		e          layout.Encoding
		rows, cols int
	}{
		{&out.A, &layout.DotOp{OpIdx: 0, Parent: one, KWidth: in.PerLane}, shape[0], shape[2]},
		{&out.B, &layout.DotOp{OpIdx: 1, Parent: one, KWidth: in.PerLane}, shape[2], shape[1]},
		{&out.C, one, shape[0], shape[1]},
	} {
		l, err := x.e.Linear([]int64{int64(x.rows), int64(x.cols)})
		if err != nil {
			return nil, err
		}
		*x.tile = l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	}
	if shape[0] != shape[1] {
		out.Emit = func(b *llir.Builder, x, y, c []llir.Value) []llir.Value {
			if shape[0] > shape[1] {
				x, y = y, x
			}
			return emitBlocks(b, in, x, y, c)
		}
		return out, nil
	}
	emit := emitMFMA
	if t.WMMA != 0 {
		emit = emitWMMA
	}
	transposed := in.Transposed(t.Chip)
	out.Emit = func(b *llir.Builder, x, y, c []llir.Value) []llir.Value {
		return elements(b, emit(b, transposed, y, x, b.Vector(c...)), len(c))
	}
	return out, nil
}

// elements are the n elements of a vector.
func elements(b *llir.Builder, v llir.Value, n int) []llir.Value {
	parts := make([]llir.Value, n)
	for i := range parts {
		parts[i] = b.ExtractElement(v, i)
	}
	return parts
}

// emitMFMA multiplies without broadcasts and permutations of lanes.
func emitMFMA(b *llir.Builder, in *matrixcore.Instr, x, y []llir.Value, acc llir.Value) llir.Value {
	return callMFMA(b, in, x, y, acc, 0, 0)
}

// emitBlocks multiplies 4×K by K×64. Of x each block of four lanes has the elements of
// its part of K, which one instruction gives to all blocks; of y each lane has a column.
func emitBlocks(b *llir.Builder, in *matrixcore.Instr, x, y, c []llir.Value) []llir.Value {
	const allBlocks = 4 // the logarithm of their number
	acc := b.Vector(c...)
	for i := range in.K / in.PerLane {
		acc = callMFMA(b, in, x, y[i*in.PerLane:(i+1)*in.PerLane], acc, allBlocks, i)
	}
	return elements(b, acc, len(c))
}

// callMFMA multiplies blocks; 1<<shared of them take the one of x with the number from
// among them.
func callMFMA(b *llir.Builder, in *matrixcore.Instr, x, y []llir.Value, acc llir.Value, shared, from int) llir.Value {
	args := []llir.Value{operand(b, in.A, x), operand(b, in.B, y), acc, b.M.I32(shared), b.M.I32(from), b.M.I32(0)}
	for i := range 2 {
		switch {
		case in.A == matrixcore.BF16 && in.PerLane == 4: // the older intrinsics take the bits
			args[i] = b.BitCast(args[i], b.M.Vec(in.PerLane, llir.I16))
		case in.C == matrixcore.I32 || in.A == matrixcore.FP8 || in.A == matrixcore.BF8:
			if in.PerLane == 8 {
				args[i] = b.BitCast(args[i], llir.I64)
			}
		}
	}
	params := make([]llir.Type, len(args))
	for i, a := range args {
		params[i] = a.Type()
	}
	return b.Call(b.M.Declare("llvm.amdgcn."+in.Name, llir.Pure, acc.Type(), params...), args...)
}

// emitWMMA multiplies signed integers, or floats.
func emitWMMA(b *llir.Builder, in *matrixcore.Instr, x, y []llir.Value, acc llir.Value) llir.Value {
	a, c := operand(b, in.A, x), operand(b, in.B, y)
	if in.A == matrixcore.BF16 {
		bits := b.M.Vec(in.PerLane, llir.I16)
		a, c = b.BitCast(a, bits), b.BitCast(c, bits)
	}
	name := "llvm.amdgcn." + in.Name + "." + mangled(acc.Type()) + "." + mangled(a.Type())
	if in.A != matrixcore.I8 {
		return b.Call(b.M.Declare(name, llir.Pure, acc.Type(), a.Type(), c.Type(), acc.Type()), a, c, acc)
	}
	signed, clamp := b.M.Bool(true), b.M.Bool(false)
	f := b.M.Declare(name, llir.Pure, acc.Type(), llir.I1, a.Type(), llir.I1, c.Type(), acc.Type(), llir.I1)
	return b.Call(f, signed, a, signed, c, acc, clamp)
}

// mangled is a vector's type in the names of LLVM's intrinsics.
func mangled(t llir.Type) string {
	v := t.(*types.VectorType)
	return fmt.Sprintf("v%d%s", v.Len, map[llir.Type]string{llir.F32: "f32", llir.Half: "f16", llir.I32: "i32", llir.I16: "i16"}[v.ElemType])
}

// operand is elements in the form that intrinsics take them in: those of 8 bits in words.
func operand(b *llir.Builder, e matrixcore.Elem, vals []llir.Value) llir.Value {
	if len(vals) == 1 {
		return vals[0]
	}
	v := b.Vector(vals...)
	switch e {
	case matrixcore.I8, matrixcore.FP8, matrixcore.BF8:
		if words := len(vals) / 4; words > 1 {
			return b.BitCast(v, b.M.Vec(words, llir.I32))
		}
		return b.BitCast(v, llir.I32)
	}
	return v
}
