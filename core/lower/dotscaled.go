package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// ScaledUnit is a MatrixUnit that multiplies block-scaled operands.
type ScaledUnit interface {
	MatrixUnit
	// ScaledInstr is the instruction for a scaled dot; the error says why there is none.
	// Called for each.
	ScaledInstr(p ScaledProduct) (*ScaledInstr, error)
}

// ScaledProduct asks for an instruction that multiplies block-scaled operands.
type ScaledProduct struct {
	// A and B are numbers of tt.ScaleTypes.
	A, B int64
	// Result is the encoding of the result.
	Result layout.Encoding
}

// ScaledInstr is an instruction that multiplies block-scaled tiles of A and B and adds one
// of C. Of numbers of 4 bits A and B have bytes of two, along K.
type ScaledInstr struct {
	// K is the number of elements along K of a tile, and Block of how many one scale is.
	K, Block int
	// A, B and C are as of a MatrixInstr, but that K must be in order.
	A, B, C layout.Layout
	// ScaleA and ScaleB map (register, lane) to dim0, the row of A (column of B), and
	// dim1, the block along K: m×K/Block, n×K/Block. Registers are one.
	ScaleA, ScaleB layout.Layout
	// Emit appends the instruction. a, b and c are as of a MatrixInstr; the scales, of
	// type i8, are both nil where the dot has none.
	Emit func(b *llir.Builder, x, y, c []llir.Value, scaleX, scaleY llir.Value) []llir.Value
}

// scaledFragments are the operands of a scaled dot matched with an instruction.
type scaledFragments struct {
	fragments
	packA, packB int32 // elements in a byte
	scaleA       *fragment
	scaleB       *fragment
}

// dotScaled computes a scaled dot by instructions for it.
func (e *emitter) dotScaled(op tt.DotScaledOp) error {
	t, ok := op.Result().Type().(*ir.TensorType)
	unit, ok2 := e.m.caps.Matrix.(ScaledUnit)
	if !ok || !ok2 {
		return fmt.Errorf("the target has no instruction for block-scaled operands")
	}
	in, err := unit.ScaledInstr(ScaledProduct{A: op.AElemType(), B: op.BElemType(), Result: encoding.Get(t)})
	if err != nil {
		return err
	}
	if (op.AScale() == nil) != (op.BScale() == nil) || !op.LhsKPack() || !op.RhsKPack() {
		return fmt.Errorf("the instruction takes operands that are packed along K, with scales of both or of neither")
	}
	f, err := e.m.matchScaled(op, in)
	if err != nil {
		return err
	}
	e.matrix = true
	e.uneven = e.uneven || uneven(op.Op)
	return e.scaledProduct(op, in, f)
}

// matchScaled matches the operands of a scaled dot with an instruction.
func (m *module) matchScaled(op tt.DotScaledOp, in *ScaledInstr) (*scaledFragments, error) {
	f := &scaledFragments{packA: 1, packB: 1}
	if op.AElemType() == tt.ScaleE2M1 {
		f.packA = 2
	}
	if op.BElemType() == tt.ScaleE2M1 {
		f.packB = 2
	}
	for _, x := range []struct {
		to   **fragment
		v    *ir.Value
		tile layout.Layout
	}{{&f.a, op.A(), in.A}, {&f.b, op.B(), in.B}, {&f.c, op.C(), in.C}, {&f.scaleA, op.AScale(), in.ScaleA}, {&f.scaleB, op.BScale(), in.ScaleB}} {
		if x.v == nil {
			continue
		}
		var err error
		if *x.to, err = m.fragment(x.v.Type().(*ir.TensorType), x.tile, op.Op.Context()); err != nil {
			return nil, err
		}
	}
	if !f.agree(m) {
		return nil, fmt.Errorf("the operands' layouts do not fit the result's")
	}
	return f, nil
}

// agree checks that the tiles and warps of operands and scales meet those of the result.
func (f *scaledFragments) agree(m *module) bool {
	c := f.c
	inOrder := func(slots []int32) bool {
		for i, x := range slots {
			if x != 1<<i {
				return false
			}
		}
		return true
	}
	laneBits := bitLen(m.lanes)
	fits := func(x *fragment, rows, along []int32, free, k, of int) bool {
		if !slices.Equal(rows, map[int][]int32{c.row: c.rows, c.col: c.cols}[of]) || !inOrder(along) {
			return false
		}
		xs := slices.Concat(x.l.thread[laneBits:], x.l.block)
		for i, z := range slices.Concat(c.l.thread[laneBits:], c.l.block) {
			if y := xs[i]; y[k] != 0 || y[free] != z[of] || !slices.Equal(y[:c.row], z[:c.row]) {
				return false
			}
		}
		return true
	}
	if !fits(f.a, f.a.rows, f.a.cols, f.a.row, f.a.col, c.row) || !fits(f.b, f.b.cols, f.b.rows, f.b.col, f.b.row, c.col) {
		return false
	}
	return f.scaleA == nil || fits(f.scaleA, f.scaleA.rows, f.scaleA.cols, f.scaleA.row, f.scaleA.col, c.row) &&
		fits(f.scaleB, f.scaleB.rows, f.scaleB.cols, f.scaleB.row, f.scaleB.col, c.col)
}

// scaledProduct multiplies tile by tile.
func (e *emitter) scaledProduct(op tt.DotScaledOp, in *ScaledInstr, f *scaledFragments) error {
	a, b, c := f.a, f.b, f.c
	k := int32(op.A().Type().(*ir.TensorType).Shape[a.col]) * f.packA
	if k%int32(in.K) != 0 {
		return fmt.Errorf("the instruction has a K of %d, of which that of the operands, %d, is not a multiple", in.K, k)
	}
	x, y, acc := e.value(op.A()), e.value(op.B()), slices.Clone(e.value(op.C()))
	var scaleX, scaleY []llir.Value
	if f.scaleA != nil {
		scaleX, scaleY = e.value(op.AScale()), e.value(op.BScale())
	}
	for kv := int32(0); kv < k; kv += int32(in.K) {
		for _, r := range c.tiles() {
			at := c.l.regCoords(r)
			row, col := at[c.row], at[c.col]
			find := func(x *fragment, i, j int32) (int, bool) {
				at[c.row], at[c.col] = i, j
				reg, ok := x.at[coordKey(at)]
				return reg, ok
			}
			i, ok := find(a, row, kv/f.packA)
			j, ok2 := find(b, kv/f.packB, col)
			var sx, sy llir.Value
			if f.scaleA != nil {
				p, ok3 := find(f.scaleA, row, kv/int32(in.Block))
				q, ok4 := find(f.scaleB, col, kv/int32(in.Block))
				if ok, ok2 = ok && ok3, ok2 && ok4; ok && ok2 {
					sx, sy = scaleX[p], scaleY[q]
				}
			}
			if !ok || !ok2 {
				return fmt.Errorf("the operands' layouts do not hold the tiles of the result")
			}
			c.scatter(r, acc, in.Emit(e.b, a.gather(i, x), b.gather(j, y), c.gather(r, acc), sx, sy))
		}
	}
	for r := range acc {
		acc[r] = acc[c.l.canonical(r)]
	}
	e.set(op.Result(), acc)
	return nil
}
