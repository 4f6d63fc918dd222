// Package dialect lists the dialects that core owns: Triton's, and those of MLIR that
// kernels pass through. Those of one vendor arrive
// from its backend as declarations (package core/ir/decl) and are loaded beside
// them.
package dialect

import (
	"github.com/tritonc/tritonc/core/dialect/arith"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/cf"
	"github.com/tritonc/tritonc/core/dialect/gpu"
	"github.com/tritonc/tritonc/core/dialect/index"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/math"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/dialect/ub"
	"github.com/tritonc/tritonc/core/ir"
)

// All returns core's dialects.
func All() []*ir.Dialect {
	return append([]*ir.Dialect{
		builtin.Dialect, arith.Dialect, index.Dialect, math.Dialect, scf.Dialect, cf.Dialect, ub.Dialect,
		gpu.Dialect, llvm.Dialect, tt.Dialect, ttg.Dialect,
	}, linalg.Dialects()...)
}

// NewContext makes a context with core's dialects and more.
func NewContext(more ...*ir.Dialect) *ir.Context {
	c := ir.NewContext(All()...)
	for _, d := range more {
		c.Load(d)
	}
	return c
}
