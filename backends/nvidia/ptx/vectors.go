package ptx

import (
	"github.com/llir/llvm/ir/types"

	"github.com/tritonc/tritonc/core/llir"
)

// elem is element i of a vector.
func (c *conv) elem(v llir.Value, i int) []*value {
	t := v.Type().(*types.VectorType)
	w := elemWidth(t)
	if w >= 32 || w == 1 {
		per := len(c.mod.layout(t.ElemType))
		if id, ok := v.(localID); ok {
			if e := c.elems[id.ID()]; e != nil && e[i*per] != nil {
				return e[i*per : (i+1)*per]
			}
		}
		return c.get(v)[i*per : (i+1)*per]
	}
	id, ok := v.(localID)
	if !ok {
		return []*value{c.part(c.get(v), w, i)}
	}
	n := id.ID()
	if c.elems[n] == nil {
		c.elems[n] = make([]*value, t.Len)
	}
	// What was put together of elements has them; a word is split once in a block,
	// and later passes share what is computed twice.
	if e := c.elems[n][i]; e != nil {
		return []*value{e}
	}
	if c.byID[n] == nil {
		return []*value{c.constant(classOf(w), 0)} // poison
	}
	return []*value{c.part(c.byID[n], w, i)}
}

// copyElems sets the elements that are known of a vector that others are put into.
func (c *conv) copyElems(to []*value, v llir.Value) {
	t := v.Type().(*types.VectorType)
	if l, ok := v.(*llir.Literal); ok && l.Text != "zeroinitializer" {
		return
	}
	per := max(1, len(to)/int(t.Len))
	if id, ok := v.(localID); ok && c.byID[id.ID()] == nil {
		copy(to, c.elems[id.ID()])
		return
	}
	for i := range int(t.Len) {
		copy(to[i*per:(i+1)*per], c.elem(v, i))
	}
}

// part is a piece of w bits, 8 or 16, of words.
func (c *conv) part(words []*value, w, i int) *value {
	word := words[i*w/words[0].class.bits()]
	at := i * w % word.class.bits()
	if word.class == r16 {
		if w == 16 || at == 0 {
			return word // of eight bits those above are anything
		}
		return c.emit(opShr, tU16, r16, word, c.constant(r32, int64(at)))
	}
	if w == 16 {
		return c.half(word, at/16)
	}
	return c.cvt(c.emit(opPrmt, tB32, r32, word, c.constant(r32, 0), c.constant(r32, byteAlone|int64(at/8))), tU32, tU16)
}

// byteAlone is the selector of a permutation of a word and zero that leaves the word's first
// byte, with zeros above. What follows then need not clear these, as it had to if the word
// itself was taken for its first byte.
const byteAlone = 0x7770

// loneByte returns the word of which v is a byte with zeros above, and which byte it is.
func loneByte(v *value) (*value, int64) {
	switch {
	case v.op == opPrmt && v.args[1].isConst() && v.args[1].imm == 0 && v.args[2].isConst() && v.args[2].imm&^3 == byteAlone:
		return v.args[0], v.args[2].imm & 3
	case v.op == opBfe && v.typ == tU32 && v.args[1].isConst() && v.args[2].isConst() && v.args[1].imm%8 == 0 && v.args[2].imm == 8:
		return v.args[0], v.args[1].imm / 8
	}
	return nil, 0
}

// half is one of the halves of a word of 32 or 64 bits.
func (c *conv) half(word *value, i int) *value {
	to := word.class - 1
	if word.isConst() {
		return c.constant(to, word.imm>>(i*to.bits()))
	}
	if word.op == opPack {
		return word.args[i]
	}
	if h, ok := c.halves[word]; ok && h[i].block == c.b {
		return h[i]
	}
	s := c.newValue(opSplit, bitsOf(word.class), none, word)
	s.loc = c.loc
	c.b.append(s)
	h := [2]*value{c.proj(s, 0, to), c.proj(s, 1, to)}
	c.halves[word] = h
	return h[i]
}

// pair is a word of two halves.
func (c *conv) pair(lo, hi *value) *value {
	if lo.isConst() && hi.isConst() {
		bits := lo.class.bits()
		return c.constant(lo.class+1, lo.imm&(1<<bits-1)|hi.imm<<bits)
	}
	if lo.op == opProj && hi.op == opProj && lo.imm == 0 && hi.imm == 1 && lo.args[0].op == opSplit && hi.args[0].op == opSplit && lo.args[0].args[0] == hi.args[0].args[0] {
		return lo.args[0].args[0]
	}
	return c.emit(opPack, bitsOf(lo.class+1), lo.class+1, lo, hi)
}

