package tmem

import (
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
)

// OptimizeAccumulatorInit has dots overwrite an accumulator that is zero instead of
// adding to it, by the flag that wgmma and tcgen05.mma have for it, so that nothing
// writes the zeros:
//
//	for … iter_args(%acc = zeros) {
//	  %d = ttng.warp_group_dot %a, %b, %acc
//	  %n = arith.select %last, zeros, %d
//	  yield %n }
//
// becomes
//
//	for … iter_args(%acc = zeros, %use = false) {
//	  %d = ttng.warp_group_dot %a, %b, %acc, %use
//	  %next = arith.select %last, false, true
//	  yield %d, %next }
//
// It heeds the zeroing nearest to a dot, a select or an scf.if whose other value comes
// from outside of it, if the dot alone sees its result. A result of the loop that the
// zeroing would have cleared is cleared after the loop.
var OptimizeAccumulatorInit = &pass.Pass{
	Name:    "tritongpu-optimize-accumulator-init",
	Doc:     "dots overwrite accumulators of zeros instead of adding to them",
	Example: optimizeAccumulatorInitExample,
	Before:  []*pass.Fact{facts.Layouts},
	Run: func(r *pass.Run) error {
		b := ir.NewBuilder(r.Module.Context())
		var dots []*ir.Operation
		ir.Walk(r.Module, func(op *ir.Operation) ir.WalkResult {
			if accumulatorOf(op) != nil {
				dots = append(dots, op)
			}
			return ir.Advance
		})
		for _, d := range dots {
			if overwriteZeros(b, d) {
				r.Count("accumulators", 1)
			}
		}
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			if ttng.IsTmemAlloc(op) && initUnused(op) {
				ttng.AsTmemAlloc(op).SetSrc(nil)
			}
		})
		return nil
	},
}

// accumulator is how a dot gets its sum so far and says whether it adds to it.
type accumulator struct {
	// in is what the dot adds to, out what it gives; nil where they cannot be followed.
	in, out *ir.Value
	flag    *ir.Value // nil: it adds
	setFlag func(*ir.Value)
}

// accumulatorOf is the accumulator of op; nil if it is not a dot with such a flag.
func accumulatorOf(op *ir.Operation) *accumulator {
	if ttng.Is(op, "warp_group_dot") {
		d := ttng.AsWarpGroupDot(op)
		if partial(d) {
			return nil
		}
		return &accumulator{d.C(), d.D(), d.UseC(), d.SetUseC}
	}
	m := ttng.AsMMA(op)
	if m == nil {
		return nil
	}
	a := &accumulator{flag: m.UseD(), setFlag: m.SetUseD}
	alloc := m.D().Def()
	if !ttng.IsTmemAlloc(alloc) || alloc.Block() != op.Block() {
		return a
	}
	// The buffer belongs to this dot, which one load follows.
	var load *ir.Operation
	for u := range m.D().Users() {
		switch {
		case u == op:
		case ttng.IsTmemLoad(u) && u.Block() == op.Block() && load == nil && op.IsBeforeInBlock(u):
			load = u
		default:
			return a
		}
	}
	if load != nil && isTrue(m.Pred()) {
		a.in, a.out = ttng.AsTmemAlloc(alloc).Src(), ttng.AsTmemLoad(load).Result()
	}
	return a
}

// partial reports whether d is added up in parts, at the unit's own precision within
// each, which are added to the accumulator by instructions of their own.
func partial(d ttng.WarpGroupDotOp) bool {
	var k int64
	switch t := d.A().Type().(type) {
	case *ir.TensorType:
		k = t.Shape[len(t.Shape)-1]
		if f, ok := t.Elem.(*ir.FloatType); !ok || f.Kind.Width() != 8 {
			return false
		}
	case *ttg.MemDescType:
		k = t.Shape[len(t.Shape)-1]
		if f, ok := t.Elem.(*ir.FloatType); !ok || f.Kind.Width() != 8 {
			return false
		}
	}
	return d.MaxNumImpreciseAcc() < k
}

// overwriteZeros does so for one dot.
func overwriteZeros(b *ir.Builder, dot *ir.Operation) bool {
	loop := dot.Parent()
	acc := accumulatorOf(dot)
	if loop == nil || !loop.Is(scf.For) || acc == nil || acc.in == nil || acc.out == nil {
		return false
	}
	if acc.flag != nil {
		// A flag that is set already, or false.
		if use, known := arith.ConstantInt(acc.flag); !known || use == 0 {
			return false
		}
	}
	if isZero(acc.in) {
		b.At(dot)
		acc.setFlag(arith.Int(b, b.Context().I1(), 0))
		return true
	}
	index, starts := -1, false // the carried value that the dot adds to
	v := acc.in
	if v.IsArgument() && v.Block() == loop.Body() && scf.CarriedIndex(v) >= 0 {
		index = scf.CarriedIndex(v)
		starts = isZero(scf.Inits(loop)[index])
		v = forloop.Next(loop, v)
	}
	z := zeroingOf(v, loop, dot, index)
	if z == nil && !starts {
		return false
	}
	b.SetBefore(loop)
	b.Loc = dot.Loc()
	yes, no := arith.Int(b, b.Context().I1(), 1), arith.Int(b, b.Context().I1(), 0)
	first := yes
	if starts {
		first = no
	}
	loop, args := forloop.AddCarried(b, loop, first)
	flag, next := args[0], yes
	use := flag
	if z != nil {
		b.At(z.op)
		keeps := yes
		if index < 0 {
			keeps = flag
		}
		switch {
		case z.whenTrue:
			next = arith.NewSelect(b, z.cond, no, keeps)
		case keeps == yes:
			next = z.cond
		default:
			next = arith.NewSelect(b, z.cond, keeps, no)
		}
		if index < 0 {
			// The zeroing is before the dot, which heeds it in the same iteration.
			use, next = next, yes
		}
		if index >= 0 {
			clearResult(b, loop, index, z.zero)
		}
		z.remove()
	}
	acc.setFlag(use)
	yield := forloop.Yield(loop)
	yield.AppendOperand(next)
	return true
}

