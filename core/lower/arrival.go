package lower

import (
	"github.com/llir/llvm/ir/enum"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// What a load gives arrives hundreds of cycles after it was issued, and threads
// execute in order: the first use of a load waits for it, and so does every load
// after that use. An assembler keeps loads together only while registers and
// predicates last, and otherwise puts uses between them, in the order in which they
// are written. The code here writes them in an order in which that costs least.

// manyMasks is how many masks of a load are too many for predicates, of which GPUs
// have seven or eight: with half as many, words cost an H200 more than they gain.
const manyMasks = 16

// stridedUses notes, for a load in a loop, that operations on its result visit the
// first register of each access, then the second of each, and so on. So each access
// is used before the first of them is used up, and all are issued before that.
// Loads before a loop or without one are left alone: a thread waits for these once.
func (e *emitter) stridedUses(p *loading, vec int) {
	if vec > 1 && p.op.ParentOf(scf.For) != nil {
		e.strides[p.result] = vec
	}
}

// stride is the distance of the registers that an operation visits one after
// another: that of its operands, which its results inherit.
func (e *emitter) stride(op *ir.Operation) int {
	s := 1
	for _, v := range op.Operands() {
		s = max(s, e.strides[v])
	}
	if s > 1 {
		for _, v := range op.Results() {
			e.strides[v] = s
		}
	}
	return s
}

// strided lists the numbers below n with the given stride, a power of two.
func strided(n, stride int) []int {
	out := make([]int, 0, n)
	for first := range min(n, stride) {
		for r := first; r < n; r += stride {
			out = append(out, r)
		}
	}
	return out
}

// keptMask is a mask as a word of ones or zeros, and where it was made.
type keptMask struct {
	word  llir.Value
	block *llir.Block
}

// keepMasks keeps the masks of a load as words of ones or zeros where a select by
// the same mask comes after it: as predicates so many of them would not last until
// the load's results arrive, and the loads would go one by one.
func (e *emitter) keepMasks(p *loading, masks []llir.Value) {
	distinct := make(map[llir.Value]bool, len(masks))
	for _, m := range masks {
		if _, known := llir.ConstInt(m); !known {
			distinct[m] = true
		}
	}
	if len(distinct) < manyMasks || !selectedBy(p.mask, p.op.Block()) {
		return
	}
	for _, m := range masks {
		if distinct[m] && e.kept[m].block != e.b.Block() {
			e.kept[m] = keptMask{e.b.SExt(m, llir.I32), e.b.Block()}
		}
	}
}

// selectedBy reports whether a select in the block has the mask for its condition.
func selectedBy(mask *ir.Value, b *ir.Block) bool {
	for op := range mask.Users() {
		if op.Is(arith.Select) && op.Block() == b && arith.AsSelect(op).Condition() == mask {
			return true
		}
	}
	return false
}

// selectElem lowers one element of arith.select: an and where the condition is kept
// as a word and the other value is zero.
func selectElem(e *emitter, _ *ir.Operation, t llir.Type, x []llir.Value) llir.Value {
	k := e.kept[x[0]]
	if (t == llir.F32 || t == llir.I32) && k.block == e.b.Block() && k.block != nil && isZero(x[2]) {
		return e.b.BitCast(e.b.And(e.b.BitCast(x[1], llir.I32), k.word), t)
	}
	return e.b.Select(x[0], x[1], x[2])
}

// isZero reports whether v is the constant zero, by its bits.
func isZero(v llir.Value) bool {
	if f, ok := v.(*llir.Float); ok {
		return f.Bits == 0
	}
	c, ok := llir.ConstInt(v)
	return ok && c == 0
}

// compareFloats lowers one element of arith.cmpf. What a masked load gives is compared
// with zero by its bits: of a comparison of floats assemblers make one of the mask,
// too, which then has to be kept as a predicate until the load's results arrive.
func compareFloats(e *emitter, op *ir.Operation, _ llir.Type, x []llir.Value) llir.Value {
	pred := floatPredicates[arith.AsCmpF(op).Predicate()]
	if by, ok := zeroTests[pred]; ok && x[0].Type() == llir.F32 && maskedLoad(arith.AsCmpF(op).Lhs()) {
		const magnitude = 1<<31 - 1
		if c, ok := x[1].(*llir.Float); ok && c.Bits&magnitude == 0 {
			bits := e.b.And(e.b.BitCast(x[0], llir.I32), e.m.llvm.I32(magnitude))
			return e.b.ICmp(by, bits, e.m.llvm.I32(0))
		}
	}
	return e.b.FCmp(pred, x[0], x[1])
}

// zeroTests are the comparisons of a float with zero that are those of its bits
// without the sign: NaN is unequal to zero both ways.
var zeroTests = map[enum.FPred]enum.IPred{
	enum.FPredOEQ: enum.IPredEQ,
	enum.FPredUNE: enum.IPredNE,
}

// maskedLoad reports whether v is the result of a load under a mask.
func maskedLoad(v *ir.Value) bool {
	op := v.Def()
	return op != nil && op.Is(tt.Load) && tt.AsLoad(op).Mask() != nil
}
