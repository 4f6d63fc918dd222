// Package scf is the table of the scf dialect: loops and conditions as
// operations with regions.
package scf

import (
	"fmt"

	"github.com/tritonc/tritonc/core/ir"
)

func many(name string) ir.Operand { return ir.Operand{Name: name, Arity: ir.Variadic} }

var (
	// For runs its body for iv = lower, lower+step, … below upper (signed),
	// carrying values from iteration to iteration. The body's arguments are iv
	// and the carried values; its Yield gives the next ones.
	For = &ir.OpDef{
		Name: "scf.for", Doc: "counted loop with carried values",
		Operands: []ir.Operand{
			{Name: "lowerBound", Type: ir.IntLike}, {Name: "upperBound", Type: ir.IntLike}, {Name: "step", Type: ir.IntLike}, many("initArgs"),
		},
		Results: []ir.Result{{Name: "results", Arity: ir.Variadic}},
		Regions: []ir.RegionDef{{Name: "region", MaxBlocks: 1}},
		Effects: ir.Effects{Recursive: true},
		Verify:  verifyFor,
	}
	// If runs one of its two regions; the second may be empty when there are no results.
	If = &ir.OpDef{
		Name: "scf.if", Doc: "one of two regions",
		Operands: []ir.Operand{{Name: "condition", Type: ir.Bool}},
		Results:  []ir.Result{{Name: "results", Arity: ir.Variadic}},
		Regions:  []ir.RegionDef{{Name: "thenRegion", MaxBlocks: 1}, {Name: "elseRegion", MaxBlocks: 1}},
		Effects:  ir.Effects{Recursive: true},
		Verify:   verifyIf,
	}
	// While runs its first region, which ends in Condition, then, while that
	// holds, its second.
	While = &ir.OpDef{
		Name: "scf.while", Doc: "loop with a computed condition",
		Operands: []ir.Operand{many("inits")},
		Results:  []ir.Result{{Name: "results", Arity: ir.Variadic}},
		Regions:  []ir.RegionDef{{Name: "before", MaxBlocks: 1}, {Name: "after", MaxBlocks: 1}},
		Effects:  ir.Effects{Recursive: true},
		Verify:   verifyWhile,
	}
	Condition = &ir.OpDef{
		Name: "scf.condition", Doc: "whether a while loop goes on, and with what",
		Operands: []ir.Operand{{Name: "condition", Type: ir.Bool}, many("args")}, Traits: ir.Terminator,
		Asm: "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
	}
	Yield = &ir.OpDef{
		Name: "scf.yield", Doc: "the values of a region",
		Operands: []ir.Operand{many("results")}, Traits: ir.Terminator,
		Asm: "attr-dict ($results^ `:` type($results))?",
	}
)

// Dialect is the scf dialect.
var Dialect = &ir.Dialect{Name: "scf", Doc: "structured control flow", Ops: []*ir.OpDef{For, If, While, Condition, Yield}}

func sameTypes(what string, vs []*ir.Value, with []*ir.Value) error {
	if len(vs) != len(with) {
		return fmt.Errorf("%s: %d values for %d", what, len(vs), len(with))
	}
	for i, v := range vs {
		if v.Type() != with[i].Type() {
			return fmt.Errorf("%s: value #%d has another type", what, i)
		}
	}
	return nil
}

func yielded(b *ir.Block) []*ir.Value {
	if b == nil || b.Terminator() == nil {
		return nil
	}
	return b.Terminator().OperandValues()
}

func verifyFor(op *ir.Operation) error {
	body := op.Body()
	if body == nil {
		return fmt.Errorf("must have a body")
	}
	t := op.Operand(0).Type()
	if op.Operand(1).Type() != t || op.Operand(2).Type() != t {
		return fmt.Errorf("bounds and step must have one type")
	}
	if body.NumArgs() == 0 || body.Arg(0).Type() != t {
		return fmt.Errorf("the body's first argument must be the induction variable, of the bounds' type")
	}
	if err := sameTypes("initial values against results", op.Group(3), op.Results()); err != nil {
		return err
	}
	if err := sameTypes("carried arguments against results", body.Args()[1:], op.Results()); err != nil {
		return err
	}
	return sameTypes("yield against results", yielded(body), op.Results())
}

func verifyIf(op *ir.Operation) error {
	for i, r := range op.Regions() {
		if r.Empty() {
			if i == 0 || op.NumResults() > 0 {
				return fmt.Errorf("must have both regions when it has results, and a then region always")
			}
			continue
		}
		if err := sameTypes("yield against results", yielded(r.First()), op.Results()); err != nil {
			return err
		}
	}
	return nil
}

func verifyWhile(op *ir.Operation) error {
	before, after := op.Region(0).First(), op.Region(1).First()
	if before == nil || after == nil {
		return fmt.Errorf("must have both regions")
	}
	if err := sameTypes("arguments of the first region against initial values", before.Args(), op.Group(0)); err != nil {
		return err
	}
	cond := before.Terminator()
	if cond == nil || cond.Name() != "scf.condition" {
		return fmt.Errorf("expects the first region to end in 'scf.condition'")
	}
	if err := sameTypes("condition against results", cond.Group(1), op.Results()); err != nil {
		return err
	}
	if err := sameTypes("arguments of the second region against results", after.Args(), op.Results()); err != nil {
		return err
	}
	return sameTypes("yield against initial values", yielded(after), op.Group(0))
}

// NewFor makes a loop with an empty body block that has its arguments and no
// terminator yet; locs has an entry an argument, the induction variable first.
func NewFor(b *ir.Builder, lower, upper, step *ir.Value, inits []*ir.Value, locs []ir.Location) *ir.Operation {
	types := make([]ir.Type, len(inits))
	for i, v := range inits {
		types[i] = v.Type()
	}
	op := b.Create(For, ir.State{Operands: append([]*ir.Value{lower, upper, step}, inits...), Types: types, Regions: 1})
	body := op.Region(0).AddBlock()
	body.AddArg(lower.Type(), locs[0])
	for i, t := range types {
		body.AddArg(t, locs[i+1])
	}
	return op
}

// NewIf makes a condition with an empty block in each region (in the second
// only if withElse).
func NewIf(b *ir.Builder, cond *ir.Value, types []ir.Type, withElse bool) *ir.Operation {
	op := b.Create(If, ir.State{Operands: []*ir.Value{cond}, Types: types, Regions: 2})
	op.Region(0).AddBlock()
	if withElse {
		op.Region(1).AddBlock()
	}
	return op
}

// NewYield ends a region.
func NewYield(b *ir.Builder, vs ...*ir.Value) *ir.Operation {
	return b.Create(Yield, ir.State{Operands: vs})
}
