package layout

import "fmt"

// nvidiaTile is the arrangement of a warp's part of a tensor-core operand or
// accumulator: eight rows of four lanes, each lane holding kWidth elements
// side by side along inner; the tile repeats along outer, then along inner.
func nvidiaTile(outerSize, innerSize, kWidth, inner, outer int, repOrder []int) Layout {
	l := emptyTile(repOrder)
	in, out := TensorDim(inner), TensorDim(outer)
	l = Product(l, Identity(Register, in, kWidth))
	l = Product(l, Identity(Lane, in, 4))
	l = Product(l, Identity(Lane, out, 8))
	l = Product(l, Identity(Register, out, outerSize/8))
	return Product(l, Identity(Register, in, innerSize/(4*kWidth)))
}

// emptyTile has no bits; it fixes the order in which a tile is repeated over a
// larger tensor, and that registers are its first input.
func emptyTile(repOrder []int) Layout {
	l := Layout{ins: []Axis{{Register, 0}, {Lane, 0}, {Warp, 0}}}
	for _, d := range repOrder {
		l.outs = append(l.outs, Axis{TensorDim(d), 0})
	}
	return l
}

// columnMajor is the order with the second-to-last dimension fastest, then the
// last, then the batch dimensions.
func columnMajor(rank int) []int {
	o := rowMajor(rank)
	if rank >= 2 {
		o[0], o[1] = o[1], o[0]
	}
	return o
}

func (e *NvidiaMMA) check(rank int) error {
	if rank < 2 {
		return fmt.Errorf("encoding nvidia_mma on a tensor of rank %d", rank)
	}
	if err := checkPow2(e, rank, e.WarpsPerCTA); err != nil {
		return err
	}
	if err := checkBases(e, rank, e.CGA); err != nil {
		return err
	}
	switch {
	case e.VersionMajor == 2 && len(e.InstrShape) >= 2:
		m, n := e.InstrShape[len(e.InstrShape)-2], e.InstrShape[len(e.InstrShape)-1]
		if m < 8 || n < 8 || m&(m-1) != 0 || n&(n-1) != 0 {
			return fmt.Errorf("encoding nvidia_mma: version 2 has no instrShape %v", e.InstrShape)
		}
	case e.VersionMajor == 3 && len(e.InstrShape) == 3:
		m, n := e.InstrShape[0], e.InstrShape[1]
		if m != 16 || n < 8 || n%8 != 0 {
			return fmt.Errorf("encoding nvidia_mma: version 3 has no instrShape %v", e.InstrShape)
		}
	default:
		return fmt.Errorf("encoding nvidia_mma: there is no version %d with instrShape %v", e.VersionMajor, e.InstrShape)
	}
	return nil
}

// warpOrder is how the warps follow one another over the result: row-major for
// mma.sync, column-major for wgmma, whose four warps of a group are below one
// another.
func (e *NvidiaMMA) warpOrder() []int {
	if e.VersionMajor == 3 {
		return columnMajor(len(e.WarpsPerCTA))
	}
	return rowMajor(len(e.WarpsPerCTA))
}

// Linear is the map of the accumulator.
func (e *NvidiaMMA) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := e.check(rank); err != nil {
		return Layout{}, err
	}
	m, n := e.InstrShape[len(e.InstrShape)-2], e.InstrShape[len(e.InstrShape)-1]
	if e.VersionMajor == 3 {
		m, n = e.InstrShape[0], e.InstrShape[1]
	}
	if n&(n-1) != 0 {
		return Layout{}, fmt.Errorf("encoding nvidia_mma: the instruction's n = %d does not divide the shape %v", n, shape)
	}
	l := nvidiaTile(m, n, 2, rank-1, rank-2, rowMajor(rank))
	l = Product(l, IdentityND(Warp, e.WarpsPerCTA, e.warpOrder()))
	return combine(l, e.CGA, shape), nil
}

