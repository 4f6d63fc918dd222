package ptx

import (
	"strings"
	"testing"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/internal/golden"
)

// phaseCases are functions that phases change, by the phase's name. Each is a kernel of
// an i32 and a pointer to global memory.
var phaseCases = map[string]func(b *llir.Builder, x, p llir.Value){
	"merge blocks": func(b *llir.Builder, x, p llir.Value) {
		before := b.Block()
		yes, no, empty, join := b.F.NewBlock(before), b.F.NewBlock(before), b.F.NewBlock(before), b.F.NewBlock(before)
		b.CondBr(b.M.Bool(true), yes, no)
		b.SetBlock(yes)
		b.CondBr(b.ICmp(enum.IPredSLT, x, b.M.I32(3)), empty, join)
		b.SetBlock(no)
		b.Store(b.M.I32(1), p, 4, false)
		b.Br(join)
		b.SetBlock(empty)
		b.Br(join)
		b.SetBlock(join)
		b.Store(b.M.I32(2), p, 4, false)
		b.Ret(nil)
	},
	"expand divisions": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		q := b.Binary(llir.SDiv, y, b.M.I32(16), 0)
		square := b.Mul(y, y) // the quotient comes with its remainder
		storeAt(b, p, q, square, b.Binary(llir.SRem, y, b.M.I32(16), 0))
		b.Store(b.Binary(llir.SDiv, b.Or(b.Shl(y, 5), b.And(x, b.M.I32(31))), b.M.I32(2), 0), p, 4, false)
		half := b.Binary(llir.SDiv, b.Add(x, y), b.M.I32(2), 0) // of an address
		b.Store(b.Binary(llir.SRem, b.Add(x, y), b.M.I32(2), 0), b.GEP(llir.I32, p, b.SExt(half, llir.I64)), 4, false)
		middle := b.Binary(llir.SDiv, b.Sub(x, y), b.M.I32(2), 0) // without its remainder
		b.Store(y, b.GEP(llir.I32, p, b.SExt(middle, llir.I64)), 4, false)
		storeAll(b, p, b.Binary(llir.SDiv, x, b.M.I32(7), 0), b.Binary(llir.SDiv, x, b.M.I32(8), 0), b.Binary(llir.SRem, x, b.M.I32(8), 0),
			b.Binary(llir.SDiv, b.Shl(x, 7), b.M.I32(128), 0), b.Binary(llir.SDiv, b.Shl(x, 6), b.M.I32(-64), 0),
			b.Binary(llir.UDiv, x, b.M.I32(10), 0), b.Binary(llir.UDiv, x, y, 0), b.Binary(llir.URem, x, y, 0))
	},
	"bypass divisions": func(b *llir.Builder, x, p llir.Value) {
		wide := func(i int) llir.Value { return b.SExt(number(b, p, i), llir.I64) }
		u := b.ZExt(x, llir.I64)
		n, d := wide(0), wide(1)
		for i, v := range []llir.Value{
			b.Binary(llir.SDiv, n, d, 0), b.Binary(llir.UDiv, u, d, 0), b.Binary(llir.URem, u, d, 0), // a block each
			b.Binary(llir.SDiv, u, b.ZExt(number(b, p, 2), llir.I64), 0), // short
			b.Binary(llir.UDiv, b.Xor(n, d), d, 0),                       // as a hash
		} {
			b.Store(v, b.GEP(llir.I64, p, b.M.I64(int64(i))), 8, false)
		}
		b.Ret(nil)
	},
	"narrow products": func(b *llir.Builder, x, p llir.Value) {
		factor := b.M.I64(3449720151)
		high := b.LShr(b.Mul(b.ZExt(x, llir.I64), b.M.I64(3528531795)), 32)
		b.Store(b.Mul(high, factor), p, 8, false) // a word of a random number
		b.Store(b.Mul(b.And(b.SExt(x, llir.I64), b.M.I64(1<<32-1)), high), b.PtrAdd(p, 8), 8, false)
		b.Store(b.Mul(high, b.M.I64(1<<32)), b.PtrAdd(p, 16), 8, false) // too long
		b.Ret(nil)
	},
	"fuse products": func(b *llir.Builder, x, p llir.Value) {
		u, v, w := number(b, p, 0), number(b, p, 1), number(b, p, 2)
		m := b.Binary(llir.FMul, u, v, 0)
		kept := b.Binary(llir.FMul, v, w, 0)
		storeAll(b, p, b.Binary(llir.FAdd, m, w, 0), b.Binary(llir.FSub, m, w, 0), b.Binary(llir.FSub, b.Binary(llir.FMul, u, w, 0), v, 0),
			b.Binary(llir.FSub, u, b.Binary(llir.FMul, w, w, 0), 0), b.Binary(llir.FAdd, kept, u, 0), kept)
	},
	"fold addresses": func(b *llir.Builder, x, p llir.Value) {
		i := b.Shl(x, 4)
		for _, n := range []int{0, 4, 8} {
			at := b.Binary(llir.OrOp, i, b.M.I32(n), llir.Disjoint)
			b.Store(b.M.I32(n), b.GEP(llir.I32, p, b.SExt(at, llir.I64)), 4, false)
		}
		b.Asm("ld.global.b32 $0, [ $1 + 8 ];", "=r,l", true, llir.I32, b.PtrAdd(b.GEP(llir.I32, p, b.SExt(i, llir.I64)), 64))
		b.Ret(nil)
	},
	"join inductions": func(b *llir.Builder, x, p llir.Value) {
		step := b.SExt(x, llir.I64)
		q := b.GEP(llir.I32, p, step)
		looped(b, x, []llir.Value{p, q, p, q}, func(v []llir.Value, _ llir.Value) []llir.Value {
			b.Store(b.Load(llir.I32, v[0], 4, false), v[1], 4, false)
			ahead := b.GEP(llir.I8, v[0], step)
			b.Store(b.Load(llir.I32, v[2], 4, false), v[3], 4, false) // by a constant they are one
			return []llir.Value{ahead, b.GEP(llir.I8, v[1], step), b.PtrAdd(v[2], 128), b.PtrAdd(v[3], 128)}
		})
		looped(b, x, []llir.Value{p, b.PtrAdd(p, 16)}, func(v []llir.Value, _ llir.Value) []llir.Value { // neighbors
			b.Store(b.Load(llir.I32, v[0], 4, false), v[1], 4, false)
			return []llir.Value{b.PtrAdd(v[0], 64), b.PtrAdd(v[1], 64)}
		})
		var many []llir.Value
		for n := range fewestSeveral {
			many = append(many, b.GEP(llir.I32, p, b.SExt(b.Mul(x, b.M.I32(n+3)), llir.I64)))
		}
		looped(b, x, many, func(v []llir.Value, _ llir.Value) []llir.Value { // the three of the other step stay
			next := make([]llir.Value, len(v))
			for n, q := range v {
				b.Store(x, q, 4, false)
				next[n] = b.PtrAdd(q, []int64{64, 4}[min(n%4/3, 1)])
			}
			return next
		})
		far := b.SExt(b.Shl(x, 6), llir.I64)
		row, other := b.GEP(llir.I32, p, b.SExt(b.Mul(x, x), llir.I64)), b.GEP(llir.I32, p, b.SExt(b.Shl(x, 1), llir.I64))
		looped(b, x, []llir.Value{row, other}, func(v []llir.Value, _ llir.Value) []llir.Value {
			next := []llir.Value{b.GEP(llir.I8, v[0], far), b.GEP(llir.I8, v[1], far)}
			b.Store(b.Load(llir.I32, next[0], 4, false), next[1], 4, false) // rows of one base
			return next
		})
		b.Ret(nil)
	},
	"share phis": func(b *llir.Builder, x, p llir.Value) {
		looped(b, x, []llir.Value{x, x, x, x}, func(v []llir.Value, _ llir.Value) []llir.Value {
			y := b.Load(llir.I32, p, 4, false)
			storeAt(b, p, v...)
			return []llir.Value{y, y, v[1], v[0]}
		})
		b.Ret(nil)
	},
	"join counters": func(b *llir.Builder, x, p llir.Value) {
		lane := b.Load(llir.I32, p, 4, false)
		looped(b, x, []llir.Value{b.M.I32(128), b.M.I32(256)}, func(v []llir.Value, i llir.Value) []llir.Value {
			storeAt(b, p, v...) // multiples of i
			return []llir.Value{v[1], b.Add(b.Shl(i, 7), b.M.I32(384))}
		})
		first := b.Add(x, lane)
		looped(b, x, []llir.Value{x, first, b.Add(first, b.M.I32(32)), b.Add(x, b.M.I32(5)), b.M.I32(7)}, func(v []llir.Value, _ llir.Value) []llir.Value {
			storeAt(b, p, v...)
			ahead := b.Add(b.Add(v[0], lane), b.M.I32(64))
			return []llir.Value{b.Add(v[0], b.M.I32(32)), v[2], ahead, b.Add(v[3], b.M.I32(32)), b.Add(v[4], x)}
		})
		from, last := b.SExt(lane, llir.I64), b.SExt(x, llir.I64)
		row := b.Add(from, b.M.I64(9)) // of 64 bits
		looped(b, x, []llir.Value{b.M.I64(0), row, b.Add(row, b.M.I64(64)), b.Shl(from, 10)}, func(v []llir.Value, _ llir.Value) []llir.Value {
			b.Store(b.Binary(llir.Sub, last, v[1], 0), p, 8, false)
			b.Store(b.Binary(llir.Sub, last, v[2], 0), p, 8, false)
			b.Store(v[3], p, 8, false)
			ahead := b.Add(v[0], from)
			return []llir.Value{b.Add(v[0], b.M.I64(64)), v[2], b.Add(ahead, b.M.I64(137)), b.Add(b.Shl(ahead, 10), b.M.I64(65536))}
		})
		b.Ret(nil)
	},
	"divide counters": func(b *llir.Builder, x, p llir.Value) {
		blocks := b.Binary(llir.SDiv, x, b.M.I32(128), 0)
		looped(b, blocks, []llir.Value{b.M.I32(0), b.M.I32(128)}, func(v []llir.Value, i llir.Value) []llir.Value {
			// A chain of multiples of the counter; the sum overflows.
			storeAt(b, p, b.Binary(llir.SDiv, v[0], b.M.I32(128), 0), b.Binary(llir.SDiv, v[1], b.M.I32(64), 0),
				b.Binary(llir.SDiv, b.Shl(i, 10), b.M.I32(1024), 0))
			return []llir.Value{v[1], b.Add(b.Shl(i, 7), b.M.I32(256))}
		})
		looped(b, x, nil, func(v []llir.Value, i llir.Value) []llir.Value { // of as many as there are numbers
			b.Store(b.Binary(llir.AShr, b.Shl(i, 7), b.M.I32(7), 0), p, 4, false)
			return nil
		})
		b.Ret(nil)
	},
	"count pointers": func(b *llir.Builder, x, p llir.Value) {
		q := b.GEP(llir.I32, p, b.SExt(b.Mul(x, x), llir.I64))
		looped(b, x, nil, func(v []llir.Value, i llir.Value) []llir.Value {
			y := b.Load(llir.I32, b.PtrAdd(b.GEP(llir.I32, q, b.SExt(i, llir.I64)), 64), 4, false)
			b.Store(y, b.GEP(llir.I32, p, b.SExt(b.Add(i, y), llir.I64)), 4, false) // y is not counted
			b.Store(i, b.GEP(llir.I32, p, b.SExt(b.Shl(i, 3), llir.I64)), 4, false) // may overflow
			b.Store(x, b.GEP(llir.I32, p, b.Shl(b.SExt(i, llir.I64), 3)), 4, false) // does not
			return nil
		})
		b.Ret(nil)
	},
	"mark sums": func(b *llir.Builder, x, p llir.Value) {
		tid := b.Call(b.M.Declare("llvm.nvvm.read.ptx.sreg.tid.x", llir.Pure, llir.I32))
		lane := b.LShr(b.And(tid, b.M.I32(28)), 2)
		looped(b, x, []llir.Value{b.Shl(x, 5)}, func(v []llir.Value, _ llir.Value) []llir.Value {
			row := b.Add(v[0], lane)
			for _, n := range []int{8, 24, 4, 72} {
				b.Store(x, b.GEP(llir.I32, p, b.SExt(b.Add(row, b.M.I32(n)), llir.I64)), 4, false)
			}
			return []llir.Value{b.Add(v[0], b.M.I32(32))}
		})
		b.Ret(nil)
	},
	"regroup products": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		size := b.Mul(x, y)
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			storeAt(b, p, b.Mul(b.Mul(i, x), y), size)
			return nil
		})
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			row := b.Mul(i, x)
			storeAt(b, p, row, b.Mul(row, y), b.Mul(b.Mul(i, i), x)) // not of what others need, nor of a square
			return nil
		})
		b.Ret(nil)
	},
	"add common terms": func(b *llir.Builder, x, p llir.Value) {
		y, z := b.Load(llir.I32, p, 4, false), b.Load(llir.I32, b.PtrAdd(p, 4), 4, false)
		for i := range 24 { // rows
			row := b.Mul(x, b.M.I32(2*i+3))
			storeAt(b, p, b.Add(b.Add(b.Add(row, x), y), z))
		}
		for i := range 2 { // terms that the rows add one after the other, and constants
			row := b.Mul(z, b.M.I32(2*i+3))
			storeAt(b, p, b.Add(b.Add(row, z), y), b.Add(b.Add(row, b.M.I32(8)), x))
		}
		kept := b.Add(x, z)
		storeAt(b, p, kept, b.Add(kept, b.Mul(x, y)), b.Add(kept, b.Mul(y, y)), b.Add(kept, b.Mul(z, z)))
		b.Ret(nil)
	},
	"regroup sums": func(b *llir.Builder, x, p llir.Value) {
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			slot := b.Add(x, b.Shl(b.And(i, b.M.I32(1)), 14))
			storeAt(b, p, b.Add(slot, b.Load(llir.I32, p, 4, false)), b.Add(slot, b.M.I32(64)), b.Add(b.Add(b.Shl(i, 7), x), b.Shl(x, 3)))
			b.Store(b.Add(b.Add(x, i), b.M.I32(256)), p, 4, false)
			b.Store(b.Add(i, b.M.I32(256)), p, 4, false)
			even := b.Add(b.Shl(x, 4), i)
			b.Store(b.Binary(llir.OrOp, even, b.M.I32(8), llir.Disjoint), p, 4, false)
			return nil
		})
		block, once := b.Load(llir.I32, p, 4, false), b.Load(llir.I32, b.PtrAdd(p, 8), 4, false)
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			row := b.Add(i, x)
			b.Store(b.Add(b.Add(i, once), b.M.I32(256)), p, 4, false)
			storeAt(b, p, row, b.Add(b.Add(row, b.Mul(block, x)), block), b.Add(i, b.M.I32(1)))
			return nil
		})
		b.Ret(nil)
	},
	"count multiples": func(b *llir.Builder, x, p llir.Value) {
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			left := b.Add(b.Sub(x, b.Shl(i, 6)), b.M.I32(-128))
			again := b.Sub(b.Sub(b.M.I32(0), b.Shl(i, 6)), x) // of the same factor
			row := b.Mul(b.Binary(llir.OrOp, i, b.Shl(x, 8), llir.Disjoint), x)
			storeAt(b, p, left, again, row, b.Add(row, x), b.Add(i, x))
			return nil
		})
		stride := b.Load(llir.I32, p, 4, false)
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			row := b.Add(i, x)
			storeAt(b, p, row, b.Mul(row, stride), b.Mul(b.Add(row, b.M.I32(8)), stride)) // a tile's rows
			return nil
		})
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			storeAt(b, p, i, b.Mul(i, stride)) // one product
			return nil
		})
		b.Ret(nil)
	},
	"join shifts": func(b *llir.Builder, x, p llir.Value) {
		warp := b.LShr(b.And(x, b.M.I32(224)), 4)
		odd := b.LShr(x, 4) // loses bits
		storeAt(b, p, b.Shl(b.Or(warp, b.Xor(x, b.M.I32(1))), 2), b.Shl(b.Xor(x, b.Shl(x, 3)), 5), b.Shl(b.Or(odd, x), 2))
		kept := b.And(odd, b.M.I32(6))
		storeAt(b, p, b.Shl(b.And(odd, b.M.I32(7)), 5), b.Shl(b.And(odd, b.M.I32(-2)), 3), b.Add(b.Shl(kept, 9), kept),
			b.Shl(b.LShr(x, 5), 3))
		// Numbers that are widened, in an address.
		y := b.SExt(b.Load(llir.I32, p, 4, false), llir.I64)
		at := b.Shl(b.Or(b.Shl(y, 4), b.ZExt(b.And(x, b.M.I32(15)), llir.I64)), 4)
		b.Store(x, b.GEP(llir.I32, p, at), 4, false)
		b.Ret(nil)
	},
	"split products": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		next := b.Add(x, b.M.I32(1))
		storeAt(b, p, b.Mul(next, y), b.Mul(x, y), b.Mul(y, next), b.Mul(b.Add(y, b.M.I32(2)), x), b.Mul(next, b.M.I32(7)))
		q := b.PtrAdd(p, 64)
		b.Store(b.Mul(b.Add(b.SExt(x, llir.I64), b.M.I64(1)), b.SExt(y, llir.I64)), q, 8, false)
		row, stride := b.And(x, b.M.I32(15)), b.Load(llir.I32, q, 4, false)
		at := func(n int) llir.Value { return b.Binary(llir.OrOp, row, b.M.I32(n), llir.Disjoint) }
		storeAt(b, q, b.Mul(row, stride), b.Mul(at(16), stride), b.Mul(stride, at(48)),
			b.Mul(b.Binary(llir.OrOp, at(32), b.M.I32(64), llir.Disjoint), y), b.Mul(at(16), y)) // of other rows, and a row that is not known
		b.Ret(nil)
	},
	"advance first": func(b *llir.Builder, x, p llir.Value) {
		kept := b.GEP(llir.I32, p, b.Mul(x, x))
		looped(b, x, []llir.Value{p, b.GEP(llir.I32, p, x), kept}, func(v []llir.Value, i llir.Value) []llir.Value {
			b.Asm("cp.async.ca.shared.global [ $0 + 0 ], [ $1 + 8 ], 0x4, 0x4;", "r,l", true, llir.Void, i, v[0])
			b.Store(i, v[1], 4, false)
			b.Store(v[2], b.PtrAdd(v[2], 16), 8, false) // needed as a number, too
			return []llir.Value{b.PtrAdd(v[0], 128), b.PtrAdd(v[1], 128), b.PtrAdd(v[2], 128)}
		})
		looped(b, x, []llir.Value{p, kept}, func(v []llir.Value, i llir.Value) []llir.Value { // two steps
			b.Store(i, v[0], 4, false)
			b.Store(i, v[1], 4, false)
			return []llir.Value{b.PtrAdd(v[0], 128), b.PtrAdd(v[1], 64)}
		})
		b.Ret(nil)
	},
	"cut sums": func(b *llir.Builder, x, p llir.Value) {
		low := func(n, mask int) llir.Value { return b.And(b.Add(x, b.M.I32(n)), b.M.I32(mask)) }
		both := b.Add(x, b.M.I32(17)) // needed as it is, too
		storeAt(b, p, low(1, 1), low(3, 1), low(13, 6), low(-4, 3), low(7, 24), both, b.And(both, b.M.I32(1)))
		b.Ret(nil)
	},
	"add counters": func(b *llir.Builder, x, p llir.Value) {
		lane, outer := b.And(x, b.M.I32(31)), b.And(b.Load(llir.I32, p, 4, false), b.M.I32(-1024))
		looped(b, x, []llir.Value{outer}, func(v []llir.Value, i llir.Value) []llir.Value {
			y := b.Load(llir.I32, p, 4, false)
			row := b.Binary(llir.OrOp, v[0], lane, llir.Disjoint)
			storeAt(b, p, row, b.Binary(llir.OrOp, row, b.M.I32(32), llir.Disjoint), b.Binary(llir.OrOp, lane, v[0], llir.Disjoint),
				b.Binary(llir.OrOp, v[0], y, llir.Disjoint), b.Or(v[0], x))
			return []llir.Value{b.Add(v[0], b.M.I32(64))}
		})
		storeAt(b, p, b.Binary(llir.OrOp, outer, lane, llir.Disjoint))
		b.Ret(nil)
	},
	"plain branches": func(b *llir.Builder, x, p llir.Value) {
		y := number(b, p, 1)
		both := b.And(b.ICmp(enum.IPredSLT, x, b.M.I32(9)), b.ICmp(enum.IPredNE, x, b.M.I32(4)))
		kept := b.ICmp(enum.IPredSGT, x, b.M.I32(2))
		storeAt(b, p, b.Select(kept, x, b.M.I32(3)))
		for i, c := range []llir.Value{
			b.ICmp(enum.IPredSGT, x, b.M.I32(0)), b.ICmp(enum.IPredSLE, x, b.M.I32(1<<31-1)), b.FCmp(enum.FPredOGT, y, b.M.Float(llir.F32, 1)),
			both, kept,
		} {
			last := b.Block()
			yes, no := b.F.NewBlock(last), b.F.NewBlock(last)
			b.CondBr(c, yes, no)
			b.SetBlock(yes)
			b.Store(b.M.I32(i), p, 4, false)
			b.Br(no)
			b.SetBlock(no)
		}
		b.Ret(nil)
	},
	"regroup truths": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		row, column := b.ICmp(enum.IPredSLT, x, y), b.ICmp(enum.IPredSGT, y, b.M.I32(7))
		batch, other := b.ICmp(enum.IPredSGT, x, b.M.I32(3)), b.ICmp(enum.IPredSLT, x, b.M.I32(90))
		all := b.And(b.And(batch, row), column)
		tile := b.And(row, column)
		once := b.And(b.And(other, row), column)
		storeAt(b, p, b.Select(all, x, y), b.Select(all, y, b.M.I32(3)), b.Select(tile, x, b.M.I32(2)), b.Select(tile, y, b.M.I32(5)), b.Select(once, x, b.M.I32(1)))
		b.Ret(nil)
	},
	"split choices": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		less, even := b.ICmp(enum.IPredSLT, x, y), b.ICmp(enum.IPredEQ, b.And(y, b.M.I32(1)), b.M.I32(0))
		both, shared := b.And(less, even), b.And(b.ICmp(enum.IPredSGT, x, b.M.I32(7)), less)
		storeAt(b, p, b.Select(b.And(both, b.ICmp(enum.IPredNE, x, b.M.I32(2))), x, y), b.Select(shared, x, y), b.Select(shared, y, b.M.I32(3)),
			b.Select(b.Or(even, b.ICmp(enum.IPredEQ, x, b.M.I32(5))), y, x),
			b.Select(b.Xor(less, b.ICmp(enum.IPredEQ, b.And(x, b.M.I32(1)), b.M.I32(0))), x, y))
		b.Ret(nil)
	},
	"order loads": func(b *llir.Builder, x, p llir.Value) {
		at := b.GEP(llir.I32, b.M.AddGlobal("smem", llir.I32, 3, 4, nil), x)
		load := func(t llir.Type, n int64) llir.Value { return b.Load(t, b.PtrAdd(at, n), 4, false) }
		u, v, w, kept, word := load(llir.F32, 0), load(llir.F32, 4), load(llir.F32, 8), load(llir.F32, 12), load(llir.I32, 16)
		sum := b.Binary(llir.FAdd, kept, kept, 0)
		b.Asm("st.global.b32 [ $0 + 0 ], $1;", "l,f", true, llir.Void, p, w)
		b.Asm("st.global.v4.b32 [ $0 + 16 ], { $1, $2, $3, $4 };", "l,f,f,r,f", true, llir.Void, p, u, v, word, sum)
		b.Ret(nil)
	},
	"place constants": func(b *llir.Builder, x, p llir.Value) {
		shared := b.M.AddGlobal("smem", llir.I32, 3, 4, nil)
		b.Store(x, p, 4, false)
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			b.Store(b.Binary(llir.Sub, b.M.I32(7), i, 0), b.GEP(llir.I32, shared, b.Xor(i, x)), 4, false)
			b.Asm("st.global.b32 [ $0 + 0 ], $1;", "l,r", true, llir.Void, p, b.M.I32(9))
			return nil
		})
		b.Asm("st.global.b32 [ $0 + 0 ], $1;", "l,r", true, llir.Void, p, b.M.I32(9))
		b.Asm("st.global.b32 [ $0 + 0 ], $1;", "l,r", true, llir.Void, p, b.M.I32(5))
		yes, no, join := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
		b.CondBr(b.ICmp(enum.IPredSLT, x, b.M.I32(3)), yes, no)
		for _, way := range []*llir.Block{yes, no} {
			b.SetBlock(way)
			b.Asm("st.global.b32 [ $0 + 0 ], $1;", "l,r", true, llir.Void, p, b.M.I32(6))
			b.Br(join)
		}
		b.SetBlock(join)
		b.Ret(nil)
	},
	"chain products": func(b *llir.Builder, x, p llir.Value) {
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			row := b.Load(llir.I32, p, 4, false)
			for _, n := range []int{0, 8, 16, 40} {
				at := b.Mul(b.Add(row, b.M.I32(n)), x)
				b.Store(at, b.GEP(llir.I32, p, b.SExt(at, llir.I64)), 4, false)
			}
			return nil
		})
		b.Ret(nil)
	},
	"reduce strides": func(b *llir.Builder, x, p llir.Value) {
		stride := b.SExt(x, llir.I64)
		row := b.ZExt(b.Call(b.M.Declare("llvm.nvvm.read.ptx.sreg.tid.x", llir.Pure, llir.I32)), llir.I64)
		at := func(n int64) llir.Value { return b.GEP(llir.I32, p, b.Mul(b.Add(row, b.M.I64(n)), stride)) }
		for _, n := range []int64{0, 8, 16} {
			b.Store(b.M.I32(1), at(n), 4, false)
		}
		looped(b, x, []llir.Value{at(32), at(40)}, func(v []llir.Value, _ llir.Value) []llir.Value {
			b.Store(b.M.I32(2), v[0], 4, false)
			b.Store(b.M.I32(3), v[1], 4, false)
			return []llir.Value{b.PtrAdd(v[0], 64), b.PtrAdd(v[1], 64)}
		})
		b.Ret(nil)
	},
	"hoist steps": func(b *llir.Builder, x, p llir.Value) {
		u, shared := number(b, p, 0), b.M.AddGlobal("global_smem", b.M.Array(0, llir.I8), 3, 16, nil)
		looped(b, x, []llir.Value{u}, func(v []llir.Value, i llir.Value) []llir.Value {
			at := b.GEP(llir.I32, shared, x)                                                    // stays
			choice := b.Select(b.ICmp(enum.IPredSGT, x, b.M.I32(7)), u, b.M.Float(llir.F32, 1)) // stays
			b.Store(v[0], at, 4, false)
			return []llir.Value{b.Binary(llir.FMul, b.Binary(llir.FAdd, v[0], b.Binary(llir.FMul, u, u, 0), 0), choice, 0)}
		})
		looped(b, x, nil, func([]llir.Value, llir.Value) []llir.Value {
			inside := b.Binary(llir.FAdd, u, b.M.Float(llir.F32, 1), 0)
			looped(b, x, nil, func([]llir.Value, llir.Value) []llir.Value {
				b.Store(inside, p, 4, false)
				return nil
			})
			b.Store(b.Binary(llir.FAdd, u, b.M.Float(llir.F32, 2), 0), p, 4, false) // stays
			return nil
		})
		b.Ret(nil)
	},
	"share across": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		for range 2 {
			loop, after := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
			b.CondBr(b.ICmp(enum.IPredSGT, x, b.M.I32(0)), loop, after)
			b.SetBlock(loop)
			looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
				b.Store(b.Add(i, b.Add(x, y)), b.GEP(llir.I32, p, b.SExt(b.Mul(x, x), llir.I64)), 4, false) // the product stays
				return nil
			})
			b.Br(after)
			b.SetBlock(after)
		}
		b.Ret(nil)
	},
	"share comparisons": func(b *llir.Builder, x, p llir.Value) {
		more := b.ICmp(enum.IPredSGT, x, b.M.I32(0))
		for n := range 2 {
			yes, after := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
			b.CondBr(more, yes, after)
			b.SetBlock(yes)
			b.Store(b.M.I32(n), p, 4, false)
			b.Br(after)
			b.SetBlock(after)
		}
		b.Ret(nil)
	},
	"sink values": func(b *llir.Builder, x, p llir.Value) {
		before := b.Block()
		q := b.GEP(llir.I32, p, b.SExt(b.Mul(x, x), llir.I64))
		quotient := b.Binary(llir.SDiv, x, b.Load(llir.I32, p, 4, false), 0)
		yes, no := b.F.NewBlock(before), b.F.NewBlock(before)
		b.Call(b.M.Declare("llvm.nvvm.barrier.cta.sync.aligned.all", llir.HasEffects, llir.Void, llir.I32), b.M.I32(0))
		met := b.Binary(llir.SDiv, x, b.Load(llir.I32, p, 4, false), 0) // stays after the barrier
		b.CondBr(b.ICmp(enum.IPredSGT, x, b.M.I32(9)), yes, no)
		b.SetBlock(yes)
		storeAt(b, q, quotient, met)
		b.Ret(nil)
		b.SetBlock(no)
		last := b.Shl(x, 3) // is needed at the end, where all ways lead
		for n := range 2 {
			some, all := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
			b.CondBr(b.ICmp(enum.IPredSGT, x, b.M.I32(n)), some, all)
			b.SetBlock(some)
			b.Store(x, b.PtrAdd(p, int64(4*n)), 4, false)
			b.Br(all)
			b.SetBlock(all)
		}
		b.Store(last, p, 4, false)
		inLoop, kept := b.ICmp(enum.IPredSLT, x, b.M.I32(4)), b.ICmp(enum.IPredSLT, x, b.M.I32(3))
		b.Store(b.Mul(x, x), p, 4, false)
		loop, after := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
		b.Br(loop)
		b.SetBlock(loop)
		y := b.Load(llir.I32, p, 4, false)
		b.Store(b.Select(inLoop, y, x), p, 4, false)
		b.CondBr(b.ICmp(enum.IPredSGT, y, x), loop, after)
		b.SetBlock(after)
		b.Store(b.Select(kept, x, y), p, 4, false)
		b.Ret(nil)
	},
	"sink comparisons": func(b *llir.Builder, x, p llir.Value) {
		var mask []llir.Value
		for n := range mostTruths + 1 {
			mask = append(mask, b.ICmp(enum.IPredSGT, x, b.Load(llir.I32, b.PtrAdd(p, int64(64+4*n)), 4, false)))
		}
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			for n, m := range mask {
				b.Store(b.Select(m, i, x), b.PtrAdd(p, int64(4*n)), 4, false)
			}
			return nil
		})
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			b.Store(b.Select(mask[0], i, x), p, 4, false)
			return nil
		})
		yes, after := b.F.NewBlock(b.Block()), b.F.NewBlock(b.Block())
		y := b.Load(llir.I32, p, 4, false)
		first, less := b.ICmp(enum.IPredSLT, x, b.M.I32(9)), b.ICmp(enum.IPredSLT, x, y)
		b.CondBr(first, yes, after)
		b.SetBlock(yes)
		storeAt(b, p, b.Select(less, x, y), b.Select(first, y, x))
		b.Br(after)
		b.SetBlock(after)
		b.Ret(nil)
	},
	"factor truths": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		less := func(k int) llir.Value { return b.ICmp(enum.IPredSLT, b.Add(y, b.M.I32(k)), x) }
		common := []llir.Value{less(100), less(101), less(102)}
		for n := range fewestFactored {
			mask := less(n)
			for _, c := range common {
				mask = b.And(mask, c)
			}
			b.Store(b.Select(mask, x, y), b.PtrAdd(p, int64(4*n)), 4, false)
		}
		b.Ret(nil)
	},
	"hoist comparisons": func(b *llir.Builder, x, p llir.Value) {
		y := b.Load(llir.I32, p, 4, false)
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			same := b.And(b.ICmp(enum.IPredEQ, b.And(y, b.M.I32(64)), b.M.I32(0)), b.ICmp(enum.IPredSLT, y, x))
			b.Store(b.Select(same, i, y), p, 4, false)
			return nil
		})
		looped(b, x, nil, func(_ []llir.Value, i llir.Value) []llir.Value {
			var many []llir.Value // live at once, and one more may
			for n := range mostHoisted - 2 {
				many = append(many, b.ICmp(enum.IPredSLT, i, b.M.I32(100+n)))
			}
			for n, c := range many {
				fixed := b.ICmp(enum.IPredSGT, y, b.M.I32(n))
				b.Store(b.Select(fixed, b.Select(c, i, x), y), b.PtrAdd(p, int64(4*n)), 4, false)
			}
			return nil
		})
		b.Ret(nil)
	},
	"advance addresses": func(b *llir.Builder, x, p llir.Value) {
		// A pointer that a loop advances, with a place of the thread; a row's number by its
		// stride; and the number itself, which is compared as it is.
		at := b.SExt(b.And(x, b.M.I32(63)), llir.I64)
		stride := b.Load(llir.I64, p, 8, false)
		looped(b, x, []llir.Value{p, b.M.Int(llir.I64, 3)}, func(v []llir.Value, i llir.Value) []llir.Value {
			b.Store(i, b.GEP(llir.I32, v[0], at), 4, false)
			b.Store(i, b.GEP(llir.I32, p, b.Mul(v[1], stride)), 4, false)
			b.Store(b.Select(b.ICmp(enum.IPredSLT, v[1], stride), x, i), p, 4, false)
			return []llir.Value{b.PtrAdd(v[0], 256), b.Add(v[1], b.M.Int(llir.I64, 2))}
		})
		other := b.GEP(llir.I8, p, at) // a sum for a sum: the counter stays
		looped(b, x, []llir.Value{b.M.Int(llir.I64, 0)}, func(v []llir.Value, i llir.Value) []llir.Value {
			b.Store(i, b.GEP(llir.I8, p, v[0]), 4, false)
			b.Store(i, b.GEP(llir.I8, other, v[0]), 4, false)
			return []llir.Value{b.Add(v[0], b.M.Int(llir.I64, 12))}
		})
		b.Ret(nil)
	},
	"select instructions": func(b *llir.Builder, x, p llir.Value) {
		far := b.Shl(b.SExt(x, llir.I64), 2) // stays a shift, which a loop takes
		looped(b, x, []llir.Value{p}, func(v []llir.Value, i llir.Value) []llir.Value {
			b.Store(i, v[0], 4, false)
			return []llir.Value{b.GEP(llir.I8, v[0], far)}
		})
		for k := range 4 {
			number := b.SExt(b.Trunc(b.LShr(x, 8*k), llir.I8), []llir.Type{llir.I16, llir.I32}[k/2])
			b.Store(number, b.PtrAdd(p, int64(64+4*k)), 4, false)
		}
		bytes := b.BitCast(b.Load(llir.I32, b.PtrAdd(p, 4), 4, false), b.M.Vec(4, llir.I8))
		for k := range 3 { // fields of a byte, and bytes that are the first of a word
			e := b.ExtractElement(bytes, k)
			f := b.And(e, b.M.Int(llir.I8, 7))
			storeAt(b, p, b.ZExt(f, llir.I32), b.ZExt(b.Add(f, b.M.Int(llir.I8, 1)), llir.I32))
			if k > 0 {
				storeAt(b, p, b.Select(b.ICmp(enum.IPredEQ, b.ZExt(b.LShr(e, 4), llir.I32), b.M.I32(2)), x, b.M.I32(k)))
			}
		}
		other := b.BitCast(x, b.M.Vec(4, llir.I8))
		b.Store(b.And(b.ExtractElement(other, 0), b.M.Int(llir.I8, 9)), b.PtrAdd(p, 100), 1, false)
		y := b.Load(llir.I32, p, 4, false)
		u, v := number(b, p, 1), number(b, p, 2)
		half := b.Vector(b.Cast(llir.FPTrunc, u, llir.Half, 0), b.Cast(llir.FPTrunc, v, llir.Half, 0))
		field := b.And(b.LShr(x, 3), b.M.I32(31))
		signed := b.Binary(llir.AShr, b.Shl(x, 8), b.M.I32(20), 0)
		wide := b.Mul(b.ZExt(x, llir.I64), b.ZExt(y, llir.I64))
		high := b.Trunc(b.LShr(wide, 32), llir.I32)
		both := b.And(b.ICmp(enum.IPredSLT, x, y), b.ICmp(enum.IPredSGT, x, field))
		at := b.GEP(llir.I32, p, b.SExt(y, llir.I64))
		b.Store(b.Add(b.Mul(x, y), field), at, 4, false)
		halves := b.Vector(b.Trunc(b.LShr(b.Add(x, y), 16), llir.I16), b.Trunc(b.Sub(x, y), llir.I16))
		twice := b.GEP(llir.I32, p, b.Shl(b.SExt(y, llir.I64), 3)) // shifts and products that are shifted again
		b.Store(b.Shl(b.Shl(x, 3), 6), b.GEP(llir.I32, twice, b.Shl(b.Mul(b.SExt(x, llir.I64), b.M.I64(12)), 3)), 4, false)
		one := b.M.Float(llir.F32, 1)
		storeAt(b, b.PtrAdd(p, 128), b.Binary(llir.FDiv, one, u, 0), b.Binary(llir.FDiv, u, one, 0))
		storeAll(b, p, b.BitCast(half, llir.I32), signed, high, b.ZExt(both, llir.I32), b.BitCast(halves, llir.I32))
	},
	"copy carried": func(b *llir.Builder, x, p llir.Value) {
		// The largest number so far, by a loop and by another one that goes on.
		largest := x
		for n := range int64(2) {
			var next llir.Value
			looped(b, x, []llir.Value{largest}, func(v []llir.Value, _ llir.Value) []llir.Value {
				y := b.Load(llir.I32, b.PtrAdd(p, 4*n), 4, false)
				next = b.Select(b.ICmp(enum.IPredSGT, y, v[0]), y, v[0])
				b.Store(b.Sub(next, v[0]), p, 4, false)
				return []llir.Value{next}
			})
			largest = next
		}
		// In a loop of several blocks an old number goes to one that follows it.
		before := b.Block()
		head, odd, latch := b.F.NewBlock(before), b.F.NewBlock(before), b.F.NewBlock(before)
		after := b.F.NewBlock(latch)
		b.Br(head)
		b.SetBlock(head)
		slot, lag := b.Phi(llir.I32), b.Phi(llir.I32)
		more := b.Add(slot, b.M.I32(1))
		b.CondBr(b.ICmp(enum.IPredSGT, more, x), odd, latch)
		b.SetBlock(odd)
		b.Store(lag, p, 4, false)
		b.Br(latch)
		b.SetBlock(latch)
		for _, v := range []llir.Value{slot, lag} {
			llir.AddIncoming(v.(*ir.InstPhi), b.M.I32(0), before)
		}
		llir.AddIncoming(slot, more, latch)
		llir.AddIncoming(lag, slot, latch)
		b.CondBr(b.ICmp(enum.IPredSLT, b.Load(llir.I32, p, 4, false), x), head, after)
		b.SetBlock(after)
		b.Ret(nil)
	},
	"sink increments": func(b *llir.Builder, x, p llir.Value) {
		looped(b, x, []llir.Value{x}, func(v []llir.Value, i llir.Value) []llir.Value {
			next := b.Add(v[0], b.M.I32(3))
			b.Store(v[0], p, 4, false)
			return []llir.Value{next}
		})
		// In a loop of several blocks a sum that only the next iteration needs goes to its end.
		before := b.Block()
		head, some, latch := b.F.NewBlock(before), b.F.NewBlock(before), b.F.NewBlock(before)
		after := b.F.NewBlock(latch)
		b.Br(head)
		b.SetBlock(head)
		begin := b.Phi(llir.I32)
		n := b.Load(llir.I32, p, 4, false)
		end := b.Add(begin, n)
		b.CondBr(b.ICmp(enum.IPredSGT, n, b.M.I32(0)), some, latch)
		b.SetBlock(some)
		b.Store(begin, p, 4, false)
		b.Br(latch)
		b.SetBlock(latch)
		llir.AddIncoming(begin, x, before)
		llir.AddIncoming(begin, end, latch)
		b.CondBr(b.ICmp(enum.IPredSLT, b.Load(llir.I32, p, 4, false), x), head, after)
		b.SetBlock(after)
		b.Ret(nil)
	},
}

