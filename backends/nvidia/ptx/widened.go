package ptx

import "math/bits"

const (
	// mostShifted is how many products of widened numbers a loop may take for them to be
	// shifts, not counting those that it takes more often than manyUses.
	mostShifted = 7
	manyUses    = 3
	// mostPressure is how many words may be live at once where they are.
	mostPressure = 120
)

// shiftedProducts are products of a widened number and a power of two that a loop takes from
// before it, or from another of its blocks where it has inner loops or counts the number. ptxas
// makes mul.wide of each such use: it multiplies again where it adds, and reads a parameter in
// each iteration. A shift it keeps in registers, which a tile has none left for.
func (f *fn) shiftedProducts() map[*value]bool {
	shifted := make(map[*value]bool)
	uses := make(map[*loop]map[*value]int)
	use := func(a *value, b *block) {
		l := b.loop
		if l == nil || a.block == b || !a.widenedTimesPower() || l.in(a.block) && (a.block.loop != l || !l.hasInner && a.args[0].args[0].op != opPhi) {
			return
		}
		shifted[a] = true
		if uses[l] == nil {
			uses[l] = make(map[*value]int)
		}
		uses[l][a]++
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, a := range p.args {
				use(a, b.preds[i])
			}
		}
		for _, v := range b.insts {
			for _, a := range v.args {
				use(a, b)
			}
		}
	}
	for _, of := range uses {
		few := 0
		for _, n := range of {
			if n <= manyUses {
				few++
			}
		}
		for v, n := range of {
			if few > mostShifted && n <= manyUses {
				delete(shifted, v)
			}
		}
	}
	if len(shifted) > 0 && f.mostLive(f.blocks, words) > mostPressure {
		return nil
	}
	return shifted
}

// widenedTimesPower reports whether v is a number of 32 bits, widened, times a power of two.
func (v *value) widenedTimesPower() bool {
	if v.class != r64 || v.op != opShl && v.op != opMul || v.typ.isFloat() {
		return false
	}
	x, n := v.args[0], v.args[1]
	return x.op == opCvt && x.args[0].class == r32 && n.isConst() && (v.op == opShl || bits.OnesCount64(unsigned(n)) == 1)
}
