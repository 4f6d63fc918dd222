package lang

import "github.com/tritonc/tritonc/core/dialect/arith"

// fp8e4b15 has fp16's exponent bias, so its bits, moved up by 7 places, are
// those of the same number in fp16:
//
//	fp8e4b15   s eeee mmm
//	fp16       s 0eeee mmm0000000
//
// No target multiplies or adds it; kernels store in it only.

// maxE4B15 is its greatest number, 1.75, in fp16.
const maxE4B15 = 0x3f00

// fromE4B15 widens to fp16.
func (e *Emitter) fromE4B15(x *Tensor) *Tensor {
	wide := withElem(x.T, UInt16)
	bits := e.castInt(e.tensor(x.V, withElem(x.T, UInt8)), wide, UInt8, UInt16)
	c := func(n int64) *Tensor { return e.Constant(n, wide) }
	sign := e.op(arith.ShLI, e.op(arith.AndI, bits, c(0x80)), c(8))
	rest := e.op(arith.ShLI, e.op(arith.AndI, bits, c(0x7f)), c(7))
	return e.Bitcast(e.op(arith.OrI, sign, rest), Float16)
}

// toE4B15 narrows from fp16: what is greater than the greatest number becomes
// that, NaN too, and a half of the last place is rounded away from zero.
func (e *Emitter) toE4B15(x *Tensor) *Tensor {
	bits := e.Bitcast(x, UInt16)
	c := func(n int64) *Tensor { return e.Constant(n, bits.T) }
	sign := e.op(arith.AndI, bits, c(0x8000))
	rest := e.op(arith.MinUI, e.op(arith.AndI, bits, c(0x7fff)), c(maxE4B15))
	rest = e.op(arith.AddI, e.op(arith.ShLI, rest, c(1)), c(0x80))
	high := e.op(arith.ShRUI, e.op(arith.OrI, sign, rest), c(8))
	narrow := e.castInt(high, withElem(x.T, UInt8), UInt16, UInt8)
	return e.tensor(narrow.V, withElem(x.T, FP8E4B15))
}
