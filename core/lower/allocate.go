package lower

import (
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/ir"
)

// Allocate places the shared memory of a module as its lowering for the target
// would, without lowering it.
func Allocate(mod *ir.Operation, t Target) (*allocation.Result, error) {
	m := &module{target: t, layouts: make(map[*ir.TensorType]*tensorLayout)}
	if err := m.readAttrs(mod); err != nil {
		return nil, err
	}
	m.axis = axisinfo.Analyze(mod)
	return allocation.Analyze(mod, m.scratchBytes)
}
