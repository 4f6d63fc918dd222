package transform

import (
	"slices"

	"github.com/tritonc/tritonc/backends/amd/chip"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/facts"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// Pipeline carries out the schedules of tritonamdgpu-schedule-loops. Operands of dots pass
// through buffers in LDS, of which there are as many as iterations between the store and the
// read: loads go to registers, from where the end of the iteration stores them; with
// use_async_copy they go to LDS themselves, where the chip's instructions can. The first
// iterations begin before the loop, the last ones end after it. Loops with an operation that
// cannot be switched off for an iteration that does not exist stay as they are.
var Pipeline = &pass.Pass{
	Name: "tritonamdgpu-pipeline",
	Doc:  "pipeline scheduled loops, with operands of dots through buffers in LDS",
	Options: []pass.Option{
		{Name: "use_async_copy", Doc: "copy to LDS without registers", Default: false},
		{Name: "use_pingpong", Doc: "wait for copies at the end of an iteration, for warps that take turns", Default: false},
		{Name: "guard", Doc: "do nothing of a loop that has no iteration", Default: false},
	},
	Example: pipelineExample,
	Before:  []*pass.Fact{facts.Layouts, facts.BoundedSchedules},
	After:   []*pass.Fact{facts.NoSchedule},
	Run: func(r *pass.Run) error {
		l := streamLowering{b: ir.NewBuilder(r.Module.Context()), chip: chip.Of(r.Module.StringAttr(ttg.TargetAttr)), async: r.Bool("use_async_copy")}
		for _, loop := range forloop.All(r.Module) {
			s, ok, err := pipeline.StagingOf(loop, chainedClusters)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			s.Erase()
			if s.Stages() < 2 || !pipeline.CanPipeline(loop) || !canSwitchOff(loop) {
				r.Count("impossible", 1)
				continue
			}
			if l.info == nil {
				l.info = axisinfo.Analyze(r.Module)
			}
			l.atEnd = r.Bool("use_pingpong") && l.async && s.Stages() == 3
			r.Count("buffers", l.lower(s))
			for op := range s.Loop().Body().Ops() {
				op.SetAttr(bypassLDS, nil)
			}
			if l.keepsBuffers(s) && s.Expand(l.b, switchOff, r.Bool("guard")) {
				r.Count("loops", 1)
			}
		}
		if l.async {
			pipeline.UpdateWaits(r.Module)
		}
		return nil
	},
}

// canSwitchOff reports whether each operation of loop can be switched off. What only reads
// LDS does no harm.
func canSwitchOff(loop *ir.Operation) bool {
	for op := range loop.Body().Ops() {
		switch {
		case op.IsTerminator(), op.Is(llvm.Assume), pipeline.CanSwitchOff(op):
		case ir.HasEffect(op, ir.Effects.Changes), !readsBuffer(op):
			return false
		}
	}
	return true
}

// readsBuffer reports whether one of op's operands is a buffer in LDS.
func readsBuffer(op *ir.Operation) bool {
	return slices.ContainsFunc(op.OperandValues(), func(v *ir.Value) bool {
		_, ok := v.Type().(*ttg.MemDescType)
		return ok
	})
}

// switchOff is the pipeline.Predicate for AMD's GPUs. Dots after a loop are in a branch,
// which needs no registers for a result that is not taken.
func switchOff(b *ir.Builder, op *ir.Operation, pred *ir.Value, part pipeline.Part) ([]*ir.Value, bool) {
	switch op.Def() {
	case tt.Dot, tt.DotScaled:
		if part == pipeline.Epilogue {
			return []*ir.Value{dotWhere(b, op, pred)}, true
		}
	case llvm.Assume:
		b.SetBefore(op)
		holds := llvm.AsAssume(op)
		always := arith.NewConstant(b, b.Context().BoolAttr(true))
		holds.SetCond(arith.Binary(b, arith.OrI, holds.Cond(), arith.Binary(b, arith.XorI, pred, always)))
		return nil, true
	case tt.Load:
		if part == pipeline.Prologue {
			op.SetAttr(pipelinerPart, b.Context().StringAttr(prologue))
		}
	}
	return nil, false
}

// dotWhere computes dot where pred is true, and gives its accumulator where it is false.
func dotWhere(b *ir.Builder, dot *ir.Operation, pred *ir.Value) *ir.Value {
	var acc *ir.Value
	if dot.Is(tt.Dot) {
		acc = tt.AsDot(dot).C()
	} else {
		acc = tt.AsDotScaled(dot).C()
	}
	b.SetAfter(dot)
	choice := scf.NewIf(b, pred, true, dot.OneResult().Type())
	then, other := scf.AsIf(choice).ThenRegion().First(), scf.AsIf(choice).ElseRegion().First()
	b.SetToEnd(other)
	scf.NewYield(b, acc)
	b.SetToEnd(then)
	dot.MoveBefore(scf.NewYield(b, dot.OneResult()))
	return choice.OneResult()
}
