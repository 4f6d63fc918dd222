package partition

import (
	"slices"

	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/core/ir"
)

// The marks of the schedule within a loop.
const (
	stageAttr   = "loop.stage"
	clusterAttr = "loop.cluster"
)

func union(x, y []int64) []int64 {
	all := slices.Concat(x, y)
	slices.Sort(all)
	return slices.Compact(all)
}

func setIDs(op *ir.Operation, ids []int64) {
	op.SetAttr(idsAttr, op.Context().I32Array(union(ids, nil)...))
}

// allOutputs are the partitions of each result of op.
func allOutputs(op *ir.Operation) [][]int64 {
	list := make([][]int64, op.NumResults())
	for i := range list {
		list[i] = outputsOf(op, i)
	}
	return list
}

func setOutputs(op *ir.Operation, list [][]int64) {
	attrs := make([]ir.Attribute, len(list))
	for i, ids := range list {
		attrs[i] = op.Context().I32Array(union(ids, nil)...)
	}
	op.SetAttr(outputsAttr, op.Context().ArrayAttr(attrs...))
}

// valueIDs are the partitions that compute v: those of its users where v is an argument
// of a loop.
func valueIDs(v *ir.Value) (ids []int64) {
	if def := v.Def(); def != nil {
		if def.NumRegions() > 0 {
			return outputsOf(def, v.Index())
		}
		ids, _ = idsOf(def)
		return ids
	}
	for u := range v.Users() {
		if !u.IsTerminator() {
			more, _ := idsOf(u)
			ids = union(ids, more)
		}
	}
	return ids
}

// like copies the marks of from to op: partitions, tag and place in the schedule.
func like(op, from *ir.Operation) {
	for _, name := range []string{idsAttr, tagAttr, stageAttr, clusterAttr} {
		if name == idsAttr || from.HasAttr(idsAttr) {
			op.SetAttr(name, from.Attr(name))
		}
	}
}

// An enter is what nvws.aref.put.enter and nvws.aref.get.enter have in common.
type enter interface {
	Aref() *ir.Value
	Stage() *ir.Value
	SetStage(*ir.Value)
	Phase() *ir.Value
	SetPhase(*ir.Value)
	Buffers() []*ir.Value
	Token() *ir.Value
}

func asEnter(op *ir.Operation) enter {
	switch {
	case op.Is(nvws.Def("aref.put.enter")):
		return nvws.AsArefPutEnter(op)
	case op.Is(nvws.Def("aref.get.enter")):
		return nvws.AsArefGetEnter(op)
	}
	return nil
}

// A staged operation goes by the stage that an enter chose, whose token it takes.
type staged interface {
	Aref() *ir.Value
	Token() *ir.Value
	SetStage(*ir.Value)
}

func asStaged(op *ir.Operation) staged {
	switch {
	case op.Is(nvws.Def("aref.put.exit")):
		return nvws.AsArefPutExit(op)
	case op.Is(nvws.Def("aref.get.exit")):
		return nvws.AsArefGetExit(op)
	case op.Is(nvws.Def("aref.buffer")):
		return nvws.AsArefBuffer(op)
	}
	return nil
}
