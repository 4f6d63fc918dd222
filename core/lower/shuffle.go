package lower

import "github.com/tritonc/tritonc/core/llir"

// viaWords applies f, which moves 32 bits between lanes, to a value of any
// scalar type: narrower ones are widened, wider ones go in two pieces.
func (e *emitter) viaWords(v llir.Value, f func(llir.Value) llir.Value) llir.Value {
	b, t := e.b, v.Type()
	if llir.IsPtr(t) {
		return b.Cast(llir.IntToPtr, e.viaWords(b.Cast(llir.PtrToInt, v, llir.I64, 0), f), t, 0)
	}
	w := llir.Width(t)
	bits := b.BitCast(v, llir.IntN(w))
	switch {
	case w == 32:
		bits = f(bits)
	case w < 32:
		bits = b.Trunc(f(b.ZExt(bits, llir.I32)), llir.IntN(w))
	default:
		pair := b.BitCast(bits, e.m.llvm.Vec(2, llir.I32))
		lo, hi := f(b.ExtractElement(pair, 0)), f(b.ExtractElement(pair, 1))
		bits = b.BitCast(b.Vector(lo, hi), llir.I64)
	}
	return b.BitCast(bits, t)
}

// shuffleXor is v of the lane whose number differs by mask.
func (e *emitter) shuffleXor(v llir.Value, mask int) llir.Value {
	return e.viaWords(v, func(w llir.Value) llir.Value { return e.exchange(w, mask) })
}

// shuffleIndex is v of the lane with the given number.
func (e *emitter) shuffleIndex(v, lane llir.Value) llir.Value {
	return e.viaWords(v, func(w llir.Value) llir.Value { return e.m.target.ShuffleIndex(e.b, w, lane) })
}
