// Package scf is the table of the scf dialect: loops and conditionals that keep
// their structure, with values carried as results instead of through memory.
//
//	ops.go     the table
//	asm.go     the text forms
//	verify.go  what the table cannot say
//	build.go   constructors and accessors
package scf

//go:generate go run github.com/tritonc/tritonc/internal/opviews scf

import "github.com/tritonc/tritonc/core/ir"

func variadic(name string) ir.Operand {
	return ir.Operand{Name: name, Type: ir.AnyType, Arity: ir.Variadic}
}

func results() []ir.Result {
	return []ir.Result{{Name: "results", Type: ir.AnyType, Arity: ir.Variadic}}
}

// The operations.
var (
	// For runs its body for each value of the induction variable from lower
	// (included) to upper (excluded) by step, which is positive. The body's block
	// takes the induction variable and then the values carried around.
	For = &ir.OpDef{
		Name: "scf.for", Doc: "a counted loop with values carried from iteration to iteration",
		Operands: []ir.Operand{
			{Name: "lowerBound", Type: ir.Index},
			{Name: "upperBound", Type: ir.Index},
			{Name: "step", Type: ir.Index},
			variadic("initArgs"),
		},
		Results: results(),
		Attrs:   []ir.AttrDef{{Name: "unsignedCmp", Kind: ir.AttrUnit, Optional: true}},
		Regions: []ir.RegionDef{{Name: "region", MaxBlocks: 1}},
		Traits:  ir.SingleBlock,
		Effects: ir.Effects{Recursive: true},
		Verify:  verifyFor,
	}
	// If runs one of its two regions; the second may be empty when there are no
	// results.
	If = &ir.OpDef{
		Name: "scf.if", Doc: "one of two regions by a condition",
		Operands: []ir.Operand{{Name: "condition", Type: ir.Bool}},
		Results:  results(),
		Regions:  []ir.RegionDef{{Name: "thenRegion", MaxBlocks: 1}, {Name: "elseRegion", MaxBlocks: 1}},
		Traits:   ir.SingleBlock,
		Effects:  ir.Effects{Recursive: true},
		Verify:   verifyIf,
	}
	// While runs its first region, which ends in Condition, and as long as that
	// says true, the second, which yields the next arguments of the first.
	While = &ir.OpDef{
		Name: "scf.while", Doc: "a loop with its condition at the top",
		Operands: []ir.Operand{variadic("inits")},
		Results:  results(),
		Regions:  []ir.RegionDef{{Name: "before", MaxBlocks: 1}, {Name: "after", MaxBlocks: 1}},
		Traits:   ir.SingleBlock,
		Effects:  ir.Effects{Recursive: true},
		Verify:   verifyWhile,
	}
	// ExecuteRegion runs its region once; the region may have several blocks.
	ExecuteRegion = &ir.OpDef{
		Name: "scf.execute_region", Doc: "a region of several blocks where one operation may appear",
		Results: results(),
		Attrs:   []ir.AttrDef{{Name: "no_inline", Kind: ir.AttrUnit, Optional: true}},
		Regions: []ir.RegionDef{{Name: "region"}},
		Effects: ir.Effects{Recursive: true},
		Verify:  verifyExecuteRegion,
	}
	Condition = &ir.OpDef{
		Name: "scf.condition", Doc: "whether the loop goes on, and the values for its second region",
		Operands: []ir.Operand{{Name: "condition", Type: ir.Bool}, variadic("args")},
		Traits:   ir.Terminator | ir.HasParent,
		Asm:      "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
		Verify:   verifyCondition,
	}
	Yield = &ir.OpDef{
		Name: "scf.yield", Doc: "the values that a region gives",
		Operands: []ir.Operand{variadic("results")},
		Traits:   ir.Terminator | ir.HasParent,
		Asm:      "attr-dict ($results^ `:` type($results))?",
		Verify:   verifyYield,
	}
)

// Dialect is the scf dialect.
var Dialect = &ir.Dialect{
	Name: "scf", Doc: "structured control flow",
	Ops: []*ir.OpDef{For, If, While, ExecuteRegion, Condition, Yield},
	Asm: asm,
}
