package gpu

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/matrixcore"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

var _ lower.ScaledUnit = (*Target)(nil)

// scaledFormats are the numbers that instructions have for formats.
var scaledFormats = map[int64]int{tt.ScaleE4M3: 0, tt.ScaleE5M2: 1, tt.ScaleE2M1: 4}

// ScaledInstr is MFMA of operands of 8 and 4 bits, with scales or without.
func (t *Target) ScaledInstr(p lower.ScaledProduct) (*lower.ScaledInstr, error) {
	e, ok := p.Result.(*layout.AMDMFMA)
	_, okA := scaledFormats[p.A]
	_, okB := scaledFormats[p.B]
	if !ok || !okA || !okB || len(e.InstrShape) != 3 || !e.IsTransposed || e.Version != t.MFMA || e.Version != 4 {
		return nil, fmt.Errorf("%s has no matrix instruction for the formats of the operands and the layout of the result", t.Name)
	}
	side := e.InstrShape[0]
	k := matrixcore.ScaledK(side)
	if side != e.InstrShape[1] || k != e.InstrShape[2] || side != 16 && side != 32 {
		return nil, fmt.Errorf("%s has no instruction of block-scaled operands of %v", t.Name, e.InstrShape)
	}
	one := &layout.AMDMFMA{Version: e.Version, WarpsPerCTA: []int{1, 1}, InstrShape: e.InstrShape, IsTransposed: true}
	const kWidth = 16
	width := func(format int64) int64 { // of K, in bytes
		if format == tt.ScaleE2M1 {
			return int64(k) / 2
		}
		return int64(k)
	}
	out := &lower.ScaledInstr{K: k, Block: matrixcore.ScaleBlock}
	for _, x := range []struct {
		tile       *layout.Layout
		e          layout.Encoding
		rows, cols int64
	}{
		{&out.A, &layout.DotOp{OpIdx: 0, Parent: one, KWidth: kWidth}, int64(side), width(p.A)},
		{&out.B, &layout.DotOp{OpIdx: 1, Parent: one, KWidth: kWidth}, width(p.B), int64(side)},
		{&out.C, one, int64(side), int64(side)},
	} {
		l, err := x.e.Linear([]int64{x.rows, x.cols})
		if err != nil {
			return nil, err
		}
		*x.tile = l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	}
	rows, blocks := layout.Identity(layout.Lane, layout.TensorDim(0), side), layout.Identity(layout.Lane, layout.TensorDim(1), k/matrixcore.ScaleBlock)
	out.ScaleA = layout.Product(rows, blocks)
	out.ScaleB = out.ScaleA
	name := fmt.Sprintf("llvm.amdgcn.mfma.scale.f32.%dx%dx%d.f8f6f4", side, side, k)
	out.Emit = func(b *llir.Builder, x, y, c []llir.Value, scaleX, scaleY llir.Value) []llir.Value {
		return elements(b, emitScaled(b, name, p, x, y, b.Vector(c...), scaleX, scaleY), len(c))
	}
	return out, nil
}

// emitScaled multiplies Bᵀ by Aᵀ. Scales that are constants of 0 make it an instruction
// without scales.
func emitScaled(b *llir.Builder, name string, p lower.ScaledProduct, x, y []llir.Value, acc, scaleX, scaleY llir.Value) llir.Value {
	args := []llir.Value{operand(b, matrixcore.FP8, y), operand(b, matrixcore.FP8, x), acc}
	for _, v := range args[:2] {
		name += "." + mangled(v.Type())
	}
	args = append(args, b.M.I32(scaledFormats[p.B]), b.M.I32(scaledFormats[p.A]))
	for _, s := range []llir.Value{scaleY, scaleX} {
		scale := llir.Value(b.M.I32(0))
		if s != nil {
			scale = b.ZExt(s, llir.I32)
		}
		args = append(args, b.M.I32(0), scale)
	}
	params := make([]llir.Type, len(args))
	for i, a := range args {
		params[i] = a.Type()
	}
	return b.Call(b.M.Declare(name, llir.Pure, acc.Type(), params...), args...)
}

// loadPackedTransposed reads numbers of 4 bits from a buffer that has two of neighbouring
// rows of the operand (columns of the right one) in a byte, and packs two of neighbouring k:
// nibbles of two bytes.
func loadPackedTransposed(s *lower.Site, op *ir.Operation) error {
	v := amdg.AsLocalLoadPackedTranposed(op)
	t := v.Result().Type().(*ir.TensorType)
	e, ok := encoding.Get(t).(*layout.DotOp)
	if !ok || len(t.Shape) != 2 {
		return fmt.Errorf("the result must be an operand of two dimensions")
	}
	l, err := e.Linear(t.Shape)
	if err != nil {
		return err
	}
	l = l.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	// The bytes from which a thread's are made: each bit along K is one bit more there,
	// and each along the other dimension one less. The lowest bit along K is that of a
	// register more, the first.
	free, k := e.OpIdx, 1-e.OpIdx
	seen := func(d layout.Dim) layout.Bases {
		list := layout.Bases{}
		for _, v := range l.BasesOf(d) {
			w := []int32{0, 0}
			w[k], w[free] = 2*v[k], v[free]/2
			list = append(list, w)
		}
		return list
	}
	low := []int32{0, 0}
	low[k] = 1
	from := &layout.Linear{
		Register: append(layout.Bases{low}, seen(layout.Register)...), Lane: seen(layout.Lane), Warp: seen(layout.Warp), Block: seen(layout.Block),
	}
	shape := []int64{t.Shape[0], t.Shape[1]}
	shape[k], shape[free] = 2*shape[k], shape[free]/2
	c := op.Context()
	bytes, err := s.LoadBuffer(v.Src(), c.Tensor(shape, t.Elem, encoding.Of(c, from)))
	if err != nil {
		return err
	}
	at, err := s.Coords(v.Result(), free)
	if err != nil {
		return err
	}
	b := s.B
	out := make([]llir.Value, len(at))
	low4, high4 := b.M.Int(llir.I8, 0x0f), b.M.Int(llir.I8, 0xf0)
	for r := range out {
		x, y := bytes[2*r], bytes[2*r+1]
		even := b.Or(b.And(x, low4), b.Shl(y, 4))
		odd := b.Or(b.LShr(x, 4), b.And(y, high4))
		out[r] = b.Select(b.ICmp(enum.IPredNE, b.And(at[r], b.M.I32(1)), b.M.I32(0)), odd, even)
	}
	s.Set(v.Result(), out...)
	return nil
}

// readsFirst is the effect of operations that read the buffer of their first operand.
func readsFirst(*ir.Operation) membar.Effects {
	return membar.Effects{Operands: []membar.Effect{membar.Reads}}
}
