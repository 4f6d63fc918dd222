package transform

import (
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/transform/ttgir/forloop"
	"github.com/tritonc/tritonc/core/transform/ttgir/pipeline"
)

// Clusters of an iteration of a loop around two dots. Numbers say which dot an access to
// memory is for; one for both is for the first. Each half of an iteration has a dot, what is
// computed beside it, and the accesses that go on meanwhile.
const (
	chainedDot1 = iota
	chainedAfterDot1
	chainedWait2
	chainedStore1
	chainedRead2
	chainedLoad1
	chainedDot2
	chainedAfterDot2
	chainedWait1
	chainedStore2
	chainedRead1
	chainedLoad2
	chainedClusters
)

// Stages of a loop around two dots.
const (
	chainedStages = 4

	stageLoad1, stageStore1, stageRead1, stageDot1 = 0, 1, 1, 2
	stageLoad2, stageStore2, stageRead2, stageDot2 = 1, 2, 3, 3
)

// chainedDots are the two dots of a loop of four stages, of which the second needs the
// first; nil if the loop is not of that form, or a load's address comes from another load.
func chainedDots(loop *ir.Operation, stages int, loads []pipeline.NeededLoad) (first, second *ir.Operation) {
	if stages != chainedStages || deepestLevel(loads) > 0 {
		return nil, nil
	}
	var found []*ir.Operation
	for op := range loop.Body().Ops() {
		if op.Is(tt.Dot) {
			found = append(found, op)
		}
	}
	if len(found) != 2 || !computedFrom(found[0])[found[1]] {
		return nil, nil
	}
	return found[0], found[1]
}

// computedFrom are the operations of op's block that are computed from op in the same
// iteration.
func computedFrom(op *ir.Operation) map[*ir.Operation]bool {
	needs := make(map[*ir.Operation]bool)
	for list := []*ir.Operation{op}; len(list) > 0; {
		o := list[len(list)-1]
		list = list[:len(list)-1]
		for _, r := range o.Results() {
			for u := range r.Users() {
				if top := forloop.AncestorIn(op.Block(), u); top != nil && !needs[top] && !top.IsTerminator() {
					needs[top] = true
					list = append(list, top)
				}
			}
		}
	}
	return needs
}

// scheduleChained places the dots, their loads, and what is computed from the first dot.
func scheduleChained(loop, first, second *ir.Operation, loads []pipeline.NeededLoad) pipeline.Staging {
	s := pipeline.NewStaging(loop, chainedStages, chainedClusters)
	s.Place(first, stageDot1, chainedDot1)
	s.Place(second, stageDot2, chainedDot2)
	for _, l := range loads {
		switch l.Use {
		case first:
			s.Place(l.Load, stageLoad1, chainedLoad1)
		case second:
			s.Place(l.Load, stageLoad2, chainedLoad2)
		}
	}
	divideBetween(s, first, second)
	return s
}

// divideBetween cuts what is between the dots where a value is used more than once: what
// leads to it runs beside the second dot of the iteration before, the rest beside the first
// dot of the next iteration. So does what the loop carries that is computed from the first.
func divideBetween(s pipeline.Staging, first, second *ir.Operation) {
	between := computedFrom(first)
	placed := func(op *ir.Operation) bool {
		_, _, ok := s.At(op)
		return ok
	}
	placeLate := func(op *ir.Operation) {
		if !placed(op) {
			s.Place(op, stageDot2, chainedAfterDot1)
		}
	}
	for _, operand := range second.Operands() {
		from := operand.Def()
		if from == nil || !between[from] {
			continue
		}
		for list := []*ir.Value{operand}; len(list) > 0; {
			def := list[len(list)-1].Def()
			list = list[:len(list)-1]
			switch {
			case def == nil || !between[def] || placed(def):
			case len(uses(def)) > 1:
				s.Place(def, stageDot1, chainedAfterDot2)
				placeLate(from)
			default:
				list = append(list, def.OperandValues()...)
			}
		}
	}
	for _, v := range forloop.Yield(s.Loop()).Operands() {
		if def := v.Def(); def != nil && between[def] {
			placeLate(def)
		}
	}
}

// uses are the uses of op's results.
func uses(op *ir.Operation) []*ir.Use {
	var list []*ir.Use
	for _, r := range op.Results() {
		for u := range r.Uses() {
			list = append(list, u)
		}
	}
	return list
}
