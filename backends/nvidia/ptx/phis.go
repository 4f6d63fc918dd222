package ptx

import "encoding/binary"

// sharePhis gives a block one phi in the place of several that always have the same value.
// Which ones differ is found by assuming that none does, and dividing the phis by their
// operands until all of a group have operands of the same groups.
func sharePhis(f *fn) {
	group := make(map[*value]int32) // of a phi; a negative number is not an id
	count := int32(0)
	for _, b := range f.blocks {
		first := make(map[class]int32)
		for _, p := range b.phis {
			if first[p.class] == 0 {
				count++
				first[p.class] = -count
			}
			group[p] = first[p.class]
		}
	}
	for {
		next, groups := make(map[*value]int32, len(group)), int32(0)
		for _, b := range f.blocks {
			known := make(map[string]int32, len(b.phis))
			for _, p := range b.phis {
				k := phiKey(p, group)
				if known[k] == 0 {
					groups++
					known[k] = -groups
				}
				next[p] = known[k]
			}
		}
		group = next
		if groups == count {
			break
		}
		count = groups
	}
	by := make(map[*value]*value)
	for _, b := range f.blocks {
		first := make(map[int32]*value)
		kept := b.phis[:0]
		for _, p := range b.phis {
			if x := first[group[p]]; x != nil {
				by[p] = x
				continue
			}
			first[group[p]] = p
			kept = append(kept, p)
		}
		b.phis = kept
	}
	f.replaceAll(by)
	if len(by) > 0 {
		f.dropTrivialPhis()
	}
}

// phiKey is what a phi has in common with those that may be equal to it: its group, and
// those of its operands.
func phiKey(p *value, group map[*value]int32) string {
	k := binary.LittleEndian.AppendUint32(nil, uint32(group[p]))
	for _, a := range p.args {
		id := a.id
		if g, ok := group[a]; ok {
			id = g
		}
		k = binary.LittleEndian.AppendUint32(k, uint32(id))
	}
	return string(k)
}
