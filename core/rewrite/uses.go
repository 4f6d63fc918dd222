package rewrite

import (
	"cmp"
	"slices"

	"github.com/tritonc/tritonc/core/ir"
)

// usesBy are a value's uses by the region that they are in.
type usesBy map[*ir.Region]*usesIn

// usesIn are the uses directly in a region, and the regions in it that have some.
type usesIn struct {
	uses  []orderedUse
	inner []*ir.Region
}

type orderedUse struct {
	use   *ir.Use
	place int // in the value's list of uses
}

// UsesIn returns the uses of v in r, however deep, in the order of v's list of uses.
// It asks a list that is made once in a round of Greedy, so that many regions can
// ask for one value's: uses that v got since, and not by Replace, are found in the
// next round.
func (rw *Rewriter) UsesIn(v *ir.Value, r *ir.Region) []*ir.Use {
	by := rw.uses[v]
	if by == nil {
		by = rw.sortUses(v)
		rw.uses[v] = by
	}
	var found []orderedUse
	var collect func(r *ir.Region)
	collect = func(r *ir.Region) {
		rw.meter.Visit()
		if in := by[r]; in != nil {
			found = append(found, in.uses...)
			for _, inner := range in.inner {
				collect(inner)
			}
		}
	}
	collect(r)
	slices.SortFunc(found, func(a, b orderedUse) int { return cmp.Compare(a.place, b.place) })
	var uses []*ir.Use
	for _, u := range found {
		if u.use.Value() == v && r.Contains(u.use.Owner()) {
			uses = append(uses, u.use)
		}
	}
	return uses
}

func (rw *Rewriter) sortUses(v *ir.Value) usesBy {
	by := make(usesBy)
	home := v.Block().Region() // all uses are in it
	place := 0
	for u := range v.Uses() {
		b := u.Owner().Block()
		if b == nil {
			continue
		}
		r := b.Region()
		isNew := by.in(r)
		by[r].uses = append(by[r].uses, orderedUse{u, place})
		place++
		for isNew && r != home {
			rw.meter.Visit()
			parent := r.Parent()
			if parent == nil || parent.Block() == nil {
				break
			}
			outer := parent.Block().Region()
			isNew = by.in(outer)
			by[outer].inner = append(by[outer].inner, r)
			r = outer
		}
	}
	return by
}

// in makes an entry for r, and reports whether there was none.
func (by usesBy) in(r *ir.Region) bool {
	if by[r] != nil {
		return false
	}
	by[r] = &usesIn{}
	return true
}
