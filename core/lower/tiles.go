package lower

import (
	"slices"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
)

// Some targets move tiles of shared memory by all lanes of a warp together: a
// lane gives the address of one row, and holds elements of other rows. Such an
// instruction is legal where the map from registers and lanes to offsets repeats the
// tile's: what moves along a row of the tile moves through a row in memory, and
// all else moves by whole rows.

// Tiles says what an instruction moves.
type Tiles struct {
	// Tile maps (register, lane) to dim0, the row, and dim1, the column of the
	// element that a lane holds of one tile. A row lies side by side in memory and
	// is aligned to its size.
	Tile layout.Layout
	// Most is the largest number of tiles of one instruction, a power of two.
	Most int
}

// TileLoad is an instruction that loads tiles.
type TileLoad struct {
	Tiles
	// Load appends the instruction. Lane l gives, as ptr + off, the address of
	// row l mod rows of tile l / rows. The result is tile by tile in the order of
	// Tile's registers.
	Load func(b *llir.Builder, ptr llir.Value, off int64, tiles int, elem llir.Type) []llir.Value
}

// TileStore is an instruction that stores tiles.
type TileStore struct {
	Tiles
	// Store appends the instruction. The addresses and the order of the elements
	// are those of a load.
	Store func(b *llir.Builder, ptr llir.Value, off int64, tiles int, vals []llir.Value)
}

// tilePlan is an access by tiles: bits of the register of the tensor.
type tilePlan struct {
	// word holds the bits within a tile, tiles those that tell the tiles of one
	// instruction apart, rest those that tell instructions apart.
	word, tiles, rest []int
	// cols is the offset, in elements, that each bit of the thread adds to the
	// address that it gives.
	cols []uint64
}

// planTiles matches an access to shared memory with an instruction.
func (m *module) planTiles(p *sharedPlan, in *Tiles) (*tilePlan, bool) {
	tile := in.Tile
	regs, lanes := p.offs.Columns(layout.Register), p.offs.Columns(layout.Lane)
	row := uint64(tile.OutSize(layout.TensorDim(1)))
	whole := func(c uint64) bool { return c%row == 0 }
	if p.padding != nil || tile.InSize(layout.Lane) != m.lanes || !whole(uint64(p.flip)) {
		return nil, false
	}
	t := new(tilePlan)
	rows := make([]uint64, tile.OutBits(layout.TensorDim(0)))
	free := p.tensor.freeRegs
	take := func(fits func(c uint64) bool) (int, bool) {
		for i, c := range regs {
			if free>>i&1 == 0 && !slices.Contains(t.word, i) && fits(c) {
				return i, true
			}
		}
		return 0, false
	}
	for _, v := range tile.BasesOf(layout.Register) {
		i, ok := take(func(c uint64) bool {
			if v[1] != 0 {
				return c == uint64(v[1])
			}
			return c != 0 && whole(c)
		})
		if !ok {
			return nil, false
		}
		t.word = append(t.word, i)
		if v[0] != 0 {
			rows[bitLen(int(v[0]))] = regs[i]
		}
	}
	for i, v := range tile.BasesOf(layout.Lane) {
		switch {
		case v[1] != 0 && lanes[i] != uint64(v[1]), v[0] != 0 && !whole(lanes[i]):
			return nil, false
		case v[0] != 0:
			rows[bitLen(int(v[0]))] = lanes[i]
		}
	}
	for i, c := range regs {
		if free>>i&1 != 0 || slices.Contains(t.word, i) {
			continue
		}
		if !whole(c) {
			return nil, false
		}
		if 1<<len(t.tiles) < in.Most {
			t.tiles = append(t.tiles, i)
		} else {
			t.rest = append(t.rest, i)
		}
	}
	t.cols = append(t.cols, rows...)
	for _, i := range t.tiles {
		t.cols = append(t.cols, regs[i])
	}
	for len(t.cols) < len(lanes) {
		t.cols = append(t.cols, 0) // lanes whose address is not looked at
	}
	for _, c := range p.offs.Columns(layout.Warp) {
		if !whole(c) {
			return nil, false
		}
		t.cols = append(t.cols, c)
	}
	return t, true
}

