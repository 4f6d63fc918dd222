package lower

import (
	"github.com/llir/llvm/ir/value"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

// mostUnrolled is how many computations of a thread the iterations of a loop may
// take together for the loop to be unrolled: about what LLVM's -O3 allows. Such
// loops, over the window of a pooling or the taps of a convolution, compute little
// but addresses and masks, most of which fold once the induction variable is a
// constant, and their loads then wait for memory together. Larger ones are left to
// the assembler, which unrolls in part.
const mostUnrolled = 300

// mostInWindow is the same for two loops, one in the other, whose trip counts are
// both known. Pooling over eight places a thread and a window of 3x5 stays below it,
// and takes half the time of the loops on an H200.
const mostInWindow = 1500

// partlyUnrolled is how often the assembler repeats the body of a loop whose trip count
// is not known: copies of such a loop cost it that much more, and no copy's loads are
// issued with another's.
const partlyUnrolled = 4

// tripCount returns how often a loop runs whose bounds are constants, else 0.
func tripCount(lower, upper, step value.Value) int64 {
	l, lok := llir.ConstInt(lower)
	u, uok := llir.ConstInt(upper)
	s, sok := llir.ConstInt(step)
	if !lok || !uok || !sok || s <= 0 || l >= u {
		return 0
	}
	// Unsigned: u - l may exceed the largest number.
	return int64(min((uint64(u)-uint64(l)-1)/uint64(s)+1, mostUnrolled+1))
}

// unrolls reports whether a loop of n iterations is unrolled.
func (e *emitter) unrolls(op *ir.Operation, n int64) (bool, error) {
	if n == 1 {
		return true, nil
	}
	if n > mostUnrolled || op.Attr(llvm.LoopAnnotationAttr) != nil {
		return false, nil
	}
	most := mostUnrolled
	if e.unrolling > 0 || e.hasShortLoop(op) {
		most = mostInWindow
	}
	cost, err := e.cost(scf.AsFor(op).Region(), most/int(n))
	return cost <= most/int(n), err
}

// hasShortLoop reports whether a loop directly contains one whose trip count is known.
func (e *emitter) hasShortLoop(op *ir.Operation) bool {
	for inner := range op.Body().Ops() {
		if inner.Is(scf.For) {
			return countKnown(inner)
		}
	}
	return false
}

// countKnown reports whether the trip count of an scf.for is known.
func countKnown(op *ir.Operation) bool {
	f := scf.AsFor(op)
	return f.LowerBound().DefIs(arith.Constant) && f.UpperBound().DefIs(arith.Constant) && f.Step().DefIs(arith.Constant)
}

// cost estimates how many computations a thread does in a region: a register of a
// result is one, and so is an operation without results. It stops above most.
func (e *emitter) cost(r *ir.Region, most int) (int, error) {
	sum := 0
	for b := range r.Blocks() {
		for op := range b.Ops() {
			switch op.Def() {
			case arith.Constant, tt.Splat, tt.Broadcast, tt.ExpandDims, tt.MakeRange:
				continue
			case tt.Dot, tt.Reduce, tt.Scan: // many for each register
				return most + 1, nil
			}
			sum++
			for _, v := range op.Results() {
				n, err := e.m.regsOf(v.Type())
				if err != nil {
					return 0, err
				}
				sum += n - 1
			}
			copies := 1
			if op.Is(scf.While) || op.Is(scf.For) && !countKnown(op) {
				copies = partlyUnrolled
			}
			for _, inner := range op.Regions() {
				n, err := e.cost(inner, (most-sum)/copies)
				if err != nil {
					return 0, err
				}
				sum += n * copies
			}
			if sum > most {
				return sum, nil
			}
		}
	}
	return sum, nil
}

// unrolledLoop lowers the body of a loop once for each of its n iterations.
func (e *emitter) unrolledLoop(op *ir.Operation, n int64, lower, step value.Value) error {
	args := op.Body().Args()
	carried := make([][]llir.Value, 0, op.NumResults())
	for _, v := range scf.Inits(op) {
		carried = append(carried, e.value(v))
	}
	iv := lower
	e.unrolling++
	defer func() { e.unrolling-- }()
	for range n {
		e.set(args[0], []llir.Value{iv})
		for i, regs := range carried {
			e.set(args[i+1], regs)
		}
		yield, err := e.inner(scf.AsFor(op).Region())
		if err != nil {
			return err
		}
		next := make([][]llir.Value, 0, len(carried))
		for _, v := range yield.OperandValues() {
			next = append(next, e.value(v))
		}
		carried = next
		e.setLocation(op.Loc())
		iv = e.b.Add(iv, step)
	}
	for i, r := range op.Results() {
		e.set(r, carried[i])
	}
	return nil
}
