package ptx

// addCommon adds what many sums of a block add to different numbers once: of (a + x) + y,
// (b + x) + y and others, which are rows of a tile, it makes a + (x + y), b + (x + y).
func addCommon(f *fn) {
	for range 3 { // a sum of more terms
		f.countUses()
		changed := false
		for _, b := range f.blocks {
			changed = f.addCommonIn(b) || changed
		}
		if !changed {
			return
		}
		sweep(f)
	}
}

// enoughSums is of how many sums two terms are added once. Of fewer rows ptxas makes sums of three
// terms, and with 16 some kernels lose 2 to 3 % of their speed.
const enoughSums = 24

// A termPair is two terms of sums; the first is the earlier value.
type termPair struct{ x, y *value }

func newTermPair(x, y *value) termPair {
	if x.id > y.id {
		x, y = y, x
	}
	return termPair{x, y}
}

func (f *fn) addCommonIn(b *block) bool {
	inside := make(map[*value]bool, len(b.insts))
	count := make(map[termPair]int)
	for _, v := range b.insts {
		f.mod.meter.Visit()
		inside[v] = true
		for _, s := range splitsOf(v, inside) {
			count[s.pair]++
		}
	}
	common := make(map[termPair]*value)
	out := make([]*value, 0, len(b.insts))
	for _, v := range b.insts {
		best := -1
		splits := splitsOf(v, inside)
		for i, s := range splits {
			if count[s.pair] >= enoughSums && (best < 0 || count[s.pair] > count[splits[best].pair]) {
				best = i
			}
		}
		if best >= 0 {
			s := splits[best]
			sum := common[s.pair]
			if sum == nil {
				sum = f.newValue(opAdd, tS32, r32, s.pair.x, s.pair.y)
				sum.loc, sum.block = v.loc, b
				common[s.pair] = sum
				out = append(out, sum)
			}
			v.args, v.flags = []*value{s.rest, sum}, v.flags&^disjoint
		}
		out = append(out, v)
	}
	b.insts = out
	return len(common) > 0
}

// A split is a sum of three terms as one and a pair.
type split struct {
	rest *value
	pair termPair
}

// splitsOf lists the ways to add two terms of v first that it does not now: v is a sum of one that
// nobody else needs. Constants stay where they are, for addresses.
func splitsOf(v *value, inside map[*value]bool) (list []split) {
	plain := func(v *value) bool { return v.op == opAdd && v.class == r32 && !v.typ.isFloat() }
	if !plain(v) {
		return nil
	}
	for i := range 2 {
		s, y := v.args[i], v.args[1-i]
		if !inside[s] || !plain(s) || s.uses != 1 || y.isConst() || s.args[0].isConst() || s.args[1].isConst() {
			continue
		}
		for j := range 2 {
			if x := s.args[j]; x != y {
				list = append(list, split{s.args[1-j], newTermPair(x, y)})
			}
		}
	}
	return list
}
