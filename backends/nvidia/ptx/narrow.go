package ptx

// narrowProducts multiplies words of 32 bits where numbers of 64 have no other bits: the words of
// a random number generator are halves of products, and ptxas multiplies all 64 bits of what is
// shifted down.
func narrowProducts(f *fn) {
	z := &zeros{}
	edit(f, func(e *editor, v *value) *value {
		if v.op != opMul || v.class != r64 || v.typ.isFloat() {
			return nil
		}
		x, y := v.args[0], v.args[1]
		if x.op == opCvt && (y.isConst() || y.op == opCvt) || !z.short(x) || !z.short(y) {
			return nil // mul.wide is selected for numbers that are widened
		}
		return e.emit(opMulWide, tU32, r64, e.lowWord(x), e.lowWord(y))
	})
}

// short reports whether a number of 64 bits has no more than 32.
func (z *zeros) short(v *value) bool { return ^z.of(v, 4)>>32 == 0 }

// lowWord is the lower word of a number of 64 bits.
func (e *editor) lowWord(v *value) *value {
	switch {
	case v.isConst():
		return e.constant(r32, v.imm)
	case v.op == opCvt && v.args[0].class == r32:
		return v.args[0]
	}
	return e.convert(tU64, tU32, r32, v)
}
