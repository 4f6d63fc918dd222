package ptx

import (
	"math/bits"
	"slices"
)

// gvnKey identifies a computation.
type gvnKey struct {
	op      op
	class   class
	typ     typ
	from    typ
	cmp     cmp
	a, b, c int32
	d       int32
	imm     int64
	text    string
	aux     any
}

// shareable reports whether equal instructions of this kind compute the same.
func shareable(v *value) bool {
	if v.op == opProj {
		return true // of the same instruction
	}
	if v.flags&pure == 0 || len(v.args) > 4 || v.op == opCopy || v.op == opParam {
		return false
	}
	return v.op != opAsm || v.class != none
}

func keyOf(v *value) gvnKey {
	k := gvnKey{op: v.op, class: v.class, typ: v.typ, from: v.from, cmp: v.cmp, imm: v.imm, text: v.text, aux: v.aux}
	for i, p := range [...]*int32{&k.a, &k.b, &k.c, &k.d} {
		if i < len(v.args) {
			*p = v.args[i].id
		}
	}
	if opTable[v.op].commutes && k.b < k.a {
		k.a, k.b = k.b, k.a
	}
	return k
}

// hash mixes what most keys differ in.
func (k *gvnKey) hash() uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(k.op)<<32 ^ uint64(k.class)<<24 ^ uint64(k.typ)<<16 ^ uint64(k.from)<<8 ^ uint64(k.cmp)
	for _, x := range [...]uint64{uint64(uint32(k.a)) | uint64(k.b)<<32, uint64(uint32(k.c)) | uint64(k.d)<<32, uint64(k.imm), uint64(len(k.text))} {
		h = (h ^ x) * prime
		h ^= h >> 29
	}
	return h
}

// gvnTable has the values that dominate a place, by their keys. It is what a map would be
// whose keys are large, and are taken away in the opposite order.
type gvnTable struct {
	last    []int32 // by the low bits of a hash: the entry that was added last, from 1
	entries []gvnEntry
}

// gvnEntry is a value that was added. Its key is made again where it is asked for: what it
// is made of does not change while the value is in the table.
type gvnEntry struct {
	hash   uint64
	value  *value
	before int32 // with the same low bits
}

// gvnTableFor is a table that has room for n values, and none yet: the module's, unless
// that is too small. Whoever adds to it cuts it.
func (m *module) gvnTableFor(n int) *gvnTable {
	if m.table == nil || cap(m.table.entries) < n {
		m.table = &gvnTable{last: make([]int32, 1<<bits.Len(uint(n))), entries: make([]gvnEntry, 0, n)}
	}
	return m.table
}

// bucket is where the entries with a hash begin.
func (t *gvnTable) bucket(h uint64) *int32 { return &t.last[h&uint64(len(t.last)-1)] }

// find is the value with a key, whose hash is h, or nil.
func (t *gvnTable) find(k *gvnKey, h uint64) *value {
	for i := *t.bucket(h); i > 0; i = t.entries[i-1].before {
		if e := &t.entries[i-1]; e.hash == h && keyOf(e.value) == *k {
			return e.value
		}
	}
	return nil
}

func (t *gvnTable) add(h uint64, v *value) {
	at := t.bucket(h)
	t.entries = append(t.entries, gvnEntry{h, v, *at})
	*at = int32(len(t.entries))
}

// cut takes away all but the first n entries.
func (t *gvnTable) cut(n int) {
	for i := len(t.entries) - 1; i >= n; i-- {
		*t.bucket(t.entries[i].hash) = t.entries[i].before
	}
	t.entries = t.entries[:n]
}

// shareValues has what was computed in a dominating block used again.
func shareValues(f *fn) {
	f.analyze()
	children := make([][]*block, len(f.blocks))
	for _, b := range f.blocks[1:] {
		children[b.idom.id] = append(children[b.idom.id], b)
	}
	by := make([]*value, f.lastID+1) // what replaces each value
	total := 0
	for _, b := range f.blocks {
		total += len(b.insts)
	}
	table := f.mod.gvnTableFor(total)
	resolve := func(a **value) {
		for int((*a).id) < len(by) && by[(*a).id] != nil { // simplify makes more values
			*a = by[(*a).id]
		}
	}
	var facts []fact
	var walk func(*block)
	walk = func(b *block) {
		before, known := len(table.entries), len(facts)
		if is, ok := factOf(b); ok {
			resolve(&is.cond)
			facts = append(facts, is)
		}
		kept := b.insts[:0]
		for _, v := range b.insts {
			f.mod.meter.Visit()
			for i := range v.args {
				resolve(&v.args[i])
			}
			if s := f.simplify(v); s != nil && s != v {
				by[v.id] = s
				continue
			}
			if s := extremeBy(v, facts); s != nil {
				by[v.id] = s
				continue
			}
			if !shareable(v) {
				kept = append(kept, v)
				continue
			}
			k := keyOf(v)
			h := k.hash()
			if x := table.find(&k, h); x != nil {
				x.flags |= v.flags & contract
				if v.flags&disjoint == 0 {
					x.flags &^= disjoint
				}
				by[v.id] = x
				continue
			}
			table.add(h, v)
			kept = append(kept, v)
		}
		b.insts = kept
		for _, c := range children[b.id] {
			walk(c)
		}
		table.cut(before)
		facts = facts[:known]
	}
	walk(f.blocks[0])
	f.eachArg(resolve)
}

