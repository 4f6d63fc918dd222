package ptx

import "strings"

// splitStarts splits what the pointers of a group begin with into what is the same for all of
// them and for all threads, with which a counter begins, and an offset of each, as LLVM's loop
// strength reduction does: ptxas then counts once a warp. It returns the former as a form, and
// nil where they have no pointer in common or one of them has no offset.
func (f *fn) splitStarts(pre *block, group []induction, back int) (common *linear, offsets []*value) {
	forms := make([]linear, len(group))
	for i, g := range group {
		forms[i] = linearOf(g.phi.args[1-back], 8)
	}
	u := uniforms{}
	common = &linear{}
	pointer := false
	for _, t := range forms[0].terms {
		shared := t.value != nil && u.of(t.value)
		for i := range forms {
			o := forms[i].of(t.atom)
			shared = shared && o != nil && o.by == t.by
		}
		if shared {
			common.terms = append(common.terms, t)
			pointer = pointer || t.value.op == opParam && t.by == 1
		}
	}
	if !pointer {
		return nil, nil
	}
	for i := range forms {
		forms[i].addAll(*common, -1)
		if len(forms[i].terms) == 0 || !forms[i].valued() {
			return nil, nil
		}
	}
	for i := range forms {
		offsets = append(offsets, f.sum(pre, &forms[i], group[i].next))
	}
	return common, offsets
}

// valued reports whether each atom of a form is a value.
func (l *linear) valued() bool {
	for _, t := range l.terms {
		if t.value == nil {
			return false
		}
	}
	return true
}

// sum computes a form at the end of a block. Terms with the same factor are multiplied at once.
func (f *fn) sum(b *block, l *linear, like *value) *value {
	emit := func(o op, x, y *value) *value {
		v := f.newValue(o, tS64, r64, x, y)
		if s := f.simplify(v); s != nil {
			return s
		}
		v.loc = like.loc
		return b.append(v)
	}
	factor := l.terms[0].by
	for _, t := range l.terms {
		if t.by != factor {
			factor = 1
		}
	}
	var s *value
	for _, t := range l.terms {
		x := t.value
		if t.by != factor {
			x = emit(opMul, x, f.constant(r64, t.by))
		}
		if s != nil {
			x = emit(opAdd, s, x)
		}
		s = x
	}
	s = emit(opMul, s, f.constant(r64, factor))
	return emit(opAdd, s, f.constant(r64, l.constant))
}

// uniforms knows which values are the same for all threads of a block, as far as it can tell.
type uniforms map[*value]bool

func (u uniforms) of(v *value) bool {
	switch {
	case v.rooted() || v.op == opParam:
		return true
	case v.op == opInst:
		s, ok := v.aux.(string)
		return ok && strings.HasPrefix(s, "%ctaid")
	case v.flags&pure == 0 || v.op == opFrame:
		return false
	}
	if known, ok := u[v]; ok {
		return known
	}
	same := true
	for _, a := range v.args {
		same = same && u.of(a)
	}
	u[v] = same
	return same
}
