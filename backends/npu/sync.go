package npu

import (
	"github.com/tritonc/tritonc/backends/npu/hivm"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// warnOfCubes tells of cube cores that are to wait in a kernel that none runs.
func warnOfCubes(k *backend.Compilation) {
	var waits []*ir.Operation
	matmul := false
	ir.Walk(k.Module, func(op *ir.Operation) ir.WalkResult {
		matmul = matmul || op.Is(tt.Dot) || op.Is(tt.DotScaled)
		if op.Is(hivm.SyncBlock) {
			if mode, _ := hivm.SyncOf(op); mode == hivm.AllCube {
				waits = append(waits, op)
			}
		}
		return ir.Advance
	})
	if matmul {
		return
	}
	for _, op := range waits {
		d := sdk.Diagnostic{
			Severity: sdk.Warning,
			Message:  "sync_block_all: no cube core runs this kernel, which has no matmul, so that nothing waits",
			Help:     "all_vector, or all, has its vector cores wait for one another",
		}
		place(&d, op)
		k.Warn(d)
	}
}