// namesAll reports whether an instruction with several results names a register for
// each, even for those that nobody reads.
func (v *value) namesAll() bool {
	return v.op != opSplit && v.op != opCall
}

// sweep drops what nobody uses.
func sweep(f *fn) {
	live := f.needed(nil)
	drop := func(l []*value) []*value {
		kept := l[:0]
		for _, v := range l {
			if live[v.id] || v.op == opProj && live[v.args[0].id] && v.args[0].namesAll() {
				kept = append(kept, v)
			}
		}
		return kept
	}
	for _, b := range f.blocks {
		b.phis, b.insts = drop(b.phis), drop(b.insts)
	}
}

// needed reports, by ids, which values are used, and would be without some of them.
func (f *fn) needed(without map[*value]bool) []bool {
	live := make([]bool, f.lastID+1)
	var work []*value
	mark := func(a **value) {
		if v := *a; !live[v.id] && !without[v] {
			live[v.id] = true
			work = append(work, v)
		}
	}
	for _, b := range f.blocks {
		for _, v := range b.insts {
			if v.flags&(pure|reads) == 0 && v.op != opProj {
				x := v
				mark(&x)
			}
		}
		b.term.each(mark)
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for i := range v.args {
			mark(&v.args[i])
		}
	}
	return live
}

// foldBranches drops ways that a constant condition excludes.
func foldBranches(f *fn) {
	folded := false
	for _, b := range f.blocks {
		c := b.term.cond
		if c == nil || !c.isConst() || len(b.term.to) != 2 {
			continue
		}
		taken := 0
		if (c.imm == 0) != b.term.not {
			taken = 1
		}
		other := b.term.to[1-taken]
		other.dropPred(other.predIndex(b))
		b.term.to, b.term.cond, folded = b.term.to[taken:taken+1], nil, true
	}
	if folded {
		f.analyze()
	}
}

// skipEmptyBlocks has branches lead where an empty block leads.
func skipEmptyBlocks(f *fn) {
	changed := false
	for _, e := range f.blocks[1:] {
		if len(e.insts) > 0 || len(e.phis) > 0 || len(e.term.to) != 1 || e.term.to[0] == e || e.term.noLICM {
			continue
		}
		changed = skip(e, e.term.to[0]) || changed
	}
	if changed {
		f.analyze()
	}
}

// skip redirects the predecessors of an empty block e to its successor s, where phis allow,
// and reports whether there were any.
func skip(e, s *block) bool {
	at := s.predIndex(e)
	place := make(map[*block]int, len(s.preds)+len(e.preds)) // among the predecessors of s
	for i, p := range s.preds {
		place[p] = i
	}
	var kept []*block
	for i := len(e.preds) - 1; i >= 0; i-- {
		p := e.preds[i]
		known, both := place[p] // both ways of p lead to s
		switch {
		case both && slices.ContainsFunc(s.phis, func(phi *value) bool { return phi.args[at] != phi.args[known] }):
			kept = append(kept, p)
		case both:
			p.term.to, p.term.cond, p.term.not = []*block{s}, nil, false
		default:
			for k, to := range p.term.to {
				if to == e {
					p.term.to[k] = s
				}
			}
			place[p] = len(s.preds)
			s.preds = append(s.preds, p)
			for _, phi := range s.phis {
				phi.args = append(phi.args, phi.args[at])
			}
		}
	}
	slices.Reverse(kept)
	changed := len(kept) < len(e.preds)
	e.preds = kept
	return changed
}

// mergeBlocks joins blocks that always follow one another, and drops phis that have
// one value.
func mergeBlocks(f *fn) {
	foldBranches(f)
	skipEmptyBlocks(f)
	by := make(map[*value]*value)
	gone := make(map[*block]bool)
	for _, b := range f.blocks {
		if gone[b] {
			continue
		}
		for len(b.term.to) == 1 {
			s := b.term.to[0]
			if s == b || len(s.preds) != 1 || s == f.blocks[0] {
				break
			}
			for _, p := range s.phis {
				by[p] = p.args[0]
			}
			for _, v := range s.insts {
				v.block = b
			}
			b.insts = append(b.insts, s.insts...)
			b.term = s.term
			for _, to := range s.term.to {
				for i, p := range to.preds {
					if p == s {
						to.preds[i] = b
					}
				}
			}
			gone[s] = true
		}
	}
	kept := f.blocks[:0]
	for _, b := range f.blocks {
		if !gone[b] {
			b.id = len(kept)
			kept = append(kept, b)
		}
	}
	f.blocks = kept
	f.replaceAll(by)
	f.dropTrivialPhis()
}

// dropTrivialPhis drops phis that have one value beside themselves.
func (f *fn) dropTrivialPhis() {
	for changed := true; changed; {
		changed = false
		by := make(map[*value]*value)
		for _, b := range f.blocks {
			kept := b.phis[:0]
			for _, p := range b.phis {
				var one *value
				several := false
				for _, a := range p.args {
					if a == p || a == one {
						continue
					}
					several = several || one != nil
					one = a
				}
				if several || one == nil {
					kept = append(kept, p)
					continue
				}
				by[p] = one
				changed = true
			}
			b.phis = kept
		}
		f.replaceAll(by)
	}
}
