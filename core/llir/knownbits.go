package llir

import (
	"math/bits"

	"github.com/llir/llvm/ir"
)

// knownDepth bounds how far the analysis looks through operands; deeper values
// count as unknown.
const knownDepth = 5

// zeroBits returns the bits of the integer v that are certainly zero; bits at
// and above its width are always set.
func (b *Builder) zeroBits(v Value) uint64 { return b.F.zeroBits(v, knownDepth) }

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
	n := max(1, w-bits.Len64(^f.zeroBits(v, depth)))
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
	}
	return n
}

func (f *Func) zeroBits(v Value, depth int) uint64 {
	if c, ok := v.(*Int); ok {
		return ^c.Bits
	}
	w := Width(v.Type())
	if w == 0 || w > 64 || !IsInt(v.Type()) {
		return 0
	}
	high := ^maskOf(w)
	zero := high
	switch v.(type) {
	case *ir.Param, *ir.InstCall, *ir.InstPhi:
		return zero | f.known[v]
	}
	if depth == 0 {
		return zero
	}
	depth--
	switch i := v.(type) {
	case *ir.InstAnd:
		zero |= f.zeroBits(i.X, depth) | f.zeroBits(i.Y, depth)
	case *Or:
		zero |= f.zeroBits(i.X, depth) & f.zeroBits(i.Y, depth)
	case *ir.InstXor:
		zero |= f.zeroBits(i.X, depth) & f.zeroBits(i.Y, depth)
	case *ir.InstShl:
		if c, ok := i.Y.(*Int); ok && c.Bits < uint64(w) {
			zero |= f.zeroBits(i.X, depth)<<c.Bits | lowMask(int(c.Bits))
		}
	case *ir.InstLShr:
		if c, ok := i.Y.(*Int); ok && c.Bits < uint64(w) {
			// The bits above the width of the operand count as zero, so the
			// shift brings zeros in from there.
			zero |= f.zeroBits(i.X, depth)>>c.Bits | ^(^uint64(0) >> c.Bits)
		}
	case *ir.InstAdd:
		x, y := f.zeroBits(i.X, depth), f.zeroBits(i.Y, depth)
		low := min(bits.TrailingZeros64(^x), bits.TrailingZeros64(^y))
		// The sum needs one bit more than the longer operand.
		top := max(bits.Len64(^x), bits.Len64(^y)) + 1
		zero |= lowMask(low) | ^lowMask(top)
	case *ir.InstMul:
		x, y := f.zeroBits(i.X, depth), f.zeroBits(i.Y, depth)
		low := bits.TrailingZeros64(^x) + bits.TrailingZeros64(^y)
		top := bits.Len64(^x) + bits.Len64(^y)
		zero |= lowMask(low)
		if top < w {
			zero |= ^lowMask(top)
		}
	case *ir.InstURem:
		if c, ok := i.Y.(*Int); ok && c.Bits != 0 {
			zero |= ^lowMask(bits.Len64(c.Bits - 1))
		}
	case *ir.InstUDiv:
		if c, ok := i.Y.(*Int); ok && c.Bits != 0 {
			zero |= ^lowMask(bits.Len64(^f.zeroBits(i.X, depth) / c.Bits))
		}
	case *ir.InstSelect:
		zero |= f.zeroBits(i.ValueTrue, depth) & f.zeroBits(i.ValueFalse, depth)
	case *ZExt:
		zero |= f.zeroBits(i.From, depth)
	case *Trunc:
		zero |= f.zeroBits(i.From, depth)
	case *ir.InstSExt:
		x := f.zeroBits(i.From, depth)
		from := Width(i.From.Type())
		zero |= x & maskOf(from-1)
		if x>>(from-1)&1 != 0 {
			zero |= ^maskOf(from - 1)
		}
	}
	return zero
}