// stageTiles replaces the staging of a conversion by one from which tiles can be
// loaded, or to which they can be stored, where that lets the threads move more at
// once on the other side.
func (m *module) stageTiles(p *conversionPlan) {
	loads := m.caps.Tiles.TileLoads(p.elem)
	for i := range loads {
		if s, t := m.stageRows(p, p.dst, p.src, &loads[i].Tiles); t != nil {
			p.staging, p.vec, p.loads, p.load = s, s.Vec, t, &loads[i]
			return
		}
	}
	if m.lanesRepeat(p.src) {
		return
	}
	stores := m.caps.Tiles.TileStores(p.elem)
	for i := range stores {
		if s, t := m.stageRows(p, p.src, p.dst, &stores[i].Tiles); t != nil {
			p.staging, p.vec, p.stores, p.store = s, s.Vec, t, &stores[i]
			return
		}
	}
}

// stageRows is a staging that side l of a conversion goes through by tiles, and the
// other side by vectors, and the plan of the tiles; nil where there is none, where side
// l's vectors are as long without tiles, or where the other side's are longer.
func (m *module) stageRows(p *conversionPlan, l, other *tensorLayout, in *Tiles) (layout.Staging, *tilePlan) {
	row := in.Tile.OutSize(layout.TensorDim(1))
	if p.vec >= row && !p.scatters() {
		return layout.Staging{}, nil
	}
	view, ok := m.rowView(l, in)
	if !ok {
		return layout.Staging{}, nil
	}
	banks := m.target.Banks()
	s := layout.Stage(view, other.layout, p.elem, banks) // vectors in the rows' order
	if s.Vec < row {
		s, ok = layout.StageRows(view, other.layout, row, p.elem, banks)
		if !ok || s.Vec < max(p.vec, banks.WordBytes/p.elem) {
			return layout.Staging{}, nil
		}
	}
	t, _ := m.planTiles(&sharedPlan{tensor: l, size: p.elem, offs: s.Offsets(l.layout)}, in)
	return s, t
}

// scatters reports whether what the result loads at once goes to registers that are not
// neighbours, so that whoever needs them as neighbours has them moved.
func (p *conversionPlan) scatters() bool {
	vec := p.vec
	for i, c := range p.staging.Offsets(p.dst.layout).Columns(layout.Register) {
		switch {
		case p.dst.freeRegs>>i&1 != 0:
		case vec == 1:
			return false
		case c >= uint64(p.vec):
			return true
		default:
			vec /= 2
		}
	}
	return false
}

// rowView is the layout of the rows that the lanes of an instruction address to
// load a tensor of layout l: a lane's first registers are a row.
func (m *module) rowView(l *tensorLayout, in *Tiles) (layout.Layout, bool) {
	if in.Tile.InSize(layout.Lane) != m.lanes {
		return layout.Layout{}, false
	}
	var regs layout.Bases
	for i, v := range l.reg {
		if l.freeRegs>>i&1 == 0 {
			regs = append(regs, v)
		}
	}
	word := in.Tile.BasesOf(layout.Register)
	if len(regs) < len(word) {
		return layout.Layout{}, false
	}
	row := make(layout.Bases, in.Tile.OutBits(layout.TensorDim(1)))
	lane := make(layout.Bases, in.Tile.OutBits(layout.TensorDim(0)))
	assign := func(slot, v []int32) {
		if slot[1] != 0 {
			row[bitLen(int(slot[1]))] = v
		} else {
			lane[bitLen(int(slot[0]))] = v
		}
	}
	for i, slot := range word {
		assign(slot, regs[i])
	}
	for i, slot := range in.Tile.BasesOf(layout.Lane) {
		assign(slot, l.thread[i])
	}
	rest := regs[len(word):]
	tiles := min(len(rest), bitLen(in.Most))
	lane = append(lane, rest[:tiles]...)
	for len(lane) < bitLen(m.lanes) {
		lane = append(lane, make([]int32, len(l.shape)))
	}
	return layout.New(l.layout.Outs(),
		layout.Input{Dim: layout.Register, Bases: append(row, rest[tiles:]...)},
		layout.Input{Dim: layout.Lane, Bases: lane},
		layout.Input{Dim: layout.Warp, Bases: l.thread[bitLen(m.lanes):]}), true
}

