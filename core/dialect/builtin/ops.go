// Package builtin is the table of the builtin dialect: the module.
package builtin

import "github.com/tritonc/tritonc/core/ir"

// Module holds functions; its text form is its own.
var Module = &ir.OpDef{
	Name: "builtin.module", Doc: "a module of functions",
	Attrs: []ir.AttrDef{
		{Name: "sym_name", Kind: ir.AttrString, Optional: true}, {Name: "sym_visibility", Kind: ir.AttrString, Optional: true},
	},
	Regions: []ir.RegionDef{{Name: "bodyRegion", MaxBlocks: 1}},
	Traits:  ir.IsolatedFromAbove | ir.SymbolTable | ir.NoTerminator | ir.SingleBlock,
	Effects: ir.Effects{Unknown: true},
}

// Dialect is the builtin dialect.
var Dialect = &ir.Dialect{Name: "builtin", Doc: "modules", Ops: []*ir.OpDef{Module}}

// NewModule makes an empty module, detached.
func NewModule(c *ir.Context, loc ir.Location) *ir.Operation {
	m := ir.NewOperation(Module, &ir.State{Ctx: c, Loc: loc, Regions: 1})
	m.Region(0).AddBlock()
	return m
}
