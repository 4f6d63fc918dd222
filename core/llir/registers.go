package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
)

// Registers is an estimate of what a function keeps in registers, of 32 bits each,
// when its instructions run in the order in which they were built. Constants and
// parameters take none; nor do truth values, which are counted apart. An optimizer
// may need fewer, and a scheduler more.
type Registers struct {
	// Peak is the most that are live at once.
	Peak int
	// Loop is the most that are live where an iteration of a loop begins; 0 where
	// there is no loop.
	Loop int
	// Loads is the group of loads after which most registers are live.
	Loads LoadGroup
}

// LoadGroup is a run of loads from global memory none of whose results is needed
// before the last of them is issued.
type LoadGroup struct {
	// Live are the registers that are live after the last of them, and Truths the
	// truth values; Loaded are the registers that the loads fill, and Held those of
	// them that are live then.
	Live, Loaded, Held, Truths int
}

// mostLive bounds the table of what is live in which block, in bits.
const mostLive = 1 << 26

// MarkLoaded says that vals, the results of one access, come from global memory.
func (b *Builder) MarkLoaded(vals []Value) {
	for _, v := range vals {
		if l, ok := v.(localID); ok {
			b.F.loaded = append(b.F.loaded, l.ID())
		}
	}
}

// MarkCombined says that vals combine parts of a tile with one another, as the steps of a
// sum do, in an order that SinkLoads keeps.
func (b *Builder) MarkCombined(vals []Value) {
	for _, v := range vals {
		if l, ok := v.(localID); ok {
			b.F.combined = append(b.F.combined, l.ID())
		}
	}
}

// Registers estimates the registers of a function that is complete. It reports false
// for one that is too large to tell.
func (f *Func) Registers() (r Registers, ok bool) {
	r, _, ok = f.SinkLoads(0)
	return r, ok
}

// most takes what is greater of o's.
func (r *Registers) most(o Registers) {
	r.Peak, r.Loop = max(r.Peak, o.Peak), max(r.Loop, o.Loop)
	if o.Loads.Live > r.Loads.Live {
		r.Loads = o.Loads
	}
}

// liveness finds which results are live where. A part of a result (an element, the
// same bits as another type) counts as the result: it takes no register of its own.
// Numbers have 32 bits, which is enough for MaxInstructions and half as much to go through.
type liveness struct {
	f *Func
	// root is, for each result, what it is a part of, or itself; 0 for parameters.
	root  []int32
	value []Value // the roots, by their numbers; of need none
	index map[*ir.Block]int
	heads map[*ir.Block]bool // where iterations begin
	// taken are the numbers of the results and parameters that instructions take, one
	// after the other as they are built, terminators included: those of the n-th from
	// from[n] to from[n+1]. start is the n of each block's first, and at that of each result.
	taken []int32
	from  []int32
	start []int32
	at    []int32
	// uses are the results that each instruction of each block uses, and last its end.
	uses [][]use
	used []int32 // what the uses are parts of
	// needed are the results that an effect or the way of control depends on. A loop
	// may carry others, which feed only themselves.
	needed []bool
	// global numbers the results that are needed in other blocks than their own, and
	// in are those of them that are live where each block begins.
	global   map[int32]int
	ids      []int32
	in       [][]uint64
	isLoaded []bool
	// live and pending hold, for each result, the number of the walk in which it is in
	// the set.
	live, pending []int32
	walks         int32
}

// use is what an instruction uses, but for a phi, which needs its operands at the ends of
// other blocks: roots, from first to end of the liveness's used. of is what its result is
// part of, 0 if it has none.
type use struct{ first, end, of int32 }

// liveness finds what is needed, not yet where.
func (f *Func) liveness() *liveness {
	s := f.need()
	s.value = make([]Value, f.lastID+1)
	s.isLoaded, s.live, s.pending = make([]bool, f.lastID+1), make([]int32, f.lastID+1), make([]int32, f.lastID+1)
	s.collectUses()
	for _, id := range f.loaded {
		s.isLoaded[s.root[id]] = true
	}
	return s
}

