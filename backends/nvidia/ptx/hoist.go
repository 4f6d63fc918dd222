package ptx

import "slices"

// hoistComparisons has a loop keep truth values that it does not change, as long as no more of
// them live at once than there are registers for. LLVM does so by the same measure; ptxas leaves
// many in the loop.
func hoistComparisons(f *fn) {
	f.givePreheaders()
	f.place()
	for _, l := range f.loopsInnerFirst() {
		pre := l.preheader()
		if pre == nil || l.fixed() {
			continue
		}
		most := -1 // not counted yet
		for _, b := range f.inOrder(l) {
			for _, v := range slices.Clone(b.insts) {
				if !truthOfNumbers(v) || !l.invariant(v) {
					continue
				}
				if most < 0 {
					most = f.mostLive(f.inOrder(l), truths)
				}
				if most >= mostHoisted {
					break
				}
				most++
				i := b.indexOf(v)
				b.insts = slices.Delete(b.insts, i, i+1)
				pre.append(v)
				v.block = pre
			}
		}
	}
}

// mostHoisted is how many truth values may live at once in a loop that one more is kept for.
const mostHoisted = 5

// truthOfNumbers reports whether v compares numbers, or joins truth values.
func truthOfNumbers(v *value) bool {
	return comparesNumbers(v) || v.class == pred && (v.op == opAnd || v.op == opOr || v.op == opNot || v.op == opXor)
}

// truths counts truth values, for mostLive.
func truths(v *value) int {
	if v.class == pred {
		return 1
	}
	return 0
}