// clearResult makes the result of loop zero where the last iteration says so, by the
// flag that loop carries last.
func clearResult(b *ir.Builder, loop *ir.Operation, index int, zero *ir.Value) {
	res := loop.Result(index)
	if !res.HasUses() {
		return
	}
	b.After(loop)
	flag := loop.Result(loop.NumResults() - 1)
	// Zero iterations leave the flag false where the initial value is zero: all the same.
	kept := arith.NewSelect(b, flag, res, zeroAt(b, zero))
	res.ReplaceUsesIf(kept, func(u *ir.Use) bool { return u.Owner() != kept.Def() })
}

// zeroAt is the constant that zero is, made where b inserts.
func zeroAt(b *ir.Builder, zero *ir.Value) *ir.Value {
	return arith.NewConstant(b, zero.Def().ConstantValue())
}

// zeroing is an operation that gives zeros under a condition and else old.
type zeroing struct {
	op        *ir.Operation
	cond      *ir.Value
	whenTrue  bool // zeros where cond holds
	old, zero *ir.Value
	remove    func()
}

// zeroingOf is the zeroing that gives v, in the body of loop, if dot alone sees the
// result: at once (index < 0) or as the carried value index; else nil.
func zeroingOf(v *ir.Value, loop, dot *ir.Operation, index int) *zeroing {
	op := v.Def()
	if op == nil || op.Block() != loop.Body() || !v.HasOneUse() {
		return nil
	}
	before := op.IsBeforeInBlock(dot)
	if before != (index < 0) || index >= 0 && !scf.IterArg(loop, index).HasOneUse() {
		return nil
	}
	var z *zeroing
	switch {
	case op.Is(arith.Select):
		z = selectZeroing(op)
	case op.Is(scf.If):
		z = ifZeroing(op, v.Index())
	}
	return z
}

func selectZeroing(op *ir.Operation) *zeroing {
	s := arith.AsSelect(op)
	if !ir.IsInt(s.Condition().Type(), 1) {
		return nil
	}
	z := &zeroing{op: op, cond: s.Condition(), whenTrue: isZero(s.TrueValue()), old: s.FalseValue(), zero: s.TrueValue()}
	if !z.whenTrue {
		if z.old, z.zero = s.TrueValue(), s.FalseValue(); !isZero(z.zero) {
			return nil
		}
	}
	z.remove = func() {
		op.OneResult().ReplaceAllUsesWith(z.old)
		op.Erase()
	}
	return z
}

func ifZeroing(op *ir.Operation, result int) *zeroing {
	branches := scf.AsIf(op)
	yes := branches.ThenRegion().First().Terminator()
	no := branches.ElseRegion().First().Terminator()
	z := &zeroing{op: op, cond: branches.Condition(), whenTrue: isZero(yes.Operand(result)), old: no.Operand(result), zero: yes.Operand(result)}
	zeroing := yes
	if !z.whenTrue {
		if z.old, z.zero, zeroing = yes.Operand(result), no.Operand(result), no; !isZero(z.zero) {
			return nil
		}
	}
	if forloop.DefinedInside(z.old, op) {
		return nil
	}
	z.remove = func() { zeroing.SetOperand(result, z.old) }
	return z
}

// isZero reports whether v is the constant 0, of either sign.
func isZero(v *ir.Value) bool {
	if v.Def() == nil {
		return false
	}
	var bits uint64
	switch a := arith.ConstantValue(v).(type) {
	case *ir.IntegerAttr:
		return a.Value == 0
	case *ir.FloatAttr:
		bits = a.Bits
	case *ir.DenseElementsAttr:
		if !a.IsSplat() {
			return false
		}
		bits = a.Values[0]
	default:
		return false
	}
	if f, ok := ir.ElemOf(v.Type()).(*ir.FloatType); ok {
		return ir.BitsToFloat(f.Kind, bits) == 0
	}
	return bits == 0
}

// initUnused reports whether the first dot to see the buffer overwrites what op, a
// ttng.tmem_alloc, fills it with.
func initUnused(op *ir.Operation) bool {
	alloc := ttng.AsTmemAlloc(op)
	if alloc.Src() == nil {
		return false
	}
	var dot, load *ir.Operation
	for u := range alloc.Result().Users() {
		switch {
		case dot == nil && ttng.AsMMA(u) != nil && ttng.AsMMA(u).D() == alloc.Result() && u.Block() == op.Block():
			dot = u
		case load == nil && ttng.IsTmemLoad(u) && u.Block() == op.Block():
			load = u
		default:
			return false
		}
	}
	if dot == nil || load != nil && !dot.IsBeforeInBlock(load) {
		return false
	}
	m := ttng.AsMMA(dot)
	use, known := arith.ConstantInt(m.UseD())
	mutable := alloc.Result().Type().(*ttg.MemDescType).Mutable
	return mutable && known && use == 0 && isTrue(m.Pred())
}

// isTrue reports whether v is the constant true.
func isTrue(v *ir.Value) bool {
	n, known := arith.ConstantInt(v)
	return known && n != 0
}
