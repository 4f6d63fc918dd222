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
func (f *Func) Registers() (Registers, bool) {
	s := f.liveness()
	if !s.solve() {
		return Registers{}, false
	}
	var r Registers
	for _, b := range f.IR.Blocks {
		s.block(b, &r)
	}
	return r, true
}

// liveness finds which results are live where. A part of a result (an element, the
// same bits as another type) counts as the result: it takes no register of its own.
type liveness struct {
	f *Func
	// root is, for each result, what it is a part of, or itself; 0 for parameters.
	root  []int64
	value []Value // the roots, by their numbers
	index map[*ir.Block]int
	heads map[*ir.Block]bool // where iterations begin
	// needed are the results that an effect or the way of control depends on. A loop
	// may carry others, which feed only themselves.
	needed []bool
	// global numbers the results that are needed in other blocks than their own, and
	// in are those of them that are live where each block begins.
	global   map[int64]int
	ids      []int64
	in       [][]uint64
	isLoaded []bool
}

// liveness finds what is needed, not yet where.
func (f *Func) liveness() *liveness {
	s := &liveness{
		f: f, root: make([]int64, f.lastID+1), value: make([]Value, f.lastID+1), index: make(map[*ir.Block]int),
		heads: make(map[*ir.Block]bool), isLoaded: make([]bool, f.lastID+1),
	}
	s.number()
	s.findNeeded()
	for _, id := range f.loaded {
		s.isLoaded[s.root[id]] = true
	}
	return s
}

// rootOf is the number of the result that v is part of; 0 where v takes no register.
func (s *liveness) rootOf(v Value) int64 {
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

// number finds the roots. What dominates a block comes before it, so an operand that
// is not a phi's has its root already.
func (s *liveness) number() {
	for i, b := range s.f.IR.Blocks {
		s.index[b] = i
		for _, inst := range b.Insts {
			s.f.Mod.meter.Visit()
			l, ok := inst.(localID)
			if !ok || inst.(Value).Type() == Void {
				continue
			}
			id := l.ID()
			if x := part(inst); x != nil && s.rootOf(x) != 0 {
				s.root[id] = s.rootOf(x)
				continue
			}
			s.root[id], s.value[id] = id, inst.(Value)
		}
		for _, succ := range b.Term.Succs() {
			if _, before := s.index[succ]; before {
				s.heads[succ] = true
			}
		}
	}
}

// findNeeded goes from effects and branches back to what they depend on.
func (s *liveness) findNeeded() {
	s.needed = make([]bool, len(s.root))
	var todo []Value
	need := func(v Value) {
		if id := s.rootOf(v); id != 0 && !s.needed[id] {
			s.needed[id] = true
			todo = append(todo, s.value[id])
		}
	}
	for _, b := range s.f.IR.Blocks {
		for _, inst := range b.Insts {
			if l, ok := inst.(localID); ok && s.root[l.ID()] != 0 {
				if _, call := inst.(*ir.InstCall); !call {
					continue
				}
			}
			operands(inst, need)
			if l, ok := inst.(localID); ok && s.root[l.ID()] == l.ID() && l.ID() != 0 {
				s.needed[l.ID()] = true
			}
		}
		operands(b.Term, need)
	}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		operands(v, need)
	}
}

// uses calls f with the results that an instruction needs at its place. A phi needs
// its operands at the ends of other blocks.
func (s *liveness) uses(inst any, f func(id int64)) {
	if _, phi := inst.(*ir.InstPhi); phi {
		return
	}
	if l, ok := inst.(localID); ok && s.root[l.ID()] != 0 && !s.needed[s.root[l.ID()]] {
		return
	}
	operands(inst, func(v Value) {
		if id := s.rootOf(v); id != 0 {
			f(id)
		}
	})
}

