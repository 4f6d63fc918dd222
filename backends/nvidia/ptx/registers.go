package ptx

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset      { return make(bitset, (n+63)/64) }
func (s bitset) has(i int32) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s bitset) add(i int32)      { s[i>>6] |= 1 << (i & 63) }
func (s bitset) drop(i int32)     { s[i>>6] &^= 1 << (i & 63) }

// registers chooses a register for every value, and leaves SSA form. Values that
// are live at the same time have different registers; a phi and its operands
// share one where that is so, and so do the operands of assembly that are tied to
// one another. The others are copied.
type registers struct {
	f       *fn
	values  []*value // by number, which is value.reg until registers are numbered
	liveIn  []bitset // by block
	liveOut []bitset
	uses    [][]use // by number
	parent  []int32
	members [][]int32
}

type use struct {
	block *block
	pos   int32
}

// Positions in a block: phis are defined at 0; the instruction at index i reads at
// 2i+2 and writes at 2i+3, or at 2i+1 where it writes before it has read all.
const endOfBlock = 1 << 30

func chooseRegisters(f *fn) {
	f.analyze()
	r := &registers{f: f}
	r.tieCopies()
	r.number()
	r.liveness()
	r.coalesce()
	r.insertCopies()
	r.assign()
	f.collectResults()
}

// collectResults finds the results of instructions that have several.
func (f *fn) collectResults() {
	f.projections = make(map[*value][]*value)
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if v.op != opProj {
				continue
			}
			list := f.projections[v.args[0]]
			if v.args[0].op == opSplit && list == nil {
				list = make([]*value, 2)
			}
			for len(list) <= int(v.imm) {
				list = append(list, nil)
			}
			list[v.imm] = v
			f.projections[v.args[0]] = list
		}
	}
}

// tieCopies gives inputs of assembly that are tied to an output copies of their
// own, which coalescing makes one with the input where it is not needed any more.
func (r *registers) tieCopies() {
	for _, b := range r.f.blocks {
		ties := 0
		for _, v := range b.insts {
			if s, ok := v.aux.(*assembly); ok {
				ties += len(s.tied)
			}
		}
		if ties == 0 {
			continue
		}
		insts := make([]*value, 0, len(b.insts)+ties)
		for _, v := range b.insts {
			if s, ok := v.aux.(*assembly); ok {
				for k, out := range s.tied {
					if out < 0 {
						continue
					}
					c := r.f.newValue(opCopy, bitsOf(v.args[k].class), v.args[k].class, v.args[k])
					c.loc, c.block = v.loc, b
					v.args[k] = c
					insts = append(insts, c)
				}
			}
			insts = append(insts, v)
		}
		b.insts = insts
	}
}

func (v *value) needsRegister() bool { return v.class != none && !v.rooted() }

func (r *registers) number() {
	add := func(v *value) {
		v.reg = int32(len(r.values))
		r.values = append(r.values, v)
	}
	for _, b := range r.f.blocks {
		for _, v := range b.phis {
			v.pos, v.block = 0, b
			add(v)
		}
		for i, v := range b.insts {
			v.block = b
			v.pos = int32(2*i + 3)
			if s, ok := v.aux.(*assembly); ok && s.early {
				v.pos = int32(2*i + 1)
			}
			if v.op == opProj {
				v.pos = v.args[0].pos
			}
			if v.needsRegister() {
				add(v)
			}
		}
	}
	n := len(r.values)
	r.parent, r.members = make([]int32, n), make([][]int32, n)
	alone := make([]int32, n)
	for i := range r.parent {
		r.parent[i], alone[i] = int32(i), int32(i)
		r.members[i] = alone[i : i+1 : i+1]
	}
	r.noteUses()
}

// noteUses finds where each value is used but by phis.
func (r *registers) noteUses() {
	counts, total := make([]int32, len(r.values)), 0
	r.eachUse(func(v *value, _ *block, _ int32) {
		counts[v.reg]++
		total++
	})
	all := make([]use, total)
	r.uses = make([][]use, len(r.values))
	for i, n := range counts {
		r.uses[i], all = all[:0:n], all[n:]
	}
	r.eachUse(func(v *value, b *block, pos int32) {
		r.uses[v.reg] = append(r.uses[v.reg], use{b, pos})
	})
}

// eachUse calls do for each use of a register but by phis.
func (r *registers) eachUse(do func(v *value, b *block, pos int32)) {
	for _, b := range r.f.blocks {
		for i, v := range b.insts {
			for _, a := range v.args {
				if a.needsRegister() {
					do(a, b, int32(2*i+2))
				}
			}
		}
		b.term.each(func(a **value) {
			if (*a).needsRegister() {
				do(*a, b, endOfBlock)
			}
		})
	}
}

