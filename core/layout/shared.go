package layout

import "fmt"

// Linear is the map (offset, block) → shape: which element lies at each
// element offset.
func (e *SwizzledShared) Linear(shape []int64) (Layout, error) {
	return swizzled(e, e.Vec, e.PerPhase, e.MaxPhase, e.Order, e.CGA, shape, func(row int) int {
		return row / e.PerPhase % e.MaxPhase
	})
}

// Linear is the map (offset, block) → shape: which element lies at each
// element offset.
func (e *AMDRotatingShared) Linear(shape []int64) (Layout, error) {
	return swizzled(e, e.Vec, e.PerPhase, e.MaxPhase, e.Order, e.CGA, shape, func(row int) int {
		return row/e.PerPhase%e.MaxPhase ^ row/e.MaxPhase/e.PerPhase%e.MaxPhase
	})
}

// swizzled lays out rows of the dimension order[0], row r of order[1] with its
// vectors permuted by XOR with phase(r), the other dimensions in order.
func swizzled(e Encoding, vec, perPhase, maxPhase int, order []int, cga Bases, shape []int64, phase func(row int) int) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	if err := checkOrder(e, order); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := checkBases(e, rank, cga); err != nil {
		return Layout{}, err
	}
	if err := checkPow2(e, 3, []int{vec, perPhase, maxPhase}); err != nil {
		return Layout{}, err
	}
	part := ctaShape(cga, shape)
	if rank < 2 {
		return combine(ordered(Offset, part, order), cga, shape), nil
	}
	col, row := order[0], order[1]
	cols, rows := int(part[col]), int(part[row])
	outs := []Axis{{TensorDim(col), log2(cols)}, {TensorDim(row), log2(rows)}}
	var b Bases
	for c := 1; c < cols; c *= 2 {
		b = append(b, []int32{int32(c), 0})
	}
	for r := 1; r < rows; r *= 2 {
		b = append(b, []int32{int32(vec * phase(r) % cols), int32(r)})
	}
	l := New(outs, Input{Offset, b})
	for _, d := range order[2:] {
		l = Product(l, Identity(Offset, TensorDim(d), int(part[d])))
	}
	return combine(l, cga, shape), nil
}

// ctaShape is the part of the shape that one CTA holds.
func ctaShape(cga Bases, shape []int64) []int64 {
	g := clip(cgaLayout(cga, len(shape)), shape)
	part := make([]int64, len(shape))
	for i, n := range shape {
		part[i] = n >> g.OutBits(TensorDim(i))
	}
	return part
}

func ordered(in Dim, shape []int64, order []int) Layout {
	s := make([]int, len(shape))
	for i, n := range shape {
		s[i] = int(n)
	}
	return IdentityND(in, s, order)
}

// Linear is the linear part of the map (offset, block) → shape; Pad maps an
// offset of it to an address.
func (e *PaddedShared) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if len(e.Intervals) != len(e.Paddings) {
		return Layout{}, fmt.Errorf("encoding padded_shared: the intervals are %v and the paddings %v; each needs the other", e.Intervals, e.Paddings)
	}
	if err := checkPow2(e, len(e.Intervals), e.Intervals); err != nil {
		return Layout{}, err
	}
	if e.Order == nil {
		if err := checkBases(e, rank, e.Offset, e.Block); err != nil {
			return Layout{}, err
		}
		return fits(e, fromBases(rank, Input{Offset, e.Offset}, Input{Block, e.Block}), shape)
	}
	if err := checkOrder(e, e.Order); err != nil {
		return Layout{}, err
	}
	if err := checkBases(e, rank, e.CGA); err != nil {
		return Layout{}, err
	}
	if err := checkShape(e, e.Shape); err != nil {
		return Layout{}, err
	}
	return fits(e, combine(ordered(Offset, ctaShape(e.CGA, e.Shape), e.Order), e.CGA, e.Shape), shape)
}

// Pad is the address, in elements, of the element at the linear offset i.
func (e *PaddedShared) Pad(i int) int {
	at := i
	for k, n := range e.Intervals {
		at += i / n * e.Paddings[k]
	}
	return at
}

// fits reports an encoding that fixes its own shape on a tensor of another.
func fits(e Encoding, l Layout, shape []int64) (Layout, error) {
	for i, n := range shape {
		if int64(l.OutSize(TensorDim(i))) != n {
			return Layout{}, fmt.Errorf("encoding %s describes the shape %v, not %v", e.Mnemonic(), l.Shape(), shape)
		}
	}
	return l, nil
}

// Linear is the map (offset, block) → shape given by the bases.
func (e *SharedLinear) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := checkBases(e, rank, e.Offset, e.Block); err != nil {
		return Layout{}, err
	}
	return fits(e, fromBases(rank, Input{Offset, e.Offset}, Input{Block, e.Block}), shape)
}

