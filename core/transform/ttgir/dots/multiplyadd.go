package dots

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// MultiplyAdd is the MatrixUnit of a target without one: no dot has a Form, and
// each thread computes its part by multiply-adds.
type MultiplyAdd struct{}

var _ MatrixUnit = MultiplyAdd{}

// Check takes all targets.
func (MultiplyAdd) Check(string) error { return nil }

// Form is nil.
func (MultiplyAdd) Form(Dot) *Form { return nil }

// Widen is the type itself.
func (MultiplyAdd) Widen(_ Dot, elem ir.Type) ir.Type { return elem }

// Buffer is a plain one: each thread reads its elements one by one.
func (MultiplyAdd) Buffer(_ *layout.DotOp, b Buffer) layout.Shared { return Plain(b.Order) }

// Transposes is false.
func (MultiplyAdd) Transposes(*layout.DotOp) bool { return false }

// PartK is 0.
func (MultiplyAdd) PartK(*layout.DotOp) int64 { return 0 }

// Made is false.
func (MultiplyAdd) Made(*ir.Operation) (Made, bool) { return Made{}, false }
