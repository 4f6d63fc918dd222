package ptx

import "math/bits"

// cutSums takes the high bits of a constant out of a sum of which only low bits are needed:
// (x + 5) & 1 is (x + 1) & 1, which is what others need, often.
func cutSums(f *fn) {
	f.countUses()
	cut := false
	edit(f, func(e *editor, v *value) *value {
		if v.op != opAnd || v.class == pred || !v.args[1].isConst() {
			return nil
		}
		s, needed := v.args[0], uint64(1)<<bits.Len64(unsigned(v.args[1]))-1
		if s.op != opAdd || s.uses != 1 || !s.args[1].isConst() || unsigned(s.args[1])&^needed == 0 {
			return nil
		}
		cut = true
		low := e.constant(s.class, int64(unsigned(s.args[1])&needed))
		return e.emit(opAnd, v.typ, v.class, e.emit(opAdd, s.typ, s.class, s.args[0], low), v.args[1])
	})
	if cut {
		shareValues(f)
	}
}
