package ptx

// regroupTruths makes (x & y) & z the conjunction (y & z) & x where the block has y & z for
// others, and x & y for nobody else: the rows of a tile then share it. As LLVM does, it goes
// from the last instruction to the first, and a choice that is split has no conjunction for
// what is before it.
func regroupTruths(f *fn) {
	f.countUses()
	for _, b := range f.blocks {
		known := make(conjunctions)
		for _, v := range b.insts {
			if joinsTruths(v) {
				known[conjunction{v.op, v.args[0], v.args[1]}] = v
			}
		}
		first := make(map[*value]*value) // what a conjunction was regrouped to take
		for i := len(b.insts) - 1; i >= 0 && len(known) > 1; i-- {
			switch v := b.insts[i]; {
			case known.has(v):
				if e := known.regroup(v); e != nil {
					first[v] = e
				}
			case isChoice(v):
				known.split(v.args[2])
			}
		}
		if len(first) > 0 {
			b.place(first)
		}
	}
	sweep(f)
}

// place moves what values take before them, where it comes later.
func (b *block) place(first map[*value]*value) {
	placed := make(map[*value]bool)
	out := make([]*value, 0, len(b.insts))
	var place func(v *value)
	place = func(v *value) {
		if placed[v] {
			return
		}
		placed[v] = true
		if e := first[v]; e != nil {
			place(e)
		}
		out = append(out, v)
	}
	for _, v := range b.insts {
		place(v)
	}
	b.insts = out
}

// conjunction is what a conjunction or a disjunction of two truth values is made of.
type conjunction struct {
	op   op
	x, y *value
}

// conjunctions are those of a block, by what they are made of.
type conjunctions map[conjunction]*value

func joinsTruths(v *value) bool {
	return v.class == pred && (v.op == opAnd || v.op == opOr)
}

// has reports whether v is one of them, and not taken apart yet.
func (c conjunctions) has(v *value) bool {
	return joinsTruths(v) && c[conjunction{v.op, v.args[0], v.args[1]}] == v
}

func (c conjunctions) drop(v *value) { delete(c, conjunction{v.op, v.args[0], v.args[1]}) }

// split drops the conjunctions that splitChoice takes apart.
func (c conjunctions) split(cond *value) {
	for cond.op == opNot {
		cond = cond.args[0]
	}
	if joinsTruths(cond) && cond.uses == 1 {
		c.drop(cond)
		c.split(cond.args[0])
		c.split(cond.args[1])
	}
}

// regroup has v take a known conjunction of two of the three truth values that it joins, which
// it returns.
func (c conjunctions) regroup(v *value) *value {
	for i := range 2 {
		in, z := v.args[i], v.args[1-i]
		if in.op != v.op || in.uses != 1 || !c.has(in) {
			continue
		}
		for k := range 2 {
			y, x := in.args[k], in.args[1-k]
			e := c[conjunction{v.op, y, z}]
			if e == nil || x == z || c[conjunction{v.op, e, x}] != nil {
				continue
			}
			c.drop(v)
			c.drop(in)
			v.args = []*value{e, x}
			c[conjunction{v.op, e, x}] = v
			in.uses, e.uses, y.uses, z.uses = 0, e.uses+1, y.uses-1, z.uses-1
			return e
		}
	}
	return nil
}