// need is the part of liveness that tells which results are needed at all.
func (f *Func) need() *liveness {
	s := &liveness{
		f: f, root: make([]int32, f.lastID+1),
		index: make(map[*ir.Block]int), heads: make(map[*ir.Block]bool), at: make([]int32, f.lastID+1),
	}
	s.take()
	s.findNeeded()
	return s
}

// take notes what instructions take, and finds the roots. What dominates a block comes
// before it, so an operand that is not a phi's has its root already.
func (s *liveness) take() {
	n := 0
	for _, b := range s.f.IR.Blocks {
		n += len(b.Insts) + 1
	}
	s.from, s.start = make([]int32, 0, n+1), make([]int32, len(s.f.IR.Blocks))
	s.taken = make([]int32, 0, 2*n)
	add := func(v Value) {
		if l, ok := v.(localID); ok && l.ID() < int64(len(s.root)) {
			s.taken = append(s.taken, int32(l.ID()))
		}
	}
	for i, b := range s.f.IR.Blocks {
		s.index[b], s.start[i] = i, int32(len(s.from))
		for _, inst := range b.Insts {
			s.f.Mod.meter.Visit()
			if l, ok := inst.(localID); ok {
				id := int32(l.ID())
				s.at[id] = int32(len(s.from))
				if call, ok := inst.(*ir.InstCall); !ok || call.Type() != Void {
					s.root[id] = id
					if x := part(inst); x != nil && s.rootOf(x) != 0 {
						s.root[id] = s.rootOf(x)
					}
				}
			}
			s.from = append(s.from, int32(len(s.taken)))
			operands(inst, add)
		}
		s.from = append(s.from, int32(len(s.taken)))
		operands(b.Term, add)
		for _, succ := range b.Term.Succs() {
			if _, before := s.index[succ]; before {
				s.heads[succ] = true
			}
		}
	}
	s.from = append(s.from, int32(len(s.taken)))
}

// takes are the numbers that instruction n takes.
func (s *liveness) takes(n int32) []int32 { return s.taken[s.from[n]:s.from[n+1]] }

// rootOf is the number of the result that v is part of; 0 where v takes no register.
func (s *liveness) rootOf(v Value) int32 {
	if l, ok := v.(localID); ok && l.ID() < int64(len(s.root)) {
		return s.root[l.ID()]
	}
	return 0
}

// part is the operand that inst takes a part of, or nil.
func part(inst ir.Instruction) Value {
	switch i := inst.(type) {
	case *ir.InstExtractValue:
		return i.X
	case *ir.InstExtractElement:
		return i.X
	case *ir.InstBitCast:
		return i.From
	}
	return nil
}

// findNeeded goes from effects and branches back to what they depend on.
func (s *liveness) findNeeded() {
	s.needed = make([]bool, len(s.root))
	var todo []int32
	need := func(n int32) {
		for _, id := range s.takes(n) {
			if id = s.root[id]; id != 0 && !s.needed[id] {
				s.needed[id] = true
				todo = append(todo, id)
			}
		}
	}
	for i, b := range s.f.IR.Blocks {
		for k, inst := range b.Insts {
			if l, ok := inst.(localID); ok && s.root[l.ID()] != 0 {
				if _, call := inst.(*ir.InstCall); !call {
					continue
				}
			}
			need(s.start[i] + int32(k))
			if l, ok := inst.(localID); ok && s.root[l.ID()] == int32(l.ID()) && l.ID() != 0 {
				s.needed[l.ID()] = true
			}
		}
		need(s.start[i] + int32(len(b.Insts)))
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		need(s.at[id])
	}
}