// loadTiles loads a buffer by tiles, where an instruction fits.
func (e *emitter) loadTiles(p *sharedPlan, ptr llir.Value) ([]llir.Value, bool) {
	loads := e.m.caps.Tiles.TileLoads(p.size)
	for i := range loads {
		if t, ok := e.m.planTiles(p, &loads[i].Tiles); ok {
			return e.tileLoads(p, t, &loads[i], ptr), true
		}
	}
	return nil, false
}

func (e *emitter) tileLoads(p *sharedPlan, t *tilePlan, in *TileLoad, ptr llir.Value) []llir.Value {
	out := make([]llir.Value, p.tensor.regs)
	e.tileAccesses(p, t, ptr, func(at llir.Value, off int64, regs []int) {
		for i, v := range in.Load(e.b, at, off, 1<<len(t.tiles), p.elem) {
			out[regs[i]] = v
		}
	})
	for r := range out {
		if out[r] == nil {
			out[r] = out[p.tensor.canonical(r)]
		}
	}
	return out
}

// lanesRepeat reports whether lanes of one warp hold the same elements. All lanes of a
// warp store tiles, or none; so such elements would be stored twice.
func (m *module) lanesRepeat(l *tensorLayout) bool { return l.freeThreads&(uint64(m.lanes)-1) != 0 }

// storeTiles stores to a buffer by tiles, where an instruction fits.
func (e *emitter) storeTiles(p *sharedPlan, ptr llir.Value, vals []llir.Value) bool {
	if e.m.lanesRepeat(p.tensor) {
		return false
	}
	stores := e.m.caps.Tiles.TileStores(p.size)
	for i := range stores {
		t, ok := e.m.planTiles(p, &stores[i].Tiles)
		if !ok {
			continue
		}
		e.tileStores(p, t, &stores[i], ptr, func(regs []int) []llir.Value {
			group := make([]llir.Value, len(regs))
			for i, r := range regs {
				group[i] = vals[r]
			}
			return group
		})
		return true
	}
	return false
}

// tileStores stores by tiles what vals gives for registers. Where warps hold the same, all
// of them store it if that takes few instructions, else the first: ptxas cannot tell that
// the threads of a warp agree on a predicate, and keeps no descriptor in uniform registers
// once an instruction of a whole warp has one.
func (e *emitter) tileStores(p *sharedPlan, t *tilePlan, in *TileStore, ptr llir.Value, vals func(regs []int) []llir.Value) {
	var owner llir.Value
	if 1<<len(t.rest) >= manyStores {
		owner = e.firstReplica(p.tensor)
	}
	guarded(e.b, owner, nil, func() llir.Value {
		e.tileAccesses(p, t, ptr, func(at llir.Value, off int64, regs []int) {
			in.Store(e.b, at, off, 1<<len(t.tiles), vals(regs))
		})
		return nil
	})
}

// tileAccesses calls f for each instruction of a plan: the address that the lane
// gives, and the registers that it moves.
func (e *emitter) tileAccesses(p *sharedPlan, t *tilePlan, ptr llir.Value, f func(at llir.Value, off int64, regs []int)) {
	cols := p.offs.Columns(layout.Register)
	place := e.sharedPlaces(p, t.cols, ptr, 0)
	for i := range 1 << len(t.rest) {
		first := pick(t.rest, i)
		regs := make([]int, 1<<(len(t.word)+len(t.tiles)))
		for j := range regs {
			regs[j] = first | pick(t.word, j&(1<<len(t.word)-1)) | pick(t.tiles, j>>len(t.word))
		}
		at, off := place(int(sum(cols, first)))
		f(at, off, regs)
	}
}

// pick spreads the bits of x to the given places.
func pick(places []int, x int) int {
	y := 0
	for i, b := range places {
		y |= x >> i & 1 << b
	}
	return y
}
