// Package ub is the table of the ub dialect: undefined behaviour made explicit.
package ub

//go:generate go run github.com/tritonc/tritonc/internal/opviews ub

import "github.com/tritonc/tritonc/core/ir"

// Poison is a value that may be anything. Its attribute "value" has one case,
// which is never printed.
var Poison = &ir.OpDef{
	Name: "ub.poison", Doc: "a value of no particular content",
	Traits:  ir.ConstantLike,
	Results: []ir.Result{{Name: "result", Type: ir.AnyType}},
	Asm:     "attr-dict `:` type($result)",
}

// Dialect is the ub dialect.
var Dialect = &ir.Dialect{Name: "ub", Doc: "undefined behaviour", Ops: []*ir.OpDef{Poison}}

// NewPoison makes a poison value of type t.
func NewPoison(b *ir.Builder, t ir.Type) *ir.Value { return b.Op(Poison, nil, t).OneResult() }
