package tma

import (
	"math"

	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/ir"
)

// lowest is the least value that the constants in an index let it have, if everything else
// in it, arguments, places in the grid, what was loaded, differences of such, is 0 or
// more: below 0 for program_id - 1. An index cannot be proven to be 0 or more where it
// comes from a kernel's arguments; one that the source itself takes below 0 can be told.
type lowest struct {
	known map[*ir.Value]int64
	steps int
}

// maxLowestSteps bounds the operations that one index is followed through.
const maxLowestSteps = 1000

// mayBeginBefore reports whether a place that the kernel computes may be below 0.
func mayBeginBefore(index *ir.Value) bool {
	l := &lowest{known: make(map[*ir.Value]int64)}
	return l.of(index) < 0
}

func (l *lowest) of(v *ir.Value) int64 {
	if n, ok := arith.ConstantInt(v); ok {
		return n
	}
	if n, ok := l.known[v]; ok {
		return n
	}
	if l.steps++; l.steps > maxLowestSteps {
		return 0
	}
	n := l.compute(v)
	l.known[v] = n
	return n
}

func (l *lowest) compute(v *ir.Value) int64 {
	op := v.Def()
	if op == nil {
		return l.ofArg(v)
	}
	switch op.Def() {
	case arith.AddI, arith.MulI, arith.MaxSI, arith.MinSI:
		b := arith.AsBinary(op)
		return l.combined(op, b.Lhs(), b.Rhs())
	case arith.SubI:
		b := arith.AsSubI(op)
		if n, ok := arith.ConstantInt(b.Rhs()); ok {
			return l.of(b.Lhs()) - n
		}
	case arith.DivSI, arith.FloorDivI, arith.CeilDivSI, arith.RemSI, arith.ShRSI:
		return min(l.of(arith.AsBinary(op).Lhs()), 0)
	case arith.ExtSI, arith.TruncI, arith.IndexCast:
		return l.of(arith.AsCast(op).In())
	case arith.Select:
		c := arith.AsSelect(op)
		return min(l.of(c.TrueValue()), l.of(c.FalseValue()))
	case scf.If:
		i, c := v.Index(), scf.AsIf(op)
		return min(l.yielded(c.ThenRegion(), i), l.yielded(c.ElseRegion(), i))
	case scf.For:
		return l.of(scf.AsFor(op).InitArgsAt(v.Index()))
	}
	return 0
}

// combined is that of an operation of two operands.
func (l *lowest) combined(op *ir.Operation, x, y *ir.Value) int64 {
	a, b := l.of(x), l.of(y)
	switch op.Def() {
	case arith.AddI:
		return a + b
	case arith.MaxSI:
		return max(a, b)
	case arith.MinSI:
		return min(a, b)
	}
	if constantBelow(x) || constantBelow(y) { // what it is added to is not less
		return 0
	}
	return clamp(min(a*max(b, 1), b*max(a, 1)))
}

// yielded is that of a result of a region.
func (l *lowest) yielded(r *ir.Region, i int) int64 { return l.of(r.First().Terminator().Operand(i)) }

// ofArg takes what a loop carries for its first value: how often one that falls does so is
// not known.
func (l *lowest) ofArg(v *ir.Value) int64 {
	op := v.Block().Parent()
	if op == nil || !op.Is(scf.For) {
		return 0
	}
	loop := scf.AsFor(op)
	switch {
	case v.Index() > 0:
		return l.of(loop.InitArgsAt(v.Index() - 1))
	case constantBelow(loop.Step()):
		return 0
	}
	return l.of(loop.LowerBound())
}

func constantBelow(v *ir.Value) bool {
	n, ok := arith.ConstantInt(v)
	return ok && n < 0
}

func clamp(n int64) int64 { return max(min(n, math.MaxInt32), math.MinInt32) }
