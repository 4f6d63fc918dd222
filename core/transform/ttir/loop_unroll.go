package ttir

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// LoopUnroll repeats the body of a loop that asks for it. The iterations left
// over run in a second loop, which is not pipelined.
var LoopUnroll = &pass.Pass{
	Name:    "triton-loop-unroll",
	Doc:     "unroll loops by their tt.loop_unroll_factor",
	Example: loopUnrollExample,
	Run: func(r *pass.Run) error {
		var err error
		made := 0
		ir.WalkPost(r.Module, func(op *ir.Operation) {
			n, ok := op.IntAttr(tt.UnrollFactorAttr)
			if !ok || !op.Is(scf.For) || n <= 1 || err != nil {
				return
			}
			size := pass.CountOps(op)
			if n > int64((pass.MaxOps-made)/size) {
				err = pass.OverLimit(op.Loc(), "a smaller loop_unroll_factor leaves a loop to run",
					"unrolling this loop of %s %d times makes more than %d, the limit", diag.Count(size, "operation"), n, pass.MaxOps)
				return
			}
			made += int(n) * size
			op.SetAttr(tt.UnrollFactorAttr, nil)
			unroll(op, n)
			r.Count("unrolled", 1)
		})
		return err
	},
}

// unroll makes op step n iterations at a time and adds a loop for the rest.
func unroll(op *ir.Operation, n int64) {
	b := ir.NewBuilder(op.Context())
	b.At(op)
	lo, hi, step := scf.LowerBound(op), scf.UpperBound(op), scf.Step(op)
	t := lo.Type()

	// mid is the bound of the unrolled loop: lo + (trips / n) · n · step. The
	// number of trips is the span over a positive step, rounded up.
	span := arith.Binary(b, arith.SubI, hi, lo)
	less := arith.Binary(b, arith.SubI, step, arith.Int(b, t, 1))
	trips := arith.Binary(b, arith.DivUI, arith.Binary(b, arith.AddI, span, less), step)
	rest := arith.Binary(b, arith.RemSI, trips, arith.Int(b, t, n))
	whole := arith.Binary(b, arith.SubI, trips, rest)
	mid := arith.Binary(b, arith.AddI, lo, arith.Binary(b, arith.MulI, whole, step))

	tail := op.Clone(ir.NewMapping())
	op.Block().InsertBefore(tail, op.Next())
	for i, r := range op.Results() {
		r.ReplaceAllUsesWith(tail.Result(i))
	}
	scf.AsFor(tail).SetLowerBound(mid)
	for i, r := range op.Results() {
		scf.AsFor(tail).SetInitArgsAt(i, r)
	}
	tail.SetAttr(tt.NumStagesAttr, op.Context().I32Attr(1))

	scf.AsFor(op).SetUpperBound(mid)
	scf.AsFor(op).SetStep(arith.Binary(b, arith.MulI, step, arith.Int(b, t, n)))
	repeatBody(op, step, n)
}

// repeatBody appends n−1 copies of the body, each fed by the one before.
func repeatBody(op *ir.Operation, step *ir.Value, n int64) {
	body := op.Body()
	end := body.Terminator()
	var original []*ir.Operation
	for x := range body.Ops() {
		if x != end {
			original = append(original, x)
		}
	}
	first := end.OperandValues()
	carried := first
	b := ir.NewBuilder(op.Context())
	b.SetBefore(end)
	b.Loc = op.Loc()
	for k := int64(1); k < n; k++ {
		m := ir.NewMapping()
		offset := arith.Binary(b, arith.MulI, step, arith.Int(b, step.Type(), k))
		iv := scf.InductionVar(op)
		m.Map(iv, arith.Binary(b, arith.AddI, iv, offset))
		for i, v := range carried {
			m.Map(scf.IterArg(op, i), v)
		}
		for _, x := range original {
			b.Insert(x.Clone(m))
		}
		next := make([]*ir.Value, len(first))
		for i, v := range first {
			next[i] = m.Lookup(v)
		}
		carried = next
	}
	end.SetOperands(carried)
}
