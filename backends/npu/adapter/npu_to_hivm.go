package adapter

import (
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// ToHIVM has the vendor's operations in place of calls.
var ToHIVM = &pass.Pass{
	Name:    "npu-to-hivm",
	Doc:     "have cores wait for one another by the operation of the vendor's compiler",
	Example: toHIVMExample,
	Run: func(r *pass.Run) error {
		Vendor(r.Module)
		return nil
	},
}

// Vendor does what ToHIVM does.
func Vendor(module *ir.Operation) {
	module.Context().Load(hivm.Dialect)
	var calls, functions []*ir.Operation
	ir.Walk(module, func(op *ir.Operation) ir.WalkResult {
		switch {
		case op.Is(linalg.Func) && linalg.AsFunc(op).SymName() == SyncFunction:
			functions = append(functions, op)
		case op.Is(linalg.Call):
			calls = append(calls, op)
		}
		return ir.Advance
	})
	b := ir.NewBuilder(module.Context())
	for _, op := range calls {
		if mode, event, ok := SyncOf(op); ok {
			b.At(op)
			hivm.Sync(b, mode, event)
			op.Erase()
		}
	}
	for _, f := range functions {
		f.Erase()
	}
}
