package lower

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// A dot of tensors is cut into dots of tiles, each one instruction of a
// warp. Which elements a lane brings along is a linear map of the instruction;
// which registers of the operands those are is found by comparing it with the
// operands' layouts. The instruction's k may number the columns of A and the
// rows of B in any order, as long as it is the same for both: that is how
// operands whose lanes hold long runs along K need no shuffling.

// Product asks for an instruction: A times B, added to C.
type Product struct {
	// A, B and C are element types, C also the result's.
	A, B, C ir.Type
	// Precision is a number of tt.InputPrecisions.
	Precision int64
	// Result is the encoding of C and of the result.
	Result layout.Encoding
}

// MatrixInstr is an instruction that multiplies a tile of A by one of B and adds
// one of C, the tiles being spread over the lanes of a warp.
type MatrixInstr struct {
	// A, B and C map (register, lane) to dim0, the row, and dim1, the column of
	// the tile: m×k, k×n, m×n. Each bit moves along one of them, or is zero.
	A, B, C layout.Layout
	// Snake orders the tiles of a dot so that neighbours have an operand in common:
	// down one column, up the next. Without it they are in the order of the
	// result's registers.
	Snake bool
	// Emit appends the instruction. a, b and c are elements in the order of the
	// registers of A, B and C; the result is in that of C.
	Emit func(b *llir.Builder, x, y, c []llir.Value) []llir.Value
}

func dotHandlers(h map[*ir.OpDef]handler) {
	h[tt.Dot] = on(tt.AsDot, (*emitter).dot)
	h[tt.DotScaled] = on(tt.AsDotScaled, (*emitter).dotScaled)
	h[ttg.Fp4ToFp] = on(ttg.AsFp4ToFp, (*emitter).fp4ToFp)
}

func (e *emitter) dot(op tt.DotOp) error {
	var ts [3]*ir.TensorType
	var ls [3]*tensorLayout
	for i, v := range []*ir.Value{op.A(), op.B(), op.C()} {
		ts[i] = v.Type().(*ir.TensorType)
		l, err := e.m.layoutOf(ts[i])
		if err != nil {
			return err
		}
		ls[i] = l
	}
	if threadLocal(ls[0], ls[1], ls[2]) {
		return e.multiplyAdd(op, ls[0], ls[1], ls[2])
	}
	p := Product{A: ts[0].Elem, B: ts[1].Elem, C: ts[2].Elem, Result: encoding.Get(ts[2])}
	p.Precision = op.InputPrecision()
	ins, err := e.m.caps.Matrix.MatrixInstrs(p)
	if err != nil {
		return err
	}
	for _, in := range ins {
		var f *fragments
		if f, err = e.m.match(op.Op, in); err == nil {
			e.matrix = true
			e.uneven = e.uneven || uneven(op.Op)
			return e.matrixProduct(op, in, f)
		}
	}
	return err
}

// fragment is an operand seen as tiles of an instruction.
type fragment struct {
	l        *tensorLayout
	row, col int // the tensor's dimensions of the tile
	// regs is the register bit of the operand for each register bit of the tile,
	// and mask all of them.
	regs []int
	mask int
	// rows and cols are the positions, along the tensor's dimension, that the
	// bits of the tile's row and column stand for.
	rows, cols []int32
	// at finds the first register of a tile by the coordinates that it adds.
	at map[string]int
}

// fragment matches an operand with a tile.
func (m *module) fragment(t *ir.TensorType, tile layout.Layout, ctx *ir.Context) (*fragment, error) {
	l, err := m.wholeTiles(t, ctx)
	if err != nil {
		return nil, err
	}
	rank := len(t.Shape)
	f := &fragment{l: l, row: rank - 2, col: rank - 1}
	f.rows = make([]int32, tile.OutBits(layout.TensorDim(0)))
	f.cols = make([]int32, tile.OutBits(layout.TensorDim(1)))
	mismatch := fmt.Errorf("the layout of an operand is not that of the matrix instruction")
	if tile.InSize(layout.Lane) != m.lanes {
		return nil, fmt.Errorf("the matrix instruction needs warps of %s", diag.Count(tile.InSize(layout.Lane), "lane"))
	}
	for _, v := range tile.BasesOf(layout.Register) {
		slot, bit, dim := f.slot(v)
		i := slices.IndexFunc(l.reg, func(w []int32) bool { return alone(w, dim) })
		for i >= 0 && f.mask>>i&1 != 0 {
			next := slices.IndexFunc(l.reg[i+1:], func(w []int32) bool { return alone(w, dim) })
			if i += next + 1; next < 0 {
				i = -1
			}
		}
		if i < 0 {
			return nil, mismatch
		}
		f.regs = append(f.regs, i)
		f.mask |= 1 << i
		slot[bit] = l.reg[i][dim]
	}
	for i, v := range tile.BasesOf(layout.Lane) {
		if v[0] == 0 && v[1] == 0 {
			if slices.ContainsFunc(l.thread[i], func(x int32) bool { return x != 0 }) {
				return nil, mismatch
			}
			continue
		}
		slot, bit, dim := f.slot(v)
		if !alone(l.thread[i], dim) {
			return nil, mismatch
		}
		slot[bit] = l.thread[i][dim]
	}
	f.at = make(map[string]int)
	for r := l.regs - 1; r >= 0; r-- {
		if r&f.mask == 0 {
			f.at[coordKey(l.regCoords(r))] = r
		}
	}
	return f, nil
}