// collectUses fills uses.
func (s *liveness) collectUses() {
	s.uses = make([][]use, len(s.f.IR.Blocks))
	s.used = make([]int32, 0, len(s.taken))
	add := func(n int32) {
		for _, id := range s.takes(n) {
			if id = s.root[id]; id != 0 {
				s.used = append(s.used, id)
			}
		}
	}
	for i, b := range s.f.IR.Blocks {
		uses := make([]use, len(b.Insts)+1)
		for k, inst := range b.Insts {
			u := use{first: int32(len(s.used))}
			if _, phi := inst.(*ir.InstPhi); !phi {
				add(s.start[i] + int32(k))
			}
			if l, ok := inst.(localID); ok {
				id := l.ID()
				if u.of = s.root[id]; u.of == int32(id) {
					s.value[id] = inst.(Value)
				}
			}
			u.end = int32(len(s.used))
			uses[k] = u
		}
		first := int32(len(s.used))
		add(s.start[i] + int32(len(b.Insts)))
		uses[len(b.Insts)] = use{first: first, end: int32(len(s.used))}
		s.uses[i] = uses
	}
}

// of are the results that an instruction needs at its place: none if nothing needs its own.
func (s *liveness) of(u use) []int32 {
	if u.of != 0 && !s.needed[u.of] {
		return nil
	}
	return s.used[u.first:u.end]
}

// incoming calls f with what the phis of succ take from b.
func (s *liveness) incoming(b, succ *ir.Block, f func(id int32)) {
	for _, inst := range succ.Insts {
		phi, ok := inst.(*ir.InstPhi)
		if !ok {
			return
		}
		if !s.needed[phi.ID()] {
			continue
		}
		for _, in := range phi.Incs {
			if in.Pred.(*ir.Block) == b {
				if id := s.rootOf(in.X); id != 0 {
					f(id)
				}
			}
		}
	}
}

// solve finds what is live where each block begins.
func (s *liveness) solve() bool {
	blocks := s.f.IR.Blocks
	s.global = make(map[int32]int)
	across := func(at *ir.Block, id int32) {
		if s.f.home[id] == at {
			return
		}
		if _, ok := s.global[id]; !ok {
			s.global[id] = len(s.ids)
			s.ids = append(s.ids, id)
		}
	}
	for i, b := range blocks {
		for _, u := range s.uses[i] {
			for _, id := range s.of(u) {
				across(b, id)
			}
		}
		for _, succ := range b.Term.Succs() {
			s.incoming(b, succ, func(id int32) { across(b, id) })
		}
	}
	words := (len(s.ids) + 63) / 64
	if words*64*len(blocks) > mostLive {
		return false
	}
	s.in = make([][]uint64, len(blocks))
	gen, kill := make([][]uint64, len(blocks)), make([][]uint64, len(blocks))
	for i := range blocks {
		s.in[i], gen[i], kill[i] = make([]uint64, words), make([]uint64, words), make([]uint64, words)
	}
	for i, b := range blocks {
		take := func(id int32) {
			if s.f.home[id] != b { // so it is global
				k := s.global[id]
				gen[i][k/64] |= 1 << (k % 64)
			}
		}
		for _, u := range s.uses[i] {
			for _, id := range s.of(u) {
				take(id)
			}
		}
		for _, succ := range b.Term.Succs() {
			s.incoming(b, succ, take)
		}
	}
	for k, id := range s.ids {
		kill[s.index[s.f.home[id]]][k/64] |= 1 << (k % 64)
	}
	for changed := true; changed; { // as many times as loops are nested, and once more
		changed = false
		for i := len(blocks) - 1; i >= 0; i-- {
			s.f.Mod.meter.Visit()
			for w := range s.in[i] {
				out := gen[i][w]
				for _, succ := range blocks[i].Term.Succs() {
					out |= s.in[s.index[succ]][w]
				}
				if out &^= kill[i][w]; out != s.in[i][w] {
					s.in[i][w], changed = out, true
				}
			}
		}
	}
	return true
}

// counts are the registers and truth values of a set of results.
type counts struct {
	*liveness
	walk   int32
	words  int
	truths int
}

func (c *counts) add(id int32) {
	if c.live[id] != c.walk {
		c.live[id] = c.walk
		c.change(c.value[id], 1)
	}
}

func (c *counts) remove(id int32) {
	if c.live[id] == c.walk {
		c.live[id] = 0
		c.change(c.value[id], -1)
	}
}