// liveness finds what is live at the borders of blocks. The operands of phis are
// live at the end of the predecessor.
func (r *registers) liveness() {
	n, nb := len(r.values), len(r.f.blocks)
	r.liveIn, r.liveOut = make([]bitset, nb), make([]bitset, nb)
	for _, b := range r.f.blocks {
		r.liveIn[b.id], r.liveOut[b.id] = newBitset(n), newBitset(n)
	}
	var work []*block
	queue := func(b *block, reg int32) {
		// live into b
		if r.values[reg].block == b || r.liveIn[b.id].has(reg) {
			return
		}
		r.liveIn[b.id].add(reg)
		work = append(work, b)
	}
	spread := func(reg int32) {
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			for _, p := range b.preds {
				if !r.liveOut[p.id].has(reg) {
					r.liveOut[p.id].add(reg)
					queue(p, reg)
				}
			}
		}
	}
	for reg := range r.values {
		for _, u := range r.uses[reg] {
			queue(u.block, int32(reg))
			spread(int32(reg))
		}
	}
	for _, b := range r.f.blocks {
		for _, phi := range b.phis {
			for i, a := range phi.args {
				if !a.needsRegister() {
					continue
				}
				p := b.preds[i]
				if !r.liveOut[p.id].has(a.reg) {
					r.liveOut[p.id].add(a.reg)
					queue(p, a.reg)
					spread(a.reg)
				}
			}
		}
	}
}

func (r *registers) find(i int32) int32 {
	for r.parent[i] != i {
		r.parent[i] = r.parent[r.parent[i]]
		i = r.parent[i]
	}
	return i
}

// liveAfter reports whether a is live where b has been written.
func (r *registers) liveAfter(a, b *value) bool {
	if r.liveOut[b.block.id].has(a.reg) {
		return true
	}
	for _, u := range r.uses[a.reg] {
		if u.block == b.block && u.pos > b.pos {
			return true
		}
	}
	return false
}

func (r *registers) interfere(a, b *value) bool {
	switch {
	case a.block == b.block && a.pos == b.pos:
		return true
	case a.block == b.block && a.pos < b.pos, a.block != b.block && dominates(a.block, b.block):
		return r.liveAfter(a, b)
	case a.block == b.block || dominates(b.block, a.block):
		return r.liveAfter(b, a)
	}
	return false
}

// unite gives two values one register unless they have to have different ones.
func (r *registers) unite(a, b *value, force bool) {
	x, y := r.find(a.reg), r.find(b.reg)
	if x == y {
		return
	}
	if !force {
		for _, i := range r.members[x] {
			for _, j := range r.members[y] {
				if r.interfere(r.values[i], r.values[j]) {
					return
				}
			}
		}
	}
	if len(r.members[x]) < len(r.members[y]) {
		x, y = y, x
	}
	r.parent[y] = x
	r.members[x] = append(r.members[x], r.members[y]...)
	r.members[y] = nil
}

func (r *registers) coalesce() {
	// What is tied has to share a register; then inner loops first.
	for _, b := range r.f.blocks {
		for _, v := range b.insts {
			if v.op != opProj {
				continue
			}
			s, ok := v.args[0].aux.(*assembly)
			if !ok {
				continue
			}
			for k, out := range s.tied {
				if out == int(v.imm) {
					r.unite(v, v.args[0].args[k], true)
				}
			}
		}
	}
	deepest := 0
	for _, b := range r.f.blocks {
		if b.loop != nil {
			deepest = max(deepest, b.loop.depth)
		}
	}
	for depth := deepest; depth >= 0; depth-- {
		for _, b := range r.f.blocks {
			for _, phi := range b.phis {
				for i, a := range phi.args {
					if p := b.preds[i]; depthOf(p) == depth && a.needsRegister() {
						r.unite(phi, a, false)
					}
				}
			}
			if depthOf(b) != depth {
				continue
			}
			for _, v := range b.insts {
				if v.op == opCopy && v.args[0].needsRegister() {
					r.unite(v, v.args[0], false)
				}
			}
		}
	}
}

func depthOf(b *block) int {
	if b.loop == nil {
		return 0
	}
	return b.loop.depth
}

// move is one of the copies that are done at once.
type move struct {
	to   int32 // a class of values
	from *value
}

func (r *registers) insertCopies() {
	for _, b := range append([]*block(nil), r.f.blocks...) {
		for i, p := range b.preds {
			var moves []move
			for _, phi := range b.phis {
				a := phi.args[i]
				to := r.find(phi.reg)
				if a.needsRegister() && r.find(a.reg) == to {
					continue
				}
				moves = append(moves, move{to, a})
			}
			if len(moves) == 0 {
				continue
			}
			at := p
			if len(p.term.to) > 1 && r.reachesOther(p, b, moves) {
				at = r.splitEdge(p, b, i)
			}
			r.sequence(at, moves)
		}
	}
}

