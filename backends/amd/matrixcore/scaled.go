package matrixcore

import (
	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// The instructions of gfx950 for operands of 8 and 4 bits, a format each, whose scales are
// exponents.
const (
	// ScaleBlock is how many elements along K have one scale.
	ScaleBlock = 32
	// scaledBytes is how many bytes along K a lane holds side by side: all 32 elements of
	// 4 bits, and of those of 8 bits one half, whose other half follows the first halves
	// of the other lanes.
	scaledBytes = 16
	// noScale is the exponent of 1.
	noScale = 127
)

// ScaledK is the K of the scaled instruction of that side.
func ScaledK(side int) int { return 2048 / side }

// scaledSide is the side of the scaled instruction for a result of m×n, or 0.
func (u Unit) scaledSide(c *chip.Chip, m, n, k int64) int {
	if c.MFMA != chip.GFX950.MFMA {
		return 0
	}
	for _, side := range u.sides(c, m, n) {
		if side != smallSide && k%int64(ScaledK(side)) == 0 {
			return side
		}
	}
	return 0
}

// isNarrow reports whether an instruction takes a format.
func isNarrow(format int64) bool {
	return format == tt.ScaleE4M3 || format == tt.ScaleE5M2 || format == tt.ScaleE2M1
}

// FormScaled implements dots.ScaledUnit.
func (u Unit) FormScaled(d dots.Scaled) *dots.ScaledForm {
	t := tensors.Type(d.Result())
	if len(t.Shape) != 2 || !F32.is(nil, t.Elem) {
		return nil
	}
	m, n, k := t.Shape[0], t.Shape[1], tensors.Type(d.A()).Shape[1]
	if d.AElemType() == tt.ScaleE2M1 && d.LhsKPack() {
		k *= 2
	}
	for _, s := range []*ir.Value{d.AScale(), d.BScale()} {
		if s != nil && (!ir.IsInt(ir.ElemOf(s.Type()), 8) || tensors.Type(s).Shape[1]*ScaleBlock != k) {
			return nil
		}
	}
	c := u.chipAt(d.Target)
	if c.WMMA == chip.GFX1250.WMMA {
		return formScaledWMMA(d, k)
	}
	side := u.scaledSide(c, m, n, k)
	if side == 0 || !isNarrow(d.AElemType()) || !isNarrow(d.BElemType()) {
		return u.formUpcast(d, m, n, k)
	}
	tile := [2]int{side, side}
	head, tail := chained(d.Op)
	warps := spreadWarps(t.Shape, d.Warps, tile, head, tail)
	s := scales{d.AScale(), d.BScale(), t.Shape, side, warps, false}
	tiles := s.tiles()
	result := &layout.AMDMFMA{Version: c.MFMA, WarpsPerCTA: warps, InstrShape: []int{side, side, ScaledK(side)}, IsTransposed: true, CGA: tensors.CGA(t)}
	if tiles != [2]int{1, 1} {
		result.TilesPerWarp = tiles[:]
	}
	form := &dots.ScaledForm{Result: result}
	operands := [2]*layout.DotOp{}
	for i := range operands {
		operands[i] = &layout.DotOp{OpIdx: i, Parent: result, KWidth: scaledBytes}
	}
	if d.LhsKPack() {
		form.A = operands[0]
	}
	if d.RhsKPack() {
		form.B = operands[1]
	}
	form.Make = func(b *ir.Builder, x, y, acc *ir.Value) *ir.Value {
		if !d.LhsKPack() {
			x = packedAlongK(b, x, operands[0])
		}
		if !d.RhsKPack() {
			y = packedAlongK(b, y, operands[1])
		}
		var list [2]*ir.Value
		if d.AScale() != nil || d.BScale() != nil {
			list = s.values(b, k, tiles)
		}
		return newDotScaled(b, x, y, acc, list, d.AElemType(), d.BElemType(), d.FastMath())
	}
	return form
}

// formScaledWMMA is the form of gfx1250, whose instructions have a K of 128; of numbers of
// 4 bits the layout counts bytes. There is no lowering for it.
func formScaledWMMA(d dots.Scaled, k int64) *dots.ScaledForm {
	if !isNarrow(d.AElemType()) || !isNarrow(d.BElemType()) || !d.LhsKPack() || !d.RhsKPack() {
		return nil
	}
	const wide = 128
	t := tensors.Type(d.Result())
	head, tail := chained(d.Op)
	warps := spreadWarps(t.Shape, d.Warps, [2]int{wmmaSide, wmmaSide}, head, tail)
	of := func(k int) *layout.AMDWMMA {
		return &layout.AMDWMMA{Version: chip.GFX1250.WMMA, IsTranspose: true, WarpsPerCTA: warps, InstrShape: []int{wmmaSide, wmmaSide, k}, CGA: tensors.CGA(t)}
	}
	operand := func(index int, format int64) *layout.DotOp {
		if format == tt.ScaleE2M1 {
			return &layout.DotOp{OpIdx: index, Parent: of(wide / 2), KWidth: scaledBytes}
		}
		return &layout.DotOp{OpIdx: index, Parent: of(wide), KWidth: scaledBytes}
	}
	s := scales{d.AScale(), d.BScale(), t.Shape, wmmaSide, warps, true}
	return &dots.ScaledForm{
		Result: of(wide), A: operand(0, d.AElemType()), B: operand(1, d.BElemType()),
		Make: func(b *ir.Builder, x, y, acc *ir.Value) *ir.Value {
			return newDotScaled(b, x, y, acc, s.values(b, k, [2]int{1, 1}), d.AElemType(), d.BElemType(), d.FastMath())
		},
	}
}

// formUnscaled is the form of a dot of 8-bit floats by a scaled instruction without scales,
// whose K is four times that of others; nil if there is none.
func (u Unit) formUnscaled(d dots.Dot) *dots.Form {
	x, y, acc := d.Elems()
	formats := [2]int64{}
	for i, t := range []ir.Type{x, y} {
		f, ok := t.(*ir.FloatType)
		switch {
		case ok && f.Kind == ir.F8E4M3FN:
			formats[i] = tt.ScaleE4M3
		case ok && f.Kind == ir.F8E5M2:
			formats[i] = tt.ScaleE5M2
		default:
			return nil
		}
	}
	c, shape := u.chipOf(d), d.Shape()
	rank := len(shape)
	side := u.scaledSide(c, shape[rank-2], shape[rank-1], ir.ShapeOf(d.A().Type())[rank-1])
	if side == 0 {
		return nil
	}
	head, tail := chained(d.Op)
	result := &layout.AMDMFMA{
		Version: c.MFMA, WarpsPerCTA: spreadWarps(shape, d.Warps, [2]int{side, side}, head, tail),
		InstrShape: []int{side, side, ScaledK(side)}, IsTransposed: true, CGA: d.Cluster(),
	}
	form := &dots.Form{
		Result: result,
		A:      &layout.DotOp{OpIdx: 0, Parent: result, KWidth: scaledBytes},
		B:      &layout.DotOp{OpIdx: 1, Parent: result, KWidth: scaledBytes},
		Make: func(b *ir.Builder, _ dots.Dot, x, y, acc *ir.Value) *ir.Value {
			return newDotScaled(b, x, y, acc, [2]*ir.Value{}, formats[0], formats[1], false)
		},
	}
	if !F32.is(nil, acc) {
		form.Elem = d.Op.Context().F32()
	}
	return form
}

// Made is a scaled dot in the unit's layout.
func (Unit) Made(op *ir.Operation) (dots.Made, bool) {
	if !op.Is(tt.DotScaled) || !tensors.IsMatrix(encoding.Get(op.OneResult().Type())) {
		return dots.Made{}, false
	}
	return dots.Made{Acc: tt.AsDotScaled(op).C()}, true
}

// newDotScaled makes a scaled dot of operands that are packed along K. Scales may be nil.
func newDotScaled(b *ir.Builder, x, y, acc *ir.Value, scales [2]*ir.Value, formatX, formatY int64, fastMath bool) *ir.Value {
	c := b.Context()
	operands, segments := []*ir.Value{x, y, acc}, []int32{1, 1, 1, 0, 0}
	for i, s := range scales {
		if s != nil {
			operands = append(operands, s)
			segments[3+i] = 1
		}
	}
	return b.Create(tt.DotScaled, ir.State{
		Operands: operands, Segments: segments, Types: []ir.Type{acc.Type()},
		Attrs: []ir.NamedAttr{
			{Name: "a_elem_type", Attr: c.I32Attr(formatX)},
			{Name: "b_elem_type", Attr: c.I32Attr(formatY)},
			{Name: "fastMath", Attr: c.BoolAttr(fastMath)},
			{Name: "lhs_k_pack", Attr: c.BoolAttr(true)},
			{Name: "rhs_k_pack", Attr: c.BoolAttr(true)},
		},
	}).OneResult()
}

// packedAlongK passes numbers of 4 bits, two of neighbouring rows (or columns) a byte,
// through a buffer, from which two of neighbouring k are read.
func packedAlongK(b *ir.Builder, v *ir.Value, operand *layout.DotOp) *ir.Value {
	c, t := b.Context(), tensors.Type(v)
	free := operand.OpIdx
	order := []int{free, 1 - free}
	e := swizzled(chip.GFX950.LDSBanks, 8, int(t.Shape[free]), scaledBytes, order)
	e.CGA = tensors.CGA(t)
	alloc := b.Op(ttg.LocalAlloc, []*ir.Value{v}, sharedmem.Type(c, t.Shape, t.Elem, e, false)).OneResult()
	shape := []int64{t.Shape[0], t.Shape[1]}
	shape[free], shape[1-free] = 2*shape[free], shape[1-free]/2
	load := amdg.Dialect().Op("amdg.local_load_packed_tranposed")
	return b.Create(load, ir.State{
		Operands: []*ir.Value{alloc}, Segments: []int32{1, 0}, Types: []ir.Type{c.Tensor(shape, t.Elem, encoding.Of(c, operand))},
	}).OneResult()
}

// scales are those of a dot whose result has a shape.
type scales struct {
	a, b  *ir.Value
	shape []int64
	side  int
	warps []int
	// inWords has a lane hold four scales along K side by side, as WMMA reads them; half of
	// the lanes repeat the others.
	inWords bool
}

// values brings scales to the layouts in which instructions read them; what has none is
// multiplied by 1.
func (s *scales) values(b *ir.Builder, k int64, tiles [2]int) (list [2]*ir.Value) {
	c := b.Context()
	types := [2]*ir.TensorType{}
	for i, v := range []*ir.Value{s.a, s.b} {
		shape := []int64{s.shape[i], k / ScaleBlock}
		types[i] = c.Tensor(shape, c.Int(8), encoding.Of(c, s.layout(i, shape, tiles[i])))
		if v == nil {
			list[i] = arith.Int(b, types[i], noScale)
		}
	}
	for i, v := range []*ir.Value{s.a, s.b} {
		if v != nil {
			list[i] = ttg.NewConvertLayout(b, v, types[i].Encoding)
		}
	}
	return list
}

// layout is the layout of the scales of operand number index: lanes along the rows of the
// operand (columns of the right one), then along K; a lane has the other scales of its
// row, and of the rows of as many tiles as a warp computes side by side.
func (s *scales) layout(index int, shape []int64, tiles int) *layout.Linear {
	e := &layout.Linear{Block: layout.Bases{}}
	add := func(list *layout.Bases, row, k int) {
		if int64(row) >= shape[0] || int64(k) >= shape[1] {
			row, k = 0, 0 // the tensor is smaller, and is repeated
		}
		*list = append(*list, []int32{int32(row), int32(k)})
	}
	groups, rows := chip.GFX950.Lanes/s.side, s.side
	if s.inWords {
		groups = mostScales
		for k := 1; k < mostScales; k *= 2 {
			add(&e.Register, 0, k)
		}
	}
	for k := groups; int64(k) < shape[1]; k *= 2 {
		add(&e.Register, 0, k)
	}
	for range log2(tiles) {
		add(&e.Register, rows, 0)
		rows *= 2
	}
	for row := 1; row < s.side; row *= 2 {
		add(&e.Lane, row, 0)
	}
	if s.inWords {
		add(&e.Lane, 0, 0)
	} else {
		for k := 1; k < groups; k *= 2 {
			add(&e.Lane, 0, k)
		}
	}
	for i := 1; i >= 0; i-- { // warps are numbered along the columns of the result first
		for range log2(s.warps[i]) {
			if i != index {
				add(&e.Warp, 0, 0)
				continue
			}
			add(&e.Warp, rows, 0)
			rows *= 2
		}
	}
	for ; int64(rows) < shape[0]; rows *= 2 {
		add(&e.Register, rows, 0)
	}
	return e
}

func log2(n int) (bits int) {
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// tiles is how many tiles a warp computes side by side along each dimension of the result:
// as many as let it load the most scales at once, where the program has them in memory in
// that order.
func (s *scales) tiles() [2]int {
	best, most := [2]int{1, 1}, 2
	for m := 1; m <= min(2, int(s.shape[0])/s.side); m++ {
		for n := 1; n <= min(2, int(s.shape[1])/s.side); n++ {
			if at := s.loadedAtOnce(0, m) + s.loadedAtOnce(1, n); at > most {
				best, most = [2]int{m, n}, at
			}
		}
	}
	// What has no scales follows the other.
	switch {
	case s.a == nil && s.b != nil:
		best[0] = min(max(int(s.shape[0])/s.side, 1), best[1])
	case s.b == nil && s.a != nil:
		best[1] = min(max(int(s.shape[1])/s.side, 1), best[0])
	}
	return best
}

// mostScales is how many scales a register holds.
const mostScales = 4

// loadedAtOnce is how many neighbours in memory a lane needs of the scales of an operand,
// seen through changes of shape up to the load.
func (s *scales) loadedAtOnce(index, tiles int) int {
	v := s.a
	if index == 1 {
		v = s.b
	}
	if v == nil {
		return 1
	}
	if v.DefIs(arith.Constant) || v.DefIs(tt.Splat) {
		return mostScales
	}
	shape := tensors.Type(v).Shape
	var e layout.Encoding = s.layout(index, shape, tiles)
	for !v.DefIs(tt.Load) {
		var err error
		switch {
		case v.DefIs(ttg.ConvertLayout):
			v = ttg.AsConvertLayout(v.Def()).Src()
		case v.DefIs(tt.Reshape):
			v = tt.AsReshape(v.Def()).Src()
			e, err = layout.Reshape(e, shape, tensors.Type(v).Shape)
		case v.DefIs(tt.Trans):
			order := tt.AsTrans(v.Def()).Order()
			v = tt.AsTrans(v.Def()).Src()
			back := make([]int, len(order))
			for i, d := range order {
				back[d] = i
			}
			e, err = layout.Trans(e, shape, back)
		default:
			return 1
		}
		if err != nil {
			return 1
		}
		shape = tensors.Type(v).Shape
	}
	memory, ok := encoding.Get(v.Type()).(*layout.Blocked)
	l, err := e.Linear(shape)
	if !ok || err != nil {
		return 1
	}
	return neighbours(&l, shape, memory.Order)
}

// neighbours is how many elements that follow one another, in an order of dimensions, a
// lane has in registers.
func neighbours(l *layout.Layout, shape []int64, order []int) int {
	at := make(map[int64]bool)
	for _, v := range l.BasesOf(layout.Register) {
		offset, stride := int64(0), int64(1)
		for _, d := range order {
			offset += int64(v[d]) * stride
			stride *= shape[d]
		}
		at[offset] = true
	}
	n := 1
	for n < mostScales && at[int64(n)] {
		n *= 2
	}
	return n
}
