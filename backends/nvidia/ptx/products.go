package ptx

// splitProducts makes (x + 1) * y the sum of x*y and y: one instruction as well, and what it
// multiplies is computed for something else, often. Of 32 bits (x + c) * y becomes the sum of a
// product of x and y at another distance and a multiple of y, as by LLVM's straight-line strength
// reduction: the rows of a tile differ among threads, and what they are apart does not, often.
func splitProducts(f *fn) {
	f.analyze()
	known := make(map[rowProduct]distantProduct)
	edit(f, func(e *editor, v *value) *value {
		if v.op != opMul || v.typ.isFloat() {
			return nil
		}
		for i := range 2 {
			x, y := v.args[i], v.args[1-i]
			if y.isConst() {
				continue
			}
			if x.op == opAdd && x.args[1].isConst() && x.args[1].imm == 1 {
				return e.emit(opAdd, signedOf(v.class), v.class, e.emit(opMul, v.typ, v.class, x.args[0], y), y)
			}
			if v.class == r32 && e.b.loop == nil { // in loops it would wait for another one
				if s := e.fromProduct(v, x, y, known); s != nil {
					return s
				}
			}
		}
		return nil
	})
	shareValues(f)
	sweep(f)
}

// distantProduct is a product of a row at a distance.
type distantProduct struct {
	v *value
	c int64
}

// fromProduct computes v, which is row * stride, of a product that is known, or notes it and
// returns nil. Bits that are joined with others, or are joined with a constant where the product
// of themselves is not known, are left to masks and addresses, as by LLVM.
func (e *editor) fromProduct(v, row, stride *value, known map[rowProduct]distantProduct) *value {
	p, c := rowProduct{row, stride}, int64(0)
	if isSum(row) && row.args[1].isConst() {
		p.row, c = row.args[0], row.args[1].imm
	}
	if p.row.op == opOr {
		return nil
	}
	if k, ok := known[p]; ok && dominates(k.v.block, e.b) && c != k.c && (row.op == opAdd || k.c == 0) {
		return e.emit(opAdd, tS32, r32, k.v, e.emit(opMul, tS32, r32, stride, e.constant(r32, c-k.c)))
	}
	v.block = e.b
	known[p] = distantProduct{v, c}
	return nil
}

// regroupProducts multiplies what does not change in a loop before it: (n * x) * y is n * (x * y),
// of which a loop that counts n makes a sum.
func regroupProducts(f *fn) {
	f.givePreheaders()
	f.countUses()
	changed := false
	f.eachInLoops(func(l *loop, pre *block, v *value) {
		changed = f.regroupProduct(l, pre, v) || changed
	})
	if changed {
		shareValues(f)
		sweep(f)
	}
}

func (f *fn) regroupProduct(l *loop, pre *block, v *value) bool {
	if v.op != opMul || v.typ.isFloat() || v.class == r16 {
		return false
	}
	for i := range 2 {
		m, y := v.args[i], v.args[1-i]
		if m.op != opMul || m.uses != 1 || !l.invariantValue(y) {
			continue
		}
		for k := range 2 {
			n, x := m.args[k], m.args[1-k]
			if l.invariantValue(n) || !l.invariantValue(x) {
				continue
			}
			p := f.newValue(opMul, v.typ, v.class, x, y)
			p.loc = v.loc
			if s := f.simplify(p); s != nil {
				p = s
			} else {
				pre.append(p)
			}
			v.args = []*value{n, p}
			return true
		}
	}
	return false
}