// reachesOther reports whether copies for one successor of p would destroy what
// another one reads, or the condition.
func (r *registers) reachesOther(p, b *block, moves []move) bool {
	for _, m := range moves {
		if c := p.term.cond; c != nil && c.needsRegister() && r.find(c.reg) == m.to {
			return true
		}
		for _, to := range p.term.to {
			if to == b {
				continue
			}
			for _, k := range r.members[m.to] {
				if r.liveIn[to.id].has(k) {
					return true
				}
			}
			// phis of the other successor read at the end of p
			for _, phi := range to.phis {
				if a := phi.args[to.predIndex(p)]; a.needsRegister() && r.find(a.reg) == m.to {
					return true
				}
				if r.find(phi.reg) == m.to {
					return true
				}
			}
		}
	}
	return false
}

func (r *registers) splitEdge(p, b *block, i int) *block {
	e := &block{id: len(r.liveIn), loop: b.loop, idom: p, depth: p.depth + 1, first: p.first}
	in := append(bitset(nil), r.liveIn[b.id]...)
	for _, phi := range b.phis {
		if a := phi.args[i]; a.needsRegister() {
			in.add(a.reg)
		}
	}
	r.liveIn = append(r.liveIn, in)
	r.liveOut = append(r.liveOut, newBitset(len(r.values)))
	e.preds, e.term = []*block{p}, terminator{to: []*block{b}, loc: p.term.loc}
	b.preds[i] = e
	for k, to := range p.term.to {
		if to == b {
			p.term.to[k] = e
		}
	}
	blocks := r.f.blocks
	for k, x := range blocks {
		if x == p {
			r.f.blocks = append(blocks[:k+1:k+1], append([]*block{e}, blocks[k+1:]...)...)
			break
		}
	}
	return e
}

// sequence appends copies that are done at once, one after the other: a register
// is written when nobody reads it any more, and a circle is opened by one more register.
func (r *registers) sequence(b *block, moves []move) {
	pending := make([]move, 0, len(moves))
	var constants []move
	for _, m := range moves {
		if m.from.needsRegister() {
			pending = append(pending, m)
		} else {
			constants = append(constants, m)
		}
	}
	emit := func(to int32, from *value) {
		c := r.f.newValue(opCopy, bitsOf(r.values[to].class), r.values[to].class, from)
		c.reg, c.loc = to, b.term.loc
		b.append(c)
	}
	// Readers of a register are the moves that have yet to read it.
	readers, writes := make(map[int32]int), make(map[int32]move)
	for _, m := range pending {
		readers[r.find(m.from.reg)]++
		writes[m.to] = m
	}
	var ready []int32
	for _, m := range pending {
		if readers[m.to] == 0 {
			ready = append(ready, m.to)
		}
	}
	saved := make(map[int32]*value)
	finish := func() {
		for len(ready) > 0 {
			to := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			m := writes[to]
			delete(writes, to)
			from := r.find(m.from.reg)
			if tmp, ok := saved[from]; ok {
				emit(to, tmp)
				continue
			}
			emit(to, m.from)
			if readers[from]--; readers[from] == 0 {
				if _, waits := writes[from]; waits {
					ready = append(ready, from)
				}
			}
		}
	}
	finish()
	for _, m := range pending { // circles are left: save what the first one writes
		if _, left := writes[m.to]; !left {
			continue
		}
		saved[m.to] = r.save(b, m.to)
		ready = append(ready, m.to)
		finish()
	}
	for _, m := range constants {
		emit(m.to, m.from)
	}
}

// save copies a register to a new one at the end of a block.
func (r *registers) save(b *block, reg int32) *value {
	n := int32(len(r.values))
	v := r.values[reg]
	tmp := r.f.newValue(opCopy, bitsOf(v.class), v.class, v)
	tmp.reg, tmp.loc = n, b.term.loc
	r.values = append(r.values, tmp)
	r.parent = append(r.parent, n)
	r.members = append(r.members, []int32{n})
	b.append(tmp)
	return tmp
}

// assign numbers the registers in the order of the text, and drops copies of a
// register to itself.
func (r *registers) assign() {
	numbers := make(map[int32]int32)
	give := func(v *value) {
		if !v.needsRegister() {
			return
		}
		k := r.find(v.reg)
		n, ok := numbers[k]
		if !ok {
			r.f.regs[v.class]++
			n = r.f.regs[v.class]
			numbers[k] = n
		}
		v.pos = n
	}
	for i, b := range r.f.blocks {
		b.id = i
		for _, v := range b.phis {
			give(v)
		}
		for _, v := range b.insts {
			give(v)
		}
	}
	for _, b := range r.f.blocks {
		kept := b.insts[:0]
		for _, v := range b.insts {
			v.reg = v.pos
			if v.op == opCopy && v.args[0].needsRegister() && v.args[0].pos == v.pos && v.args[0].class == v.class {
				continue
			}
			kept = append(kept, v)
		}
		b.insts = kept
		for _, v := range b.phis {
			v.reg = v.pos
		}
	}
}