// pack makes the registers of a vector of its elements; nil is any value.
func (c *conv) pack(t *types.VectorType, elems []*value) []*value {
	w := elemWidth(t)
	l := c.mod.layout(t)
	out := make([]*value, 0, len(l))
	if w >= 32 || w == 1 {
		for i, e := range elems {
			if e == nil {
				e = c.constant(l[i], 0)
			}
			out = append(out, e)
		}
		return out
	}
	for k, cl := range l {
		n := max(1, min(cl.bits(), int(t.Len)*w)/w)
		group := elems[k*n : (k+1)*n]
		out = append(out, c.word(cl, w, group))
	}
	return out
}

// word packs elements of w bits; nil is any value.
func (c *conv) word(cl class, w int, elems []*value) *value {
	if len(elems) == 1 {
		if elems[0] == nil {
			return c.constant(cl, 0)
		}
		return elems[0]
	}
	known := make([]*value, len(elems))
	for i, e := range elems {
		if known[i] = e; e == nil {
			known[i] = c.constant(r16, 0)
		}
	}
	switch {
	case w == 16:
		for i, e := range elems { // a half that is anything costs least as the other's
			if e == nil {
				known[i] = known[1-i]
			}
		}
		return c.pair(known[0], known[1])
	case cl == r16:
		return c.bytes(known[0], known[1])
	}
	if v := c.gather(known); v != nil {
		return v
	}
	lo, hi := c.bytes(known[0], known[1]), c.bytes(known[2], known[3])
	return c.pair(lo, hi)
}

// bytes is two bytes in 16 bits.
func (c *conv) bytes(lo, hi *value) *value {
	return c.or(c.zx(lo, 8), c.emit(opShl, tB16, r16, hi, c.constant(r32, 8)))
}

// gather makes a word of four bytes of words, by one instruction where two have them
// all, else by three; nil where one is of no word.
func (c *conv) gather(elems []*value) *value {
	var words []*value
	selector := int64(0)
	var from [4]*value
	var at [4]int
	for i, e := range elems {
		from[i], at[i] = byteOf(e)
		if from[i] == nil {
			return nil
		}
		k := 0
		for k < len(words) && words[k] != from[i] {
			k++
		}
		if k == len(words) {
			words = append(words, from[i])
		}
		selector |= int64(k*4+at[i]) << (4 * i)
	}
	permute := func(x, y *value, by int64) *value { return c.emit(opPrmt, tB32, r32, x, y, c.constant(r32, by)) }
	switch {
	case len(words) == 1 && selector == 0x3210:
		return words[0]
	case len(words) == 1:
		return permute(words[0], words[0], selector)
	case len(words) == 2:
		return permute(words[0], words[1], selector)
	}
	lo := permute(from[0], from[1], int64(at[0]|(4+at[1])<<4))
	hi := permute(from[2], from[3], int64(at[2]|(4+at[3])<<4))
	return permute(lo, hi, 0x5410)
}

// byteOf is the word of 32 bits, and the byte of it, whose value the low byte of v has.
func byteOf(v *value) (*value, int) {
	if v.op != opCvt || v.class != r16 || v.args[0].class != r32 || v.typ.signed() {
		return nil, 0
	}
	if x, at := loneByte(v.args[0]); x != nil {
		return x, int(at)
	}
	return v.args[0], 0
}

// elementwise sets the result of an operation, of type t, of those on elements.
func (c *conv) elementwise(inst any, t llir.Type, one func(args []*value) *value, operands ...llir.Value) {
	vt, ok := t.(*types.VectorType)
	if !ok {
		args := make([]*value, len(operands))
		for k, x := range operands {
			args[k] = c.get1(x)
		}
		c.set(inst, one(args))
		return
	}
	elems := make([]*value, vt.Len)
	for i := range elems {
		args := make([]*value, len(operands))
		for k, x := range operands {
			if _, ok := x.Type().(*types.VectorType); !ok {
				args[k] = c.get1(x)
				continue
			}
			e := c.elem(x, i)
			if len(e) != 1 {
				refuse("arithmetic on vectors of type %s", t)
			}
			args[k] = e[0]
		}
		elems[i] = one(args)
	}
	c.elems[inst.(localID).ID()] = elems
}
