package tmem

import (
	"math/bits"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// point is an element's place in a matrix: row and column.
type point [2]int64

// A place says which element of a matrix each bit of a row's and of a column's number in
// tensor memory adds. Tensor memory has 128 rows, of which each warp of a warpgroup
// sees 32, and columns of 32 bits, counted here in elements. A zero is a bit that
// nothing depends on: rows or columns that repeat the element, or that hold nothing.
type place struct{ rows, cols []point }

// placeOf is how a buffer's last two dimensions lie in tensor memory; ok is false for a
// buffer that is not there.
func placeOf(m *ttg.MemDescType) (p place, ok bool) {
	if len(m.Shape) < 2 {
		return place{}, false
	}
	shape := point(m.Shape[len(m.Shape)-2:])
	if e, is := ttng.MatrixOf(m); is {
		return placeMatrix(shape, e), true
	}
	if split, is := ttng.ScalesOf(m); is {
		return placeScales(shape, split), true
	}
	return place{}, false
}

// bitsOf appends one point for each bit of a number below n, from the coordinate first of
// dimension dim on.
func bitsOf(list []point, dim int, first, n int64) []point {
	for x := int64(1); x < n; x *= 2 {
		var p point
		p[dim] = first * x
		list = append(list, p)
	}
	return list
}

func placeMatrix(shape point, e ttng.Matrix) place {
	// The parts of CTAs follow one another, those of the second dimension last.
	if n := e.CTASplitN; n > 1 {
		e.CTASplitN = 1
		p := placeMatrix(point{shape[0], shape[1] / n}, e)
		p.cols = bitsOf(p.cols, 1, shape[1]/n, n)
		return p
	}
	if m := e.CTASplitM; m > 1 {
		// Two CTAs with 64 rows each share a matrix of 128 rows: the last bits of row and
		// column change places.
		halves := e.BlockM == 64 && e.TwoCTAs
		if halves {
			e.BlockM, m = 128, m/2
		}
		e.CTASplitM = 1
		p := placeMatrix(point{shape[0] / m, shape[1]}, e)
		p.cols = bitsOf(p.cols, 0, shape[0]/m, m)
		if r, c := len(p.rows)-1, len(p.cols)-1; halves && c >= 0 {
			p.rows[r], p.cols[c] = p.cols[c], p.rows[r]
		}
		return p
	}
	n := min(e.BlockN, shape[1])
	p := place{cols: make([]point, bits.Len64(uint64(e.ColStride))-1)}
	p.cols = bitsOf(p.cols, 1, 1, n)
	size := point{e.BlockM, n}
	if e.BlockM == 64 {
		p.rows = bitsOf(nil, 0, 1, 16)
		second := point{} // the other 16 rows of each warp
		switch {
		case shape[0] > 64:
			second, size[0] = point{64, 0}, 128
		case shape[1] > n:
			second, size[1] = point{0, n}, 2*n
		}
		p.rows = append(p.rows, second, point{16, 0}, point{32, 0})
	} else {
		p.rows = bitsOf(nil, 0, 1, e.BlockM)
	}
	p.cols = bitsOf(p.cols, 0, size[0], shape[0]/size[0])
	p.cols = bitsOf(p.cols, 1, size[1], shape[1]/size[1])
	return p
}

func placeScales(shape, split point) place {
	for dim := 1; dim >= 0; dim-- {
		if n := split[dim]; n > 1 {
			part, one := shape, split
			part[dim] /= n
			one[dim] = 1
			p := placeScales(part, one)
			p.cols = bitsOf(p.cols, dim, part[dim], n)
			return p
		}
	}
	// 32 rows, which each warp has a copy of, by 4 columns; 64 rows are two of these.
	p := place{rows: append(bitsOf(nil, 0, 1, 32), point{}, point{})}
	p.cols = bitsOf(nil, 1, 1, 4)
	p.cols = bitsOf(p.cols, 0, 32, 2)
	p.cols = bitsOf(p.cols, 0, 64, (shape[0]+63)/64)
	p.cols = bitsOf(p.cols, 1, 4, (shape[1]+3)/4)
	for _, list := range [][]point{p.rows, p.cols} {
		for i, x := range list {
			if x[0] >= shape[0] || x[1] >= shape[1] {
				list[i] = point{}
			}
		}
	}
	return p
}

// scaled is p with the second dimension, and the columns, counted in groups of n
// elements that follow the first skip bits of a column's number.
func (p place) packed(skip int, n int64) place {
	q := place{}
	for _, x := range p.rows {
		q.rows = append(q.rows, point{x[0], x[1] / n})
	}
	for _, x := range p.cols[skip:] {
		q.cols = append(q.cols, point{x[0], x[1] / n})
	}
	return q
}

// neighbours is how many elements that follow one another in a row of the matrix do so
// in the first columns, at most limit.
func (p place) neighbours(limit int64) int64 {
	n := int64(1)
	for _, x := range p.cols {
		if n >= limit || x != (point{0, n}) {
			break
		}
		n *= 2
	}
	return n
}

// An atom is a form of tcgen05.ld and tcgen05.st: which row and column of tensor memory
// each bit of a register's and a lane's number adds.
type atom struct {
	regs, lanes []point
	cols        int64
}

// atoms are the forms, the first of which gives a thread all columns of one row.
var atoms = [...]atom{
	{lanes: []point{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}}, cols: 1},
	{regs: []point{{0, 1}, {8, 0}}, lanes: []point{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, cols: 8},
	{regs: []point{{8, 0}}, lanes: []point{{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}, cols: 4},
	{lanes: []point{{8, 0}, {0, 1}, {1, 0}, {2, 0}, {4, 0}}, cols: 2},
}

// The atoms by their names: rows by bits of a row.
const (
	by32x32b = iota
	by16x256b
	by16x128b
	by16x64b
)

// spread is a tensor in registers: what each bit of a register's, a lane's and a warp's
// number adds.
type spread struct{ regs, lanes, warps []point }

// spreadOf is how numWarps warps hold what they load from p by one atom; ok is false if
// they cannot. width is that of an element in bits.
func spreadOf(p place, form, numWarps, width int) (s spread, ok bool) {
	if width < 32 {
		wide := int64(32 / width)
		skip := bits.Len64(uint64(wide)) - 1
		pad := len(p.cols) >= skip
		for i := range min(skip, len(p.cols)) {
			pad = pad && p.cols[i] == point{}
		}
		n := p.neighbours(wide)
		switch {
		case n > 1: // in one register
			return spreadPacked(p, bits.Len64(uint64(n))-1, n, form, numWarps, width*int(n))
		case width == 16 && pad && len(p.cols) > skip && p.cols[skip] == point{0, 1}:
			return spreadPacked(p, skip+1, 2, form, numWarps, 32)
		case pad:
			return spreadOf(p.packed(skip, 1), form, numWarps, 32)
		case len(p.cols) == 0:
			return spreadOf(p, form, numWarps, 32)
		}
		return spread{}, false
	}
	a := atoms[form]
	missing := (int64(1) << len(p.cols)) / a.cols
	if missing == 0 {
		return spread{}, false
	}
	tall, half := form == by32x32b, p.rows[4] == point{}
	regs, lanes := append([]point(nil), a.regs...), append([]point(nil), a.lanes...)
	seen := lanes
	if tall {
		seen = lanes[:4] // the last one may come from another column
	}
	for _, list := range [][]point{regs, seen} {
		for _, x := range list {
			if p.at(x) == (point{}) {
				return spread{}, false
			}
		}
	}
	// Atoms of 16 rows need twice as many for the 32 of a warp.
	rowByWarp := !tall && !half && numWarps > 4
	tiled := int64(numWarps / 4)
	if rowByWarp {
		tiled /= 2
	}
	copies := tiled / min(missing, tiled)
	tiled /= copies
	missing /= tiled
	cols := a.cols
	if missing > 1 {
		if tall && half {
			regs = bitsOf(regs, 1, cols, missing/2)
			lanes[4] = point{0, cols * missing / 2}
		} else {
			regs = bitsOf(regs, 1, cols, missing)
		}
		cols *= missing
	}
	warps := []point{{32, 0}, {64, 0}}
	switch {
	case rowByWarp:
		warps = append(warps, point{16, 0})
	case !tall && !half:
		regs = append(regs, point{16, 0})
	}
	warps = bitsOf(warps, 1, cols, tiled)
	for ; copies > 1; copies /= 2 {
		warps = append(warps, point{})
	}
	return spread{p.all(regs), p.all(lanes), p.all(warps)}, true
}

// spreadPacked is spreadOf for n elements that lie in one register of width bits.
func spreadPacked(p place, skip int, n int64, form, numWarps, width int) (spread, bool) {
	s, ok := spreadOf(p.packed(skip, n), form, numWarps, width)
	if !ok {
		return s, false
	}
	for _, list := range [][]point{s.regs, s.lanes, s.warps} {
		for i := range list {
			list[i][1] *= n
		}
	}
	s.regs = append(bitsOf(nil, 1, 1, n), s.regs...)
	return s, true
}

// at is the element at a row and column of tensor memory, each 0 or a power of two.
func (p place) at(x point) point {
	if x[0] != 0 {
		return p.rows[bits.TrailingZeros64(uint64(x[0]))]
	}
	if x[1] != 0 {
		return p.cols[bits.TrailingZeros64(uint64(x[1]))]
	}
	return point{}
}

func (p place) all(list []point) []point {
	out := make([]point, len(list))
	for i, x := range list {
		out[i] = p.at(x)
	}
	return out
}

// registerLayout is the layout of a tensor that numWarps warps load from a buffer or
// store to it by one atom, divided among CTAs as like is; ok is false if they cannot.
func registerLayout(m *ttg.MemDescType, form, numWarps int, like layout.Encoding) (l *layout.Linear, ok bool) {
	p, ok := placeOf(m)
	if !ok || numWarps < 4 {
		return nil, false
	}
	cga, ctas := blocksOf(like, m.Shape)
	drop := bits.Len64(uint64(ctas)) - 1
	if drop > len(p.cols) {
		return nil, false
	}
	p.cols = p.cols[:len(p.cols)-drop]
	width := ir.BitWidth(m.Elem)
	if width == 0 || width > 32 {
		return nil, false
	}
	s, ok := spreadOf(p, form, numWarps, width)
	if !ok {
		return nil, false
	}
	return &layout.Linear{Register: basesOf(s.regs), Lane: basesOf(s.lanes), Warp: basesOf(s.warps), Block: cga}, true
}

// blocksOf is how CTAs share a tensor of that shape in layout like, and the number of
// parts.
func blocksOf(like layout.Encoding, shape []int64) (layout.Bases, int) {
	if like == nil {
		return nil, 1
	}
	l, err := like.Linear(shape)
	if err != nil {
		return nil, 1
	}
	blocks := l.BasesOf(layout.Block)
	parts := 1
	for _, b := range blocks {
		for _, x := range b {
			if x != 0 {
				parts *= 2
			}
		}
	}
	return blocks, parts
}

func basesOf(list []point) layout.Bases {
	out := layout.Bases{}
	for _, x := range list {
		out = append(out, []int32{int32(x[0]), int32(x[1])})
	}
	return out
}

// defaultLayout is the layout in which numWarps warps load from m and store to it.
func defaultLayout(c *ir.Context, m *ttg.MemDescType, numWarps int, like layout.Encoding) (ir.Attribute, bool) {
	l, ok := registerLayout(m, by32x32b, numWarps, like)
	if !ok {
		return nil, false
	}
	return encoding.Of(c, l), true
}

// fits reports whether a tensor of type t can be loaded from m, or stored to it, without
// going through another layout.
func fits(t *ir.TensorType, m *ttg.MemDescType) bool {
	p, ok := placeOf(m)
	enc := encoding.Get(t)
	if !ok || enc == nil {
		return false
	}
	l, err := enc.Linear(t.Shape)
	if err != nil {
		return false
	}
	warps := pointsOf(l.BasesOf(layout.Warp))
	if len(warps) < 2 || warps[0] != p.rows[5] || warps[1] != p.rows[6] {
		return false
	}
	var regs, lanes []point
	for _, x := range pointsOf(l.BasesOf(layout.Register)) {
		y, ok := p.find(x)
		if !ok {
			return false
		}
		if y != (point{}) {
			regs = append(regs, y)
		}
	}
	for _, x := range pointsOf(l.BasesOf(layout.Lane)) {
		y, ok := p.find(x)
		if !ok {
			return false
		}
		lanes = append(lanes, y)
	}
	// Elements of one register are neighbours in a row; padding before them is none.
	width, cols := ir.BitWidth(t.Elem), int64(1)
	for i := 0; width < 32 && i < len(regs) && regs[i] == (point{0, cols}); i++ {
		cols, width = 2*cols, 2*width
	}
	regs = regs[bits.Len64(uint64(cols))-1:]
	for i, x := range p.cols {
		if cols == 1 && width < 32 && i < bits.Len64(uint64(32/width))-1 && x != (point{}) {
			return false
		}
	}
	if cols == 1 && width < 32 {
		cols = int64(32 / width)
	}
	for _, a := range atoms {
		if matches(a, regs, lanes, cols) {
			return true
		}
	}
	// The last lane bit of 32x32b may be any: 16x32bx2.
	return len(lanes) == 5 && samePoints(lanes[:4], atoms[by32x32b].lanes[:4])
}

// matches reports whether lanes are those of a, whose columns are cols wide, and its
// registers are among regs.
func matches(a atom, regs, lanes []point, cols int64) bool {
	wide := func(list []point) []point {
		out := make([]point, len(list))
		for i, x := range list {
			out[i] = point{x[0], x[1] * cols}
		}
		return out
	}
	if !samePoints(lanes, wide(a.lanes)) {
		return false
	}
	for _, r := range wide(a.regs) {
		found := false
		for _, x := range regs {
			found = found || x == r
		}
		if !found {
			return false
		}
	}
	return true
}

func samePoints(a, b []point) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func pointsOf(list layout.Bases) []point {
	var out []point
	for _, b := range list {
		if len(b) != 2 {
			return nil
		}
		out = append(out, point{int64(b[0]), int64(b[1])})
	}
	return out
}

// find is the row and column of tensor memory that hold what element x adds; ok is
// false if none does.
func (p place) find(x point) (y point, ok bool) {
	for i, r := range p.rows {
		if r != (point{}) && r[0]&x[0] == r[0] && r[1]&x[1] == r[1] {
			x[0], x[1], y[0] = x[0]&^r[0], x[1]&^r[1], y[0]|1<<i
		}
	}
	for i, c := range p.cols {
		if c != (point{}) && c[0]&x[0] == c[0] && c[1]&x[1] == c[1] {
			x[0], x[1], y[1] = x[0]&^c[0], x[1]&^c[1], y[1]|1<<i
		}
	}
	return y, x == point{}
}

// size is the rows, 64 or 128, and columns of 32 bits that a buffer takes in each CTA.
func size(m *ttg.MemDescType) (rows, cols int64) {
	p, ok := placeOf(m)
	if !ok {
		return 0, 0
	}
	rows = int64(1) << len(p.rows)
	if p.rows[4] == (point{}) {
		rows /= 2
	}
	cols = int64(1) << len(p.cols)
	split := int64(1)
	if e, is := ttng.MatrixOf(m); is {
		split = e.CTASplitM * e.CTASplitN
	} else if s, is := ttng.ScalesOf(m); is {
		split = s[0] * s[1]
	}
	cols = max(cols*int64(ir.BitWidth(m.Elem))/32/split, 1)
	for _, n := range m.Shape[:len(m.Shape)-2] {
		cols *= n
	}
	return rows, cols
}

// warpsOf is the number of warps that run op; 0 if the module does not say.
func warpsOf(op *ir.Operation) int {
	for ; op.Parent() != nil; op = op.Parent() {
		p := op.Parent()
		if !p.Is(ttg.WarpSpecializePartitions) {
			continue
		}
		counts := ttg.AsWarpSpecialize(p.Parent()).PartitionNumWarps()
		for i, r := range p.Regions() {
			if r == op.Block().Region() && i < len(counts) {
				return int(counts[i])
			}
		}
	}
	n, _ := op.IntAttr(ttg.NumWarpsAttr)
	return int(n)
}

// Columns is how many columns of 32 bits a buffer in tensor memory takes in each CTA.
func Columns(m *ttg.MemDescType) int64 {
	_, cols := size(m)
	return cols
}
