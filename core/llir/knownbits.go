package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
)

// knownDepth bounds how far signBits and oneBits look through operands; deeper
// values count as unknown.
const knownDepth = 5

// knownZeros is a result of zeroBits, which stays what it is: operands never change.
type knownZeros struct {
	zero uint64
	done bool
}

// zeroBits returns the bits of the integer v that are certainly zero; bits at
// and above its width are always set.
func (b *Builder) zeroBits(v Value) uint64 { return b.F.zeroBits(v) }

// oneBits returns the bits of the integer v that are certainly one: the least
// value that v can have where it is taken as unsigned.
func (b *Builder) oneBits(v Value) uint64 { return oneBits(v, knownDepth) }

// oneBits looks through the operations by which places are made of a base and a
// constant, which the Builder keeps outermost.
func oneBits(v Value, depth int) uint64 {
	if c, ok := v.(*Int); ok {
		return c.Bits
	}
	w := Width(v.Type())
	if depth == 0 || w == 0 || w > 64 || !IsInt(v.Type()) {
		return 0
	}
	depth--
	var one uint64
	switch i := v.(type) {
	case *ir.InstAnd:
		one = oneBits(i.X, depth) & oneBits(i.Y, depth)
	case *Or:
		one = oneBits(i.X, depth) | oneBits(i.Y, depth)
	case *ir.InstShl:
		if c, ok := i.Y.(*Int); ok && c.Bits < uint64(w) {
			one = oneBits(i.X, depth) << c.Bits
		}
	case *ir.InstLShr:
		if c, ok := i.Y.(*Int); ok && c.Bits < uint64(w) {
			one = oneBits(i.X, depth) >> c.Bits
		}
	case *ir.InstSelect:
		one = oneBits(i.ValueTrue, depth) & oneBits(i.ValueFalse, depth)
	case *ZExt:
		one = oneBits(i.From, depth)
	case *Trunc:
		one = oneBits(i.From, depth)
	case *ir.InstSExt:
		one = oneBits(i.From, depth)
		if from := Width(i.From.Type()); one>>(from-1)&1 != 0 {
			one |= ^maskOf(from)
		}
	}
	return one & maskOf(w)
}

// nonNegative reports whether the sign bit of v is certainly zero.
func (b *Builder) nonNegative(v Value) bool {
	return b.zeroBits(v)>>(Width(v.Type())-1)&1 != 0
}

// disjoint reports whether x and y certainly share no set bit.
func (b *Builder) disjoint(x, y Value) bool {
	return b.zeroBits(x)|b.zeroBits(y) == ^uint64(0)
}

