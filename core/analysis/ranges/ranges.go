package ranges

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
)

// Range is the numbers from Low to High.
type Range struct{ Low, High int64 }

// Result answers for the values of a module.
type Result struct {
	known map[*ir.Value]Range
	// open are the values that are being looked at, on the way to themselves.
	open map[*ir.Value]bool
	// apart are the pairs of which the first is not known to be the second and more: values
	// that are used twice are looked at once.
	apart   map[[2]*ir.Value]bool
	assumed map[*ir.Value][]assumption
	rules   map[*ir.OpDef]rule
}

// assumption is that a value compares so with another.
type assumption struct {
	pred int64
	with *ir.Value
}

// Analyze collects what functions of a module assume. The results of views, operations of
// a target, have elements of their operands.
func Analyze(root *ir.Operation, views ...*ir.OpDef) *Result {
	r := &Result{known: map[*ir.Value]Range{}, open: map[*ir.Value]bool{}, apart: map[[2]*ir.Value]bool{}, assumed: map[*ir.Value][]assumption{}, rules: rules()}
	for _, v := range views {
		r.rules[v] = elements
	}
	ir.Walk(root, func(op *ir.Operation) ir.WalkResult {
		if !op.Is(tt.Func) {
			return ir.Advance
		}
		if body := op.Body(); body != nil {
			for op := range body.Ops() {
				if op.Is(llvm.Assume) {
					r.assume(llvm.AsAssume(op).Cond())
				}
			}
		}
		return ir.Skip
	})
	return r
}

// assume notes a condition that holds.
func (r *Result) assume(cond *ir.Value) {
	switch {
	case cond.DefIs(arith.AndI):
		both := arith.AsAndI(cond.Def())
		r.assume(both.Lhs())
		r.assume(both.Rhs())
	case cond.DefIs(arith.CmpI):
		c := arith.AsCmpI(cond.Def())
		r.assumeOf(c.Lhs(), c.Predicate(), c.Rhs())
		r.assumeOf(c.Rhs(), mirrored(c.Predicate()), c.Lhs())
	}
}

// assumeOf notes that v compares so with another. Nothing more can be known of a constant,
// and to look for it would find the other value on the way to itself.
func (r *Result) assumeOf(v *ir.Value, pred int64, with *ir.Value) {
	if _, ok := arith.ConstantInt(v); !ok {
		r.assumed[v] = append(r.assumed[v], assumption{pred, with})
	}
}

// mirrored is the predicate of y and x that says what pred says of x and y.
func mirrored(pred int64) int64 {
	switch pred {
	case arith.SLT:
		return arith.SGT
	case arith.SLE:
		return arith.SGE
	case arith.SGT:
		return arith.SLT
	case arith.SGE:
		return arith.SLE
	case arith.ULT:
		return arith.UGT
	case arith.ULE:
		return arith.UGE
	case arith.UGT:
		return arith.ULT
	case arith.UGE:
		return arith.ULE
	}
	return pred
}

// full is all numbers of a type; an index counts as 64 bits.
func full(t ir.Type) Range {
	w := ir.BitWidth(ir.ElemOf(t))
	if w == 0 || w >= 64 {
		return Range{math.MinInt64, math.MaxInt64}
	}
	return Range{-1 << (w - 1), 1<<(w-1) - 1}
}

// Of is the range of v, an integer or a tensor of integers.
func (r *Result) Of(v *ir.Value) Range {
	if x, ok := r.known[v]; ok {
		return x
	}
	whole := full(v.Type())
	if r.open[v] {
		return whole
	}
	if op := v.Block().Parent(); op != nil {
		op.Context().Meter().Visit()
	}
	r.open[v] = true
	x := r.computed(v)
	if x.Low < whole.Low || x.High > whole.High || x.Low > x.High {
		x = whole // it may wrap around
	}
	for _, a := range r.assumed[v] {
		x = x.under(a.pred, r.Of(a.with))
	}
	delete(r.open, v)
	r.known[v] = x
	return x
}

// under is what is left of x where it compares so with a number of y.
func (x Range) under(pred int64, y Range) Range {
	z := x
	switch {
	case pred == arith.EQ:
		z = Range{max(x.Low, y.Low), min(x.High, y.High)}
	case pred == arith.SLT && y.High > math.MinInt64:
		z.High = min(x.High, y.High-1)
	case pred == arith.SLE:
		z.High = min(x.High, y.High)
	case pred == arith.SGT && y.Low < math.MaxInt64:
		z.Low = max(x.Low, y.Low+1)
	case pred == arith.SGE:
		z.Low = max(x.Low, y.Low)
	case pred == arith.ULT && y.Low >= 0: // below the sign's bit
		z = Range{max(x.Low, 0), min(x.High, y.High-1)}
	case pred == arith.ULE && y.Low >= 0:
		z = Range{max(x.Low, 0), min(x.High, y.High)}
	}
	if z.Low > z.High { // nothing gets here
		return x
	}
	return z
}

