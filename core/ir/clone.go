package ir

import "slices"

// Mapping says which values and blocks stand for which in a copy.
type Mapping struct {
	values map[*Value]*Value
	blocks map[*Block]*Block
}

// NewMapping makes an empty mapping.
func NewMapping() *Mapping {
	return &Mapping{make(map[*Value]*Value), make(map[*Block]*Block)}
}

// Map makes to stand for from.
func (m *Mapping) Map(from, to *Value) { m.values[from] = to }

// MapBlock makes block to stand for from.
func (m *Mapping) MapBlock(from, to *Block) { m.blocks[from] = to }

// Lookup is what stands for v: v itself when nothing does.
func (m *Mapping) Lookup(v *Value) *Value {
	if w, ok := m.values[v]; ok {
		return w
	}
	return v
}

// Block is what stands for b: b itself when nothing does.
func (m *Mapping) Block(b *Block) *Block {
	if w, ok := m.blocks[b]; ok {
		return w
	}
	return b
}

// Clone copies op with its regions, detached, its operands looked up in m and
// its results entered there.
func (op *Operation) Clone(m *Mapping) *Operation {
	operands := make([]*Value, len(op.operands))
	for i, u := range op.operands {
		operands[i] = m.Lookup(u.value)
	}
	types := make([]Type, len(op.results))
	for i, r := range op.results {
		types[i] = r.typ
	}
	succs := make([]*Block, len(op.succs))
	for i, s := range op.succs {
		succs[i] = m.Block(s)
	}
	c := NewOperation(op.def, &State{
		Ctx: op.ctx, Loc: op.loc, Operands: operands, Types: types, Attrs: op.attrs,
		Successors: succs, Segments: slices.Clone(op.segments),
	})
	for i, r := range op.results {
		m.Map(r, c.results[i])
	}
	for _, r := range op.regions {
		r.CloneInto(c.AddRegion(), m)
	}
	return c
}

// CloneInto appends copies of r's blocks to dst. A use may appear before the
// copy of its definition (in a later block), so operands are looked up again at
// the end.
func (r *Region) CloneInto(dst *Region, m *Mapping) {
	for b := r.first; b != nil; b = b.next {
		nb := dst.AddBlock()
		m.MapBlock(b, nb)
		for _, a := range b.args {
			m.Map(a, nb.AddArg(a.typ, a.loc))
		}
	}
	for b := r.first; b != nil; b = b.next {
		nb := m.Block(b)
		for op := b.first; op != nil; op = op.next {
			nb.Append(op.Clone(m))
		}
	}
	if r.first == r.last {
		return
	}
	for b := r.first; b != nil; b = b.next {
		for op := m.Block(b).first; op != nil; op = op.next {
			Walk(op, func(o *Operation) WalkResult {
				for _, u := range o.operands {
					if w, ok := m.values[u.value]; ok {
						u.Set(w)
					}
				}
				return Advance
			})
		}
	}
}
