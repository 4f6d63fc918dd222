package ptx

// chooseParameters has a kernel choose between the places of parameters, and load one, where it
// chose between the numbers in them: ptxas would load each where its truth value holds, which the
// loads then wait for, one after the other. LLVM does so, too, for parameters of which nothing
// else is made.
func chooseParameters(f *fn) {
	if !f.entry {
		return
	}
	f.countUses()
	places := make(map[*value]*value) // of what was chosen and is loaded now
	edit(f, func(e *editor, v *value) *value {
		if v.op != opSelp || e.b != f.blocks[0] || v.class != r32 && v.class != r64 {
			return nil
		}
		var at [2]*value
		for i, a := range v.args[:2] {
			at[i] = places[a]
			if a.op == opParam && a.typ == bitsOf(a.class) {
				at[i] = f.placeOf(a)
			}
			if at[i] == nil || a.uses != 1 {
				return nil
			}
		}
		for _, p := range at {
			if p.block == nil {
				p.loc, p.block = v.loc, e.b
				e.out = append(e.out, p)
			}
		}
		place := e.emit(opSelp, tB64, r64, at[0], at[1], v.args[2])
		places[v] = place
		v.op, v.typ, v.args, v.aux = opLd, bitsOf(v.class), []*value{place}, &access{space: spaceParam, typ: bitsOf(v.class), words: 1}
		return nil
	})
	sweep(f)
}

// placeOf makes the address of a parameter, which is in no block yet.
func (f *fn) placeOf(p *value) *value {
	v := f.newValue(opInst, tNone, r64)
	v.text, v.aux, v.flags = "mov.b64", paramName(f.name, int(p.imm)), pure
	return v
}