// nvidia: the operand as mma.sync reads it from registers.
func (e *DotOp) nvidia(p *NvidiaMMA, shape []int64) (Layout, error) {
	rank := len(shape)
	if err := p.check(rank); err != nil {
		return Layout{}, err
	}
	if e.KWidth <= 0 || e.KWidth&(e.KWidth-1) != 0 {
		return Layout{}, fmt.Errorf("encoding dot_op: kWidth %d is not a power of two", e.KWidth)
	}
	k, free := e.kDim(rank), e.freeDim(rank)
	across := 16
	if e.OpIdx == 1 {
		across = 8
	}
	// The tile repeats along K first, then across, then over the batch.
	rep := rowMajor(rank)
	rep[0], rep[1] = k, free
	l := nvidiaTile(across, 8*e.KWidth, e.KWidth, k, free, rep)
	l = Product(l, broadcastND(Warp, p.WarpsPerCTA, p.warpOrder(), k))
	return combine(l, e.cga(p.CGA, rank), shape), nil
}

const (
	mfmaLanes = 64 // lanes of a warp that executes an MFMA instruction
	wmmaLanes = 32 // lanes of a warp that executes a WMMA instruction
	wmmaSide  = 16 // rows and columns of a WMMA result
)

func (e *AMDMFMA) check(rank int) error {
	if rank < 2 {
		return fmt.Errorf("encoding amd_mfma on a tensor of rank %d", rank)
	}
	if err := checkPow2(e, rank, e.WarpsPerCTA, e.tiles()); err != nil {
		return err
	}
	if err := checkBases(e, rank, e.CGA); err != nil {
		return err
	}
	if len(e.InstrShape) < 2 {
		return fmt.Errorf("encoding amd_mfma: there is no instrShape %v", e.InstrShape)
	}
	switch [2]int{e.InstrShape[0], e.InstrShape[1]} {
	case [2]int{32, 32}, [2]int{16, 16}, [2]int{64, 4}, [2]int{4, 64}:
		return nil
	}
	return fmt.Errorf("encoding amd_mfma: there is no instrShape %v", e.InstrShape)
}

func (e *AMDMFMA) tiles() []int { return onesIfNil(e.TilesPerWarp, len(e.WarpsPerCTA)) }

func onesIfNil(l []int, rank int) []int {
	if l != nil {
		return l
	}
	l = make([]int, rank)
	for i := range l {
		l[i] = 1
	}
	return l
}

// Linear is the map of the accumulator: groups of four rows (one, when its
// elements have 64 bits) in each lane, lanes along the columns, then along the
// rows; IsTransposed exchanges rows and columns.
func (e *AMDMFMA) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := e.check(rank); err != nil {
		return Layout{}, err
	}
	height := 4
	if e.ElementBitWidth == 64 {
		height = 1
	}
	mSize, nSize := e.InstrShape[0], e.InstrShape[1]
	along, across, lanes := TensorDim(rank-2), TensorDim(rank-1), nSize
	if e.IsTransposed {
		along, across, lanes = across, along, mSize
	}
	l := emptyTile(rowMajor(rank))
	l = Product(l, Identity(Register, along, height))
	l = Product(l, Identity(Lane, across, lanes))
	l = Product(l, Identity(Lane, along, mfmaLanes/lanes))
	l = Product(l, Identity(Register, along, mSize*nSize/(mfmaLanes*height)))
	l = Product(l, IdentityND(Register, e.tiles(), rowMajor(rank)))
	l = Product(l, IdentityND(Warp, e.WarpsPerCTA, rowMajor(rank)))
	return combine(l, e.CGA, shape), nil
}

// mfma: KWidth elements along K in each lane, lanes across, then along K.
func (e *DotOp) mfma(p *AMDMFMA, shape []int64) (Layout, error) {
	rank := len(shape)
	if err := p.check(rank); err != nil {
		return Layout{}, err
	}
	lanes := p.InstrShape[e.OpIdx]
	return e.amdOperand(shape, amdTile{
		lanes: lanes, kLanes: mfmaLanes / lanes,
		tiles: p.tiles(), warps: p.WarpsPerCTA, cga: p.CGA,
	})
}

type amdTile struct {
	lanes  int // lanes across
	kLanes int // groups of lanes along K
	copies int // groups of lanes that hold the same; 0 means 1
	tiles  []int
	warps  []int
	cga    Bases
}