// number loads a float.
func number(b *llir.Builder, p llir.Value, i int) llir.Value {
	return b.Load(llir.F32, b.PtrAdd(p, int64(4*i)), 4, false)
}

// storeAll stores values one after the other, and returns.
func storeAll(b *llir.Builder, p llir.Value, values ...llir.Value) {
	storeAt(b, p, values...)
	b.Ret(nil)
}

// storeAt stores values one after the other.
func storeAt(b *llir.Builder, p llir.Value, values ...llir.Value) {
	for i, v := range values {
		b.Store(v, b.PtrAdd(p, int64(4*i)), 4, false)
	}
}

// looped runs body up to x times; it carries values.
func looped(b *llir.Builder, x llir.Value, first []llir.Value, body func(v []llir.Value, i llir.Value) []llir.Value) {
	before := b.Block()
	head := b.F.NewBlock(before)
	after := b.F.NewBlock(head)
	b.Br(head)
	b.SetBlock(head)
	i := b.Phi(llir.I32)
	carried := make([]llir.Value, len(first))
	for k, v := range first {
		p := b.Phi(v.Type())
		llir.AddIncoming(p, v, before)
		carried[k] = p
	}
	next := body(carried, i)
	more, last := b.Add(i, b.M.I32(1)), b.Block()
	llir.AddIncoming(i, b.M.I32(0), before)
	llir.AddIncoming(i, more, last)
	for k, p := range carried {
		llir.AddIncoming(p.(*ir.InstPhi), next[k], last)
	}
	b.CondBr(b.ICmp(enum.IPredSLT, more, x), head, after)
	b.SetBlock(after)
}

