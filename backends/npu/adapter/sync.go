package adapter

import (
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
)

// SyncFunction is the function by which programs wait for one another in the stage
// ttadapter, as MLIR has no operation for that: whoever runs the stage defines it. No kernel
// has its name, which a dot is in.
const SyncFunction = "npu.sync_block_all"

// Attributes of its calls: a hivm.Mode and the number of the event.
const (
	syncModeAttr  = "mode"
	syncEventAttr = "event_id"
)

// sync converts a wait of cores to a call.
func (c *converter) sync(op *ir.Operation) {
	module := op
	for module.Parent() != nil {
		module = module.Parent()
	}
	declared := false
	for f := range module.Body().Ops() {
		declared = declared || f.Is(linalg.Func) && linalg.AsFunc(f).SymName() == SyncFunction
	}
	if !declared {
		at := c.Save()
		c.SetToEnd(module.Body())
		c.Create(linalg.Func, ir.State{Regions: 1, Attrs: []ir.NamedAttr{
			{Name: "sym_name", Attr: c.Context().StringAttr(SyncFunction)},
			{Name: "function_type", Attr: c.Context().TypeAttr(c.Context().Func(nil, nil))},
			{Name: "sym_visibility", Attr: c.Context().StringAttr("private")},
		}})
		c.Restore(at)
	}
	mode, event := hivm.SyncOf(op)
	c.Create(linalg.Call, ir.State{Types: []ir.Type{}, Attrs: []ir.NamedAttr{
		{Name: "callee", Attr: c.Context().SymbolRef(SyncFunction)},
		{Name: syncModeAttr, Attr: c.Context().StringAttr(string(mode))},
		{Name: syncEventAttr, Attr: c.Context().I64Attr(event)},
	}})
}

// SyncOf is the mode and the event of a wait of cores, as a call or the vendor's operation;
// ok is false for other operations.
func SyncOf(op *ir.Operation) (mode hivm.Mode, event int64, ok bool) {
	if op.Is(hivm.SyncBlock) {
		mode, event = hivm.SyncOf(op)
		return mode, event, true
	}
	if !op.Is(linalg.Call) || linalg.AsCall(op).Callee() != SyncFunction {
		return "", 0, false
	}
	event, _ = op.IntAttr(syncEventAttr)
	return hivm.Mode(op.StringAttr(syncModeAttr)), event, true
}

// Together reports whether programs of a module wait for one another, so that each needs a
// core of its own. Cube cores run none without a matmul.
func Together(module *ir.Operation, matmul bool) bool {
	found := false
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		mode, _, ok := SyncOf(op)
		found = found || ok && mode != hivm.AllSubVector && (matmul || mode != hivm.AllCube)
		return ir.Advance
	})
	return found
}