// tmaMaxBox is the largest extent, in elements, of one dimension of a box that
// one TMA instruction copies.
const tmaMaxBox = 256

// Linear is the map (offset, block) → shape: core matrices of eight rows,
// repeated over the box of one TMA instruction, boxes repeated over the
// tensor.
func (e *NVMMAShared) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := checkBases(e, rank, e.CGA); err != nil {
		return Layout{}, err
	}
	switch e.SwizzlingByteWidth {
	case 0, 32, 64, 128:
	default:
		return Layout{}, fmt.Errorf("encoding nvmma_shared: swizzlingByteWidth %d is not 0, 32, 64 or 128", e.SwizzlingByteWidth)
	}
	switch e.ElementBitWidth {
	case 8, 16, 32, 64:
	default:
		return Layout{}, fmt.Errorf("encoding nvmma_shared: elementBitWidth %d is not 8, 16, 32 or 64", e.ElementBitWidth)
	}
	if e.Transposed && rank != 2 {
		return Layout{}, fmt.Errorf("encoding nvmma_shared: only a matrix can be transposed, and the shape is %v", shape)
	}
	part := ctaShape(e.CGA, shape)
	order := rowMajor(rank)
	if e.Transposed {
		order = columnMajor(rank)
	}
	contig := order[0]
	box := e.box(part, contig)
	if rank == 1 || e.SwizzlingByteWidth == 0 {
		return combine(ordered(Offset, box, order), e.CGA, shape), nil
	}
	if part[contig] < box[contig] {
		return Layout{}, fmt.Errorf("encoding nvmma_shared: swizzlingByteWidth %d needs %d elements along dimension %d of the shape %v",
			e.SwizzlingByteWidth, box[contig], contig, shape)
	}
	rows := int64(1)
	for i, n := range box {
		if i != contig {
			rows *= n
		}
	}
	if rows < 8 {
		return Layout{}, fmt.Errorf("encoding nvmma_shared: the shape %v has less than 8 rows", shape)
	}
	// The box with all its outer dimensions taken as rows; then the rows are
	// told apart again, the last outer dimension fastest.
	l := grow(e.coreMatrix(), []int64{rows, box[contig]})
	axes := make([]Axis, rank)
	for i, d := range order {
		axes[i] = Axis{TensorDim(d), log2(int(box[d]))}
	}
	l = l.TransposeOuts(TensorDim(1), TensorDim(0)).ReshapeOuts(axes...)
	l = l.TransposeOuts(tensorDims(rank)...) // in whose order boxes follow one another
	return combine(l, e.CGA, shape), nil
}

// Box is the part of a tensor that one TMA instruction copies: at most
// tmaMaxBox elements along each dimension, and with a swizzle one row of it
// along the contiguous one. Boxes follow one another in memory.
func (e *NVMMAShared) Box(shape []int64) []int64 {
	contig := len(shape) - 1
	if e.Transposed {
		contig = 0
	}
	return e.box(ctaShape(e.CGA, shape), contig)
}

func (e *NVMMAShared) box(part []int64, contig int) []int64 {
	box := make([]int64, len(part))
	for i, n := range part {
		box[i] = min(n, tmaMaxBox)
	}
	if len(part) > 1 && e.SwizzlingByteWidth != 0 && e.ElementBitWidth != 0 {
		box[contig] = int64(8 * e.SwizzlingByteWidth / e.ElementBitWidth)
		if e.FP4Padded {
			box[contig] /= 2
		}
	}
	return box
}

// coreMatrix is the smallest swizzled tile, rows dim0 and columns dim1: the
// 16-byte chunks of each row permuted by XOR with the row's phase. With
// FP4Padded, of each 16 bytes the upper eight are empty, so two offsets show
// the same column.
func (e *NVMMAShared) coreMatrix() Layout {
	const rows = 8
	width := e.SwizzlingByteWidth
	cols := 8 * width / e.ElementBitWidth
	vec := 128 / e.ElementBitWidth
	perPhase, maxPhase := 128/width, width/16
	column := func(c int) int {
		if e.FP4Padded {
			return c/16*8 + c%8
		}
		return c
	}
	outCols := cols
	if e.FP4Padded {
		outCols /= 2
	}
	outs := []Axis{{TensorDim(0), log2(rows)}, {TensorDim(1), log2(outCols)}}
	var b Bases
	for c := 1; c < cols; c *= 2 {
		b = append(b, []int32{0, int32(column(c))})
	}
	for r := 1; r < rows; r *= 2 {
		b = append(b, []int32{int32(r), int32(column(vec * (r / perPhase % maxPhase)))})
	}
	return New(outs, Input{Offset, b})
}
