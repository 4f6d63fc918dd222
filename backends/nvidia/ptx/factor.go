package ptx

import "slices"

// Machine code joins three truth values at once: a factor of two saves nothing beside a row's
// own. For few conjunctions it is not worth another order.
const (
	fewestCommon   = 3
	fewestFactored = 4
)

// factorTruths has conjunctions of a block that have several truth values in common, such as
// the masks of a tile's rows, join these once.
func factorTruths(f *fn) {
	f.countUses()
	f.place()
	for _, b := range f.blocks {
		f.factorTruthsOf(b)
	}
	sweep(f)
}

func (f *fn) factorTruthsOf(b *block) {
	joins := func(v *value) bool { return v.op == opAnd && v.class == pred && v.block == b }
	within := make(map[*value]bool) // conjunctions that are parts of others
	for _, v := range b.insts {
		if joins(v) {
			for _, a := range v.args {
				if joins(a) && a.uses == 1 {
					within[a] = true
				}
			}
		}
	}
	var leaves func(v *value, list []*value) []*value
	leaves = func(v *value, list []*value) []*value {
		for _, a := range v.args {
			if within[a] {
				list = leaves(a, list)
			} else if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
		return list
	}
	parts := make(map[*value][]*value)
	var roots []*value
	count := make(map[*value]int)
	for _, v := range b.insts {
		if !joins(v) || within[v] {
			continue
		}
		if l := leaves(v, nil); len(l) > fewestCommon {
			parts[v] = l
			roots = append(roots, v)
			for _, a := range l {
				count[a]++
			}
		}
	}
	var groups []*commonTruths
next:
	for _, v := range roots {
		most := 0
		for _, a := range parts[v] {
			most = max(most, count[a])
		}
		g := &commonTruths{of: []*value{v}}
		for _, a := range parts[v] {
			if 2*count[a] > most {
				g.truths = append(g.truths, a)
			}
		}
		if n := len(g.truths); n < fewestCommon || n == len(parts[v]) {
			continue
		}
		for _, known := range groups {
			if sameTruths(known.truths, g.truths) {
				known.of = append(known.of, v)
				continue next
			}
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		if len(g.of) >= fewestFactored {
			f.factor(b, g, parts)
		}
	}
}

// commonTruths are truth values that several conjunctions have in common.
type commonTruths struct {
	truths, of []*value
}

func sameTruths(x, y []*value) bool {
	return len(x) == len(y) && !slices.ContainsFunc(x, func(v *value) bool { return !slices.Contains(y, v) })
}

// factor makes the conjunctions of a group those of what each has alone, and of what they have
// in common.
func (f *fn) factor(b *block, g *commonTruths, parts map[*value][]*value) {
	join := func(before *value, list []*value) *value {
		v := list[0]
		for _, a := range list[1:] {
			v = f.newValue(opAnd, tPred, pred, v, a)
			v.loc = before.loc
			b.insertBefore(b.indexOf(before), v)
		}
		return v
	}
	common := join(g.of[0], g.truths)
	for _, v := range g.of {
		var own []*value
		for _, a := range parts[v] {
			if !slices.Contains(g.truths, a) {
				own = append(own, a)
			}
		}
		v.args = []*value{join(v, own), common}
	}
}