func (e *DotOp) amdOperand(shape []int64, t amdTile) (Layout, error) {
	rank := len(shape)
	if e.KWidth <= 0 || e.KWidth&(e.KWidth-1) != 0 {
		return Layout{}, fmt.Errorf("encoding dot_op: kWidth %d is not a power of two", e.KWidth)
	}
	k, free := e.kDim(rank), e.freeDim(rank)
	rep := rowMajor(rank)
	rep[0], rep[1] = k, free
	l := emptyTile(rep)
	l = Product(l, Identity(Register, TensorDim(k), e.KWidth))
	l = Product(l, Identity(Lane, TensorDim(free), t.lanes))
	l = Product(l, Identity(Lane, TensorDim(k), t.kLanes))
	l = Product(l, Zeros(Lane, TensorDim(k), max(1, t.copies)))
	if rest := int(shape[k]) / l.OutSize(TensorDim(k)); rest > 1 {
		l = Product(l, Identity(Register, TensorDim(k), rest))
	}
	l = Product(l, Identity(Register, TensorDim(free), t.tiles[free]))
	l = Product(l, broadcastND(Warp, t.warps, rowMajor(rank), k))
	return combine(l, e.cga(t.cga, rank), shape), nil
}

func (e *AMDWMMA) check(rank int) error {
	if rank < 2 {
		return fmt.Errorf("encoding amd_wmma on a tensor of rank %d", rank)
	}
	if err := checkPow2(e, rank, e.WarpsPerCTA, e.tiles()); err != nil {
		return err
	}
	if err := checkBases(e, rank, e.CGA); err != nil {
		return err
	}
	if e.Version < 1 || e.Version > 3 {
		return fmt.Errorf("encoding amd_wmma: there is no version %d", e.Version)
	}
	if e.InstrShape != nil && (len(e.InstrShape) < 2 || e.InstrShape[0] != wmmaSide || e.InstrShape[1] != wmmaSide) {
		return fmt.Errorf("encoding amd_wmma: there is no instrShape %v", e.InstrShape)
	}
	return nil
}

func (e *AMDWMMA) tiles() []int { return onesIfNil(e.TilesPerWarp, len(e.WarpsPerCTA)) }

// Linear is the map of the accumulator: sixteen lanes along the columns, the
// rows split between eight registers and the two halves of the warp. Version 1
// interleaves the halves' rows, the later ones put eight rows side by side.
// IsTranspose exchanges rows and columns.
func (e *AMDWMMA) Linear(shape []int64) (Layout, error) {
	if err := checkShape(e, shape); err != nil {
		return Layout{}, err
	}
	rank := len(shape)
	if err := e.check(rank); err != nil {
		return Layout{}, err
	}
	along, across := TensorDim(rank-2), TensorDim(rank-1)
	if e.IsTranspose {
		along, across = across, along
	}
	l := emptyTile(rowMajor(rank))
	l = Product(l, Identity(Lane, across, wmmaSide))
	if e.Version == 1 {
		l = Product(l, Identity(Lane, along, 2))
		l = Product(l, Identity(Register, along, 8))
	} else {
		l = Product(l, Identity(Register, along, 8))
		l = Product(l, Identity(Lane, along, 2))
	}
	l = Product(l, IdentityND(Register, e.tiles(), rowMajor(rank)))
	l = Product(l, IdentityND(Warp, e.WarpsPerCTA, rowMajor(rank)))
	return combine(l, e.CGA, shape), nil
}

// wmma: version 1 reads all of K from every lane, both halves of the warp
// holding the same; the later versions split K between the halves.
func (e *DotOp) wmma(p *AMDWMMA, shape []int64) (Layout, error) {
	if err := p.check(len(shape)); err != nil {
		return Layout{}, err
	}
	t := amdTile{lanes: wmmaSide, kLanes: wmmaLanes / wmmaSide, tiles: p.tiles(), warps: p.WarpsPerCTA, cga: p.CGA}
	if p.Version == 1 {
		t.kLanes, t.copies = 1, wmmaLanes/wmmaSide
	}
	return e.amdOperand(shape, t)
}