// TestPhases shows what each phase makes of a function. The archives are named after
// phases; their sections are what goes in and what comes out.
func TestPhases(t *testing.T) {
	done := map[string]bool{}
	golden.Run(t, "testdata/phases", func(c *golden.Case) {
		name := strings.ReplaceAll(c.Name, "_", " ")
		build, ok := phaseCases[name]
		if !ok {
			c.Fatalf("there is no case %s", name)
		}
		done[name] = true
		f := converted(t, build)
		for _, row := range Phases {
			if row.Name == name {
				break
			}
			row.run(f)
		}
		c.Want("before", dump(f))
		for _, row := range Phases {
			if row.Name == name {
				row.run(f)
				break
			}
		}
		sweep(f)
		c.Want("after", dump(f))
	})
	for name := range phaseCases {
		if !done[name] {
			t.Errorf("no archive shows the phase %q", name)
		}
	}
}

// converted is a kernel before the phases.
func converted(t *testing.T, build func(b *llir.Builder, x, p llir.Value)) *fn {
	t.Helper()
	m, f := newKernel()
	b := llir.NewBuilder(f)
	b.SetBlock(f.NewBlock(nil))
	build(b, f.Param(0), f.Param(1))
	m.Sweep()
	m.Number()
	mod := &module{meter: m.Meter(), opts: &Options{CC: 80, SM: "sm_80", Version: 84, Fusion: true}, layouts: map[llir.Type][]class{}}
	return mod.convert(f.IR)
}

// dump is a function in SSA form as text: registers are numbers of values.
func dump(f *fn) string {
	f.regs = [5]int32{}
	give := func(v *value) {
		f.regs[v.class]++
		v.reg = f.regs[v.class]
	}
	for i, b := range f.blocks {
		b.id = i
		for _, v := range b.phis {
			give(v)
		}
		for _, v := range b.insts {
			give(v)
		}
	}
	f.collectResults()
	p := &printer{opts: f.mod.opts, files: map[string]int{}, fn: f}
	for i, b := range f.blocks {
		p.label(b)
		p.str(":\n")
		for _, v := range b.phis {
			p.str("\tphi \t")
			p.reg(v)
			for k, a := range v.args {
				p.str(", ")
				p.operand(a, tNone)
				p.str(" from ")
				p.label(b.preds[k])
			}
			p.str("\n")
		}
		for _, v := range b.insts {
			p.inst(v)
			if v.op == opAdd && v.flags&disjoint != 0 {
				p.str("\t// without a carry\n")
			}
		}
		var next *block
		if i+1 < len(f.blocks) {
			next = f.blocks[i+1]
		}
		p.terminator(b, next)
	}
	return p.String()
}