// slot is where to note the tensor's vector for a basis vector of the tile.
func (f *fragment) slot(v []int32) (slots []int32, bit, dim int) {
	if v[0] != 0 {
		return f.rows, bitLen(int(v[0])), f.row
	}
	return f.cols, bitLen(int(v[1])), f.col
}

// alone reports whether v moves along dimension d and no other.
func alone(v []int32, d int) bool {
	for i, x := range v {
		if (x != 0) != (i == d) {
			return false
		}
	}
	return true
}

// wholeTiles is the layout of t without the clipping that a tensor smaller than
// an instruction's tile suffers: the same registers, with the coordinates that
// they would have in a larger tensor. In a cluster it is that of a CTA's part.
func (m *module) wholeTiles(t *ir.TensorType, ctx *ir.Context) (*tensorLayout, error) {
	l, err := m.layoutOf(t)
	if err != nil {
		return nil, err
	}
	block := l.block
	if m.ctas > 1 {
		e := encoding.Get(t)
		part, err := layout.PartOf(e, t.Shape)
		if err != nil {
			return nil, err
		}
		t = ctx.Tensor(part, t.Elem, encoding.Of(ctx, layout.Undivided(e)))
		if l, err = m.layoutOf(t); err != nil {
			return nil, err
		}
	}
	regs, rank := l.regs, len(t.Shape)
	shape := slices.Clone(t.Shape)
	for _, d := range []int{rank - 2, rank - 1} {
		for m.zeroVectors(l) > 0 {
			shape[d] *= 2
			g, err := m.layoutOf(ctx.Tensor(shape, t.Elem, t.Encoding))
			if err != nil || g.regs != regs || m.zeroVectors(g) == m.zeroVectors(l) {
				shape[d] /= 2
				break
			}
			l = g
		}
	}
	if m.ctas > 1 {
		whole := *l
		whole.block = block
		l = &whole
	}
	return l, nil
}

// zeroVectors counts the bits of the register and the lane that move nowhere.
func (m *module) zeroVectors(l *tensorLayout) int {
	n := 0
	for _, v := range slices.Concat(l.reg, l.thread[:bitLen(m.lanes)]) {
		if !slices.ContainsFunc(v, func(x int32) bool { return x != 0 }) {
			n++
		}
	}
	return n
}

// fragments are the operands of a dot matched with an instruction.
type fragments struct{ a, b, c *fragment }

func (m *module) match(op *ir.Operation, in *MatrixInstr) (*fragments, error) {
	var fs [3]*fragment
	for i, tile := range []layout.Layout{in.A, in.B, in.C} {
		f, err := m.fragment(op.Operand(i).Type().(*ir.TensorType), tile, op.Context())
		if err != nil {
			return nil, err
		}
		fs[i] = f
	}
	f := &fragments{fs[0], fs[1], fs[2]}
	if !f.agree(bitLen(m.lanes)) {
		return nil, fmt.Errorf("the operands' layouts do not fit the result's")
	}
	return f, nil
}

// agree checks that the tiles and warps of the operands meet those of the
// result.
func (f *fragments) agree(laneBits int) bool {
	a, b, c := f.a, f.b, f.c
	if !slices.Equal(a.rows, c.rows) || !slices.Equal(b.cols, c.cols) || !slices.Equal(a.cols, b.rows) {
		return false
	}
	far := func(l *tensorLayout) [][]int32 { return slices.Concat(l.thread[laneBits:], l.block) }
	as, bs := far(a.l), far(b.l)
	for i, z := range far(c.l) {
		x, y := as[i], bs[i]
		if x[a.col] != 0 || y[b.row] != 0 || x[a.row] != z[c.row] || y[b.col] != z[c.col] ||
			!slices.Equal(x[:a.row], z[:a.row]) || !slices.Equal(y[:a.row], z[:a.row]) {
			return false
		}
	}
	return true
}

