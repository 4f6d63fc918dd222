package ptx

import "math"

// implies reports whether y holds wherever x does, as far as comparisons of signed numbers with
// constants tell: that a column, which is not negative, is below n implies that n is above zero.
func implies(x, y *value) bool { return impliesTo(x, y, 3) }

func impliesTo(x, y *value, depth int) bool {
	switch {
	case x == y:
		return true
	case depth == 0:
		return false
	case x.op == opAnd:
		return impliesTo(x.args[0], y, depth-1) || impliesTo(x.args[1], y, depth-1)
	case y.op == opAnd:
		return impliesTo(x, y.args[0], depth-1) && impliesTo(x, y.args[1], depth-1)
	case y.op == opOr:
		return impliesTo(x, y.args[0], depth-1) || impliesTo(x, y.args[1], depth-1)
	}
	if !comparesSigned(y) || !y.args[1].isConst() || !comparesSigned(x) {
		return false
	}
	low, high := boundsBy(x, y.args[0])
	switch c := y.args[1].imm; y.cmp {
	case cmpGT:
		return low > c
	case cmpGE:
		return low >= c
	case cmpLT:
		return high < c
	case cmpLE:
		return high <= c
	}
	return false
}

// comparesSigned reports whether v compares signed numbers of 32 bits.
func comparesSigned(v *value) bool {
	return comparesNumbers(v) && v.typ == tS32
}

// boundsBy is between what numbers n lies where a comparison holds.
func boundsBy(c, n *value) (low, high int64) { return bounds(c, c.cmp, n) }

// bounds is the same for another comparison of the operands of c.
func bounds(c *value, k cmp, n *value) (low, high int64) {
	other := c.args[1]
	if c.args[0] != n {
		k, other = k.swapped(), c.args[0]
		if c.args[1] != n {
			return math.MinInt32, math.MaxInt32
		}
	}
	low, high = rangeOf(n)
	least, most := rangeOf(other)
	switch k {
	case cmpGT:
		low = max(low, least+1)
	case cmpGE:
		low = max(low, least)
	case cmpLT:
		high = min(high, most-1)
	case cmpLE:
		high = min(high, most)
	}
	return low, high
}

// rangeOf is between what numbers a signed number of 32 bits lies.
func rangeOf(v *value) (low, high int64) {
	if v.isConst() {
		return v.imm, v.imm
	}
	if zero := (&zeros{}).of(v, 4); zero>>31 != 0 {
		return 0, int64(^uint32(zero))
	}
	return math.MinInt32, math.MaxInt32
}

// fact is a truth value, and what it is where a branch by it has led.
type fact struct {
	cond  *value
	holds bool
}

// factOf is what a branch to a block says in it and in all that it dominates.
func factOf(b *block) (is fact, ok bool) {
	if len(b.preds) != 1 {
		return is, false
	}
	t := &b.preds[0].term
	if len(t.to) != 2 || t.to[0] == t.to[1] {
		return is, false
	}
	return fact{t.cond, (t.to[0] == b) != t.not}, true
}

// extremeBy is the operand that a maximum or minimum of a number and a constant is by what is
// known, or nil.
func extremeBy(v *value, facts []fact) *value {
	if v.op != opMax && v.op != opMin || v.typ != tS32 || !v.args[1].isConst() {
		return nil
	}
	x, c := v.args[0], v.args[1]
	for _, is := range facts {
		if !comparesSigned(is.cond) {
			continue
		}
		k := is.cond.cmp
		if !is.holds {
			k = k.inverse(false)
		}
		switch low, high := bounds(is.cond, k, x); {
		case low >= c.imm:
			return [...]*value{c, x}[truth(v.op == opMax)]
		case high <= c.imm:
			return [...]*value{x, c}[truth(v.op == opMax)]
		}
	}
	return nil
}

// decidedByExtreme reports whether a comparison is of a number with a minimum or a maximum of
// it, and holds for all numbers or for none: a loop that ends at min(first + 64, n) has no number
// from first + 64 on.
func decidedByExtreme(v *value) (holds, known bool) {
	k, x, y := v.cmp, v.args[0], v.args[1]
	if x.op == opMin || x.op == opMax {
		k, x, y = k.swapped(), y, x
	}
	if y.op != opMin && y.op != opMax || y.typ != v.typ || y.typ.isFloat() || y.args[0] != x && y.args[1] != x {
		return false, false
	}
	if y.op == opMax {
		return k == cmpLE, k == cmpLE || k == cmpGT
	}
	return k == cmpGE, k == cmpGE || k == cmpLT
}
