package transform

import (
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
)

// ReorderInstructions moves operations for what AMD's GPUs like: operands of dots are
// converted in the loop that alone uses them, conversions come after buffers that are given
// back, transpositions after what they transpose, loads that the pipeliner put before a loop
// as early as they can be, and the second load of a large matmul between the reads of LDS and
// the dot, so that it is issued while the matrix cores work.
var ReorderInstructions = &pass.Pass{
	Name:    "tritonamdgpu-reorder-instructions",
	Doc:     "move loads, conversions and transpositions to where AMD's GPUs hide them",
	Example: reorderInstructionsExample,
	Run: func(r *pass.Run) error {
		for _, fn := range operations(r.Module, tt.Func) {
			sinkOperands(r, fn)
			sinkBelowDeallocs(r, fn)
			raiseTranspositions(r, fn)
			raisePrologue(r, fn)
			for _, loop := range matmulLoops(fn) {
				sinkSecondLoad(r, loop)
			}
		}
		return nil
	},
}

// sinkOperands moves conversions of dots' operands to their user, when that is the only one
// and in another loop.
func sinkOperands(r *pass.Run, fn *ir.Operation) {
	for _, op := range operations(fn, ttg.ConvertLayout) {
		v := op.OneResult()
		if _, operand := encoding.Get(v.Type()).(*layout.DotOp); !operand || !v.HasOneUse() {
			continue
		}
		if user := v.OnlyUser(); user.ParentOf(scf.For) != op.ParentOf(scf.For) {
			op.MoveBefore(user)
			r.Count("sunk", 1)
		}
	}
}

// sinkBelowDeallocs puts conversions after the buffers that are given back before the
// result is used.
func sinkBelowDeallocs(r *pass.Run, fn *ir.Operation) {
	for _, op := range operations(fn, ttg.ConvertLayout) {
		users := map[*ir.Operation]bool{}
		for u := range op.OneResult().Users() {
			users[forloop.AncestorIn(op.Block(), u)] = true
		}
		var last *ir.Operation
		for o := op.Next(); o != nil && !users[o]; o = o.Next() {
			if o.Is(ttg.LocalDealloc) {
				last = o
			}
		}
		if last != nil {
			op.MoveAfter(last)
			r.Count("sunk", 1)
		}
	}
}

// raiseTranspositions puts transpositions after what defines their operand.
func raiseTranspositions(r *pass.Run, fn *ir.Operation) {
	for _, kind := range []*ir.OpDef{tt.Trans, ttg.MemDescTrans} {
		for _, op := range operations(fn, kind) {
			if def := tt.AsUnary(op).Src().Def(); def != nil && def.Next() != op {
				op.MoveAfter(def)
				r.Count("raised", 1)
			}
		}
	}
}

// pipelinerPart marks loads that the pipeliner made before a loop, as those of its prologue.
const (
	pipelinerPart = "amd.pipeliner_part"
	prologue      = "prologue"
)

// raisePrologue moves the loads of a function's body that the pipeliner made, and what they
// are computed of, up to where their pointer is defined, or to the last operation that they
// may not pass.
func raisePrologue(r *pass.Run, fn *ir.Operation) {
	var loads []*ir.Operation
	for op := range tt.AsFunc(fn).Body().First().Ops() {
		if op.Is(tt.Load) && op.HasAttr(pipelinerPart) {
			loads = append(loads, op)
		}
	}
	for _, load := range slices.Backward(loads) {
		slice, movable := inBlock(load)
		if !movable {
			continue
		}
		after := earliest(load)
		for _, op := range slice {
			switch {
			case after == nil:
				if first := load.Block().First(); op != first {
					op.MoveBefore(first)
				}
			case after == op || op.IsBeforeInBlock(after):
				continue
			default:
				op.MoveAfter(after)
			}
			after = op
			r.Count("raised", 1)
		}
	}
}

// earliest is the last operation before load in its block that load must follow; nil if
// there is none.
func earliest(load *ir.Operation) *ir.Operation {
	ptr := tt.AsLoad(load).Ptr().Def()
	for op := load.Prev(); op != nil; op = op.Prev() {
		if op == ptr || op.Is(gpu.Barrier) || op.Is(scf.For) || op.Is(scf.While) || writesGlobal(op) {
			return op
		}
	}
	return nil
}

// writesGlobal reports whether op may write global memory.
func writesGlobal(op *ir.Operation) bool {
	return op.Def().Dialect() != ttg.Dialect.Name && ir.HasEffect(op, ir.Effects.Writes)
}

// inBlock are the operations of op's block that op is computed of, itself the last, in
// their order, and whether all of them may move.
func inBlock(op *ir.Operation) (slice []*ir.Operation, movable bool) {
	needed := map[*ir.Operation]bool{op: true}
	movable = true
	for o := op; o != nil; o = o.Prev() {
		if !needed[o] {
			continue
		}
		slice = append(slice, o)
		movable = movable && !ir.HasEffect(o, ir.Effects.Changes)
		ir.Walk(o, func(inner *ir.Operation) ir.WalkResult {
			for _, v := range inner.Operands() {
				if def := v.Def(); def != nil {
					needed[forloop.AncestorIn(op.Block(), def)] = true
				}
			}
			return ir.Advance
		})
	}
	slices.Reverse(slice)
	return slice, movable
}

// matmulLoops are the loops of a function whose only work is one dot: all, if each of them
// is so, and else those without loops inside that have at least two loads.
func matmulLoops(fn *ir.Operation) []*ir.Operation {
	all := operations(fn, scf.For)
	if len(all) > 0 && !slices.ContainsFunc(all, func(loop *ir.Operation) bool { return len(operations(loop, tt.Dot)) != 1 }) {
		return all
	}
	return slices.DeleteFunc(all, func(loop *ir.Operation) bool {
		return !forloop.IsInnermost(loop) || len(operations(loop, tt.Dot)) != 1 || len(operations(loop, tt.Load)) < 2
	})
}

// Blocks of operands from which on the second load is worth moving.
const (
	leastSide  = 128 // rows of A, columns of B
	leastDepth = 64  // columns of A
)

// sinkSecondLoad moves the second of two loads of a loop's own block before the dot that
// it is not for.
func sinkSecondLoad(r *pass.Run, loop *ir.Operation) {
	var loads []*ir.Operation
	var dot *ir.Operation
	for op := range loop.Body().Ops() {
		switch {
		case op.Is(tt.Load):
			loads = append(loads, op)
		case op.Is(tt.Dot):
			dot = op
		}
	}
	if len(loads) != 2 || dot == nil {
		return
	}
	a, b := tensors.Type(loads[0].OneResult()), tensors.Type(loads[1].OneResult())
	if a == nil || b == nil || len(a.Shape) != 2 || len(b.Shape) != 2 ||
		a.Shape[0] < leastSide || a.Shape[1] < leastDepth || b.Shape[1] < leastSide || !loads[1].IsBeforeInBlock(dot) {
		return
	}
	for u := range loads[1].OneResult().Users() {
		if in := forloop.AncestorIn(dot.Block(), u); in == dot || in.IsBeforeInBlock(dot) {
			return
		}
	}
	for op := loads[1].Next(); op != dot; op = op.Next() {
		if writesGlobal(op) {
			return
		}
	}
	loads[1].MoveBefore(dot)
	r.Count("sunk", 1)
}