// matrixProduct multiplies tile by tile.
func (e *emitter) matrixProduct(op tt.DotOp, in *MatrixInstr, f *fragments) error {
	a, b, c := f.a, f.b, f.c
	k := int32(op.A().Type().(*ir.TensorType).Shape[a.col])
	x := e.withinK(a, a.cols, a.col, k, e.value(op.A()))
	y := e.withinK(b, b.rows, b.row, k, e.value(op.B()))
	acc := slices.Clone(e.value(op.C()))
	tiles := c.tiles()
	if in.Snake {
		tiles = c.snake(tiles)
	}
	for _, kv := range a.steps(a.col) {
		if kv >= k {
			continue
		}
		for _, r := range tiles {
			at := c.l.regCoords(r)
			n := at[c.col]
			at[c.col] = kv
			i, ok := a.at[coordKey(at)]
			at[c.row], at[c.col] = kv, n
			j, ok2 := b.at[coordKey(at)]
			if !ok || !ok2 {
				return fmt.Errorf("the operands' layouts do not hold the tiles of the result")
			}
			c.scatter(r, acc, in.Emit(e.b, a.gather(i, x), b.gather(j, y), c.gather(r, acc)))
		}
	}
	for r := range acc {
		acc[r] = acc[c.l.canonical(r)]
	}
	e.set(op.Result(), acc)
	return nil
}

// tiles lists the first registers of the tiles, those that hold the same but once.
func (f *fragment) tiles() []int {
	var out []int
	for r := range f.l.regs {
		if r&f.mask == 0 && f.l.canonical(r) == r {
			out = append(out, r)
		}
	}
	return out
}

// snake orders tiles as MatrixInstr.Snake says.
func (f *fragment) snake(tiles []int) []int {
	column := func(r int) int32 { return f.l.regCoords(r)[f.col] }
	slices.SortStableFunc(tiles, func(x, y int) int { return int(column(x) - column(y)) })
	up := false
	for first := 0; first < len(tiles); up = !up {
		next := first + 1
		for next < len(tiles) && column(tiles[next]) == column(tiles[first]) {
			next++
		}
		if up {
			slices.Reverse(tiles[first:next])
		}
		first = next
	}
	return tiles
}

// steps lists, in the order of the registers, the positions along a dimension at
// which tiles begin.
func (f *fragment) steps(dim int) []int32 {
	out := []int32{0}
	for i, v := range f.l.reg {
		if f.mask>>i&1 == 0 && v[dim] != 0 {
			for _, x := range out {
				out = append(out, x^v[dim])
			}
		}
	}
	return out
}

// tileRegs calls f with each register of the tile that begins at r.
func (f *fragment) tileRegs(r int, visit func(i, reg int)) {
	for i := range 1 << len(f.regs) {
		reg := r
		for j, bit := range f.regs {
			if i>>j&1 != 0 {
				reg |= 1 << bit
			}
		}
		visit(i, reg)
	}
}

func (f *fragment) gather(r int, vals []llir.Value) []llir.Value {
	out := make([]llir.Value, 1<<len(f.regs))
	f.tileRegs(r, func(i, reg int) { out[i] = vals[reg] })
	return out
}

func (f *fragment) scatter(r int, vals, tile []llir.Value) {
	f.tileRegs(r, func(i, reg int) { vals[reg] = tile[i] })
}

// withinK zeroes what an operand shorter than the instruction's k repeats
// beyond its end, which would be added twice. slots are the positions along K,
// dimension dim, of the bits of the tile.
func (e *emitter) withinK(f *fragment, slots []int32, dim int, k int32, vals []llir.Value) []llir.Value {
	if !slices.ContainsFunc(slots, func(x int32) bool { return x >= k }) {
		return vals
	}
	zero := e.m.llvm.Zero(vals[0].Type())
	var lanes uint64
	for i, v := range f.l.thread {
		if v[dim] >= k {
			lanes |= 1 << i
		}
	}
	inside := e.zeroBitsOfThread(lanes)
	out := make([]llir.Value, len(vals))
	for r, v := range vals {
		switch {
		case f.l.regCoord(r, dim) >= k:
			v = zero
		case inside != nil:
			v = e.b.Select(inside, v, zero)
		}
		out[r] = v
	}
	return out
}
