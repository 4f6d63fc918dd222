package ptx

// advanceFirst has a loop that advances all of its pointers by one constant do so at its
// beginning, and access what lies as far before them. ptxas advances them before the accesses
// anyway: by their next values it does so before it waits for dots, and by the values that it
// has to copy first in between the accesses.
func advanceFirst(f *fn) {
	f.analyze()
	f.place()
	var loops []*loop
	for _, b := range f.blocks {
		if l := b.loop; l != nil && l.head == b && len(b.preds) == 2 {
			if back, ok := l.back(); ok && steadily(b, back) {
				loops = append(loops, l)
			}
		}
	}
	if len(loops) == 0 {
		return
	}
	accesses, others := make(map[*value][]use64), make(map[*value]int)
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for _, a := range p.args {
				others[a]++
			}
		}
		for _, v := range b.insts {
			for i, a := range v.args {
				if addressOperand(v, i) {
					accesses[a] = append(accesses[a], use64{v, i})
				} else {
					others[a]++
				}
			}
		}
		b.term.each(func(a **value) { others[*a]++ })
	}
	for _, l := range loops {
		back, _ := l.back()
		f.advanceIn(l, back, accesses, others)
	}
}

// use64 is an access by an address.
type use64 struct {
	v *value
	i int // the operand
}

// steadily reports whether a loop advances all of its pointers by one constant.
func steadily(h *block, back int) bool {
	var step *value
	for _, p := range h.phis {
		if p.class != r64 {
			continue
		}
		n := p.args[back]
		if n.op != opAdd || n.args[0] != p || !n.args[1].isConst() || step != nil && n.args[1] != step {
			return false
		}
		step = n.args[1]
	}
	return step != nil
}

// advanceIn advances those pointers that the loop only accesses memory by.
func (f *fn) advanceIn(l *loop, back int, accesses map[*value][]use64, others map[*value]int) {
	var first []*value
next:
	for _, p := range l.head.phis {
		if p.class != r64 {
			continue
		}
		n := p.args[back]
		if others[p] != 1 || others[n] != 1 || len(accesses[p]) == 0 || len(accesses[n]) > 0 {
			continue
		}
		step := n.args[1].imm
		for _, u := range accesses[p] {
			if !l.in(u.v.block) || !u.v.reaches(u.i, -step) {
				continue next
			}
		}
		for _, u := range accesses[p] {
			if s, ok := u.v.aux.(*assembly); ok {
				s.addOffset(s.outs+u.i, -step)
			} else {
				u.v.imm -= step
			}
			u.v.args[u.i] = n
		}
		i := n.block.indexOf(n)
		n.block.insts = append(n.block.insts[:i:i], n.block.insts[i+1:]...)
		first = append(first, n)
	}
	l.head.insertBefore(0, first...)
}

// reaches reports whether an access takes an offset that is larger by off.
func (v *value) reaches(i int, off int64) bool {
	s, ok := v.aux.(*assembly)
	if !ok {
		return fits(v.imm + off)
	}
	for k, r := range s.refs {
		if r == s.outs+i {
			if old, _, ok := s.offsetAt(k); !ok || !fits(old+off) {
				return false
			}
		}
	}
	return true
}