// incoming calls f with what the phis of succ take from b.
func (s *liveness) incoming(b, succ *ir.Block, f func(id int64)) {
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
	s.global = make(map[int64]int)
	across := func(at *ir.Block, id int64) {
		if _, ok := s.global[id]; !ok && s.f.home[id] != at {
			s.global[id] = len(s.ids)
			s.ids = append(s.ids, id)
		}
	}
	for _, b := range blocks {
		use := func(id int64) { across(b, id) }
		for _, inst := range b.Insts {
			s.uses(inst, use)
		}
		s.uses(b.Term, use)
		for _, succ := range b.Term.Succs() {
			s.incoming(b, succ, use)
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
		use := func(id int64) {
			if k, ok := s.global[id]; ok && s.f.home[id] != b {
				gen[i][k/64] |= 1 << (k % 64)
			}
		}
		for _, inst := range b.Insts {
			s.uses(inst, use)
		}
		s.uses(b.Term, use)
		for _, succ := range b.Term.Succs() {
			s.incoming(b, succ, use)
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
	m      *Module
	live   map[int64]bool
	words  int
	truths int
}

func (c *counts) add(id int64, v Value) {
	if !c.live[id] {
		c.live[id] = true
		c.change(v, 1)
	}
}

func (c *counts) remove(id int64, v Value) {
	if c.live[id] {
		delete(c.live, id)
		c.change(v, -1)
	}
}

func (c *counts) change(v Value, by int) {
	if v.Type() == I1 {
		c.truths += by
	} else {
		c.words += by * c.m.RegistersOf(v.Type())
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

// block walks a block from its end.
func (s *liveness) block(b *ir.Block, r *Registers) {
	c := &counts{m: s.f.Mod, live: make(map[int64]bool)}
	add := func(id int64) { c.add(id, s.value[id]) }
	for _, succ := range b.Term.Succs() {
		for w, set := range s.in[s.index[succ]] {
			for ; set != 0; set &= set - 1 {
				add(s.ids[64*w+bits.TrailingZeros64(set)])
			}
		}
		s.incoming(b, succ, add)
	}
	s.uses(b.Term, add)
	last := s.groupEnds(b)
	for k := len(b.Insts) - 1; k >= 0; k-- {
		s.f.Mod.meter.Visit()
		inst := b.Insts[k]
		if _, phi := inst.(*ir.InstPhi); phi {
			break // what is live before the first other instruction is live with them
		}
		r.Peak = max(r.Peak, c.words)
		if group, ok := last[k]; ok && c.words > r.Loads.Live {
			r.Loads = LoadGroup{Live: c.words, Loaded: group.words, Truths: c.truths}
			for _, id := range group.ids {
				if c.live[id] {
					r.Loads.Held += s.f.Mod.RegistersOf(s.value[id].Type())
				}
			}
		}
		if l, ok := inst.(localID); ok && inst.(Value).Type() != Void && s.root[l.ID()] == l.ID() {
			c.remove(l.ID(), s.value[l.ID()])
		}
		s.uses(inst, add)
	}
	r.Peak = max(r.Peak, c.words)
	if s.heads[b] {
		r.Loop = max(r.Loop, c.words)
	}
}

// loads are a group of them, and the registers that they fill.
type loads struct {
	ids   []int64
	words int
}

// groupEnds are the places in a block of the last loads of groups of several, with
// the registers that the group fills. A group ends where a load, or what has an effect,
// needs one of its results, and at every other effect: nothing is loaded across one.
func (s *liveness) groupEnds(b *ir.Block) map[int]loads {
	ends := make(map[int]loads)
	pending := make(map[int64]bool) // the group's results, and what is computed of them
	last, group := 0, loads{}
	end := func() {
		if len(group.ids) > 1 {
			ends[last] = group
		}
		clear(pending)
		group = loads{}
	}
	for k, inst := range b.Insts {
		l, value := inst.(localID)
		value = value && inst.(Value).Type() != Void
		load := value && s.root[l.ID()] == l.ID() && s.isLoaded[l.ID()]
		needs := false
		s.uses(inst, func(id int64) { needs = needs || pending[id] })
		if load && needs || !load && !removable(inst) {
			end()
			needs = false
		}
		switch {
		case load:
			last = k
			group.ids = append(group.ids, l.ID())
			group.words += s.f.Mod.RegistersOf(inst.(Value).Type())
			pending[l.ID()] = true
		case value && needs:
			pending[l.ID()] = true
		}
	}
	end()
	return ends
}