// lowMask returns a mask of the lowest n bits.
func lowMask(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// signBits returns how many of the highest bits of the integer v, 64 bits wide at
// most, are certainly equal to its sign, at least the sign itself.
func (b *Builder) signBits(v Value) int { return b.F.signBits(v, knownDepth) }

func (f *Func) signBits(v Value, depth int) int {
	w := Width(v.Type())
	if c, ok := v.(*Int); ok {
		s := c.Signed()
		return w - bits.Len64(uint64(s^s>>63))
	}
	// Zeros at the top are signs of a number that is not negative.
	n := max(1, w-bits.Len64(^f.zeroBits(v)))
	if depth == 0 {
		return n
	}
	depth--
	least := func(x, y Value) int { return min(f.signBits(x, depth), f.signBits(y, depth)) }
	switch i := v.(type) {
	case *ir.InstSExt:
		n = max(n, w-Width(i.From.Type())+f.signBits(i.From, depth))
	case *ir.InstAnd:
		n = max(n, least(i.X, i.Y))
	case *Or:
		n = max(n, least(i.X, i.Y))
	case *ir.InstXor:
		n = max(n, least(i.X, i.Y))
	case *ir.InstSelect:
		n = max(n, least(i.ValueTrue, i.ValueFalse))
	case *ir.InstAdd: // one bit more than the longer operand
		n = max(n, least(i.X, i.Y)-1)
	case *ir.InstSub:
		n = max(n, least(i.X, i.Y)-1)
	case *ir.InstSRem: // nearer to zero than the divisor, no farther than the dividend
		n = max(n, f.signBits(i.X, depth), f.signBits(i.Y, depth))
	case *ir.InstSDiv: // the least number by -1 takes one bit more
		n = max(n, f.signBits(i.X, depth)-1)
	}
	return n
}

// divisible32 reports whether x divided by y, both as signed numbers of 64 bits, is
// what the same division of 32 bits gives: both fit, and x is not the least number of 32
// bits, which -1 divides into one that does not fit.
func (b *Builder) divisible32(x, y Value) bool {
	sx := b.signBits(x)
	if sx < 33 || b.signBits(y) < 33 {
		return false
	}
	return sx > 33 || b.notLeast(x, knownDepth)
}

// notLeast reports whether x, which fits into 32 bits, is certainly not the least number
// of 32 bits. No quotient or remainder is farther from zero than the dividend, and a
// remainder is nearer than the divisor.
func (b *Builder) notLeast(x Value, depth int) bool {
	if b.nonNegative(x) {
		return true
	}
	if depth == 0 {
		return false
	}
	switch i := x.(type) {
	case *ir.InstSExt:
		return Width(i.From.Type()) < 32 || b.notLeast(i.From, depth-1)
	case *ir.InstSDiv:
		return b.signBits(i.X) >= Width(x.Type())-31 && b.notLeast(i.X, depth-1)
	case *ir.InstSRem:
		return b.signBits(i.Y) >= Width(x.Type())-31
	}
	return false
}

// A span is the least and the greatest value that an integer can have, taken as
// unsigned.
type span struct {
	least, most uint64
	done        bool
}

// span looks through the operations by which places are made and chosen.
func (f *Func) span(v Value) span {
	if c, ok := v.(*Int); ok {
		return span{least: c.Bits, most: c.Bits}
	}
	inst, ok := v.(localID)
	if !ok {
		return span{most: ^f.zeroBits(v)}
	}
	id := int(inst.ID())
	if id < len(f.spans) && f.spans[id].done {
		return f.spans[id]
	}
	s := span{oneBits(v, knownDepth), ^f.zeroBits(v), true}
	switch i := v.(type) {
	case *Or:
		x, y := f.span(i.X), f.span(i.Y)
		s.least = max(s.least, x.least, y.least)
		if i.Disjoint { // the sum, which does not wrap around
			s.least = max(s.least, x.least+y.least)
			if most := x.most + y.most; most >= x.most {
				s.most = min(s.most, most)
			}
		}
	case *ir.InstSelect:
		x, y := f.span(i.ValueTrue), f.span(i.ValueFalse)
		s.least, s.most = max(s.least, min(x.least, y.least)), min(s.most, max(x.most, y.most))
	case *ZExt:
		x := f.span(i.From)
		s.least, s.most = max(s.least, x.least), min(s.most, x.most)
	}
	if id >= len(f.spans) {
		f.spans = append(f.spans, make([]span, int(f.lastID)+1-len(f.spans))...)
	}
	f.spans[id] = s
	return s
}

func (f *Func) zeroBits(v Value) uint64 {
	if c, ok := v.(*Int); ok {
		return ^c.Bits
	}
	w := Width(v.Type())
	if w == 0 || w > 64 || !IsInt(v.Type()) {
		return 0
	}
	high := ^maskOf(w)
	switch v.(type) {
	case *ir.Param, *ir.InstCall, *ir.InstPhi:
		return high | f.known[v]
	}
	inst, ok := v.(localID)
	if !ok {
		return high
	}
	id := int(inst.ID())
	if id < len(f.zeros) && f.zeros[id].done {
		return f.zeros[id].zero
	}
	zero := high | f.zeroResult(v, w)
	if id >= len(f.zeros) {
		f.zeros = append(f.zeros, make([]knownZeros, int(f.lastID)+1-len(f.zeros))...)
	}
	f.zeros[id] = knownZeros{zero, true}
	return zero
}

// zeroResult is zeroBits of the result of an instruction, w bits wide, by its
// operands.
func (f *Func) zeroResult(v Value, w int) uint64 {
	var zero uint64
	switch i := v.(type) {
	case *ir.InstAnd:
		zero |= f.zeroBits(i.X) | f.zeroBits(i.Y)
	case *Or:
		zero |= f.zeroBits(i.X) & f.zeroBits(i.Y)
	case *ir.InstXor:
		zero |= f.zeroBits(i.X) & f.zeroBits(i.Y)
	case *ir.InstShl:
		if c, ok := i.Y.(*Int); ok && c.Bits < uint64(w) {
			zero |= f.zeroBits(i.X)<<c.Bits | lowMask(int(c.Bits))
		}
	case *ir.InstLShr:
		x := f.zeroBits(i.X)
		if c, ok := i.Y.(*Int); !ok {
			zero |= ^lowMask(bits.Len64(^x)) // it becomes no greater
		} else if c.Bits < uint64(w) {
			// The bits above the width of the operand count as zero, so the
			// shift brings zeros in from there.
			zero |= x>>c.Bits | ^(^uint64(0) >> c.Bits)
		}
	case *ir.InstAdd:
		x, y := f.zeroBits(i.X), f.zeroBits(i.Y)
		low := min(bits.TrailingZeros64(^x), bits.TrailingZeros64(^y))
		// The sum needs one bit more than the longer operand.
		top := max(bits.Len64(^x), bits.Len64(^y)) + 1
		zero |= lowMask(low) | ^lowMask(top)
	case *ir.InstMul:
		x, y := f.zeroBits(i.X), f.zeroBits(i.Y)
		low := bits.TrailingZeros64(^x) + bits.TrailingZeros64(^y)
		top := bits.Len64(^x) + bits.Len64(^y)
		zero |= lowMask(low)
		if top < w {
			zero |= ^lowMask(top)
		}
	case *ir.InstURem: // below the divisor, and no more than the dividend
		y := ^f.zeroBits(i.Y)
		zero |= ^lowMask(bits.Len64(min(^f.zeroBits(i.X), max(y, 1)-1)))
	case *ir.InstSRem:
		// Of a dividend that is not negative; the divisor is -2^n at the least.
		if x := ^f.zeroBits(i.X); x>>(w-1) == 0 {
			n := w - f.signBits(i.Y, knownDepth)
			zero |= ^lowMask(min(bits.Len64(x), n))
		}
	case *ir.InstUDiv:
		least := uint64(1)
		if c, ok := i.Y.(*Int); ok {
			least = max(c.Bits, 1)
		}
		zero |= ^lowMask(bits.Len64(^f.zeroBits(i.X) / least))
	case *ir.InstSelect:
		zero |= f.zeroBits(i.ValueTrue) & f.zeroBits(i.ValueFalse)
	case *ZExt:
		zero |= f.zeroBits(i.From)
	case *Trunc:
		zero |= f.zeroBits(i.From)
	case *ir.InstSExt:
		x := f.zeroBits(i.From)
		from := Width(i.From.Type())
		zero |= x & maskOf(from-1)
		if x>>(from-1)&1 != 0 {
			zero |= ^maskOf(from - 1)
		}
	}
	return zero
}