// Compare decides how every number of x compares with every one of y; known is false where
// some do and others do not.
func (x Range) Compare(pred int64, y Range) (holds, known bool) {
	switch pred {
	case arith.EQ, arith.NE:
		equal := x.Low == x.High && x == y
		return equal == (pred == arith.EQ), equal || x.High < y.Low || y.High < x.Low
	case arith.SLT, arith.SLE:
		return below(pred == arith.SLE, x.Low, x.High, y.Low, y.High)
	case arith.ULT, arith.ULE:
		xLow, xHigh := x.unsigned()
		yLow, yHigh := y.unsigned()
		return below(pred == arith.ULE, xLow, xHigh, yLow, yHigh)
	}
	return y.Compare(mirrored(pred), x)
}

// below decides whether numbers of one range are less than those of another, or equal.
func below[T cmp.Ordered](orEqual bool, xLow, xHigh, yLow, yHigh T) (holds, known bool) {
	if orEqual {
		return xHigh <= yLow, xHigh <= yLow || yHigh < xLow
	}
	return xHigh < yLow, xHigh < yLow || yHigh <= xLow
}

// unsigned are the bounds of the numbers taken as unsigned ones of 64 bits, which compare
// as those of fewer bits do.
func (x Range) unsigned() (low, high uint64) {
	if x.Low < 0 && x.High >= 0 {
		return 0, math.MaxUint64
	}
	return uint64(x.Low), uint64(x.High)
}

// Unsigned are the bounds of the numbers of a type, or of tensors of it, taken as unsigned.
func (x Range) Unsigned(t ir.Type) (low, high uint64) {
	low, high = x.unsigned()
	if w := ir.BitWidth(ir.ElemOf(t)); w > 0 && w < 64 {
		mask := uint64(1)<<w - 1
		low, high = low&mask, high&mask
	}
	return low, high
}

func (x Range) union(y Range) Range { return Range{min(x.Low, y.Low), max(x.High, y.High)} }

// computed is the range of v without assumptions; one that v's type does not hold says
// that v may wrap around.
func (r *Result) computed(v *ir.Value) Range {
	op := v.Def()
	if op == nil {
		return r.argument(v)
	}
	switch op.Def() {
	case scf.For:
		return r.carried(op, v.Index())
	case scf.While:
		return r.Of(scf.AsCondition(scf.AsWhile(op).Before().First().Terminator()).ArgsAt(v.Index()))
	case scf.If:
		x := Range{math.MaxInt64, math.MinInt64}
		for _, region := range op.Regions() {
			if region.First() == nil {
				return full(v.Type())
			}
			x = x.union(r.Of(region.First().Terminator().Operand(v.Index())))
		}
		return x
	}
	if rule, ok := r.rules[op.Def()]; ok {
		return rule(r, op)
	}
	return full(v.Type())
}

// argument is the range of an argument of a block.
func (r *Result) argument(v *ir.Value) Range {
	loop := v.Block().Parent()
	switch {
	case loop == nil:
		return full(v.Type())
	case loop.Is(scf.While):
		return r.tested(loop, v)
	case !loop.Is(scf.For):
		return r.branched(v)
	}
	if v != scf.InductionVar(loop) {
		return r.carried(loop, scf.CarriedIndex(v))
	}
	lower, upper, step := r.Of(scf.LowerBound(loop)), r.Of(scf.UpperBound(loop)), r.Of(scf.Step(loop))
	if step.Low <= 0 || upper.High == math.MinInt64 {
		return full(v.Type())
	}
	return Range{lower.Low, max(lower.Low, upper.High-1)}
}

// tested is the range of an argument of a block of a loop with a test.
func (r *Result) tested(op *ir.Operation, v *ir.Value) Range {
	loop := scf.AsWhile(op)
	before, after := loop.Before().First(), loop.After().First()
	if v.Block() == after {
		return r.Of(scf.AsCondition(before.Terminator()).ArgsAt(v.Index()))
	}
	return r.Of(loop.InitsAt(v.Index())).union(r.Of(after.Terminator().Operand(v.Index())))
}

// branched is the range of an argument that branches give values.
func (r *Result) branched(v *ir.Value) Range {
	x, any := Range{math.MaxInt64, math.MinInt64}, false
	for t, way := range v.Block().Predecessors() {
		if !t.Is(cf.Br) && !t.Is(cf.CondBr) {
			return full(v.Type())
		}
		x, any = x.union(r.Of(cf.SuccessorArgs(t, way)[v.Index()])), true
	}
	if !any {
		return full(v.Type())
	}
	return x
}

