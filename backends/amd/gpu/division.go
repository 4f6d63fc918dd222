package gpu

import (
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
)

// signedDivision is x/y where llc 22 could err: it divides numbers that it knows to need
// fewer bits than they have by as many bits, also where the quotient takes one more, as
// that of the least number by -1 does. (-128)/(-1) is -128 then, of numbers extended from 8
// bits. It is nil where llc cannot know.
func signedDivision(b *llir.Builder, x, y llir.Value) llir.Value {
	t := x.Type()
	if _, isConst := llir.ConstInt(y); isConst || llir.Width(t) <= 8 || fillsBits(x, knownDepth) || fillsBits(y, knownDepth) {
		return nil
	}
	quotient := b.Binary(llir.SDiv, x, y, 0)
	byMinusOne := b.ICmp(enum.IPredEQ, y, b.M.Int(llir.IntN(llir.Width(t)), -1))
	return b.Select(byMinusOne, b.Sub(b.M.Zero(t), x), quotient)
}

// knownDepth is how far LLVM looks through operands for what it knows of a value.
const knownDepth = 6

// fillsBits reports whether v is a number of which LLVM does not know that it needs fewer
// bits than it has, or knows that it is not negative.
func fillsBits(v llir.Value, depth int) bool {
	if depth == 0 {
		return true // what is deeper LLVM does not see
	}
	depth--
	switch i := v.(type) {
	case *ir.Param, *ir.InstLoad:
		return true
	case *ir.InstCall:
		f, ok := i.Callee.(*ir.Func)
		return ok && (!strings.HasPrefix(f.Name(), "llvm.") || strings.HasPrefix(f.Name(), "llvm.amdgcn.raw.ptr.buffer.load") ||
			strings.HasPrefix(f.Name(), "llvm.amdgcn.work"))
	case *ir.InstExtractElement:
		return fillsBits(i.X, depth)
	case *ir.InstAdd:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstSub:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstMul:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstPhi:
		for _, in := range i.Incs {
			if x, ok := in.X.(llir.Value); ok && fillsBits(x, depth) {
				return true
			}
		}
	}
	return false
}
