package ptx

// splitProducts makes (x + 1) * y the sum of x*y and y: one instruction as well, and what it
// multiplies is computed for something else, often.
func splitProducts(f *fn) {
	edit(f, func(e *editor, v *value) *value {
		if v.op != opMul || v.typ.isFloat() {
			return nil
		}
		for i := range 2 {
			s, y := v.args[i], v.args[1-i]
			if s.op == opAdd && s.args[1].isConst() && s.args[1].imm == 1 && !y.isConst() {
				return e.emit(opAdd, signedOf(v.class), v.class, e.emit(opMul, v.typ, v.class, s.args[0], y), y)
			}
		}
		return nil
	})
	shareValues(f)
	sweep(f)
}
