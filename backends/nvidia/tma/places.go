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
	operand := func(i int) int64 { return l.of(op.Operand(i)) }
	switch op.Def() {
	case arith.AddI:
		return operand(0) + operand(1)
	case arith.SubI:
		if n, ok := arith.ConstantInt(op.Operand(1)); ok {
			return operand(0) - n
		}
	case arith.MulI:
		// A negative factor alone is a difference's.
		a, b := operand(0), operand(1)
		if constantBelow(op.Operand(0)) || constantBelow(op.Operand(1)) {
			return 0
		}
		return clamp(min(a*max(b, 1), b*max(a, 1)))
	case arith.DivSI, arith.FloorDivI, arith.CeilDivSI, arith.RemSI, arith.ShRSI:
		return min(operand(0), 0)
	case arith.ExtSI, arith.TruncI, arith.IndexCast:
		return operand(0)
	case arith.MaxSI:
		return max(operand(0), operand(1))
	case arith.MinSI:
		return min(operand(0), operand(1))
	case arith.Select:
		return min(operand(1), operand(2))
	case scf.If:
		i := v.Index()
		return min(l.yielded(op.Region(0), i), l.yielded(op.Region(1), i))
	case scf.For:
		return l.of(scf.AsFor(op).InitArgsAt(v.Index()))
	}
	return 0
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
