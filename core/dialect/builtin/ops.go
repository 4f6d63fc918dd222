// Package builtin is the table of the builtin dialect: the module.
package builtin

//go:generate go run github.com/tritonc/tritonc/internal/opviews builtin

import (
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// symName is the attribute of a module's name, which its text form asks for.
const symName = "sym_name"

// Module is the top of every text: one block of functions, without terminator.
var Module = &ir.OpDef{
	Name: "builtin.module", Doc: "a container of functions",
	Attrs: []ir.AttrDef{
		{Name: symName, Kind: ir.AttrString, Optional: true},
		{Name: "sym_visibility", Kind: ir.AttrString, Optional: true},
	},
	Regions: []ir.RegionDef{{Name: "bodyRegion", MaxBlocks: 1}},
	Traits:  ir.IsolatedFromAbove | ir.SymbolTable | ir.NoTerminator | ir.SingleBlock,
	Effects: ir.Effects{Recursive: true},
	Verify:  verifyModule,
}

// UnrealizedCast stands for conversions between types of which a lowering has done
// only one side.
var UnrealizedCast = &ir.OpDef{
	Name: "builtin.unrealized_conversion_cast", Doc: "values as other types, to be resolved by a lowering",
	Operands: []ir.Operand{{Name: "inputs", Type: ir.AnyType, Arity: ir.Variadic}},
	Results:  []ir.Result{{Name: "outputs", Type: ir.AnyType, Arity: ir.Variadic}},
	Asm:      "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict",
}

// Dialect is the builtin dialect.
var Dialect = &ir.Dialect{
	Name: "builtin", Doc: "the module; the builtin types and attributes are core/ir's own",
	Ops: []*ir.OpDef{Module, UnrealizedCast},
	Asm: &text.Dialect{Ops: map[*ir.OpDef]text.OpAsm{Module: {Parse: parseModule, Print: printModule}}},
}

// NewModule makes an empty module with its block.
func NewModule(c *ir.Context, loc ir.Location) *ir.Operation {
	m := ir.NewOperation(Module, &ir.State{Ctx: c, Loc: loc, Regions: 1})
	AsModule(m).BodyRegion().AddBlock()
	return m
}

func parseModule(p *text.Parser, s *text.OpState) {
	if p.AtSymbol() {
		s.Add(symName, p.Context().StringAttr(p.Symbol()))
	}
	if p.Opt("attributes") {
		p.DictInto(s)
	}
	body := p.Region(nil, true)
	if body.Empty() {
		body.AddBlock()
	}
	s.Bodies = []*ir.Region{body}
}

func printModule(w *text.Printer, op *ir.Operation) {
	if op.HasAttr(symName) {
		w.Str(" ")
		w.Symbol(AsModule(op).SymName())
	}
	w.AttrDictKeyword(op, symName)
	w.Str(" ")
	w.Region(AsModule(op).BodyRegion(), true, true)
}
