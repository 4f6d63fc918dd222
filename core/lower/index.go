package lower

import (
	"math/bits"

	"github.com/tritonc/tritonc/core/llir"
)

// threadSum emits the XOR of cols[i] over the bits i that are set in the index
// of the thread: the part of a linear map that depends on the thread. The bits of
// its CTA's rank may follow. Bits that
// move by the same distance move together, so a plain blocked layout costs one
// shift and one mask.
func (e *emitter) threadSum(cols []uint32) llir.Value {
	n := min(e.m.threadBits(), len(cols))
	sum := e.linearSum(e.tid, cols[:n])
	if len(cols) > n {
		sum = e.b.Xor(sum, e.linearSum(e.rank, cols[n:]))
	}
	return sum
}

// linearSum is threadSum for any i32 index x.
func (e *emitter) linearSum(x llir.Value, cols []uint32) llir.Value {
	var masks [64]uint32 // by distance + 32: the bits of x that move so far
	for i, c := range cols {
		for ; c != 0; c &= c - 1 {
			masks[bits.TrailingZeros32(c)-i+32] |= 1 << i
		}
	}
	b := e.b
	var sum llir.Value = e.m.llvm.I32(0)
	for d, m := range masks {
		if m == 0 {
			continue
		}
		var part llir.Value
		if s := d - 32; s >= 0 {
			part = b.And(b.Shl(x, s), e.m.llvm.I32(int(int32(m<<s))))
		} else {
			part = b.LShr(b.And(x, e.m.llvm.I32(int(int32(m)))), -s)
		}
		sum = b.Xor(sum, part)
	}
	return sum
}

// coords returns the coordinate along dimension d of each register's element,
// as i32.
func (e *emitter) coords(l *tensorLayout, d int) []llir.Value {
	cols := make([]uint32, len(l.thread)+len(l.block))
	for i, v := range l.thread {
		cols[i] = uint32(v[d])
	}
	for i, v := range l.block {
		cols[len(l.thread)+i] = uint32(v[d])
	}
	base := e.threadSum(cols)
	out := make([]llir.Value, l.regs)
	for r := range out {
		out[r] = e.b.Xor(base, e.m.llvm.I32(int(l.regCoord(r, d))))
	}
	return out
}

// firstReplica is an i1 that holds in one of the threads of a CTA that hold the same
// elements of l, or nil when no two do.
func (e *emitter) firstReplica(l *tensorLayout) llir.Value { return e.zeroBitsOfThread(l.freeThreads) }

// zeroBitsOfThread is an i1 that holds where the thread's index has none of the
// given bits, nil when there are none to look at.
func (e *emitter) zeroBitsOfThread(mask uint64) llir.Value { return e.bitsOfThread(mask, 0) }

// bitsOfThread is an i1 that holds where the thread's index has, of the bits of
// mask, just those of set; nil when there are none to look at.
func (e *emitter) bitsOfThread(mask, set uint64) llir.Value {
	if mask == 0 {
		return nil
	}
	b := e.b
	return b.ICmp(ipredEQ, b.And(e.tid, e.m.llvm.I32(int(mask))), e.m.llvm.I32(int(set)))
}

// and joins two predicates, either of which may be nil for "always".
func (e *emitter) and(x, y llir.Value) llir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return e.b.And(x, y)
}