func (c *counts) change(v Value, by int) {
	if v.Type() == I1 {
		c.truths += by
	} else {
		c.words += by * c.f.Mod.RegistersOf(v.Type())
	}
}

// RegistersOf is how many registers of 32 bits a value of type t takes.
func (m *Module) RegistersOf(t Type) int {
	switch t := t.(type) {
	case *types.StructType:
		n := 0
		for _, field := range t.Fields {
			n += m.RegistersOf(field)
		}
		return n
	case *Ptr:
		return m.ptrBits(t) / 32
	}
	return (Width(t) + 31) / 32
}

// newWalk is the number of a new set of results.
func (s *liveness) newWalk() int32 {
	s.walks++
	return s.walks
}

// block walks a block from its end.
func (s *liveness) block(b *ir.Block) (r Registers) {
	c := &counts{liveness: s, walk: s.newWalk()}
	for _, succ := range b.Term.Succs() {
		for w, set := range s.in[s.index[succ]] {
			for ; set != 0; set &= set - 1 {
				c.add(s.ids[64*w+bits.TrailingZeros64(set)])
			}
		}
		s.incoming(b, succ, c.add)
	}
	uses := s.uses[s.index[b]]
	for _, id := range s.of(uses[len(b.Insts)]) {
		c.add(id)
	}
	groups := s.groups(b)
	for k := len(b.Insts) - 1; k >= 0; k-- {
		s.f.Mod.meter.Visit()
		inst := b.Insts[k]
		if _, phi := inst.(*ir.InstPhi); phi {
			break // what is live before the first other instruction is live with them
		}
		r.Peak = max(r.Peak, c.words)
		if n := len(groups); n > 0 && groups[n-1].last == k {
			group := groups[n-1]
			groups = groups[:n-1]
			if c.words > r.Loads.Live {
				r.Loads = LoadGroup{Live: c.words, Loaded: group.words, Truths: c.truths}
				for _, id := range group.ids {
					if s.live[id] == c.walk {
						r.Loads.Held += s.f.Mod.RegistersOf(s.value[id].Type())
					}
				}
			}
		}
		if id := s.resultOf(inst, uses[k]); id != 0 {
			c.remove(id)
		}
		for _, id := range s.of(uses[k]) {
			c.add(id)
		}
	}
	r.Peak = max(r.Peak, c.words)
	if s.heads[b] {
		r.Loop = c.words
	}
	return r
}

// resultOf is the number of inst's result, 0 if it is part of another.
func (s *liveness) resultOf(inst ir.Instruction, u use) int32 {
	if u.of == 0 || inst.(localID).ID() != int64(u.of) {
		return 0
	}
	return u.of
}

// loads are a group of them, the place of the last, and the registers that they fill.
type loads struct {
	ids   []int32
	words int
	last  int
}

// groups are the groups of several loads of a block. A group ends where a load, or what has
// an effect, needs one of its results, and at every other effect: nothing is loaded across one.
func (s *liveness) groups(b *ir.Block) []loads {
	var ended []loads
	var group loads
	walk := s.newWalk() // pending: the group's results, and what is computed of them
	end := func() {
		if len(group.ids) > 1 {
			ended = append(ended, group)
		}
		walk, group = s.newWalk(), loads{}
	}
	for k, inst := range b.Insts {
		u := s.uses[s.index[b]][k]
		result := s.resultOf(inst, u)
		load := result != 0 && s.isLoaded[result]
		needs := false
		for _, id := range s.of(u) {
			needs = needs || s.pending[id] == walk
		}
		if load && needs || !load && !removable(inst) {
			end()
			needs = false
		}
		switch {
		case load:
			group.last = k
			group.ids = append(group.ids, result)
			group.words += s.f.Mod.RegistersOf(inst.(Value).Type())
			s.pending[result] = walk
		case u.of != 0 && needs:
			s.pending[inst.(localID).ID()] = walk
		}
	}
	end()
	return ended
}