// carried is the range of what a loop carries, before, between and after iterations.
func (r *Result) carried(loop *ir.Operation, i int) Range {
	arg := scf.IterArg(loop, i)
	init, yielded := r.Of(scf.Inits(loop)[i]), loop.Body().Terminator().Operand(i)
	if yielded == arg {
		return init
	}
	if by, ok := r.added(yielded, arg); ok {
		if by, ok = r.repeated(by, loop); ok {
			if x, ok := sum(init, by); ok {
				return x
			}
		}
		return full(arg.Type())
	}
	// The argument is open, and so anything, while it is looked at what comes of it.
	wasOpen := r.open[arg]
	r.open[arg] = true
	x := init.union(r.Of(yielded))
	if !wasOpen {
		delete(r.open, arg)
	}
	return x
}

// repeated is what iterations of a loop add together, where each adds by.
func (r *Result) repeated(by Range, loop *ir.Operation) (Range, bool) {
	n, ok := r.Trips(loop)
	low, okLow := times(min(by.Low, 0), n)
	high, okHigh := times(max(by.High, 0), n)
	return Range{low, high}, ok && okLow && okHigh
}

// added is what v is more than arg, if it is a sum of arg and others, or what a loop or a
// condition makes of such sums.
func (r *Result) added(v, arg *ir.Value) (Range, bool) {
	if v == arg {
		return Range{}, true
	}
	pair := [2]*ir.Value{v, arg}
	if r.apart[pair] {
		return Range{}, false
	}
	x, ok := r.sumWith(v, arg)
	if !ok {
		r.apart[pair] = true
	}
	return x, ok
}

func (r *Result) sumWith(v, arg *ir.Value) (Range, bool) {
	switch {
	case v.DefIs(scf.For):
		loop, i := v.Def(), v.Index()
		x, ok := r.added(scf.Inits(loop)[i], arg)
		if !ok {
			return x, false
		}
		by, ok := r.added(loop.Body().Terminator().Operand(i), scf.IterArg(loop, i))
		if ok {
			by, ok = r.repeated(by, loop)
		}
		if !ok {
			return x, false
		}
		return sum(x, by)
	case v.DefIs(scf.If):
		x := Range{math.MaxInt64, math.MinInt64}
		for _, region := range v.Def().Regions() {
			if region.First() == nil {
				return x, false
			}
			y, ok := r.added(region.First().Terminator().Operand(v.Index()), arg)
			if !ok {
				return x, false
			}
			x = x.union(y)
		}
		return x, true
	}
	if !v.DefIs(arith.AddI) && !v.DefIs(arith.SubI) {
		return Range{}, false
	}
	two := arith.AsBinary(v.Def())
	term := two.Rhs()
	x, ok := r.added(two.Lhs(), arg)
	if !ok && v.DefIs(arith.AddI) {
		term = two.Lhs()
		x, ok = r.added(two.Rhs(), arg)
	}
	if !ok {
		return x, false
	}
	y := r.Of(term)
	if v.DefIs(arith.SubI) {
		if y.Low == math.MinInt64 {
			return x, false
		}
		y = Range{-y.High, -y.Low}
	}
	return sum(x, y)
}

// Trips is how many iterations a loop has at most each time that it runs; known is false
// where that cannot be told.
func (r *Result) Trips(loop *ir.Operation) (n int64, known bool) {
	lower, upper, step := r.Of(scf.LowerBound(loop)), r.Of(scf.UpperBound(loop)), r.Of(scf.Step(loop))
	if step.Low <= 0 {
		return 0, false
	}
	way, ok := sum(Range{upper.High, upper.High}, Range{-lower.Low, -lower.Low})
	if !ok || lower.Low == math.MinInt64 {
		return 0, false
	}
	if way.High <= 0 {
		return 0, true
	}
	return (way.High-1)/step.Low + 1, true
}

// sum adds two ranges; ok is false where 64 bits do not hold the sum.
func sum(x, y Range) (z Range, ok bool) {
	z = Range{x.Low + y.Low, x.High + y.High}
	ok = (x.Low < 0) != (y.Low < 0) || (z.Low < 0) == (x.Low < 0)
	ok = ok && ((x.High < 0) != (y.High < 0) || (z.High < 0) == (x.High < 0))
	return z, ok
}

// times multiplies; ok is false where 64 bits do not hold the product.
func times(x, y int64) (z int64, ok bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	if x == math.MinInt64 || y == math.MinInt64 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(max(x, -x)), uint64(max(y, -y)))
	return x * y, high == 0 && low <= math.MaxInt64
}
