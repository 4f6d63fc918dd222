package lower

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// Reductions that combine numbers narrower than a word bit by bit work on several of
// them in one word.

// bitwise is what combines two numbers where the region of op does so bit by bit; nil
// where it does not.
func (e *emitter) bitwise(op *ir.Operation) func(x, y llir.Value) llir.Value {
	switch single(op) {
	case arith.AndI:
		return e.b.And
	case arith.OrI:
		return e.b.Or
	case arith.XorI:
		return e.b.Xor
	}
	return nil
}

// reducePackedLanes is reduceLanes for numbers narrower than a word that are combined bit
// by bit: several results go side by side.
func (e *emitter) reducePackedLanes(def *ir.OpDef, combine func(x, y llir.Value) llir.Value, groups []partial, bits []int) {
	b, t := e.b, groups[0][0].Type()
	width := llir.Width(t)
	for part := range slices.Chunk(groups, 32/width) {
		word := b.ZExt(part[0][0], llir.I32)
		for i, x := range part[1:] {
			word = b.Or(word, b.Shl(b.ZExt(x[0], llir.I32), (i+1)*width))
		}
		whole := llir.Value(nil)
		if len(bits) == bitLen(e.m.lanes) {
			whole = e.combineWarp(def, word)
		}
		if whole == nil {
			whole = word
			for i := len(bits) - 1; i >= 0; i-- {
				whole = combine(whole, e.shuffleXor(whole, 1<<bits[i]))
			}
		}
		for i := range part {
			part[i] = partial{b.Trunc(b.LShr(whole, i*width), t)}
		}
	}
}

// combinePacked fetches and combines the partials of one element of type t, narrower than
// a word, as they lie side by side in a number of bytes: word by word, and then the parts
// of a word.
func (e *emitter) combinePacked(combine func(x, y llir.Value) llir.Value, ptr llir.Value, off int64, t llir.Type, bytes int) llir.Value {
	elem := max(llir.Width(t), 8)
	width := min(8*bytes, 32)
	words := e.loadShared(ptr, off, llir.IntN(width), 8*bytes/width)
	for len(words) > 1 {
		half := len(words) / 2
		for i := range half {
			words[i] = combine(words[i], words[i+half])
		}
		words = words[:half]
	}
	v := words[0]
	for part := width / 2; part >= elem; part /= 2 {
		v = combine(v, e.b.LShr(v, part))
	}
	return e.b.Trunc(v, t)
}
