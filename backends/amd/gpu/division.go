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
		return resultFillsBits(i, depth)
	case *ir.InstExtractElement:
		return fillsBits(i.X, depth)
	case *ir.InstAdd:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstSub:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstMul:
		return fillsBits(i.X, depth) || fillsBits(i.Y, depth)
	case *ir.InstSRem: // of which LLVM looks at the dividend
		return fillsBits(i.X, depth)
	case *ir.InstSDiv:
		_, isConst := i.Y.(*llir.Int)
		return !isConst && fillsBits(i.X, depth)
	case *ir.InstPhi:
		for _, in := range i.Incs {
			if fillsBits(in.X, depth) {
				return true
			}
		}
	}
	return false
}

// resultFillsBits is fillsBits of what a call gives.
func resultFillsBits(call *ir.InstCall, depth int) bool {
	f, ok := call.Callee.(*ir.Func)
	if !ok {
		return false
	}
	name := f.Name()
	if strings.HasPrefix(name, "llvm.smin.") || strings.HasPrefix(name, "llvm.smax.") {
		// LLVM knows the bounds of the least of one and the greatest of another.
		x, y := call.Args[0], call.Args[1]
		return !isBound(x) && !isBound(y) && (fillsBits(x, depth) || fillsBits(y, depth))
	}
	return !strings.HasPrefix(name, "llvm.") || strings.HasPrefix(name, "llvm.amdgcn.raw.ptr.buffer.load") ||
		strings.HasPrefix(name, "llvm.amdgcn.work")
}

// isBound reports whether v is the lesser or the greater of two numbers.
func isBound(v llir.Value) bool {
	call, ok := v.(*ir.InstCall)
	if !ok {
		return false
	}
	f, ok := call.Callee.(*ir.Func)
	return ok && (strings.HasPrefix(f.Name(), "llvm.smin.") || strings.HasPrefix(f.Name(), "llvm.smax."))
}
